"""Uniform Resource Names.

A URN permanently names a resource in a registered namespace (`urn:isbn:`, `urn:nbn:`,
`urn:uuid:` …), independent of its location. Specification: RFC 8141. No namespace has special rules
here.

>>> urn = parse_urn("URN:Example:a%2cb?+here?=page=3#top")
>>> str(urn)
'urn:example:a%2Cb?+here?=page=3#top'
>>> urn.key, str(urn.whole)
('urn:example:a%2Cb', 'urn:example:a%2Cb?+here?=page=3')
>>> parse_urn("urn:example:a?b")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedIdentifier: ... at 13 found '?b'; expected ... (RFC 8141 section 2)

How it works: one pattern parses a well-formed name. Only if it fails does `_find_fault` walk
through the text component by component to find where and why.

What must stay true: the key is the assigned name, so all URNs that RFC 8141 calls equivalent share
one record. Names that end in `:::` are left to the URN of 1993 (`perdure.ids.urn1993`): the prefix
alone determines the scheme of a text, so this scheme must not accept names that only that one can
check.
"""

from __future__ import annotations

import re
from typing import ClassVar, Self

from msgspec.structs import replace

from perdure.errors import MalformedIdentifier
from perdure.ids import Identifier, Label, Scheme
from perdure.ids.keyed import Keyed
from perdure.ids.scheme import PlainName
from perdure.ids.strays import find_reach, find_stray

# RFC 3986 sections 2.1 to 3.3
# unreserved  = ALPHA / DIGIT / "-" / "." / "_" / "~"
# sub-delims  = "!" / "$" / "&" / "'" / "(" / ")" / "*" / "+" / "," / ";" / "="
# pct-encoded = "%" HEXDIG HEXDIG
# pchar       = unreserved / pct-encoded / sub-delims / ":" / "@"
_PLAIN = r"A-Za-z0-9\-._~!$&'()*+,;=:@"
_PCT = "%[0-9A-Fa-f]{2}"
_PCHAR = f"(?:[{_PLAIN}]|{_PCT})"

# RFC 8141 section 2
# NID         = (alphanum) 0*30(ldh) (alphanum)
# NSS         = pchar *(pchar / "/")
# r-component = pchar *( pchar / "/" / "?" )      ; up to the first "?=" (section 2.3.1)
# q-component = pchar *( pchar / "/" / "?" )
# f-component = *( pchar / "/" / "?" )
_NID = "[A-Za-z0-9][A-Za-z0-9-]{0,30}[A-Za-z0-9]"
_NSS = rf"{_PCHAR}(?:[{_PLAIN}/]|{_PCT})*"
_R = rf"{_PCHAR}(?:[{_PLAIN}/]|{_PCT}|\?(?!=))*"
_Q = rf"{_PCHAR}(?:[{_PLAIN}/?]|{_PCT})*"
_F = rf"(?:[{_PLAIN}/?]|{_PCT})*"

# namestring  = assigned-name [ "?+" r-component ] [ "?=" q-component ] [ "#" f-component ]
_NAMESTRING = re.compile(
    rf"[Uu][Rr][Nn]:({_NID}):({_NSS})(?:\?\+({_R}))?(?:\?=({_Q}))?(?:\#({_F}))?"
)
_ESCAPE = re.compile(_PCT)

# the usual spelling: an assigned name without escapes, its namespace in lower case
_PLAIN_URN = re.compile(
    r"urn:[a-z0-9][a-z0-9-]{1,31}+(?<!-):[A-Za-z0-9._~!$&'()+,;=:-]++"
    r"(?:/[A-Za-z0-9._~!$&'()+,;=:-]++)*(?<!:::)",
    re.ASCII,
)


class Urn(Keyed, frozen=True, gc=False):
    """A URN: namespace, name, and the components for resolving and using it.

    `==` compares the complete URN, `SCHEME.equivalent` only the assigned name (RFC 8141 section 3).
    """

    kind: ClassVar[str] = "urn"

    nid: str
    """The namespace, lower case."""
    nss: str
    """The name in the namespace, as written, but percent-escapes have upper-case digits."""
    r_component: str | None
    """Parameters for the resolver."""
    q_component: str | None
    """Parameters for the resource."""
    f_component: str | None
    """The place in the resource."""
    written: str

    def __str__(self) -> str:
        r = "" if self.r_component is None else f"?+{self.r_component}"
        q = "" if self.q_component is None else f"?={self.q_component}"
        f = "" if self.f_component is None else f"#{self.f_component}"
        return f"{self.key}{r}{q}{f}"

    def _comparison_key(self) -> tuple[str, str]:
        return self.key, str(self)

    @property
    def part(self) -> str | None:
        """The f-component, if it is not empty: RFC 8141 section 2.3.3 leaves its meaning to the
        media type."""
        return self.f_component or None

    @property
    def authority_beginning(self) -> str:
        """The namespace."""
        return f"urn:{self.nid}:"

    @property
    def key(self) -> str:
        """The assigned name."""
        return f"urn:{self.nid}:{self.nss}"

    @classmethod
    def from_key(cls, key: str) -> Urn:
        """Return the URN that has this key. Raises MalformedIdentifier for other texts."""
        return parse_urn(key)

    @property
    def whole(self) -> Self:
        """The URN without its f-component: the resource instead of a place in it."""
        return self if self.f_component is None else replace(self, f_component=None)


