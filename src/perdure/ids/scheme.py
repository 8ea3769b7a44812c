"""A scheme, as data: everything that perdure knows of a kind of identifiers.

How it works: `Scheme` says which texts belong to it and how they are read. Its `labels` say how
the rest of the world writes and resolves its names. Its `minting` says how new names are made and
under which kind of authority; a scheme without `minting` only takes names that others made. All
fields but the first few have defaults, so that a new scheme states only what is special about it.

What must stay true: no module outside `perdure.ids` knows a scheme by name in order to answer a
question that a field here answers.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.ids.identifier import Identifier

BETANUMERIC = "0123456789bcdfghjkmnpqrstvwxz"
"""Digits and consonants without l: they form no words, and there is a prime number of them, 29."""


class Authority(msgspec.Struct, frozen=True, order=True):
    """An authority that assigns names: a series, a shoulder, a naming authority.

    >>> str(Authority("ark", "99999/fk4"))
    '99999/fk4'
    """

    scheme: str
    """The name of the scheme that it assigns names of."""
    name: str
    """Its name, as settings, tokens and commands write it."""

    def __str__(self) -> str:
        return self.name


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """How the world uses the names of a scheme whose canonical text begins with one label."""

    text: str
    """The label with its colon, in lower case: `doi:`, `urn:nbn:`."""
    datacite_type: str
    """DataCite's type of such identifiers, in the spelling of its controlled list if it has one."""
    resolver: str = ""
    """The public resolver, to whose URL the name is appended; empty if there is none."""
    is_dropped: bool = False
    """Whether the resolver and DataCite take the name without the label."""


class NewName(msgspec.Struct, frozen=True, kw_only=True):
    """The ingredients of a new name. A scheme uses those that its names consist of."""

    authority: str
    text: str
    """The text that was asked for, or a random one."""
    day: str
    """The day of minting, `2026/11/21`."""
    format: str
    """The format of the first document."""


class Minting(msgspec.Struct, frozen=True, kw_only=True):
    """How the names of a scheme are made."""

    kind: str
    """The kind of authority that assigns them, for messages: `ARK shoulder`."""
    setting: str = "authorities"
    """The setting that lists the authorities of this scheme."""
    read_authority: Callable[[str], str]
    """The canonical name of an authority. Raises ValueError, as MalformedIdentifier is."""
    requested_authority: Callable[[str], str | None]
    """The authority that a text asks to mint under (`pdi://oma.eop.gov.us/`), in its canonical
    form; None if the text does not ask for a new name."""
    asks_only: bool = False
    """Whether such a request can be nothing else, even if the authority is not known."""
    spell: Callable[[NewName], Identifier]
    """Makes a name. Raises MalformedIdentifier for a text that no name of the scheme can have."""
    is_numbered: bool = False
    """Whether the registry numbers the names of each day and authority without gaps."""
    beginning: str = ""
    """The text with which all names of an `{authority}` and a `{day}` (`2026/11/21`) begin; empty
    if they have no such text in common."""
    alphabet: str = BETANUMERIC
    """The characters of which a random text consists."""
    length: int = 9
    """The number of characters of a random text. With 29 letters: 14 million million texts."""


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """One identifier scheme, as data."""

    name: str
    prefixes: tuple[str, ...]
    """Lower case ASCII, each with a colon in it; compared with the text without regard to case.
    The longest match among all schemes wins."""
    spec: str
    """The specification of the scheme."""
    parse: Callable[[str], Identifier]
    """Text to value. Raises MalformedIdentifier and nothing else."""
    parse_checks_limits: bool = False
    """Whether `parse` itself refuses what ruling pdi-limits forbids; else it is done before."""
    equivalent: Callable[[Identifier, Identifier], bool]
    """The scheme's own, wider comparison of two of its values that are not equal."""
    examples: tuple[str, ...]
    labels: tuple[Label, ...] = ()
    """The labels of canonical texts. A text has the first one that it begins with."""
    is_uri: bool = True
    """Whether names stand in a URL as they are. If not, they are percent-escaped there."""
    folds_case: bool = False
    """Whether names are compared without regard to the case of letters of ASCII."""
    has_patterns: bool = False
    """Whether a `*` in a name stands for many names."""
    part_mark: str = ""
    """The mark in front of a part in a name, if the scheme says itself what its parts mean."""
    delimiters: tuple[str, ...] = ()
    """The marks at which a name without a record may be taken apart into a whole and a part.
    `%23` is the `#` that a browser would have kept to itself."""
    passes_rest: bool = False
    """Whether the rest behind a registered beginning is appended to its location."""
    has_inflections: bool = False
    """Whether a final `?` or `??` asks for a description."""
    minting: Minting | None = None
    """How new names are made; None if the names of the scheme are made elsewhere only."""

    def label_of(self, identifier: Identifier) -> Label:
        """The label of an identifier of this scheme.

        If no label is listed for it, the name of the scheme stands for DataCite's type.
        """
        text = str(identifier)
        for label in self.labels:
            if text[: len(label.text)].lower() == label.text:
                return label
        return Label(text="", datacite_type=self.name)
