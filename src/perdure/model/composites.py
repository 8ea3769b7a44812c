"""Composites: documents that contain pieces of others, and say where these are from. Pure.

A composite carries the text itself: nothing else is needed to read it. In HTML, a piece is a
`blockquote` or `q` whose `cite` names the part, or an image, sound or film whose `src` is the
address of a part. In XML, a piece is between two processing instructions. `perdure compose` writes
both forms, and a mark near the beginning, by which a composite is recognised:

    <!-- perdure composite -->
    <blockquote cite="pdi://oma.eop.gov.us/1994/03/21/1.text.1#char=3,14">…</blockquote>

    <?perdure composite?>
    <?perdure piece="pdi://oma.eop.gov.us/1994/03/21/1.text.1#char=3,14" date="…" sha512="…"?>…
    <?perdure end?>

How it works: `read_pieces` reads the pieces of a document with their places in its source.

What must stay true: a document without the mark has no pieces; no entity is expanded and nothing is
fetched; the work is linear and bounded.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple
from xml.parsers import expat

from perdure.errors import PerdureError
from perdure.errors.composing import (
    CompositeCharset,
    CompositeEntities,
    CompositeNotWellFormed,
)
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.model.assertions import find_identifier
from perdure.model.composite_marks import HTML, is_composite

_END = "<?perdure end?>"
LARGEST = 8 << 20
"""Bytes of a composite."""
MOST = 1000
"""Pieces of a composite."""
INCLUDE = "http://www.w3.org/2001/XInclude include"
_QUOTES = ("blockquote", "q")
_MEDIA = ("audio", "img", "source", "video")
_ATTRIBUTE = re.compile(r'([a-z0-9]+)="([^"]*)"')


class Piece(NamedTuple):
    """A piece of a document, with its place in the text of the source, in characters."""

    cited: str
    """The identifier or the address, as it is written."""
    element: str
    """`blockquote`, `q`, `img` …, or `include` in XML."""
    start: int
    """The beginning of its content, or of the tag of an image, sound or film."""
    stop: int
    tag: int = 0
    """The beginning of its start tag."""
    attributes: tuple[tuple[str, str | None], ...] = ()

    @property
    def identifier(self) -> Identifier | None:
        """The identifier of the piece; None if it has none that can be read."""
        return _read_cited(self.cited)


@lru_cache(MOST)
def _read_cited(cited: str) -> Identifier | None:
    address = f"http://here{cited}" if cited[:1] == "/" else cited
    try:
        return find_identifier(address)
    except PerdureError:
        return None


def find_targets(media_type: str, data: bytes) -> tuple[str, ...]:
    """Return the identifiers of the pieces of a composite; empty for any other document."""
    if not is_composite(media_type, data) or len(data) > LARGEST:
        return ()
    try:
        pieces = read_pieces(media_type, data)
    except PerdureError:
        return ()
    named = (piece.identifier for piece in pieces)
    return tuple(dict.fromkeys(str(one) for one in named if one is not None))


def read_pieces(media_type: str, data: bytes) -> list[Piece]:
    """Read the pieces of a document in UTF-8 that has the form of a composite, in their order.

    Raises CompositeMalformed.
    """
    if strip_parameters(media_type) in HTML:
        return read_html(decode_source(data))
    return sorted(_read_xml(data), key=lambda piece: piece.tag)


def decode_source(data: bytes) -> str:
    """Decode the source of a composite. Raises CompositeMalformed."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CompositeCharset() from error


def count_canonical(text: str, place: int) -> int:
    """Return the origin of a place: characters before it, two for each line break.

    # ruling: citation-origin
    """
    before = text[:place].replace("\r\n", "\n").replace("\r", "\n")
    return len(before) + before.count("\n")


