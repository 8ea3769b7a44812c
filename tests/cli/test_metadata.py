"""`cite`, `metadata` and `pwid cite`: what others are told about a thing, and take from us."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.archives.warcs import Warc
from tests.cli.conftest import Shell
from tests.conftest import SERIES
from tests.metadata.test_bad_records import CMDI, RECORD

PLAIN = "https://pid.example.org/"


@pytest.fixture
def named(shell: Shell, place: Path) -> str:
    (place / "a.txt").write_bytes(b"To whom it may concern, and to all others who read this.\r\n")
    (place / "record.xml").write_text(RECORD.format(title="Remarks"))
    name = shell.lines("mint", "--series", SERIES, "a.txt")[0]
    shell.run("metadata", "set", name, "record.xml", "--by", "a librarian")
    return name


def test_what_is_said_is_cited(shell: Shell, named: str) -> None:
    (line,) = shell.lines("cite", named, "--url", PLAIN)
    assert line == f"A. (2024). Remarks [Dataset]. P. {PLAIN} ({named})"
    assert shell.json("cite", named, "--url", PLAIN)["citation"] == line


def test_a_part_is_cited_with_its_extent(shell: Shell, named: str) -> None:
    (line,) = shell.lines("cite", f"{named}#char=37,51", "--locale", "fr", "--url", PLAIN)
    assert line.endswith(f"{PLAIN} (caractères 37–51; {named}#char=37,51)")


def test_styles_and_languages(shell: Shell, named: str) -> None:
    french = shell.lines("cite", named, "--style", "iso690", "--locale", "fr")[0]
    assert french.startswith("A, 2024. Remarks [en\xa0ligne]. 2024. P.")
    key = shell.lines("cite", named, "--style", "bibtex")[0]
    assert key.startswith("@misc{A2024-")
    assert shell.error("cite", named, "--style", "vancouver", code=4)["code"] == "invalid-request"


def test_a_pattern_of_versions_cites_versions(shell: Shell, named: str, place: Path) -> None:
    """# ruling: pdi-patterns-everywhere"""
    (place / "b.txt").write_bytes(b"Second\r\n")
    (second,) = shell.lines("commit", named, "b.txt")
    whole = named.rsplit(".", 2)[0]
    items = json.loads(shell.run("cite", f"{whole}.text.*", "--style", "csl").stdout)
    assert [one["id"] for one in items] == [named, second]
    (item,) = json.loads(shell.run("cite", f"{whole}.*.2", "--style", "csl").stdout)
    assert item["id"] == second


def test_a_level_is_written_without_what_it_inherits(shell: Shell, named: str, place: Path) -> None:
    """# ruling: version-metadata"""
    (place / "version.json").write_text('{"edition": "second"}')
    shell.run("metadata", "set", named, "version.json", "--format", "json")
    assert json.loads(shell.run("metadata", "get", named, "--own").stdout) == {"edition": "second"}
    merged = json.loads(shell.run("metadata", "get", named, "--format", "json").stdout)
    assert merged["edition"] == "second"
    assert len(merged) == 1
    assert shell.json("metadata", "get", named, "--own")["format"] == "json"


def test_what_was_never_described_is_cited_by_its_name(shell: Shell) -> None:
    name = shell.lines("mint", "--series", SERIES)[0]
    assert name in shell.lines("cite", name, "--url", PLAIN)[0]


def test_a_page_is_cited_by_what_it_says_of_itself(shell: Shell, place: Path) -> None:
    (place / "a.html").write_text("<html lang=en><title>A page</title><meta name=author content=B>")
    name = shell.lines("mint", "--series", SERIES, "a.html")[0]
    assert shell.lines("cite", name, "--url", PLAIN)[0].startswith("B. (")
    written = shell.run("metadata", "get", name).stdout
    assert "Derived: read from the document itself (HTML)" in written


@pytest.mark.parametrize("form", ["datacite", "dc", "jsonld", "csl", "json"])
def test_what_is_got_can_be_set(shell: Shell, named: str, place: Path, form: str) -> None:
    shell.run("metadata", "get", named, "--format", form, "-o", "out")
    other = shell.lines("mint", "--series", SERIES, "a.txt")[0]
    shell.run("metadata", "set", other, "out")
    assert "Remarks" in shell.run("cite", other).stdout


def test_an_attached_record_comes_back_as_it_was(shell: Shell, named: str, place: Path) -> None:
    (place / "cmdi.xml").write_bytes(CMDI)
    shell.run("metadata", "set", named, "cmdi.xml")
    shell.run("metadata", "get", named, "--format", "cmdi", "-o", "back.xml")
    assert (place / "back.xml").read_bytes() == CMDI
    assert "Remarks" in shell.run("cite", named).stdout  # beside, not instead


