"""Members of a collection: `member=7` by position, `member=NAME` by name.

Specification: docs/reference/collections.md; ISO 24619 section 3.1.8 ("a single PID concatenated
with a part identifier in order to access the components of the collection").

>>> read_member("member=7"), read_member("member=front%20page")
(Member(number=7, name=''), Member(number=0, name='front page'))
>>> read_member("member=0")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedPart: ... expected a number from 1 or a name (...)
"""

from __future__ import annotations

import re

from perdure.errors import MalformedPart
from perdure.parts.grammar import DIGITS, decode_text
from perdure.parts.port import Syntax
from perdure.parts.selectors import Member

COLLECTION = "application/vnd.perdure.collection+json"
SCHEME = "member"
_RULE = "docs/reference/collections.md"
_MEMBER = re.compile(f"{SCHEME}=(.+)", re.DOTALL)


def read_member(text: str) -> Member:
    """Read the member that a text names. Raises MalformedPart."""
    plain = decode_text(text, _RULE)
    found = _MEMBER.fullmatch(plain.plain)
    if found is None:
        raise plain.make_fault(0, "member= and a number or a name", _RULE)
    if not found[1].isdecimal():
        return Member(0, found[1])
    if not found[1].isascii() or not 0 < int(found[1][: DIGITS + 1]) < 10**DIGITS:
        at = len(SCHEME) + 1
        raise MalformedPart(text=text, at=at, expected="a number from 1 or a name", rule=_RULE)
    return Member(int(found[1]))


SYNTAX = Syntax(
    name="member= (collections)",
    media_types=(COLLECTION,),
    mark=re.compile(f"^{SCHEME}="),
    read=read_member,
    forms={Member: ("member=",)},
    schemes=(SCHEME,),
    turn=30,
)
