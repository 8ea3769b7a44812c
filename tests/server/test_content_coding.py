"""Compressed answers: chosen by the client, told apart by their tags, never where bytes matter."""

from __future__ import annotations

import gzip
import importlib
import subprocess
from collections.abc import Callable

import pytest
from tests.server.deployment import SERIES, Deployment, text

from perdure.server.common.content_coding import choose_coding

BROWSER = "Accept: text/html"
CODED = "Accept-Encoding: gzip, deflate, br, zstd"


def find_decoder(coding: str) -> Callable[[bytes], bytes]:
    if coding == "gzip":
        return gzip.decompress
    if coding == "br":
        return importlib.import_module("brotli").decompress  # type: ignore[no-any-return]
    module = importlib.import_module("zstandard")
    return lambda data: module.ZstdDecompressor().decompressobj().decompress(data)


def require(coding: str) -> None:
    if coding != "gzip":
        pytest.importorskip({"br": "brotli", "zstd": "zstandard"}[coding])


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
@pytest.mark.parametrize("path", ["/", "/openapi.json", "/nowhere", "{}?landing"])
def test_text_is_sent_in_the_coding_that_the_client_accepts(
    site: Deployment, coding: str, path: str
) -> None:
    require(coding)
    name = site.mint(text(b"a text\n"))
    path = path.replace("{}", f"/{name}")
    plain = site.get(path, BROWSER)
    coded = site.get(path, BROWSER, f"Accept-Encoding: {coding}")
    assert "content-encoding" not in plain.headers
    assert coded.headers["content-encoding"] == coding
    assert find_decoder(coding)(coded.body) == plain.body
    assert int(coded.headers["content-length"]) == len(coded.body) < len(plain.body)
    assert "accept-encoding" in coded.headers["vary"]


@pytest.mark.parametrize(
    ("field", "chosen"),
    [  # RFC 9110 section 12.5.3
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("*", "zstd"),
        ("*;q=0.5, zstd;q=0", "br"),
        ("br;q=0.2, gzip;q=0.9", "gzip"),
        ("identity", ""),
        ("identity;q=1, gzip;q=0.5", ""),
        ("identity;q=0.5, *;q=0", ""),
        ("compress", ""),
        ("gzip;q=0", ""),
        ("", ""),
    ],
)
def test_the_coding_follows_accept_encoding(field: str, chosen: str) -> None:
    assert choose_coding(field, ("zstd", "br", "gzip")) == chosen


def test_each_coding_has_a_strong_tag_of_its_own(site: Deployment) -> None:
    """ "a strong entity tag … has to be different" for each coding (RFC 9110 section 8.8.3.3)."""
    plain = site.get("/openapi.json")
    coded = site.get("/openapi.json", "Accept-Encoding: gzip")
    tag = coded.headers["etag"]
    assert tag != plain.headers["etag"]
    assert not tag.startswith("W/")
    again = site.get("/openapi.json", "Accept-Encoding: gzip", f"If-None-Match: {tag}")
    assert again.status == 304
    assert again.headers["etag"] == tag
    assert "content-encoding" not in again.headers
    assert "accept-encoding" in again.headers["vary"]
    other = site.get("/openapi.json", f"If-None-Match: {tag}")  # another representation
    assert other.status == 200


def test_the_tag_of_a_compressed_record_permits_its_change(site: Deployment) -> None:
    """A client reads a record through a library that decodes, and writes it on this condition."""
    token = site.token("author")
    name = site.mint(text(b"a text\n"))
    site.bind(name, *(f"https://mirror{at}.example.org/a-text" for at in range(40)))
    found = site.get(f"/{name}?info", "Accept: application/json", "Accept-Encoding: gzip")
    assert found.headers["content-encoding"] == "gzip"
    condition = f"If-Match: {found.headers['etag']}"
    more = {"locations": [{"uri": "https://www.example.org/a-text"}]}
    assert site.post(f"/{name}?bind", more, condition, token=token).status == 201
    assert site.post(f"/{name}?bind", more, condition, token=token).status == 412


def test_deposited_bytes_are_sent_as_they_are(site: Deployment) -> None:
    body = b"four score and seven years ago\n" * 20_000  # not in the page cache's first piece
    name = site.mint(text(body))
    for fields in ((), ("Range: bytes=0-4999",), ("Range: bytes=0-9,100-199",)):
        found = site.get(f"/{name}", "Accept: */*", CODED, *fields)
        assert found.status in (200, 206)
        assert "content-encoding" not in found.headers
        assert "accept-encoding" not in found.headers.get("vary", "")
    part = site.get(f"/{name}%23char=0,9000", "Accept: text/plain", CODED)
    assert "content-encoding" not in part.headers


def test_an_answer_with_secrets_is_not_compressed(site: Deployment) -> None:
    """BREACH needs a secret and a text of the attacker's in one compressed body."""
    admin = site.token("admin", operations=("delegate", "mint"))
    grants = {"name": "x" * 1500, "operations": ["mint"], "authorities": [SERIES]}
    made = site.post("/tokens", grants, CODED, token=admin)
    listed = site.get("/tokens", CODED, f"Authorization: Bearer {admin}")
    for answer in (made, listed):
        assert "content-encoding" not in answer.headers


def test_small_bodies_and_pictures_are_left_alone(site: Deployment) -> None:
    assert "content-encoding" not in site.get("/healthz", CODED).headers
    assert "content-encoding" not in site.get("/.well-known/pdi?x", CODED).headers


def test_curl_decodes_what_it_gets(site: Deployment) -> None:
    program = "curl"
    try:
        done = subprocess.run(
            [program, "-s", "--compressed", "-H", BROWSER, f"{site.base}/"],
            capture_output=True,
            check=True,
        )
    except FileNotFoundError:
        pytest.skip("curl is not installed")
    assert done.stdout == site.get("/", BROWSER).body
