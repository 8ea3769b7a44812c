"""Lists of citations on the command line: `cites`, `cited-by`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here

if TYPE_CHECKING:
    from perdure.ids.named_parts import Name
    from perdure.model.queries import Gone
    from perdure.registry import Registry
    from perdure.upkeep.changes.document_index import DocumentIndex
    from perdure.upkeep.citations.asking import CitationsWanted
    from perdure.upkeep.citations.citation_index import CitationIndex
    from perdure.upkeep.citations.listing import CitationPage, ListedCitation
    from perdure.upkeep.citations.received import CitationReported

choose_kinds = click.option(
    "--kind",
    "kinds",
    metavar="KIND",
    multiple=True,
    help="Only these: declared, one of its kinds such as declared:href, or claimed; may be "
    "repeated. Or only found: quotations that nothing declares.",
)
_since = click.option(
    "--since", metavar="DAY", default="", help="Only documents deposited on this day or later."
)
_until = click.option(
    "--until", metavar="DAY", default="", help="Only documents deposited on this day or earlier."
)
_limit = click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="At most this many. Default: all."
)
_count = click.option("--count", is_flag=True, help="Print only how many there are.")


@click.command(cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED_SET)
@options.part
@choose_kinds
@_since
@_until
@_limit
@_count
def cites(
    named: Name,
    part: str | None,
    kinds: tuple[str, ...],
    since: str,
    until: str,
    limit: int | None,
    count: bool,
) -> None:
    """List what IDENTIFIER refers to.

    IDENTIFIER is a document, a version, a part, a series, an interval or a pattern. Each line has
    the day, the kind, the citing document with the place in it, and the cited name. References are
    found in the text, the markup and the links of the documents held here. If there are none, the
    command says so on stderr, and exits with 0.
    """
    _list_citations("cites", named, part, kinds, since, until, limit, count=count)


@click.command("cited-by", cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED_SET)
@options.part
@choose_kinds
@_since
@_until
@_limit
@_count
def cited_by(
    named: Name,
    part: str | None,
    kinds: tuple[str, ...],
    since: str,
    until: str,
    limit: int | None,
    count: bool,
) -> None:
    """List the documents held here that refer to IDENTIFIER, the newest first.

    IDENTIFIER is a document, a version, a part, a series, an interval or a pattern. References to a
    part are listed for every part that overlaps it. IDENTIFIER may also be a name that is not
    registered here, such as a DOI. If there are none, the command says so on stderr, and exits with
    0.
    """
    _list_citations("citedby", named, part, kinds, since, until, limit, count=count)


def _list_citations(
    direction: str,
    named: Name,
    part: str | None,
    kinds: tuple[str, ...],
    since: str,
    until: str,
    limit: int | None,
    *,
    count: bool,
) -> None:
    from perdure.upkeep.citations.asking import FOUND, MOST, CitationsWanted, read_filter
    from perdure.upkeep.indexing import open_citations, open_passages

    rows = read_filter(kinds, since, until)
    is_limited = bool(kinds or since or until)
    wanted = CitationsWanted(direction, rows, limit=min(limit or MOST, MOST))
    with here().open_registry() as registry, open_citations(registry) as index:
        update_index(index, "citations")
        if FOUND in kinds:
            with open_passages(registry) as passages:
                update_index(passages, "passages")
        number = 0
        for page in _walk(registry, index, named, part, wanted):
            most = None if limit is None else limit - number
            listed = page.citations[:most]
            reports = page.received[: None if most is None else most - len(listed)]
            if not count:
                _print_rows(listed, reports)
            number += len(listed) + len(reports)
            if number == limit:
                break
    if count:
        here().print_answer({"count": number}, str(number))
    else:
        part = named.part if part is None else part
        here().end_list(_describe_absence(direction, named, part, is_limited=is_limited))


def update_index(index: DocumentIndex, what: str) -> None:
    """Bring an index up to date, with a progress bar."""
    from perdure.cli.progress import show_progress
    from perdure.upkeep.indexing import bring_up_to_date

    with show_progress(f"index of {what}", total=None, unit="changes") as bar:
        bring_up_to_date(index, bar)


def _walk(
    registry: Registry,
    index: CitationIndex,
    named: Name,
    part: str | None,
    wanted: CitationsWanted,
) -> Iterator[CitationPage]:
    """Yield pages of citations. The first one has the accepted reports."""
    while True:
        page = _ask(registry, index, named, part, wanted)
        yield page
        if page.cursor is None:
            return
        wanted = wanted._replace(cursor=page.cursor)


def _ask(
    registry: Registry,
    index: CitationIndex,
    named: Name,
    part: str | None,
    wanted: CitationsWanted,
) -> CitationPage:
    """Return a page, or end with the exit code of a withdrawn name. Raises NotFound."""
    from msgspec import structs

    from perdure.cli import queries
    from perdure.ids.named_parts import join_part
    from perdure.model.queries import Gone
    from perdure.upkeep.citations import asking

    identifier, part = join_part(named.identifier, named.part if part is None else part)
    query = queries.make_query(registry, identifier, part=part)
    query = structs.replace(query, names=named.names)
    page = asking.ask_citations(registry, index, query, wanted)
    if isinstance(page, Gone):
        end_with_tombstone(page)
    return page


def end_with_tombstone(step: Gone) -> NoReturn:
    """Print who withdrew a name and why, and end with the exit code for that."""
    import msgspec

    from perdure.cli.fetching import WithdrawnResource

    gone = WithdrawnResource(
        identifier=str(step.identifier), tombstone=msgspec.to_builtins(step.tombstone)
    )
    here().print_failure(gone, gone.sentence)
    click.get_current_context().exit(exits.GONE)
    raise AssertionError("unreachable")


def _print_rows(rows: Sequence[ListedCitation], reports: Sequence[CitationReported]) -> None:
    """Print citations; the accepted reports of other services follow."""
    for one in rows:
        here().print_answer(_make_row(one), _describe_citation(one))
    for report in reports:
        _print_received(report)


def _describe_absence(direction: str, named: Name, part: str | None, *, is_limited: bool) -> str:
    """Say that nothing was found, for people. A program sees no line, or a count of 0."""
    name = str(named.names or named.identifier)
    if part is not None:
        name += f"#{part}"
    limits = " within these limits" if is_limited else ""
    if direction == "cites":
        return f"no references found in {name}{limits}"
    return f"no references to {name} found{limits}"


def _print_received(one: CitationReported) -> None:
    """Print an accepted report of another service."""
    row = {"citing": one.source, "cited": one.target, "kind": f"received:{one.kind}"}
    row |= {"day": one.day or one.at[:10], "provider": one.provider, "title": one.title}
    said = f" (says {one.provider})" if one.provider else ""
    here().print_answer(row, f"{row['day']} {row['kind']} {one.source} -> {one.target}{said}")


def _make_row(one: ListedCitation) -> dict[str, object]:
    import msgspec

    row: dict[str, object] = msgspec.to_builtins(one)
    return row | {"citation": one.name}


def _describe_citation(one: ListedCitation) -> str:
    """Describe a citation for people, on one line."""
    citing = one.citing if one.origin is None else f"{one.citing}@{one.origin}"
    said = "" if one.claimed_by is None else f" (says {one.claimed_by})"
    return f"{one.day} {one.kind} {citing} -> {one.cited}{said}"
