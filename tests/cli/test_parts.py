"""Parts on the command line: of one's own files, and of what the registry holds."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES

from perdure.ids import parse
from perdure.ids.pdi import Pdi

LETTER = b"To whom it may concern:\nThe quick brown fox.\n"


@pytest.fixture
def letter(tmp_path: Path) -> str:
    path = tmp_path / "letter.txt"
    path.write_bytes(LETTER)
    return str(path)


@pytest.fixture
def page(tmp_path: Path) -> str:
    path = tmp_path / "page.html"
    path.write_bytes(b'<html><body><p id="x">One</p><p>Two</p></body></html>')
    return str(path)


def test_a_part_of_a_file(shell: Shell, letter: str) -> None:
    assert shell.run("part", letter, "char=3,10").stdout_bytes == b"whom it"
    assert shell.run("part", letter, "#3,10").stdout_bytes == b"whom it"
    assert shell.run("part", letter, "byte=0,2").stdout_bytes == b"To"
    shell.run("part", letter, "char=3,1000", code=18)
    shell.run("part", letter, "char=", code=3)
    shell.run("part", letter, "rect=(0,0),(1,1)", code=15)


def test_two_readings_of_one_text(shell: Shell, letter: str) -> None:
    """In a PDI a line break counts two, elsewhere one  # ruling: part-meaning"""
    line = LETTER.index(b"The")
    assert shell.run("part", letter, f"char={line + 1},{line + 4}").stdout_bytes == b"The"
    web = shell.run("part", letter, f"char={line},{line + 3}", "--web")
    assert web.stdout_bytes == b"The"
    assert "rfc5147-char" in web.stderr
    assert shell.run("part", letter, "line=1,2").stdout_bytes == b"The quick brown fox.\n"


def test_what_is_said_of_a_part(shell: Shell, letter: str, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    said = shell.json("part", letter, "char=3,10", "-o", str(out))
    assert out.read_bytes() == b"whom it"
    assert (said["part"], said["reading"], said["length"]) == ("char=3,10", "pdi-char", 7)
    assert said["slices"] == [[3, 10]]
    shell.error("part", letter, "char=3,10", code=2)  # bytes and JSON do not share stdout


def test_elements(shell: Shell, page: str) -> None:
    assert shell.run("part", page, "elt=2,3").stdout_bytes == b'<p id="x">One</p>'
    assert shell.run("part", page, "x").stdout_bytes == b'<p id="x">One</p>'
    poem = Path(page).with_name("poem.xml")
    poem.write_bytes(b"<poem><l>One</l><l>Two</l></poem>")
    assert shell.run("part", str(poem), "xpointer(//l[2])").stdout_bytes == b"<l>Two</l>"
    shell.run("part", str(poem), "xpointer(//l[3])", code=14)


def test_what_can_be_addressed(shell: Shell, letter: str, page: str) -> None:
    sizes = {one["what"]: one["size"] for one in shell.json("parts", "--of", letter)["extents"]}
    assert sizes["characters, with a line break as one (RFC 5147)"] == len(LETTER)
    assert sizes["characters, with a line break as two (PDI)"] == len(LETTER) + 2
    assert "elt=" in shell.run("parts", "--of", page).stdout


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.txt", LETTER),
        ("a.html", b'<p><a name="x">One</a></p>'),
        ("a.xml", b'<?xml version="1.0"?><l name="x">One</l>'),
        ("a.csv", b"a,b\r\n1,2\r\n"),
        ("empty.txt", b""),
        ("empty.html", b"<html></html>"),
    ],
)
def test_what_is_listed_can_be_asked_for(
    shell: Shell, tmp_path: Path, name: str, data: bytes
) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    extents = shell.json("parts", "--of", str(file))["extents"]
    there = [one for one in extents if one["size"] != 0]
    listed = [one["items"][0] if one["syntax"] == "ID" else one["syntax"] for one in there]
    assert len(listed) > 1 or not data
    for syntax in listed:
        assert shell.run("part", str(file), syntax).stdout_bytes


def test_verify_part(shell: Shell, letter: str, tmp_path: Path) -> None:
    name = shell.json("mint", "--series", SERIES, letter)["identifier"]
    pdi = parse(name)
    assert isinstance(pdi, Pdi)
    copy = tmp_path / "copy.txt"
    for data, differs_at in (
        (b"whom it", None),
        (b"whom at", 5),
        (b"whom it ", 7),
        (b"whom", 4),
        (b"", 0),
    ):
        copy.write_bytes(data)
        code = 0 if differs_at is None else 1
        said = shell.json("verify-part", f"{name}#char=3,10", str(copy), code=code)
        assert said["same"] is (differs_at is None)
        assert said["differs_at"] == differs_at
    shell.run("verify-part", name, str(copy), code=2)


def test_parts_of_other_identifiers(shell: Shell, letter: str) -> None:
    shell.run("commit", "hdl:1839/x", letter, code=10)
    urn = "urn:example:letter"
    shell.run("bind", "--register", urn, "https://a.example/")
    shell.run("commit", urn, letter)
    assert shell.run("get", urn, "--part", "char=3,10").stdout_bytes == b"whom it"
    assert shell.run("get", f"{urn}#char=3,10").stdout_bytes == b"whom it"


def test_which_version_is_meant(shell: Shell, letter: str, page: str) -> None:
    """# ruling: part-version"""
    name = shell.json("mint", "--series", SERIES, letter)["identifier"]
    bare = name.removesuffix(".1")
    assert shell.run("get", f"{bare}#char=3,10").stdout_bytes == b"whom it"
    other = Path(letter).with_name("other.txt")
    other.write_bytes(b"another letter")
    shell.run("commit", bare, str(other))
    refused = shell.error("get", f"{bare}#char=3,10", "-o", "x", code=4)
    assert f"{bare}.2" in refused["message"]
    impossible = shell.error("get", f"{bare}#page=3", "-o", "x", code=15)
    assert impossible["code"] == "part-not-supported"


