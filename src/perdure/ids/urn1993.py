"""Uniform Resource Names as they were first proposed, in 1993.

A naming authority, identified by a number or prefix from another registry, gives each resource a
name that is never used again. Specification: draft-ietf-uri-resource-names-00 (Weider and Deutsch,
May 1993), sections 3 and 5.

>>> urn = parse_urn1993("urn:iana:42117::Opaque-1:::")
>>> str(urn), urn.scheme, urn.individual, urn.opaque
('URN:IANA:42117::Opaque-1:::', 'IANA', '42117', 'Opaque-1')
>>> urn == parse_urn1993("URN:IANA:42117::OPAQUE-1:::")
True
>>> parse_urn1993("URN:IANA:forty::x:::")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedIdentifier: ... at 9 found 'forty::x:::'; expected ...

How it works: a naming scheme is a name and a check of individual identifiers. `SCHEME` parses the
two schemes of the draft. A package with another scheme calls `register_scheme`, which has no side
effects: it returns a `Scheme`, to be named as an entry point in the group `perdure.schemes`. So the
meaning of a text depends on the installed packages, never on code that ran before:

    SCHEME = register_scheme("ACME", str.isdigit)         # in acme/urn.py
    acme = "acme.urn:SCHEME"                              # in its pyproject.toml

What must stay true: opaque strings are compared without regard to case and kept as written. The key
contains the naming scheme in its own spelling, so that `from_key` does not depend on the known
schemes. A text with an unregistered naming scheme goes to `perdure.ids.urn`, which refuses every
name that ends in `:::`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import ClassVar, NamedTuple

from perdure.errors import MalformedIdentifier
from perdure.errors.naming import MalformedSchemeName
from perdure.ids import Identifier, Label, Minting, Scheme
from perdure.ids.keyed import Keyed
from perdure.ids.scheme import NewName, PlainName
from perdure.ids.strays import find_reach, find_stray

_SPEC = "draft-ietf-uri-resource-names-00"
_SYNTAX = f"{_SPEC} section 5"

# urn          = "URN:" Authority_Id "::" opaque_string ":::"
# Authority_Id = Scheme_ID [ ":" Individual ]
# xalpha       = a letter, a digit, "-", "_", "." or "@"
_XALPHAS = re.compile("[A-Za-z0-9_.@-]+")
_NAME = re.compile(
    rf"[Uu][Rr][Nn]:({_XALPHAS.pattern})(?::({_XALPHAS.pattern}))?::({_XALPHAS.pattern}):::"
)
# the usual spelling: the naming scheme as the draft writes it
_PLAIN_NAME = re.compile(
    "URN:((?:IANA:[0-9]++|ISBN_Publisher_ID:[0-9]{1,5}+(?:_[0-9]{1,7}+)+)::)([A-Za-z0-9_.-]++):::",
    re.ASCII,
)
_ENDINGS = (("x:::", "x"),)
_TRAILER = re.compile(":{1,3}")


class _Naming(NamedTuple):
    """A naming scheme: its spelling, and the check of its individual identifiers."""

    name: str
    check: Callable[[str], bool]
    expected: str

    @property
    def prefix(self) -> str:
        return f"urn:{self.name.lower()}:"

    def has_individual(self, individual: str | None) -> bool:
        return individual is None or self.check(individual)


class Urn1993(Keyed, frozen=True, gc=False):
    """A URN of 1993: the naming authority and the opaque string that it assigned."""

    kind: ClassVar[str] = "urn1993"

    scheme: str
    """The naming scheme in its own spelling: `IANA`, `ISBN_Publisher_ID` or a registered scheme."""
    individual: str | None
    """The authority in that scheme; None if the scheme itself is the authority."""
    opaque: str
    """The name that the authority assigned, as written."""
    written: str

    def __str__(self) -> str:
        return f"URN:{self.authority}::{self.opaque}:::"  # ruling: urn93-form

    @property
    def authority(self) -> str:
        """The naming authority, which assigns opaque strings: `IANA:42117`."""
        return self.scheme if self.individual is None else f"{self.scheme}:{self.individual}"

    @property
    def assigned_under(self) -> str:
        """The naming authority."""
        return self.authority

    @property
    def authority_beginning(self) -> str:
        """The label and the naming authority, with the colons before the opaque string."""
        return f"URN:{self.authority}::"

    @property
    def key(self) -> str:
        """`urn1993:`, the authority, and the opaque string in lower case."""
        return f"urn1993:{self.authority}::{self.opaque.lower()}"  # ruling: urn93-equal

    @classmethod
    def from_key(cls, key: str) -> Urn1993:
        """Return the URN that has this key, with its opaque string in lower case.

        Raises MalformedIdentifier if `key` is not the key of a URN of 1993.
        """
        text = f"URN:{key.removeprefix('urn1993:')}:::"
        match = _NAME.fullmatch(text)
        if match is None or not key.startswith("urn1993:"):
            raise MalformedIdentifier(
                text=key, at=0, expected="urn1993:<scheme>::<opaque>", rule=_SYNTAX
            )
        return cls(match[1], match[2], match[3], text)


def parse_urn1993(text: str) -> Urn1993:
    """Parse a URN of 1993 in one of the draft's two naming schemes. Raises MalformedIdentifier."""
    return _parse_known(_DRAFT, text)


def _read_plain_urn1993(text: str) -> PlainName | None:
    plain = _PLAIN_NAME.fullmatch(text)
    return None if plain is None else PlainName(f"urn1993:{plain[1]}{plain[2].lower()}", text)


