"""HTML for the page that shows a document: its tree without anything active, with the place of each
text and of each element in the source.

How it works: lexbor builds the tree that browsers build (`perdure.extractors.markup.html_tree`).
Before that, each start tag gets its number, and each stretch of text a marker that is itself text,
so it goes wherever the tree builder moves the text. The marker is in front of the first character
that is not white space, because text moves out of a table where white space would stay. The tree
is written as XML, so that a browser builds exactly this tree again. A processing instruction
`<?t 1203?>` says that the next text begins at character 1203 of the text content
(`perdure.extractors.markup.text_content`); `<?t?>` that nothing is known of the text from there on.

The tags of this module's lists remain, with attributes that have no address in them. Pictures and
whatever else would load something are empty boxes, controls of forms are plain text, and scripts,
styles and metadata are left out.

What must stay true: the code runs confined. Nothing in the result loads, runs, links or submits
anything. A text has a place only if the text content reads the same there. An element has a number
only if it is written in one piece: clones, implied elements and those that a table has torn apart
have none.
"""

from __future__ import annotations

import importlib.util
import re
from bisect import bisect_right
from collections.abc import Iterator
from html import escape
from typing import Any

import msgspec

from perdure.errors import PartNotFound, PartNotSupported
from perdure.extractors.markup.html_tree import HtmlTree, build_tree, choose_mark, walk_tree
from perdure.extractors.markup.tagged import Markup
from perdure.extractors.markup.text_content import TextContent, read_text_content
from perdure.extractors.port import Extent, Indexes, Part, Source, Span
from perdure.parts import Selector, View

_NO_TAG = -1
_BLANK = " \t\n\f\r\0"  # a tree builder ignores NUL, or treats it as white space
_STRETCH = re.compile(rf"[^{_BLANK}][^\0]*+")
_PICTURES = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)} | {
    0x7F: 0x2421,
    0xFFFE: 0xFFFD,
    0xFFFF: 0xFFFD,
}
"""Characters that XML does not have, or reads as others, each shown by one."""


def _split_names(names: str) -> frozenset[str]:
    return frozenset(names.split())


_SHOWN = _split_names(
    "a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col "
    "colgroup dd del details dfn dir div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 "
    "header hgroup hr i ins kbd li main mark menu nav nobr ol p pre q rp rt ruby s samp section "
    "small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr"
)
_BLOCKS = {"body": "div", "form": "div", "fieldset": "div", "dialog": "div", "legend": "div",
           "listing": "pre", "plaintext": "pre", "xmp": "pre", "html": "div", "search": "div",
           "optgroup": "div", "option": "div", "noscript": "div", "marquee": "div"}  # fmt: skip
"""Elements that are shown as others. All that are in no list are shown as a `span`."""
_BOXES = _split_names(
    "applet audio canvas embed frame iframe img image input meter object progress svg video"
)
"""Elements that are shown as an empty box, without their content."""
_DROPPED = _split_names(
    "area base basefont bgsound datalist head link map meta noembed noframes param script "
    "source style template title track"
)
_VERBATIM = _split_names("xmp plaintext iframe noembed noframes")
"""Elements whose tags are text to a tree builder, but tags to the parts of a PDI
(ruling: elt-range)."""
_OUTERMOST = ("html", "body")
"""Elements that a click beside all others would choose."""
_VOID = _split_names("br col hr wbr")
_WORDS = re.compile(r"[\w .,%+#-]{1,64}", re.ASCII)
_TEXTS = ("title", "abbr", "lang", "dir")
_OF_CELLS = ("colspan", "rowspan", "width", "height", "align", "valign", "bgcolor")
_ATTRIBUTES = {
    "bdo": (), "br": ("clear",), "caption": ("align",),
    "col": ("span", "width", "align", "valign"), "colgroup": ("span", "width", "align", "valign"),
    "font": ("color", "size", "face"), "hr": ("width", "size", "align", "noshade", "color"),
    "li": ("value", "type"), "ol": ("start", "type", "reversed"), "ul": ("type",),
    "table": ("border", "cellpadding", "cellspacing", "width", "align", "bgcolor", "rules"),
    "td": (*_OF_CELLS, "nowrap"), "th": (*_OF_CELLS, "nowrap", "scope"),
    "tr": ("align", "valign", "bgcolor"), "tbody": ("align", "valign"),
    "thead": ("align", "valign"), "tfoot": ("align", "valign"), "time": ("datetime",),
} | dict.fromkeys(("p", "div", "h1", "h2", "h3", "h4", "h5", "h6"), ("align",))  # fmt: skip
"""Attributes that are kept, beside those in `_TEXTS`. None of them can have an address."""


