"""The grammar of PDIs as pattern fragments, and the limits of every scheme.

How it works: each constant is the body of a regular expression. Above it is the rule of the draft's
ABNF (sections 1.2 and 3.4 of draft-mallery-urn-pdi-00) that it implements, and the name of the
ruling if one amends that rule. Joined they form four patterns: `RESOURCE`, `FRAGMENT` and
`CITATION` make up a PDI, `INTERVAL` is the left part of one. `PLAIN_RESOURCE` matches a `RESOURCE`
that is already canonical and needs no further work; nearly all PDIs are written that way.

On the path of nearly all texts, an optional group is written `(?:…|)`, which `re` executes faster
than `(?:…)?`.

What must stay true: every pattern takes time linear in its input. A run of one character class is
possessive (`++`), so it is never divided in a second way; the next character alone decides whether
a group repeats. Only such runs are possessive, never a group: Python before 3.11.5 continues at the
wrong place after one (CPython issue 106052). Patterns are strictly ASCII: classes are spelled out,
and ignoring case must not match `ı` or the Kelvin sign.
"""

from __future__ import annotations

import re

from perdure.errors import MalformedIdentifier

# the limits of every scheme
# -------------------------------------

LONGEST = 8192  # characters  # ruling: pdi-limits

# Control characters, Unicode white space, and halves of surrogate pairs, which are not text.
# Spelled out, because Python's set of printable characters grows with each Unicode version, and
# an upgrade must not make an identifier legal.
_FORBIDDEN = re.compile(
    r"[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff]"
)


def check_limits(text: str) -> None:
    """Raise MalformedIdentifier if the text cannot be an identifier in any scheme."""
    # ruling: pdi-limits
    if text.isascii() and text.isprintable() and " " not in text and 0 < len(text) <= LONGEST:
        return
    rule = "ruling pdi-limits"
    if not text:
        raise MalformedIdentifier(text=text, at=0, expected="an identifier", rule=rule)
    if found := _FORBIDDEN.search(text, 0, LONGEST):
        expected = "no space and no control character"
        raise MalformedIdentifier(text=text, at=found.start(), expected=expected, rule=rule)
    if len(text) > LONGEST:
        expected = f"the end: an identifier has at most {LONGEST} characters"
        raise MalformedIdentifier(text=text, at=LONGEST, expected=expected, rule=rule)


# section 1.2.4: supporting definitions
# -------------------------------------

# alpha     = %x41-5A / %x61-7A
# digit     = %x30-39
# hex       = digit / "A" - "F" / "a" - "f"
# other     = "(" / ")" / "-" / ":" / ";" / "$" / "_" / "!" / "'"
# reserved  = "%" / "." / "," / "/" / "#" / "*" / "@" / "=" / "?" / "+"
# urn-chars = alpha / digit / other / reserved / "%" hex hex
_ALPHADIGITS = "A-Za-z0-9"
_HEX = "0123456789ABCDEFabcdef"
ESCAPE = f"%[{_HEX}]{{2}}"


def _compose_run(characters: str) -> str:
    """Return a pattern of one or more of `characters` and escapes."""
    return f"(?:[{characters}]|{ESCAPE})[{characters}]*+(?:{ESCAPE}[{characters}]*+)*"


# section 1.2.1: resource identifier
# ----------------------------------

# document-series = component *["." component] "." iso-country
# component       = alpha-hyphen-digits
# iso-country     = 2*alpha             ; two or more  # ruling: pdi-series
COMPONENT = f"[{_ALPHADIGITS}-]++"
COUNTRY = "[A-Za-z]{2,}+"
SERIES = rf"(?:{COMPONENT}\.)+{COUNTRY}"

# year  = 4*digit / wildcard            ; four or more
# month = 2*digit / wildcard            ; one or two digits  # ruling: pdi-date
# day   = 2*digit / wildcard
YEAR = r"(?:[0-9]{4,}+|\*)"
MONTH = DAY = r"(?:[0-9]{1,2}+|\*)"

# unique-id       = daily-serial-number / encapsulated-unique-id / digits / wildcard
# unique-id-chars = alpha / digit / other / "%" hex hex      ; one or more  # ruling: pdi-uid
UID_CHARACTERS = f"{_ALPHADIGITS}()\\-:;$_!'"
UID = rf"(?:{_compose_run(UID_CHARACTERS)}|\*)"

# format           = media-type-token / wildcard
# media-type-token = minor-type / (major-type "+" minor-type)
# minor-type       = alpha-hyphen-digits / "_" / "%" hex hex  # ruling: pdi-format
TOKEN_CHARACTERS = f"{_ALPHADIGITS}\\-_"
_TOKEN = _compose_run(TOKEN_CHARACTERS)
FORMAT = rf"(?:{_TOKEN}(?:\+{_TOKEN}|)|\*)"

# version = digits / wildcard           ; not zero  # ruling: pdi-version
# Eighteen digits are the maximum, so every number fits in a signed 64-bit integer.
NUMERAL_DIGITS = 18
VERSION = rf"(?:(?=0*+[1-9])[0-9]{{1,{NUMERAL_DIGITS}}}+|\*)"

# sections 1.2.2 and 1.2.3: citation specifier, fragment specifier
# ----------------------------------------------------------------

# position           = position-specifier /
#                      "(" position-specifier *["," position-specifier] ")"
# position-specifier = alphadigits      ; undefined in the draft  # ruling: pdi-position
POSITION_CHARACTERS = f"{_ALPHADIGITS}\\-:;$_!'./*?+"
SPECIFIER = _compose_run(POSITION_CHARACTERS)
POSITION = rf"(?:{SPECIFIER}|\({SPECIFIER}(?:,{SPECIFIER})*\))"

