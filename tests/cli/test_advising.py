"""Advice when minting: told, never in the way."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Shell

BOOK = b"".join(
    b"Chapter %d tells of the %d. journey, and how it ended.\n" % (n, n) for n in range(99)
)
MINT = ("mint", "--series", "oma.eop.gov.us")


def minted(shell: Shell, path: Path, data: bytes) -> str:
    path.write_bytes(data)
    (name,) = shell.lines(*MINT, str(path))
    return name


def test_the_same_bytes(shell: Shell, place: Path) -> None:
    name = minted(shell, place / "book.txt", BOOK)
    answer = shell.json(*MINT, str(place / "book.txt"))
    assert [(one["kind"], one["use"]) for one in answer["advice"]] == [("same-bytes", name)]
    told = shell.run(*MINT, str(place / "book.txt"))
    assert told.stdout.startswith("pdi://"), "it is minted all the same"
    assert f"advice: these bytes are already held as {name}" in told.stderr


def test_a_chapter_of_a_book_that_is_held(shell: Shell, place: Path) -> None:
    name = minted(shell, place / "book.txt", BOOK)
    chapter = place / "chapter.txt"
    chapter.write_bytes(BOOK[500:900])
    (advice,) = shell.json(*MINT, str(chapter))["advice"]
    assert advice["use"] == f"{name}#byte=500,900"
    assert shell.run("get", advice["use"]).stdout_bytes == BOOK[500:900]


def test_an_address_within_another(shell: Shell) -> None:
    (name,) = shell.lines(*MINT, "--location", "http://example.org/book.html")
    (advice,) = shell.json(*MINT, "--location", "http://example.org/book.html#ch2")["advice"]
    assert (advice["kind"], advice["use"]) == ("fragment", f"{name}#ch2")


def test_what_has_a_name_already(shell: Shell, place: Path) -> None:
    path = place / "ISBN 978-0-14-032872-1.txt"
    path.write_bytes(b"Once upon a time\n")
    answer = shell.json(*MINT, str(path), "--meta", "identifier=doi:10.1000/182")
    assert [one["use"] for one in answer["advice"]] == ["doi:10.1000/182", "urn:isbn:9780140328721"]


def test_nothing_to_say(shell: Shell, letter: Path) -> None:
    assert "advice" not in shell.json(*MINT, str(letter))
    assert not shell.run(*MINT, "--format", "text").stderr
