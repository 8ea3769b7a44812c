"""A fence around serial numbers that may have been given to names which are lost now.

How it works: names are minted under the current day. If a rebuild loses records, names of its own
day may be missing, and their numbers look free. `fence.json` in the registry directory then names
this day. If the names of all lost records are known, it has the highest number of each series, and
minting goes on behind it. Otherwise the day is closed in every series, except in those whose
highest number an operator has told.

What must stay true: no number of a closed day is given out in a series, unless its highest number
is known; the fence is durable before the rebuilt registry takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from perdure.errors.conflicts import SerialsFenced
from perdure.errors.corruption import FileUnreadable
from perdure.storage.durable import write_durably

FILE = "fence.json"


class Fence(msgspec.Struct, frozen=True, kw_only=True):
    """A day of which names may be lost."""

    day: str
    """Such as `2026/11/22`."""
    highest: dict[str, int] = {}
    """By series: the highest number that was given out on this day, as an operator said."""
    lost: dict[str, int] = {}
    """By series: the highest number of a record that was lost."""
    is_closed: bool = True
    """False if the names of all lost records are known."""

    def find_floor(self, series: str, day: str) -> int:
        """The number after which numbers may be given out, or 0. Raises Conflict."""
        if day != self.day:
            return 0
        if self.is_closed and series not in self.highest:
            raise SerialsFenced(identifier=f"pdi://{series}/{day}/", series=series)
        return max(self.highest.get(series, 0), self.lost.get(series, 0))


NO_FENCE = Fence(day="")


def load_fence(root: Path) -> Fence:
    """The fence of a registry directory. Raises Corrupt."""
    try:
        text = (root / FILE).read_bytes()
    except FileNotFoundError:
        return NO_FENCE
    try:
        return msgspec.json.decode(text, type=Fence)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FileUnreadable(
            file=FILE, directory=str(root), contents="a fence", fault=str(error)
        ) from error


def raise_fence(
    root: Path, day: str, highest: Mapping[str, int], *, lost: Mapping[str, int] | None
) -> None:
    """Fence a day if names of it were lost, and note the highest numbers if the day is fenced.

    `lost` has the highest number of a lost record in each series; None if that is not known.
    """
    known = load_fence(root)
    before = known if known.day == day else Fence(day=day, is_closed=False)
    if lost == {} and known.day != day:
        return
    numbers = dict(before.lost)
    for series, number in (lost or {}).items():
        numbers[series] = max(number, numbers.get(series, 0))
    fence = Fence(
        day=day,
        highest=({} if lost is None else before.highest) | dict(highest),
        lost=numbers,
        is_closed=lost is None or before.is_closed,
    )
    write_durably(root / FILE, msgspec.json.encode(fence))
