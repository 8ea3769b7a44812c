"""Selectors of the Web Annotation Data Model: reading and writing, as JSON and as fragments.

Specifications: Web Annotation Data Model section 4.2 (W3C Recommendation, 2017), and Selectors and
States section 5 (W3C Note, 2017), which writes them as fragments: `selector(type=…,…)`.

>>> read_annotation('{"type": "TextPositionSelector", "start": 412, "end": 795}')
TextPosition(start=412, end=795)
>>> read_annotation(
...     "selector(type=CssSelector,value=%23a,refinedBy=selector(type=XPathSelector,value=b))"
... )
Within(outer=Css(selector='#a'), inner=XPath(expression='b', namespaces=()))
>>> write_annotation(_.inner)
{'type': 'XPathSelector', 'value': 'b'}
>>> read_annotation({"type": "SvgSelector", "value": "<svg/>"})  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.parts.PartNotSupported: ... the available kinds of part: CssSelector, ...

How it works: both forms are read into a mapping, and the mapping into a selector. A selector
without a Web Annotation type is written as a FragmentSelector, whose `conformsTo` names the syntax
of its value. When it is read, `conformsTo` chooses the reader.

What must stay true: `read_annotation(write_annotation(x)) == x`, for every selector that a reader
of parts returns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from perdure.errors import MalformedPart, PartNotSupported
from perdure.parts import pdi, xpointer
from perdure.parts.grammar import DIGITS, MOST, PartText, check_text, decode_piece, decode_text
from perdure.parts.installed import load_specifications
from perdure.parts.port import Syntax
from perdure.parts.selectors import (
    PDI,
    Between,
    Css,
    Octets,
    Selector,
    TextPosition,
    TextQuote,
    Within,
    XPath,
)

DEEPEST = 8
_RULE = "Web Annotation Data Model section 4.2"
_GREATEST = 10**DIGITS - 1


class _Fault(Exception):
    """A wrong field of a mapping: its place, and the expected value."""

    def __init__(self, place: str, expected: str) -> None:
        super().__init__(place, expected)
        self.place = place
        self.expected = expected


class _Place(NamedTuple):
    """The place of a selector in the mapping."""

    fragment: Callable[[str], Selector] | None
    """Reads the value of a FragmentSelector that has no `conformsTo`."""
    way: str = ""
    """Path to the selector: `refinedBy.`"""
    depth: int = 1

    def descend_to(self, name: str) -> _Place:
        return _Place(self.fragment, f"{self.way}{name}.", self.depth + 1)

    def make_fault(self, name: str, expected: str) -> _Fault:
        return _Fault(f"{self.way}{name}".rstrip("."), expected)


def read_annotation(
    given: str | Mapping[str, Any], fragment: Callable[[str], Selector] | None = None
) -> Selector:
    """Read the selector that a text or a decoded JSON object describes.

    A text is JSON, which may be percent-encoded, or a fragment that begins with `selector(`. If the
    media type of the document is known, `fragment` reads fragments of that type (section 4.2.1:
    `conformsTo` SHOULD be there, but may be missing). Raises MalformedPart, and PartNotSupported if
    the selector is legal but perdure cannot cut its part.
    """
    text = given if isinstance(given, str) else "selector"
    try:
        whole = _Place(fragment)
        selector = _read_mapping(_parse_text(given) if isinstance(given, str) else given, whole)
        if _count_selectors(selector) > MOST:
            raise _Fault("", f"at most {MOST} selectors")
    except _Fault as fault:
        expected = f"{fault.place}: {fault.expected}" if fault.place else fault.expected
        raise MalformedPart(text=text, at=0, expected=expected, rule=_RULE) from None
    return selector


def _count_selectors(selector: Selector) -> int:
    match selector:
        case Within(one, other) | Between(one, other):
            return _count_selectors(one) + _count_selectors(other)
    return 1


def _parse_text(text: str) -> object:
    check_text(text, _RULE)
    if text.startswith("selector("):
        fields, end = _parse_fields(text, 0, 1)
        if end != len(text):
            raise MalformedPart(text=text, at=end, expected="the end", rule=_STATES_RULE)
        return fields
    plain = text if text.lstrip().startswith("{") else decode_text(text, _RULE).plain
    try:
        return msgspec.json.decode(plain)
    except (msgspec.DecodeError, RecursionError):
        raise _Fault("", "a JSON object, or selector(…)") from None


# from mappings
# -------------


def _read_mapping(given: object, place: _Place) -> Selector:
    if place.depth > DEEPEST:
        raise place.make_fault("", f"selectors nested at most {DEEPEST} deep")
    if not isinstance(given, Mapping):
        raise place.make_fault("", "an object")
    kind = given.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if kind in _NOT_SERVED:
        raise PartNotSupported(selector=f"selector(type={kind})", offered=tuple(_READERS))
    if reader is None:
        raise place.make_fault("type", f"one of {', '.join(_READERS)}")
    outer = reader(given, place)
    if given.get("refinedBy") is None:
        return outer
    return _nest_selector(outer, _read_mapping(given["refinedBy"], place.descend_to("refinedBy")))


def _nest_selector(outer: Selector, inner: Selector) -> Selector:
    if isinstance(outer, Within):  # the value itself names a part of a part
        return Within(outer.outer, _nest_selector(outer.inner, inner))
    return Within(outer, inner)


def _read_string(
    given: Mapping[str, Any], name: str, place: _Place, missing: str | None = None
) -> str:
    value = given.get(name, missing)
    if not isinstance(value, str) or (not value and missing is None):
        raise place.make_fault(name, "a string")
    try:
        check_text(value, _RULE)
    except MalformedPart as error:
        raise place.make_fault(name, error.expected) from None
    return value


def _read_positions(given: Mapping[str, Any], place: _Place) -> tuple[int, int]:
    for name in ("start", "end"):
        value = given.get(name)
        if type(value) is not int or not 0 <= value <= _GREATEST:
            raise place.make_fault(name, "a whole number that is not negative")
    if given["start"] > given["end"]:
        raise place.make_fault("end", "a number that is not before the start")
    return given["start"], given["end"]


def _read_text_position(given: Mapping[str, Any], place: _Place) -> Selector:
    return TextPosition(*_read_positions(given, place))


def _read_octets(given: Mapping[str, Any], place: _Place) -> Selector:
    return Octets(*_read_positions(given, place))


def _read_text_quote(given: Mapping[str, Any], place: _Place) -> Selector:
    exact = _read_string(given, "exact", place)
    return TextQuote(
        exact, _read_string(given, "prefix", place, ""), _read_string(given, "suffix", place, "")
    )


def _read_xpath(given: Mapping[str, Any], place: _Place) -> Selector:
    whole = _read_xml_text(given, place)
    try:
        xpointer.check_xpath(whole, 0, whole.plain)
    except MalformedPart as error:
        raise place.make_fault("value", error.expected) from None
    return XPath(whole.plain)


def _read_css(given: Mapping[str, Any], place: _Place) -> Selector:
    return Css(_read_xml_text(given, place).plain)


def _read_xml_text(given: Mapping[str, Any], place: _Place) -> PartText:
    value = _read_string(given, "value", place)
    whole = PartText(value, value, range(len(value) + 1))
    try:
        xpointer.refuse_noncharacters(whole)
    except MalformedPart as error:
        raise place.make_fault("value", error.expected) from None
    return whole


def _read_fragment(given: Mapping[str, Any], place: _Place) -> Selector:
    value = _read_string(given, "value", place)
    conforms = _find_spelling(_read_string(given, "conformsTo", place, ""))
    reader = find_reader(conforms) if conforms else place.fragment
    if reader is None:
        known = ", ".join((PDI, *load_specifications()))
        raise place.make_fault("conformsTo", f"one of {known}")
    try:
        return reader(value)
    except MalformedPart as error:
        expected = f"at {error.at}, {error.expected} ({error.rule})"
        raise place.make_fault("value", expected) from None


_RFC = re.compile("https?://[a-z.-]+/.*?(rfc[0-9]{1,5})(?:[./#].*)?", re.ASCII)


def _find_spelling(conforms: str) -> str:
    """Return the address of a specification in the spelling that this package uses."""
    if found := _RFC.fullmatch(conforms):
        return f"http://tools.ietf.org/rfc/{found[1]}"
    for scheme in ("http://", "https://"):
        same = scheme + conforms.partition("://")[2].rstrip("/") + "/"
        if find_reader(same) is not None:
            return same
    return conforms


def find_reader(specification: str) -> Callable[[str], Selector] | None:
    """Return the reader for FragmentSelectors that conform to a specification, or None."""
    return pdi.read_pdi_part if specification == PDI else load_specifications().get(specification)


def _read_range(given: Mapping[str, Any], place: _Place) -> Selector:
    start, end = (
        _read_mapping(given.get(name), place.descend_to(name))
        for name in ("startSelector", "endSelector")
    )
    return Between(start, end)


_READERS: dict[str, Callable[[Mapping[str, Any], _Place], Selector]] = {
    "CssSelector": _read_css,
    "DataPositionSelector": _read_octets,
    "FragmentSelector": _read_fragment,
    "RangeSelector": _read_range,
    "TextPositionSelector": _read_text_position,
    "TextQuoteSelector": _read_text_quote,
    "XPathSelector": _read_xpath,
}


_NOT_SERVED = ("SvgSelector",)  # an arbitrary shape cannot be cut


# from fragments
# --------------

_STATES_RULE = "Selectors and States section 5"
_FIELD = re.compile("([A-Za-z]{1,32})=")
_BREAK = re.compile("[(),]")
_POSITION = re.compile(f"[0-9]{{1,{DIGITS}}}", re.ASCII)


def _parse_fields(text: str, at: int, depth: int) -> tuple[dict[str, object], int]:
    """Read the fields of the selector that begins at `at`; return them and the end index."""

    def make_fault(at: int, expected: str) -> MalformedPart:
        return MalformedPart(text=text, at=at, expected=expected, rule=_STATES_RULE)

    if depth > DEEPEST:
        raise make_fault(at, f"selectors nested at most {DEEPEST} deep")
    fields: dict[str, object] = {}
    at += len("selector(")
    while True:
        name = _FIELD.match(text, at)
        if name is None:
            raise make_fault(at, "the name of a field and '='")
        at = name.end()
        if text.startswith("selector(", at):
            fields[name[1]], at = _parse_fields(text, at, depth + 1)
        else:
            end = _find_value_end(text, at)
            value = decode_piece(text[at:end])
            if value is None:
                raise make_fault(at, "percent-encoded UTF-8")
            counts = name[1] in ("start", "end") and _POSITION.fullmatch(value)
            fields[name[1]] = int(value) if counts else value
            at = end
        if text.startswith(")", at):
            return fields, at + 1
        if not text.startswith(",", at):
            raise make_fault(at, "',' or ')'")
        at += 1


def _find_value_end(text: str, at: int) -> int:
    """Return the end of the value that begins at `at`: the next comma or closing parenthesis that
    is not inside parentheses of the value."""
    depth = 0
    for found in _BREAK.finditer(text, at):
        if not depth and found[0] != "(":
            return found.start()
        depth += (found[0] == "(") - (found[0] == ")")
    return len(text)


# to mappings
# -----------


def write_annotation(selector: Selector) -> dict[str, Any]:
    """Write a selector as a JSON object of Web Annotation."""
    match selector:
        case Within(outer, inner):
            return _refine_selector(write_annotation(outer), write_annotation(inner))
        case TextPosition(start, end):
            return {"type": "TextPositionSelector", "start": start, "end": end}
        case Octets(start, int(end)):
            return {"type": "DataPositionSelector", "start": start, "end": end}
        case TextQuote(exact, prefix, suffix):
            around = {"prefix": prefix, "suffix": suffix}
            given = {name: text for name, text in around.items() if text}
            return {"type": "TextQuoteSelector", "exact": exact} | given
        case XPath(expression, ()):
            return {"type": "XPathSelector", "value": expression}
        case Css(value):
            return {"type": "CssSelector", "value": value}
        case Between(start, end):
            return {
                "type": "RangeSelector",
                "startSelector": write_annotation(start),
                "endSelector": write_annotation(end),
            }
    return {
        "type": "FragmentSelector",
        "value": str(selector),
        "conformsTo": selector.conforms_to,
    }


def _refine_selector(outer: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    within = outer.get("refinedBy")
    return outer | {"refinedBy": _refine_selector(within, inner) if within else inner}


SYNTAX = Syntax(
    name="selector() and JSON (Web Annotation)",
    media_types=("*/*",),
    mark=re.compile(r"^(?:selector\(|\s*\{)"),
    read=read_annotation,
    forms={
        Css: ("selector(type=CssSelector)",),
        TextPosition: ("selector(type=TextPositionSelector)",),
        TextQuote: ("selector(type=TextQuoteSelector)",),
    },
    turn=5,
)
"""The syntax whose selectors contain others; see `perdure.parts.parse_part`."""
