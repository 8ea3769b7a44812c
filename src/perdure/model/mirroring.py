"""Mirrors: the change of an origin as its mirror receives it, and what a mirror needs of its bytes.

What must stay true: `SoughtContent` names the digest that was promised; bytes with another digest
are never kept, wherever they came from.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from perdure.model.changes import Change, Epoch, Line


class MirroredChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A change of an origin, with the lines that its mirror may have."""

    change: Change
    lines: tuple[Line, ...] = ()
    """As the digest covers them: without places of bytes."""
    epoch: Epoch | None = None
    """The epoch that it begins."""
    is_whole: bool = True
    """False if its other lines are not for this mirror."""


class SoughtContent(NamedTuple):
    """Bytes that a mirror needs."""

    key: str
    """The key of the record."""
    version: int
    format: str
    sha512: str
    length: int


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that a mirror found in its origin, and the evidence."""

    rule: str
    """A word for the rule that was broken; see docs/reference/mirrors.md."""
    fault: str
    """A clause that says what is wrong."""
    mark: str
    """The change at which the mirror stopped."""
    at: str = ""
    """When it was found."""
    ours: dict[str, object] | None = None
    """The row that the mirror has: the last one, or the one that the origin contradicts."""
    theirs: dict[str, object] | None = None
    """The row that the origin sent."""


class BrokenRule(Exception):
    """A change of an origin that breaks a rule."""

    def __init__(self, rule: str, fault: str, *, change: Change | None = None) -> None:
        super().__init__(fault)
        self.rule, self.fault, self.change = rule, fault, change
