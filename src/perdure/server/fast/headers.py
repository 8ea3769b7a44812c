"""Request headers whose meaning for a frequent answer is known.

How it works: clients repeat the same fields, so a header is judged once, as one block of bytes, and
its meaning is cached. `UsualHeader` says what a header asks about a resource; None means that it
could change the answer in a way that only the plain way knows: a condition, a preference for JSON
or XML, or the origin that shows only archived pages.

What must stay true: a cached meaning follows from the block of bytes alone, and from the settings;
whatever clients send, at most `_MOST` headers of at most `_LONGEST` bytes are cached.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from perdure.policy.ordering import ReaderWishes
from perdure.server.common.asking import find_region
from perdure.server.common.conditions import CONDITIONS, Span
from perdure.server.common.elsewhere import OWN_FIELD
from perdure.server.common.negotiate import may_prefer, names_first, read_preferences
from perdure.server.common.request import HOST
from perdure.server.protocol.doctor import ECHO
from perdure.server.protocol.head import join_fields, split_fields
from perdure.server.resource import signposting
from perdure.server.resource.describing import TYPES
from perdure.server.resource.metadata import names_metadata
from perdure.settings import Settings

_UNUSUAL = CONDITIONS | {b"expect", b"if-range", b"want-repr-digest", ECHO.lower().encode()}
_NOT_PLAIN = CONDITIONS | {b"authorization", b"expect", ECHO.lower().encode()}
_ROUTING = frozenset({b"via", b"prefer", OWN_FIELD})
_FORWARDED = b"x-forwarded-proto"
_ONE_RANGE = re.compile(rb"bytes=([0-9]{1,15})-([0-9]{1,15})?")
_NO_END = 1 << 62
_MOST = 1024
_LONGEST = 4096  # bytes

_Meaning = TypeVar("_Meaning")


class UsualHeader(msgspec.Struct, frozen=True):
    """The meaning of a header that asks at most for a range."""

    base: str | None
    """The public address of this resolver, or None if only the plain way knows it."""
    for_page: bool = False
    """True if a browser asks, which gets a page in the place of bytes."""
    range: Span | None = None
    wishes: ReaderWishes = ReaderWishes()
    """The wishes by which one of several locations is chosen."""
    is_routed: bool = False
    """True if the header may say which resolvers it has passed, or how to be sent to another."""


class UsualHeaders:
    """Judges headers, for one set of settings."""

    def __init__(self, settings: Settings) -> None:
        self._base_url = settings.base_url
        self._pages = settings.pages
        self._region_header = settings.region_header
        self._content_host = settings.content_origin.partition("://")[2].encode()
        self.known: dict[bytes, UsualHeader | None] = {}
        """The cached meanings. Call `judge_header` for a header that is not among them."""
        self._plain: dict[bytes, bool] = {}

    def judge_header(self, fields: bytes) -> UsualHeader | None:
        """Return the meaning of a header, or None if it could change the answer."""
        found = join_fields(split_fields(fields))
        usual = self._read_header(found)
        if b"range" not in found:  # there are too many ranges to remember
            _remember_meaning(self.known, fields, usual)
        return usual

    def is_plain(self, fields: bytes) -> bool:
        """Return True if a header cannot change an answer that all readers get."""
        plain = self._plain.get(fields)
        if plain is None:
            found = join_fields(split_fields(fields))
            plain = _NOT_PLAIN.isdisjoint(found) and not self._is_for_replay(found)
            _remember_meaning(self._plain, fields, plain)
        return plain

    def _is_for_replay(self, found: dict[bytes, bytes]) -> bool:
        """Return True if the request is for the origin that shows only archived pages."""
        return bool(self._content_host) and found.get(b"host", b"").lower() == self._content_host

    def _read_header(self, found: dict[bytes, bytes]) -> UsualHeader | None:
        if not _UNUSUAL.isdisjoint(found) or self._is_for_replay(found):
            return None
        for_page = False
        accept = found.get(b"accept")
        if accept is not None:
            wanted = read_preferences(accept.decode("latin-1"))
            if may_prefer(wanted, (*TYPES, *signposting.TYPES)) or names_metadata(wanted):
                return None
            if self._pages != "never" and b"range" not in found:
                for_page = names_first(wanted, "text/html")
        asked = None
        if b"range" in found:
            span = _ONE_RANGE.fullmatch(found[b"range"])
            if span is None:
                return None
            asked = int(span[1]), int(span[2]) + 1 if span[2] else _NO_END
            if asked[0] >= asked[1]:
                return None
        base = find_public_base(found, self._base_url)
        routed = not _ROUTING.isdisjoint(found)
        return UsualHeader(base, for_page, asked, self._read_wishes(found), routed)

    def _read_wishes(self, found: dict[bytes, bytes]) -> ReaderWishes:
        return ReaderWishes(
            read_preferences(found.get(b"accept", b"").decode("latin-1")),
            read_preferences(found.get(b"accept-language", b"").decode("latin-1")),
            find_region(found, self._region_header),
        )


def _remember_meaning(known: dict[bytes, _Meaning], fields: bytes, meaning: _Meaning) -> None:
    """Cache the meaning of a header, unless long headers could fill the memory."""
    if len(fields) <= _LONGEST:
        if len(known) >= _MOST:
            known.clear()
        known[fields] = meaning


def find_public_base(found: dict[bytes, bytes], base_url: str) -> str | None:
    """Return the same public address as `Request.base_url`, or None if the header does not
    suffice."""
    if base_url:
        return base_url
    host = found.get(b"host", b"")
    if _FORWARDED in found or not HOST.fullmatch(host):
        return None
    return f"http://{host.decode('ascii')}"
