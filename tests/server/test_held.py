"""Bytes over HTTP: ranges, conditions, digests, and what happens when the disk betrays us.

Each test that asks for bytes by their full name is answered without ASGI where it can be, and
through ASGI where `Expect` keeps it from that: both ways must say the same.
"""

from __future__ import annotations

import base64
import email.parser
import hashlib
import http.client
import json
import os
import random
import socket
import time
from pathlib import Path

import pytest
from tests.server.conftest import Answer, parse_answers, received
from tests.server.deployment import Deployment, deployed, resource, text, wait_until

from perdure.ids import parse
from perdure.model.commands import Withdraw
from perdure.storage.segments.directory import segment_path

LETTER = b"To whom it may concern.\r\n"
LARGE = random.Random(1997).randbytes(3_000_000)


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    return site.mint(text(LETTER, charset="us-ascii"))


@pytest.fixture(scope="module")
def large(site: Deployment) -> str:
    return site.mint(text(LARGE, "octet-stream", "application/octet-stream"))


def both_ways(site: Deployment, name: str, *fields: str) -> Answer:
    """The answer, which is the same on the fast path and the plain one."""
    fast = site.get(f"/{name}", *fields)
    plain = site.get(f"/{name}?x=1", *fields)  # a query keeps to the plain way
    assert (fast.status, fast.body) == (plain.status, plain.body)
    dated = [{k: v for k, v in one.headers.items() if k != "date"} for one in (fast, plain)]
    assert dated[0] == dated[1]
    return fast


# the whole
# ---------


def test_the_bytes_are_those_that_were_committed(site: Deployment, letter: str, large: str) -> None:
    assert both_ways(site, letter).body == LETTER
    assert both_ways(site, large).body == LARGE


def test_the_header_describes_the_representation(site: Deployment, letter: str) -> None:
    headers = both_ways(site, letter).headers
    digest = base64.b64encode(hashlib.sha512(LETTER).digest()).decode()
    assert headers["repr-digest"] == f"sha-512=:{digest}:"
    assert headers["content-length"] == str(len(LETTER))
    assert headers["accept-ranges"] == "bytes"
    assert headers["content-location"] == letter
    assert f'<{site.base}/{letter}>; rel="cite-as"' in headers["link"]
    assert 'rel="describedby"' in headers["link"]
    assert headers["content-disposition"].startswith('inline; filename="oma.eop.gov.us.')
    assert headers["content-disposition"].endswith('.1.v1.txt"')


def test_a_digest_that_is_not_wanted_is_left_out(site: Deployment, letter: str) -> None:
    def said(wish: str) -> str | None:
        return site.get(f"/{letter}", f"Want-Repr-Digest: {wish}").headers.get("repr-digest")

    assert said("sha-512=10")
    assert said("sha-256=10, sha-512=1")
    assert said("sha-256=10")  # "may be ignored" (RFC 9530 section 4)
    assert said("not a dictionary!")
    assert said("sha-512=0") is None  # "not acceptable"


def test_file_names_are_harmless(site: Deployment) -> None:
    name = site.mint(text(b"x"), uid='a"b/../c;d=é')
    disposition = site.get(f"/{name}").headers["content-disposition"]
    file_name = disposition.removeprefix('inline; filename="').removesuffix('"')
    assert set(file_name) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
    )
    assert ".." not in file_name


# ranges: RFC 9110 section 14
# ---------------------------


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("0-0", 0, 0),
        ("0-4", 0, 4),
        ("5-", 5, 24),
        ("-5", 20, 24),
        ("-99", 0, 24),
        ("20-99", 20, 24),
        ("24-24", 24, 24),
    ],
)
def test_one_range(site: Deployment, letter: str, asked: str, first: int, last: int) -> None:
    answer = both_ways(site, letter, f"Range: bytes={asked}")
    assert answer.status == 206
    assert answer.headers["content-range"] == f"bytes {first}-{last}/25"
    assert answer.body == LETTER[first : last + 1]


@pytest.mark.parametrize(
    "asked",
    ["25-", "99-100", "25-25", "-0", "2000-,3000-", "3000-, 2000-", "-0,25-", "9" * 30 + "-"],
)
def test_a_range_beyond_the_end(site: Deployment, letter: str, asked: str) -> None:
    """Section 15.5.17; a suffix of no bytes is none that could be given (section 14.1.2)."""
    answer = both_ways(site, letter, f"Range: bytes={asked}")
    assert (answer.status, answer.headers["content-range"]) == (416, "bytes */25")
    refused(answer, "range-not-satisfiable")
    assert json.loads(answer.body)["length"] == 25


