"""Exchange of citations with other services: `citations export`, `receive`, `accept` and others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.citations import choose_kinds, update_index
from perdure.cli.command import PerdureCommand, PerdureGroup, here

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from perdure.ids.name_set import NameSet
    from perdure.registry import Registry
    from perdure.upkeep.citations.received import CitationReported, ReceivedCitations


@click.group("citations", cls=PerdureGroup)
def citation_services() -> None:
    """Give citations to other services, and take those that they report."""


@citation_services.command("export", cls=PerdureCommand)
@click.argument("names", metavar="[PATTERN]", type=options.PATTERN, required=False)
@click.option(
    "--form",
    type=click.Choice(["scholix", "cito", "opencitations"]),
    required=True,
    help="JSON of Scholix, Turtle with CiTO, or CSV of OpenCitations.",
)
@choose_kinds
@options.add_output()
def export_citations(names: NameSet | None, form: str, kinds: tuple[str, ...], output: str) -> None:
    """Write what the documents of PATTERN refer to, in the form of another service.

    Without PATTERN, all documents are meant. Only what everyone may read is written. PDIs need
    the setting base_url, for their addresses.
    """
    from perdure.cli.output import output_file
    from perdure.model.queries import PUBLIC_READER
    from perdure.upkeep.citations import exporting
    from perdure.upkeep.citations.asking import read_filter
    from perdure.upkeep.citations.listing import CitationListing
    from perdure.upkeep.citations.subjects import CitationSubject, list_everything
    from perdure.upkeep.indexing import open_citations

    rows = read_filter(kinds)
    subject = list_everything() if names is None else CitationSubject(str(names), names)
    with here().open_registry() as registry, open_citations(registry) as index:
        update_index(index, "citations")
        listing = CitationListing(registry, index, PUBLIC_READER)
        found = listing.walk_all(subject, "cites", rows)
        with output_file(output) as target:
            for piece in exporting.export_citations(form, found, registry.settings.base_url):
                target.write(piece.encode())


@citation_services.command("receive", cls=PerdureCommand)
@click.argument("source", metavar="FILE|URL")
@click.option(
    "--form", type=click.Choice(["scholix", "datacite"]), required=True, help="Form of the reports."
)
def receive_reports(source: str, form: str) -> None:
    """Take in reports of citations from a file, or from a URL, which is fetched safely.

    Reports wait until you accept or delete them. Those about names that are not registered here are
    left out.
    """
    from perdure.upkeep.citations.receiving import fetch_reports, read_reports, take_reports

    with here().open_registry() as registry, _open_received(registry) as received:
        if source.startswith(("http://", "https://")):
            data = fetch_reports(registry, source)
        else:
            data = read_reports(Path(source))
        taken = take_reports(registry, received, data, form)
    here().print_answer(
        taken._asdict(), f"{taken.added} new, {taken.known} known, {taken.left_out} left out"
    )


@citation_services.command("fetch", cls=PerdureCommand)
def fetch_queued() -> None:
    """Fetch the pages of queued Webmentions, and look for the names that they refer to.

    'perdure serve' does so regularly if the setting webmentions is on.
    """
    import asyncio

    from perdure.upkeep.citations.receiving import check_queue

    with here().open_registry() as registry, _open_received(registry) as received:
        for one in asyncio.run(check_queue(registry, received)):
            _print_report(one)


@citation_services.command("received", cls=PerdureCommand)
@click.option(
    "--state",
    type=click.Choice(["queued", "waiting", "accepted", "requeued", "refused"]),
    help="Only reports in this state. Default: all.",
)
def list_received(state: str | None) -> None:
    """List reports of citations: number, state, citing address, cited name."""
    with here().open_registry() as registry, _open_received(registry) as received:
        after = 0
        while page := received.list_reports(state, after):
            for one in page:
                _print_report(one)
            after = page[-1].number
    here().end_list("no reports of citations" if state is None else f"no {state} reports")


@citation_services.command("accept", cls=PerdureCommand)
@click.argument("numbers", metavar="NUMBER...", type=click.IntRange(min=1), nargs=-1, required=True)
def accept_reports(numbers: tuple[int, ...]) -> None:
    """Accept reports: from now on, they are listed as received, beside the citations found here."""
    with here().open_registry() as registry, _open_received(registry) as received:
        for number in numbers:
            received.decide_report(number, "accepted")


@citation_services.command("delete", cls=PerdureCommand)
@click.argument("numbers", metavar="NUMBER...", type=click.IntRange(min=1), nargs=-1, required=True)
def delete_reports(numbers: tuple[int, ...]) -> None:
    """Delete reports, whatever their state."""
    with here().open_registry() as registry, _open_received(registry) as received:
        for number in numbers:
            received.delete_report(number)


def _open_received(registry: Registry) -> AbstractContextManager[ReceivedCitations]:
    import contextlib

    from perdure.upkeep.citations.received import ReceivedCitations

    return contextlib.closing(ReceivedCitations(registry))


def _print_report(one: CitationReported) -> None:
    import msgspec

    said = f": {one.problem}" if one.problem else ""
    here().print_answer(
        msgspec.to_builtins(one),
        f"{one.number} {one.state} {one.kind} {one.source} -> {one.target}{said}",
    )
