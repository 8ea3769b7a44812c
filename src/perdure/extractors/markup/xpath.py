"""Parts of XML by XPath 1.0, ranges between two, and CSS selectors: `xpointer(//section[2])`.

Specification: XPath 1.0; from the XPointer xpointer() Scheme (W3C working draft) `range-to` and
`string-range` with one location each.

How it works: libxml2 evaluates the expression over its own tree. The structure of the document
(`perdure.extractors.markup.xml`) maps the resulting node to its bytes: an element by its number in
the order of the document, text by the tags around it, an attribute by its name in its start tag.

What must stay true: libxml2 reads a document only after expat has found it well-formed, without
entities and not too deep. It reads nothing else.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Any, NamedTuple

from perdure.errors import PartNotSupported
from perdure.errors.limits import DocumentTooLongForXPath, NestingTooDeep
from perdure.errors.root import count_things
from perdure.extractors.libraries import import_library
from perdure.extractors.markup import css
from perdure.extractors.markup.tagged import XML_TYPES
from perdure.extractors.markup.tags import read_attributes
from perdure.extractors.markup.text_content import TextContent, read_text_content
from perdure.extractors.markup.xml import COMMENT, INSTRUCTION, XmlDocument
from perdure.extractors.markup.xpath_expression import Evaluator, check_expression, make_malformed
from perdure.extractors.port import Extent, Indexes, Part, Source, Span
from perdure.parts import Css, Selector, XPath

LARGEST = 20 << 20  # bytes: libxml2's tree takes twenty times as many
_SECONDS = 2  # of CPU, for an expression
_READ_IN_ONE = 4 << 20  # bytes; a second is enough for two to six times as many
_DEEPEST_OF_LIBXML2 = 256  # levels

_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|[()\[\]]|/\s*range-to\s*\(")
_STRING_RANGE = re.compile(r"\s*string-range\s*\(")
_STRING_ARGUMENTS = re.compile(
    r"""\s*,\s*("[^"]*"|'[^']*')\s*(?:,\s*([0-9]{1,9})\s*(?:,\s*([0-9]{1,9})\s*)?)?"""
    r"""\)\s*(?:\[\s*([0-9]{1,9})\s*\])?\s*\Z"""
)


class XPathExtractor:
    """Nodes of XML as slices of it."""

    media_types = XML_TYPES
    selectors = (Css, XPath)
    confined = True
    install = "perdure[xml]"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        match selector:
            case XPath():
                check_expression(source, selector)
                asked = selector
            case Css():
                asked = XPath(css.translate_to_xpath(source, selector, html=False))
            case _:
                raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        etree = import_library("lxml.etree", "xml", source, selector)
        if source.length > LARGEST:
            raise DocumentTooLongForXPath(source=source.name, most=LARGEST)
        document = XmlDocument(source, selector, indexes)
        evaluation = _Evaluation(etree, document, selector, asked)
        found = evaluation.find_element() if isinstance(selector, Css) else evaluation.find_place()
        context = document.list_lost_namespaces(found.element) if found.element is not None else ""
        facts = {"namespaces": context} if context else {}
        return document.markup.make_part(selector, found.span, **facts)

    def limit_seconds(self, source: Source) -> int:
        return _SECONDS + source.length // _READ_IN_ONE

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()  # the extents of elements and IDs show what XPath can find


def _split_range(expression: str) -> tuple[str, str] | None:
    """Split `a/range-to(b)` into a and b if range-to is the last step."""
    depth = 0
    for token in _TOKEN.finditer(expression):
        if token[0][0] == "/" and depth == 0:
            inner = expression[token.end() :].rstrip()
            if not inner.endswith(")"):
                raise make_malformed(expression, token.start(), "range-to as the last step")
            return expression[: token.start()], inner[:-1]
        depth += token[0][0] in "([/"
        depth -= token[0] in ")]"
    return None


# nodes and their bytes
# ---------------------


class _Found(NamedTuple):
    """A place in the source."""

    span: Span
    element: int | None
    """The element at or around this place, for the namespaces in scope."""


