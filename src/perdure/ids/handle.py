"""Handles, and among them DOIs.

A Handle consists of a prefix, which the Handle System assigns to an organization, a slash, and any
name that the organization chooses. A DOI is a Handle whose prefix begins with `10.`.
Specifications: RFC 3650 and 3651, ISO 26324 (DOI), RFC 4452 (`info:`).

>>> doi = parse_handle("https://dx.doi.org/10.1000/ABC%23d")
>>> str(doi), doi.prefix, doi.suffix, doi.key
('doi:10.1000/abc#d', '10.1000', 'abc#d', 'hdl:10.1000/abc#d')
>>> doi == parse_handle("hdl:10.1000/Abc#D")
True
>>> parse_handle("doi:1839/A")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedIdentifier: ... at 5 found '839/A'; expected '10.', with ...

How it works: after `hdl:` and `doi:` every character belongs to the Handle, including `%` and `#`.
The text after a proxy's address or `info:` is part of a URI and is percent-decoded.

What must stay true: ASCII letters are compared without regard to case (RFC 3651 allows a service to
do so; ISO 26324 and the Handle System software do), all other characters exactly. The canonical
text has a label that is not decoded, so parsing it returns the same Handle. A character that no
identifier may have (a space, a control character) is refused even if it is escaped. The key is
ASCII: all other characters, and `%`, are escaped in it.
"""

from __future__ import annotations

import re
import string
from typing import ClassVar
from urllib.parse import quote, unquote

from perdure.errors import MalformedIdentifier
from perdure.ids import Identifier, Label, Scheme
from perdure.ids.grammar import LONGEST, check_limits
from perdure.ids.keyed import Keyed
from perdure.ids.scheme import PlainName
from perdure.ids.strays import find_reach, find_stray

_PREFIXES = (
    "hdl:",
    "doi:",
    "info:hdl/",
    "info:doi/",
    "https://doi.org/",
    "https://dx.doi.org/",
    "https://www.doi.org/",
    "https://hdl.handle.net/",
    "http://doi.org/",
    "http://dx.doi.org/",
    "http://www.doi.org/",
    "http://hdl.handle.net/",
)
_OPENING = re.compile("|".join(map(re.escape, _PREFIXES)), re.ASCII | re.IGNORECASE)
_NOT_DECODED = ("hdl:", "doi:")
_DOI_ONLY = ("doi:", "info:doi/")

# RFC 3651 section 3; the naming authority of the specification is the prefix of today's usage
# Handle          = NamingAuthority "/" LocalName
# NamingAuthority = *(NamingAuthority ".") NAsegment
# NAsegment       = 1*<any character but "." and "/">
# LocalName       = *<any character>
# Excluded: invisible characters (ruling: pdi-limits), and empty names.
_UNSEEN = r"\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
_SEGMENTS = rf"[^./{_UNSEEN}]+(?:\.[^./{_UNSEEN}]+)*"
_NAME = rf"[^{_UNSEEN}]+"
_HANDLE = re.compile(f"({_SEGMENTS})/({_NAME})")

# the usual spelling: visible characters of ASCII, of which nothing is decoded
_USUAL = re.compile(r"(doi|hdl):([0-9A-Za-z]++(?:\.[0-9A-Za-z]++)*)/([!-~]++)", re.ASCII)

# RFC 3986: in a URL "?" and "#" end the path
_ESCAPED = re.compile(r"(?:[^%?#]|%[0-9A-Fa-f]{2})*")

# the usual spelling: a Handle of ASCII letters, digits and marks that a URL does not escape
_PLAIN_NAME = r"([0-9A-Za-z]++(?:\.[0-9A-Za-z]++)*/[0-9A-Za-z._~:;,=+!$()/-]*[0-9A-Za-z_~-])"
_PLAIN_HANDLE = re.compile(rf"hdl:(?!10\.){_PLAIN_NAME}", re.ASCII)
_PLAIN_DOI = re.compile(rf"doi:(?=10\.){_PLAIN_NAME}", re.ASCII)

_FOLDING = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_KEPT_IN_KEY = string.punctuation.replace("%", "")


def fold_case(text: str) -> str:
    """A text with its ASCII letters in lower case, as Handles are compared.

    >>> fold_case("10.1000/\u00c9T\u00c9")
    '10.1000/\u00c9t\u00c9'
    """
    return text.lower() if text.isascii() else text.translate(_FOLDING)


class Handle(Keyed, frozen=True, gc=False):
    """A Handle or DOI. Handles that differ only in the case of ASCII letters are equal."""

    kind: ClassVar[str] = "handle"

    prefix: str
    """The prefix of the organization that assigned the name: `10.1000`, `1839`."""
    suffix: str
    """The name; in lower case for a DOI, as written for other Handles."""
    written: str

    def __str__(self) -> str:
        return f"{'doi' if self.is_doi else 'hdl'}:{self.prefix}/{self.suffix}"

    @property
    def handle(self) -> str:
        """Prefix and suffix without a label."""
        return f"{self.prefix}/{self.suffix}"

    @property
    def is_doi(self) -> bool:
        """True for a DOI: its prefix begins with `10.` (ISO 26324)."""
        return self.prefix.startswith("10.")

    @property
    def authority_beginning(self) -> str:
        """The label, the prefix and the slash."""
        return f"{'doi' if self.is_doi else 'hdl'}:{self.prefix}/"

    @property
    def key(self) -> str:
        """`hdl:` and the Handle in lower case, escaped to ASCII."""
        handle = fold_case(f"{self.prefix}/{self.suffix}")
        if handle.isascii() and "%" not in handle:  # every other visible character stays as it is
            return f"hdl:{handle}"
        return f"hdl:{quote(handle, safe=_KEPT_IN_KEY)}"

    @classmethod
    def from_key(cls, key: str) -> Handle:
        """Return the Handle that has this key, in lower case.

        Raises MalformedIdentifier if `key` is not the key of a Handle.
        """
        return parse_handle(unquote(key))


