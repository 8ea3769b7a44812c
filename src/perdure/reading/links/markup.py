"""Identifiers in HTML, XML and SGML: in attributes and in the text between tags. Pure.

How it works: the document is searched for identifiers like any text (`written`). Only if there may
be some, its tags are found, and each identifier is read in the attribute or in the character data
around it. The name of the attribute, the element and the kind of document say how it refers:

| where | how |
| --- | --- |
| HTML: `cite`, `href`, `src` (also `poster`, `srcset`), others | the same name; `data` |
| `href` of `xi:include` | `xinclude` |
| JATS: `xlink:href`, and the text of `pub-id`, `object-id`, `ext-link` | `jats` |
| TEI: `target`, `source`, `corresp` and the like, and the text of `idno` | `tei` |
| other XML: `xlink:href`, `href`, `src`, any other attribute | `xlink`, `href`, `src`, `data` |
| text | `text` |

In JATS and TEI, a DOI may stand without its label beside `pub-id-type="doi"` or `type="DOI"`.

What must stay true: no entity is resolved, nothing is fetched, and any bytes at all can be read.
Comments, declarations and scripts refer to nothing.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from perdure.extractors.markup.tag_walk import TagWalk, UsualValue
from perdure.extractors.markup.tags import (
    HTML,
    Attribute,
    Rule,
    read_attributes,
    read_tag,
    read_text_between,
)
from perdure.ids import Identifier
from perdure.reading.links.written import (
    choose_candidates,
    find_places,
    read_bare_doi,
    read_complete,
    read_places,
)

_HEAD = 4096  # bytes in which the kind of a document is recognised
_TYPED_DOI = re.compile(rb"""type\s{0,9}=\s{0,9}["']doi["']""")  # in lower case
_CODE = re.compile(rb"<(?i:script|style)[\t\n\f\r />]")
_IN_HTML = {b"cite": "cite", b"href": "href", b"src": "src", b"poster": "src", b"srcset": "src"}
_IN_XML = {b"href": "href", b"src": "src", b"cite": "cite"}
_OF_TEI = frozenset(b"target source corresp ref sameas copyof facs url decls resp ana".split())
_TEXT_OF_JATS = (b"pub-id", b"object-id", b"ext-link", b"related-object", b"related-article")
_TEXT_OF_TEI = (b"idno", b"ref", b"ptr")


class MarkedIdentifier(NamedTuple):
    """An identifier in markup, how the markup refers to it, and its bytes [start, stop)."""

    how: str
    identifier: Identifier
    start: int
    stop: int


def find_marked(data: bytes, rule: Rule, bases: tuple[str, ...] = ()) -> list[MarkedIdentifier]:
    """Return the identifiers in markup in UTF-8, in order."""
    places = find_places(data)
    candidates = choose_candidates(data, places, bases)
    reading = _MarkupReading(data, rule, places, bases)
    typed = reading.find_typed()
    if not candidates and not typed:
        return []
    identified: list[MarkedIdentifier] = []
    done = 0
    for place in sorted(typed.union(candidates)) if typed else candidates:
        if place < done:
            continue
        usual = None if place in typed else reading.tag.enter_value(place)
        if usual is not None:
            done = place + len(usual.text)
            identified += reading.read_value(usual, place, done)
            continue
        if not reading.tag.move_to(place):
            done = reading.tag.find_next_start()
            identified += reading.read_text(done)
            continue
        attribute = reading.find_attribute(place)
        done = place + 1 if attribute is None else attribute.stop
        if place in typed:
            identified += reading.read_typed()
        elif attribute is not None:
            identified += reading.read_attribute(attribute)
    return identified


class _MarkupReading:
    """A document of which a tag is read."""

    def __init__(self, data: bytes, rule: Rule, places: list[int], bases: tuple[str, ...]) -> None:
        self._data = data
        self._rule = rule
        self._places = places
        self._bases = bases
        self.tag = TagWalk(data, rule)
        head = b"" if rule is HTML else data[:_HEAD].lower()
        self._is_tei = b"tei-c.org/ns" in head or b"<tei" in head
        self._is_jats = not self._is_tei and (b"<article" in head or b"jats" in head)

    def find_typed(self) -> set[int]:
        """Return the places at which an attribute says that a DOI has no label."""
        if not (self._is_jats or self._is_tei):
            return set()
        return {one.start() for one in _TYPED_DOI.finditer(self._data.lower())}

    def find_attribute(self, place: int) -> Attribute | None:
        """Return the attribute of the tag at a place."""
        for one in read_attributes(self._data, self.tag.start, self.tag.stop):
            if one.stop > place:
                return one if one.start <= place else None
        return None

    def read_value(self, usual: UsualValue, start: int, stop: int) -> Iterable[MarkedIdentifier]:
        """Return the identifiers in a value, of which the first is at its start."""
        how = _IN_HTML.get(usual.attribute) if self._rule is HTML else None
        if how is None:
            name = usual.attribute.lower()
            if name.startswith(b"xmlns"):
                return ()
            how = self._describe_attribute(name, usual.element)
        identifier = read_complete(usual.text, self._bases)
        if identifier is None:
            return self._read_slice(how, start, stop)
        return (MarkedIdentifier(how, identifier, start, stop),)

    def read_attribute(self, attribute: Attribute) -> Iterable[MarkedIdentifier]:
        """Return the identifiers in the value of an attribute."""
        name = bytes(attribute.name).lower()
        if name.startswith(b"xmlns"):
            return ()
        element = b"" if self._rule is HTML else self._read_name()
        how = self._describe_attribute(name, element)
        return self._read_slice(how, attribute.value.start, attribute.value.stop)

    def read_text(self, stop: int) -> Iterable[MarkedIdentifier]:
        """Return the identifiers in the text after the tag, up to the next one."""
        start = self.tag.stop
        if self._rule is HTML and _CODE.match(self._data, self.tag.start, start):
            return ()
        how = self._describe_text()
        if self._data.find(b"<", start, stop) < 0:  # nearly always
            return self._read_slice(how, start, stop)
        return self._read_divided(how, start, stop)

    def _read_divided(self, how: str, start: int, stop: int) -> Iterator[MarkedIdentifier]:
        """Yield the identifiers in a text between two tags that has comments and the like."""
        for one in read_text_between(self._data, start, stop, self._rule):
            yield from self._read_slice(how, one.start, one.stop, is_escaped=not one.verbatim)

    def read_typed(self) -> Iterator[MarkedIdentifier]:
        """Yield the DOI without a label in an attribute of the tag, or in the text after it."""
        slices = [
            one.value
            for one in read_attributes(self._data, self.tag.start, self.tag.stop)
            if bytes(one.name).lower().rpartition(b":")[2] in (b"href", b"target", b"source")
        ]
        slices.append(slice(self.tag.stop, self.tag.find_next_start()))
        for one in slices:
            written = html.unescape(self._data[one].decode("utf-8", "replace"))
            doi = read_bare_doi(written)
            if doi is not None:
                how = "jats" if self._is_jats else "tei"
                yield MarkedIdentifier(how, doi, one.start, one.stop)
                return

    def _read_slice(
        self, how: str, start: int, stop: int, *, is_escaped: bool = True
    ) -> list[MarkedIdentifier]:
        return [
            MarkedIdentifier(how, *found)
            for found in read_places(
                self._data, self._places, start, stop, self._bases, is_escaped=is_escaped
            )
        ]

    def _read_name(self) -> bytes:
        """Return the name of the tag in lower case; empty before the first tag."""
        if not self.tag.stop:
            return b""
        return bytes(read_tag(self._data, self.tag.start, self.tag.stop).name).lower()

    def _is_closing(self) -> bool:
        return self.tag.stop > 0 and self._data[self.tag.start + 1] == 0x2F

    def _describe_text(self) -> str:
        """Return how the text after the tag refers to what it names."""
        if not (self._is_jats or self._is_tei) or self._is_closing():
            return "text"
        local = self._read_name().rpartition(b":")[2]
        if self._is_jats:
            return "jats" if local in _TEXT_OF_JATS else "text"
        return "tei" if local in _TEXT_OF_TEI else "text"

    def _describe_attribute(self, attribute: bytes, element: bytes) -> str:
        """Return how an attribute, in lower case, of an element refers to what it names."""
        if self._rule is HTML:
            return _IN_HTML.get(attribute, "data")
        local = element.lower().rpartition(b":")[2]
        if local == b"include" and attribute == b"href":
            return "xinclude"
        if self._is_tei and attribute in _OF_TEI:
            return "tei"
        if attribute == b"xlink:href":
            return "jats" if self._is_jats else "xlink"
        return _IN_XML.get(attribute, "data")
