"""Files that are one document, by their names."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.upkeep.deposit.grouping import group_files


def grouped(*names: str) -> list[list[tuple[str, int]]]:
    groups = group_files([name.encode() for name in names])
    return [[(one.path.decode(), one.version) for one in group] for group in groups]


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (["r.pdf", "r.txt"], [[("r.pdf", 1), ("r.txt", 1)]]),
        (["r.v1.txt", "r.v2.txt"], [[("r.v1.txt", 1), ("r.v2.txt", 2)]]),
        (["r_V2.pdf", "r_V2.txt", "r_v10.txt"],
         [[("r_V2.pdf", 1), ("r_V2.txt", 1), ("r_v10.txt", 2)]]),
        (["r.txt", "r.v2.txt"], [[("r.txt", 1)], [("r.v2.txt", 1)]]),
        (["a/r.txt", "b/r.txt"], [[("a/r.txt", 1)], [("b/r.txt", 1)]]),
        (["p.css", "p.html", "p.js"], [[("p.css", 1)], [("p.html", 1)], [("p.js", 1)]]),
        (["r.TXT", "r.txt"], [[("r.TXT", 1)], [("r.txt", 1)]]),
        (["README", "README.unknown7"], [[("README", 1)], [("README.unknown7", 1)]]),
        (["v1.txt", "v2.txt"], [[("v1.txt", 1)], [("v2.txt", 1)]]),
        (["rev2.txt"], [[("rev2.txt", 1)]]),
        ([".txt", ".pdf"], [[(".txt", 1)], [(".pdf", 1)]]),
    ],
)  # fmt: skip
def test_groups(names: list[str], groups: list[list[tuple[str, int]]]) -> None:
    assert grouped(*names) == groups


@given(
    st.lists(st.from_regex(rb"[ab](\.v[1-3])?(\.(txt|pdf|css|x))?", fullmatch=True), unique=True)
)
def test_each_file_is_in_one_group(names: list[bytes]) -> None:
    """grouping.py: "each file is in exactly one group; in a group, no two files have the same
    version and extension"; "Versions are numbered from 1 without gaps"."""
    groups = group_files(names)
    assert Counter(one.path for group in groups for one in group) == Counter(names)
    for group in groups:
        places = [(one.version, one.path.rpartition(b".")[2]) for one in group]
        assert len(set(places)) == len(places)
        assert sorted({one.version for one in group}) == list(
            range(1, len({one.version for one in group}) + 1)
        )