def register_scheme(
    name: str, check: Callable[[str], bool], *, expected: str = "an individual identifier"
) -> Scheme:
    """Return a further naming scheme, to be installed as an entry point in `perdure.schemes`.

    `name` is its canonical spelling. `check` returns True if an individual identifier (never empty,
    and only letters, digits and `-_.@`) belongs to this scheme. `expected` describes such an
    identifier in messages. Raises InvalidRequest if the draft's grammar forbids the name.

    >>> acme = register_scheme("ACME", str.isdigit, expected="a number")
    >>> acme.prefixes, str(acme.parse("urn:acme:1::x:::"))
    (('urn:acme:',), 'URN:ACME:1::x:::')
    """
    if not _XALPHAS.fullmatch(name):
        raise MalformedSchemeName(name=name)
    naming = _Naming(name, check, expected)
    return Scheme(
        name=f"{Urn1993.kind}-{name.lower()}",
        prefixes=(naming.prefix,),
        spec=_SPEC,
        parse=partial(_parse_known, (naming,)),
        equivalent=_are_equivalent,
        examples=(),
        endings=_ENDINGS,
    )


# ruling: urn93-schemes
_DRAFT = (
    _Naming(
        "IANA",
        lambda individual: re.fullmatch("[0-9]+", individual) is not None,
        "an enterprise number, in digits",
    ),
    _Naming(
        "ISBN_Publisher_ID",
        lambda individual: re.fullmatch("[0-9]{1,5}(?:_[0-9]{1,7})+", individual) is not None,
        "the group and publisher of an ISBN, digits joined by '_'",
    ),
)


def _parse_known(known: tuple[_Naming, ...], text: str) -> Urn1993:
    match = _NAME.fullmatch(text)
    naming = _find_naming(known, match[1]) if match else None
    if match is None or naming is None or not naming.has_individual(match[2]):
        raise _find_fault(text, known)
    return Urn1993(naming.name, match[2], match[3], text)


def _find_naming(known: tuple[_Naming, ...], name: str) -> _Naming | None:
    return next((each for each in known if each.name.lower() == name.lower()), None)


def _are_equivalent(one: Identifier, other: Identifier) -> bool:
    return one == other  # the draft has no wider rule


def read_authority(text: str) -> str:
    """Read a naming authority; its scheme is returned in the draft's spelling.

    Raises MalformedIdentifier.

    >>> read_authority("iana:42117")
    'IANA:42117'
    """
    return parse_urn1993(f"URN:{text}::x:::").authority


def _find_requested_authority(text: str) -> str | None:
    """Return the naming authority of `URN:<authority>::`.

    None for any other text, because a URN of RFC 8141 may also end in `::`.
    """
    if text[:4].lower() == "urn:" and text.endswith("::"):
        with suppress(MalformedIdentifier):
            return parse_urn1993(f"{text}x:::").authority
    return None


def _spell_name(new: NewName) -> Urn1993:
    return parse_urn1993(f"URN:{new.authority}::{new.text}:::")


SCHEME = Scheme(
    name=Urn1993.kind,
    prefixes=tuple(naming.prefix for naming in _DRAFT),
    spec=_SPEC,
    parse=parse_urn1993,
    equivalent=_are_equivalent,
    examples=("URN:IANA:42117::opaque-1:::", "URN:ISBN_Publisher_ID:0_201_12::x1:::"),
    labels=(Label(text="urn:", datacite_type="URN"),),
    folds_case=True,
    endings=_ENDINGS,
    plain_spellings=tuple((f"URN:{naming.name}:", _read_plain_urn1993) for naming in _DRAFT),
    minting=Minting(
        kind="naming authority",
        setting="naming_authorities",
        read_authority=read_authority,
        requested_authority=_find_requested_authority,
        asks_only=True,
        spell=_spell_name,
    ),
)


def _find_fault(text: str, known: tuple[_Naming, ...]) -> MalformedIdentifier:
    """Find where and why `text`, which `_parse_known` refused, stops being a URN of 1993."""

    def make_error(at: int, expected: str, rule: str = _SYNTAX) -> MalformedIdentifier:
        return MalformedIdentifier(text=text, at=at, expected=expected, rule=rule)

    start = find_stray(text, ("urn:",))
    if start < len("urn:"):
        return make_error(start, "'URN:'")
    end = find_reach(_XALPHAS, text, start)
    naming = _find_naming(known, text[start:end])
    if naming is None:
        names = " or ".join(each.name for each in known)
        return make_error(start, f"the naming scheme {names}", "ruling urn93-schemes")

    if not text.startswith("::", end):
        if not text.startswith(":", end):
            return make_error(
                end, "':' and an individual identifier, or '::' and the opaque string"
            )
        start = end + 1
        end = find_reach(_XALPHAS, text, start)
        if end == start:
            return make_error(start, "a letter, digit or one of -_.@ (individual identifier)")
        if not naming.has_individual(text[start:end]):
            return make_error(start, naming.expected, "ruling urn93-schemes")
        if not text.startswith("::", end):
            at = end + text.startswith(":", end)
            return make_error(
                at, "more of the individual identifier, or '::' and the opaque string"
            )

    start = end + len("::")
    end = find_reach(_XALPHAS, text, start)
    if end == start:
        return make_error(start, "a letter, digit or one of -_.@ (opaque string)")
    return make_error(
        find_reach(_TRAILER, text, end), "':::' after the opaque string, and nothing more"
    )
