"""`perdure archive` at the command line: what is printed, and what the shell is told."""

from __future__ import annotations

import gzip
import json
import subprocess
import zipfile
from pathlib import Path

import pytest
from tests.archives.test_library import package
from tests.archives.test_scanning import record
from tests.archives.warcs import Warc
from tests.cli.conftest import Shell

PEERS = Path(__file__).parents[2] / ".peers" / "bin"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"
URL = "http://www.dr.dk/"


@pytest.fixture
def warc(place: Path) -> Path:
    made = Warc(place / "a.warc.gz")
    made.response(URL, "2016-01-22T11:20:29Z", b"<p>old")
    made.response(URL, "2017-01-22T11:20:29Z", b"<p>new")
    made.response("https://dr.dk/", "2018-01-22T11:20:29Z", b"<p>https")
    return made.finish()


def test_add_find_list(shell: Shell, warc: Path) -> None:
    assert shell.lines("archive", "add", str(warc)) == ["a.warc.gz: added, 3 records, 3 captures"]
    assert shell.lines("archive", "add", str(warc.parent)) == [
        "a.warc.gz: unchanged, 3 records, 3 captures"
    ]
    assert [one.split("\t")[:4] for one in shell.lines("archive", "list")] == [
        ["a.warc.gz", "3", "3", "0"]
    ]
    assert len(shell.lines("archive", "find", URL)) == 3
    found = shell.json("archive", "find", URL, "--at", "2016-01-22T11:20:29Z")
    assert (found["match"], found["uri"], found["date"]) == ("exact", URL, "2016-01-22T11:20:29Z")
    assert shell.json("archive", "find", URL, "--at", "20160122112029") == found


def test_what_is_not_exact_is_found_only_when_asked_for(shell: Shell, warc: Path) -> None:
    shell.run("archive", "add", str(warc))
    told = shell.error("archive", "find", URL, "--at", "2016-01-22T11:20:30Z", code=10)
    assert isinstance(told["offered"], list)
    assert told["offered"][0]["date"] == "2016-01-22T11:20:29Z"
    shell.error("archive", "find", URL, "--at", "2018-01-22T11:20:29Z", code=10)
    found = shell.json("archive", "find", URL, "--at", "2016-01-22T11:20:30Z", "--nearest")
    assert (found["match"], found["delta"]) == ("nearest", -1)
    shell.error("archive", "find", "http://nowhere.example/", code=10)
    shell.error("archive", "find", URL, "--at", "noon", code=2)


def test_flaws_are_told_and_the_rest_is_there(shell: Shell, warc: Path) -> None:
    text = warc.read_bytes()
    warc.write_bytes(text[:-20])
    result = shell.run("archive", "add", str(warc), "--json", code=1)
    told, summary = map(json.loads, result.stdout.splitlines())
    assert told["captures"] == 3
    [flaw] = told["flaws"]
    assert flaw["problem"] == "gzip: the file ends within a member"
    assert summary["flaws"] == 1
    shell.run("archive", "check", code=1)


@pytest.mark.corpus
def test_check_finds_changed_bytes(shell: Shell, place: Path) -> None:
    [source] = CORPUS.glob("*warcio__test_data_example-resource.warc.gz")
    path = place / "plain.warc"
    path.write_bytes(
        subprocess.run(["gzip", "-dc", source], check=True, capture_output=True).stdout
    )
    shell.run("archive", "add", str(path))
    shell.run("archive", "check")
    text = path.read_bytes()
    path.write_bytes(text.replace(b"Example", b"Exemple"))
    assert "digest" in shell.lines("archive", "check", "plain.warc", code=1)[0]
    shell.run("archive", "check", "nobody", code=10)


def test_moved_files_are_the_registrys(shell: Shell, warc: Path) -> None:
    shell.run("archive", "add", "--move", str(warc))
    assert not warc.exists()
    assert (shell.root / "captures/files/a.warc.gz").exists()


@pytest.mark.corpus
@pytest.mark.parametrize(
    "name",
    [
        "webrecorder+pywb__sample_archive_warcs_iana.warc.gz",
        "webrecorder+cdxj-indexer__test_data_example.warc.gz",
        "webrecorder+warcio__test_data_example.arc.gz",
        "iipc+warc-specifications__primers_web-archive-formats_hello-world.warc",
    ],
)
def test_the_cdxj_is_that_of_cdxj_indexer(shell: Shell, name: str) -> None:
    """cdxj-indexer 1.5 reads the same file: each of its lines is one of ours.

    It computes digests that no record carries; we give none.
    """
    if not (PEERS / "cdxj-indexer").exists():
        pytest.skip("cdxj-indexer is not installed (make unit)")
    command = [str(PEERS / "cdxj-indexer"), "-s", str(CORPUS / name)]
    theirs = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    shell.run("archive", "add", str(CORPUS / name))
    ours = shell.lines("archive", "export-cdxj")
    assert [parts(one) for one in ours] == [parts(one) for one in theirs.splitlines()]


def test_the_cdxj_has_no_records_about_captures(shell: Shell, place: Path) -> None:
    """pywb's indexer leaves out text/anvl (METADATA_NO_INDEX_TYPES), which Heritrix writes under
    the URL of each page; sorted as bytes, its line would stand before that of the page."""
    url, date = "http://www.archive.org/about/faqs.php", "2008-04-30T20:50:18Z"
    warc = Warc(place / "heritrix.warc.gz")
    warc.response(url, date, b"<title>FAQs</title>")
    warc.metadata(url, date, b"via: http://www.archive.org/\r\n", "text/anvl")
    shell.run("archive", "add", str(warc.finish()))
    (line,) = shell.lines("archive", "export-cdxj")
    assert json.loads(line.split(" ", 2)[2])["mime"] == "text/html"
    assert len(shell.lines("archive", "export-cdxj", "--all")) == 2


