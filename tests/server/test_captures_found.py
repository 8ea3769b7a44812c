"""Ways to captures that other archives offer, and what clients of those archives expect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from tests.archives.exchanges import Exchange, write_exchanges
from tests.archives.test_scanning import record
from tests.archives.warcs import Warc
from tests.server.deployment import Deployment, deployed

DR = "http://www.dr.dk/"
API = "http://api.example/activate"
DATE = "2016-01-22T11:20:29Z"
TIME = "20160122112029"
EVIL = 'http://www.dr.dk/<script>"x'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("found")
    warc = Warc(place / "a.warc.gz")
    warc.response(DR, DATE, b"old")
    warc.response(DR, "2017-01-22T11:20:29Z", b"new")
    warc.response(EVIL, DATE, b"evil")
    api = write_exchanges(
        place / "b.warc.gz",
        Exchange("OPTIONS", API, DATE, b"", status="204 No Content"),
        Exchange("POST", API, DATE, b"posted", "application/json", b"{}"),
        Exchange("GET", f"{API}?q=1", DATE, b"got"),
    )
    damaged = place / "c.warc"
    block = b"HTTPX/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>of pywb's samples"
    damaged.write_bytes(
        record("http://httpx.example/", block).replace(b"Type: resource", b"Type: response")
    )
    with deployed(place / "registry") as running:
        for path in (warc.finish(), api, damaged):
            running.registry.archive.add_file(path)
        yield running


def head(site: Deployment, target: str) -> bytes:
    """The head of an answer, as it is sent."""
    with site.connect() as wire:
        wire.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        text = b""
        while piece := wire.recv(1 << 16):
            text += piece
    return text.partition(b"\r\n\r\n")[0]


@pytest.mark.parametrize(
    ("target", "names"),
    [
        (f"/timegate/{DR}", {"Location", "Link", "Vary"}),
        (f"/replay/{TIME}id_/{DR}", {"Memento-Datetime", "Link"}),
        ("/timegate/http://nowhere.example/", {"Link", "Vary"}),
    ],
)
def test_names_of_fields_are_spelled_as_in_rfc_7089(
    site: Deployment, target: str, names: set[str]
) -> None:
    """The validator of Memento's authors compares them with their case."""
    found = re.findall(rb"\r\n([^:]+):", head(site, target))
    of_memento = {"link", "location", "vary", "memento-datetime"}
    assert {one.decode() for one in found if one.decode().lower() in of_memento} == names


def test_an_empty_query_is_like_none(site: Deployment) -> None:
    assert site.get(f"/replay/{TIME}id_/{DR}?").body == b"old"
    assert site.get(f"/timegate/{DR}?").status == 302
    assert site.get(f"/timemap/link/{DR}?").status == 200
    assert site.get(f"/replay/{TIME}id_/{DR}?a").status == 404


def test_captures_of_an_address_have_a_page(site: Deployment) -> None:
    answer = site.get(f"/replay/*/{DR}")
    assert (answer.status, answer.headers["location"]) == (302, f"/timemap/html/{DR}")
    page = site.get(answer.headers["location"])
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for time in (TIME, "20170122112029"):
        assert f"/replay/{time}id_/{DR}".encode() in page.body
    assert site.get("/timemap/html/http://nowhere.example/").status == 404
    assert site.get("/timemap/other/http://www.dr.dk/").status == 404


def test_a_page_of_captures_is_only_text(site: Deployment) -> None:
    page = site.get(f"/timemap/html/{quote(EVIL, safe='')}")
    assert page.status == 200
    assert b"<script" not in page.body
    assert b"script-src" in page.headers["content-security-policy"].encode() or (
        "default-src 'none'" in page.headers["content-security-policy"]
    )


@pytest.mark.parametrize("sent", [DR, "http://www.dr.dk", "https://dr.dk/"])
def test_the_start_page_finds_archived_addresses(site: Deployment, sent: str) -> None:
    answer = site.get(f"/?identifier={quote(sent, safe='')}")
    assert answer.status == 303
    listing = site.get(answer.headers["location"])
    assert f"/replay/{TIME}id_/{DR}".encode() in listing.body


def test_answers_to_other_methods_are_found_by_their_digest_only(site: Deployment) -> None:
    assert site.get(f"/replay/{TIME}id_/{API}").status == 404
    assert site.get(f"/timegate/{API}").status == 404
    assert site.get(f"/replay/{TIME}id_/{API}?q=1").body == b"got"
    [line] = site.get(f"/cdx?url={API}&filter==method:POST&fl=digest&output=text").body.split()
    assert site.get(f"/replay/{TIME}id_~{line.decode()}/{API}").body == b"posted"


def test_a_damaged_status_line_is_read(site: Deployment) -> None:
    """example-extra.warc of pywb has `HTTPX/1.1 200`."""
    answer = site.get("/replay/20200102030405id_/http://httpx.example/")
    assert (answer.status, answer.body) == (200, b"<p>of pywb's samples")
    assert answer.headers["content-type"] == "text/html"
