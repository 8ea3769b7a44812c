"""A fence around serial numbers that may have been given to names which are lost now.

How it works: names are minted under the current day. If a rebuild could not read everything, names
of its own day may be missing, and their numbers look free. `fence.json` in the registry directory
then names this day, and, for each series whose highest number an operator has told, that number.

What must stay true: no number of a fenced day is given out in a series, unless its highest number
is known; the fence is durable before the rebuilt registry takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from perdure.errors import Corrupt
from perdure.errors.conflicts import SerialsFenced
from perdure.storage.durable import write_durably

FILE = "fence.json"


class Fence(msgspec.Struct, frozen=True, kw_only=True):
    """A day of which names may be lost."""

    day: str
    """Such as `2026/11/22`."""
    highest: dict[str, int] = {}
    """By series: the highest number that was given out on this day."""

    def find_floor(self, series: str, day: str) -> int:
        """The number after which numbers may be given out, or 0. Raises Conflict."""
        if day != self.day:
            return 0
        if series not in self.highest:
            raise SerialsFenced(identifier=f"pdi://{series}/{day}/", series=series)
        return self.highest[series]


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
        raise Corrupt(
            identifier=FILE, where=str(root), promised="a fence", found=str(error)
        ) from error


def raise_fence(root: Path, day: str, highest: Mapping[str, int], *, is_lossy: bool) -> None:
    """Fence a day if names may be lost, and note the highest numbers if the day is fenced."""
    known = load_fence(root)
    told = known.highest if known.day == day else {}
    if is_lossy or known.day == day:
        fence = Fence(day=day, highest=({} if is_lossy else told) | dict(highest))
        write_durably(root / FILE, msgspec.json.encode(fence))