def parts(line: str) -> tuple[str, ...]:
    key, time, text = line.split(" ", 2)
    fields = json.loads(text)
    names = ("url", "mime", "status", "offset", "filename")
    return (key, time, *(fields.get(name, "").replace("-", "") for name in names))


def test_a_takedown_is_lifted_and_both_are_listed(shell: Shell) -> None:
    url = "http://a.example/"
    asked = ("archive", "withhold", url, "--match", "host", "--from", "2014")
    shell.error(*asked, "--reason", "an error", "--lift", code=40)
    shell.run(*asked, "--reason", "privacy", "--by", "Ada")
    shell.error("archive", "withhold", url, "--reason", "an error", "--lift", code=40)
    said = shell.run(*asked, "--reason", "an error", "--by", "Bert", "--lift").stdout
    assert said == "served again: 0 captures\n"
    assert shell.lines("archive", "withheld") == []
    (first, second) = shell.lines("archive", "withheld", "--all")
    assert first.split("\t")[4:] == ["Ada", "privacy"]
    assert second.split("\t")[4:] == ["Bert", "an error", "lifted"]


def test_a_check_counts_problems_by_file_and_kind(shell: Shell, tmp_path: Path) -> None:
    """Of many problems of one kind in a file, only the first are printed; JSON has all."""
    path = tmp_path / "many.warc"
    wrong = "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n"
    path.write_bytes(b"".join(record(f"http://a.example/{n}", fields=wrong) for n in range(30)))
    shell.run("archive", "add", str(path))
    done = shell.run("archive", "check", code=1)
    assert len(done.stdout.splitlines()) == 20
    assert "many.warc: 30 × payload digest" in done.stderr
    lines = [
        json.loads(one)
        for one in shell.run("archive", "check", "--json", code=1).stdout.splitlines()
    ]
    assert len(lines) == 31
    assert {one["fault"] for one in lines[:-1]} == {"payload digest"}
    assert lines[-1]["faults"] == [{"file": "many.warc", "fault": "payload digest", "count": 30}]


def test_a_check_finds_changed_bytes_of_records_without_digests(
    shell: Shell, tmp_path: Path
) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(record("http://a.example/", b"before"))
    shell.run("archive", "add", str(path))
    path.write_bytes(record("http://a.example/", b"behind"))
    done = shell.run("archive", "check", code=1)
    assert "a.warc: 1 × not as indexed" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        b" CDX N b a m s k r M S V g\norg,example)/ 20140101000000 http://example.org/\n",
        b'org,example)/ 20140101000000 {"url": "http://example.org/"}\n',
        b'!meta 0 {"format": "cdxj-gzip-1.0"}\n',
        b'!context ["http://oduwsdl.github.io/contexts/cdxj"]\n!meta {"generator": "ipwb"}\n',
        b"org,example)/ 20140101000000 http://example.org/ text/html 200 ABC - - 1 2 a.warc.gz\n",
        b"org,example)/ 20140101000000\tpart.cdx.gz\t0\t100\t1\n",
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_an_index_is_not_an_archive_file(
    shell: Shell, tmp_path: Path, text: bytes, *, packed: bool
) -> None:
    path = tmp_path / "a.cdxj"
    path.write_bytes(gzip.compress(text) if packed else text)
    done = shell.run("archive", "add", str(path), code=1)
    assert "it is an index (CDX or CDXJ)" in done.stderr
    assert shell.lines("archive", "list") == []


@pytest.mark.parametrize(
    "text", [b"\x1f\x8b", b"\x1f\x8b\x08", b"\x1f\x8bgarbage", b"\x1f\x8b\x08garbage"]
)
def test_a_file_that_only_begins_like_gzip_has_a_flaw(
    shell: Shell, tmp_path: Path, text: bytes
) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(text)
    done = shell.run("archive", "add", str(path), code=1)
    assert "cannot be read as a record" in done.stderr


@pytest.mark.parametrize(("hash", "flaws"), [("", 0), ("sha256:" + "0" * 64, 1)])
def test_a_wrong_signature_of_a_package_is_reported(
    shell: Shell, tmp_path: Path, warc: Path, hash: str, flaws: int
) -> None:
    """https://specs.webrecorder.net/wacz-auth/: `signedData` in datapackage-digest.json."""
    path = package(tmp_path / "a.wacz", {"archive/a.warc.gz": warc.read_bytes()})
    with zipfile.ZipFile(path) as old:
        files = {name: old.read(name) for name in old.namelist()}
    digest = json.loads(files["datapackage-digest.json"])
    digest["signedData"] = {"hash": hash or digest["hash"], "domain": "signer.example",
                            "created": "2024-01-02T03:04:05Z", "signature": "AAAA"}  # fmt: skip
    files["datapackage-digest.json"] = json.dumps(digest).encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, text in files.items():
            new.writestr(name, text)
    done = shell.run("archive", "add", str(path), code=1)
    assert "stated to be signed by 'signer.example' on '2024-01-02T03:04:05Z'" in done.stderr
    assert "the signature is wrong" in done.stderr
    assert "its public key cannot be read" in done.stderr
    assert done.stderr.count("its signature is not of datapackage.json") == flaws


@pytest.mark.corpus
def test_adding_and_checking_say_who_signed(shell: Shell) -> None:
    path = next(CORPUS.glob("*iframetest.wacz"))
    for done in (shell.run("archive", "add", str(path)), shell.run("archive", "check")):
        assert "stated to be signed anonymously on '2025-05-08T19:52:46.717Z'" in done.stderr
