"""Identifiers: text in, frozen value out, for every scheme that perdure knows.

How it works: each scheme is one module that defines a `Scheme`. A `Scheme` is data: the prefixes,
the parser, and the rules for writing, resolving and minting names (`perdure.ids.scheme`). `parse`
finds the longest prefix that begins the text and calls that scheme's parser; it never guesses from
the rest of the text. Built-in schemes and those of other packages are found in the same way, as
entry points in the group `perdure.schemes`.

Several schemes share `urn:`, and only the prefix distinguishes them: `urn:pdi:` and `urn:pwid:`
belong to those schemes, `urn:iana:` and `urn:isbn_publisher_id:` (neither of which is a namespace
registered under RFC 8141) to the URN of 1993, every other `urn:` to RFC 8141. The RFC 8141 parser
refuses a name in the closed form of 1993, `urn:acme:1::x:::`, because its scheme is not registered
here.

What must stay true: a parser raises nothing but `MalformedIdentifier`; `parse(str(x)) == x`;
equal identifiers have equal `key`s; code outside this package never handles an identifier as a
string.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from perdure.errors import MalformedIdentifier, UnknownScheme
from perdure.ids.grammar import LONGEST, check_limits
from perdure.ids.identifier import ArchivedItem, Identifier, Version
from perdure.ids.scheme import Authority, Label, Minting, Scheme
from perdure.ids.wrapping import list_guesses
from perdure.plugins import InvalidClaim, load_plugins

__all__ = [
    "LONGEST",
    "ArchivedItem",
    "Authority",
    "Identifier",
    "Label",
    "Minting",
    "Scheme",
    "Version",
    "are_equivalent",
    "find_label",
    "find_meant",
    "find_scheme",
    "load_schemes",
    "parse",
    "scheme_of",
]

_Claims = tuple[int, tuple[tuple[str, Scheme], ...]]
"""The length of the longest of several prefixes; and each with its scheme."""
_Parser = Callable[[str], Identifier]


_PREFIX = re.compile("[a-z][a-z0-9+.-]*:[!-~]*")


@cache
def load_schemes() -> dict[str, Scheme]:
    """Return all installed schemes by name.

    A scheme of another package is logged and ignored if it cannot be loaded, or if it claims a name
    or a prefix of another scheme.
    """
    found = load_plugins("perdure.schemes", Scheme, _list_claims)
    return {plugin.value.name: plugin.value for plugin in found}


def _list_claims(scheme: Scheme) -> tuple[str, ...]:
    """Return the name and the prefixes of a scheme. Raises InvalidClaim."""
    for prefix in scheme.prefixes:
        if prefix.lower() != prefix or not _PREFIX.fullmatch(prefix):
            raise InvalidClaim("prefix", prefix)
    return scheme.name, *scheme.prefixes


def parse(text: str) -> Identifier:
    """Parse an identifier of any scheme.

    Raises MalformedIdentifier if its scheme does not allow the text, or if the text is empty, has
    more than 8192 characters, or contains control characters or spaces. Raises UnknownScheme if
    the text does not begin with the prefix of a scheme.

    >>> str(parse("urn:pdi://OMA.eop.gov.us/1999/9/16/15.text.1"))
    'pdi://oma.eop.gov.us/1999/09/16/15.text.1'
    """
    return _find_parser(text[:_SHORT])(text)


def scheme_of(identifier: Identifier) -> Scheme:
    """Return the scheme of an identifier."""
    return load_schemes()[identifier.kind]


def find_scheme(text: str) -> Scheme | None:
    """Return the scheme whose prefix begins a text, well-formed or not, or None."""
    claims = _index_claims().get(text[:_SHORT])
    if isinstance(claims, Scheme):
        return claims
    if claims is not None and text[: claims[0]].isascii():
        beginning = text[: claims[0]].lower()
        for prefix, scheme in claims[1]:
            if beginning.startswith(prefix):
                return scheme
    _, pattern, owners = _index_prefixes()
    match = pattern.match(text)
    return owners[match.lastindex - 1] if match and match.lastindex else None


def find_label(datacite_type: str) -> Label | None:
    """Return the first label of a DataCite type, in order of scheme names, or None.

    >>> find_label("Handle").text, find_label("nothing")
    ('hdl:', None)
    """
    return _index_labels().get(datacite_type)


@cache
def _index_labels() -> dict[str, Label]:
    found: dict[str, Label] = {}
    for _, scheme in sorted(load_schemes().items()):
        for label in scheme.labels:
            found.setdefault(label.datacite_type, label)
    return found


def _parse_by_prefix(text: str) -> Identifier:
    parser = _list_shortcuts(_LONGER).get(text[:_LONGER])
    if parser is not None:
        return parser(text)
    prefixes, _, _ = _index_prefixes()
    scheme = find_scheme(text)
    if scheme is None or not scheme.parse_checks_limits:
        check_limits(text)
    if scheme is None:
        raise UnknownScheme(text=text, known=prefixes, meant=find_meant(text))
    return scheme.parse(text)


def find_meant(text: str) -> str:
    """Return the identifier that a text without a known prefix seems to mean, or an empty text.

    >>> find_meant("“pdi://oma.eop.gov.us/1997/09/01/1”")
    'pdi://oma.eop.gov.us/1997/09/01/1'
    """
    for guess in list_guesses(text):
        scheme = find_scheme(guess)
        with suppress(MalformedIdentifier):
            if scheme is not None:
                return str(scheme.parse(guess))
    return ""


@cache
def _index_prefixes() -> tuple[tuple[str, ...], re.Pattern[str], tuple[Scheme, ...]]:
    """Return all prefixes, longest first; a pattern with a group for each; and their schemes."""
    claims = [(prefix, scheme) for scheme in load_schemes().values() for prefix in scheme.prefixes]
    claims.sort(key=lambda claim: (-len(claim[0]), claim[0]))
    pattern = "|".join(f"({re.escape(prefix)})" for prefix, _ in claims)
    return (
        tuple(prefix for prefix, _ in claims),
        re.compile(pattern, re.IGNORECASE | re.ASCII),  # ASCII, or the Kelvin sign would be a k
        tuple(scheme for _, scheme in claims),
    )


_SHORT, _LONGER = len("pdi:"), len("urn:pdi:")


@cache
def _index_claims() -> dict[str, Scheme | _Claims]:
    """Return the schemes of texts by their first four characters, in lower or upper case.

    Prefixes that are longer are listed with their schemes, the longest first. Other texts need the
    pattern of all prefixes, which takes three times as long.
    """
    prefixes, _, owners = _index_prefixes()
    found: dict[str, Scheme | _Claims] = {}
    for beginning in {prefix for prefix in prefixes if len(prefix) == _SHORT}:
        claims = tuple(
            (prefix, scheme)
            for prefix, scheme in zip(prefixes, owners, strict=True)
            if prefix.startswith(beginning)
        )
        known = claims[0][1] if len(claims) == 1 else (len(claims[0][0]), claims)
        found[beginning] = found[beginning.upper()] = known
    return found


class _Shortcuts(dict[str, _Parser]):
    """Parsers by the first four characters of texts, for nearly all texts.

    The index is filled at the first look-up, because schemes are loaded from installed packages.
    """

    def __missing__(self, beginning: str) -> _Parser:
        if not self:
            self.update(_list_shortcuts(_SHORT))
        return self.get(beginning, _parse_by_prefix)


@cache
def _list_shortcuts(length: int) -> dict[str, _Parser]:
    """List the parsers for texts with these first characters, so many.

    A shortcut is safe only if the parser checks the limits itself, and no other scheme has a prefix
    that begins with the same characters.
    """
    prefixes, _, owners = _index_prefixes()
    return {
        spelling: scheme.parse
        for prefix, scheme in zip(prefixes, owners, strict=True)
        for spelling in (prefix, prefix.upper())
        if scheme.parse_checks_limits
        and len(prefix) == length
        and sum(other.startswith(prefix) for other in prefixes) == 1
    }


_find_parser = _Shortcuts().__getitem__


def are_equivalent(one: Identifier, other: Identifier) -> bool:
    """Return True if both are equal, or equivalent by their scheme's own wider rule."""
    return one == other or (
        one.kind == other.kind and load_schemes()[one.kind].equivalent(one, other)
    )
