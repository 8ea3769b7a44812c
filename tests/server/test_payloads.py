"""Ranges, conditions and digests of archived bytes (RFC 9110 sections 13 and 14, RFC 9530)."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archives.warcs import Warc
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed

AT = "20160122112029"
DATE = "2016-01-22T11:20:29Z"
SITE = "http://www.dr.dk/"
NOISE = random.Random(4).randbytes(700_000)
TEXT = b"a text of many pages\n" * 40_000
BODIES = {
    "short": b"0123456789",
    "empty": b"",
    "long": NOISE,
    "coded": TEXT,
    "chunked": TEXT,
    "both": b"0123456789",
}
LENGTHS_TOLD = ("short", "empty", "long", "both")  # the others must be read to be known


def chunked(body: bytes, size: int = 7000) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("payloads")
    warc = Warc(place / "a.warc.gz")
    coded, cut = ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")
    kind = "video/mp4"
    warc.response(f"{SITE}short", DATE, BODIES["short"], media_type="text/plain")
    warc.response(f"{SITE}empty", DATE, b"", media_type=kind)
    warc.response(f"{SITE}long", DATE, NOISE, media_type=kind)
    warc.response(f"{SITE}coded", DATE, gzip.compress(TEXT), coded, media_type=kind)
    warc.response(f"{SITE}chunked", DATE, chunked(TEXT), cut, media_type=kind)
    warc.response(
        f"{SITE}both", DATE, chunked(gzip.compress(BODIES["both"]), 5), coded, cut, media_type=kind
    )
    warc.response(f"{SITE}gone", DATE, b"not here", status="404 Not Found")
    dated = ("Last-Modified", "Thu, 21 Jan 2016 10:00:00 GMT")
    warc.response(f"{SITE}dated", DATE, b"dated", dated, media_type="text/plain")
    digest = "sha1:" + base64.b32encode(hashlib.sha1(NOISE).digest()).decode()
    warc.revisit(f"{SITE}again", "2016-01-22T11:20:40Z", digest, f"{SITE}long", DATE)
    with deployed(
        place / "registry", archive_id="a.org", content_origin="http://r.test"
    ) as running:
        running.registry.archive.add_file(warc.finish())
        yield running


def path(name: str) -> str:
    return f"/replay/{AT}id_/{SITE}{name}"


def repr_digest(body: bytes) -> str:
    return f"sha-512=:{base64.b64encode(hashlib.sha512(body).digest()).decode()}:"


def check_partial(answer: Answer, body: bytes, start: int, stop: int) -> None:
    assert answer.status == 206
    assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/{len(body)}"
    assert answer.headers["content-length"] == str(stop - start)
    assert answer.body == body[start:stop]


@pytest.mark.parametrize("name", BODIES)
def test_the_whole_says_that_there_are_ranges(site: Deployment, name: str) -> None:
    answer = site.get(path(name))
    assert (answer.status, answer.body) == (200, BODIES[name])
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["etag"].startswith('"')
    if name in LENGTHS_TOLD:
        assert answer.headers["content-length"] == str(len(BODIES[name]))
    head = site.ask("HEAD", path(name))
    assert head.headers["etag"] == answer.headers["etag"]
    assert head.headers.get("content-length") == answer.headers.get("content-length")


@pytest.mark.parametrize("name", [one for one in BODIES if one != "empty"])
@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [("0-0", 0, 1), ("2-5", 2, 6), ("4-", 4, None), ("-3", -3, None), ("7-99999999", 7, None)],
)
def test_a_range(site: Deployment, name: str, asked: str, start: int, stop: int | None) -> None:
    body = BODIES[name]
    first, last, _ = slice(start, stop).indices(len(body))
    check_partial(site.get(path(name), f"Range: bytes={asked}"), body, first, last)


def test_a_range_in_the_middle_of_what_is_long(site: Deployment) -> None:
    for name in ("long", "coded", "chunked"):
        answer = site.get(path(name), "Range: bytes=300001-500000")
        check_partial(answer, BODIES[name], 300_001, 500_001)


def test_what_lies_behind_the_end_is_416(site: Deployment) -> None:
    for name, body in BODIES.items():
        answer = site.get(path(name), f"Range: bytes={len(body)}-")
        assert answer.status == 416
        assert answer.headers["content-range"] == f"bytes */{len(body)}"
        assert answer.headers["cache-control"] == "no-store"
        assert json.loads(answer.body)["code"] == "range-not-satisfiable"


@pytest.mark.parametrize("asked", ["bytes=0-1,4-5", "lines=1-2", "bytes=5-1", "nonsense"])
def test_what_is_not_served_in_ranges_is_served_whole(site: Deployment, asked: str) -> None:
    for name in ("short", "coded"):
        answer = site.get(path(name), f"Range: {asked}")
        assert (answer.status, answer.body) == (200, BODIES[name])


def test_a_digest_is_that_of_the_whole(site: Deployment) -> None:
    """RFC 9530 section 3: "Repr-Digest … the digest … applied to the entire selected representation
    data", whatever range of it is in the message."""
    for name in ("short", "both"):
        whole, part = site.get(path(name)), site.get(path(name), "Range: bytes=1-2")
        assert whole.headers["repr-digest"] == part.headers["repr-digest"]
        assert whole.headers["repr-digest"] == repr_digest(BODIES[name])
    measured = site.get(path("coded"), "Range: bytes=1-2")
    assert measured.headers["repr-digest"] == repr_digest(TEXT)
    unwanted = site.get(path("short"), "Want-Repr-Digest: sha-512=0")
    assert "repr-digest" not in unwanted.headers


