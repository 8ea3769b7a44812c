"""Assertions as triples: `sparql`, and `nanopub export|import`."""

from __future__ import annotations

import resource
import signal
import sys
from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.citations import update_index
from perdure.cli.command import PerdureCommand, PerdureGroup, here
from perdure.cli.receipts import print_receipt

if TYPE_CHECKING:
    from perdure.ids import Identifier

_FORMS = ("json", "xml", "csv", "tsv", "turtle", "ntriples", "jsonld")
_MEMORY = 2 << 30  # bytes of a query of a server


@click.command(cls=PerdureCommand)
@click.argument("query", metavar="[QUERY]", required=False)
@click.option(
    "--file", type=options.FILE, metavar="FILE", help="A file with the query (- for stdin)."
)
@click.option(
    "--form",
    "forms",
    multiple=True,
    type=click.Choice(_FORMS),
    help="Form of the answer. Default: json for SELECT and ASK, turtle for CONSTRUCT and DESCRIBE.",
)
@click.option(
    "--default-graph",
    "default",
    multiple=True,
    metavar="ID",
    help="Ask only about this assertion, instead of those that FROM names; may be repeated.",
)
@click.option(
    "--named-graph",
    "named",
    multiple=True,
    metavar="ID",
    help="Only this assertion is a graph of GRAPH, instead of those of FROM NAMED.",
)
@click.option(
    "--public", is_flag=True, help="Answer from what everyone may read only, as a server does."
)
@click.option(
    "--with-type", is_flag=True, help="Write the media type of the answer on a line before it."
)
@click.option("--seconds", type=click.IntRange(1, 3600), help="Stop the query after this time.")
def sparql(
    query: str | None,
    file: str | None,
    forms: tuple[str, ...],
    default: tuple[str, ...],
    named: tuple[str, ...],
    public: bool,
    with_type: bool,
    seconds: int | None,
) -> None:
    """Answer QUERY, in SPARQL, about the assertions of the registry.

    Each assertion is a graph that its identifier, with format and version, names. Without FROM, the
    query is about all of them together. The index of triples is brought up to date first. A query
    writes nothing, and is never sent to other servers.
    """
    from perdure.model.queries import LOCAL_READER, PUBLIC_READER
    from perdure.upkeep.triples.datasets import Dataset
    from perdure.upkeep.triples.querying import LONGEST, answer_query, check_query
    from perdure.upkeep.triples.updating import open_triples

    if (query is None) == (file is None):
        raise click.UsageError("give QUERY, or --file")
    if query is None:
        with click.open_file(str(file), "rb") as stream:
            query = stream.read(4 * LONGEST + 1).decode("utf-8", "replace")
    check_query(query)
    with here().open_registry() as registry, open_triples(registry) as index:
        update_index(index, "triples")
        if seconds is not None:
            _limit(seconds)
        reader = PUBLIC_READER if public else LOCAL_READER
        dataset = Dataset(default, named)
        form, answer = answer_query(registry, index, query, reader, forms, dataset)
    if with_type:
        sys.stdout.buffer.write(f"{form.media_type}\n".encode())
    sys.stdout.buffer.write(answer)
    if not answer.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")


def _limit(seconds: int) -> None:
    """End this process after some seconds, or if it takes too much memory."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _MEMORY if most == resource.RLIM_INFINITY else min(_MEMORY, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


@click.group(cls=PerdureGroup)
def nanopub() -> None:
    """Exchange assertions as nanopublications, in TriG."""


@nanopub.command("export", cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
def nanopub_export(identifier: Identifier) -> None:
    """Write the assertion IDENTIFIER as a nanopublication.

    Its addresses are at the resolver of the setting base_url, which must be set. One that came from
    'perdure nanopub import' is written as it came.
    """
    from perdure.errors.assertions import AssertionMalformed
    from perdure.model.queries import LOCAL_READER, Query
    from perdure.upkeep.triples.nanopublications import write_nanopublication

    with here().open_registry() as registry:
        registry.reading.resolve(Query(identifier=identifier, reader=LOCAL_READER)).require_step()
        held = registry.assertions.find_assertion(identifier, LOCAL_READER)
        if held is None:
            raise AssertionMalformed(place="", expected="it must be an assertion")
        data = write_nanopublication(held, registry.settings.base_url)
    sys.stdout.buffer.write(data)


@nanopub.command("import", cls=PerdureCommand)
@click.argument("file", type=options.FILE)
@click.option("--series", metavar="SERIES", default="", help="Series of the new identifier.")
@options.add_actor("Who imports it")
def nanopub_import(file: str, series: str, by: str | None) -> None:
    """Keep the nanopublication in FILE as an assertion, and print its identifier.

    It is about the identifiers in its assertion graph, of which those of this registry must exist.
    """
    import msgspec

    from perdure.model.assertions import LONGEST
    from perdure.model.records import LOCAL
    from perdure.upkeep.asserting import store_assertion
    from perdure.upkeep.triples.nanopublications import make_annotation

    with click.open_file(file, "rb") as stream:
        data = stream.read(LONGEST + 1)
    with here().open_registry() as registry:
        made = msgspec.json.encode(make_annotation(data))
        receipt = store_assertion(registry, made, series=series, by=by or LOCAL)
    print_receipt(receipt)
