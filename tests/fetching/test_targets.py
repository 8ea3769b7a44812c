"""Where URLs lead, and which lead nowhere."""

from __future__ import annotations

import pytest

from perdure.errors import InvalidRequest
from perdure.fetching.targets import join_url, parse_target


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("http://example.org", "http://example.org/"),
        (" https://EXAMPLE.org:443/a?b=c#d\n", "https://example.org/a?b=c"),
        ("http://example.org:8080/%7Ea/ü b", "http://example.org:8080/%7Ea/%C3%BC%20b"),
        ("http://[2001:DB8::1]:81/", "http://[2001:db8::1]:81/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://a_b.example./", "http://a_b.example./"),
        ("http://a.example/?q=a%20b&c=|", "http://a.example/?q=a%20b&c=|"),
    ],
)
def test_a_url_is_read(url: str, meant: str) -> None:
    assert parse_target(url).url == meant


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "javascript:alert(1)",
        "//example.org/",
        "example.org",
        "http://",
        "http:///path",
        "http://user@example.org/",
        "http://user:word@example.org/",
        "http://example.org:22/",
        "http://example.org:6379/",
        "http://example.org:99999/",
        "http://example.org:0/",
        "http://exa mple.org/",
        "http://a\\b/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://" + "ü" * 300 + "/",
        "http://a/" + "a" * 9000,
    ],
)
def test_a_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_target(url)


@pytest.mark.parametrize("url", ["http://me:secret@a.example/", "http://me:secret@a.example:x/"])
def test_a_password_is_not_repeated(url: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        parse_target(url)
    assert "a.example" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_no_line_break_gets_into_a_request() -> None:
    found = parse_target("http://example.org/a\r\nHost: b\r\n\r\n?c\r\nd")
    assert "\r" not in found.path
    assert "\n" not in found.path


def test_references_are_joined() -> None:
    assert join_url("http://a/b/c?d", " ../e f#g ") == "http://a/e f"
    assert join_url("http://a/b", "//c/d") == "http://c/d"
    assert join_url("http://a/b", "http://[broken") == "http://[broken"
