"""A question about citations, read once for every face: direction, kinds, days, and the page.

How it works: a face builds a `CitationsWanted` from texts and gives it to `answer_citations`, with
the name that it has resolved. A name that is not registered here, and cannot be, has no record to
resolve; it can be cited all the same (`find_foreign`).

What must stay true: every face gives the same answer. A name that was withdrawn has none: the
answer is its tombstone.
"""

from __future__ import annotations

import re
from contextlib import closing
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from perdure.errors import NotFound
from perdure.errors.citing import CitationDayMalformed, UnknownCitationKind
from perdure.errors.requests import ForeignCursor
from perdure.ids import Identifier, parse
from perdure.model.changes import ChangeMark
from perdure.model.queries import Gone, Query, Reader
from perdure.policy.citing import require_citation
from perdure.reading.resolved import Resolved
from perdure.registry import Registry
from perdure.upkeep.changes.following import count_behind
from perdure.upkeep.citations.citation_index import KINDS, CitationIndex, RowFilter
from perdure.upkeep.citations.listing import CitationListing, CitationPage, ListedCitation
from perdure.upkeep.citations.received import FILE, CitationReported, ReceivedCitations
from perdure.upkeep.citations.subjects import CitationSubject, make_foreign_subject, make_subject

if TYPE_CHECKING:
    from perdure.upkeep.quotations.asking import Quotation, QuotationReport

DIRECTIONS = ("cites", "citedby")
LIMIT, MOST = 100, 1000
"""The usual and the largest number of citations of a page."""
_DECLARED = "declared"
FOUND = "found"
"""The kind of quotations that nothing declares. It is asked for alone."""
_NUMBER = re.compile("[0-9]{1,9}", re.ASCII)
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


class CitationsWanted(NamedTuple):
    """A question about the citations of a name."""

    direction: str
    rows: RowFilter = RowFilter()
    cursor: str | None = None
    limit: int = LIMIT


def read_filter(kinds: tuple[str, ...], since: str = "", until: str = "") -> RowFilter:
    """Read kinds, or `declared` for all that are declared, and days.

    Raises UnknownCitationKind or CitationDayMalformed.
    """
    chosen: list[str] = []
    if kinds == (FOUND,):
        return RowFilter(kinds, since, until)
    for kind in kinds:
        found = [one for one in KINDS if one == kind or (kind == _DECLARED and ":" in one)]
        if not found:
            raise UnknownCitationKind(text=kind, known=(_DECLARED, *KINDS, FOUND))
        chosen += found
    for day in (since, until):
        if day and not _is_day(day):
            raise CitationDayMalformed(day=day)
    return RowFilter(tuple(dict.fromkeys(chosen)), since, until)


def _is_day(text: str) -> bool:
    if not _DAY.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def answer_citations(
    registry: Registry,
    index: CitationIndex,
    resolved: Resolved,
    wanted: CitationsWanted,
    reader: Reader,
) -> CitationPage | Gone:
    """Return a page of citations, or the tombstone of a name.

    Raises ForeignCursor, and the errors of `perdure.upkeep.citations.subjects.make_subject`.
    """
    resolved.require_no_citation()
    if resolved.pwid is not None:  # nothing is registered of it, but it can be cited
        subject = make_foreign_subject(resolved.pwid)
        return list_subject(registry, index, subject, wanted, reader)
    gone = find_tombstone(resolved)
    if gone is not None:
        return gone
    if FOUND in wanted.rows.kinds:
        return _list_found(registry, resolved, wanted, reader)
    return list_subject(registry, index, make_subject(registry, resolved), wanted, reader)


def ask_citations(
    registry: Registry, index: CitationIndex, query: Query, wanted: CitationsWanted
) -> CitationPage | Gone:
    """Resolve a query, and return a page of citations of its name, or the tombstone.

    Raises NotFound if the name is unknown and nothing held here cites it, and as
    `answer_citations`.
    """
    try:
        resolved = registry.reading.resolve(query)
    except NotFound:
        subject = find_foreign(registry, index, query.identifier)
        if subject is None:
            raise
        return list_subject(registry, index, subject, wanted, query.reader)
    return answer_citations(registry, index, resolved, wanted, query.reader)


