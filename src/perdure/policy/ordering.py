"""The order of several locations for a reader, the best first. Pure.

How it works: locations are ordered by these properties: not known to be dead, accepted most by the
reader (format and language), for the reader's region, with the highest weight. Otherwise they keep
their order. So the order follows from a few traits of each location and from the reader's wishes.
Many records have locations with the same traits (a `LocationPattern`), and many readers the same
wishes: the order for both is remembered. A wish that makes no difference among the locations is
ignored, so that most readers are in one class.

What must stay true: patterns and orders are remembered in a bounded number and size, whatever
readers wish for. The text of a location changes nothing, except that it may be known to be dead.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import lru_cache
from typing import NamedTuple

from perdure import formats
from perdure.model.queries import Preference
from perdure.model.records import Location
from perdure.policy.preference import language_quality, media_quality

_MOST_REMEMBERED = 1024  # patterns, and orders
_MOST_LOCATIONS = 16  # of a remembered pattern
_MOST_PREFERENCES = 16  # of a remembered order; browsers send 4 to 8
_LONGEST_REGION = 64  # characters
LocationTraits = tuple[str | None, str | None, str | None, int, bool]
"""Format, language, region and weight of a location, and whether it is known to be dead."""
Order = tuple[int, ...]
"""The indexes of locations, the best first."""


class ReaderWishes(NamedTuple):
    """Everything about a reader that the order of locations depends on."""

    accept: tuple[Preference, ...] = ()
    languages: tuple[Preference, ...] = ()
    region: str | None = None


class LocationPattern:
    """The traits of several locations, which many records share."""

    __slots__ = (
        "_has_format", "_has_language", "_has_region", "_last", "_traits", "depends_on_reader",
    )  # fmt: skip

    def __init__(self, traits: tuple[LocationTraits, ...]) -> None:
        self._traits = traits
        self._has_format = any(one[0] for one in traits)
        self._has_language = any(one[1] for one in traits)
        self._has_region = any(one[2] for one in traits)
        self.depends_on_reader = len({one[:3] for one in traits}) > 1
        """True if the order depends on the reader."""
        self._last: tuple[ReaderWishes, Order] = ReaderWishes(), self.sort_traits(ReaderWishes())
        """The last remembered order, and the wishes that led to it."""

    def find_order(self, wishes: ReaderWishes) -> Order:
        """Find the order of the locations for a reader."""
        last_wishes, last_order = self._last
        if wishes is last_wishes:  # clients repeat their wishes
            return last_order
        accept, languages, region = wishes
        if accept and not self._has_format:
            accept = ()
        if languages and not self._has_language:
            languages = ()
        if region is not None and not self._has_region:
            region = None
        if len(self._traits) > _MOST_LOCATIONS or not _are_short(accept, languages, region):
            return self.sort_traits(ReaderWishes(accept, languages, region))
        order = _remember_order(self, accept, languages, region)
        if _are_short(*wishes):
            self._last = wishes, order
        return order

    def sort_traits(self, wishes: ReaderWishes) -> Order:
        """Compute the order of the locations for a reader."""
        ranks = [_rank_traits(one, wishes) for one in self._traits]
        return tuple(sorted(range(len(ranks)), key=ranks.__getitem__))


def _are_short(
    accept: tuple[Preference, ...], languages: tuple[Preference, ...], region: str | None
) -> bool:
    """Return True if wishes may be remembered."""
    few = len(accept) + len(languages) <= _MOST_PREFERENCES
    return few and (region is None or len(region) <= _LONGEST_REGION)


@lru_cache(_MOST_REMEMBERED)
def _remember_order(
    pattern: LocationPattern,
    accept: tuple[Preference, ...],
    languages: tuple[Preference, ...],
    region: str | None,
) -> Order:
    return pattern.sort_traits(ReaderWishes(accept, languages, region))


_remember_pattern = lru_cache(_MOST_REMEMBERED)(LocationPattern)


def find_pattern(locations: Sequence[Location], dead: Set[str] = frozenset()) -> LocationPattern:
    """Find the pattern of locations. `dead` are the URIs of those that are known to be dead."""
    traits = tuple(
        [
            (one.format, one.language, one.region, one.weight, bool(dead) and one.uri in dead)
            for one in locations
        ]
    )
    return (_remember_pattern if len(traits) <= _MOST_LOCATIONS else LocationPattern)(traits)


def order_locations(
    locations: Sequence[Location], wishes: ReaderWishes, dead: Set[str]
) -> list[Location]:
    """Order locations for a reader. `dead` are the URIs of those that are known to be dead."""
    order = find_pattern(locations, dead).find_order(wishes)
    return [locations[index] for index in order]


def depends_on_reader(locations: Sequence[Location]) -> bool:
    """Return True if the choice among these locations depends on the reader."""
    return find_pattern(locations).depends_on_reader


def _rank_traits(
    traits: LocationTraits, wishes: ReaderWishes
) -> tuple[bool, float, bool, bool, int]:
    """The sort key of a location; the smallest is the best."""
    format, language, region, weight, is_dead = traits
    is_near = _is_near(region, wishes.region)
    return (
        is_dead,
        -_rate_location(format, language, wishes),
        is_near is False,
        is_near is None,
        -weight,
    )


def _rate_location(format: str | None, language: str | None, wishes: ReaderWishes) -> float:
    """The quality of a location for the reader, 0 to 1: format times language.

    An unknown format may be any format, so its location loses against one that fits.
    """
    quality = 1.0
    if wishes.accept:
        known = formats.find_media_type(format) if format else None
        quality = media_quality(wishes.accept, known.essence) if known else 0.001
    if wishes.languages:
        asked = language_quality(wishes.languages, language) if language else 0.002
        quality *= max(asked, 0.001)
    return quality


def _is_near(region: str | None, asked: str | None) -> bool | None:
    """Return True for a location in the reader's region, None if either has no region."""
    if region is None or asked is None:
        return None
    ours, theirs = region.lower(), asked.lower()
    return ours == theirs or theirs.startswith(f"{ours}-")
