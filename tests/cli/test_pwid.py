"""`perdure pwid`: the examples of the drafts, real records, and what cannot be done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from warcio.warcwriter import WARCWriter

from perdure.cli import exits
from perdure.errors import ArchiveClosed, BadSettings, InvalidRequest, NotFound, UnknownArchive

DR = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"
PLAYED = "https://web.archive.org/web/20160122112029/http://www.dr.dk"
MISUSED = exits.CODES[InvalidRequest]


def test_make_of_what_is_known(shell: Shell) -> None:
    words = ("pwid", "make", "http://www.dr.dk", "--archive", "archive.org")
    assert shell.lines(*words, "--at", "2016-01-22T11:20:29Z", "--coverage", "page") == [DR]
    assert shell.lines(*words, "--at", "20160122112029") == [DR]


def test_make_of_a_playback_address_and_back(shell: Shell) -> None:
    assert shell.lines("pwid", "make", PLAYED) == [DR]
    assert shell.lines("pwid", "resolve-url", DR) == [PLAYED]
    raw = "https://web.archive.org/web/20160122112029id_/http://www.dr.dk"
    assert shell.lines("pwid", "resolve-url", DR, "--raw") == [raw]
    assert shell.lines("pwid", "make", raw) == [DR.replace(":page:", ":part:")]
    assert shell.lines("pwid", "make", raw, "--coverage", "site") == [
        DR.replace(":page:", ":site:")
    ]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("draft-00", "pwid:archive.org:2016-01-22T11.20.29Z_page:http://www.dr.dk"),
        ("urn-09", "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"),
        ("urn", "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"),
    ],
)
def test_make_in_a_dialect(shell: Shell, dialect: str, text: str) -> None:
    assert shell.lines("pwid", "make", PLAYED, "--dialect", dialect) == [text]


def test_a_dialect_that_is_none(shell: Shell) -> None:
    shell.error("pwid", "make", PLAYED, "--dialect", "urn-10", code=MISUSED)


@pytest.fixture
def warc(place: Path) -> Path:
    """Two records of which we know where they lie, written by warcio."""
    path = place / "two.warc.gz"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True, warc_version="1.1")
        for at, uri in (("2026-11-21T01:02:03Z", "http://a.example/"),
                        ("2026-11-21T01:02:03.5Z", "http://a.example/b c")):  # fmt: skip
            fields = {"WARC-Date": at, "WARC-Record-ID": f"<urn:uuid:{at[18:20]}>"}
            writer.write_record(
                writer.create_warc_record(
                    uri, "resource", warc_content_type="text/plain", warc_headers_dict=fields
                )
            )
            (place / "second").write_text(str(file.tell())) if uri.endswith("/") else None
    return path


def test_make_of_a_record(shell: Shell, warc: Path, place: Path) -> None:
    words = ("pwid", "make", "--warc", str(warc), "--archive", "a.example")
    first = "pwid:a.example:2026-11-21T01.02.03Z:part:http://a.example/"
    second = "pwid:a.example:2026-11-21T01.02.03.5Z:part:http://a.example/b%20c"
    assert shell.lines(*words, "--offset", "0") == [first]
    assert shell.lines(*words, "--offset", (place / "second").read_text()) == [second]
    assert shell.lines(*words, "--record", "<urn:uuid:3.>") == [second]
    for wrong in (("--offset", "1"), ("--offset", "99999"), ("--record", "urn:uuid:4")):
        shell.error(*words, *wrong, code=exits.CODES[NotFound])


def test_the_archive_of_one_s_own_records_is_a_setting(
    shell: Shell, warc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("pwid", "make", "--warc", str(warc), "--offset", "0")
    shell.run(*words, code=exits.USAGE)
    monkeypatch.setenv("PERDURE_ARCHIVE_ID", "own.example")
    assert shell.lines(*words)[0].startswith("pwid:own.example:2026-11-21T01.02.03Z:part:")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("http://a/", "--at", "2016"),
        ("http://a/", "--archive", "a.example"),
        ("--warc", "two.warc.gz"),
        ("http://a/", "--warc", "two.warc.gz", "--offset", "0"),
        ("--warc", "two.warc.gz", "--offset", "0", "--record", "a"),
    ],
)
def test_what_does_not_go_together(shell: Shell, warc: Path, words: tuple[str, ...]) -> None:
    shell.run("pwid", "make", *words, code=exits.USAGE)


@pytest.mark.parametrize("url", ["https://web.archive.org/web/2016/http://a/", "http://www.dr.dk"])
def test_what_is_no_playback_address(shell: Shell, url: str) -> None:
    shell.error("pwid", "make", url, code=MISUSED)


def test_check_names_the_grammars(shell: Shell) -> None:
    told = shell.json("pwid", "check", DR)
    assert told["satisfies"] == ["draft-01", "draft-02", "draft-03", "draft-04"]
    assert told["misfits"]["draft-00"][0]["field"] == "coverage"
    assert [one["field"] for one in told["misfits"]["urn-09"]] == ["opening", "time"]
    text = "\n".join(shell.lines("pwid", "check", DR))
    assert f"{DR}: draft-01, draft-02, draft-03, draft-04\n" in text
    assert "not urn-06, urn-07, urn-08, urn-09: opening 'pwid', expected urn:pwid;" in text


def test_check_reads_lines(shell: Shell) -> None:
    result = shell.run("pwid", "check", "-", "--json", stdin=f"{DR}\n\n  {DR}\r\n")
    assert [json.loads(line)["pwid"] for line in result.stdout.splitlines()] == [DR, DR]


def test_check_tells_what_is_no_pwid(shell: Shell) -> None:
    result = shell.run("pwid", "check", "pwid:a b", DR, "--json", code=exits.FINDINGS)
    wrong, right = map(json.loads, result.stdout.splitlines())
    assert (wrong["pwid"], wrong["code"], wrong["at"]) == (None, "malformed-identifier", 6)
    assert right["pwid"] == DR


def test_check_fails_for_a_text_that_satisfies_no_grammar(shell: Shell) -> None:
    text = "pwid:archive.org:2020-01-01T00.00.00Z:page:http://br.example/p|q"
    result = shell.run("pwid", "check", text, "--json", code=exits.FINDINGS)
    told = json.loads(result.stdout)
    assert (told["pwid"], told["satisfies"]) == (text, [])


@pytest.mark.corpus
def test_every_pwid_of_the_wild_is_read(shell: Shell) -> None:
    path = Path(__file__).parents[3] / "shared/vectors/pwid-in-the-wild.json"
    if not path.exists():
        pytest.skip("the vectors lie beside the project")
    cases = json.loads(path.read_text("utf-8"))["cases"]
    texts = [case["pwid"] for case in cases]
    told = shell.run(
        "pwid", "check", "--json", "--", *texts, code=exits.FINDINGS
    ).stdout.splitlines()
    assert len(told) == len(cases)
    for case, line in zip(cases, map(json.loads, told), strict=True):
        assert (line["pwid"] is not None) is case.get("readable", True)
        if line["pwid"]:
            assert ("draft-04" in line["satisfies"]) is case["draft04"]
            assert ("urn-09" in line["satisfies"]) is case["urn09"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pwid:archive.org:2016-01:page:http://a/", "must include seconds"),
        ("pwid:archive.org:2016-01-22T11.20.29Z:page:some-id", "not a URI"),
        ("pwid:webharvest.gov:2016-01-22T11.20.29Z:page:http://a/", "--collection"),
        ("pwid:commoncrawl.org:2016-01-22T11.20.29Z:page:http://a/", "no playback address"),
        ("urn:isbn:0451450523", "not a PWID"),
    ],
)
def test_what_has_no_address_says_why(shell: Shell, text: str, reason: str) -> None:
    told = shell.error("pwid", "resolve-url", text, code=MISUSED)
    assert reason in told["message"]


@pytest.mark.parametrize("command", ["resolve-url", "cite"])
def test_another_scheme_is_refused_alike(shell: Shell, command: str) -> None:
    told = shell.error("pwid", command, "hdl:1839/A", code=MISUSED)
    assert (told["code"], told["identifier"]) == ("invalid-request", "hdl:1839/A")


def test_an_archive_that_is_unknown_or_closed_is_told_apart(shell: Shell) -> None:
    for archive, code in (
        ("nowhere.example", "unknown-archive"),
        ("netarkivet.dk", "archive-closed"),
    ):
        pwid = f"pwid:{archive}:2016-01-22T11.20.29Z:page:http://a/"
        kind = UnknownArchive if code == "unknown-archive" else ArchiveClosed
        told = shell.error("pwid", "resolve-url", pwid, code=exits.CODES[kind])
        assert (told["code"], told["archive"]) == (code, archive)


def test_resolve_tells_scripts_every_address(shell: Shell) -> None:
    told = shell.json("pwid", "resolve-url", DR)
    assert told["timegate"] == "https://web.archive.org/web/http://www.dr.dk"
    assert (told["access"], told["status"]) == ("open", "listed")
    local = "http://kb-prod-wayback.kb.dk:8080/wayback/20160122112029/http://a/"
    closed = "pwid:netarkivet.dk:2016-01-22T11.20.29Z:page:http://a/"
    assert shell.lines("pwid", "resolve-url", "--local", closed) == [local]


def test_archives_are_listed_and_exported(shell: Shell) -> None:
    assert shell.lines("pwid", "archives", "web.archive.org") == [
        "archive.org\topen\tlisted\tInternet Archive"
    ]
    assert (
        "<https://archive.org/#wa> a pwid:WebArchive"
        in shell.run("pwid", "archives", "--export", "turtle").stdout
    )
    shell.error("pwid", "archives", "nowhere.example", code=exits.CODES[UnknownArchive])


def test_archives_are_imported(shell: Shell, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = place / "archives.json"
    source.write_text(
        '[ {"id": "new.example", "name": "New", "timegate": "https://new.example/gate/"},'
        ' {"id": "web.archive.org", "name": "Known", "timegate": "https://web.archive.org/web/"} ]'
    )
    shell.error("pwid", "archives", "--import", str(source), code=MISUSED)
    monkeypatch.setenv("PERDURE_ARCHIVES_FILE", "own.toml")
    added = ["new.example\tunknown\tunverified\tNew"]
    assert shell.lines("pwid", "archives", "--import", str(source)) == added
    assert shell.lines("pwid", "archives", "--import", str(source)) == []
    assert shell.lines("pwid", "archives", "new.example") == added
    assert len(shell.lines("pwid", "archives")) == 38
    (shell.root / "own.toml").write_text("[[archive]]\nid = 'A'")
    shell.error("pwid", "archives", code=exits.CODES[BadSettings])


def test_no_registry_is_needed(shell: Shell, tmp_path: Path) -> None:
    assert Shell(tmp_path).lines("pwid", "make", PLAYED) == [DR]