def test_history_says_who(shell: Shell, named: str) -> None:
    told = shell.run("describe", named, "--history", "--json").stdout.splitlines()
    first, second = (json.loads(one)["record"] for one in told)
    assert "narrower" not in first
    (said,) = second["narrower"]
    assert (said["version"], said["format"]) == (1, "text")
    assert said["about"]["titles"] == [{"value": "Remarks"}]
    assert second["by"] == "a librarian"


def test_what_is_invalid_is_told_with_its_line(shell: Shell, named: str, place: Path) -> None:
    (place / "bad.xml").write_text(RECORD.format(title="T").replace("Dataset", "Datset"))
    told = shell.error("metadata", "set", named, "bad.xml", code=55)
    assert (told["code"], told["line"]) == ("invalid-metadata", 8)
    result = shell.run("metadata", "validate", "record.xml", "bad.xml", code=1)
    good, bad = result.stdout.splitlines()
    assert good == "record.xml: datacite, valid"
    assert "at line 8" in bad


def test_what_is_too_large_is_not_read(shell: Shell, named: str, place: Path) -> None:
    with (place / "large.json").open("wb") as file:
        file.write(b'{"type": "book", "title": "')
        file.truncate(50 << 20)
    assert shell.error("metadata", "set", named, "large.json", code=52)["code"] == "too-large"


def test_an_expected_revision_keeps_writers_apart(shell: Shell, named: str) -> None:
    told = shell.error("metadata", "set", named, "record.xml", "--expect", "1", code=41)
    assert told["code"] == "precondition-failed"


def test_formats_are_listed(shell: Shell) -> None:
    names = [line.split()[0] for line in shell.lines("metadata", "formats")]
    assert {"datacite", "dc", "jsonld", "turtle", "csl", "bibtex", "ris", "cmdi"} <= set(names)


PWID = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"
PLAYED = "https://web.archive.org/web/20160122112029/http://www.dr.dk"


@pytest.mark.parametrize("style", ["apa", "mla", "iso690", "bibtex", "csl"])
def test_a_pwid_is_cited_with_its_archive_and_its_address(shell: Shell, style: str) -> None:
    text = shell.run("pwid", "cite", PWID, "--style", style, "--title", "DR").stdout
    assert "Internet Archive (archive.org)" in text
    assert PWID in text
    assert PLAYED in text.replace(r"\_", "_")
    assert "DR" in text.replace(PWID, "")
    if style != "csl":
        assert "2016-01-22 11:20:29 UTC" in text


def test_a_pwid_is_cited_in_one_line(shell: Shell) -> None:
    line = shell.json("pwid", "cite", PWID, "--author", "Doe, Jane", "--date", "2015-05-05")
    assert line["citation"] == (
        f"Doe, J. (2015, May 5). http://www.dr.dk. {PLAYED} (archived by Internet Archive "
        f"(archive.org) at 2016-01-22 11:20:29 UTC; {PWID})"
    )
    assert line["url"] == PLAYED


def test_what_was_captured_here_says_what_it_is_called(shell: Shell, place: Path) -> None:
    page = (
        '<title>Nyheder fra Århus</title><meta name="author" content="Østergaard, Åse">'
        '<meta name="dcterms.issued" content="2016-01-20">'
    ).encode("latin-1")
    warc, at = Warc(place / "a.warc.gz"), "2016-01-22T11:20:29Z"
    warc.response("http://a.dk/", at, page, media_type="text/html; charset=ISO-8859-1")
    warc.response("http://a.dk/404", at, page, status="404 Not Found")
    warc.response("http://a.dk/x", at, b"<title>")
    shell.run("archive", "add", str(warc.finish()))
    settings = shell.root / "perdure.toml"
    text = settings.read_text() + 'archive_id = "own.example"\n'
    settings.write_text(text)
    own = "pwid:own.example:2016-01-22T11.20.29Z:page:http://a.dk/"
    run = shell.run("pwid", "cite", own)
    assert run.stdout.startswith("Østergaard, Å. (2016, January 20). Nyheder fra Århus. urn:pwid:")
    assert "no address is known" in run.stderr
    settings.write_text(f'{text}base_url = "https://pid.example.org"\n')
    told = shell.json("pwid", "cite", own, "--title", "Another", "--style", "bibtex")
    assert (
        told["url"]
        == "https://pid.example.org/urn:pwid:own.example:2016-01-22T11:20:29Z:page:http://a.dk/"
    )
    assert "title = {Another}" in told["citation"]
    for other in ("404", "x", "absent"):
        line = shell.run("pwid", "cite", own + other).stdout
        assert f"http://a.dk/{other}" in line
        assert "Nyheder" not in line


