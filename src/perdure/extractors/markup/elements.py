"""Elements from tags alone, without a tree: the end tag of each start tag, and the names of
elements.

How it works: one pass over the tags keeps a list of open elements. In XML, an end tag belongs to
the innermost open element. In HTML, half of the end tags may be left out. An element that a start
tag closes by the rules of the standard (`li` by `li`, `td` by `tr`, `p` by a block, `a` by `a`) has
no end tag, and neither has an element that closes together with its parent. Elements that format
text (`a`, `b`, `font` …) stay open beside the others, as in the standard's list of active
formatting elements: `<b><p>x</b>` is matched.

What must stay true: every end tag that is returned exists in the source  # ruling: name-range. A
tag costs a bounded number of steps: the search goes at most 512 elements up, the depth at which
browsers stop nesting.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator
from html import entities

import msgspec

from perdure.extractors.markup.tags import HTML, Rule, Tag, Tags, View, attributes, read

_DEEPEST = 512
_LONGEST = 4096  # units of a name; longer identifiers are ignored too
_MENTIONED = re.compile(rb"(?i:name|id)[\t\n\f\r ]*+=")

Text = Callable[[slice], str]


class Element(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The numbers of an element's first and last tag, which are equal if it has no end tag."""

    first: int
    last: int


class Called(msgspec.Struct, frozen=True, array_like=True):
    """The first element of each name, and of each ID, in the order of the document."""

    names: dict[str, Element]
    """Elements by the attribute `name`."""
    ids: dict[str, Element]
    """Elements by the attribute `id`; in HTML also by the `name` of an `a`."""


def called(view: View, tags: Tags, rule: Rule, text: Text) -> Called:
    """Return the named elements of a document; `text` decodes a slice of the view."""
    names: dict[str, int] = {}
    ids: dict[str, int] = {}
    weak: dict[str, int] = {}  # an ID takes precedence over the name of an anchor
    for number, (start, stop) in enumerate(zip(tags.starts, tags.stops, strict=True)):
        if not _MENTIONED.search(view, start, stop) or view[start + 1] == 0x2F:
            continue
        tag = read(view, start, stop)
        for key, value in _naming(view, start, stop, rule, text).items():
            if key == "id":
                ids.setdefault(value, number)
                continue
            names.setdefault(value, number)
            if rule.folds and tag.name.lower() == b"a":
                weak.setdefault(value, number)
    ids = weak | ids
    ends = _ends(view, tags, rule, {*names.values(), *ids.values()})
    return Called(
        {name: Element(number, ends[number]) for name, number in names.items()},
        {name: Element(number, ends[number]) for name, number in _in_order(ids)},
    )