def test_what_is_held_is_prepared(shell: Shell, letter: str, page: str, tmp_path: Path) -> None:
    """Before any part was asked for, its index is there; what is no text is told."""
    Path(letter).write_bytes(b"Dear Madam,\r\n" * 1000)  # a short text needs no index
    names = shell.lines("mint", "--series", SERIES, letter, page)
    broken = tmp_path / "broken.txt"
    broken.write_bytes(b"caf\xe9")
    mint = ("mint", "--series", SERIES, "--type", "text/plain")
    (bad,) = shell.lines(*mint, "--charset", "utf-8", str(broken))
    (gone,) = shell.lines(*mint, str(tmp_path / "letter.txt"))
    shell.run("withdraw", gone, "--reason", "a test")
    result = shell.run("prepare", code=1)
    assert result.stdout.startswith(f"{bad}: ")
    assert len(result.stdout.splitlines()) == 1
    assert "2 documents prepared, 1 problem" in result.stderr
    kept = {one.parents[1].name for one in (shell.root / "indexes").rglob("*") if one.is_file()}
    assert {"text-1-ascii", "tags-html-ascii-1"} <= kept
    assert shell.json("prepare", names[0]) == {"prepared": 1, "problems": 0}  # this format alone
    whole = names[0].rpartition(".")[0].rpartition(".")[0]
    assert shell.json("prepare", whole) == {"prepared": 2, "problems": 0}  # its two formats


def test_a_part_given_apart_has_the_rules_of_its_identifier(shell: Shell, tmp_path: Path) -> None:
    """In a PDI a line break counts two, nothing is clamped  # rulings: part-meaning, part-range"""
    text = b"one\ntwo\nthree\n"
    path = tmp_path / "lines.txt"
    path.write_bytes(text)
    (name,) = shell.lines("mint", "--series", SERIES, str(path))
    canonical = text.replace(b"\n", b"\r\n")
    assert shell.run("get", name, "--part", "char=0,12").stdout_bytes == canonical[:12]
    shell.run("get", name, "--part", "char=0,99", code=18)
    path.write_bytes(canonical[2:9])
    for words in (("--part", "char=2,9"), ()):
        named = name if words else f"{name}#char=2,9"
        assert "is exactly" in shell.run("verify-part", named, str(path), *words).stdout
    assert shell.json("cite", name, "--part", "char=2,9")["url"].endswith("%23char=2,9")
    told = shell.json("get", name, "--part", "char=2,9", "-o", "again.txt")
    assert told["sha512"] == hashlib.sha512(canonical[2:9]).hexdigest()
    assert told["reading"] == "pdi-char"
    assert told["selector"]["value"] == "char=2,9"
    shell.run("get", name, "--part", "rect=(0,0),(5,5)", code=15)
    shell.run("get", f"{name}#char=2,9", "--part", "char=2,9", code=3)


@pytest.mark.parametrize("spec", ["rect=(9,9),(5,5)", "sec=5,4", "char=6,5", "elt=7,3", "byte=x"])
def test_what_is_wrong_with_a_part_is_said_by_its_own_rules(
    shell: Shell, letter: str, page: str, spec: str
) -> None:
    for file in (letter, page):
        told = shell.error("part", file, spec, "-o", "part", code=3)
        assert told["rule"] == "ruling part-range" or "section 3.4" in told["rule"]


@pytest.mark.parametrize(
    ("spec", "media_type", "expected"),
    [
        ("row=0", "text/csv", "RFC 7111"),
        ("cell=1", "text/csv", "RFC 7111"),
        ("page=x", "application/pdf", "RFC 8118"),
        ("xywh=0,0,0,5", "image/png", "Media Fragments"),
        ("t=5,4", "audio/mpeg", "Media Fragments"),
    ],
)
def test_malformed_parts_of_the_web_are_malformed(
    shell: Shell, letter: str, spec: str, media_type: str, expected: str
) -> None:
    """and not merely unknown to a PDI."""
    told = shell.error("part", letter, spec, "--type", media_type, "-o", "part", code=3)
    assert expected in told["rule"]


def test_a_part_does_not_replace_the_file_it_is_cut_from(shell: Shell, place: Path) -> None:
    letter = place / "own.txt"
    letter.write_text("Dear Sir")
    (letter.parent / "link.txt").symlink_to(letter)
    before = letter.read_bytes()
    for output in (str(letter), "own.txt", "./own.txt", "link.txt"):
        told = shell.error("part", str(letter), "char=0,3", "-o", output, code=2)
        assert "would replace" in told["message"]
    assert letter.read_bytes() == before


def test_a_part_that_fails_leaves_the_output_as_it_was(shell: Shell, tmp_path: Path) -> None:
    letter = tmp_path / "own.txt"
    letter.write_text("Dear Sir")
    kept = letter.parent / "kept.txt"
    kept.write_text("precious")
    shell.error("part", str(letter), "char=0,999", "-o", str(kept), code=18)
    assert kept.read_text() == "precious"
    assert sorted(one.name for one in letter.parent.iterdir()) == ["kept.txt", "own.txt"]


@pytest.mark.parametrize(("name", "said"), [("x.gif", True), ("x.txt", False), ("x.md", False)])
def test_a_part_under_a_name_of_another_type_is_told(
    shell: Shell, letter: str, name: str, said: bool
) -> None:
    noted = shell.run("part", letter, "char=0,3", "-o", name).stderr
    assert (f"'{name}' contains text/plain, not " in noted) == said
