"""The checks of names and English that `make lint` runs, on examples of what they are for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
CHECK = PROJECT / "tools/check_style.py"


def check(path: Path) -> str:
    """What the tool prints about a file."""
    done = subprocess.run([sys.executable, CHECK, path], capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    "sentence",
    [
        "What was described by nobody.",
        "Whether there is a part.",
        "A record that somebody wrote.",
        "The values of a handle; none where there is no such handle.",
        "Raises InvalidRequest for what is no key.",
        "A part is made again for who does not only ask.",
        "The other parts are told by the server.",
        "A copy can be had at the location.",
        "The file lies in the archive.",
        "Reads so many bytes.",
        "The registry is made anew.",
    ],
)
def test_a_sentence_that_is_hard_to_read_is_found(tmp_path: Path, sentence: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(f'"""{sentence}"""\n')
    assert f"{module}:1: " in check(module)
    comment = tmp_path / "comment.py"
    comment.write_text(f"# A comment. {sentence.lower()}\n")
    page = tmp_path / "page.md"
    page.write_text(f"# A title\n\nA sentence. {sentence.lower()}\n")
    if not sentence.startswith("Whether"):  # a clause at the beginning counts in docstrings only
        assert f"{comment}:1: " in check(comment)
        assert f"{page}:3: " in check(page)


def test_the_advice_names_the_pattern(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""If nobody described the resource, derive a description."""\n')
    assert check(module).splitlines() == [
        f"{module}:1: write 'no one', 'anyone', or the program that does it: nobody"
    ]


def test_code_and_quotations_are_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("> nobody said so\n\n```\nwhat is no key\n```\n\n    stands in code\n")
    module = tmp_path / "module.py"
    module.write_text('nobody = "somebody"\n')
    assert check(page) == check(module) == ""