def parse_urn(text: str) -> Urn:
    """Read a URN. Raises MalformedIdentifier."""
    # RFC 8141 section 3.1: escapes are compared with their digits in upper case, never decoded
    normal = _ESCAPE.sub(lambda escape: escape[0].upper(), text) if "%" in text else text
    match = _NAMESTRING.fullmatch(normal)
    if match is None or match[2].endswith(":::"):
        raise _find_fault(text)
    nid, nss, r, q, f = match.groups()
    return Urn(nid.lower(), nss, r, q, f, text)


def _read_plain_urn(text: str) -> PlainName | None:
    return None if _PLAIN_URN.fullmatch(text) is None else PlainName(text, text)


def _are_equivalent(one: Identifier, other: Identifier) -> bool:
    # RFC 8141 section 3: r-, q- and f-components are not compared
    return one.key == other.key


SCHEME = Scheme(
    name=Urn.kind,
    prefixes=("urn:",),
    spec="RFC 8141",
    parse=parse_urn,
    equivalent=_are_equivalent,
    examples=(
        "urn:isbn:9780140328721",
        "urn:nbn:de:101:1-201102033592",
        "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "urn:example:weather?=op=map&lat=39.56&lon=-104.85",
    ),
    labels=(
        Label(text="urn:isbn:", datacite_type="ISBN", is_dropped=True),
        Label(text="urn:issn:", datacite_type="ISSN", is_dropped=True),
        Label(text="urn:nbn:", datacite_type="URN"),
        Label(text="urn:", datacite_type="URN"),
    ),
    delimiters=("%23",),
    plain_spellings=(("urn:", _read_plain_urn),),
)


# finding the fault
# ------------------

_NID_CHARACTERS = re.compile("[A-Za-z0-9-]+")
_COMPONENTS = {  # by its introducer: its name, its grammar, and the introducers that may follow
    "": ("name", re.compile(_NSS), ("?+", "?=", "#")),
    "?+": ("r-component", re.compile(_R), ("?=", "#")),
    "?=": ("q-component", re.compile(_Q), ("#",)),
    "#": ("f-component", re.compile(_F), ()),
}


def _find_fault(text: str) -> MalformedIdentifier:
    """Find where and why `text`, which `parse_urn` refused, stops being a URN."""

    def make_error(at: int, expected: str, rule: str = "RFC 8141 section 2") -> MalformedIdentifier:
        return MalformedIdentifier(text=text, at=at, expected=expected, rule=rule)

    start = find_stray(text, SCHEME.prefixes)
    if start < len("urn:"):
        return make_error(start, "'urn:'")
    end = find_reach(_NID_CHARACTERS, text, start)
    if end == start or text[start] == "-":
        return make_error(start, "a letter or digit at the beginning of the namespace")
    if end - start > 32:
        return make_error(start + 32, "':' after a namespace of at most 32 characters")
    if end - start == 1 or text[end - 1] == "-":
        return make_error(end, "a letter or digit at the end of a namespace of 2 to 32 characters")
    if text[end : end + 1] != ":":
        return make_error(end, "a letter, digit or hyphen of the namespace, or ':'")

    start, introducer = end + 1, ""
    while True:
        component, grammar, followers = _COMPONENTS[introducer]
        end = find_reach(grammar, text, start)
        if end == start and introducer != "#":
            return make_error(
                start, f"a letter, digit, %hh or one of -._~!$&'()*+,;=:@ ({component})"
            )
        if not introducer and text.endswith(":::", start, end):
            return make_error(
                end - 3,
                "a name that does not end in ':::', or URN:<scheme>[:<individual>]::<opaque>::: "
                "with a registered scheme",
                "ruling urn93-schemes",
            )
        introducer = next((mark for mark in followers if text.startswith(mark, end)), "")
        if not introducer:
            more = "".join(f", '{mark}'" for mark in followers)
            return make_error(end, f"another character of the {component}{more} or the end")
        start = end + len(introducer)
