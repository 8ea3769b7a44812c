"""Elements of XML by their ID and by counting children: `#intro`, `element(/1/2)`.

Specification: XPointer Framework (shorthand pointers), XPointer element() Scheme.

How it works: expat reads the document once, to check that it is well-formed, to find the attributes
that are declared as IDs, and to find the parent of each element. The places of the tags are already
known (`perdure.extractors.markup.tags`). In a document that is well-formed and declares no
entities, tags and expat's events correspond one to one, and this is checked. The index keeps, for
each element, the numbers of its first and last tag and of its parent.

What must stay true: nothing outside the document is ever read. A document that declares entities is
refused, so nothing can expand and no element comes from an entity. A document nested deeper than
1,000 levels is refused too.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from functools import partial
from typing import NamedTuple
from xml.parsers import expat

import msgspec

from perdure.errors import OverBudget, PartNotFound, PartNotSupported, PerdureError, Undecodable
from perdure.errors.damage import EntitiesDeclared, TagUnrecognizable, XmlNotWellFormed
from perdure.errors.limits import NestingTooDeep
from perdure.extractors.markup.tagged import XML_TYPES, Markup, describe_choice
from perdure.extractors.markup.tags import read_attributes
from perdure.extractors.port import Extent, Indexes, Part, Source, Span
from perdure.parts import ChildSequence, ElementById, Selector

DEEPEST = 1000
COMMENT, INSTRUCTION, REFERENCE = range(3)
_ROOT = 0
_NO_PARENT = 0xFFFFFFFF
_SHOWN = 50
_IDS_BY_NAME = {  # languages in which `id` is an ID without a declaration
    "http://www.w3.org/1999/xhtml",
    "http://www.w3.org/2000/svg",
    "http://www.w3.org/1998/Math/MathML",
}
_CODECS = {"utf_16_le": "UTF-16", "utf_16_be": "UTF-16", "utf_8": "UTF-8"}


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """The form of a document's structure in an index."""

    firsts: bytes
    lasts: bytes
    parents: bytes
    marks: bytes
    kinds: bytes
    ids: dict[str, int]


class Nodes(NamedTuple):
    """The structure of a document. Element n begins at tag firsts[n] and ends at tag lasts[n]."""

    firsts: array[int]
    lasts: array[int]
    parents: array[int]
    marks: array[int]
    """The byte at which each comment, instruction and entity reference begins: text ends there."""
    kinds: array[int]
    """The kind of each mark: COMMENT, INSTRUCTION or REFERENCE."""
    ids: dict[str, int]
    """Elements by ID, the first of each."""

    def find_child(self, parent: int, number: int) -> int | None:
        """Return child element `number`, from 1, of an element."""
        child = parent + 1
        while child < len(self.firsts) and self.firsts[child] <= self.lasts[parent]:
            if number == 1:
                return child
            number -= 1
            child = bisect_right(self.firsts, self.lasts[child])
        return None


