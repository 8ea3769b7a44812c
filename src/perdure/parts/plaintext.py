"""Characters or lines of a text: `char=37,51`, `line=10,20;length=9876,UTF-8`.

Specification: RFC 5147, on every identifier except a PDI, which has its own positions of characters
(ruling: part-meaning). The lines of a PDI are those of RFC 5147 (ruling: pdi-other-schemes).

>>> read_text_range("line=10,20")
TextRange(unit='line', start=10, end=20, checks=())
>>> str(read_text_range("char=,12;sha=00"))  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedPart: ... at 8; expected ';length=' or ';md5=', or the end (...)
>>> str(read_text_range("char=100;length=09876,UTF-8"))
'char=100;length=9876,utf-8'

Positions are between characters or lines: `char=100` is a position without extent. An omitted
start is 0, an omitted end is the end of the text.
"""

from __future__ import annotations

import re

from perdure.parts.grammar import MOST, PartText, decode_text, read_number
from perdure.parts.port import SGML, XML, Syntax
from perdure.parts.selectors import PLAIN_TEXT, Check, TextRange

# text-fragment   =  text-scheme 0*( ";" integrity-check )
# text-scheme     =  ( char-scheme / line-scheme )
# char-scheme     =  "char=" ( position / range )
# line-scheme     =  "line=" ( position / range )
# integrity-check =  ( length-scheme / md5-scheme ) [ "," mime-charset ]
# position        =  number
# range           =  ( position "," [ position ] ) / ( "," position )
# length-scheme   =  "length=" number
# md5-scheme      =  "md5=" 32HEXDIG
# mime-charset    =  1*mime-charset-chars          ; RFC 2978 section 2.3
_RULE = "RFC 5147 section 3"
_ANY_CASE = re.ASCII | re.IGNORECASE  # like literal text in ABNF (RFC 5234 section 2.3)
_RANGE = re.compile("(char|line)=([0-9]*+)(,?)([0-9]*+)", _ANY_CASE)
_CHECK = re.compile(r";(length|md5)=([0-9A-Fa-f]*+)(?:,([A-Za-z0-9!#$%&'+^_`{}~-]++))?", _ANY_CASE)
_MD5_DIGITS = 32


def read_text_range(text: str) -> TextRange:
    """Read the characters or lines that a text names. Raises MalformedPart."""
    whole = decode_text(text, _RULE)
    head = _RANGE.match(whole.plain)
    if head is None:
        raise whole.make_fault(0, "'char=' or 'line='", _RULE)
    unit, first, comma, last = head.groups()
    if not first and not last:
        raise whole.make_fault(head.end(), "a position", _RULE)
    start = read_number(whole, head.start(2), first, _RULE) if first else 0
    end = read_number(whole, head.start(4), last, _RULE) if last else None
    if not comma:
        end = start
    if end is not None and start > end:
        raise whole.make_fault(head.start(4), "an end that is not before its start", _RULE)
    return TextRange(unit.lower(), start, end, _read_checks(whole, head.end()))


def _read_checks(whole: PartText, at: int) -> tuple[Check, ...]:
    checks: list[Check] = []
    while at < len(whole.plain):
        found = _CHECK.match(whole.plain, at)
        if found is None:
            raise whole.make_fault(at, "';length=' or ';md5=', or the end", _RULE)
        if len(checks) == MOST:
            raise whole.make_fault(at, f"the end: a part has at most {MOST} checks", _RULE)
        kind, value, charset = found[1].lower(), found[2], found[3]
        if kind == "md5" and len(value) != _MD5_DIGITS:
            raise whole.make_fault(found.start(2), f"{_MD5_DIGITS} hexadecimal digits", _RULE)
        if kind == "length" and not value.isdecimal():
            raise whole.make_fault(found.start(2), "a number of octets", _RULE)
        if kind == "length":
            value = str(read_number(whole, found.start(2), value, _RULE))
        checks.append(Check(kind, value.lower(), charset.lower() if charset else None))
        at = found.end()
    return tuple(checks)


SYNTAX = Syntax(
    name="char= and line= (RFC 5147)",
    media_types=("text/*", *XML, *SGML),
    mark=re.compile("^(?:char|line)=", _ANY_CASE),
    read=read_text_range,
    forms={TextRange: ("char=", "line=")},
    specifications=(PLAIN_TEXT,),
    schemes=("line",),
    ignores_case=True,
    turn=50,
)
