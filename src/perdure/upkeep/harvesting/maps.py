"""Sitemaps and lists of ResourceSync as they come from a server. Pure.

How it works: both are one form of XML (sitemaps.org; ANSI/NISO Z39.99-2017 section 8). A document
is a list of entries, or an index of further documents; the attributes of ResourceSync say which
capability it has, and of each entry its digest, its length, and what happened to it.

What must stay true: a document that is not well-formed to its end gives nothing; a document type
declaration is refused, so that no entity expands.
"""

from __future__ import annotations

import zlib

import msgspec

from perdure.upkeep.harvesting.parsing import parse_events

MAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
SYNC = "http://www.openarchives.org/rs/terms/"
MOST = 50_000
"""Entries of a document (sitemaps.org). A longer one is refused."""
_DEEPEST = 20
_LONGEST_TEXT = 8192  # characters
_MOST_BYTES = 64 << 20
_GZIP = b"\x1f\x8b"


class MapMalformed(ValueError):
    """A document is neither a sitemap nor a list of ResourceSync; the text says why."""


class MapEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a document: a resource, or another document."""

    address: str
    lastmod: str = ""
    said: dict[str, str] = msgspec.field(default_factory=dict)
    """The attributes of its `rs:md`: `hash`, `length`, `change`, `capability` …"""


class SiteMap(msgspec.Struct, frozen=True, kw_only=True):
    """A document."""

    is_index: bool
    """True if its entries are documents of the same kind."""
    said: dict[str, str]
    """The attributes of the document's own `rs:md`: `capability`, `at`, `from` …"""
    entries: tuple[MapEntry, ...]


def read_map(body: bytes) -> SiteMap:
    """Read a document, also a compressed one. Raises MapMalformed."""
    if body[:2] == _GZIP:
        try:
            body = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, _MOST_BYTES)
        except zlib.error as error:
            raise MapMalformed(f"it cannot be decompressed: {error}") from None
    reading = _MapReading()
    parse_events(body, reading, MapMalformed)
    return SiteMap(
        is_index=reading.root == "sitemapindex", said=reading.said, entries=tuple(reading.entries)
    )


class _MapReading:
    """Reads one document."""

    def __init__(self) -> None:
        self.root = ""
        self.said: dict[str, str] = {}
        self.entries: list[MapEntry] = []
        self._path: list[str] = []
        self._texts: dict[str, str] = {}
        self._about: dict[str, str] = {}
        self._into = ""

    def enter_element(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        if not self._path:
            if space != MAP or local not in ("urlset", "sitemapindex"):
                raise MapMalformed(f"its root is <{local[:80]}>, not <urlset> or <sitemapindex>")
            self.root = local
        self._path.append(local if space == MAP else name)
        if len(self._path) > _DEEPEST:
            raise MapMalformed("its elements are nested too deeply")
        match self._path[1:]:
            case ["url" | "sitemap"]:
                self._texts, self._about = {}, {}
                if len(self.entries) >= MOST:
                    raise MapMalformed(f"it has more than {MOST:,} entries")
            case ["url" | "sitemap", "loc" | "lastmod" as field]:
                self._into = field
                self._texts[field] = ""
            case [one] if one == f"{SYNC} md":
                self.said = _shorten_attributes(attributes)
            case [_, one] if one == f"{SYNC} md":
                self._about = _shorten_attributes(attributes)

    def add_text(self, text: str) -> None:
        if self._into:
            self._texts[self._into] += text
            if len(self._texts[self._into]) > _LONGEST_TEXT:
                raise MapMalformed(f"an address is longer than {_LONGEST_TEXT} characters")

    def leave_element(self, _: str) -> None:
        self._into = ""
        if len(self._path) == 2 and self._path[1] in ("url", "sitemap"):
            address = self._texts.get("loc", "").strip()
            if not address:
                raise MapMalformed("an entry has no address")
            lastmod = self._texts.get("lastmod", "").strip()
            self.entries.append(MapEntry(address=address, lastmod=lastmod, said=self._about))
        self._path.pop()


def _shorten_attributes(attributes: dict[str, str]) -> dict[str, str]:
    return {name: value[:_LONGEST_TEXT] for name, value in attributes.items() if " " not in name}
