"""The fragment of a PDI: the part of the resource that it names, judged by its text alone.

How it works: section 3.4 of the draft defines the shape of the positions for each fragment scheme.
A shape is written here as a short template, which serves two parsers: a pattern that splits a
well-formed fragment, and a walk along the template that finds the error in a malformed one. Schemes
that are not defined yet (section 3.1) have no shape and stay opaque.

What must stay true: a number has no leading zeros in canonical form (ruling: pdi-number), so `037`
and `37` are equal; other positions keep their text. A start after its end is malformed; the
resolver refuses a part that is empty or beyond the resource.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from perdure.ids.grammar import (
    ESCAPE,
    FRAGMENT,
    NUMERAL_DIGITS,
    POSITION_ESCAPES,
    SCHEME_NAME,
    SPECIFIER,
)
from perdure.ids.pdi_defaults import find_default_scheme, find_scheme_beyond, is_video

Position = str | tuple[str, ...]
"""A position specifier, or a parenthesised list of them."""


class PdiFragment(msgspec.Struct, frozen=True, gc=False):
    """A part of a resource: fragment scheme and positions, both in canonical form.

    >>> read_fragment("(5,10),(25,30),0", "gif")
    PdiFragment(text='rect=(5,10),(25,30)', scheme='rect', positions=(('5', '10'), ('25', '30')))
    """

    text: str
    scheme: str
    positions: tuple[Position, ...]

    def __str__(self) -> str:
        return self.text

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numeric positions, in order and without parentheses.

        They are characters, bytes, tags, pixels, or units of time. Empty for `name` and for
        schemes not defined here.
        """
        if self.scheme not in _NUMERIC:
            return ()
        flat = _flatten_positions(self.positions[1:] if self.scheme == "crop" else self.positions)
        return tuple(map(int, flat))

    @property
    def extent(self) -> tuple[object, ...]:
        """A value that is equal for two fragments that name the same part of one resource.

        A crop without corners equals the time interval that it names, a second equals a thousand
        milliseconds, and frame 0 is the default frame.
        # ruling: pdi-crop
        """
        numbers = self.numbers
        match self.scheme:
            case "sec" | "msec":
                return _convert_interval(self.scheme, numbers)
            case "crop":
                return _convert_interval(str(self.positions[0]), numbers)
            case "rect":
                return ("rect", *numbers[:4], *(numbers[4:] or (0,)))
            case _:
                return (self.scheme, *self.positions)


def _convert_interval(unit: str, numbers: tuple[int, ...]) -> tuple[object, ...]:
    if unit == "sec":
        return ("msec", numbers[0] * 1000, numbers[1] * 1000, *numbers[2:])
    return (unit, *numbers)


def _flatten_positions(positions: tuple[Position, ...]) -> list[str]:
    flat: list[str] = []
    for position in positions:
        flat.extend((position,) if isinstance(position, str) else position)
    return flat


# shapes
# ------

# In a template N is a number, S a position specifier, T a unit of time; other characters are
# literal, and the text in brackets is optional.
_TEMPLATES = {
    "char": "N,N",  # section 3.4.1
    "elt": "N,N",  # section 3.4.2
    "name": "S,S",  # section 3.4.2
    "rect": "(N,N),(N,N)[,N]",  # section 3.4.5, images
    "sec": "N,N",  # section 3.4.4
    "msec": "N,N",  # section 3.4.4
    "crop": "T,N,N[,(N,N),(N,N)]",  # section 3.4.5, video
    "byte": "N,N",  # section 3.4.6
}
_FIELDS = {
    "N": (f"[0-9]{{1,{NUMERAL_DIGITS}}}+", f"a number of at most {NUMERAL_DIGITS} digits"),
    "S": (SPECIFIER, "a name"),
    "T": (SCHEME_NAME, "a unit of time such as sec or msec"),
}
_SYNTAX = {"[": "(?:", "]": "|)"}


