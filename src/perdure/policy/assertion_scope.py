"""The scope of an assertion, compared with a requested name: the same, a part, the whole. Pure.

What must stay true: an assertion about a part that is apart from the requested one, or about
another version or format, is not about it.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable

from perdure import formats
from perdure.errors import PerdureError
from perdure.ids import Identifier
from perdure.parts import Selector, select_part
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


def make_apart_test(asked: Identifier) -> Callable[[str], bool] | None:
    """Return a test whether a target, as a record has it, is certainly apart from a requested part.

    None if the requested part is not a range of characters. The test reads no identifier, so that
    many targets near the part can be passed.

    >>> from perdure.ids import parse
    >>> text = "pdi://oma.eop.gov.us/1994/03/21/1.text.1#char="
    >>> is_apart = make_apart_test(parse(f"{text}8,12"))
    >>> is_apart(f"{text}3,8"), is_apart(f"{text}3,9"), is_apart("doi:10.1000/1")
    (True, False, False)
    """
    one = _CHARACTERS.fullmatch(str(asked))
    if one is None or asked.fragment is None or asked.is_pattern or asked.is_citation:
        return None
    if not isinstance(asked.version, int) or asked.format is None:
        return None
    lead, start, end = one[1], int(one[2]), int(one[3])
    if start >= end:
        return None

    def is_apart(target: str) -> bool:
        if not target.startswith(lead):
            return False
        low, _, high = target[len(lead) :].partition(",")
        if not (low.isdecimal() and high.isdecimal()):
            return False
        return int(high) <= start or end <= int(low)

    return is_apart


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
    if one is None or other is None:
        return None
    return _OF_PARTS.get(relate_parts(one, other))


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