class LocatedElement(msgspec.Struct, frozen=True):
    """The place of an element in the source."""

    start: int
    stop: int
    """Its bytes."""
    first: int
    last: int | None
    """The numbers of its first and last tag; the last is None if it does not end with a tag."""
    steps: tuple[int, ...]
    """The numbers of the children that lead to it, as in `element(/1/2)`."""


class RenditionExtractor:
    """HTML for its page, and the places of its elements."""

    media_types = ("text/html",)
    selectors = (View,)
    confined = True
    install = "perdure[html]"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        match selector:
            case View(what="rendition"):
                body = _Rendition(Markup(source, selector, indexes), selector).write().encode()
                return Part(selector=selector, media_type="application/xhtml+xml", body=(body,))
            case View(what="element", number=tag):
                found = _locate_element(Markup(source, selector, indexes), selector, tag)
                body = msgspec.json.encode(found)
                return Part(selector=selector, media_type="application/json", body=(body,))
        raise PartNotSupported(media_type=source.media_type, selector=str(selector))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()  # no fragment can name a rendition


def is_installed() -> bool:
    """Return True if the libraries for renditions are installed."""
    return all(importlib.util.find_spec(name) for name in ("lxml", "selectolax"))


# elements
# --------


def _locate_element(markup: Markup, selector: Selector, tag: int) -> LocatedElement:
    """Return the place of the element that begins with a tag.

    Raises PartNotFound if there is none, or if its place cannot be proved.
    """
    tree = HtmlTree(markup, selector)
    element = tree.find_element(tag)
    if element is None:
        raise PartNotFound(
            identifier=markup.source.name, selector=str(selector), extent="no element at that tag"
        )
    span = tree.find_span(element)
    steps = [1 + parent.index(one) for one, parent in _list_ancestry(element)]
    return LocatedElement(
        span.start, span.stop, tag, _find_last_tag(markup, tag, span), (1, *reversed(steps))
    )