def _compile_template(template: str) -> re.Pattern[str]:
    pieces = [
        f"({_FIELDS[c][0]})" if c in _FIELDS else _SYNTAX.get(c) or re.escape(c) for c in template
    ]
    return re.compile("".join(pieces))


_SHAPES = {scheme: _compile_template(template) for scheme, template in _TEMPLATES.items()}

# Pairs of groups whose first may not be greater than the second: start and end, left and right,
# top and bottom.  # ruling: part-range
_INTERVAL = ((1, 2),)
_ORDERED = {
    "char": _INTERVAL,
    "elt": _INTERVAL,
    "rect": ((1, 3), (2, 4)),
    "sec": _INTERVAL,
    "msec": _INTERVAL,
    "crop": ((2, 3), (4, 6), (5, 7)),
    "byte": _INTERVAL,
}
_NUMERIC = frozenset(_ORDERED)

# Leading zeros of numbers, which canonical form lacks.  # ruling: pdi-number
_ZEROS = re.compile("(?:^|(?<=[,(]))0+(?=[0-9])", re.ASCII)

# Schemes of other standards whose positions are numbers (ruling: pdi-other-schemes). In `t`, the
# zeros of 00:02:00 stay; so do all zeros beside an escape, which may belong to a name.
_COUNTED = frozenset({"page", "row", "col", "cell", "line", "t", "xywh"})
_ZEROS_IN_STANDARD = re.compile("(?<![0-9A-Za-z.])(?<![0-9]:)(?![0-9]*+:)0+(?=[0-9])", re.ASCII)


# reading
# -------

_IMPLIED_CROP = re.compile("m?sec,", re.IGNORECASE | re.ASCII)
_POSITIONS = re.compile(r"\([^)]*+\)|[^,]++")


def find_implied_scheme(positions: str, token: str | None) -> str | None:
    """Return the scheme of a fragment that names none, for the canonical format `token`."""
    if token is None:
        return None
    if positions[:1] in "msMS" and _IMPLIED_CROP.match(positions):  # ruling: pdi-crop
        return "crop" if is_video(token) else None
    return find_scheme_beyond(token, positions) or find_default_scheme(token)


def read_fragment(text: str, token: str | None) -> PdiFragment | None:
    """Parse the text after a `#` as a fragment for the canonical format `token`.

    None if it is malformed; `find_fragment_mistake` then reports why.
    """
    match = FRAGMENT.fullmatch(text)
    if match is None:
        return None
    name, positions = match.groups()
    positions = POSITION_ESCAPES.canonicalise_text(positions)
    scheme = name.lower() if name else find_implied_scheme(positions, token)
    if scheme is None:
        return None
    shape = _SHAPES.get(scheme)
    if shape is None:
        if scheme in _COUNTED and "%" not in positions:
            positions = _ZEROS_IN_STANDARD.sub("", positions)
        return PdiFragment(f"{scheme}={positions}", scheme, _split_positions(positions))
    shaped = shape.fullmatch(positions)
    if shaped is None or _find_disordered(scheme, shaped) is not None:
        return None
    if scheme in _NUMERIC and (positions[0] == "0" or ",0" in positions or "(0" in positions):
        positions = _ZEROS.sub("", positions)
    if scheme == "crop":
        positions = positions.lower()  # the unit of time; the rest is digits
    elif scheme == "rect" and shaped[5] is not None and not int(shaped[5]):
        positions = positions.removesuffix(",0")  # ruling: pdi-fragment-default
    return PdiFragment(f"{scheme}={positions}", scheme, _split_positions(positions))


def _split_positions(positions: str) -> tuple[Position, ...]:
    if "(" not in positions:
        return tuple(positions.split(","))
    found = _POSITIONS.findall(positions)
    return tuple([tuple(one[1:-1].split(",")) if one[0] == "(" else one for one in found])


