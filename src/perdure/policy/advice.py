"""Granularity: advice to cite a part, or to use an existing name, instead of minting. Pure.

Specification: ISO 24619 section 6.2: "If there is an existing identifier scheme for a type of
resources, for instance, ISBN, this level of granularity should be retained, which is to say that no
new PIDs should be issued without very good reasons, such as for chapters. Chapters would preferably
be addressed using part identifiers in conjunction with the PID of the book."

How it works: `find_names` finds ISBN, ISSN, DOI and handles in the description of a resource
(metadata, file name, address) and verifies their check digits; `list_advice` makes one `Advice` of
each fact that the caller has found: the same bytes, bytes within others, an address within another.
"These recommendations are, however, subject to the needs of resource creators": nothing is refused.

What must stay true: digits are not a name without a valid check digit or, if they are ambiguous,
without a word that says what they are; the time is proportional to the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from perdure.ids import find_label

_RULE = "ISO 24619 section 6.2"
_LONGEST = 4096  # characters of one text that are searched
_SHORTEST_SLICE = 64
"""Bytes; a shorter slice may occur in any file by chance."""

# A printed ISBN has hyphens and blanks at any place (ISO 2108); runs are bounded on purpose.
_ISBN_13 = re.compile(r"(?<![0-9-])97[89](?:[ -]?[0-9]){10}(?![0-9])", re.ASCII)
_ISBN_10 = re.compile(
    r"isbn(?:-?10)?[\s:=_-]{0,3}([0-9](?:[ -]?[0-9]){8}[ -]?[0-9Xx])(?![0-9])",
    re.ASCII | re.IGNORECASE,
)
_ISSN = re.compile(
    r"(?:e-?|p-?)?issn(?:-l)?[\s:=_/-]{0,3}([0-9]{4}-?[0-9]{3}[0-9Xx])(?![0-9])",
    re.ASCII | re.IGNORECASE,
)
_BARE_ISSN = re.compile(r"\s*([0-9]{4}-[0-9]{3}[0-9Xx])\s*", re.ASCII)
_DOI = re.compile(
    r"(?:\bdoi:\s?|doi\.org/|^\s*)(10\.[0-9]{4,9}(?:\.[0-9]{1,9}){0,4}/[!-~]{1,500})",
    re.ASCII | re.IGNORECASE,
)
_HANDLE = re.compile(
    r"(?:\bhdl:\s?|hdl\.handle\.net/)([0-9A-Za-z.-]{1,60}/[!-~]{1,500})", re.ASCII | re.IGNORECASE
)
_END_OF_SENTENCE = ".,;:)]}>\"'"


class ExistingName(msgspec.Struct, frozen=True):
    """An identifier that a resource already has."""

    scheme: str
    """`ISBN`, `ISSN`, `DOI` or `Handle`."""
    value: str
    """In its current form: an ISBN with 13 digits, a DOI in lower case."""


class Slice(msgspec.Struct, frozen=True):
    """The bytes to be minted are the bytes [start, stop) of a resource that is held."""

    identifier: str
    start: int
    stop: int


class AddressFragment(msgspec.Struct, frozen=True):
    """The given address is within an address to which an identifier is bound."""

    identifier: str
    fragment: str


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of advice."""

    kind: str
    """`same-bytes`, `slice`, `fragment` or `named`."""
    use: str
    """The identifier, or the part of one, to use instead."""
    text: str
    """The advice as a sentence for people."""
    rule: str = _RULE