def _list_found(
    registry: Registry, resolved: Resolved, wanted: CitationsWanted, reader: Reader
) -> CitationPage | Gone:
    """Return quotations that nothing declares: by later documents, or of earlier ones.

    They are searched for now, and never stored. Raises MissingLibrary, and the errors of reading
    the text.
    """
    from perdure.upkeep.indexing import open_passages

    with open_passages(registry) as passages:
        from perdure.upkeep.quotations.asking import find_quotations_of

        report = find_quotations_of(registry, passages, resolved, reader)
    if isinstance(report, Gone):
        return report
    chosen = [one for one in report.quotations if one.is_older == (wanted.direction == "cites")]
    cursor = wanted.cursor or "0"
    if not _NUMBER.fullmatch(cursor):
        raise ForeignCursor(cursor=cursor)
    start = int(cursor)
    shown = chosen[start : start + wanted.limit]
    return CitationPage(
        about=report.about,
        direction=wanted.direction,
        citations=tuple(_tell_found(report, one) for one in shown),
        cursor=str(start + wanted.limit) if len(chosen) > start + wanted.limit else None,
    )


def _tell_found(report: QuotationReport, one: Quotation) -> ListedCitation:
    """Return a quotation as a citation of the older document by the later one."""
    document = report.about.partition("#")[0]
    sides = [(document, one.identifier or report.about), (one.document, one.found_in)]
    if not one.is_older:
        sides.reverse()
    (citing, _), (_, cited) = sides
    named = None if one.citation is None else require_citation(parse(one.citation)).citation
    return ListedCitation(
        citing=citing,
        origin=None if named is None else named.origin,
        cited=cited,
        kind=FOUND,
        day=one.day if not one.is_older else report.day,
    )


def list_subject(
    registry: Registry,
    index: CitationIndex,
    subject: CitationSubject,
    wanted: CitationsWanted,
    reader: Reader,
) -> CitationPage:
    """Return a page of citations of what is asked about. Raises ForeignCursor."""
    listing = CitationListing(registry, index, reader)
    limit = min(wanted.limit, MOST)
    page = listing.list_page(
        subject, wanted.direction, wanted.rows, cursor=wanted.cursor, limit=limit
    )
    if wanted.direction != "citedby" or wanted.cursor is not None or wanted.rows != RowFilter():
        return page
    return replace(page, received=_list_received(registry, subject))


def _list_received(registry: Registry, subject: CitationSubject) -> tuple[CitationReported, ...]:
    """Return accepted reports about one resource."""
    if subject.is_set or not (registry.root / FILE).exists():
        return ()
    with closing(ReceivedCitations(registry)) as received:
        return tuple(received.list_accepted(subject.keys))


def find_tombstone(resolved: Resolved) -> Gone | None:
    """Return the tombstone of a resolved name, or None if it was not withdrawn.

    Raises Forbidden or Unauthenticated if the reader may not read it.
    """
    if resolved.names is not None and resolved.record is None:
        return None
    try:
        step = resolved.require_usual_step()
    except NotFound:
        return None
    return step if isinstance(step, Gone) else None


def find_foreign(
    registry: Registry, index: CitationIndex, name: Identifier
) -> CitationSubject | None:
    """Return a name that is not registered here, if held documents refer to it.

    None for a name that this registry would have given out itself, and for sets.
    """
    if name.is_pattern or name.is_citation or registry.settings.is_numbered_here(name):
        return None
    return make_foreign_subject(name) if index.has_target(name.key) else None


def measure_progress(
    registry: Registry, index: CitationIndex
) -> tuple[ChangeMark | None, int | None]:
    """Return the last change that the index knows, and how many there are since."""
    mark = index.find_mark()
    if mark is not None:
        return mark, count_behind(registry.records, mark)
    head = registry.records.find_head()
    return None, 0 if head is None else head.number