def _in_order(numbers: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(numbers.items(), key=lambda item: item[1])


def _naming(view: View, start: int, stop: int, rule: Rule, text: Text) -> dict[str, str]:
    """Return the attributes `name` and `id` of a tag, decoded; the first of each counts."""
    found: dict[str, str] = {}
    for attribute in attributes(view, start, stop):
        key = attribute.name.lower() if rule.folds else attribute.name
        if key in (b"name", b"id") and _length(attribute.value) <= _LONGEST:
            found.setdefault(key.decode(), decoded(text(attribute.value), rule))
    return found


def _length(part: slice) -> int:
    length: int = part.stop - part.start
    return length


# values
# ------

_REFERENCE = re.compile(r"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|[A-Za-z][A-Za-z0-9]*+;?)(=?)")


def decoded(written: str, rule: Rule) -> str:
    """Return an attribute value with its character references replaced.

    In HTML, a reference without a semicolon is text if `=`, a letter or a digit follows (13.2.5.73
    of the standard): `?a=1&copy=2` is not about copyright.
    """
    text = written.replace("\r\n", "\n").replace("\r", "\n")
    if rule is not HTML:
        text = text.replace("\n", " ").replace("\t", " ")  # XML 1.0, 3.3.3
    return _REFERENCE.sub(_replaced, text) if "&" in text else text


def _replaced(found: re.Match[str]) -> str:
    reference = found[0].removesuffix("=")
    if reference[1] == "#":
        return html.unescape(reference) + found[1]
    text = entities.html5.get(reference[1:])
    return found[0] if text is None or (found[1] and reference[-1] != ";") else text + found[1]


# end tags
# --------


def _ends(view: View, tags: Tags, rule: Rule, wanted: set[int]) -> dict[int, int]:
    """Return the end tag of each wanted start tag, or the start tag itself if it has none."""
    ends = {number: number for number in wanted}
    last = max(wanted, default=-1)
    opened = _Open() if rule is HTML else _Nested(folds=rule.folds)
    missing = len(wanted)
    for number, (start, stop) in enumerate(zip(tags.starts, tags.stops, strict=True)):
        tag = read(view, start, stop)
        if not tag.closing:
            opened.start(number, tag)
            continue
        begun = opened.end(tag)
        if begun in ends:
            ends[begun] = number
            missing -= 1
        if not missing and number > last:
            break
    return ends


def depths(view: View, tags: Tags) -> Iterator[int]:
    """Yield the depth of open HTML elements after each start tag: the number of formatting elements
    or of all others, whichever is greater.
    """
    opened = _Open()
    for number, (start, stop) in enumerate(zip(tags.starts, tags.stops, strict=True)):
        tag = read(view, start, stop)
        if tag.closing:
            opened.end(tag)
        else:
            opened.start(number, tag)
            yield opened.depth


def closings(
    view: View, tags: Tags, rule: Rule, first: int, stop: int
) -> Iterator[tuple[int, int | None, bytes]]:
    """Yield the end tags among [first, stop): the number, the number of its start tag in that
    range, if any, and the name in lower case.
    """
    opened = _Open() if rule is HTML else _Nested(folds=rule.folds)
    for number in range(first, stop):
        tag = read(view, tags.starts[number], tags.stops[number])
        if tag.closing:
            yield number, opened.end(tag), tag.name.lower()
        else:
            opened.start(number, tag)


class _Nested:
    """Elements within one another, as in XML. An element without an end tag is closed with its
    parent.
    """

    def __init__(self, *, folds: bool) -> None:
        self._folds = folds
        self._stack: list[tuple[bytes, int]] = []
        self._names: Counter[bytes] = Counter()

    def start(self, number: int, tag: Tag) -> None:
        if not tag.empty:
            name = tag.name.lower() if self._folds else tag.name
            self._stack.append((name, number))
            self._names[name] += 1

    def end(self, tag: Tag) -> int | None:
        """Return the start tag that this end tag belongs to."""
        name = tag.name.lower() if self._folds else tag.name
        if not self._names[name]:
            return None
        for up, (other, number) in enumerate(reversed(self._stack[-_DEEPEST:]), 1):
            if other == name:
                for closed, _ in self._stack[-up:]:
                    self._names[closed] -= 1
                del self._stack[-up:]
                return number
        return None


def _set(names: str) -> frozenset[bytes]:
    return frozenset(names.encode().split())


VOID = _set(
    "area base basefont bgsound br col embed frame hr image img input isindex keygen link meta "
    "nextid param source spacer track wbr"
)
_FORMATTING = _set("a b big code em font i nobr s small strike strong tt u")
_MARKING = _set("applet caption marquee object td template th")
_FOREIGN = _set("annotation-xml desc foreignobject mi mn mo ms mtext")  # of MathML and SVG
_SCOPE = _FOREIGN | _set("applet caption html marquee object table td template th")
_TABLE = _set("html table template")
_HEADING = _set("h1 h2 h3 h4 h5 h6")
_BLOCK = _HEADING | _set(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure "
    "footer form header hgroup hr listing main menu nav ol p plaintext pre search section summary "
    "ul xmp li dd dt"
)
_SPECIAL = (
    _BLOCK
    | _SCOPE
    | _set("body button colgroup frameset head iframe noembed noframes noscript script select")
    | _set("style tbody textarea tfoot thead title tr")
)
_CLOSES = {  # by start tag: the elements that it closes, and those that stop the search
    b"li": (_set("li"), _SPECIAL - _set("address div p li dd dt")),
    b"option": (_set("option"), _set("select datalist optgroup") | _SCOPE),
    b"optgroup": (_set("option optgroup"), _set("select") | _SCOPE),
    b"tr": (_set("caption colgroup td th tr"), _TABLE),
    b"button": (_set("button"), _SCOPE),
    b"select": (_set("select"), _SCOPE),
}
_CLOSES |= dict.fromkeys(_set("dd dt"), (_set("dd dt"), _SPECIAL - _set("address div p dd dt li")))
_CLOSES |= dict.fromkeys(_set("td th"), (_set("caption colgroup td th"), _TABLE))
_CLOSES |= dict.fromkeys(
    _set("tbody thead tfoot caption colgroup"),
    (_set("caption colgroup tbody td tfoot th thead tr"), _TABLE),
)
_STOPS = {  # by end tag: the elements that it does not reach beyond
    b"li": _SCOPE | _set("ol ul"),
    b"p": _SCOPE | _set("button"),
} | dict.fromkeys(_set("caption table tbody td tfoot th thead tr"), _TABLE)
_STOPS |= dict.fromkeys(_FOREIGN, _SPECIAL)


class _Open:
    """The open elements of an HTML document."""

    def __init__(self) -> None:
        self._stack: list[tuple[bytes, int]] = []
        self._formatting: list[tuple[bytes, int]] = []
        """Open formatting elements; a number of -1 starts those within a cell or the like."""
        self._names: Counter[bytes] = Counter()

    @property
    def depth(self) -> int:
        """The number of open formatting elements or of all others, whichever is greater."""
        return max(len(self._stack), len(self._formatting))

    def start(self, number: int, tag: Tag) -> None:
        name = tag.name.lower()
        foreign = self._names[b"svg"] or self._names[b"math"] or name in (b"svg", b"math")
        if name in VOID or (tag.empty and foreign):
            return
        if name in _BLOCK:
            self._close(_set("p"), _STOPS[b"p"])
        if name in _HEADING and self._stack and self._stack[-1][0] in _HEADING:
            self._cut(1)
        if name in _CLOSES:
            self._close(*_CLOSES[name])
        if name in _FORMATTING:
            if name in (b"a", b"nobr"):
                self._take_formatting(name)
            self._formatting.append((name, number))
            return
        self._stack.append((name, number))
        self._names[name] += 1
        if name in _MARKING:
            self._formatting.append((name, -1))

    def end(self, tag: Tag) -> int | None:
        """Return the start tag that this end tag belongs to."""
        name = tag.name.lower()
        if name in _FORMATTING:
            return self._take_formatting(name)
        stops = _STOPS.get(name, _SCOPE if name in _SPECIAL else _SPECIAL)
        return self._close(_HEADING if name in _HEADING else frozenset((name,)), stops, name)

    def _close(
        self, names: frozenset[bytes], stops: frozenset[bytes], name: bytes | None = None
    ) -> int | None:
        """Close up to the outermost of `names` that comes before any of `stops`. For an end tag,
        `name`, close up to the innermost.
        """
        if not any(self._names[one] for one in names):
            return None
        reached = 0
        for up, (other, number) in enumerate(reversed(self._stack[-_DEEPEST:]), 1):
            if other in names:
                reached = up
                if name is not None:
                    self._cut(up)
                    return number if other == name else None
            elif other in stops:
                break
        self._cut(reached)
        return None

    def _cut(self, up: int) -> None:
        for _ in range(up):
            name, _ = self._stack.pop()
            self._names[name] -= 1
            if name in _MARKING:
                while self._formatting and self._formatting.pop()[1] != -1:
                    pass

    def _take_formatting(self, name: bytes) -> int | None:
        """Close the innermost formatting element of this name within the same cell."""
        for back in range(1, min(len(self._formatting), _DEEPEST) + 1):
            other, number = self._formatting[-back]
            if number == -1:
                return None
            if other == name:
                del self._formatting[-back]
                return number
        return None