def test_a_revisit_has_ranges_of_its_original(site: Deployment) -> None:
    answer = site.get(f"/replay/20160122112040id_/{SITE}again", "Range: bytes=5-9")
    check_partial(answer, NOISE, 5, 10)


def test_a_pwid_has_ranges_too(site: Deployment) -> None:
    answer = site.get(f"/pwid:a.org:2016-01-22T11.20.29Z:part:{SITE}long", "Range: bytes=5-9")
    check_partial(answer, NOISE, 5, 10)
    assert answer.headers["perdure-verdict"] == "exact"


def test_what_is_played_on_the_replay_origin_has_ranges(site: Deployment) -> None:
    lines = (
        f"GET /replay/{AT}/{SITE}long HTTP/1.1\r\nHost: r.test\r\nRange: bytes=5-9\r\n"
        "Connection: close\r\n\r\n"
    )
    check_partial(site.send(lines.encode())[-1], NOISE, 5, 10)


def test_conditions(site: Deployment) -> None:
    tag = site.get(path("long")).headers["etag"]
    same = site.get(path("long"), f"If-None-Match: {tag}")
    assert (same.status, same.body, same.headers["etag"]) == (304, b"", tag)
    assert site.get(path("long"), 'If-None-Match: "x"').status == 200
    failed = site.get(path("long"), 'If-Match: "x"')
    assert (failed.status, failed.headers["cache-control"]) == (412, "no-store")
    assert json.loads(failed.body)["code"] == "precondition-failed"
    assert site.get(path("long"), "Range: bytes=5-9", f"If-Range: {tag}").status == 206
    assert site.get(path("long"), "Range: bytes=5-9", 'If-Range: "x"').status == 200


def test_dates_are_those_of_the_archived_answer(site: Deployment) -> None:
    since = "If-Modified-Since: Thu, 21 Jan 2016 {}:00:00 GMT"
    assert site.get(path("dated"), since.format("10")).status == 304
    assert site.get(path("dated"), since.format("09")).status == 200
    # A memento never changes behind its date (RFC 7089 section 2).
    assert site.get(path("long"), "If-Modified-Since: Fri, 22 Jan 2016 11:20:29 GMT").status == 304
    assert site.get(path("long"), "If-Modified-Since: Fri, 22 Jan 2016 11:20:28 GMT").status == 200


def test_an_archived_error_is_no_representation_to_cut(site: Deployment) -> None:
    answer = site.get(path("gone"), "Range: bytes=0-1")
    assert (answer.status, answer.body) == (404, b"not here")


def test_a_damaged_record_is_never_a_whole_one(site: Deployment, tmp_path: Path) -> None:
    warc = Warc(tmp_path / "cut.warc.gz")
    warc.response("http://cut.example/", DATE, NOISE, media_type="video/mp4")
    file = warc.finish()
    site.registry.archive.add_file(file)
    target = f"/replay/{AT}id_/http://cut.example/"
    assert site.get(target).body == NOISE
    file.write_bytes(file.read_bytes()[:400_000])
    with site.connect() as wire:
        wire.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        received = b""
        while part := wire.recv(1 << 16):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"content-length: 700000\r\n" in head.lower() + b"\r\n"
    assert 0 < len(body) < len(NOISE)
    assert NOISE.startswith(body)
