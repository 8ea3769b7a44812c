"""Cookies for as long as one capture takes, since many sites show nothing to whoever brings none.

How it works: the rules of a browser are those of `http.cookiejar`, in its stricter reading of
domains; it is handed what it asks of a request and a response, and touches no socket.

What must stay true: a jar begins empty and is kept nowhere, so that whoever captures is nobody to
the server; what one site sets goes to no other; memory is bounded.
"""

from __future__ import annotations

from email.message import Message
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.request import Request

from perdure.fetching.exchange import Exchange

MOST_COOKIES = 300
LONGEST_FIELD = 8192
"""Characters of a Cookie field; beyond it none is sent."""


class Cookies:
    """The cookies of one capture."""

    def __init__(self) -> None:
        policy = DefaultCookiePolicy(
            strict_domain=True,
            strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain,  # RFC 6265 host-only-flag
        )
        self._jar = CookieJar(policy)

    def keep(self, exchange: Exchange) -> None:
        """Takes what a response sets."""
        if exchange.header("Set-Cookie") is not None and len(self._jar) < MOST_COOKIES:
            answered: Any = _Answered(exchange)
            self._jar.extract_cookies(answered, Request(exchange.url))  # noqa: S310  # not opened

    def field(self, url: str) -> str:
        """What `Cookie` says to a server; empty where nothing is said."""
        request = Request(url)  # noqa: S310  # not opened
        self._jar.add_cookie_header(request)
        text = request.get_header("Cookie", "") or ""
        is_fit = text.isascii() and text.isprintable() and len(text) <= LONGEST_FIELD
        return text if is_fit else ""


class _Answered:
    """A response, as the jar asks it for its fields."""

    def __init__(self, exchange: Exchange) -> None:
        self._message = Message()
        for name, value in exchange.headers:
            if name.lower() == "set-cookie":
                self._message["Set-Cookie"] = value

    def info(self) -> Message:
        return self._message