@pytest.mark.parametrize("asked", ["24-,2000-", "2000-,24-24", "-1,2000-", ",24-24,,", "24-24, -0"])
def test_one_of_several_ranges_is_there(site: Deployment, letter: str, asked: str) -> None:
    """Section 14.1.2: satisfiable is what has at least one range that is; empty elements of a list
    mean nothing (section 5.6.1.2)."""
    answer = both_ways(site, letter, f"Range: bytes={asked}")
    assert (answer.status, answer.headers["content-range"]) == (206, "bytes 24-24/25")


def refused(answer: Answer, code: str) -> None:
    """A problem document that no cache keeps (RFC 9111 section 3 lets one keep any status)."""
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    problem = json.loads(answer.body)
    assert (problem["code"], problem["status"]) == (code, answer.status)


@pytest.mark.parametrize(
    "field",
    [
        *("bytes=5-3", "bytes=a-b", "bytes", "bytes=", "bytes=,", "chapters=1-2", "bytes=1-2,x"),
        *(
            "bytes=--1",
            "bytes=-",
            "bytes=+1-2",
            "bytes=1-2-3",
            "bytes=99-,5-3",
            "bytes=1-" + "9" * 9999,
        ),
    ],
)
def test_a_range_that_is_none_is_ignored(site: Deployment, letter: str, field: str) -> None:
    answer = both_ways(site, letter, f"Range: {field}")
    assert (answer.status, answer.body) == (200, LETTER)


def test_several_ranges(site: Deployment, letter: str) -> None:
    answer = site.get(f"/{letter}", "Range: bytes=0-1,5-6,-2")
    assert answer.status == 206
    head = f"Content-Type: {answer.headers['content-type']}\r\n\r\n".encode()
    message = email.parser.BytesParser().parsebytes(head + answer.body)
    assert message.get_content_type() == "multipart/byteranges"
    parts = message.get_payload()
    assert isinstance(parts, list)
    found = [(part["content-range"], part.get_payload()) for part in parts]  # type: ignore[union-attr, index]
    assert found == [
        ("bytes 0-1/25", "To"),
        ("bytes 5-6/25", "om"),
        ("bytes 23-24/25", "\r\n"),
    ]


def test_ranges_that_cost_more_than_the_whole_are_ignored(site: Deployment, letter: str) -> None:
    for many in (",".join(["0-"] * 3), ",".join(f"{n}-{n}" for n in range(60))):
        answer = site.get(f"/{letter}", f"Range: bytes={many}")
        assert (answer.status, answer.body) == (200, LETTER)


def test_ranges_of_large_things(site: Deployment, large: str) -> None:
    for first, last in ((0, 65535), (262_143, 262_144), (100, 2_999_999), (2_999_999, 2_999_999)):
        answer = both_ways(site, large, f"Range: bytes={first}-{last}")
        assert (answer.status, answer.body) == (206, LARGE[first : last + 1])


def test_head_has_no_ranges(site: Deployment, letter: str) -> None:
    """ "A server MUST ignore a Range … received with a request method" other than GET."""
    answer = site.ask("HEAD", f"/{letter}", "Range: bytes=0-1")
    assert (answer.status, answer.headers["content-length"]) == (200, "25")


def test_if_range(site: Deployment, letter: str) -> None:
    headers = site.get(f"/{letter}").headers

    def status(condition: str) -> int:
        return site.get(f"/{letter}", "Range: bytes=0-1", f"If-Range: {condition}").status

    assert status(headers["etag"]) == 206
    assert status(headers["last-modified"]) == 206
    assert status(f"W/{headers['etag']}") == 200  # "must not … weak"
    assert status('"other"') == 200
    assert status("Mon, 01 Sep 1997 00:00:00 GMT") == 200


# conditions: RFC 9110 section 13
# -------------------------------


def test_conditions(site: Deployment, letter: str) -> None:
    headers = site.get(f"/{letter}").headers
    tag, since = headers["etag"], headers["last-modified"]
    cases = [
        (f"If-None-Match: {tag}", 304),
        (f'If-None-Match: "a", W/{tag}', 304),
        ("If-None-Match: *", 304),
        ('If-None-Match: "a"', 200),
        (f"If-Modified-Since: {since}", 304),
        ("If-Modified-Since: Mon, 01 Sep 1997 00:00:00 GMT", 200),
        ("If-Modified-Since: yesterday", 200),
        (f"If-Match: {tag}", 200),
        ("If-Match: *", 200),
        ('If-Match: "a"', 412),
        (f"If-Match: W/{tag}", 412),
        (f"If-Unmodified-Since: {since}", 200),
        ("If-Unmodified-Since: Mon, 01 Sep 1997 00:00:00 GMT", 412),
    ]
    for field, status in cases:
        answer = site.get(f"/{letter}", field)
        assert (field, answer.status) == (field, status)
        if status == 412:
            refused(answer, "precondition-failed")
            assert json.loads(answer.body)["current"] == f"entity tag {tag}"
            assert site.ask("HEAD", f"/{letter}", field).status == 412
        else:
            assert answer.body == (LETTER if status == 200 else b"")
            assert answer.headers["etag"] == tag


