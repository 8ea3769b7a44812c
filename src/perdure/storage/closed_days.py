"""Past days of series that were declared closed: no further name is given under them.

How it works: `closed.json` lists stretches of days. The registry's writer reads the file before
it gives a name under a past day, which is rare, and only the writer changes it.
# ruling: pdi-retrospective

What must stay true: a day that was closed is never open again; a receipt for closing means that
every later request obeys it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from perdure.storage.checked_file import load_checked, save_checked

FILE = "closed.json"


class ClosedStretch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Days of a series, both ends included, such as `1997/01/01`."""

    series: str
    first: str
    last: str
    at: str
    by: str
    reason: str = ""


class ClosedDays(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All stretches, in the order in which they were closed."""

    stretches: tuple[ClosedStretch, ...] = ()

    def find_closure(self, series: str, day: str) -> ClosedStretch | None:
        """Return the closure of a day, or None if names can be given under it."""
        found = (
            one for one in self.stretches if one.series == series and one.first <= day <= one.last
        )
        return next(found, None)

    def includes(self, stretch: ClosedStretch) -> bool:
        """Return True if one stretch closes all these days already."""
        return any(
            one.series == stretch.series and one.first <= stretch.first and stretch.last <= one.last
            for one in self.stretches
        )

    def add_stretch(self, stretch: ClosedStretch) -> ClosedDays:
        """Close further days."""
        return ClosedDays(stretches=(*self.stretches, stretch))


def load_closed_days(root: Path) -> ClosedDays:
    """The closed days of a registry directory. Raises Corrupt."""
    return load_checked(root / FILE, ClosedDays) or ClosedDays()


def save_closed_days(root: Path, closed: ClosedDays) -> None:
    """Make closed days durable. Raises OSError."""
    save_checked(root / FILE, closed)
