"""Two texts, compared line by line: `patch` makes one of the other."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors.limits import DifferencesTooMany
from perdure.reading.version_differences import (
    ComparedVersion,
    VersionDifference,
    compare_lines,
    group_lines,
)

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=12)


def compare(old: list[str], new: list[str]) -> VersionDifference:
    sides = [
        ComparedVersion(identifier=name, version=1, media_type="text/plain", length=1, sha512=name)
        for name in ("old", "new")
    ]
    hunks = tuple(group_lines(compare_lines(old, new)))
    return VersionDifference(before=sides[0], after=sides[1], is_text=True, hunks=hunks)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["a\n"], ["a\n", "b\n"]),
        (["a\n", "b"], ["a\n", "b\n"]),
        (["a\n", "b\n"], ["a\n", "b"]),
        ([], ["a\n"]),
        (["a\n"], []),
        ([f"{n}\n" for n in range(60)], [f"{n}\n" for n in range(60) if n not in (3, 30, 50)]),
        (["x\n"] * 9 + ["y\n"], ["y\n"] + ["x\n"] * 9),
    ],
)
def test_patch_applies_it(tmp_path: Path, old: list[str], new: list[str]) -> None:
    if shutil.which("patch") is None:
        pytest.skip("patch is not installed")
    file = tmp_path / "file"
    file.write_text("".join(old))
    unified = compare(old, new).write_unified()
    subprocess.run(["patch", "-s", str(file)], input=unified.encode(), check=True)
    assert (file.read_text() if file.exists() else "") == "".join(new)


@given(old=LINES, new=LINES)
def test_it_has_every_line_of_both_and_is_shortest(old: list[str], new: list[str]) -> None:
    """Myers 1986, section 2: D = N + M - 2L, of a longest common subsequence of length L."""
    lines = compare_lines(old, new)
    assert [one.text for one in lines if one.sign != "+"] == old
    assert [one.text for one in lines if one.sign != "-"] == new
    lengths = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, a in enumerate(old):
        for j, b in enumerate(new):
            longest = max(lengths[i][j + 1], lengths[i + 1][j])
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if a == b else longest
    edits = sum(one.sign != " " for one in lines)
    assert edits == len(old) + len(new) - 2 * lengths[-1][-1]


def test_too_many_differences_are_an_error() -> None:
    with pytest.raises(DifferencesTooMany):
        compare_lines([f"a{n}\n" for n in range(5000)], [f"b{n}\n" for n in range(5000)])
    assert compare(["a\n"], ["a\n"]).write_unified() == ""
