"""Taking records from other repositories: `harvest`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from perdure.cli import options, sources
from perdure.cli.command import PerdureCommand, here, note_findings, to_json
from perdure.cli.progress import show_progress
from perdure.errors.root import count_things, quote

if TYPE_CHECKING:
    from perdure.ids.name_set import NameSet
    from perdure.registry import Registry
    from perdure.upkeep.harvesting.asking import RepositoryClient
    from perdure.upkeep.harvesting.running import HarvestWish
    from perdure.upkeep.harvesting.state import Harvests, HarvestState
    from perdure.upkeep.harvesting.taking import HarvestCount, HarvestFault


@click.command(cls=PerdureCommand)
@click.argument("url", required=False)
@click.option("--prefix", default="oai_dc", help="Format of metadata. Default: oai_dc.")
@click.option("--set", "names", default="", metavar="SET", help="Only this set of the repository.")
@click.option(
    "--from", "since", default="", metavar="DATE", help="First date. Default: of the last harvest."
)
@click.option(
    "--as",
    "taking",
    type=click.Choice(("records", "links", "documents")),
    default="records",
    help="Take descriptions and whole records (default), only addresses, or documents.",
)
@click.option("--only", type=options.PATTERN, metavar="SET", help="Take only these names.")
@click.option("--again", is_flag=True, help="Begin from the start, although much is known.")
@click.option(
    "--patience", default=600, type=click.IntRange(min=0), metavar="SECONDS", help="Longest wait."
)
@click.option(
    "--pause",
    default=0.0,
    type=click.FloatRange(min=0, max=3600),
    metavar="SECONDS",
    help="Pause between two requests.",
)
@sources.with_errors
def harvest(
    url: str | None,
    prefix: str,
    names: str,
    since: str,
    taking: str,
    only: NameSet | None,
    again: bool,
    patience: int,
    pause: float,
    errors: str | None,
) -> None:
    """Take the records of the repository at URL, by OAI-PMH; or the links of a sitemap there.

    A URL that ends in .xml, .xml.gz or /.well-known/resourcesync is a sitemap or ResourceSync. Its
    entries become links; with --as documents, the documents themselves are taken from its dump.

    A name is bound to its address, described, and keeps the record whole, as it came
    (docs/how-to/harvest.md). The next harvest takes what changed since, and an interrupted one goes
    on where it stopped. What the repository deleted is withdrawn here. Records that cannot be taken
    are reported, and the others are taken; names that are assigned here, and records that came from
    somewhere else, are never changed. Exits with 1 if a record could not be taken.

    Without URL, the harvests of this registry are listed.
    """
    with _open_harvests() as (registry, harvests):
        if url is None:
            for one in harvests.list_harvests():
                _print_state(one)
            return
        from perdure.fetching.targets import parse_target
        from perdure.upkeep.harvesting.lines import Taking
        from perdure.upkeep.harvesting.running import HarvestWish

        wish = HarvestWish(
            url=parse_target(url).url,
            prefix=prefix,
            names=names,
            since=_read_date(since),
            taking=Taking(taking),
            only=only,
            again=again,
        )
        client = _make_client(registry, patience=patience, pause=pause)
        _run_harvest(registry, harvests, client, wish, errors)


@contextmanager
def _open_harvests() -> Iterator[tuple[Registry, Harvests]]:
    from perdure.upkeep.harvesting.state import Harvests

    with here().open_registry() as registry:
        harvests = Harvests(registry.root)
        try:
            yield registry, harvests
        finally:
            harvests.close()


def _make_client(registry: Registry, *, patience: int, pause: float) -> RepositoryClient:
    from perdure.cli.discovering import USER_AGENT
    from perdure.fetching.streaming import StreamingFetcher
    from perdure.upkeep.harvesting.asking import LIMITS, RepositoryClient

    networks = registry.settings.private_networks
    return RepositoryClient(
        StreamingFetcher(user_agent=USER_AGENT, networks=networks, limits=LIMITS),
        patience=patience,
        pause=pause,
        note=here().print_note,
    )


def _run_harvest(
    registry: Registry,
    harvests: Harvests,
    client: RepositoryClient,
    wish: HarvestWish,
    errors: str | None,
) -> None:
    import asyncio

    from perdure.upkeep.harvesting.running import harvest_repository

    with _Report(errors) as report:
        has_deleted = asyncio.run(harvest_repository(registry, harvests, client, wish, report.tell))
    if not has_deleted:
        here().print_note("this repository does not tell which records it deleted")
    report.print_summary()


class _Report:
    """Prints the faults of a harvest, and counts its records."""

    def __init__(self, errors: str | None) -> None:
        self._errors = errors
        self._opened = ExitStack()
        self._taken = self._deleted = self._skipped = self._refused = 0

    def __enter__(self) -> _Report:
        path = self._errors
        self._log = self._opened.enter_context(click.open_file(path, "a")) if path else None
        bar = show_progress("harvesting", total=None, unit="records")
        self._bar = self._opened.enter_context(bar)
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def tell(self, count: HarvestCount) -> None:
        """Report a page that was taken."""
        self._taken += count.taken
        self._deleted += count.deleted
        self._skipped += count.skipped
        for fault in count.faults:
            self._refused += not fault.is_taken
            if self._log is not None:
                self._log.write(to_json(_show_fault(fault)) + "\n")
            _print_fault(fault)
        self._bar(self._taken)

    def print_summary(self) -> None:
        """Print the counts. The command exits with 1 if a record was refused."""
        counts = {
            "taken": self._taken,
            "deleted": self._deleted,
            "skipped": self._skipped,
            "refused": self._refused,
        }
        words = f"{count_things(self._taken, 'record')} taken, {self._deleted} deleted"
        if self._skipped:
            words += f", {self._skipped} skipped"
        here().print_summary(counts, f"{words}, {self._refused} refused")
        if self._refused:
            note_findings()


def _read_date(text: str) -> str:
    """Check a date of `--from`. Raises UsageError."""
    from datetime import datetime

    if not text:
        return ""
    form = "%Y-%m-%d" if "T" not in text else "%Y-%m-%dT%H:%M:%SZ"
    try:
        return datetime.strptime(text, form).strftime(form)  # noqa: DTZ007  (UTC by the form)
    except ValueError:
        raise click.UsageError(
            "--from needs a date such as 2026-11-27, or a time such as 2026-11-27T12:00:00Z"
        ) from None


def _show_fault(fault: HarvestFault) -> dict[str, object]:
    return {"record": fault.there, "taken": fault.is_taken} | fault.error


def _print_fault(fault: HarvestFault) -> None:
    repair = f"; {fault.error['repair']}" if fault.error["repair"] else ""
    kept = " (taken without its description)" if fault.is_taken else ""
    message = f"record {quote(fault.there)}: {fault.error['message']}{repair}{kept}"
    here().print_failure(_show_fault(fault), message)


def _print_state(one: HarvestState) -> None:
    import msgspec

    under_way = "under way" if one.token else f"until {one.finished}"
    of = f" {one.names}" if one.names else ""
    here().print_answer(
        msgspec.to_builtins(one), f"{one.url} {one.prefix}{of} as {one.taking}: {under_way}"
    )