def list_advice(
    *,
    same: Iterable[str] = (),
    slices: Iterable[Slice] = (),
    fragments: Iterable[AddressFragment] = (),
    names: Iterable[ExistingName] = (),
) -> tuple[Advice, ...]:
    """The advice for a mint. `same`: identifiers of exactly these bytes."""
    return (
        *(
            Advice(
                kind="same-bytes",
                use=one,
                text=f"these bytes are already held as {one}: use it, or make it an alias",
            )
            for one in dict.fromkeys(same)
        ),
        *(
            Advice(
                kind="slice",
                use=f"{one.identifier}#byte={one.start},{one.stop}",
                text=f"these are the bytes {one.start} to {one.stop} of {one.identifier}: "
                f"you can cite them as {one.identifier}#byte={one.start},{one.stop}",
            )
            for one in dict.fromkeys(slices)
            if one.stop - one.start >= _SHORTEST_SLICE
        ),
        *(
            Advice(
                kind="fragment",
                use=f"{one.identifier}#{one.fragment}",
                text=f"the address is a part of {one.identifier}: "
                f"you can cite it as {one.identifier}#{one.fragment}",
            )
            for one in dict.fromkeys(fragments)
        ),
        *(
            Advice(
                kind="named",
                use=f"{_find_prefix(one.scheme)}{one.value}",
                text=f"it already has the {one.scheme} {one.value}: use that name, "
                "and cite its chapters as parts",
            )
            for one in dict.fromkeys(names)
        ),
    )


def _find_prefix(datacite_type: str) -> str:
    label = find_label(datacite_type)
    return "" if label is None else label.text


# names
# -----


def find_names(text: str, *, about: str = "") -> tuple[ExistingName, ...]:
    """The identifiers of other schemes in a text. `about`: its kind, such as the name of a field.

    >>> find_names("Roald Dahl, ISBN 978-0-14-032872-1.pdf")
    (ExistingName(scheme='ISBN', value='9780140328721'),)
    >>> (find_names("978-0-14-032872-2"), find_names("0378-5955"),
    ...  find_names("0378-5955", about="issn"))
    ((), (), (ExistingName(scheme='ISSN', value='0378-5955'),))
    """
    return tuple(dict.fromkeys(_scan_names(text[:_LONGEST], about.lower())))


def _scan_names(text: str, about: str) -> Iterator[ExistingName]:
    for found in _ISBN_13.finditer(text):
        digits = re.sub("[ -]", "", found[0])
        if _is_ean(digits):
            yield ExistingName("ISBN", digits)
    labelled = f"isbn {text}" if "isbn" in about else text
    for found in _ISBN_10.finditer(labelled):
        digits = re.sub("[ -]", "", found[1]).upper()
        if _is_modulus_11(digits):
            yield ExistingName("ISBN", _extend_isbn(digits))
    bare = _BARE_ISSN.fullmatch(text) if "issn" in about else None
    for found in filter(None, (*_ISSN.finditer(text), bare)):
        digits = found[1].replace("-", "").upper()
        if _is_modulus_11(digits):
            yield ExistingName("ISSN", f"{digits[:4]}-{digits[4:]}")
    for scheme, pattern in (("DOI", _DOI), ("Handle", _HANDLE)):
        for found in pattern.finditer(text):
            value = found[1].rstrip(_END_OF_SENTENCE)
            yield ExistingName(scheme, value.lower() if scheme == "DOI" else value)


def _is_ean(digits: str) -> bool:
    """ISO 2108 annex C: weights 1 and 3 in turn, the sum a multiple of 10."""
    return sum(int(one) * (3 if at % 2 else 1) for at, one in enumerate(digits)) % 10 == 0


def _is_modulus_11(digits: str) -> bool:
    """ISO 3297 annex A, and ISBN before 2007: weights down to 1, `X` for 10."""
    values = (10 if one == "X" else int(one) for one in digits)
    return sum(value * (len(digits) - at) for at, value in enumerate(values)) % 11 == 0


def _extend_isbn(isbn_10: str) -> str:
    """The ISBN of 13 digits for an ISBN of 10 digits."""
    body = f"978{isbn_10[:9]}"
    rest = sum(int(one) * (3 if at % 2 else 1) for at, one in enumerate(body)) % 10
    return f"{body}{-rest % 10}"
