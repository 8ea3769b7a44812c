"""A scheme, as data: everything that perdure knows about one kind of identifier.

How it works: `Scheme` defines which texts belong to it and how they are parsed. Its `labels` define
how other systems write and resolve its names. Its `minting` defines how new names are made and
under which kind of authority; a scheme without `minting` only accepts names made elsewhere. All
fields but the first few have defaults, so a new scheme states only its special features.

What must stay true: no module outside `perdure.ids` tests for a scheme's name to answer a question
that a field here answers.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.ids.identifier import Identifier

BETANUMERIC = "0123456789bcdfghjkmnpqrstvwxz"
"""Digits and consonants without l: they form no words, and there is a prime number of them, 29."""


class Authority(msgspec.Struct, frozen=True, order=True):
    """An authority that assigns names: a series, a shoulder or a naming authority.

    >>> str(Authority("ark", "99999/fk4"))
    '99999/fk4'
    """

    scheme: str
    """The name of the scheme of its names."""
    name: str
    """The name of the authority, as settings, tokens and commands write it."""

    def __str__(self) -> str:
        return self.name


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """The use of a scheme's names in other systems, for names that begin with one label."""

    text: str
    """The label with its colon, in lower case: `doi:`, `urn:nbn:`."""
    datacite_type: str
    """DataCite's type of such identifiers, spelled as in its controlled list if it is there, or
    the name of the scheme in capitals."""
    resolver: str = ""
    """The URL of the public resolver, to which the name is appended, for schemes of other packages;
    those of perdure are listed in `perdure.ids.public_resolvers`."""
    is_dropped: bool = False
    """True if the resolver and DataCite take the name without the label."""


class NewName(msgspec.Struct, frozen=True, kw_only=True):
    """The components of a new name. A scheme uses those that its names contain."""

    authority: str
    text: str
    """The requested text, or a random one."""
    day: str
    """The day of minting, `2026/11/21`."""
    format: str
    """The format of the first document; empty if the name is only reserved."""


class Minting(msgspec.Struct, frozen=True, kw_only=True):
    """The rules for making new names of a scheme."""

    kind: str
    """The kind of authority that assigns them, for messages: `ARK shoulder`."""
    setting: str = "authorities"
    """The setting that lists the authorities of this scheme."""
    read_authority: Callable[[str], str]
    """Returns the canonical name of an authority. Raises ValueError or MalformedIdentifier."""
    requested_authority: Callable[[str], str | None]
    """Returns the canonical form of the authority under which a text requests a new name
    (`pdi://oma.eop.gov.us/`); None if the text does not request a new name."""
    asks_only: bool = False
    """True if such a text can only be a request for a name, even if the authority is unknown."""
    spell: Callable[[NewName], Identifier]
    """Makes a name. Raises MalformedIdentifier for a text that no name of the scheme allows."""
    is_numbered: bool = False
    """True if the registry numbers the names of each day and authority without gaps."""
    beginning: str = ""
    """The common beginning of all names of an `{authority}` and a `{day}` (`2026/11/21`); empty if
    there is none."""
    alphabet: str = BETANUMERIC
    """The characters of a random text."""
    length: int = 9
    """The number of characters of a random text. With 29 letters: 14 million million texts."""


class PlainName(msgspec.Struct, frozen=True, gc=False):
    """A name without a part, as far as a request needs it."""

    key: str
    """Identity of the record (`Identifier.key`)."""
    path: str
    """The name as part of the path of a URL (`Identifier.path`)."""


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """One identifier scheme, as data."""

    name: str
    prefixes: tuple[str, ...]
    """Lower-case ASCII, each with a colon; compared with the text without regard to case. The
    longest match among all schemes wins."""
    spec: str
    """The specification of the scheme."""
    parse: Callable[[str], Identifier]
    """Converts text to a value. Raises only MalformedIdentifier."""
    parse_checks_limits: bool = False
    """True if `parse` itself enforces ruling pdi-limits; otherwise its caller does so before."""
    equivalent: Callable[[Identifier, Identifier], bool]
    """The scheme's own, wider comparison of two of its values that are not equal."""
    examples: tuple[str, ...]
    labels: tuple[Label, ...] = ()
    """The labels of canonical texts. The first one that begins a text is its label."""
    is_uri: bool = True
    """True if names are written in a URL unchanged. Otherwise, they are percent-escaped there."""
    folds_case: bool = False
    """True if names are compared without regard to the case of ASCII letters."""
    has_patterns: bool = False
    """True if a `*` in a name stands for many names."""
    part_mark: str = ""
    """The mark in front of a part in a name, if the scheme itself defines its parts."""
    endings: tuple[tuple[str, str], ...] = (("x", "x"),)
    """Texts that complete the beginning of a name, each with the end that its key has then."""
    delimiters: tuple[str, ...] = ()
    """The marks at which a name without a record may be split into a whole and a part. `%23` is an
    escaped `#`, which a browser would not send."""
    passes_rest: bool = False
    """True if the text after a registered beginning is appended to its location."""
    has_inflections: bool = False
    """True if a final `?` or `??` asks for a description."""
    plain_spellings: tuple[tuple[str, Callable[[str], PlainName | None]], ...] = ()
    """Beginnings of names in their usual spelling, each with a function that reads such a name
    without parsing it; it returns None for every name that is spelled in another way."""
    minting: Minting | None = None
    """The rules for new names; None if names of the scheme are made only elsewhere."""

    def label_of(self, identifier: Identifier) -> Label:
        """Return the label of an identifier of this scheme.

        If no label is listed for it, the name of the scheme replaces DataCite's type.
        """
        text = str(identifier)
        for label in self.labels:
            if text[: len(label.text)].lower() == label.text:
                return label
        return Label(text="", datacite_type=self.name)
