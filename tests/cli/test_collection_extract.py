"""Corpora taken out of the archive: as other programs read them, whole, and taken up again."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.archives.warcs import Warc
from tests.cli.conftest import Shell
from warcio.archiveiterator import ArchiveIterator

from perdure.archives.pwid.making import make_pwid
from perdure.upkeep.collection.extracting import ExtractedMember
from perdure.upkeep.collection.resuming import RunLog, RunSubject

PROJECT = Path(__file__).parents[2]
PEERS = PROJECT / ".peers" / "bin"
BIN = Path(sys.executable).parent
CORPUS = PROJECT.parent / "shared" / "corpus" / "webarchive"
OWN = "archive.example.org"
AT = "2016-01-22T11:20:29Z"
LATER = "2016-01-23T11:20:29Z"
PAGE = b'<html><img src="/a.png"><link rel="stylesheet" href="/missing.css"></html>'
HOME = f"pwid:{OWN}:2016-01-22T11.20.29Z:page:http://www.dr.dk/"
AGAIN = f"pwid:{OWN}:2016-01-23T11.20.29Z:part:http://www.dr.dk/"
OTHER = f"pwid:{OWN}:2016-01-22T11.20.29Z:part:http://www.dr.dk/other"
ABSENT = f"pwid:{OWN}:2017-01-23T11.20.29Z:part:http://www.dr.dk/"


def program(*words: object) -> subprocess.CompletedProcess[str]:
    if not Path(str(words[0])).exists():
        pytest.skip(f"{words[0]} is not installed; see the Makefile")
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)


@pytest.fixture
def crawl(place: Path) -> Path:
    """A page with a picture, and the page again a day later, unchanged."""
    warc = Warc(place / "crawl.warc.gz")
    warc.response("http://www.dr.dk/", AT, PAGE)
    warc.response("http://www.dr.dk/a.png", AT, b"\x89PNG", media_type="image/png")
    digest = hashlib.sha1(PAGE).digest()
    shown = f"sha1:{base64.b32encode(digest).decode()}"
    warc.revisit("http://www.dr.dk/", LATER, shown, "http://www.dr.dk/", AT)
    warc.response("http://www.dr.dk/other", AT, b"other")
    return warc.finish()


@pytest.fixture
def archive(shell: Shell, crawl: Path) -> Shell:
    settings = shell.root / "perdure.toml"
    settings.write_text(settings.read_text() + f'archive_id = "{OWN}"\n')
    shell.run("archive", "add", str(crawl))
    return shell


def corpus(shell: Shell, *lines: str) -> str:
    words = ("collection", "make", "-", "--title", "A corpus", "--creator", "Ada")
    (name,) = shell.lines(*words, stdin="\n".join(lines))
    return name


def records(path: Path) -> list[tuple[str, str, bytes]]:
    """As warcio, the reference reader, has them."""
    with path.open("rb") as file:
        return [
            (
                one.rec_type,
                one.rec_headers.get_header("WARC-Target-URI") or "",
                one.content_stream().read(),
            )
            for one in ArchiveIterator(file)
        ]


def test_a_page_comes_with_what_it_consists_of(archive: Shell, tmp_path: Path) -> None:
    name = corpus(archive, HOME)
    into = tmp_path / "a.warc.gz"
    archive.run("collection", "extract", name, "-o", str(into))
    found = [one for one in records(into) if one[0] == "response"]
    assert found == [
        ("response", "http://www.dr.dk/", PAGE),
        ("response", "http://www.dr.dk/a.png", b"\x89PNG"),
    ]
    assert list(tmp_path.iterdir()) == [into], "no state is left behind"


def test_a_revisit_comes_with_its_original(archive: Shell, tmp_path: Path) -> None:
    into = tmp_path / "a.warc.gz"
    archive.run("collection", "extract", corpus(archive, AGAIN), "-o", str(into))
    kinds = [(kind, uri) for kind, uri, _ in records(into)]
    assert kinds[2:] == [("revisit", "http://www.dr.dk/"), ("response", "http://www.dr.dk/")]


def test_records_are_copied_byte_for_byte(archive: Shell, crawl: Path, tmp_path: Path) -> None:
    into = tmp_path / "a.warc.gz"
    archive.run("collection", "extract", corpus(archive, HOME, AGAIN), "-o", str(into))
    original = gzip.decompress(crawl.read_bytes()).split(b"\r\n\r\nWARC/1.")
    copied = gzip.decompress(into.read_bytes())
    for record in original[:3]:
        assert record.removeprefix(b"WARC/1.") in copied
    assert copied.count(b"WARC-Type: response") == 2, "nothing is written twice"


def test_what_is_held_becomes_records(archive: Shell, letter: Path, tmp_path: Path) -> None:
    (minted,) = archive.lines("mint", str(letter), "--series", "oma.eop.gov.us")
    name = corpus(archive, minted, f"{minted}#char=0,4")
    into = tmp_path / "a.warc.gz"
    archive.run("collection", "extract", name, "-o", str(into))
    document = archive.run("get", name).stdout_bytes
    assert records(into)[1:] == [
        ("resource", name, document),
        ("resource", minted, letter.read_bytes()),
        ("resource", f"{minted}#char=0,4", b"Dear"),
    ]


def test_what_is_not_kept_here_is_told_and_the_rest_written(archive: Shell, tmp_path: Path) -> None:
    name = corpus(archive, ABSENT, "doi:10.1000/182", HOME)
    into = tmp_path / "a.warc.gz"
    told = archive.run("collection", "extract", name, "-o", str(into), code=1).stderr
    assert "member 1" in told
    assert "member 2" in told
    assert ("response", "http://www.dr.dk/", PAGE) in records(into)


def test_a_damaged_record_is_told_and_left_out(archive: Shell, crawl: Path, tmp_path: Path) -> None:
    name = corpus(archive, HOME, OTHER)
    data = crawl.read_bytes()
    crawl.write_bytes(data[:-30])
    into = tmp_path / "a.warc.gz"
    archive.run("collection", "extract", name, "-o", str(into), code=1)
    uris = [uri for kind, uri, _ in records(into) if kind == "response"]
    assert uris == ["http://www.dr.dk/", "http://www.dr.dk/a.png"]


def test_states_of_members_in_the_archive(archive: Shell) -> None:
    near = f"pwid:{OWN}:2016-01-22T11.20.30Z:part:http://www.dr.dk/other"
    nothing = f"pwid:{OWN}:2016-01-22T11.20.30Z:part:http://www.dr.dk/nothing"
    name = corpus(archive, HOME, AGAIN, near, nothing)
    report = archive.run("collection", "check", name, "--report", "json", code=1).stdout
    found = json.loads(report)["checked"]
    assert [one["state"] for one in found] == ["exact", "exact", "nearest", "absent"]
    assert found[2]["delta"] == -1
    sha512 = f"sha512:{hashlib.sha512(PAGE).hexdigest()}"
    assert [one["digest"] for one in found[:2]] == [sha512, sha512]
    listed = archive.run("collection", "list", name, "--form", "csv").stdout
    assert sha512 in listed, "the manifest has it"


def test_a_revisit_that_recorded_a_redirect_is_complete(archive: Shell, tmp_path: Path) -> None:
    """A redirect needs no payload: its status and its target are in the revisit itself."""
    warc = Warc(tmp_path / "moved.warc.gz")
    digest = f"sha1:{base64.b32encode(hashlib.sha1(b'').digest()).decode()}"
    place = ("Location", "http://www.dr.dk/other")
    for name, status in (("moved", "302 Found"), ("same", "200 OK")):
        uri = f"http://www.dr.dk/{name}"
        of = "http://elsewhere.example/"
        warc.revisit(uri, AT, f"{digest[:-1]}{name[0].upper()}", of, AT, place, status=status)
    archive.run("archive", "add", str(warc.finish()))
    moved, same = (OTHER.replace("other", name) for name in ("moved", "same"))
    report = archive.run(
        "collection", "check", corpus(archive, moved, same), "--report", "json", code=1
    )
    found = json.loads(report.stdout)["checked"]
    assert [one["state"] for one in found] == ["exact", "absent"]
    assert "original is missing" in found[1]["detail"]
    into = tmp_path / "a.warc.gz"
    archive.run("collection", "extract", corpus(archive, moved), "-o", str(into))
    assert ("revisit", "http://www.dr.dk/moved") in [one[:2] for one in records(into)]


def test_a_request_of_warcprox_comes_out_as_other_readers_take_it(
    archive: Shell, tmp_path: Path
) -> None:
    """warcprox 2.3 gives requests the digest of the block as that of the payload."""
    warc = Warc(tmp_path / "warcprox.warc.gz")
    warc.response("http://proxy.example/", AT, b"<p>1")
    path = warc.finish()
    block = b"GET / HTTP/1.1\r\nHost: proxy.example\r\n\r\n"
    digest = base64.b32encode(hashlib.sha1(block).digest()).decode()
    head = (
        "WARC/1.0\r\nWARC-Type: request\r\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"
        f"WARC-Date: {AT}\r\nWARC-Target-URI: http://proxy.example/\r\n"
        f"WARC-Block-Digest: sha1:{digest}\r\nWARC-Payload-Digest: sha1:{digest}\r\n"
        f"Content-Type: application/http;msgtype=request\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    with path.open("ab") as file:
        file.write(gzip.compress(head.encode() + block + b"\r\n\r\n"))
    assert "failed" in program(BIN / "warcio", "check", path).stdout
    archive.run("archive", "add", str(path))
    into = tmp_path / "a.warc.gz"
    name = corpus(archive, OTHER.replace("http://www.dr.dk/other", "http://proxy.example/"))
    archive.run("collection", "extract", name, "-o", str(into))
    assert ("request", "http://proxy.example/") in [one[:2] for one in records(into)]
    checked = program(BIN / "warcio", "check", into)
    assert (checked.returncode, checked.stdout) == (0, "")
    assert f"WARC-Block-Digest: sha1:{digest}".encode() in gzip.decompress(into.read_bytes())


def test_of_a_page_it_is_told_which_pieces_are_kept(archive: Shell, place: Path) -> None:
    name = corpus(archive, HOME, AGAIN)
    before = place / "before.json"
    archive.run("collection", "check", name, "--report", "json", "-o", str(before))
    page, part = json.loads(before.read_text())["checked"]
    assert (page["state"], page["pieces"]) == ("exact", 1)
    assert page["missing"] == ["http://www.dr.dk/missing.css"]
    assert "1 of 2 pieces" in page["detail"]
    assert "pieces" not in part
    warc = Warc(place / "more.warc.gz")
    warc.response("http://www.dr.dk/missing.css", LATER, b"", media_type="text/css")
    archive.run("archive", "add", str(warc.finish()))
    (change,) = archive.json("collection", "diff", str(before), name, code=1)["changes"]
    assert (change["kind"], change["identifier"]) == ("pieces of the page", HOME)
    assert change["after"].endswith("2 pieces")


def test_a_record_without_the_digest_recorded_with_it_is_damaged(
    archive: Shell, place: Path
) -> None:
    plain = place / "plain.warc"
    plain.write_bytes(gzip.decompress((place / "crawl.warc.gz").read_bytes()))
    other = (
        plain.read_bytes()
        .replace(b"\r\n\r\nother", b"\r\n\r\nOTHER")
        .replace(b"11:20:29Z", b"11:20:31Z")
    )
    plain.write_bytes(other)
    archive.run("archive", "add", str(plain))
    rotten = OTHER.replace("20.29", "20.31")
    name = corpus(archive, OTHER, rotten, rotten.replace("part", "other"))
    report = archive.run("collection", "check", name, "--report", "json", code=1).stdout
    assert [one["state"] for one in json.loads(report)["checked"]] == ["exact", *["damaged"] * 2]
    into = place / "out.warc.gz"
    told = archive.run("collection", "extract", name, "-o", str(into), code=1).stderr
    assert re.findall(r"member (\d): .*was recorded with it", told) == ["2", "3"]
    assert [data for kind, _, data in records(into) if kind == "response"] == [b"other"]
    assert program(BIN / "warcio", "check", into).returncode == 0


def test_a_block_without_the_digest_recorded_with_it_is_damaged(
    archive: Shell, place: Path
) -> None:
    plain = place / "plain.warc"
    data = gzip.decompress((place / "crawl.warc.gz").read_bytes())
    plain.write_bytes(
        data.replace(b"Content-Type: image/png", b"Content-Type: image/PNG").replace(
            b"11:20:29Z", b"11:20:31Z"
        )
    )
    assert program(BIN / "warcio", "check", plain).returncode == 1
    archive.run("archive", "add", str(plain))
    name = corpus(archive, f"pwid:{OWN}:2016-01-22T11.20.31Z:part:http://www.dr.dk/a.png")
    report = archive.run("collection", "check", name, "--report", "json", code=1).stdout
    assert [one["state"] for one in json.loads(report)["checked"]] == ["damaged"]


# other programs
# --------------


@pytest.fixture
def wacz(archive: Shell, letter: Path, tmp_path: Path) -> Path:
    (minted,) = archive.lines("mint", str(letter), "--series", "oma.eop.gov.us")
    into = tmp_path / "a.wacz"
    archive.run("collection", "extract", corpus(archive, HOME, AGAIN, minted), "-o", str(into))
    return into


def test_wacz_validates(wacz: Path) -> None:
    done = program(PEERS / "wacz", "validate", "-f", wacz)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Valid" in done.stdout or "valid" in done.stdout
    assert "not" not in done.stdout.lower()
    with zipfile.ZipFile(wacz) as package:
        assert json.loads(package.read("datapackage.json"))["wacz_version"] == "1.1.1"
        stored = {i.filename for i in package.infolist() if i.compress_type == zipfile.ZIP_STORED}
        assert stored == {"archive/data.warc.gz", "indexes/index.cdx.gz"}
        shown = [json.loads(one) for one in package.read("pages/pages.jsonl").splitlines()[1:]]
        assert [(one["url"], one["ts"]) for one in shown] == [
            ("http://www.dr.dk/", AT),
            ("http://www.dr.dk/", LATER),
        ]


def test_wacz_has_no_zip64_field_without_need(wacz: Path) -> None:
    """APPNOTE 4.5.3: such a field stands only where a size is 0xFFFFFFFF. ReplayWeb.page takes the
    offset of the first file for another one, and finds no page, if there is one without need."""
    data = wacz.read_bytes()
    with zipfile.ZipFile(wacz) as package:
        for entry in package.infolist():
            head = data[entry.header_offset : entry.header_offset + 30]
            assert int.from_bytes(head[4:6], "little") == 20, "2.0 is enough to extract it"
            assert int.from_bytes(head[28:30], "little") == 0, entry.filename


def test_a_page_is_listed_once_and_nothing_else_is_one(archive: Shell, tmp_path: Path) -> None:
    picture = f"pwid:{OWN}:2016-01-22T11.20.29Z:other:http://www.dr.dk/a.png"
    into = tmp_path / "a.wacz"
    name = corpus(archive, picture, HOME, HOME.replace(":page:", ":subsite:"))
    archive.run("collection", "extract", name, "-o", str(into))
    with zipfile.ZipFile(into) as package:
        shown = package.read("pages/pages.jsonl").splitlines()[1:]
    assert [json.loads(one)["url"] for one in shown] == ["http://www.dr.dk/"]


def test_warcio_and_cdxj_indexer_read_it(wacz: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wacz) as package:
        warc = tmp_path / "data.warc.gz"
        warc.write_bytes(package.read("archive/data.warc.gz"))
        ours = gzip.decompress(package.read("indexes/index.cdx.gz")).decode().splitlines()
    done = program(BIN / "warcio", "check", warc)
    assert done.returncode == 0, done.stdout
    done = program(PEERS / "cdxj-indexer", "-s", warc)
    theirs = done.stdout.splitlines()
    assert [_http(one) for one in ours if " {" in one and "http" in one] == [
        _http(one) for one in theirs if '"url": "http' in one
    ]


@pytest.mark.corpus
def test_whatever_lies_in_the_archive_what_comes_out_is_sound(
    archive: Shell, tmp_path: Path
) -> None:
    """All of 116 odd files of other projects: truncated, wrong lengths, bare line feeds, ARC …"""
    archive.run("archive", "add", str(CORPUS), code=1)
    lines = archive.run("archive", "export-cdxj").stdout.splitlines()
    uris = [(one.split(" ")[1], json.loads(one.split(" ", 2)[2])["url"]) for one in lines]
    listed = {str(make_pwid(OWN, time, "part", uri)) for time, uri in uris}
    into = tmp_path / "all.wacz"
    archive.run("collection", "extract", corpus(archive, *sorted(listed)), "-o", str(into), code=1)
    assert program(PEERS / "wacz", "validate", "-f", into).returncode == 0
    with zipfile.ZipFile(into) as package:
        warc = tmp_path / "data.warc.gz"
        warc.write_bytes(package.read("archive/data.warc.gz"))
        ours = gzip.decompress(package.read("indexes/index.cdx.gz")).decode().splitlines()
    told = program(PEERS / "warcio", "check", warc).stdout
    failed = re.findall("digest failed:? (.*)", told)
    # warcio compares texts: it knows no hexadecimal, and one digest here is none at all
    assert not any(re.fullmatch("sha1:[A-Z2-7]{32}", one) for one in failed)
    places = {
        json.loads(one.split(" ", 2)[2])["offset"]: one.split(" ")[:2]
        for one in program(PEERS / "cdxj-indexer", "-s", "-p", warc).stdout.splitlines()
    }
    assert len(ours) > 500
    for line in ours:
        fields = json.loads(line.split(" ", 2)[2])
        if "method" not in fields or "requestBody" in fields:  # else its key is that of pywb only
            assert places[fields["offset"]] == line.split(" ")[:2]


def _http(line: str) -> tuple[str, dict[str, Any]]:
    position, _, text = line.partition(" {")
    fields = json.loads("{" + text)
    kept = ("url", "mime", "status", "digest", "length", "offset", "filename")
    return position, {name: fields[name] for name in kept if fields.get(name)}


@pytest.mark.parametrize("form", ["warc", "wacz"])
def test_pywb_plays_it(wacz: Path, tmp_path: Path, form: str) -> None:
    """`wb-manager` takes the file, `wayback` gives the page, the revisit and the picture."""
    for name in ("wb-manager", "wayback"):
        if not (PEERS / name).exists():
            pytest.skip(f"{name} is not installed; see the Makefile")
    taken: tuple[str, ...] = ("--unpack-wacz", "corpus", str(wacz))
    if form == "warc":
        with zipfile.ZipFile(wacz) as package:
            warc = tmp_path / "data.warc.gz"
            warc.write_bytes(package.read("archive/data.warc.gz"))
        taken = ("corpus", str(warc))
    for words in (("init", "corpus"), ("add", *taken)):
        subprocess.run(
            [str(PEERS / "wb-manager"), *words], cwd=tmp_path, check=True, capture_output=True
        )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    player = subprocess.Popen(
        [str(PEERS / "wayback"), "-b", "127.0.0.1", "-p", str(port), "-d", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        base = f"http://127.0.0.1:{port}/corpus"
        assert played(f"{base}/20160122112029id_/http://www.dr.dk/") == PAGE
        assert played(f"{base}/20160123112029id_/http://www.dr.dk/") == PAGE
        assert played(f"{base}/20160122112029id_/http://www.dr.dk/a.png") == b"\x89PNG"
    finally:
        player.terminate()
        player.wait()


def played(url: str) -> bytes:
    """What a player answers, once it has started."""
    for _ in range(150):
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                body: bytes = answer.read()
                return body
        except (ConnectionError, urllib.error.URLError) as error:
            if isinstance(error, urllib.error.HTTPError):
                raise
            time.sleep(0.2)
    raise AssertionError("the player did not start")


def test_our_own_archive_takes_it_again(wacz: Path, archive: Shell) -> None:
    (told,) = archive.run("archive", "add", str(wacz), "--json").stdout.splitlines()[:1]
    assert json.loads(told)["flaw_count"] == 0
    archive.run("archive", "check")


# stopped and taken up
# --------------------


def test_a_run_that_was_killed_goes_on_where_it_was(archive: Shell, tmp_path: Path) -> None:
    name = corpus(archive, HOME, AGAIN, OTHER)
    whole = tmp_path / "whole.warc.gz"
    archive.run("collection", "extract", name, "-o", str(whole))
    again = tmp_path / "again.warc.gz"
    killed = subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(archive.root), name, str(again)],
        stderr=subprocess.PIPE,
    )
    killed.wait()
    assert killed.returncode == -signal.SIGKILL
    partial = tmp_path / "again.warc.gz.partial"
    assert partial.exists()
    assert not again.exists()
    with partial.open("ab") as file:
        file.write(b"half a record")
    archive.run("collection", "extract", name, "-o", str(again))
    gzip.decompress(again.read_bytes())  # which takes nothing between members
    kinds = [(kind, uri, data) for kind, uri, data in records(again) if kind != "warcinfo"]
    assert kinds == [one for one in records(whole) if one[0] != "warcinfo"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["again.warc.gz", "whole.warc.gz"]


_KILLED = """
import os, signal, sys
from perdure.cli import perdure
from perdure.upkeep.collection import extracting
member = extracting.MemberExtraction._extract_member
def until(self, number, found):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return member(self, number, found)
extracting.MemberExtraction._extract_member = until
perdure.main(["-C", sys.argv[1], "collection", "extract", sys.argv[2], "-o", sys.argv[3]])
"""


def test_what_was_noted_and_did_not_reach_the_disk_is_done_again(
    archive: Shell, tmp_path: Path
) -> None:
    name = corpus(archive, HOME)
    into = tmp_path / "a.warc.gz"
    document = archive.run("get", name).stdout_bytes
    about = RunSubject(
        run="extract",
        collection=name,
        sha512=hashlib.sha512(document).hexdigest(),
        begun="2026-01-01T00:00:00Z",
    )
    with RunLog(tmp_path / "a.warc.gz.state", about, ExtractedMember) as log:
        log.add_step(ExtractedMember(number=1, end=10**9))
    archive.run("collection", "extract", name, "-o", str(into))
    assert len([one for one in records(into) if one[0] == "response"]) == 2


def test_two_names_only(archive: Shell, tmp_path: Path) -> None:
    name = corpus(archive, HOME)
    archive.run("collection", "extract", name, "-o", str(tmp_path / "a.zip"), code=2)
