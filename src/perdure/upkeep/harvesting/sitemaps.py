"""Harvesting sitemaps and ResourceSync: the addresses of a server become links.

How it works: from `/.well-known/resourcesync` the way leads through the capability list to the
change list, if that covers the time since the last harvest, else to the resource list. A plain
sitemap is read whole; of one that has dates, only what changed since is taken. An index is read
part by part, and an interrupted harvest goes on with the part that was not taken.

An entry becomes a link if its address contains an identifier: at a public resolver, or after the
first slash, as a perdure has it. A list with digests promises what is there.

What must stay true: only documents on the host of the first one are read; what a list does not
mention is not deleted.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from perdure.errors import PerdureError
from perdure.errors.exchanging import RecordWithoutName
from perdure.errors.harvesting import AnswerUnread, MapLeadsAway, MapWithoutList
from perdure.fetching.targets import join_url, parse_target
from perdure.ids import Identifier
from perdure.ids.urls import deurlify
from perdure.policy import binding
from perdure.policy.naming import read_qualifiers
from perdure.upkeep.exchange.describing import read_name
from perdure.upkeep.harvesting.asking import RepositoryClient
from perdure.upkeep.harvesting.lines import NAME_THERE, SOURCE, HarvestedLine
from perdure.upkeep.harvesting.maps import MapEntry, MapMalformed, SiteMap, read_map
from perdure.upkeep.harvesting.state import HarvestState
from perdure.upkeep.harvesting.taking import HarvestedItem

WELL_KNOWN = "/.well-known/resourcesync"
_IN_PATH = re.compile(r"https?://[^/]+/(?P<name>[^?#]+)(?P<rest>.*)", re.DOTALL)
_SHA512 = re.compile(r"(?:^|\s)sha-512:([0-9a-f]{128})(?:\s|$)")
_MOST_STEPS = 5
"""Documents between the beginning and a list, and levels of indexes."""
LISTS = ("changelist", "resourcelist")
"""Capabilities of ResourceSync: the latest changes, and everything."""
GONE = "deleted"


class ListedPart(NamedTuple):
    """A part of a list, and the state of the harvest once it is taken."""

    entries: tuple[MapEntry, ...]
    after: HarvestState


def is_map(url: str) -> bool:
    """Return True if an address is that of a sitemap or of ResourceSync, by its path."""
    path = urlsplit(url).path.lower()
    return path.endswith((WELL_KNOWN, ".xml", ".xml.gz"))


async def walk_parts(
    client: RepositoryClient, state: HarvestState, now: str
) -> AsyncIterator[ListedPart]:
    """Yield the remaining parts of a list; the last one ends the harvest.

    Raises Unavailable.
    """
    address, found = await find_list(client, state, LISTS)
    said = found.said
    latest = max((one.said.get("datetime", "") for one in found.entries), default="")
    begun = said.get("at") or latest or now
    since = state.since
    if not found.is_index:
        done = msgspec.structs.replace(state, token="", begun="", finished=begun)
        yield ListedPart(_choose(found, since), done)
        return
    parts = [one.address for one in found.entries]
    begun = state.begun or begun
    first = parts.index(state.token) if state.token in parts else 0
    for at in range(first, len(parts)):
        part = await fetch_map(client, follow_address(address, parts[at]))
        following = parts[at + 1] if at + 1 < len(parts) else ""
        after = msgspec.structs.replace(state, token=following, begun=begun)
        if not following:
            after = msgspec.structs.replace(after, begun="", finished=begun)
        yield ListedPart(_choose(part, since), after)


async def find_list(
    client: RepositoryClient, state: HarvestState, kinds: tuple[str, str]
) -> tuple[str, SiteMap]:
    """Go from the first document to the list that is to be read.

    `kinds` are the capabilities of a list of changes and of one of everything. Raises Unavailable.
    """
    changing, complete = kinds
    address = state.url
    for _ in range(_MOST_STEPS):
        found = await fetch_map(client, address)
        if found.said.get("capability", "") not in ("description", "capabilitylist"):
            return address, found
        listed = {one.said.get("capability", ""): one.address for one in found.entries}
        if "capabilitylist" in listed:
            address = follow_address(address, listed["capabilitylist"])
            continue
        if state.since and changing in listed:
            there = follow_address(address, listed[changing])
            changes = await fetch_map(client, there)
            if not changes.is_index and changes.said.get("from", "~") <= state.since:
                return there, changes
        if complete not in listed:
            break
        address = follow_address(address, listed[complete])
    raise MapWithoutList(url=state.url, wanted=complete)


def follow_address(base: str, address: str) -> str:
    """Return the address of another document. Raises MapLeadsAway if it is on another host."""
    there = join_url(base, address)
    if urlsplit(there).netloc != urlsplit(base).netloc:
        raise MapLeadsAway(url=base, address=there)
    return parse_target(there).url


async def fetch_map(client: RepositoryClient, address: str) -> SiteMap:
    """Fetch a document. Raises Unavailable."""
    body = await client.fetch(address)
    try:
        return read_map(body)
    except MapMalformed as error:
        raise AnswerUnread(url=address, fault=str(error)) from None


def _choose(found: SiteMap, since: str) -> tuple[MapEntry, ...]:
    """Return the entries that changed since the day of the last harvest, or have no date."""
    if not since:
        return found.entries
    return tuple(
        one
        for one in found.entries
        if not (moment := one.said.get("datetime") or one.lastmod) or moment[:10] >= since[:10]
    )


def make_item(entry: MapEntry, source: str) -> HarvestedItem:
    """Make the item of an entry: a link, the reason why it is none, or its deletion."""
    if entry.said.get("change") == GONE:
        return HarvestedItem(entry.address)
    try:
        name = find_name(entry.address)
        binding.check_uri(entry.address)
    except PerdureError as error:
        return HarvestedItem(entry.address, fault=error)
    location: dict[str, Any] = {"uri": entry.address}
    digest = _SHA512.search(entry.said.get("hash", ""))
    if digest is not None and read_qualifiers(name)[0] is not None:  # other names may change
        location["sha512"] = digest[1]
        if (length := entry.said.get("length", "")).isdecimal() and len(length) < 16:
            location["size"] = int(length)
    line = {
        "id": str(name),
        "locations": [location],
        "metadata": {SOURCE: source, NAME_THERE: str(name.resource)},
    }
    return HarvestedItem(entry.address, HarvestedLine(name, line))


def find_name(address: str) -> Identifier:
    """Return the identifier in an address. Raises RecordWithoutName."""
    with suppress(PerdureError):
        return deurlify(address.partition("?landing")[0])
    found = _IN_PATH.fullmatch(address)
    name = read_name(unquote(found["name"])) if found is not None else None
    if name is None:
        raise RecordWithoutName(places=("its address",))
    return name
