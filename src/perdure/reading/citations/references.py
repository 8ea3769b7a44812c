"""Elements and links at an origin: what refers to a cited part without containing it.

How it works: of a document that is not written in characters (a PDF, a book, an archive), the links
that it declares are listed with their places (`perdure.reading.links`). In markup, the tag at the
origin is read, or the one that ends there. An element that shows what its attribute names (`img
src`, `iframe`, `xi:include`) transcludes the cited part if the attribute is exactly its identifier,
with version. Any other attribute, and an identifier written in the text, is a reference. An address
counts as the identifier in it (`perdure.ids.urls`).

If nothing at the origin refers to the part, the tags in which its series is written are searched,
up to a limit, and the nearest that does is elsewhere.

What must stay true: nothing is fetched, and no entity of the markup is resolved.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from itertools import islice

from perdure.extractors.markup.tagged import Markup
from perdure.extractors.markup.tags import HTML, TEXT, Tags, View, read_attributes, read_tag
from perdure.extractors.port import Source, Span
from perdure.extractors.text.characters import find_characters
from perdure.extractors.text.coding import find_coding
from perdure.extractors.text.index import Unit, open_index
from perdure.ids import Identifier
from perdure.model.verdicts import Comparison, Excerpt, Verdict
from perdure.parts import Page, Selector
from perdure.parts.port import MARKUP, SGML, XML, covers_type
from perdure.reading.citations.origins import Medium, Origin
from perdure.reading.citations.sides import Finding
from perdure.reading.extraction import PartExtraction
from perdure.reading.links.declared import is_written, list_links
from perdure.reading.links.written import read_address

_SHOWING = {
    b"img": (b"src",),
    b"image": (b"href", b"xlink:href"),
    b"iframe": (b"src",),
    b"frame": (b"src",),
    b"embed": (b"src",),
    b"object": (b"data",),
    b"audio": (b"src",),
    b"video": (b"src", b"poster"),
    b"source": (b"src",),
    b"track": (b"src",),
    b"input": (b"src",),
    b"use": (b"href", b"xlink:href"),
    b"xi:include": (b"href",),
    b"include": (b"href",),
}
"""Elements that show what an attribute names, by their names in lower case."""

_MOST_TAGS = 10_000  # that may refer to a part
_LONGEST = 8192  # bytes of a value, characters of an identifier
_WRITTEN = re.compile(r"(?:<|\(|\"|')?((?:https?://|urn:|pdi:)[^\s<>\"'`]+)", re.IGNORECASE)


def find_reference(
    parts: PartExtraction, source: Source, origin: Origin, cited: Identifier
) -> Finding | None:
    """Return what refers to a cited part at an origin, or elsewhere; None if nothing does.

    Raises the errors of reading the markup.
    """
    if origin.medium is not Medium.TEXT:
        return _find_listed(parts, source, origin, cited)
    index = open_index(source, find_coding(source), parts.indexes)
    if origin.number > index.count_units(Unit.CANONICAL):
        return None
    byte = index.find_place(Unit.CANONICAL, origin.number).byte
    element: Finding | None = None
    if any(covers_type(kind, source.essence) for kind in (*MARKUP, *SGML, *XML)):
        markup = Markup(source, "text", parts.indexes)
        if markup.rule is not TEXT and markup.encoding.width == 1:
            element = _find_element(parts, markup, origin, byte, cited)
    if element is not None and element.verdict is Verdict.TRANSCLUDED:
        return element
    written = _find_written(source, byte, cited)
    if written is not None:
        return _tell(parts, source, Verdict.REFERENCED, written)
    if not is_written(source.essence):
        return _find_listed(parts, source, origin, cited)
    return element


def _find_listed(
    parts: PartExtraction, source: Source, origin: Origin, cited: Identifier
) -> Finding | None:
    """Return the declared link to a cited part at an origin, or the nearest one elsewhere."""
    origins = {
        link.origin
        for link in list_links(parts, source)
        if link.origin is not None and _names(link.target, cited)
    }
    if not origins:
        return None
    there = min(origins, key=lambda one: (abs(one - origin.number), one))
    page: Selector | None = Page(there) if origin.medium is Medium.PAGES else None
    if there == origin.number:
        comparison = Comparison(verdict=Verdict.REFERENCED)
        return Finding(comparison=comparison, unit="character", part=page)
    moved = Comparison(verdict=Verdict.ELSEWHERE, likeness=Verdict.REFERENCED)
    return Finding(comparison=moved, unit="character", part=page, moved=origin.spell_moved(there))


def _find_element(
    parts: PartExtraction, markup: Markup, origin: Origin, byte: int, cited: Identifier
) -> Finding | None:
    source, view, tags = markup.source, markup.make_view(), markup.list_tags()
    at = bisect_right(tags.starts, byte) - 1
    if at >= 0 and byte <= tags.stops[at]:
        verdict = _judge_tag(markup, view, tags, at, cited)
        if verdict is not None:
            return _tell(parts, source, verdict, Span(tags.starts[at], tags.stops[at]))
    for place in _list_nearest(view, tags, byte, cited):
        verdict = _judge_tag(markup, view, tags, place, cited)
        if verdict is not None:
            there = Span(tags.starts[place], tags.stops[place])
            return _tell(parts, source, verdict, there, origin)
    return None


def _list_nearest(view: View, tags: Tags, byte: int, cited: Identifier) -> list[int]:
    """Return the numbers of the tags in which the series of a PDI is written, the nearest first."""
    series = re.compile(re.escape(cited.assigned_under).encode(), re.IGNORECASE)
    places = {
        bisect_right(tags.starts, found.start()) - 1
        for found in islice(series.finditer(view), _MOST_TAGS)
    }
    inside = [at for at in places if at >= 0]
    return sorted(inside, key=lambda at: (abs(tags.starts[at] - byte), at))


def _judge_tag(
    markup: Markup, view: View, tags: Tags, at: int, cited: Identifier
) -> Verdict | None:
    start, stop = tags.starts[at], tags.stops[at]
    tag = read_tag(view, start, stop)
    if tag.closing:
        return None
    name = tag.name.lower() if markup.rule is HTML else tag.name
    showing = _SHOWING.get(name.lower(), ())
    found: Verdict | None = None
    for attribute in read_attributes(view, start, stop):
        value = bytes(view[attribute.value])
        if len(value) > _LONGEST or b":" not in value:
            continue
        text = html.unescape(value.decode(markup.encoding.codec, "replace")).strip()
        named = read_address(text)
        if named is None or not _names(named, cited):
            continue
        if attribute.name.lower() in showing and named == cited:
            return Verdict.TRANSCLUDED
        found = Verdict.REFERENCED
    return found


def _find_written(source: Source, byte: int, cited: Identifier) -> Span | None:
    """Return the bytes of an identifier that is written at a place, if it is the cited one."""
    chunk = source.read_bytes(byte, byte + _LONGEST)
    try:
        text = chunk.decode(find_coding(source).codec, "ignore")
    except LookupError:
        return None
    found = _WRITTEN.match(text)
    if found is None:
        return None
    name = html.unescape(found[1]).rstrip(".,;:!?)]}")
    named = read_address(name)
    if named is None or not _names(named, cited):
        return None
    length = len(text[: found.start(1) + len(name)].encode(find_coding(source).codec, "replace"))
    return Span(byte, byte + length)


def _names(named: Identifier, cited: Identifier) -> bool:
    """Return True if an identifier names the cited part, its document, or its resource."""
    return named in (cited, cited.whole, cited.resource)


def _tell(
    parts: PartExtraction,
    source: Source,
    verdict: Verdict,
    span: Span,
    moved_from: Origin | None = None,
) -> Finding:
    part = find_characters(source, span, parts.indexes)
    written = source.read_bytes(span.start, min(span.stop, span.start + _LONGEST))
    return Finding(
        comparison=Comparison(
            verdict=verdict if moved_from is None else Verdict.ELSEWHERE,
            start=span.start,
            stop=span.stop,
            likeness=None if moved_from is None else verdict,
        ),
        unit="character",
        part=part,
        extent=part.end - part.start,
        moved=None if moved_from is None else moved_from.spell_moved(part.start),
        passage=Excerpt(text=written.decode(find_coding(source).codec, "replace")),
    )
