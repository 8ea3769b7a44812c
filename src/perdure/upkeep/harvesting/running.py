"""A complete harvest of a repository, from where the last one ended.

How it works: each page is asked for, taken and recorded before the next one is asked for. So an
interrupted harvest goes on with the page that it had not taken.
"""

from __future__ import annotations

from collections.abc import Callable
from tempfile import TemporaryFile

import msgspec

from perdure.errors import PerdureError
from perdure.errors.harvesting import MapNotDump
from perdure.ids.name_set import NameSet
from perdure.metadata.xml_text import load_lxml
from perdure.model.commands import Joining
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.upkeep.harvesting import oai, sitemaps
from perdure.upkeep.harvesting.asking import RepositoryClient
from perdure.upkeep.harvesting.documents import DocumentTaking
from perdure.upkeep.harvesting.dumps import walk_packages
from perdure.upkeep.harvesting.lines import Taking, make_line
from perdure.upkeep.harvesting.links import LinkTaking
from perdure.upkeep.harvesting.packages import LONGEST, PackageReading
from perdure.upkeep.harvesting.pages import ForeignRecord
from perdure.upkeep.harvesting.state import Harvests, HarvestState
from perdure.upkeep.harvesting.taking import HarvestCount, HarvestedItem, HarvestTaking

Tell = Callable[[HarvestCount], None]
"""Called after each page that was taken."""

_SOME = 500  # entries of a map that are taken together


class HarvestWish(msgspec.Struct, frozen=True, kw_only=True):
    """A harvest as the caller wants it."""

    url: str
    prefix: str = "oai_dc"
    names: str = ""
    """A set of the repository; empty for all."""
    since: str = ""
    """The first date; empty for the one at which the last harvest began."""
    taking: Taking = Taking.RECORDS
    only: NameSet | None = None
    """Take only these names."""
    again: bool = False
    """Begin from the start, although there was an earlier harvest."""


async def harvest_repository(
    registry: Registry,
    harvests: Harvests,
    client: RepositoryClient,
    wish: HarvestWish,
    tell: Tell,
) -> bool:
    """Harvest a repository to its end. Return True if it says which records it deleted.

    Raises Unavailable, InvalidRequest or StorageFailed.
    """
    if wish.taking is Taking.DOCUMENTS:
        await _harvest_dump(registry, harvests, client, wish, tell)
        return True
    if sitemaps.is_map(wish.url):
        await _harvest_map(registry, harvests, client, wish, tell)
        return True
    if wish.taking is Taking.RECORDS:
        load_lxml()
    repository = await oai.identify_repository(client, wish.url)
    state = begin_harvest(registry, harvests, wish)
    taking = HarvestTaking(registry, harvests, wish.url, only=wish.only, how=Joining.REPLACE)
    async for page, after in oai.walk_pages(client, repository, state):
        items = [_make_item(one, wish) for one in page.records]
        tell(taking.take_page(items, after))
    return repository.lists_deleted


async def _harvest_map(
    registry: Registry, harvests: Harvests, client: RepositoryClient, wish: HarvestWish, tell: Tell
) -> None:
    """Harvest a sitemap or a list of ResourceSync to its end."""
    wish = msgspec.structs.replace(wish, prefix="", names="", taking=Taking.LINKS)
    state = begin_harvest(registry, harvests, wish)
    taking = LinkTaking(registry, harvests, wish.url, only=wish.only, how=Joining.MERGE)
    now = format_timestamp(registry.clock())
    async for entries, after in sitemaps.walk_parts(client, state, now):
        for at in range(0, len(entries), _SOME):
            items = [sitemaps.make_item(one, wish.url) for one in entries[at : at + _SOME]]
            tell(taking.take_page(items, state))
        tell(taking.take_page([], after))
        state = after


async def _harvest_dump(
    registry: Registry, harvests: Harvests, client: RepositoryClient, wish: HarvestWish, tell: Tell
) -> None:
    """Harvest a dump of ResourceSync to its end. Raises MapNotDump for any other address."""
    if not sitemaps.is_map(wish.url):
        raise MapNotDump(url=wish.url)
    wish = msgspec.structs.replace(wish, prefix="", names="")
    state = begin_harvest(registry, harvests, wish)
    taking = DocumentTaking(registry, harvests, wish.url, only=wish.only)
    incoming = registry.incoming
    now = format_timestamp(registry.clock())
    async for address, after in walk_packages(client, state, now):
        if address:
            with TemporaryFile(dir=incoming) as file:
                await client.download(address, file, most=LONGEST)
                now = format_timestamp(registry.clock())
                reading = PackageReading(file, address, source=wish.url, incoming=incoming, now=now)
                with reading:
                    for items in reading.list_items():
                        tell(taking.take_page(items, state))
        tell(taking.take_page([], after))
        state = after


def begin_harvest(registry: Registry, harvests: Harvests, wish: HarvestWish) -> HarvestState:
    """Return the state in which a harvest goes on or begins."""
    known = harvests.find_harvest(wish.url, wish.prefix, wish.names)
    is_other = known is not None and known.taking != wish.taking.value
    if known is None or wish.again or is_other:
        known = HarvestState(
            url=wish.url, prefix=wish.prefix, names=wish.names, taking=wish.taking.value
        )
        harvests.recall_records(registry, known)
    if known.token and wish.since in ("", known.since):
        return known
    since = wish.since or known.finished
    return msgspec.structs.replace(known, since=since, token="", begun="")


def _make_item(record: ForeignRecord, wish: HarvestWish) -> HarvestedItem:
    if record.is_deleted:
        return HarvestedItem(record.identifier)
    try:
        made = make_line(record, source=wish.url, prefix=wish.prefix, taking=wish.taking)
    except PerdureError as error:
        return HarvestedItem(record.identifier, fault=error)
    return HarvestedItem(record.identifier, made)