# fragment-specifier = "#" [fragment-scheme "="] position [*("," position)]
# fragment-scheme    = "char" / "elt" / … / ext-fragment-scheme
# ext-fragment-scheme = alpha-hyphen, ext-time-position-scheme = alpha-hyphen-digits; both occur
# in the same place, so the wider one applies.
SCHEME_NAME = f"[{_ALPHADIGITS}-]++"
FRAGMENT = re.compile(rf"(?:({SCHEME_NAME})=|)({POSITION}(?:,{POSITION})*)", re.ASCII)
"""The text after the `#`. Groups: fragment scheme, positions."""

# citation-specifier = "@" origin-position "=" pdi
CITATION = re.compile(rf"({POSITION})=(.++)", re.ASCII)
"""The text after the `@`. Groups: origin position, cited PDI (not checked)."""

# sections 1, 1.1 and 1.2
# -----------------------

# urn                 = "urn:" pdi
# pdi                 = "pdi" ":" nss                        ; in any case  # ruling: pdi-prefix
# nss                 = resource-identifier [(citation-specifier / fragment-specifier)]
# resource-identifier = "//" document-series "/" iso-date "/" specifier
# specifier           = unique-id ["." format ["." version]]
RESOURCE = re.compile(
    rf"(?:[Uu][Rr][Nn]:)?[Pp][Dd][Ii]://({SERIES})/({YEAR})/({MONTH})/({DAY})/"
    rf"({UID})(?:\.({FORMAT})(?:\.({VERSION})|)|)",
    re.ASCII,
)
"""A PDI without fragment and citation. Groups: series, year, month, day, unique-id, format,
version."""

# The same in canonical form only: without wildcards and escapes, in a series that ends in a
# two-letter code, on a day that exists in every year, within the limits. A series with `..` matches
# too; readers refuse it, because matching the components one by one takes a tenth longer.
_PLAIN_SERIES = r"[a-z0-9-][a-z0-9.-]{3,255}+(?<=\.[a-z][a-z])"
_LOWER_CASE = "[a-z0-9-_]{1,255}+"
_EVERY_YEARS_DAY = (
    "(?:0[1-9]|1[0-2])/(?:0[1-9]|1[0-9]|2[0-8]|(?<!02/)(?:29|30)|(?:(?<=0[13578]/)|(?<=1[02]/))31)"
)
_PLAIN_DAY = rf"pdi://({_PLAIN_SERIES})/([1-9][0-9][0-9][0-9]/{_EVERY_YEARS_DAY})"
_PLAIN_UID = rf"[{UID_CHARACTERS}]{{1,255}}+"
_PLAIN_ENDING = (
    rf"(?:\.({_LOWER_CASE}(?:\+{_LOWER_CASE}|))"
    rf"(?:\.([1-9][0-9]{{0,{NUMERAL_DIGITS - 1}}}+)|)|)"
)
PLAIN_RESOURCE = re.compile(rf"{_PLAIN_DAY}/({_PLAIN_UID}){_PLAIN_ENDING}(?![^#@])", re.ASCII)
"""Followed by a fragment, a citation or nothing. Groups: series, date, unique-id, format,
version."""
PLAIN_DAY = re.compile(_PLAIN_DAY, re.ASCII)
"""The text of a `PLAIN_RESOURCE` before its last slash. Groups: series, date."""
PLAIN_UID = re.compile("[" + UID_CHARACTERS.replace(":", "") + "]{1,255}+", re.ASCII)
"""A unique-id that cannot encapsulate an identifier."""
PLAIN_ENDING = re.compile(_PLAIN_ENDING, re.ASCII)
"""The text behind a unique-id. Groups: format, version."""

# Every left prefix of a resource that ends in "/" names an interval.  # ruling: pdi-interval
INTERVAL = re.compile(
    rf"(?:[Uu][Rr][Nn]:)?[Pp][Dd][Ii]://({SERIES})/(?:({YEAR})/(?:({MONTH})/(?:({DAY})/)?)?)?",
    re.ASCII,
)
"""Groups: series, year, month, day."""


# section 3.6.4: escapes in canonical form
# ----------------------------------------


_split_escapes = re.compile("%(..)").split


class Escapes:
    """The percent-escapes of one component, in canonical form.

    A character that needs no escape is unescaped, and all other escapes have lower-case hexadecimal
    digits. One pass is enough, because an escaped `%` is never unescaped.
    """

    # ruling: pdi-escape

    __slots__ = ("_by_digits", "_by_octet")

    def __init__(self, unescaped: str) -> None:
        """`unescaped`: body of the class of characters that need no escape."""
        plain = re.compile(f"[{unescaped}]", re.ASCII)
        self._by_octet = [
            chr(octet) if plain.match(chr(octet)) else f"%{octet:02x}" for octet in range(256)
        ]
        self._by_digits = {
            high + low: self._by_octet[int(high + low, 16)] for high in _HEX for low in _HEX
        }

    def canonicalise_text(self, text: str) -> str:
        """Return the canonical spelling of a text in which every `%` begins an escape."""
        if "%" not in text:
            return text
        pieces = _split_escapes(text)  # every second one is the digits of an escape
        pieces[1::2] = map(self._by_digits.__getitem__, pieces[1::2])
        return "".join(pieces)

    def escape_text(self, plain: str) -> str:
        """Escape any text for this component, as UTF-8."""
        return "".join([self._by_octet[octet] for octet in plain.encode()])


UID_ESCAPES = Escapes(UID_CHARACTERS)
TOKEN_ESCAPES = Escapes(TOKEN_CHARACTERS)
POSITION_ESCAPES = Escapes(POSITION_CHARACTERS)