class XmlDocument:
    """A well-formed document with the places of its elements."""

    def __init__(self, source: Source, selector: Selector | str, indexes: Indexes) -> None:
        self.source = source
        self.markup = Markup(source, selector, indexes)
        self._selector = selector
        kind = f"elements-xml-{self.markup.encoding.codec}-1"
        kept = msgspec.msgpack.decode(indexes.get_index(source, kind, self._pack_nodes), type=_Kept)
        self.nodes = Nodes(
            array("I", kept.firsts),
            array("I", kept.lasts),
            array("I", kept.parents),
            array("Q", kept.marks),
            array("B", kept.kinds),
            kept.ids,
        )

    def _pack_nodes(self, source: Source) -> bytes:
        encoding = self.markup.encoding
        if encoding.width > 2 or encoding.shifts:
            raise PartNotSupported(
                media_type=f"{source.essence}; charset={encoding.codec.replace('_', '-')}",
                selector=str(self._selector),
                offered=("char range", "tag range", "name range", "byte range"),
            )
        nodes = _Reading(self.markup).read_nodes()
        *columns, ids = nodes
        return msgspec.msgpack.encode([*(column.tobytes() for column in columns), ids])

    def find_span(self, element: int) -> Span:
        """Return the bytes from the start tag of an element through its end tag."""
        return self.markup.find_span(self.nodes.firsts[element], self.nodes.lasts[element])

    def make_part(self, selector: Selector, element: int) -> Part:
        context = self.list_lost_namespaces(element)
        facts = {"namespaces": context} if context else {}
        return self.markup.make_part(selector, self.find_span(element), **facts)

    def list_lost_namespaces(self, element: int) -> str:
        """Return the namespaces that a slice loses: the declarations in scope that it does not
        contain.
        """
        found: dict[str, str] = {}
        kept = set(self._read_declarations(element))
        while (element := self.nodes.parents[element]) != _NO_PARENT:
            for name, uri in self._read_declarations(element).items():
                found.setdefault(name, uri)
        return " ".join(f'{name}="{uri}"' for name, uri in found.items() if name not in kept)

    def _read_declarations(self, element: int) -> dict[str, str]:
        first = self.nodes.firsts[element]
        span = self.markup.find_span(first, first)
        tag = self.source.read_bytes(span.start, span.stop).decode(
            self.markup.encoding.codec, "replace"
        )
        written = tag.encode()
        return {
            one.name.decode(): written[one.value].decode()
            for one in read_attributes(written, 0, len(written))
            if one.name == b"xmlns" or one.name.startswith(b"xmlns:")
        }

    def find_by_id(self, selector: Selector, name: str) -> int:
        """Return the element with this ID. Raises PartNotFound if there is none."""
        if name in self.nodes.ids:
            return self.nodes.ids[name]
        raise _make_not_found(self, selector, describe_choice(tuple(self.nodes.ids), "IDs"))


class _Reading:
    """The structure that expat reports while it reads a document."""

    def __init__(self, markup: Markup) -> None:
        self._source, self._encoding = markup.source, markup.encoding
        self._tags, self._view = markup.list_tags(), markup.make_view()
        self._tag = 0
        """The tag that the next event belongs to."""
        self._open: list[int] = []
        self._firsts, self._lasts, self._parents = array("I"), array("I"), array("I")
        self._marks, self._kinds = array("Q"), array("B")
        self._ids: dict[str, int] = {}
        self._declared: set[tuple[str, str]] = set()
        self._in_doctype = False
        self._by_name = False
        """Whether every `id` is an ID."""

    def read_nodes(self) -> Nodes:
        """Read the document. Raises Undecodable and OverBudget."""
        codec = self._encoding.codec
        self._parser = parser = expat.ParserCreate(_CODECS.get(codec, codec.replace("_", "-")))
        parser.ordered_attributes = True
        parser.specified_attributes = True
        parser.StartElementHandler = self._start_element
        parser.EndElementHandler = self._end_element
        parser.StartDoctypeDeclHandler = self._start_doctype
        parser.EndDoctypeDeclHandler = self._end_doctype
        parser.AttlistDeclHandler = self._declare_attribute
        parser.EntityDeclHandler = self._refuse_entity
        parser.CommentHandler = partial(self._add_mark, COMMENT)
        parser.ProcessingInstructionHandler = partial(self._add_mark, INSTRUCTION)
        parser.SkippedEntityHandler = partial(self._add_mark, REFERENCE)
        try:
            parser.Parse(
                self._source.map_bytes(), True
            )  # at once: in pieces, long tokens are quadratic
        except expat.ExpatError as error:
            raise XmlNotWellFormed(
                **self._source.subject,
                line=error.lineno,
                column=error.offset,
                fault=expat.ErrorString(error.code),
            ) from None
        except PerdureError:
            raise
        except ValueError as error:  # an encoding that expat does not have
            raise self._source.quote_decoder("expat", error) from None
        return Nodes(self._firsts, self._lasts, self._parents, self._marks, self._kinds, self._ids)

    def _take_tag(self) -> int:
        """Return the tag that an event belongs to."""
        number = self._tag
        at = self._parser.CurrentByteIndex
        if (
            number == len(self._tags.starts)
            or self._tags.starts[number] * self._encoding.width != at
        ):
            raise TagUnrecognizable(**self._source.subject, at=at)
        self._tag += 1
        return number

    def _start_element(self, name: str, pairs: list[str]) -> None:
        if len(self._open) == DEEPEST:
            raise NestingTooDeep(source=self._source.name, most=DEEPEST)
        number = len(self._firsts)
        if not number:
            self._by_name = not _IDS_BY_NAME.isdisjoint(pairs)
        self._parents.append(self._open[-1] if self._open else _NO_PARENT)
        self._firsts.append(self._take_tag())
        self._lasts.append(self._firsts[-1])
        self._open.append(number)
        for at in range(0, len(pairs), 2):
            key = pairs[at]
            if (
                key == "xml:id"
                or (key == "id" and self._by_name)
                or (self._declared and (name, key) in self._declared)
            ):
                self._ids.setdefault(pairs[at + 1].strip(" "), number)

    def _end_element(self, _: str) -> None:
        number = self._open.pop()
        if self._view[self._tags.stops[self._firsts[number]] - 2] != ord("/"):  # not of <a/>
            self._lasts[number] = self._take_tag()

    def _start_doctype(self, *_: object) -> None:
        self._in_doctype = True

    def _end_doctype(self) -> None:
        self._in_doctype = False

    def _declare_attribute(self, element: str, name: str, kind: str, *_: object) -> None:
        if kind == "ID":
            self._declared.add((element, name))

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise EntitiesDeclared(**self._source.subject, entity=name)

    def _add_mark(self, kind: int, *_: object) -> None:
        if not self._in_doctype:
            self._marks.append(self._parser.CurrentByteIndex)
            self._kinds.append(kind)


