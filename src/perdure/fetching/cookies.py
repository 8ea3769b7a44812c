"""Cookies for the duration of one capture, because many sites show nothing without cookies.

How it works: `http.cookiejar` implements the rules of a browser, here with its stricter reading of
domains. It gets only the request and response fields that it asks for, and uses no socket.

What must stay true: a jar starts empty and is never stored, so that the server cannot recognise a
client; a cookie that one site sets is not sent to another; memory is bounded.
"""

from __future__ import annotations

from email.message import Message
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.request import Request

from perdure.fetching.exchange import Exchange

MOST_COOKIES = 300
LONGEST_FIELD = 8192
"""Characters of a Cookie field. A longer field is not sent."""


class Cookies:
    """The cookies of one capture."""

    def __init__(self) -> None:
        policy = DefaultCookiePolicy(
            strict_domain=True,
            strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain,  # RFC 6265 host-only-flag
        )
        self._jar = CookieJar(policy)

    def keep_cookies(self, exchange: Exchange) -> None:
        """Keep the cookies that a response sets."""
        if exchange.find_header("Set-Cookie") is not None and len(self._jar) < MOST_COOKIES:
            answered: Any = _CookieResponse(exchange)
            self._jar.extract_cookies(answered, Request(exchange.url))  # noqa: S310  # not opened

    def make_field(self, url: str) -> str:
        """Return the value of the `Cookie` field for a URL; empty if there are no cookies."""
        request = Request(url)  # noqa: S310  # not opened
        self._jar.add_cookie_header(request)
        text = request.get_header("Cookie", "") or ""
        is_fit = text.isascii() and text.isprintable() and len(text) <= LONGEST_FIELD
        return text if is_fit else ""


class _CookieResponse:
    """A response in the form that the jar expects."""

    def __init__(self, exchange: Exchange) -> None:
        self._message = Message()
        for name, value in exchange.headers:
            if name.lower() == "set-cookie":
                self._message["Set-Cookie"] = value

    def info(self) -> Message:
        return self._message