def _list_ancestry(element: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the element with its parent, then its parent with that one's, and so on."""
    parent = element.getparent()
    while parent is not None:
        yield element, parent
        element, parent = parent, parent.getparent()


def _find_last_tag(markup: Markup, first: int, span: Span) -> int | None:
    """Return the number of the tag that ends where a span ends, if any."""
    stops = markup.list_tags().stops
    last = bisect_right(stops, span.stop // markup.encoding.width) - 1
    ends = last >= first and markup.find_span(first, last).stop == span.stop
    return last if ends else None


# text
# ----


class _Texts:
    """The text content of a document, with a marker at the beginning of each stretch of text."""

    def __init__(self, markup: Markup) -> None:
        self.content: TextContent = read_text_content(markup)
        view = bytes(markup.make_view()).lower() + self.content.text.lower().encode()
        self.mark = choose_mark(view)
        self.pattern = re.compile(f"~{self.mark}[.]([0-9]+)~")
        self.numbered = re.compile(f' {self.mark}="[0-9]+"')

    def list_markers(self) -> Iterator[tuple[int, str]]:
        """Yield the bytes at which markers are inserted, each with the marker."""
        for place in self._list_beginnings():
            at = self.content.find_span(place, place + 1).start
            yield at, f"~{self.mark}.{place}~"

    def _list_beginnings(self) -> Iterator[int]:
        """Yield the first character, other than white space, of each stretch of text: after a tag
        or a comment, after NUL, and after a reference that is no character.
        """
        content = self.content
        begun = 0
        for run, start in enumerate(content.texts):
            is_empty = run + 1 < len(content.texts) and content.texts[run + 1] == start
            broken = run and content.starts[run] != content.stops[run - 1]
            if broken or is_empty:
                yield from self._list_stretches(begun, start)
                begun = start
        yield from self._list_stretches(begun, len(content.text))

    def _list_stretches(self, start: int, stop: int) -> Iterator[int]:
        for found in _STRETCH.finditer(self.content.text, start, stop):
            yield found.start()

    def divide(self, text: str) -> Iterator[tuple[int | None, str]]:
        """Yield the pieces of a text of the tree, each with its first character in the content, or
        None if it is not known.
        """
        before, *marked = self.pattern.split(text)
        if before:
            yield None, before
        for place, piece in zip(map(int, marked[::2]), marked[1::2], strict=True):
            known = self._measure_common(place, piece)
            if known:
                yield place, piece[:known]
            if known < len(piece):
                yield None, piece[known:]

    def _measure_common(self, place: int, piece: str) -> int:
        """Return how many characters of a piece are those of the content."""
        written = self.content.text[place : place + len(piece)]
        if written == piece:
            return len(piece)
        pairs = enumerate(zip(written, piece, strict=False))
        return next((at for at, (one, other) in pairs if one != other), len(written))


# writing
# -------


class _Node(msgspec.Struct):
    """An element or a text of the tree, with the ranks of its subtree."""

    parent: int
    depth: int
    name: str
    """Empty for a text."""
    content: Any
    tag: int = _NO_TAG
    place: int = -1
    """Its first byte in the source."""
    rank: int = -1
    low: int = -1
    high: int = -1
    count: int = 0
    """Its own rank in the order of the source, the lowest and the highest rank of what is written
    in it, and how much that is."""


class _Rendition:
    """The tree of a document, and how it is written."""

    def __init__(self, markup: Markup, selector: Selector) -> None:
        self._texts = _Texts(markup)
        self._markup = markup
        root = build_tree(markup, selector, self._texts.mark, self._texts.list_markers())
        self._nodes = self._list_nodes(root)
        self._rank_nodes()

    def write(self) -> str:
        """Return the rendition as XML: one element."""
        pieces: list[str] = []
        open_tags: list[tuple[int, str]] = []
        hidden: int | None = None
        for node in self._nodes:
            if hidden is not None and node.depth > hidden:
                continue
            hidden = None
            while open_tags and open_tags[-1][0] >= node.depth:
                pieces.append(open_tags.pop()[1])
            if not node.name:
                pieces += self._write_text(node)
            elif node.name in _DROPPED:
                hidden = node.depth
            elif node.name in _BOXES:
                hidden = node.depth
                pieces.append(self._write_box(node))
            else:
                start, end = self._write_tags(node)
                pieces.append(start)
                open_tags.append((node.depth, end))
        pieces += (end for _, end in reversed(open_tags))
        return "".join(pieces)

    def _list_nodes(self, root: Any) -> list[_Node]:
        nodes: list[_Node] = []
        around: list[int] = []
        seen = set[int]()
        for found, depth in walk_tree(self._markup, root):
            del around[depth:]
            parent = around[-1] if around else -1
            if found.is_text_node:
                nodes.append(_Node(parent, depth, "", found.text_content or ""))
                continue
            attributes = dict(found.attributes)
            tag = int(attributes.pop(self._texts.mark, None) or _NO_TAG)
            around.append(len(nodes))
            nodes.append(_Node(parent, depth, found.tag, attributes))
            if tag != _NO_TAG and tag not in seen:  # a number seen before: a clone
                nodes[-1].tag = tag
                nodes[-1].place = self._markup.find_span(tag, tag).start
            seen.add(tag)
        return nodes

    def _rank_nodes(self) -> None:
        """Count what is written within each element, in the order of the source."""
        content = self._texts.content
        marked = [
            (number, content.find_span(int(place), int(place) + 1).start)
            for number, node in enumerate(self._nodes)
            if not node.name
            for place in self._texts.pattern.findall(node.content)
        ]
        tagged = (node.place for node in self._nodes if node.place >= 0)
        places = sorted([*tagged, *(place for _, place in marked)])
        ranks = {place: rank for rank, place in enumerate(places)}
        for node in self._nodes:
            if node.place >= 0:
                node.rank = node.low = node.high = ranks[node.place]
                node.count = 1
        for number, place in marked:
            _include(self._nodes[number], ranks[place], ranks[place], 1)
        for node in reversed(self._nodes):
            if not node.name and not self._is_proved(node):
                self._nodes[node.parent].count += 1
            if node.parent >= 0 and node.count:
                _include(self._nodes[node.parent], node.low, node.high, node.count)

    def _is_proved(self, node: _Node) -> bool:
        """Return True if the text content has the text of a node."""
        if self._nodes[node.parent].name in _VERBATIM:
            return "<" not in node.content
        pieces = self._texts.divide(node.content)
        return all(place is not None or not text.strip(_BLANK) for place, text in pieces)

    def _is_in_one_piece(self, node: _Node) -> bool:
        """Return True if all between the first and the last of an element belongs to it."""
        is_whole = node.low == node.rank and node.high - node.low + 1 == node.count
        return node.tag != _NO_TAG and is_whole

    def _write_text(self, node: _Node) -> Iterator[str]:
        parent = self._nodes[node.parent].name
        if parent in _VERBATIM:
            text = self._texts.pattern.sub("", self._texts.numbered.sub("", node.content))
            yield escape(text.translate(_PICTURES), quote=False)
            return
        is_known = False
        for place, piece in self._texts.divide(node.content):
            if place is not None:
                yield f"<?t {place}?>"
            elif is_known:
                yield "<?t?>"
            is_known = place is not None
            yield escape(piece.translate(_PICTURES), quote=False)

    def _write_box(self, node: _Node) -> str:
        given = node.content
        kind = "field" if node.name in ("input", "meter", "progress") else "box"
        label = next((given[one] for one in ("alt", "title", "value") if given.get(one)), "")
        name = _write_attribute("title", label or node.name)
        return f'<span class="{kind}"{self._write_number(node)}{name}></span>'

    def _write_tags(self, node: _Node) -> tuple[str, str]:
        name = node.name if node.name in _SHOWN else _BLOCKS.get(node.name, "span")
        given = node.content
        attributes = self._write_number(node)
        attributes += "".join(
            _write_attribute(one, given[one] or "")
            for one in _TEXTS
            if given.get(one) and (one == "title" or one == "abbr" or _WORDS.fullmatch(given[one]))
        )
        attributes += "".join(
            _write_attribute(one, given[one] or one)
            for one in _ATTRIBUTES.get(name, ())
            if one in given and _WORDS.fullmatch(given[one] or one)
        )
        if name == "a" and given.get("href"):
            attributes += ' class="link"'
        elif name == "details":
            attributes += ' open="open"'
        if name in _VOID:
            return f"<{name}{attributes}/>", ""
        return f"<{name}{attributes}>", f"</{name}>"

    def _write_number(self, node: _Node) -> str:
        is_shown = node.name not in _OUTERMOST and self._is_in_one_piece(node)
        return f' data-tag="{node.tag}"' if is_shown else ""


def _include(node: _Node, low: int, high: int, count: int) -> None:
    node.low = min(low, node.low) if node.count else low
    node.high = max(high, node.high) if node.count else high
    node.count += count


def _write_attribute(name: str, value: str) -> str:
    return f' {name}="{escape(value.translate(_PICTURES))}"'


EXTRACTOR = RenditionExtractor()
