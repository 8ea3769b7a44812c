"""Identifiers: text in, frozen value out, for every scheme that perdure knows.

How it works: each scheme is one module that gives a `Scheme`, which is data: its prefixes, its
parser, its wider equivalence. `parse` looks for the longest prefix that the text begins with and
calls that scheme's parser; nothing is ever guessed from the rest. Built-in schemes and those of
other packages are found the same way, as entry points in the group `perdure.schemes`.

What must stay true: a parser raises nothing but `MalformedIdentifier`; `parse(str(x)) == x`;
equal identifiers have equal `key`s; past this module nobody handles an identifier as a string.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import ClassVar, Protocol, Self, runtime_checkable

import msgspec

from perdure.errors import MalformedIdentifier, UnknownScheme

LONGEST = 8192  # characters  # ruling: pdi-limits


@runtime_checkable
class Identifier(Protocol):
    """What every scheme's value offers. Values are immutable, hashable and ordered.

    `str()` is the canonical text, and `==` compares it (with the folding its scheme prescribes).
    """

    scheme: ClassVar[str]

    @property
    def written(self) -> str:
        """The text as it was received; not compared."""

    @property
    def key(self) -> str:
        """Identity and order of the record in the store: two identifiers with the same key share
        one record. For a PDI that is the generic resource, without format, version or part.
        Keys sort in listing order (PDIs chronologically, serial numbers as numbers)."""

    @property
    def whole(self) -> Self:
        """The identifier without part or citation."""

    @property
    def urn(self) -> str:
        """The same identifier as a URN, or where its scheme has no URN form, its canonical text."""


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """One identifier scheme, as data."""

    name: str
    prefixes: tuple[str, ...]
    """Lower case; compared with the lower-cased text. The longest match among all schemes wins."""
    spec: str
    """Where the scheme is specified."""
    parse: Callable[[str], Identifier]
    """Text to value. Raises MalformedIdentifier and nothing else."""
    equivalent: Callable[[Identifier, Identifier], bool]
    """The scheme's own, wider comparison of two of its values that are not equal."""
    examples: tuple[str, ...]


@cache
def schemes() -> dict[str, Scheme]:
    """All installed schemes by name."""
    found = (point.load() for point in entry_points(group="perdure.schemes"))
    return {scheme.name: scheme for scheme in found}