def test_a_pwid_needs_no_record_to_be_described(shell: Shell) -> None:
    name = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"
    assert name in shell.lines("cite", name, "--url", PLAIN)[0]
    assert name in shell.run("metadata", "get", name, "--url", PLAIN).stdout
    assert shell.error("cite", "hdl:1839/unknown", code=10)["code"] == "not-found"


def test_single_members_are_merged(shell: Shell) -> None:
    shell.run("import", "-", stdin='{"id":"hdl:1839/m"}')
    first = '{"titles":[{"value":"T"}],"creators":[{"name":"Doe, J."}],"year":"1990"}'
    shell.run("metadata", "set", "hdl:1839/m", "-", stdin=first)
    patch = '{"titles":[{"value":"U"}],"year":null}'
    shell.run("metadata", "set", "--merge", "hdl:1839/m", "-", stdin=patch)
    told = shell.run("metadata", "get", "hdl:1839/m", "--format", "csl").stdout
    assert '"title": "U"' in told
    assert "Doe" in told
    assert "1990" not in told


def test_a_format_without_a_version_is_cited_as_the_version_that_has_it(
    shell: Shell, tmp_path: Path
) -> None:
    """Ruling pdi-format-without-version."""
    plain, page = tmp_path / "a.txt", tmp_path / "a.html"
    plain.write_text("one")
    page.write_text("<!DOCTYPE html><title>A page</title><p>one")
    first = shell.lines("mint", "--series", "oma.eop.gov.us", str(plain), str(page))[0]
    whole = first.rsplit(".", 2)[0]
    plain.write_text("two")
    shell.run("commit", whole, str(plain))
    assert "Version 2" in shell.run("cite", whole).stdout
    said = shell.run("cite", f"{whole}.html").stdout
    assert "(Version 1)" in said
    assert "A page" in said
    assert shell.lines("correct", f"{whole}.html", "--language", "de") == [f"{whole}.html.1"]


def test_each_level_keeps_its_own_metadata(shell: Shell, place: Path) -> None:
    """Ruling version-metadata, from the command line to an export and back."""
    (place / "a.txt").write_bytes(b"To whom it may concern.\r\n")
    (place / "b.txt").write_bytes(b"To nobody.\r\n")
    first = shell.lines("mint", "--series", SERIES, "a.txt")[0]
    whole = first.removesuffix(".text.1")
    second = shell.lines("commit", whole, "b.txt")[0]
    said = {
        whole: '{"titles":[{"value":"All"}],"creators":[{"name":"Doe, J."}],"year":"1958"}',
        first: '{"year":"1994"}',
        f"{whole}.*.2": '{"titles":[{"value":"New"}]}',
        f"{first}#char=3,7": '{"titles":[{"value":"Whom"}]}',
    }
    for name, record in said.items():
        (place / "record.json").write_text(record)
        assert shell.lines("metadata", "set", name, "record.json") == [name]
    cited = {name: shell.lines("cite", name)[0] for name in (whole, first, second, [*said][-1])}
    expected = ("(1958). All", "(1994). All", "(1958). New", "(1994). Whom")
    for name, words in zip(cited, expected, strict=True):
        assert words in cited[name]
        assert cited[name].startswith("Doe, J.")
    shell.run("export", "-o", "out.jsonl")
    shell.run("init", "other", "--series", SERIES)
    shell.run("-C", "other", "import", "out.jsonl")
    assert {name: shell.lines("-C", "other", "cite", name)[0] for name in cited} == cited
    shell.run("-C", "other", "export", "-o", "again.jsonl")
    assert (place / "again.jsonl").read_bytes() == (place / "out.jsonl").read_bytes()
    facts = shell.run("describe", whole).stdout
    assert "version 1, format text: described" in facts
    assert "version 2: described as New" in facts
    assert "version 1, format text, part char=3,7: described as Whom" in facts


def test_a_line_that_names_a_version_describes_it(shell: Shell, place: Path) -> None:
    name = f"pdi://{SERIES}/1997/09/01/1"
    lines = [
        {"id": f"{name}.text.1", "content": {"text": "a"}, "about": {"year": "1994"}},
        {"id": f"{name}.text.2", "content": {"text": "b"}},
    ]
    (place / "lines.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    shell.run("import", "lines.jsonl")
    assert "(1994)" in shell.run("cite", f"{name}.text.1").stdout
    assert "(n.d.)" in shell.run("cite", f"{name}.text.2").stdout
    assert "(n.d.)" in shell.run("cite", name).stdout