def _find_disordered(scheme: str, shaped: re.Match[str]) -> int | None:
    """Return the first group that is less than its minimum, or None."""
    for low, high in _ORDERED.get(scheme, ()):
        least, greatest = shaped.group(low, high)
        if greatest is not None and int(greatest) < int(least or 0):
            return high
    return None


# finding the mistake
# -------------------


class FragmentMistake(NamedTuple):
    """The index at which parsing stopped, the text that was expected there, and the rule."""

    at: int
    expected: str
    rule: str


_UNITS = re.compile(f"{ESCAPE}|.")


def find_fragment_mistake(
    scheme: str | None, positions: str, token: str | None
) -> FragmentMistake | None:
    """Report why the positions, which may be any text, are malformed in the scheme.

    None if they are well-formed, or if the scheme is not defined here.
    """
    units = [(unit[0], unit.start()) for unit in _UNITS.finditer(positions)]
    units = [
        (POSITION_ESCAPES.canonicalise_text(unit) if len(unit) > 1 else unit, at)
        for unit, at in units
    ]
    canonical = "".join(unit for unit, _ in units)
    name = scheme.lower() if scheme else find_implied_scheme(canonical, token)
    if name is None:
        return _report_nothing_implied(token)
    mistake = _find_misshapen(name, canonical) or _find_misordered(name, canonical)
    if mistake is None:
        return None
    places = [at for unit, at in units for _ in unit]
    return mistake._replace(at=[*places, len(positions)][mistake.at])


def _report_nothing_implied(token: str | None) -> FragmentMistake:
    if token is not None and find_default_scheme(token) is not None:
        return FragmentMistake(0, "'crop=', which may be omitted only for video", "ruling pdi-crop")
    has = f"the format {token}" if token else "a PDI without format"
    expected = f"a fragment scheme and '=', because {has} implies none"
    return FragmentMistake(0, expected, "ruling pdi-fragment-default")


def _find_misshapen(scheme: str, positions: str) -> FragmentMistake | None:
    template = _TEMPLATES.get(scheme)
    if template is None:
        return None
    at = 0
    fields: list[re.Match[str]] = []
    for c in template:
        if c == "[" and at == len(positions):
            return None
        if c in "[]":
            continue
        if c not in _FIELDS:
            if not positions.startswith(c, at):
                return _report_misshapen(at, f"{c!r}", scheme)
            if fields and _is_too_small(scheme, fields):
                return _report_misordered(fields[-1].start())
            at += 1
            continue
        pattern, what = _FIELDS[c]
        field = re.compile(pattern).match(positions, at)
        if field is None or (c == "N" and positions[field.end() :][:1].isdigit()):
            return _report_misshapen(field.end() if field else at, what, scheme)
        fields.append(field)
        at = field.end()
    return None if at == len(positions) else _report_misshapen(at, "the end", scheme)


def _report_misshapen(at: int, expected: str, scheme: str) -> FragmentMistake:
    shape = f"{scheme}={_TEMPLATES[scheme]}"
    return FragmentMistake(at, f"{expected}, as in {shape}", "ruling pdi-position, section 3.4")


def _find_misordered(scheme: str, positions: str) -> FragmentMistake | None:
    shaped = _SHAPES[scheme].fullmatch(positions) if scheme in _SHAPES else None
    group = _find_disordered(scheme, shaped) if shaped else None
    if shaped is None or group is None:
        return None
    return _report_misordered(shaped.start(group))


def _is_too_small(scheme: str, fields: list[re.Match[str]]) -> bool:
    """Return True if the last field read so far is complete and less than its minimum."""
    return any(
        high == len(fields) and int(fields[-1][0]) < int(fields[low - 1][0])
        for low, high in _ORDERED.get(scheme, ())
    )


def _report_misordered(at: int) -> FragmentMistake:
    return FragmentMistake(at, "an end that is not before its start", "ruling part-range")
