"""The packages of a ResourceSync dump, in their order (ANSI/NISO Z39.99-2017 sections 12, 14).

How it works: the change dump is read if it covers the time since the last harvest, else the
resource dump. The token of a harvest is the address of the next package, so an interrupted one goes
on with the package that was not taken.

What must stay true: a harvest ends at a time up to which it has everything.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec

from perdure.errors.harvesting import MapNotDump
from perdure.upkeep.harvesting.asking import RepositoryClient
from perdure.upkeep.harvesting.maps import MapEntry, SiteMap
from perdure.upkeep.harvesting.sitemaps import fetch_map, find_list, follow_address
from perdure.upkeep.harvesting.state import HarvestState

DUMPS = ("changedump", "resourcedump")
_MOMENT = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z", re.ASCII)


class ListedPackage(NamedTuple):
    """A package of a dump, and the state of the harvest once it is taken."""

    address: str
    """Empty if there is no package."""
    after: HarvestState


def is_moment(text: str) -> bool:
    """Return True if a text is a time such as `2026-11-28T12:00:00Z`."""
    return _MOMENT.fullmatch(text) is not None


async def walk_packages(
    client: RepositoryClient, state: HarvestState, now: str
) -> AsyncIterator[ListedPackage]:
    """Yield the remaining packages of a dump; the last one ends the harvest.

    Raises Unavailable, and MapNotDump if the address leads to another kind of list.
    """
    address, dump = await find_list(client, state, DUMPS)
    if dump.said.get("capability", "") not in DUMPS:
        raise MapNotDump(url=address)
    entries: list[tuple[str, MapEntry]] = []
    for part in [one.address for one in dump.entries] if dump.is_index else [address]:
        listed = dump
        if dump.is_index:
            listed = await fetch_map(client, follow_address(address, part))
        entries += [(follow_address(address, one.address), one) for one in listed.entries]
    finished = _find_end(dump, [one for _, one in entries], state, now)
    new = [there for there, one in entries if not "" < _read_until(one) < state.since]
    done = msgspec.structs.replace(state, token="", begun="", finished=finished)
    if not new:
        yield ListedPackage("", done)
    first = new.index(state.token) if state.token in new else 0
    for there, following in zip(new[first:], [*new[first + 1 :], ""], strict=True):
        after = msgspec.structs.replace(state, token=following, begun=finished)
        yield ListedPackage(there, after if following else done)


def _find_end(dump: SiteMap, entries: list[MapEntry], state: HarvestState, now: str) -> str:
    """Return the time at which the next harvest begins.

    A change is in a later package than the changes before it, so the last one counts. Of a dump of
    everything, the beginning of the harvest does: what changed since may be in a package that was
    taken before.
    """
    if dump.said.get("capability") == DUMPS[0]:
        return max((_read_until(one) for one in entries), default="") or state.since
    at = dump.said.get("at", "")
    return state.begun or (at if is_moment(at) else now)


def _read_until(entry: MapEntry) -> str:
    """Return the time of the last change in a package, or an empty text."""
    text = entry.said.get("until", "")
    return text if is_moment(text) else ""