class XmlExtractor:
    """Elements of XML as slices of it."""

    media_types = XML_TYPES
    selectors = (ElementById, ChildSequence)
    confined = True
    install = None

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        match selector:
            case ElementById(id=name):
                document = XmlDocument(source, selector, indexes)
                return document.make_part(selector, document.find_by_id(selector, name))
            case ChildSequence():
                document = XmlDocument(source, selector, indexes)
                return document.make_part(selector, _follow_sequence(document, selector))
        raise PartNotSupported(media_type=source.media_type, selector=str(selector))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        try:
            nodes = XmlDocument(source, "element", indexes).nodes
        except (Undecodable, OverBudget, PartNotSupported):
            return ()  # not well-formed or not supported, but its tags can still be counted
        ids = tuple(nodes.ids)
        return (
            Extent(
                syntax=f"element({'/1/1' if len(nodes.firsts) > 1 else '/1'})",
                what="elements, by counting children",
                size=len(nodes.firsts),
            ),
            Extent(syntax="ID", what="elements by ID", size=len(ids), items=ids[:_SHOWN]),
        )


def _follow_sequence(document: XmlDocument, selector: ChildSequence) -> int:
    """Return the element that a child sequence reaches (XPointer element() Scheme, section 3)."""
    steps = selector.steps
    if selector.id is not None:
        element = document.find_by_id(selector, selector.id)
    else:
        element, steps = _ROOT, steps[1:]
        if selector.steps[:1] != (1,):
            raise _make_not_found(document, selector, "one root element, so the first step is 1")
    for number, step in enumerate(steps, 1):
        child = document.nodes.find_child(element, step)
        if child is None:
            children = _count_children(document.nodes, element)
            raise _make_not_found(
                document, selector, f"an element with {children} children at step {number}"
            )
        element = child
    return element


def _count_children(nodes: Nodes, parent: int) -> int:
    start = bisect_left(nodes.firsts, nodes.firsts[parent])
    stop = bisect_right(nodes.firsts, nodes.lasts[parent])
    return sum(nodes.parents[one] == parent for one in range(start, stop))


def _make_not_found(document: XmlDocument, selector: Selector, extent: str) -> PartNotFound:
    return PartNotFound(identifier=document.source.name, selector=str(selector), extent=extent)


EXTRACTOR = XmlExtractor()
