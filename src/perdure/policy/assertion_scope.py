"""The scope of an assertion, compared with a requested name: the same, a part, the whole. Pure.

How it works: parts are compared by their boxes (`perdure.policy.part_relations`). A citation is
where its passage begins, and as long as the cited part if that has positions of the same kind, so
that a quotation is found by the part of the document that it is in.

What must stay true: an assertion about a part that is apart from the requested one, or about
another version or format, is not about it.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from fractions import Fraction

from perdure import formats
from perdure.errors import PerdureError
from perdure.ids import Identifier
from perdure.parts import Selector, select_part
from perdure.parts.selectors import CharRange, Interval, Page, Rect
from perdure.policy.citing import list_sides, require_citation
from perdure.policy.part_relations import relate_parts
from perdure.policy.reading_rights import PartRelation


class AssertionScope(enum.StrEnum):
    """The things that an assertion is about, compared with the requested one."""

    SAME = "same"
    PART = "part"
    """Something inside it: a version, a format, a part, a citation in it."""
    OVERLAPPING = "overlapping"
    """A part that has something in common with it."""
    WHOLE = "whole"
    """Something around it: a larger part, the complete document, all its versions."""
    SET = "set"
    """An interval or a pattern that it belongs to."""


_CHARACTERS = re.compile("([^@*]+#char=)([0-9]{1,15}),([0-9]{1,15})", re.ASCII)
_CORNER = re.compile(r"\(([0-9]{1,18}),([0-9]{1,18})(?:,([0-9]{1,18}))?\)", re.ASCII)
_NUMBER = re.compile("[0-9]{1,18}", re.ASCII)
_OF_PARTS = {
    PartRelation.SAME: AssertionScope.SAME,
    PartRelation.INSIDE: AssertionScope.PART,
    PartRelation.AROUND: AssertionScope.WHOLE,
    PartRelation.OVERLAPPING: AssertionScope.OVERLAPPING,
}


def find_scope(about: Identifier, asked: Identifier) -> AssertionScope | None:
    """Return how an assertion about `about` is about `asked`, or None if it is not.

    >>> from perdure.ids import parse
    >>> text = "pdi://oma.eop.gov.us/1994/03/21/1.text.1"
    >>> str(find_scope(parse(f"{text}#char=3,9"), parse(f"{text}#char=8,12")))
    'overlapping'
    """
    if about == asked:
        return AssertionScope.SAME
    if _are_of_one_document(about, asked):
        return _compare_parts(about, asked)
    if asked.matches(about):
        return AssertionScope.PART
    if about.matches(asked):
        return AssertionScope.SET if about.is_pattern else AssertionScope.WHOLE
    if about.key != asked.key or not (about.whole.matches(asked) or asked.whole.matches(about)):
        return None
    return _compare_parts(about, asked)


def find_scope_of_parts(relation: PartRelation) -> AssertionScope | None:
    """Return how an assertion about a part is about a part with this relation to it."""
    return _OF_PARTS.get(relation)


def make_relation_test(asked: Identifier) -> Callable[[str], PartRelation] | None:
    """Return a function that relates a target, as a record has it, to a requested part.

    None if the requested part is not a range of characters. The function reads no identifier, so
    that many targets near the part can be passed. Its answer is `UNKNOWN` for a target that is not
    a range of characters of the same document; any other one is that of `relate_parts`.

    >>> from perdure.ids import parse
    >>> text = "pdi://oma.eop.gov.us/1994/03/21/1.text.1#char="
    >>> relate = make_relation_test(parse(f"{text}8,12"))
    >>> [relate(one).value for one in (f"{text}3,8", f"{text}3,9", f"{text}8,9", "doi:10.1000/1")]
    ['apart', 'overlapping', 'inside', 'unknown']
    """
    one = _CHARACTERS.fullmatch(str(asked))
    if one is None or asked.fragment is None or asked.is_pattern or asked.is_citation:
        return None
    if not isinstance(asked.version, int) or asked.format is None:
        return None
    lead, start, end = one[1], int(one[2]), int(one[3])
    if start >= end or not isinstance(_find_part(asked), CharRange):
        return None

    def relate(target: str) -> PartRelation:
        if not target.startswith(lead):
            return PartRelation.UNKNOWN
        low, _, high = target[len(lead) :].partition(",")
        if not (low.isdecimal() and high.isdecimal()):
            return PartRelation.UNKNOWN
        return _relate_ranges(int(low), int(high), start, end)

    return relate


def _relate_ranges(low: int, high: int, start: int, end: int) -> PartRelation:
    """The relation of one range to another one that is not empty."""
    if low >= high:
        return PartRelation.UNKNOWN
    if (low, high) == (start, end):
        return PartRelation.SAME
    if high <= start or end <= low:
        return PartRelation.APART
    if start <= low and high <= end:
        return PartRelation.INSIDE
    return PartRelation.AROUND if low <= start and end <= high else PartRelation.OVERLAPPING


def _are_of_one_document(one: Identifier, other: Identifier) -> bool:
    """Return whether two names are parts of the same version in the same format: most are."""
    return (
        one.fragment is not None
        and other.fragment is not None
        and one.key == other.key
        and one.version == other.version is not None
        and one.format == other.format is not None
        and not (one.is_pattern or other.is_pattern)
    )


def _compare_parts(about: Identifier, asked: Identifier) -> AssertionScope | None:
    one, other = _find_part(about), _find_part(asked)
    one, other = one or _place_citation(about, other), other or _place_citation(asked, one)
    if one is None or other is None:
        return None
    return _OF_PARTS.get(relate_parts(one, other))


def _place_citation(name: Identifier, beside: Selector | None) -> Selector | None:
    """Return the place of a citation in the citing document, to be compared with a part of it.

    The positions of the part say what its origin counts.  # ruling: citation-origin
    """
    try:
        citation = require_citation(name)
    except PerdureError:
        return None
    origin = citation.citation.origin if citation.citation else ""
    quoted = _find_part(list_sides(citation)[-1])
    corner = _CORNER.fullmatch(origin)
    if isinstance(beside, Rect) and corner:
        left, top, frame = (int(one or 0) for one in corner.groups())
        size = (1, 1)
        if isinstance(quoted, Rect):
            size = quoted.right - quoted.left, quoted.bottom - quoted.top
        return Rect(left, top, left + size[0], top + size[1], frame)
    if not _NUMBER.fullmatch(origin):
        return None
    match beside, quoted:
        case CharRange(), CharRange(start, end):
            return CharRange(int(origin), int(origin) + end - start)
        case CharRange(), _:
            return CharRange(int(origin), int(origin) + 1)
        case Interval(), Interval(since, until):
            return Interval(Fraction(origin), Fraction(origin) + until - since)
        case Interval(), _:
            return Interval(Fraction(origin), Fraction(origin) + 1)
        case Page(), _:
            return Page(int(origin))
    return None


def find_scope_of_alias(
    about: Identifier, asked: Identifier, alias: Identifier
) -> AssertionScope | None:
    """Return the same if the resource of `asked` is also called `alias`.

    An assertion about the alias is about the complete resource. One about a part of the alias is
    found only for the resource, because the same text after another name may mean another part.

    >>> from perdure.ids import parse
    >>> asked, alias = parse("pdi://oma.eop.gov.us/1994/03/21/1.text.1"), parse("doi:10.1000/1")
    >>> find_scope_of_alias(alias, asked, alias), find_scope_of_alias(alias, asked.resource, alias)
    (<AssertionScope.WHOLE: 'whole'>, <AssertionScope.SAME: 'same'>)
    """
    scope = find_scope(about, alias)
    if asked == asked.resource or scope in (None, AssertionScope.SET):
        return scope
    around = (AssertionScope.SAME, AssertionScope.WHOLE)
    return AssertionScope.WHOLE if scope in around else None


def _find_part(name: Identifier) -> Selector | None:
    known = formats.find_media_type(name.format) if name.format else None
    try:
        return select_part(name, known.essence if known else "")
    except PerdureError:
        return None
