"""The links that a document declares: identifiers in its markup, its links and its text.

How it works: a text is read as it is stored, in UTF-8, so that the position of a link is one in
the source. Markup, Markdown and other texts differ only in what is around an identifier. A PDF, an
office document, a book and an archive of pages have links that are not in their text, which a
confined process lists with their pages or records. Of every other format, the plain text is
searched, and the position of a link is that of the passage which contains it.

What must stay true: a document has at most `MOST_LINKS` links. It is never changed, and nothing is
fetched. A position is an origin of a citation (ruling: citation-origin), or None.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from perdure.errors.damage import TextAbsent
from perdure.errors.limits import PlainTextTooLong
from perdure.extractors.markup.tagged import choose_rule
from perdure.extractors.markup.tags import TEXT as NO_MARKUP
from perdure.extractors.plain_text import LARGEST
from perdure.extractors.port import Source, Span
from perdure.extractors.text.coding import find_coding
from perdure.ids import Identifier
from perdure.reading.citations.origins import Medium, find_medium, locate_origin
from perdure.reading.extraction import PartExtraction
from perdure.reading.links.markup import find_marked
from perdure.reading.links.written import LONGEST, find_written, read_address

MOST_LINKS = 100_000
"""The most links of one document that are read."""
_CODED = ("message/rfc822",)
_MARKDOWN = ("text/markdown", "text/x-markdown")
_REFERENCE = re.compile(rb"(?:^|\n) {0,3}\[[^\]\n]{1,999}\]:[ \t]*<?\Z")
_BEFORE = 1024  # bytes
_STRETCH = 8 << 20  # bytes


class DeclaredLink(NamedTuple):
    """An identifier that a document refers to."""

    how: str
    """`cite`, `href`, `src`, `data`, `xinclude`, `xlink`, `tei`, `jats`, `markdown`, `pdf`,
    `text`."""
    target: Identifier
    origin: int | None
    """The position at which it is: a character of the canonical source, a page, a byte."""
    extent: int
    """The number of positions; 0 if they are not counted."""


def list_links(
    parts: PartExtraction, source: Source, bases: tuple[str, ...] = ()
) -> list[DeclaredLink]:
    """Return the links of a document, in its order, up to `MOST_LINKS`.

    `bases` are the addresses of our own resolver. Raises the errors of reading the document.
    """
    return list(islice(_find_links(parts, source, bases), MOST_LINKS))


def _find_links(
    parts: PartExtraction, source: Source, bases: tuple[str, ...]
) -> Iterator[DeclaredLink]:
    medium = find_medium(source.essence)
    if is_written(source.essence):
        rule = choose_rule(source.essence)
        if rule is not NO_MARKUP:
            data = _read_complete(source)
            yield from _place(data, find_marked(data, rule, bases))
        elif source.length <= LARGEST:
            data = _read_complete(source)
            yield from _place(data, _find_plain(data, source.essence, bases))
        else:
            yield from _find_in_long(source, bases)
        return
    if medium not in (Medium.TEXT, Medium.PAGES, Medium.BYTES):
        return
    for link in parts.list_links(source):
        target = read_address(link.address, bases)
        if target is not None:
            yield DeclaredLink(link.how, target, link.place, 0)
    yield from _find_in_text(parts, source, bases)


def is_written(essence: str) -> bool:
    """Return True if the links of a media type are read in the characters of its source."""
    return find_medium(essence) is Medium.TEXT and essence not in _CODED


def _find_in_text(
    parts: PartExtraction, source: Source, bases: tuple[str, ...]
) -> Iterator[DeclaredLink]:
    """Yield the identifiers in the plain text of a document."""
    try:
        plain = parts.read_text(source)
    except TextAbsent:  # a document of pictures
        return
    if plain is None:
        return
    data = plain.text.encode("utf-8", "replace")
    counted = at = 0
    for found in find_written(data, bases):
        at += len(data[counted : found.start].decode("utf-8", "replace"))
        counted = found.start
        length = len(data[found.start : found.stop].decode("utf-8", "replace"))
        place = locate_origin(source, plain, at, at + length, parts.indexes)
        origin = None if place is None else place.start
        extent = place.stop - place.start if place is not None and place.stop is not None else 0
        yield DeclaredLink("text", found.identifier, origin, extent)


# texts
# -----

_Found = Iterable[tuple[str, Identifier, int, int]]


def _read_complete(source: Source) -> bytes:
    """Return the characters of a text, in UTF-8. Raises PlainTextTooLong or PartNotSupported."""
    if source.length > LARGEST:
        raise PlainTextTooLong(source=source.name, most=LARGEST)
    coding = find_coding(source)
    stored = source.read_bytes(coding.start)
    if coding.codec in ("ascii", "utf-8") and _is_utf8(stored):
        return stored
    return stored.decode(coding.codec, "replace").encode("utf-8", "replace")


def _is_utf8(stored: bytes) -> bool:
    if stored.isascii():
        return True
    try:
        stored.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _find_plain(data: bytes, essence: str, bases: tuple[str, ...]) -> _Found:
    is_markdown = essence in _MARKDOWN
    for found in find_written(data, bases):
        how = "markdown" if is_markdown and _is_markdown_link(data, found.start) else "text"
        yield how, found.identifier, found.start, found.stop


def _is_markdown_link(data: bytes, at: int) -> bool:
    """Return True for the destination of a link, an autolink or a reference (CommonMark 6.3)."""
    before = data[max(at - _BEFORE, 0) : at].removesuffix(b"/")
    return before.endswith((b"](", b"](<", b"<")) or _REFERENCE.search(before) is not None


def _place(data: bytes, found: _Found) -> Iterator[DeclaredLink]:
    """Yield links with their places in the canonical text, counted from one to the next."""
    counted = position = 0
    in_order = sorted(found, key=itemgetter(2, 3))
    if data.isascii() and b"\r" not in data:  # the same numbers, in a fraction of the time
        count_breaks = data.count
        for how, identifier, start, stop in in_order:
            position += start - counted + count_breaks(b"\n", counted, start)
            counted = start
            extent = stop - start + count_breaks(b"\n", start, stop)
            yield DeclaredLink(how, identifier, position, extent)
        return
    for how, identifier, start, stop in in_order:
        position += _count_canonical(data, counted, start)
        counted = start
        yield DeclaredLink(how, identifier, position, _count_canonical(data, start, stop))


def _count_canonical(data: bytes, start: int, stop: int) -> int:
    """Return the characters of a stretch of a text, with each line break as two."""
    piece = data[start:stop]
    count = len(piece) if piece.isascii() else len(piece.decode("utf-8", "replace"))
    lf, cr, both = piece.count(b"\n"), piece.count(b"\r"), piece.count(b"\r\n")
    split = start > 0 and data[start - 1] == 0x0D and piece[:1] == b"\n"  # CR was counted as two
    return count + lf + cr - 2 * both - 2 * split


def _find_in_long(source: Source, bases: tuple[str, ...]) -> Iterator[DeclaredLink]:
    """Yield the links of a plain text of any length, which is read in stretches."""
    coding = find_coding(source)
    decoder = codecs.getincrementaldecoder(coding.codec)("replace")
    position, kept = 0, b""
    chunks = source.read_chunks(Span(coding.start, source.length), _STRETCH)
    for chunk in chunks:
        data = kept + decoder.decode(chunk).encode("utf-8", "replace")
        border = _find_border(data)
        yield from _shift(data[:border], source.essence, bases, position)
        position += _count_canonical(data, 0, border)
        kept = data[border:]
    kept += decoder.decode(b"", final=True).encode("utf-8", "replace")
    yield from _shift(kept, source.essence, bases, position)


def _find_border(data: bytes) -> int:
    """Return the last place at which a text can be divided: no identifier is longer."""
    at = data.rfind(b"\n", max(len(data) - 4 * LONGEST, 0))
    space = data.rfind(b" ", max(len(data) - 4 * LONGEST, 0)) if at < 0 else at
    return space + 1 if space >= 0 else len(data)


def _shift(
    data: bytes, essence: str, bases: tuple[str, ...], position: int
) -> Iterator[DeclaredLink]:
    for link in _place(data, _find_plain(data, essence, bases)):
        yield link._replace(origin=(link.origin or 0) + position)
