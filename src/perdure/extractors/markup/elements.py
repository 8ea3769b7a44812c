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

from perdure.extractors.markup.tags import HTML, Rule, Tag, Tags, View, read_attributes, read_tag

_DEEPEST = 512
_LONGEST = 4096  # units of a name; longer identifiers are ignored too
_MENTIONED = re.compile(rb"(?i:name|id)[\t\n\f\r ]*+=")

Text = Callable[[slice], str]


class Element(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The numbers of an element's first and last tag, which are equal if it has no end tag."""

    first: int
    last: int


class NamedElements(msgspec.Struct, frozen=True, array_like=True):
    """The first element of each name, and of each ID, in the order of the document."""

    names: dict[str, Element]
    """Elements by the attribute `name`."""
    ids: dict[str, Element]
    """Elements by the attribute `id`; in HTML also by the `name` of an `a`."""


def find_named_elements(view: View, tags: Tags, rule: Rule, text: Text) -> NamedElements:
    """Return the named elements of a document; `text` decodes a slice of the view."""
    names: dict[str, int] = {}
    ids: dict[str, int] = {}
    weak: dict[str, int] = {}  # an ID takes precedence over the name of an anchor
    for number, (start, stop) in enumerate(zip(tags.starts, tags.stops, strict=True)):
        if not _MENTIONED.search(view, start, stop) or view[start + 1] == 0x2F:
            continue
        tag = read_tag(view, start, stop)
        for key, value in _read_names(view, start, stop, rule, text).items():
            if key == "id":
                ids.setdefault(value, number)
                continue
            names.setdefault(value, number)
            if rule.folds and tag.name.lower() == b"a":
                weak.setdefault(value, number)
    ids = weak | ids
    ends = _find_ends(view, tags, rule, {*names.values(), *ids.values()})
    return NamedElements(
        {name: Element(number, ends[number]) for name, number in names.items()},
        {name: Element(number, ends[number]) for name, number in _sort_numbers(ids)},
    )


def _sort_numbers(numbers: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(numbers.items(), key=lambda item: item[1])


def _read_names(view: View, start: int, stop: int, rule: Rule, text: Text) -> dict[str, str]:
    """Return the attributes `name` and `id` of a tag, decoded; the first of each counts."""
    found: dict[str, str] = {}
    for attribute in read_attributes(view, start, stop):
        key = attribute.name.lower() if rule.folds else attribute.name
        if key in (b"name", b"id") and _measure_slice(attribute.value) <= _LONGEST:
            found.setdefault(key.decode(), decode_value(text(attribute.value), rule))
    return found


def _measure_slice(part: slice) -> int:
    length: int = part.stop - part.start
    return length


# values
# ------

_REFERENCE = re.compile(r"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|[A-Za-z][A-Za-z0-9]*+;?)(=?)")


def decode_value(written: str, rule: Rule) -> str:
    """Return an attribute value with its character references replaced.

    In HTML, a reference without a semicolon is text if `=`, a letter or a digit follows (13.2.5.73
    of the standard): `?a=1&copy=2` is not about copyright.
    """
    text = written.replace("\r\n", "\n").replace("\r", "\n")
    if rule is not HTML:
        text = text.replace("\n", " ").replace("\t", " ")  # XML 1.0, 3.3.3
    return _REFERENCE.sub(_replace_reference, text) if "&" in text else text


def _replace_reference(found: re.Match[str]) -> str:
    reference = found[0].removesuffix("=")
    if reference[1] == "#":
        return html.unescape(reference) + found[1]
    text = entities.html5.get(reference[1:])
    return found[0] if text is None or (found[1] and reference[-1] != ";") else text + found[1]


# end tags
# --------


def _find_ends(view: View, tags: Tags, rule: Rule, wanted: set[int]) -> dict[int, int]:
    """Return the end tag of each wanted start tag, or the start tag itself if it has none."""
    ends = {number: number for number in wanted}
    last = max(wanted, default=-1)
    opened = _Open() if rule is HTML else _Nested(folds=rule.folds)
    missing = len(wanted)
    for number, (start, stop) in enumerate(zip(tags.starts, tags.stops, strict=True)):
        tag = read_tag(view, start, stop)
        if not tag.closing:
            opened.start_element(number, tag)
            continue
        begun = opened.end_element(tag)
        if begun in ends:
            ends[begun] = number
            missing -= 1
        if not missing and number > last:
            break
    return ends


def measure_depths(view: View, tags: Tags) -> Iterator[int]:
    """Yield the depth of open HTML elements after each start tag: the number of formatting elements
    or of all others, whichever is greater.
    """
    opened = _Open()
    for number, (start, stop) in enumerate(zip(tags.starts, tags.stops, strict=True)):
        tag = read_tag(view, start, stop)
        if tag.closing:
            opened.end_element(tag)
        else:
            opened.start_element(number, tag)
            yield opened.depth


def match_end_tags(
    view: View, tags: Tags, rule: Rule, first: int, stop: int
) -> Iterator[tuple[int, int | None, bytes]]:
    """Yield the end tags among [first, stop): the number, the number of its start tag in that
    range, if any, and the name in lower case.
    """
    opened = _Open() if rule is HTML else _Nested(folds=rule.folds)
    for number in range(first, stop):
        tag = read_tag(view, tags.starts[number], tags.stops[number])
        if tag.closing:
            yield number, opened.end_element(tag), tag.name.lower()
        else:
            opened.start_element(number, tag)


class _Nested:
    """Elements within one another, as in XML. An element without an end tag is closed with its
    parent.
    """

    def __init__(self, *, folds: bool) -> None:
        self._folds = folds
        self._stack: list[tuple[bytes, int]] = []
        self._names: Counter[bytes] = Counter()

    def start_element(self, number: int, tag: Tag) -> None:
        if not tag.empty:
            name = tag.name.lower() if self._folds else tag.name
            self._stack.append((name, number))
            self._names[name] += 1

    def end_element(self, tag: Tag) -> int | None:
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


def _split_names(names: str) -> frozenset[bytes]:
    return frozenset(names.encode().split())


VOID = _split_names(
    "area base basefont bgsound br col embed frame hr image img input isindex keygen link meta "
    "nextid param source spacer track wbr"
)
_FORMATTING = _split_names("a b big code em font i nobr s small strike strong tt u")
_MARKING = _split_names("applet caption marquee object td template th")
_FOREIGN = _split_names("annotation-xml desc foreignobject mi mn mo ms mtext")  # of MathML and SVG
_SCOPE = _FOREIGN | _split_names("applet caption html marquee object table td template th")
_TABLE = _split_names("html table template")
_HEADING = _split_names("h1 h2 h3 h4 h5 h6")
_BLOCK = _HEADING | _split_names(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure "
    "footer form header hgroup hr listing main menu nav ol p plaintext pre search section summary "
    "ul xmp li dd dt"
)
_SPECIAL = (
    _BLOCK
    | _SCOPE
    | _split_names(
        "body button colgroup frameset head iframe noembed noframes noscript script select"
    )
    | _split_names("style tbody textarea tfoot thead title tr")
)
_CLOSES = {  # by start tag: the elements that it closes, and those that stop the search
    b"li": (_split_names("li"), _SPECIAL - _split_names("address div p li dd dt")),
    b"option": (_split_names("option"), _split_names("select datalist optgroup") | _SCOPE),
    b"optgroup": (_split_names("option optgroup"), _split_names("select") | _SCOPE),
    b"tr": (_split_names("caption colgroup td th tr"), _TABLE),
    b"button": (_split_names("button"), _SCOPE),
    b"select": (_split_names("select"), _SCOPE),
}
_CLOSES |= dict.fromkeys(
    _split_names("dd dt"),
    (_split_names("dd dt"), _SPECIAL - _split_names("address div p dd dt li")),
)
_CLOSES |= dict.fromkeys(_split_names("td th"), (_split_names("caption colgroup td th"), _TABLE))
_CLOSES |= dict.fromkeys(
    _split_names("tbody thead tfoot caption colgroup"),
    (_split_names("caption colgroup tbody td tfoot th thead tr"), _TABLE),
)
_STOPS = {  # by end tag: the elements that it does not reach beyond
    b"li": _SCOPE | _split_names("ol ul"),
    b"p": _SCOPE | _split_names("button"),
} | dict.fromkeys(_split_names("caption table tbody td tfoot th thead tr"), _TABLE)
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

    def start_element(self, number: int, tag: Tag) -> None:
        name = tag.name.lower()
        foreign = self._names[b"svg"] or self._names[b"math"] or name in (b"svg", b"math")
        if name in VOID or (tag.empty and foreign):
            return
        if name in _BLOCK:
            self._close_elements(_split_names("p"), _STOPS[b"p"])
        if name in _HEADING and self._stack and self._stack[-1][0] in _HEADING:
            self._cut_stack(1)
        if name in _CLOSES:
            self._close_elements(*_CLOSES[name])
        if name in _FORMATTING:
            if name in (b"a", b"nobr"):
                self._take_formatting(name)
            self._formatting.append((name, number))
            return
        self._stack.append((name, number))
        self._names[name] += 1
        if name in _MARKING:
            self._formatting.append((name, -1))

    def end_element(self, tag: Tag) -> int | None:
        """Return the start tag that this end tag belongs to."""
        name = tag.name.lower()
        if name in _FORMATTING:
            return self._take_formatting(name)
        stops = _STOPS.get(name, _SCOPE if name in _SPECIAL else _SPECIAL)
        return self._close_elements(
            _HEADING if name in _HEADING else frozenset((name,)), stops, name
        )

    def _close_elements(
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
                    self._cut_stack(up)
                    return number if other == name else None
            elif other in stops:
                break
        self._cut_stack(reached)
        return None

    def _cut_stack(self, up: int) -> None:
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
