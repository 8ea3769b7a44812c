"""Parts of a PDI: `char`, `elt`, `name`, `rect`, `sec`, `msec`, `crop`, `byte`, and extensions.

Specification: draft-mallery-urn-pdi-00, section 3.4. What stands after the `#` has been read with
the identifier already (`perdure.ids.pdi_fragment`); here its positions get their meaning.

>>> from perdure.ids import parse
>>> select(parse("pdi://oma.eop.gov.us/1997/09/01/1.text.1#37,51").fragment)
CharRange(start=37, end=51)
>>> select(parse("pdi://oma.eop.gov.us/1997/09/01/1.mpeg.1#crop=sec,2,5").fragment)
Crop(time=Interval(start=Fraction(2, 1), end=Fraction(5, 1)), rect=None)
"""

from __future__ import annotations

from fractions import Fraction
from urllib.parse import unquote

from perdure.ids.pdi_fragment import Fragment
from perdure.parts.selectors import (
    ByteRange,
    CharRange,
    Crop,
    Extension,
    Interval,
    NameRange,
    Rect,
    Selector,
    TagRange,
)

_UNITS = {"sec": 1, "msec": 1000}


def select(fragment: Fragment) -> Selector:
    """The selector that a fragment of a PDI stands for; one that nobody defined is an Extension."""
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
            return _interval(fragment.scheme, *numbers)
        case "crop" if str(fragment.positions[0]) in _UNITS:
            time = _interval(str(fragment.positions[0]), *numbers[:2])
            return Crop(time, Rect(*numbers[2:]) if numbers[2:] else None)
        case "byte":
            return ByteRange(*numbers)
    return Extension(fragment.scheme, fragment.positions)


def _interval(unit: str, start: int, end: int) -> Interval:
    return Interval(Fraction(start, _UNITS[unit]), Fraction(end, _UNITS[unit]))
