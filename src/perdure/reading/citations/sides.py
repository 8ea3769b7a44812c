"""The values that the comparisons of all media share: a side of a citation, and what was found."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from perdure.errors import (
    MissingLibrary,
    OverBudget,
    PartNotSupported,
    PerdureError,
    Undecodable,
)
from perdure.extractors.port import Part, Source
from perdure.ids import Identifier
from perdure.model.verdicts import Comparison, Excerpt, Verdict
from perdure.parts import Selector


class Side(NamedTuple):
    """A document of a citation that is held here, and its cited part."""

    identifier: Identifier
    """With the part, as it was requested."""
    source: Source
    selector: Selector | None
    """None for the complete document."""
    part: Part | None = None
    """The cited part, if it was cut already and can be read again."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of comparing the two sides of a citation."""

    comparison: Comparison
    unit: str
    part: Selector | None = None
    """The passage in the citing document; None if nothing is there."""
    extent: int = 0
    moved: str | None = None
    """If elsewhere, the right origin."""
    passage: Excerpt | None = None
    quoted: Excerpt | None = None
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        return self.comparison.verdict


NOTHING = Comparison(verdict=Verdict.ABSENT)


class SideUnreadable(Exception):
    """A side of a citation exists, but cannot be read. It does not leave this package."""

    def __init__(self, side: Identifier, reason: str) -> None:
        super().__init__(reason)
        self.side = side
        self.reason = reason


@contextlib.contextmanager
def blame(side: Identifier) -> Iterator[None]:
    """Turn an error that says that a document cannot be read into SideUnreadable."""
    try:
        yield
    except (MissingLibrary, OverBudget, PartNotSupported, Undecodable) as error:
        raise SideUnreadable(side, _word(error)) from None


def _word(error: PerdureError) -> str:
    """Return the problem in words, without advice for the request that was not made."""
    return error.problem()


def note_exact(unit: str) -> str:
    """Return what it means that decoded content is not equal."""
    return (
        f"the comparison is exact, {unit} for {unit}: content that was encoded again with loss has "
        f"other {unit}s, however alike it looks or sounds"
    )


def note_forms(unit: str, cited: str, citing: str) -> str:
    """Return why units in different forms cannot be equal."""
    return (
        f"the comparison is exact, {unit} for {unit}, and these {unit}s are stored in different "
        f"forms: {cited} in the cited part, {citing} in the citing document"
    )