class _Evaluation:
    """The evaluation of an expression over one document."""

    def __init__(self, etree: Any, document: XmlDocument, selector: Selector, asked: XPath) -> None:
        self._etree, self._document, self._asked = etree, document, asked
        self._nodes, self._markup = document.nodes, document.markup
        self._tree = self._parse_tree()
        self._evaluator = Evaluator(etree, document.source, selector, asked.namespaces)

    def _parse_tree(self) -> Any:
        source, etree = self._document.source, self._etree
        parser = etree.XMLParser(
            encoding="utf-8",
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
        )
        try:
            text = source.read_bytes().decode(self._markup.encoding.codec)
            return etree.fromstring(text.encode(), parser).getroottree()
        except (etree.XMLSyntaxError, UnicodeError) as error:
            if getattr(error, "code", None) == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
                raise NestingTooDeep(source=source.name, most=_DEEPEST_OF_LIBXML2) from None
            raise source.quote_decoder("libxml2", error) from None

    def find_element(self) -> _Found:
        """Return the one element that the expression selects. Names have no namespaces: in CSS, `p`
        matches a p of any namespace.
        """
        for element in self._tree.iter("*"):
            element.tag = self._etree.QName(element).localname
        return self._locate_node(self._evaluator.select_one(self._asked.expression, self._tree))

    def find_place(self) -> _Found:
        """Return the one place that the expression selects."""
        expression = self._asked.expression
        if opening := _STRING_RANGE.match(expression):
            return self._find_string_range(expression, opening.end())
        ends = _split_range(expression)
        if ends is None:
            return self._locate_node(self._evaluator.select_one(expression, self._tree))
        first = self._evaluator.select_one(ends[0], self._tree)
        last = self._evaluator.select_one(ends[1], first)
        start, stop = self._locate_node(first), self._locate_node(last)
        if start.span.start >= stop.span.stop:
            raise self._evaluator.make_not_found("a range that ends before it starts")
        return _Found(Span(start.span.start, stop.span.stop), start.element)

    def _locate_node(self, node: Any) -> _Found:
        etree = self._etree
        if isinstance(node, etree._Comment):
            return _Found(self._find_mark_span(node), None)
        if isinstance(node, etree._ProcessingInstruction):
            return _Found(self._find_mark_span(node), None)
        if isinstance(node, etree._Entity):
            raise self._evaluator.make_not_found(
                "an entity reference there, whose content is unknown"
            )
        if etree.iselement(node):
            number = self._number_element(node)
            return _Found(self._document.find_span(number), number)
        if getattr(node, "is_attribute", False):
            return self._locate_attribute(node)
        if getattr(node, "is_text", False) or getattr(node, "is_tail", False):
            return self._locate_text(node)
        raise self._evaluator.make_not_found("a namespace node, which has no place in the source")

    def _number_element(self, node: Any) -> int:
        """Return the number of an element in the order of the document."""
        return int(node.xpath("count(preceding::*) + count(ancestor::*)"))

    def _find_mark(self, node: Any) -> int:
        """Return the byte at which a comment or an instruction begins."""
        comment = isinstance(node, self._etree._Comment)
        test = "comment()" if comment else "processing-instruction()"
        alike = self._tree.xpath(f"/descendant::{test}")  # preceding:: includes those of the DTD
        wanted = COMMENT if comment else INSTRUCTION
        marks = [at for at, kind in enumerate(self._nodes.kinds) if kind == wanted]
        mark = next(at for at, one in zip(marks, alike, strict=True) if one is node)
        return self._nodes.marks[mark]

    def _find_mark_span(self, node: Any) -> Span:
        start = self._find_mark(node)
        width, view = self._markup.encoding.width, bytes(self._markup.make_view())
        close = b"-->" if isinstance(node, self._etree._Comment) else b"?>"
        return Span(start, (view.index(close, start // width + 2) + len(close)) * width)

    def _locate_attribute(self, value: Any) -> _Found:
        parent = value.getparent()
        number = self._number_element(parent)
        tag = self._nodes.firsts[number]
        whole = self._markup.find_span(tag, tag)
        width, view = self._markup.encoding.width, self._markup.make_view()
        for one in read_attributes(view, whole.start // width, whole.stop // width):
            prefix, _, local = self._read_view(one.start, one.start + len(one.name)).rpartition(":")
            uri = _XML if prefix == "xml" else parent.nsmap.get(prefix) if prefix else None
            if value.attrname == (f"{{{uri}}}{local}" if uri else local):
                return _Found(Span(one.start * width, one.stop * width), number)
        raise self._evaluator.make_not_found(
            "an attribute that comes from the document type, not from a tag"
        )

    def _read_view(self, start: int, stop: int) -> str:
        """Return the text at an interval of the view."""
        encoding = self._markup.encoding
        written = self._document.source.read_bytes(start * encoding.width, stop * encoding.width)
        return written.decode(encoding.codec, "replace")

    def _locate_text(self, node: Any) -> _Found:
        """Return the place of a text node: from the tag, comment or instruction before it to the
        next.
        """
        before = node.getparent()
        if node.is_text:
            element = self._number_element(before)
            tag = self._nodes.firsts[element]
            start = self._markup.find_span(tag, tag).stop
        elif isinstance(before, self._etree._Comment | self._etree._ProcessingInstruction):
            element = self._number_element(before.getparent())
            start = self._find_mark_span(before).stop
        elif isinstance(before, self._etree._Entity):
            raise self._evaluator.make_not_found(
                "text after an entity reference, whose place is unknown"
            )
        else:
            number = self._number_element(before)
            element = self._nodes.parents[number]
            start = self._document.find_span(number).stop
        mark = bisect_left(self._nodes.marks, start)
        stops = list(self._nodes.marks[mark : mark + 1])
        return _Found(Span(start, min([self._markup.find_next_tag(start), *stops])), element)

    # string-range
    # ------------

    def _find_string_range(self, expression: str, at: int) -> _Found:
        """Evaluate `string-range(location-set, "string", offset, length)[n]`: the draft's section
        5.4.2.
        """
        end, match = at, None
        for comma in re.finditer(
            ",", expression[at:]
        ):  # the comma after which only arguments follow
            end = at + comma.start()
            if match := _STRING_ARGUMENTS.match(expression, end):
                break
        if match is None:
            raise make_malformed(expression, at, 'string-range(SET, "string", offset, length)[n]')
        wanted, offset, length = match[1][1:-1], int(match[2] or 1), match[3]
        content = read_text_content(self._markup)
        starts = self._find_occurrences(content, self._list_locations(expression[at:end]), wanted)
        if not starts:
            raise self._evaluator.make_not_found(f"no {wanted!r} in the text there")
        chosen = int(match[4]) if match[4] else 1
        if match[4] is None and len(starts) > 1:
            raise self._evaluator.make_not_found(
                f"a set of {count_things(len(starts), 'range')}; the first is {expression}[1]"
            )
        if not 1 <= chosen <= len(starts):
            raise self._evaluator.make_not_found(f"a set of {count_things(len(starts), 'range')}")
        start = starts[chosen - 1] + offset - 1
        stop = start + (len(wanted) - offset + 1 if length is None else int(length))
        if not 0 <= start < stop <= len(content.text):
            raise self._evaluator.make_not_found("a range that is empty or goes beyond the text")
        return _Found(content.find_span(start, stop), None)

    def _list_locations(self, expression: str) -> list[Any]:
        """Return the nodes of a set. The root is replaced by its only element, which has all of its
        text.
        """
        nodes = self._evaluator.evaluate_expression(expression, self._tree)
        if not isinstance(nodes, list):
            raise self._evaluator.make_not_found("a value that is not a set of nodes")
        if self._evaluator.has_root(expression, self._tree):
            nodes.append(self._tree.getroot())
        return nodes

    def _find_occurrences(self, content: TextContent, nodes: list[Any], wanted: str) -> list[int]:
        found: set[int] = set()
        for node in nodes:
            span = self._locate_node(node).span
            start, stop = content.find_character(span.start), content.find_character(span.stop)
            while wanted and (at := content.text.find(wanted, start, stop)) >= 0:
                found.add(at)
                start = at + len(wanted)
        return sorted(found)


_XML = "http://www.w3.org/XML/1998/namespace"

EXTRACTOR = XPathExtractor()
