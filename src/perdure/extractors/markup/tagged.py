"""Parts of HTML, SGML and XML by their tags: `elt=3,7`, `name=intro,summary`, and `#intro` of HTML.

Specification: draft-mallery-urn-pdi-00, sections 3.4.2 and 3.4.3. `perdure.extractors.markup.tags`
defines tags, and `perdure.extractors.markup.elements` the ends of elements.

How it works: the offsets of all tags of a document are found once and kept as a mapped index of
eight bytes per tag: a part by number takes two lookups in it. A second index has the elements with
a name or an ID.

What must stay true: a part is one slice of the stored bytes, from the `<` of one tag to the `>` of
another; nothing is parsed into a tree and written again. Any bytes at all have tags or have none:
no document is too broken for a part by number.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

import msgspec

from perdure.errors import PartNotFound, PartNotSupported, PartOutOfRange
from perdure.errors.limits import TagsTooMany, TagsTooManyForNames
from perdure.errors.root import count_things
from perdure.extractors.markup import elements
from perdure.extractors.markup.elements import NamedElements
from perdure.extractors.markup.tags import (
    HTML,
    MOST_TAGS,
    SGML,
    TEXT,
    XML,
    Rule,
    Tags,
    View,
    read_tag,
    scan_tags,
)
from perdure.extractors.port import Extent, Indexes, Part, Source, Span
from perdure.extractors.text.ascii_view import Encoding, find_encoding, make_ascii_view
from perdure.parts import ElementById, NameRange, Selector, TagRange

XML_TYPES = ("text/xml", "application/xml", "*/*+xml")
_HEAD = 8  # bytes before the offsets of an index
_MOST_NAMED = 1 << 22  # tags that are searched for names
_LARGE = 1 << 20  # bytes; a million bytes full of tags take a fifth of a second
_SHOWN = 50  # names, IDs and tags that `list_extents` lists


def choose_rule(essence: str) -> Rule:
    """Return the lexical rule of a media type."""
    match essence:
        case "text/html":
            return HTML
        case "text/sgml" | "application/sgml":
            return SGML
    return XML if essence.endswith("xml") else TEXT


class Markup:
    """A document with its tags."""

    def __init__(self, source: Source, selector: Selector | str, indexes: Indexes) -> None:
        self.source = source
        self.rule = choose_rule(source.essence)
        self.encoding: Encoding = find_encoding(source, selector)
        self.indexes = indexes
        kept = indexes.get_index(source, f"tags-{self.name_index('ascii')}-1", self._pack_tags)
        wide = kept[0] == ord("Q")
        head = _HEAD // (8 if wide else 4)
        self._offsets = memoryview(kept).cast("Q" if wide else "I")[head:]
        self.count = len(self._offsets) // 2

    def name_index(self, plain: str) -> str:
        """Return the name of an index: the rule and, if bytes are not plain, the encoding."""
        written = plain if self.encoding.plain else self.encoding.codec
        return f"{self.rule.name}-{written}"

    def make_view(self) -> View:
        return make_ascii_view(self.source.map_bytes(), self.encoding)

    def _pack_tags(self, source: Source) -> bytes:
        tags = scan_tags(make_ascii_view(source.map_bytes(), self.encoding), self.rule)
        if len(tags.starts) == MOST_TAGS:
            raise TagsTooMany(source=source.name, most=MOST_TAGS)
        head = tags.starts.typecode.encode().ljust(_HEAD)
        return head + tags.starts.tobytes() + tags.stops.tobytes()

    def list_tags(self) -> Tags:
        """Return the offsets of all tags, in units of the view."""
        starts, stops = array(self._offsets.format), array(self._offsets.format)
        starts.frombytes(self._offsets[: self.count].tobytes())
        stops.frombytes(self._offsets[self.count :].tobytes())
        return Tags(starts, stops)

    def find_span(self, first: int, last: int) -> Span:
        """Return the bytes of the source from the start of one tag to the end of another."""
        width = self.encoding.width
        return Span(self._offsets[first] * width, self._offsets[self.count + last] * width)

    def find_next_tag(self, at: int) -> int:
        """Return the byte at which the first tag begins at or after a byte, or the end of the
        source.
        """
        width = self.encoding.width
        number = bisect_left(self._offsets, -(-at // width), 0, self.count)
        return self._offsets[number] * width if number < self.count else self.source.length

    def read_named_elements(self) -> NamedElements:
        """Return elements by name and by ID. Raises OverBudget if there are too many tags to
        search.
        """
        if self.count > _MOST_NAMED:
            raise TagsTooManyForNames(source=self.source.name, most=_MOST_NAMED)
        kept = self.indexes.get_index(
            self.source,
            f"called-{self.name_index(self.encoding.codec)}-2",
            self._pack_named_elements,
        )
        return msgspec.msgpack.decode(kept, type=NamedElements)

    def _pack_named_elements(self, source: Source) -> bytes:
        data, width, codec = source.map_bytes(), self.encoding.width, self.encoding.codec

        def read_slice(at: slice) -> str:
            return str(data[at.start * width : at.stop * width], codec, "replace")

        return msgspec.msgpack.encode(
            elements.find_named_elements(self.make_view(), self.list_tags(), self.rule, read_slice)
        )

    def read_tag_name(self, number: int) -> str:
        """Return the name of a tag as it is written, with the slash of an end tag."""
        span = self.find_span(number, number)
        view = make_ascii_view(self.source.read_bytes(span.start, span.stop), self.encoding)
        tag = read_tag(view, 0, len(view))
        return ("/" if tag.closing else "") + bytes(tag.name).decode("ascii", "replace")

    def make_part(self, selector: Selector, span: Span, **facts: str) -> Part:
        """Return a slice as the part of a selector."""
        return Part(
            selector=selector,
            media_type=self.source.media_type,
            charset=self.encoding.charset or self.source.charset,
            body=(span,),
            slices=(span,),
            facts=facts,
        )


class MarkupExtractor:
    """Slices between tags, for every format that has tags."""

    media_types = ("text/html", "text/sgml", "application/sgml", *XML_TYPES)
    selectors = (TagRange, NameRange)
    confined = False
    lengthy_from = _LARGE
    install = None

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        match selector:
            case TagRange(first=first, last=last):
                markup = Markup(source, selector, indexes)
                if not first <= last < markup.count:  # ruling: part-range
                    raise _make_out_of_range(
                        source, selector, f"{count_things(markup.count, 'tag')}, counted from 0"
                    )
            case NameRange():
                markup = Markup(source, selector, indexes)
                first, last = _find_named_range(markup, selector)
            case _:
                raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        return markup.make_part(selector, markup.find_span(first, last))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        try:
            markup = Markup(source, "elt", indexes)
        except PartNotSupported:
            return ()  # tags are not recognizable in its encoding
        names = tuple(markup.read_named_elements().names)
        shown = tuple(markup.read_tag_name(number) for number in range(min(markup.count, _SHOWN)))
        return (
            Extent(
                syntax=f"elt=0,{max(markup.count - 1, 0)}",
                what="tags, start tags and end tags alike",
                size=markup.count,
                items=shown,
            ),
            Extent(
                syntax=f"name={','.join(names[:1] * 2) or 'a,b'}",
                what="elements by their attribute name",
                size=len(names),
                items=names[:_SHOWN],
            ),
        )


class IdExtractor:
    """Elements of HTML and SGML by their ID. Those of XML need its document type."""

    media_types = ("text/html", "text/sgml", "application/sgml")
    selectors = (ElementById,)
    confined = False
    lengthy_from = _LARGE
    install = None

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        if not isinstance(selector, ElementById):
            raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        markup = Markup(source, selector, indexes)
        found = markup.read_named_elements().ids
        if selector.id not in found:
            raise _make_not_found(source, selector, "IDs", tuple(found))
        element = found[selector.id]
        return markup.make_part(selector, markup.find_span(element.first, element.last))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        try:
            found = tuple(Markup(source, "id", indexes).read_named_elements().ids)
        except PartNotSupported:
            return ()
        what = "elements by their ID, anchors by their name"
        return (Extent(syntax="ID", what=what, size=len(found), items=found[:_SHOWN]),)


def _find_named_range(markup: Markup, selector: NameRange) -> tuple[int, int]:
    """Return the tags of a part between two names  # ruling: name-range"""
    names = markup.read_named_elements().names
    for name in (selector.first, selector.last):
        if name not in names:
            raise _make_not_found(markup.source, selector, "names", tuple(names))
    first, last = names[selector.first], names[selector.last]
    if first.first > last.first:
        order = f"{selector.last!r} before {selector.first!r}"
        raise _make_out_of_range(
            markup.source, selector, f"{count_things(markup.count, 'tag')}, with {order}"
        )
    return first.first, last.last


def _make_out_of_range(source: Source, selector: Selector, extent: str) -> PartOutOfRange:
    return PartOutOfRange(identifier=source.name, selector=str(selector), extent=extent)


def _make_not_found(
    source: Source, selector: Selector, what: str, known: tuple[str, ...]
) -> PartNotFound:
    return PartNotFound(
        identifier=source.name, selector=str(selector), extent=describe_choice(known, what)
    )


def describe_choice(known: tuple[str, ...], what: str) -> str:
    """Describe the alternatives, as many as fit into a message."""
    some = ", ".join(known[:8]) + (" …" if len(known) > 8 else "")
    return f"a choice of {len(known)} {what}: {some}" if known else f"nothing with {what}"


EXTRACTOR = MarkupExtractor()
IDS = IdExtractor()
