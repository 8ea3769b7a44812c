"""Days on which a predecessor may have given out serial numbers that this registry does not know.

How it works: a registry that was promoted from a copy knows the names of its predecessor up to the
last change of the copy. `handover.json` names the days from that change to the promotion, and, for
each series whose highest number an operator has told, that number.  # ruling: copy-fence

What must stay true: no number of such a day is given out in a series, unless its highest number is
known; the file is durable before the promoted registry writes anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from perdure.errors.conflicts import SerialsHandedOver
from perdure.errors.corruption import FileUnreadable
from perdure.storage.durable import write_durably

FILE = "handover.json"


class Handover(msgspec.Struct, frozen=True, kw_only=True):
    """The days of all promotions, and the numbers that operators told."""

    days: tuple[tuple[str, str], ...] = ()
    """First and last day of each stretch, both included, such as `2026/11/22`."""
    highest: dict[str, dict[str, int]] = {}
    """By day and series: the highest number that was given out."""

    def is_closed(self, series: str, day: str) -> bool:
        """Return True if unknown names may have numbers of this day."""
        within = any(first <= day <= last for first, last in self.days)
        return within and series not in self.highest.get(day, {})

    def find_floor(self, series: str, day: str) -> int:
        """The number after which numbers may be given out, or 0. Raises Conflict."""
        if self.is_closed(series, day):
            raise SerialsHandedOver(identifier=f"pdi://{series}/{day}/", series=series)
        return self.highest.get(day, {}).get(series, 0)

    def close_days(self, first: str, last: str) -> Handover:
        """Close the days of one more promotion; their highest numbers are unknown again."""
        first = min(first, last)
        told = {day: told for day, told in self.highest.items() if not first <= day <= last}
        return Handover(days=(*self.days, (first, last)), highest=told)

    def tell_highest(self, day: str, highest: Mapping[str, int]) -> Handover:
        """Note the highest numbers of a day. A number only grows."""
        told = dict(self.highest.get(day, {}))
        for series, number in highest.items():
            told[series] = max(number, told.get(series, 0))
        return msgspec.structs.replace(self, highest=self.highest | {day: told})


def load_handover(root: Path) -> Handover:
    """The handover of a registry directory. Raises Corrupt."""
    try:
        return msgspec.json.decode((root / FILE).read_bytes(), type=Handover)
    except FileNotFoundError:
        return Handover()
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FileUnreadable(
            file=FILE, directory=str(root), contents="days", fault=str(error)
        ) from error


def save_handover(root: Path, handover: Handover) -> None:
    """Make a handover durable."""
    write_durably(root / FILE, msgspec.json.encode(handover))