def test_if_none_match_comes_before_if_modified_since(site: Deployment, letter: str) -> None:
    since = site.get(f"/{letter}").headers["last-modified"]
    answer = site.get(f"/{letter}", 'If-None-Match: "a"', f"If-Modified-Since: {since}")
    assert answer.status == 200


def test_a_tag_names_format_and_bytes(site: Deployment) -> None:
    one = site.mint(text(b"same"), text(b"same", "html", "text/html"))
    tags = {site.get(f"/{name}").headers["etag"] for name in (one, one.replace(".text.", ".html."))}
    assert len(tags) == 2


# streams
# -------


def open_files(site: Deployment) -> int:
    return len(list(Path(f"/proc/{site.process.pid}/fd").iterdir()))


def test_a_stream_outlives_no_client(site: Deployment, large: str) -> None:
    """A client that leaves in the middle harms nobody, and nothing is left behind."""
    before = open_files(site)
    for _ in range(5):
        with site.connect() as wire:
            wire.sendall(f"GET /{large} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            assert wire.recv(1000).startswith(b"HTTP/1.1 200")
    assert both_ways(site, large).body == LARGE
    assert open_files(site) <= before + 4


def test_a_file_is_sent_to_who_has_closed_the_sending_side(site: Deployment, large: str) -> None:
    with site.connect() as wire:
        wire.sendall(f"GET /{large} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        wire.shutdown(socket.SHUT_WR)
        [answer] = parse_answers(received(wire))
    assert (answer.status, answer.body) == (200, LARGE)


def test_who_closed_one_side_and_then_left_holds_no_connection(
    site: Deployment, large: str
) -> None:
    before = open_files(site)
    many = 8  # more than the kernel takes of it
    for _ in range(3):
        with site.connect() as wire:
            wire.sendall(f"GET /{large} HTTP/1.1\r\nHost: a\r\n\r\n".encode() * many)
            wire.shutdown(socket.SHUT_WR)
            assert wire.recv(1000).startswith(b"HTTP/1.1 200")
            time.sleep(0.1)
    wait_until(lambda: open_files(site) <= before)


def test_streams_and_small_answers_on_one_connection(
    site: Deployment, letter: str, large: str
) -> None:
    """Pipelined: each answer in its turn, whole, whichever way it went."""
    heads = "".join(
        f"GET /{name} HTTP/1.1\r\nHost: a\r\n\r\n" for name in (letter, large, letter, large)
    )
    last = f"GET /{letter} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    answers = site.send((heads + last).encode())
    assert [one.body for one in answers] == [LETTER, LARGE, LETTER, LARGE, LETTER]


# a disk that betrays us
# ----------------------


def test_a_segment_that_lost_its_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What cannot be served whole is an error, or a connection that ends too early."""
    with deployed(tmp_path_factory.mktemp("lost") / "registry") as site:
        small = site.mint(text(LETTER))
        name = site.mint(text(LARGE, "octet-stream", "application/octet-stream"))
        segment = segment_path(site.root, 1)
        size = segment.stat().st_size
        os.truncate(segment, size - 500_000)
        with pytest.raises(http.client.IncompleteRead):
            site.get(f"/{name}")
        with pytest.raises(http.client.IncompleteRead):
            site.get(f"/{name}?x=1", "Range: bytes=1000-2999999")
        beyond = site.get(f"/{name}", "Range: bytes=2900000-2999999")
        assert beyond.status == 500
        assert b'"code":"corrupt"' in beyond.body
        assert site.get(f"/{small}").body == LETTER
        assert any(line["event"] in ("corrupt", "failed") for line in site.log())


def test_what_was_withdrawn_is_not_served_from_memory(site: Deployment) -> None:
    name = site.mint(text(b"secret"))
    for _ in range(2):
        assert site.get(f"/{name}").status == 200
    site.do(Withdraw(identifier=parse(resource(name)), reason="a court said so"))
    assert site.get(f"/{name}").status == 410
