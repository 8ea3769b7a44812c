"""Serial numbers that a lost record may have had, so that a rebuild gives none of them again."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from perdure.errors import MalformedIdentifier
from perdure.ids.pdi import Pdi


def find_highest_serials(keys: Iterable[str], day: str) -> dict[str, int]:
    """Return the highest serial number of each series from a day (`2026/11/22`) on.

    Keys of other names are passed over.
    """
    found: dict[str, int] = {}
    for key in keys:
        with suppress(MalformedIdentifier, ValueError):
            name = Pdi.from_key(key)
            if name.date is not None and name.date >= day:
                found[name.series] = max(name.serial or 0, found.get(name.series, 0))
    return found
