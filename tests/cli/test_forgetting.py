"""Indexes keep nothing of what was withdrawn or erased, also before they are asked again.

`tombstone-silence`: "no text, derived title, preview, index entry … of it, and what was computed
from it is deleted".
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.cli.conftest import Shell
from tests.upkeep.test_passage_index import read_run

SERIES = "oma.eop.gov.us"
TEXT = f"the nightingale sang of hexameters, see pdi://{SERIES}/2026/11/21/1.text.1#char=0,4\n"


@pytest.fixture
def found(shell: Shell, place: Path) -> str:
    """A document that searches and citations have found."""
    (place / "song.txt").write_text(TEXT)
    (name,) = shell.lines("mint", "song.txt", "--series", SERIES)
    (place / "other.txt").write_text("another text with hexameters in it\n")
    shell.run("mint", "other.txt", "--series", SERIES)
    shell.run("search", "nightingale")
    shell.run("cited-by", name)
    return name


def list_files_with(root: Path, word: str) -> list[str]:
    files = (one for one in (root / "followers").rglob("*") if one.is_file())
    return sorted(one.name for one in files if word.encode() in one.read_bytes())


def test_the_word_is_there_before(shell: Shell, root: Path, found: str) -> None:
    assert list_files_with(root, "nightingale") != []
    assert list_files_with(root, found) != []


@pytest.mark.parametrize("act", ["withdraw", "erase"])
def test_nothing_is_left_as_soon_as_the_command_ends(
    shell: Shell, root: Path, found: str, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_ERASURE_PERSONS", "1")
    with closing(apsw.Connection(str(root / "followers/search.sqlite"))) as server:
        server.execute("SELECT * FROM head").fetchall()  # its log is not removed while it is open
        shell.run(act, found, "--reason", "a court order")
        assert list_files_with(root, "nightingale") == []
    assert list_files_with(root, found) == []
    assert shell.lines("search", "hexameters") != [], "the other document is still found"
    shell.run("search", "nightingale", code=10)


@pytest.mark.parametrize("act", ["withdraw", "erase"])
def test_no_fingerprint_is_left_as_soon_as_the_command_ends(
    shell: Shell, root: Path, place: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a run of two documents, only the other one's are left, and it is still found."""
    monkeypatch.setenv("PERDURE_ERASURE_PERSONS", "1")
    words = [f"word{number}" for number in range(200)]
    (place / "gone.txt").write_text(" ".join(words))
    (place / "kept.txt").write_text(" ".join(reversed(words)))
    gone, kept = (
        shell.lines("mint", name, "--series", SERIES)[0] for name in ("gone.txt", "kept.txt")
    )
    shell.run("index")
    (before,) = count_postings(root)
    assert len(before) == 2
    shell.run(act, gone, "--reason", "a court order")
    (after,) = count_postings(root)
    assert set(after) - {0} == set(before) - {min(before)}
    (place / "sought.txt").write_text(" ".join(list(reversed(words))[20:80]))
    found = shell.run("quotes", "find", "sought.txt").stdout
    assert kept in found
    assert gone not in found


def count_postings(root: Path) -> list[Counter[int]]:
    """For each run, how many fingerprints each document has."""
    paths = sorted((root / "followers/quotations").glob("*.run"))
    found = [Counter(one for _, one, _ in read_run(path.read_bytes())) for path in paths]
    return [one for one in found if one]


def test_an_index_that_was_never_made_is_not_made(shell: Shell, root: Path, letter: Path) -> None:
    """But that of passages, by which the withdrawer learns who quotes without saying so."""
    (name,) = shell.lines("mint", str(letter), "--series", SERIES)
    shell.run("withdraw", name, "--reason", "r")
    made = {one.name.partition(".")[0] for one in (root / "followers").iterdir()}
    assert made == {"quotations"}
