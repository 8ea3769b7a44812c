"""Quotations that nothing declares: `quotes of`, `quotes find`; and `index`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.citations import end_with_tombstone, update_index
from perdure.cli.command import PerdureCommand, PerdureGroup, here
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.ids.named_parts import Name
    from perdure.upkeep.changes.document_index import DocumentIndex
    from perdure.upkeep.quotations.asking import Quotation, QuotationReport

_SHOWN = 60  # characters of a passage


@click.group(cls=PerdureGroup)
def quotes() -> None:
    """Find passages that several documents have in common, declared or not.

    What is found is compared word by word, and is never stored as a citation.
    """


@quotes.command("of", cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED)
@options.part
def quotes_of(named: Name, part: str | None) -> None:
    """List the passages of IDENTIFIER that are in other documents held here.

    IDENTIFIER is a document, a version or a part. Each line has the passage, the same words in the
    other document, and how many there are. With --json, the name of the citation of the older
    document by the later one is added; 'perdure verify' checks it.
    """
    from perdure.cli import queries
    from perdure.ids.named_parts import join_part
    from perdure.model.queries import Gone
    from perdure.upkeep.indexing import open_passages

    identifier, part = join_part(named.identifier, named.part if part is None else part)
    with here().open_registry() as registry, open_passages(registry) as index:
        from perdure.upkeep.quotations.asking import find_quotations_of

        query = queries.make_query(registry, identifier, part=part)
        resolved = registry.reading.resolve(query)
        update_index(index, "passages")
        report = find_quotations_of(registry, index, resolved, query.reader)
    if isinstance(report, Gone):
        end_with_tombstone(report)
    _print_report(report)


@quotes.command("find", cls=PerdureCommand)
@click.argument("file", metavar="FILE", type=options.FILE)
def quotes_find(file: str) -> None:
    """List the passages of FILE that are in documents held here.

    FILE may have any format of which 'perdure text' prints the text; - is a text in UTF-8 on stdin.
    """
    from perdure.extractors.plain_text import Characters
    from perdure.model.queries import LOCAL_READER
    from perdure.upkeep.indexing import open_passages

    if file == "-":
        text = Characters(sys.stdin.buffer.read().decode("utf-8", "replace"))
    else:
        from perdure.reading.file_parts import FileParts

        with FileParts(Path(file)) as local:
            text = local.read_divided_text()
    with here().open_registry() as registry, open_passages(registry) as index:
        from perdure.upkeep.quotations.asking import find_quotations_in

        update_index(index, "passages")
        report = find_quotations_in(registry, index, text, file, LOCAL_READER)
    _print_report(report)


def _print_report(report: QuotationReport) -> None:
    import msgspec

    if here().as_json:
        here().print_answer(msgspec.to_builtins(report), "")
        return
    for one in report.quotations:
        click.echo(_describe_quotation(one))
    found = count_things(len(report.quotations), "quotation")
    here().print_note(f"{found} found; {report.promise}")
    if report.unread:
        unread = count_things(report.unread, "document")
        here().print_note(f"{unread} could not be read, and so were not searched")


def _describe_quotation(one: Quotation) -> str:
    """Describe a quotation for people, on one line."""
    ours = one.identifier or f"{one.start}-{one.stop}"
    words = " ".join(one.text.split())
    shown = words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…"
    return f"{ours} = {one.found_in} {count_things(one.words, 'word')}: {shown}"


@click.command("index", cls=PerdureCommand)
@click.option("--rebuild", is_flag=True, help="Read all documents again.")
def bring_indexes(rebuild: bool) -> None:
    """Bring the counts of names and the indexes that searches use up to date.

    'cites', 'cited-by', 'quotes' and 'sparql' do it themselves before they answer; 'perdure serve'
    does it regularly. With --rebuild, they are made again. Documents that cannot be read are listed
    with the reason. The indexes are those of citations, of passages, of members of collections,
    and of triples. Triples are kept once a query was asked, or if the setting sparql is on.
    """
    import contextlib

    from perdure.upkeep.indexing import (
        has_passages,
        open_citations,
        open_memberships,
        open_name_counts,
        open_passages,
    )
    from perdure.upkeep.triples.updating import is_wanted, open_triples

    with here().open_registry() as registry, contextlib.ExitStack() as stack:
        for tables in (open_name_counts(registry), open_memberships(registry)):
            table = stack.enter_context(tables)
            if rebuild:
                table.reset()
            for _ in table.take_all(registry.records):
                pass
        indexes: dict[str, DocumentIndex] = {
            "citations": stack.enter_context(open_citations(registry))
        }
        if has_passages():
            indexes["passages"] = stack.enter_context(open_passages(registry))
        if is_wanted(registry):
            indexes["triples"] = stack.enter_context(open_triples(registry))
        for what, one in indexes.items():
            if rebuild:
                one.reset()
            update_index(one, what)
        unread = {
            (each.name, each.problem) for one in indexes.values() for each in one.list_unread()
        }
        marks = {what: one.find_mark() for what, one in indexes.items()}
    for name, problem in sorted(unread):
        here().print_answer({"unread": name, "problem": problem}, f"{name}: {problem}")
    here().print_summary(
        {what: None if mark is None else str(mark) for what, mark in marks.items()},
        ", ".join(f"{what} up to change {mark or 'none'}" for what, mark in marks.items()),
    )
