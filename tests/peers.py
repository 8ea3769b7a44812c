"""Programs of others that are judges of what we make, in environments of their own.

They are in `.peers`; `.validators` has what cannot be installed beside them.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PYTHON = PROJECT / ".peers" / "bin" / "python"


def run_peer(
    module: str, script: str, given: bytes = b"", *words: str, place: str = ".peers"
) -> bytes:
    """Run a script that uses a module of the peers, and return what it prints.

    The test is skipped if the module is not installed there. It fails if the script does.
    """
    python = PROJECT / place / "bin" / "python"
    if not _can_import(python, module):
        pytest.skip(f"{module} is not installed ({place})")
    ran = subprocess.run([str(python), "-c", script, *words], input=given, capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


@cache
def _can_import(python: Path, module: str) -> bool:
    words = [str(python), "-c", f"import importlib.util as u; assert u.find_spec({module!r})"]
    return python.exists() and subprocess.run(words, capture_output=True).returncode == 0