class CanonicalPlaces:
    """Counts as `count_canonical` does, of places that grow, in linear time together."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = self._count = 0

    def count_before(self, place: int) -> int:
        """Return the origin of a place; a smaller one than before is counted from the beginning."""
        if self._text[max(place - 1, 0) : place + 1] == "\r\n":  # within a line break
            return count_canonical(self._text, place)
        if place < self._place:
            self._place = self._count = 0
        between = self._text[self._place : place]
        breaks = between.count("\r\n")
        single = between.count("\r") + between.count("\n") - 2 * breaks
        self._count += len(between) + single
        self._place = place
        return self._count


# HTML
# ----


def read_html(text: str) -> list[Piece]:
    """Read the pieces of a page: what cites or shows an identifier."""
    reader = _HtmlReader(text)
    reader.feed(text)
    reader.close()
    return reader.list_pieces()


class _HtmlReader(HTMLParser):
    """Notes the elements that cite or show something, with their places."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self._text = text
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]
        self._open: list[tuple[str, Piece | None]] = []
        self._pieces: list[Piece] = []

    @property
    def _place(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        begin = self._place
        after = begin + len(self.get_starttag_text() or "")
        known = dict(attrs)
        if tag in _QUOTES:
            cited = known.get("cite")
            piece = Piece(cited.strip(), tag, after, after, begin, tuple(attrs)) if cited else None
            self._open.append((tag, piece))
        elif tag in _MEDIA and known.get("src"):
            source = str(known["src"]).strip()
            self._pieces.append(Piece(source, tag, begin, after, begin, tuple(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)  # a slash closes nothing in HTML

    def handle_endtag(self, tag: str) -> None:
        if tag in _QUOTES and any(one == tag for one, _ in self._open):
            while self._open:
                opened, piece = self._open.pop()
                if piece is not None:
                    self._pieces.append(piece._replace(stop=self._place))
                if opened == tag:
                    return

    def list_pieces(self) -> list[Piece]:
        """Return all pieces that name an identifier, in the order of their tags."""
        rest = [piece._replace(stop=len(self._text)) for _, piece in self._open if piece]
        found = sorted((*self._pieces, *rest), key=lambda one: one.tag)
        return [one for one in found if one.identifier is not None]


# XML
# ---


class XmlEvent(NamedTuple):
    """A start tag, an end tag or a processing instruction, by its place in the bytes."""

    kind: str
    """`start`, `end` or `instruction`."""
    name: str
    place: int
    attributes: dict[str, str]


def walk_xml(data: bytes) -> Iterator[XmlEvent]:
    """Yield the events of an XML document. Entities are not declared, and nothing is loaded.

    Raises CompositeMalformed.
    """
    events: list[XmlEvent] = []
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def refuse_entity(*_: object) -> None:
        line = parser.CurrentLineNumber
        raise CompositeEntities(line=line)

    parser.EntityDeclHandler = refuse_entity
    parser.StartElementHandler = lambda name, attributes: events.append(
        XmlEvent("start", name, parser.CurrentByteIndex, attributes)
    )
    parser.EndElementHandler = lambda name: events.append(
        XmlEvent("end", name, parser.CurrentByteIndex, {})
    )
    parser.ProcessingInstructionHandler = lambda name, text: events.append(
        XmlEvent("instruction", name, parser.CurrentByteIndex, _read_attributes(text))
    )
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        fault = expat.ErrorString(error.code)
        raise CompositeNotWellFormed(fault=fault, line=error.lineno) from error
    yield from events


def list_includes(data: bytes) -> list[tuple[int, int, dict[str, str]]]:
    """Return the places of the include elements of a document, and their attributes, in order.

    Raises CompositeMalformed.
    """
    found: list[tuple[int, int, dict[str, str]]] = []
    opened: list[XmlEvent] = []
    for event in walk_xml(data):
        if event.kind == "start":
            opened.append(event)
        elif event.kind == "end":
            start = opened.pop()
            if start.name == INCLUDE and not any(one.name == INCLUDE for one in opened):
                end = find_tag_end(data, start.place)
                if data[end - 2 : end] != b"/>":
                    end = find_tag_end(data, event.place)
                found.append((start.place, end, start.attributes))
    return sorted(found, key=lambda one: one[0])


def find_tag_end(data: bytes, place: int) -> int:
    """The place after a tag, whose attributes may contain `>` in quotation marks."""
    quoted = 0
    for at in range(place, len(data)):
        one = data[at]
        if quoted:
            quoted = 0 if one == quoted else quoted
        elif one in b"\"'":
            quoted = one
        elif one == ord(">"):
            return at + 1
    return len(data)


def _read_attributes(text: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in _ATTRIBUTE.findall(text or "")}


def _read_xml(data: bytes) -> Iterator[Piece]:
    """Yield the pieces between the instructions of a composite."""
    text = decode_source(data)
    places = _CharacterPlaces(data)
    opened: list[Piece] = []
    for event in walk_xml(data):
        if event.kind != "instruction" or event.name != "perdure":
            continue
        begin = places.count_before(event.place)
        after = text.index("?>", begin) + 2
        if "piece" in event.attributes:
            cited = event.attributes["piece"]
            opened.append(Piece(cited, "include", after, after, begin))
        elif opened and "piece" not in event.attributes and text[begin:after] == _END:
            yield opened.pop()._replace(stop=begin)


def is_filled(text: str, pieces: list[Piece], piece: Piece, cuts: list[str]) -> bool:
    """Return True if a piece is a document that was cut at its include elements (`split_source`),
    with another piece at the place of each of them.

    Pieces that the document had itself are in `cuts`.
    """
    ends = {inner.tag: inner.stop + len(_END) for inner in pieces}
    place: int | None = piece.start
    for number, cut in enumerate(cuts):
        place = ends.get(place) if number and place is not None else place
        if place is None or not text.startswith(cut, place):
            return False
        place += len(cut)
    return place == piece.stop


def split_source(data: bytes) -> list[str]:
    """Return the root element of an XML document, cut at its include elements.

    Raises CompositeMalformed.
    """
    first = next(one.place for one in walk_xml(data) if one.kind == "start")
    cuts: list[str] = []
    for begin, end, _ in list_includes(data):
        cuts.append(data[first:begin].decode())
        first = end
    return [*cuts, data[first:].decode().rstrip()]


class _CharacterPlaces:
    """Counts the characters before places in bytes that grow."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._byte = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        self._count = 0

    def count_before(self, byte: int) -> int:
        if byte > self._byte:
            self._count += len(self._data[self._byte : byte].decode("utf-8", "replace"))
            self._byte = byte
        return self._count


def find_line(text: str, place: int) -> int:
    """Return the number of the line of a place, from 1."""
    lines = [found.end() for found in re.finditer("\n", text)]
    return bisect_right(lines, place) + 1
