"""Archival Resource Keys.

An ARK can name anything. It consists of the number of the authority that assigned it, the name that
the authority assigned, and optionally a qualifier, which leads to a component or a variant. The
server (`https://n2t.net/`) is not part of its identity. Specification: draft-kunze-ark-42.

>>> ark = parse_ark("https://n2t.net/ark:/12345/x6-np1-wh8k/c3/s5.v7.xsl")
>>> str(ark), ark.naan, ark.name, ark.qualifier
('ark:12345/x6np1wh8k/c3/s5.v7.xsl', '12345', 'x6np1wh8k', '/c3/s5.v7.xsl')
>>> parse_ark("ark:12345/x6np1wh8k?info")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedIdentifier: ... at 19 found '?info'; expected ...

How it works: one pattern checks the characters, then the steps of section 3.2 of the draft produce
the canonical form, which is also the key.

What must stay true: hyphens and the slash of the old label `ark:/` never distinguish two ARKs;
case always does, except in the label, the authority's number and the digits of percent-escapes.
An inflection (`?info`) asks a question about an ARK and is not part of it: the server removes it
before parsing.
"""

from __future__ import annotations

import re
from typing import ClassVar, Self

from msgspec.structs import replace

from perdure.errors import MalformedIdentifier
from perdure.ids import Identifier, Label, Minting, Scheme
from perdure.ids.keyed import Keyed
from perdure.ids.scheme import BETANUMERIC, NewName, PlainName
from perdure.ids.strays import find_reach, find_stray

# section 3.1: letters, digits, = ~ * + @ _ $, and with reserved meaning % - . /
# Typesetting turns hyphens into U+2010 to U+2015: these are read as hyphens.
_HYPHENS = "\\-\u2010-\u2015"
_NAAN_CHARACTER = f"[{BETANUMERIC}{BETANUMERIC.upper()}{_HYPHENS}]"
_CHARACTERS = f"(?:[A-Za-z0-9=~*+@_$./{_HYPHENS}]++|%[0-9A-Fa-f]{{2}})+"

# section 2: [https://NMA/]ark:[/]NAAN/Name[Qualifiers]
_LABEL = "(?:[Hh][Tt][Tt][Pp][Ss]?://[Nn]2[Tt]\\.[Nn][Ee][Tt]/)?[Aa][Rr][Kk]:/?"
_ARK = re.compile(f"{_LABEL}({_NAAN_CHARACTER}+)/({_CHARACTERS})")

# the usual spelling: components that begin with another character than a hyphen, none of them empty
_PLAIN_ARK = re.compile(
    rf"ark:/?([{BETANUMERIC}]++/[A-Za-z0-9=~+_$][A-Za-z0-9=~+_$-]*+"
    "(?:[./][A-Za-z0-9=~+_$][A-Za-z0-9=~+_$-]*+)*)",
    re.ASCII,
)

_HYPHEN = re.compile(f"[{_HYPHENS}]")
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_STRUCTURE = re.compile("([./])[./]+")
_PAIRS = ("//", "/.", "./", "..")
_BASE_NAME = re.compile("[^./]+")


class Ark(Keyed, frozen=True, gc=False):
    """An ARK in canonical form: the authority, the name it assigned, and the qualifier."""

    kind: ClassVar[str] = "ark"

    naan: str
    """The Name Assigning Authority Number, lower case."""
    name: str
    """The name that the authority assigned, without hyphens."""
    qualifier: str
    """The component and variant (`/c3/s5.v7.xsl`); empty if the ARK names the whole resource."""
    written: str

    def __str__(self) -> str:
        return f"ark:{self.naan}/{self.name}{self.qualifier}"

    @property
    def base(self) -> Self:
        """The ARK without its qualifier, as the authority assigned it."""
        return replace(self, qualifier="") if self.qualifier else self

    @property
    def assigned_under(self) -> str:
        """The text after the label. It begins with the shoulder."""
        return str(self).removeprefix("ark:")

    @property
    def authority_beginning(self) -> str:
        """The label, the authority's number and the slash."""
        return f"ark:{self.naan}/"

    @property
    def key(self) -> str:
        """The canonical text. A qualified ARK has its own record."""
        return str(self)

    @classmethod
    def from_key(cls, key: str) -> Ark:
        """Return the ARK that has this key. Raises MalformedIdentifier for other texts."""
        return parse_ark(key)


