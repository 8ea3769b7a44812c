"""`make test` takes the same examples everywhere, whatever else was imported before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent
SCRIPT = """
import os
import conftest
conftest.forget_local_constants()
if "LOADED" in os.environ:
    import other_words
from hypothesis import given, strategies as st
seen = []
@given(st.text(), st.integers(), st.binary())
def note_examples(text, number, data):
    seen.append((text, number, data))
note_examples()
print(seen)
"""


def draw_examples(place: Path, **environment: str) -> str:
    """The examples of a property, in a process of its own."""
    paths = os.pathsep.join((str(PROJECT), str(place)))
    done = subprocess.run(
        [sys.executable, "property.py"],
        cwd=place,
        env=os.environ | {"PYTHONPATH": paths} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_modules_that_are_loaded_change_no_example(tmp_path: Path) -> None:
    (tmp_path / "property.py").write_text(SCRIPT)
    constants = "\n".join(
        f"W{n} = 'unmistakable-{n}', {10**9 + n}, b'bytes-{n}'" for n in range(99)
    )
    (tmp_path / "other_words.py").write_text(constants)
    alone = draw_examples(tmp_path)
    assert len(alone) > 1000
    assert draw_examples(tmp_path, LOADED="1", PYTHONHASHSEED="5") == alone