def parse_handle(text: str) -> Handle:
    """Read a Handle or DOI. Raises MalformedIdentifier."""
    usual = _USUAL.fullmatch(text)  # nearly always, and in a third of the time
    if usual is not None and len(text) <= LONGEST:
        label, prefix, suffix = usual.groups()
        if prefix.startswith("10."):
            return Handle(prefix.lower(), suffix.lower(), text)
        if label == "hdl":
            return Handle(prefix, suffix, text)
    return _read_any_spelling(text)


def _read_any_spelling(text: str) -> Handle:
    check_limits(text)
    opening = _OPENING.match(text)
    if opening is None:
        raise _find_fault(text)
    before, rest = opening[0].lower(), text[opening.end() :]
    if before not in _NOT_DECODED:
        # bytes that are not UTF-8 become surrogates, which no Handle may have
        rest = unquote(rest, errors="surrogateescape") if _ESCAPED.fullmatch(rest) else ""
    match = _HANDLE.fullmatch(rest)
    if match is None or (before in _DOI_ONLY and not rest.startswith("10.")):
        raise _find_fault(text)
    prefix, suffix = match.groups()
    if prefix.startswith("10."):  # DOIs are written in lower case
        prefix, suffix = fold_case(prefix), fold_case(suffix)
    return Handle(prefix, suffix, text)


def _read_plain_handle(text: str) -> PlainName | None:
    plain = _PLAIN_HANDLE.fullmatch(text)
    return None if plain is None else PlainName(f"hdl:{plain[1].lower()}", text)


def _read_plain_doi(text: str) -> PlainName | None:
    plain = _PLAIN_DOI.fullmatch(text)
    if plain is None:
        return None
    handle = plain[1].lower()
    return PlainName(f"hdl:{handle}", f"doi:{handle}")


def _are_equivalent(one: Identifier, other: Identifier) -> bool:
    return one == other  # there is no wider rule


SCHEME = Scheme(
    name=Handle.kind,
    prefixes=_PREFIXES,
    spec="RFC 3650, RFC 3651, ISO 26324",
    parse=parse_handle,
    parse_checks_limits=True,
    equivalent=_are_equivalent,
    examples=(
        "doi:10.1000/182",
        "hdl:1839/00-0000-0000-0009-3C7E-F",
        "https://doi.org/10.1000/182",
    ),
    labels=(
        Label(text="doi:", datacite_type="DOI", is_dropped=True),
        Label(text="hdl:", datacite_type="Handle", is_dropped=True),
    ),
    is_uri=False,
    folds_case=True,
    delimiters=("#", "@"),
    plain_spellings=(("hdl:", _read_plain_handle), ("doi:", _read_plain_doi)),
)


# finding the fault
# ------------------

_SEGMENTS_READ = re.compile(_SEGMENTS)
_NAME_READ = re.compile(_NAME)


def _find_fault(text: str) -> MalformedIdentifier:
    """Find where and why `text`, which `parse_handle` refused, stops being a Handle."""

    opening = _OPENING.match(text)
    if opening is None:
        return MalformedIdentifier(
            text=text,
            at=find_stray(text, _PREFIXES),
            expected="'hdl:', 'doi:' or the address of a proxy",
            rule="RFC 3650 and ISO 26324",
        )
    before, start = opening[0].lower(), opening.end()
    if before in _NOT_DECODED:
        end, handle, places = len(text), text[start:], list(range(start, len(text) + 1))
    else:
        end = find_reach(_ESCAPED, text, start)
        handle, places = _decode_escapes(text[start:end], start)

    rule = "RFC 3651 section 3"
    at, expected = _find_handle_end(handle)
    ten = find_stray(handle, ("10.",))
    if before in _DOI_ONLY and ten < len("10."):
        at, expected, rule = ten, "'10.', with which every DOI begins", "ISO 26324"
    if places[at] == end < len(text):
        expected, rule = "%25, %3F or %23: %, ? and # must be escaped here", "RFC 3986 section 3.3"
    return MalformedIdentifier(text=text, at=places[at], expected=expected, rule=rule)


def _find_handle_end(handle: str) -> tuple[int, str]:
    """Return the index at which `handle` stops being a Handle, and what was expected there."""
    end = find_reach(_SEGMENTS_READ, handle, 0)
    if end == 0:
        return end, "a prefix, such as 10.1000 or 1839"
    if handle[end : end + 1] != "/":
        end += handle[end : end + 1] == "."
        return end, "a visible UTF-8 character of the prefix, or '/'"
    return find_reach(_NAME_READ, handle, end + 1), "a visible UTF-8 character"


def _decode_escapes(escaped_text: str, at: int) -> tuple[str, list[int]]:
    """Return the text without escapes, and the index of each character and of the end.

    Indexes count from `at`, the index at which the escaped text begins.
    """
    handle, places = "", []
    for piece in re.findall("(?:%[0-9A-Fa-f]{2})+|[^%]+", escaped_text):
        escaped = piece.startswith("%")
        for character in unquote(piece, errors="surrogateescape"):
            handle += character
            places.append(at)
            at += 3 * len(character.encode(errors="surrogateescape")) if escaped else 1
    return handle, [*places, at]