def parse_ark(text: str) -> Ark:
    """Read an ARK. Raises MalformedIdentifier."""
    match = _ARK.fullmatch(text)
    if match is None:
        raise _find_fault(text)
    naan, rest = match.groups()
    # section 3.2; the pattern does steps 1 to 3 (host, query, label)
    naan = _drop_hyphens(naan).lower()  # steps 4 and 6
    if "%" in rest:
        rest = _ESCAPE.sub(lambda escape: escape[0].upper(), rest)  # step 5
    rest = _drop_hyphens(rest)  # step 6
    if any(pair in rest for pair in _PAIRS):
        rest = _STRUCTURE.sub(r"\1", rest)
    rest = rest.strip("./")  # step 8
    base_name = _BASE_NAME.match(rest)
    if not naan or base_name is None:
        raise _find_fault(text)
    return Ark(naan, base_name[0], rest[base_name.end() :], text)


def _read_plain_ark(text: str) -> PlainName | None:
    plain = _PLAIN_ARK.fullmatch(text)
    if plain is None:
        return None
    name = f"ark:{plain[1].replace('-', '')}"
    return PlainName(name, name)


def _drop_hyphens(text: str) -> str:
    """Return a text without hyphens. An unknown ARK is read up to 81 times, so this is fast."""
    return text.replace("-", "") if text.isascii() else _HYPHEN.sub("", text)


def _are_equivalent(one: Identifier, other: Identifier) -> bool:
    return one == other  # section 3.2 has no wider rule


def read_shoulder(text: str) -> str:
    """Read an authority's number and the beginning of its names, without hyphens.

    Raises ValueError.

    >>> read_shoulder("ark:/99999/FK-4")
    '99999/FK4'
    """
    label = "" if text[:4].lower() == "ark:" else "ark:"
    found = parse_ark(f"{label}{text}x")
    if found.qualifier:
        raise ValueError("a shoulder is the beginning of a name, so it cannot contain '/' or '.'")
    return f"{found.naan}/{found.name[:-1]}"


def _find_requested_shoulder(text: str) -> str | None:
    """Return the text after the label if it can be a shoulder. A name may look the same."""
    return text[4:].lstrip("/") if text[:4].lower() == "ark:" else None


def _spell_name(new: NewName) -> Ark:
    """Return the new ARK on a shoulder, with its check character."""
    name = f"{new.authority}{new.text}"
    return parse_ark(f"ark:{name}{compute_check_character(name)}")


SCHEME = Scheme(
    name=Ark.kind,
    prefixes=("ark:", "https://n2t.net/ark:", "http://n2t.net/ark:"),
    spec="draft-kunze-ark-42",
    parse=parse_ark,
    equivalent=_are_equivalent,
    examples=("ark:12345/x6np1wh8k/c3/s5.v7.xsl", "ark:13030/xf93gt2q"),
    labels=(Label(text="ark:", datacite_type="ARK"),),
    delimiters=("%23", "/", "."),
    plain_spellings=(("ark:", _read_plain_ark),),
    passes_rest=True,
    has_inflections=True,
    minting=Minting(
        kind="ARK shoulder",
        setting="shoulders",
        read_authority=read_shoulder,
        requested_authority=_find_requested_shoulder,
        spell=_spell_name,
    ),
)


# the NOID check digit algorithm
# ------------------------------


def compute_check_character(text: str) -> str:
    """Return the character that protects the check zone `text`, `NAAN/name`, against typing errors.

    It changes with any single wrong character and any two exchanged characters, if the zone is
    shorter than 29 characters. Source: NOID CHECK DIGIT ALGORITHM in the manual of `noid`.

    >>> compute_check_character("13030/xf93gt2")
    'q'
    """
    # "/" and all other characters that are not betanumeric have the value 0, but count as a place
    values = (max(BETANUMERIC.find(character), 0) for character in text)
    total = sum(place * value for place, value in enumerate(values, start=1))
    return BETANUMERIC[total % len(BETANUMERIC)]


# finding the fault
# ------------------

_NAAN = re.compile(f"{_NAAN_CHARACTER}+")
_NAME = re.compile(_CHARACTERS)


def _find_fault(text: str) -> MalformedIdentifier:
    """Find where and why `text`, which `parse_ark` refused, stops being an ARK."""

    def make_error(at: int, expected: str, section: str) -> MalformedIdentifier:
        return MalformedIdentifier(
            text=text, at=at, expected=expected, rule=f"{SCHEME.spec} section {section}"
        )

    naan = find_reach(re.compile(_LABEL), text, 0)
    if not naan:
        return make_error(find_stray(text, SCHEME.prefixes), "'ark:'", "2.2")
    end = find_reach(_NAAN, text, naan)
    if not _HYPHEN.sub("", text[naan:end]):
        return make_error(end, "the authority's number: digits and consonants except l", "2.3")
    if text[end : end + 1] != "/":
        return make_error(
            end, "a digit or consonant (except l) of the authority's number, or '/'", "2.3"
        )
    name = end + 1
    end = find_reach(_NAME, text, name)
    if end == len(text):
        return make_error(end, "a name with more than '/', '.' and hyphens", "2.4")
    return make_error(end, "a letter, digit, %hh or one of =~*+@_$-./", "3.1")
