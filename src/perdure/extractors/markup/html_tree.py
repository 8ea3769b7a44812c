"""The tree of an HTML document, as browsers build it, with the place of each element in the source.

Specification: the HTML standard, section 13.2.6 (tree construction).

How it works: no tree builder reports the byte positions of elements, and a tree differs from the
source: elements are implied (`tbody`), cloned (a `b` over two paragraphs), moved (out of a table).
So every start tag gets an attribute with its number before lexbor builds the tree, and the builder
itself decides which elements get the numbers. The tree is then copied, without those attributes,
for libxml2, which evaluates XPath.

An element extends from its start tag through its end tag if it has one
(`perdure.extractors.markup.elements`). If not, it ends at the tag that closed it: among the few
possible ends, the one that can be proved.

What must stay true: an element is a slice of the source only if that is proved: the start tags in
the slice are exactly those of the element and its descendants, and its text is the text of the
slice. All other elements of the tree (implied, cloned, torn apart by a table) have no place.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from perdure.errors import PartNotFound
from perdure.errors.limits import MemoryUsedUp, NestingTooDeep, NodesTooMany, TreeTooLong
from perdure.extractors.libraries import import_library
from perdure.extractors.markup.elements import VOID, match_end_tags, measure_depths
from perdure.extractors.markup.tagged import Markup
from perdure.extractors.markup.tags import HTML, View, read_tag
from perdure.extractors.markup.text_content import UNREAD, read_text_content
from perdure.extractors.port import Span
from perdure.parts import Selector

LARGEST = 20 << 20  # bytes of a document
_MOST = 500_000  # elements and texts of a tree
_DEEPEST = 512  # the depth limit of browsers
_NAME_END = re.compile(rb"<[^\t\n\f\r />]++")
_SLASH = 0x2F
_NO_TAG = -1
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FOREIGN = ("svg", "math")
_UNREAD = frozenset(name.decode() for name in UNREAD)


class HtmlTree:
    """A document as a tree of `lxml`, with the places of its elements in the source."""

    def __init__(self, markup: Markup, selector: Selector) -> None:
        """Raises OverBudget, and MissingLibrary if a library is not installed."""
        self._markup, self._selector = markup, selector
        self.etree = import_library("lxml.etree", "html", markup.source, selector)
        mark = choose_mark(bytes(markup.make_view()).lower())
        self._tags: dict[Any, int] = {}
        """The number of its start tag for each element, in the order of the document."""
        self.root = self._copy_tree(build_tree(markup, selector, mark), mark)

    def find_element(self, tag: int) -> Any:
        """Return the element that begins with a tag, or None."""
        return next((one for one, number in self._tags.items() if number == tag), None)

    def find_span(self, element: Any) -> Span:
        """Return the bytes of an element. Raises PartNotFound if they cannot be determined."""
        first = self._tags[element]
        if first == _NO_TAG:
            raise self._make_not_found(f"a {element.tag} element there that has no tag of its own")
        inside = {self._tags[one] for one in element.iterdescendants()} - {_NO_TAG}
        for last, span in self._list_ends(element, first):
            written = {tag for tag in self._tags.values() if first < tag <= last}
            if inside == written and self._reads_alike(element, span):
                return span
        raise self._make_not_found(
            f"a {element.tag} element there that is not written in one piece"
        )

    # possible ends
    # -------------

    def _list_ends(self, element: Any, first: int) -> Iterator[tuple[int, Span]]:
        """Yield the possible ends of an element, its own end tag first: its last tag, and its
        bytes.
        """
        markup = self._markup
        if self._is_empty(element, first):
            yield first, markup.find_span(first, first)
            return
        names = {str(one.tag).encode() for one in element.iterancestors()}
        beyond = self._find_next(element, first)
        around = beyond
        for number, begun, name in match_end_tags(
            markup.make_view(), markup.list_tags(), HTML, first, beyond
        ):
            if begun == first:
                yield number, markup.find_span(first, number)
            elif begun is None and name in names:
                around = min(around, number)
        for stop in sorted({around, beyond}):
            end = (
                markup.find_span(stop, stop).start if stop < markup.count else markup.source.length
            )
            yield stop - 1, Span(markup.find_span(first, first).start, end)

    def _is_empty(self, element: Any, first: int) -> bool:
        """Return whether it can have no end tag."""
        if str(element.tag).encode() in VOID:
            return True
        span = self._markup.find_span(first, first)
        width = self._markup.encoding.width
        tag = read_tag(self._markup.make_view(), span.start // width, span.stop // width)
        return tag.empty and any(one.tag in _FOREIGN for one in (element, *element.iterancestors()))

    def _find_next(self, element: Any, first: int) -> int:
        """Return the next start tag outside an element, or the count of tags at the end."""
        inside = set(element.iter())
        later = (tag for one, tag in self._tags.items() if tag > first and one not in inside)
        return min(later, default=self._markup.count)

    # proof of an end
    # ---------------

    def _reads_alike(self, element: Any, span: Span) -> bool:
        """Return whether the text of an element is that of its bytes, white space aside."""
        content = self._text_content
        written = content.text[
            content.find_character(span.start) : content.find_character(span.stop)
        ]
        read_in_tree = "".join(self._list_texts(element))
        return _NOT_XML.sub("", "".join(written.split())) == "".join(read_in_tree.split())

    def _list_texts(self, element: Any) -> Iterator[str]:
        """Yield the readable text in an element, in order."""
        for event, one in self.etree.iterwalk(element, events=("start", "end")):
            if event == "start":
                yield "" if one.tag in _UNREAD else one.text or ""
            elif one is not element:
                yield one.tail or ""

    @cached_property
    def _text_content(self) -> Any:
        return read_text_content(self._markup)

    def _make_not_found(self, extent: str) -> PartNotFound:
        return PartNotFound(
            identifier=self._markup.source.name, selector=str(self._selector), extent=extent
        )

    # building
    # --------

    def _copy_tree(self, root: Any, mark: str) -> Any:
        """Return the tree for libxml2; characters and names that XML forbids are replaced or left
        out.
        """
        seen = set[int]()
        around: list[_Open] = []
        document = None
        for node, depth in walk_tree(self._markup, root):
            del around[depth:]
            if node.is_text_node:
                around[-1].add_text(_NOT_XML.sub("", node.text_content or ""))
                continue
            attributes = dict(node.attributes)
            tag = int(attributes.pop(mark, None) or _NO_TAG)
            element = self._make_element(node.tag, attributes)
            self._tags[element] = _NO_TAG if tag in seen else tag  # a number seen before: a clone
            seen.add(tag)
            if around:
                around[-1].add_element(element)
            else:
                document = element
            around.append(_Open(element))
        return document

    def _make_element(self, name: str, attributes: dict[str, str | None]) -> Any:
        try:
            element = self.etree.Element(name)
        except ValueError:
            element = self.etree.Element("_")
        for key, value in attributes.items():
            try:
                element.set(key, _NOT_XML.sub("", value or ""))
            except ValueError:  # a name that no expression can match either
                continue
        return element


def choose_mark(plain: bytes) -> str:
    """Return a word that is nowhere in a document in lower case."""
    return next(
        f"tag{number}" for number in range(len(plain) + 1) if b"tag%d" % number not in plain
    )


def build_tree(
    markup: Markup, selector: Selector, mark: str, inserted: Iterable[tuple[int, str]] = ()
) -> Any:
    """Return the root of lexbor's tree, in which each start tag has its number as an attribute.

    Texts that are `inserted` at bytes of the document are ASCII, in order, and not inside of tags.
    Raises OverBudget, and MissingLibrary if lexbor is not installed.
    """
    source = markup.source
    if source.length > LARGEST:
        raise TreeTooLong(source=source.name, most=LARGEST)
    lexbor = import_library("selectolax.lexbor", "html", source, selector)
    for count, depth in enumerate(measure_depths(markup.make_view(), markup.list_tags())):
        _check_bounds(markup, count, depth)  # building takes the square of the depth
    try:
        return lexbor.LexborHTMLParser(_number_tags(markup, mark, inserted)).root
    except lexbor.SelectolaxError:  # the only possible reason: any text is HTML
        raise MemoryUsedUp(source=source.name, part="the tree") from None


def walk_tree(markup: Markup, root: Any) -> Iterator[tuple[Any, int]]:
    """Yield elements and texts in the order of the document, each with its depth.

    Raises OverBudget if the tree is too large or too deep.
    """
    for count, (node, depth) in enumerate(_walk_nodes(root)):
        _check_bounds(markup, count, depth)
        yield node, depth


def _check_bounds(markup: Markup, count: int, depth: int) -> None:
    if count > _MOST:
        raise NodesTooMany(source=markup.source.name, most=_MOST)
    if depth > _DEEPEST:
        raise NestingTooDeep(source=markup.source.name, most=_DEEPEST)


def _number_tags(markup: Markup, mark: str, inserted: Iterable[tuple[int, str]]) -> str:
    """Return the document with the number of each start tag as an attribute, and with the texts
    that are inserted.
    """
    data, view = markup.source.map_bytes(), markup.make_view()
    codec = markup.encoding.codec
    pieces: list[bytes | memoryview] = []
    at = 0
    for place, text in heapq.merge(_list_numbers(markup, view, mark), inserted):
        pieces += (data[at:place], text.encode(codec))
        at = place
    pieces.append(data[at:])
    return b"".join(pieces).decode(codec, "replace").removeprefix("\ufeff")


def _list_numbers(markup: Markup, view: View, mark: str) -> Iterator[tuple[int, str]]:
    """Yield the bytes at which the names of start tags end, each with the attribute to insert."""
    width = markup.encoding.width
    for number, start in enumerate(markup.list_tags().starts):
        if view[start + 1] != _SLASH:
            name = _NAME_END.match(view, start)
            yield (name.end() if name else start) * width, f' {mark}="{number}"'


def _walk_nodes(root: Any) -> Iterator[tuple[Any, int]]:
    node, depth = root, 0
    while node is not None:
        if node.is_element_node or node.is_text_node:
            yield node, depth
        child = node.child if node.is_element_node else None
        if child is not None:
            node, depth = child, depth + 1
            continue
        while node is not None and depth and node.next is None:
            node, depth = node.parent, depth - 1
        node = node.next if depth else None


class _Open:
    """An element that is being copied. It remembers its last child, because libxml2 would count the
    children to find it.
    """

    def __init__(self, element: Any) -> None:
        self._element = element
        self._last: Any = None

    def add_element(self, child: Any) -> None:
        self._element.append(child)
        self._last = child

    def add_text(self, text: str) -> None:
        if self._last is None:
            self._element.text = (self._element.text or "") + text
        else:
            self._last.tail = (self._last.tail or "") + text
