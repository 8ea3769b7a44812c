"""Identifiers that are compared by their key: equality, hash and order in one place.

How it works: a scheme's value class derives from `Keyed` and says what its `key` is. Equality,
hash and order follow from it; the text as it was received never takes part.

What must stay true: equal values have equal keys, and values sort as their keys do, so that a
list sorted in memory and a listing from the store agree.
"""

from __future__ import annotations

from typing import Self

import msgspec


class Keyed(msgspec.Struct, frozen=True, gc=False, eq=False, order=False):
    """A frozen value that is equal to, and sorts with, others of its class by its key."""

    @property
    def key(self) -> str:
        """Identity and order of the record in the store."""
        raise NotImplementedError

    def _rank(self) -> tuple[str, str]:
        """What is compared. A scheme whose key leaves something out adds it in second place."""
        return self.key, ""

    # All six are written out: msgspec structs have comparison slots of their own, which Python and
    # `functools.total_ordering` take for comparisons that need no help.

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__ or not isinstance(other, Keyed):
            return NotImplemented
        return self._rank() == other._rank()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._rank())

    def __lt__(self, other: Self) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._rank() < other._rank()

    def __le__(self, other: Self) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._rank() <= other._rank()

    def __gt__(self, other: Self) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._rank() > other._rank()

    def __ge__(self, other: Self) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._rank() >= other._rank()
