"""Programs of others that are judges of what we make, in an environment of their own (`.peers`)."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

PYTHON = Path(__file__).parents[1] / ".peers" / "bin" / "python"


def run_peer(module: str, script: str, given: bytes = b"", *words: str) -> bytes:
    """Run a script that uses a module of the peers, and return what it prints.

    The test is skipped if the module is not installed there. It fails if the script does.
    """
    if not _can_import(module):
        pytest.skip(f"{module} is not installed (.peers)")
    ran = subprocess.run([str(PYTHON), "-c", script, *words], input=given, capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


@cache
def _can_import(module: str) -> bool:
    words = [str(PYTHON), "-c", f"import {module}"]
    return PYTHON.exists() and subprocess.run(words, capture_output=True).returncode == 0
