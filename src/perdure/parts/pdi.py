"""Parts of a PDI: `char`, `elt`, `name`, `rect`, `sec`, `msec`, `crop`, `byte`, and extensions.

Specification: draft-mallery-urn-pdi-00, section 3.4. `perdure.ids.pdi_fragment` has already
parsed the text after the `#` together with the identifier; this module interprets its positions.

>>> from perdure.ids import parse
>>> make_selector(parse("pdi://oma.eop.gov.us/1997/09/01/1.text.1#37,51").fragment)
CharRange(start=37, end=51)
>>> make_selector(parse("pdi://oma.eop.gov.us/1997/09/01/1.mpeg.1#crop=sec,2,5").fragment)
Crop(time=Interval(start=Fraction(2, 1), end=Fraction(5, 1)), rect=None)
"""

from __future__ import annotations

from fractions import Fraction
from urllib.parse import unquote

from perdure.errors import MalformedPart
from perdure.ids.pdi_fragment import PdiFragment, find_fragment_mistake, read_fragment
from perdure.parts.grammar import check_text
from perdure.parts.selectors import (
    ByteRange,
    CharRange,
    Crop,
    Extension,
    Interval,
    NameRange,
    PartSelector,
    Rect,
    Selector,
    TagRange,
)

_RULE = "draft-mallery-urn-pdi-00 section 3.4"
_UNITS = {"sec": 1, "msec": 1000}
SCHEMES: dict[type[PartSelector], tuple[str, ...]] = {
    ByteRange: ("byte",),
    CharRange: ("char",),
    Crop: ("crop",),
    Interval: ("msec", "sec"),
    NameRange: ("name",),
    Rect: ("rect",),
    TagRange: ("elt",),
}
"""The selectors of PDIs, with their fragment schemes. No other syntax makes these selectors, and no
extractor replaces them: positions beyond the resource are an error (ruling: part-range)."""


def make_selector(fragment: PdiFragment) -> Selector:
    """Make the selector of a PDI fragment; an unknown fragment scheme makes an Extension."""
    numbers = fragment.numbers
    match fragment.scheme:
        case "char":
            return CharRange(*numbers)
        case "elt":
            return TagRange(*numbers)
        case "name":
            first, last = (unquote(str(position)) for position in fragment.positions)
            return NameRange(first, last)
        case "rect":
            return Rect(*numbers)
        case "sec" | "msec":
            return _make_interval(fragment.scheme, *numbers)
        case "crop" if str(fragment.positions[0]) in _UNITS:
            time = _make_interval(str(fragment.positions[0]), *numbers[:2])
            return Crop(time, Rect(*numbers[2:]) if numbers[2:] else None)
        case "byte":
            return ByteRange(*numbers)
    return Extension(fragment.scheme, fragment.positions)


def read_pdi_part(text: str) -> Selector:
    """Read a fragment that names its scheme, if there is no PDI whose format implies one.

    Raises MalformedPart.

    >>> read_pdi_part("sec=23,57")
    Interval(start=Fraction(23, 1), end=Fraction(57, 1))
    """
    check_text(text, _RULE)
    fragment = read_fragment(text, None)
    if fragment is None:
        scheme, equals, positions = text.partition("=")
        mistake = find_fragment_mistake(scheme, positions, None) if equals else None
        at = len(scheme) + 1 + mistake.at if mistake else 0
        expected = mistake.expected if mistake else "a fragment scheme, '=' and positions"
        raise MalformedPart(
            text=text,
            at=min(at, len(text)),
            expected=expected,
            rule=mistake.rule if mistake else _RULE,
        )
    return make_selector(fragment)


def _make_interval(unit: str, start: int, end: int) -> Interval:
    return Interval(Fraction(start, _UNITS[unit]), Fraction(end, _UNITS[unit]))
