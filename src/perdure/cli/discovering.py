"""Resolvers of names that are not ours: `discover`, `dns`, and how other commands find one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perdure.fetching.discovery.discovering import Discoverer, Discovery, DiscoveryStep
    from perdure.fetching.fetcher import Fetcher
    from perdure.fetching.streaming import StreamingFetcher
    from perdure.ids import Identifier
    from perdure.policy.discovery.zones import ZoneEntry
    from perdure.settings import Settings

USER_AGENT = "perdure"
_LARGEST = 256 << 20  # bytes of an answer, which is held in memory
_LONGEST = 86_400.0  # seconds for a document


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.option(
    "--name-server",
    multiple=True,
    metavar="ADDRESS",
    help="Ask this name server, such as 127.0.0.1:5353. Default: the setting, or the system's.",
)
@click.option("--no-cache", is_flag=True, help="Do not use what was learnt before, nor keep it.")
def discover(identifier: Identifier, name_server: tuple[str, ...], no_cache: bool) -> None:
    """Find the resolvers of IDENTIFIER, and show each step.

    The steps are: the settings (resolvers), name servers (NAPTR and SRV records), and the series as
    a host name, if it confirms the series. Names of other schemes lead to their public resolvers.

    Exits with 10 if no resolver was found, 20 if the name servers failed.
    """
    found = find_resolvers(identifier, name_server, keep=not no_cache)
    for step in found.steps:
        here().print_answer(step, _describe_step(step))
    for resolver in found.resolvers:
        security = f" [{resolver.security}]" if resolver.source == "dns" else ""
        here().print_answer(resolver, f"resolver {resolver.address}{security}")
    found.require_resolvers()


def _describe_step(step: DiscoveryStep) -> str:
    remarks: list[str] = [step.security] if step.security else []
    remarks += ["from the cache"] if step.from_cache else []
    shown = f" [{', '.join(remarks)}]" if remarks else ""
    return f"{step.outcome:8} {step.where}: {step.found}{shown}"


def find_resolvers(
    identifier: Identifier, name_servers: tuple[str, ...] = (), *, keep: bool = True
) -> Discovery:
    """Find the resolvers of a name by the settings of this directory.

    Raises MissingLibrary without the extra `discovery` if name servers must be asked.
    """
    import asyncio

    settings = here().load_settings()
    discoverer = make_discoverer(settings, name_servers, keep=keep)
    found = asyncio.run(discoverer.discover(identifier))
    discoverer.cache.save()
    return found


def make_fetcher(settings: Settings) -> Fetcher:
    """Make the fetcher for answers of other resolvers, by the rules of safe fetching."""
    from perdure.fetching.exchange import Limits
    from perdure.fetching.fetcher import Fetcher

    limits = Limits(body=_LARGEST, inflated=_LARGEST, seconds=600.0)
    return Fetcher(user_agent=USER_AGENT, networks=settings.private_networks, limits=limits)


def make_streamer(settings: Settings) -> StreamingFetcher:
    """Make the fetcher for documents of other resolvers, which are not held in memory."""
    from perdure.fetching.streaming import StreamingFetcher, StreamLimits

    streamer = StreamingFetcher(user_agent=USER_AGENT, networks=settings.private_networks)
    streamer.limit_streams(StreamLimits(body_seconds=_LONGEST))
    return streamer


def make_discoverer(
    settings: Settings, name_servers: tuple[str, ...] = (), *, keep: bool = True
) -> Discoverer:
    """Make the discoverer of a command. Without `keep`, nothing is read from or kept in a file."""
    from perdure.fetching.discovery.cache import DiscoveryCache, find_cache_file
    from perdure.fetching.discovery.confirming import LIMITS
    from perdure.fetching.discovery.discovering import Discoverer, read_resolvers
    from perdure.fetching.discovery.lookups import NameServers, read_server
    from perdure.fetching.fetcher import Fetcher

    try:
        for one in name_servers:
            read_server(one)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return Discoverer(
        fetcher=Fetcher(user_agent=USER_AGENT, networks=settings.private_networks, limits=LIMITS),
        name_servers=lambda: NameServers(name_servers or settings.name_servers),
        cache=DiscoveryCache(find_cache_file(os.environ) if keep else None),
        resolvers=read_resolvers(settings.resolvers),
    )


@click.command(cls=PerdureCommand)
@click.argument("series", type=options.SERIES)
@click.option(
    "--resolver",
    metavar="URL",
    help="Address of the resolver. Default: the setting base_url, and what is delegated.",
)
@click.option(
    "--server",
    type=click.Choice(("bind", "knot", "nsd")),
    metavar="NAME",
    help="Add the configuration of bind, knot or nsd, as comments.",
)
@click.option("--subseries", is_flag=True, help="Also for all series to the left of SERIES.")
def dns(series: str, resolver: str | None, server: Any, subseries: bool) -> None:
    """Print the lines of a zone file that lead from SERIES to its resolver.

    Paste them into the zone of the series, or of a domain above it. 'perdure doctor' without a URL
    checks whether they are live.
    """
    from perdure.policy.discovery.zones import list_records, write_hint

    entries, covers = list_entries(series, resolver)
    if not entries:
        raise click.UsageError("no resolver is known: give --resolver, or set base_url")
    for record in list_records(series, entries, subseries=subseries or covers):
        fields = {"owner": record.owner, "type": record.kind, "data": record.data}
        here().print_answer(fields, str(record))
    if server is not None:
        here().print_answer({"hint": write_hint(server, series)}, write_hint(server, series))


def list_entries(series: str, resolver: str | None = None) -> tuple[Sequence[ZoneEntry], bool]:
    """Return the resolvers of a series, and whether they resolve the series to its left, too."""
    from perdure.ids.name_set import read_set
    from perdure.policy.discovery.zones import ZoneEntry, list_delegated

    if resolver is not None:
        return (ZoneEntry(base=resolver),), False
    entries: list[ZoneEntry] = []
    covers = False
    if here().has_registry():
        with here().open_registry() as registry:
            for held in registry.delegations.list_touching(read_set(f"pdi://{series}/")):
                entries += list_delegated(series, held.delegation)
                covers = covers or held.delegation.has_subseries
    base = here().find_base_url()
    if base and not any(one.is_whole for one in entries):
        entries.append(ZoneEntry(base=base))
    return entries, covers


def check_live(settings: Settings, series: Sequence[str], timeout: float) -> bool:
    """Compare the live records of each series with those of `perdure dns`. Return True if all are
    as they should be."""
    import asyncio

    from perdure.fetching.discovery.lookups import NameServers
    from perdure.policy.discovery.zones import list_records

    servers = NameServers(settings.name_servers, seconds=timeout)

    async def find_live(owner: str, kind: str) -> tuple[set[str], str, str]:
        ask = servers.find_pointers if kind == "NAPTR" else servers.find_servers
        found = await ask(owner.rstrip("."))
        return _write_rows(found), found.fault, found.security

    good = True
    for one in series:
        entries, covers = list_entries(one)
        wanted: dict[tuple[str, str], set[str]] = {}
        for record in list_records(one, entries, subseries=covers):
            wanted.setdefault((record.owner, record.kind), set()).add(record.data)
        for (owner, kind), rows in wanted.items():
            live, fault, security = asyncio.run(find_live(owner.replace("*", "doctor"), kind))
            missing, other = sorted(rows - live), sorted(live - rows)
            is_live = not (missing or fault)
            good = good and is_live
            said = fault or (f"missing: {'; '.join(missing)}" if missing else f"live [{security}]")
            if other and not fault:
                said += f"; also there: {'; '.join(other)}"
            finding = {"name": f"dns {kind}", "owner": owner, "ok": is_live, "found": said}
            here().print_answer(finding, f"{'ok' if is_live else 'error':8} {kind} {owner} {said}")
    return good


def _write_rows(lookup: Any) -> set[str]:
    """Write live records as a zone file has them."""
    from perdure.policy.discovery.zones import write_pointer, write_server

    return {*map(write_pointer, lookup.pointers), *map(write_server, lookup.servers)}


def report_elsewhere(found: Discovery) -> None:
    """Say on stderr where a name was found, for commands that go there."""
    first = found.require_resolvers()[0]
    here().print_note(f"found by {_SOURCES[first.source]}: {first.base or first.address}")


_SOURCES = {
    "settings": "the settings",
    "dns": "name servers",
    "host": "its host",
    "public": "its scheme",
}
