"""RFC 6265: cookies go back to the site that set them, and to no other."""

from __future__ import annotations

import pytest

from perdure.fetching import Exchange
from perdure.fetching.cookies import LONGEST_FIELD, MOST_COOKIES, Cookies


def exchange(url: str, *cookies: str) -> Exchange:
    return Exchange(
        url=url,
        address="192.0.2.1",
        began="2026-11-21T01:02:03Z",
        sent=b"",
        received=b"",
        head_length=0,
        status=200,
        reason="OK",
        headers=tuple(("Set-Cookie", one) for one in cookies),
        body=b"",
    )


# RFC 6265 sections 5.1.3 (domain-match), 5.1.4 (path-match), 5.3 (storage model), 5.4 (Cookie)
@pytest.mark.parametrize(
    ("cookie", "url", "sent"),
    [
        ("a=1", "http://www.a.example/", "a=1"),
        ("a=1", "http://www.a.example/deep/er", "a=1"),
        ("a=1", "http://other.example/", ""),
        ("a=1", "http://b.www.a.example/", ""),
        ("a=1; Domain=a.example", "http://b.a.example/", "a=1"),
        ("a=1; Domain=other.example", "http://other.example/", ""),
        ("a=1; Path=/deep", "http://www.a.example/", ""),
        ("a=1; Secure", "http://www.a.example/", ""),
        ("a=1; Secure", "https://www.a.example/", "a=1"),
        ("a=1; Max-Age=0", "http://www.a.example/", ""),
        ("a=\x07", "http://www.a.example/", ""),
        ("a=ü", "http://www.a.example/", ""),
        ("a=" + "x" * LONGEST_FIELD, "http://www.a.example/", ""),
        (";;;=", "http://www.a.example/", ""),
    ],
)
def test_where_a_cookie_goes(cookie: str, url: str, sent: str) -> None:
    cookies = Cookies()
    cookies.keep_cookies(exchange("https://www.a.example/deep" if "/deep" in cookie else
                          "https://www.a.example/", cookie))  # fmt: skip
    assert cookies.make_field(url) == sent


def test_there_is_an_end_to_what_is_kept() -> None:
    cookies = Cookies()
    for number in range(2 * MOST_COOKIES):
        cookies.keep_cookies(exchange(f"http://a{number}.example/", f"a{number}=1"))
    kept = [bool(cookies.make_field(f"http://a{n}.example/")) for n in range(2 * MOST_COOKIES)]
    assert sum(kept) == MOST_COOKIES
