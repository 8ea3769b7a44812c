"""`get` and `resolve` of PWIDs: the verdicts that the server gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.archives.warcs import Warc
from tests.cli.conftest import Shell
from tests.server.deployment import deployed

from perdure.registry import Registry

OURS = "archive.example.org"
AT = "2016-01-22T11.20.29Z"
DR = "http://www.dr.dk/"
PAGE = b"<img src=a.png><img src=gone.png>"


@pytest.fixture
def kept(shell: Shell, place: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("PERDURE_ARCHIVE_ID", OURS)
    warc = Warc(place / "a.warc.gz")
    warc.response(DR, "2016-01-22T11:20:29Z", PAGE)
    warc.response(f"{DR}a.png", "2016-01-22T11:20:30Z", b"png", media_type="image/png")
    warc.response("http://www.dr.dk/two", "2016-01-22T11:20:29Z", b"one")
    warc.response("http://www.dr.dk/two", "2016-01-22T11:20:29Z", b"two")
    with Registry(shell.root) as registry:
        registry.archive.add_file(warc.finish())
    return shell


def name(coverage: str, uri: str = DR, at: str = AT) -> str:
    return f"pwid:{OURS}:{at}:{coverage}:{uri}"


def test_get_writes_the_payload_and_tells_the_verdict(kept: Shell) -> None:
    result = kept.run("get", name("part"))
    assert result.stdout_bytes == PAGE
    assert result.stderr == "perdure: exact\n"


def test_get_is_exact_or_an_honest_no(kept: Shell) -> None:
    late = name("part", at="2016-01-22T11.20.31Z")
    error = kept.error("get", late, "-o", "x", code=60)
    assert (error["code"], error["verdict"]) == ("not-captured", "absent")
    assert error["offered"][0]["pwid"] == name("part")
    assert not Path("x").exists()
    result = kept.run("get", late, "--nearest")
    assert (result.stdout_bytes, result.stderr) == (PAGE, "perdure: nearest -00:00:02\n")


def test_get_of_what_is_many_things(kept: Shell) -> None:
    assert kept.error("get", name("site"), "-o", "x", code=4)["code"] == "invalid-request"
    assert kept.error("get", name("part", f"{DR}two"), "-o", "x", code=4)
    assert kept.run("get", name("part", f"{DR}two"), "--nearest").stdout_bytes == b"one"


def test_get_from_a_resolver_says_the_same_as_from_the_registry(
    kept: Shell, tmp_path: Path
) -> None:
    """The page itself, too, of which a resolver first tells what it consists of."""
    warc = Warc(tmp_path / "a.warc.gz")
    for path in ("", "b?c=1&d=#e%20f", "?nearest"):
        warc.response(f"{DR}{path}", "2016-01-22T11:20:29Z", PAGE)
    file = warc.finish()
    with Registry(kept.root) as registry:
        registry.archive.add_file(file)
    with deployed(tmp_path / "registry", archive_id=OURS) as running:
        running.registry.archive.add_file(file)
        there = ("--resolver", running.base)
        late = "2016-01-22T11.20.31Z"
        for words in (
            (name("part"),),
            (name("page"),),
            (name("page", f"{DR}b?c=1&d=#e%20f"),),
            (name("part", f"{DR}?nearest"),),
            (name("page", at=late), "--nearest"),
            (name("page", at="2016-01"),),
        ):
            local, remote = kept.run("get", *words), kept.run("get", *words, *there)
            assert local.stdout_bytes == remote.stdout_bytes == PAGE
            assert local.stderr == remote.stderr
        for words, code in (
            ((name("part", at=late),), 60),
            ((name("site"),), 4),
            ((name("page", "http://elsewhere.example/"),), 60),
        ):
            here = kept.error("get", *words, "-o", "x", code=code)
            assert kept.error("get", *words, *there, "-o", "x", code=code)["code"] == here["code"]


def test_resolve_tells_a_page_resource_by_resource(kept: Shell) -> None:
    assert kept.lines("resolve", name("page")) == [
        f"exact\t2016-01-22T11:20:29Z\t{DR}",
        f"nearest +00:00:01\t2016-01-22T11:20:30Z\t{DR}a.png",
        f"absent\t-\t{DR}gone.png",
    ]
    told = kept.json("resolve", name("page"))
    assert [one["verdict"] for one in told["resources"]] == ["nearest", "absent"]
    assert len(kept.lines("resolve", name("site"))) == 3
    assert len(kept.lines("resolve", name("part", f"{DR}two"))) == 2


def test_other_archives(kept: Shell) -> None:
    own = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"
    place = "https://web.archive.org/web/20160122112029/http://www.dr.dk"
    assert kept.lines("resolve", own) == [f"unverified\t{place}"]
    assert kept.run("get", own, code=17).stdout == ""
    assert kept.error("resolve", own.replace("archive.org", "netarkivet.dk"), code=62)
    assert kept.error("resolve", own.replace("archive.org", "evil.example"), code=61)
    assert json.loads(kept.run("resolve", own, "--json").stdout)["addresses"]["playback"] == place
