"""Quotations of a document or of a text, for every face: found, compared, and named.

How it works: `find_quotations_of` searches the text of a resolved name, and `find_quotations_in`
any text. The result names the passages on both sides, and says what was promised, how much of the
registry was searched, and what could not be read. Of two documents, the one that was deposited
later is the one that may quote.

What must stay true: a quotation that was found is not a citation: nothing is asserted, stored or
counted. The record of the text itself is not searched.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from perdure.errors import Corrupt, PerdureError
from perdure.errors.cutting import TextNotSupported
from perdure.errors.limits import PlainTextTooLong
from perdure.extractors.plain_text import Characters
from perdure.ids import Identifier, parse
from perdure.model.queries import Fetch, Gone, Reader
from perdure.policy.citing import require_citation
from perdure.reading.plain_texts import choose_text, read_divided_text
from perdure.reading.resolved import Resolved
from perdure.reading.targets import spell_part_uri
from perdure.registry import Registry
from perdure.upkeep.changes.following import count_behind
from perdure.upkeep.quotations.finding import PROMISE, FoundPassage, find_passages
from perdure.upkeep.quotations.passage_index import PassageIndex
from perdure.upkeep.quotations.texts import ComparedText, open_compared_text, read_breaks
from perdure.upkeep.quotations.words import NO_BREAKS

LARGEST = 20 << 20  # characters of a text that is searched
_SHOWN = 300  # characters of a passage


class Quotation(msgspec.Struct, frozen=True, kw_only=True):
    """Equal words in the text that was asked about and in a held document."""

    start: int
    stop: int
    """The code points of the text that was asked about."""
    identifier: str | None = None
    """The part of the document that was asked about; None if it has no name."""
    found_in: str
    """The part of the other document; the document if no single part contains the words."""
    document: str
    """The other document, with version and format."""
    day: str
    """The day on which it was deposited."""
    is_older: bool = True
    """True if the other document was deposited before the one that was asked about."""
    words: int
    """Equal words, or characters of scripts without spaces."""
    text: str
    """The words, as they are in the text that was asked about; shortened if they are many."""
    citation: str | None = None
    """The name of the citation of the older document by the later one, which can be checked."""


class QuotationReport(msgspec.Struct, frozen=True, kw_only=True):
    """All quotations of a text."""

    about: str
    promise: str = PROMISE
    day: str = ""
    """The day on which the document that was asked about was deposited; empty for a file."""
    quotations: tuple[Quotation, ...]
    searched: str
    """The last change of the registry that the search knows; empty if it knows none."""
    behind: int | None
    """The number of later changes; None if they are in another epoch."""
    unread: int
    """The number of documents that could not be read, and so were not searched."""


class _Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The text that was asked about, and the document that it is."""

    about: str
    text: str
    breaks: NDArray[np.intp] = NO_BREAKS
    """The places at which words end although nothing divides them."""
    name: Identifier | None = None
    day: str = ""
    compared: ComparedText | None = None


def find_quotations_in(
    registry: Registry, index: PassageIndex, text: Characters, about: str, reader: Reader
) -> QuotationReport:
    """Find the passages of a text in held documents. Raises PlainTextTooLong."""
    if len(text.text) > LARGEST:
        raise PlainTextTooLong(source=about, most=LARGEST)
    subject = _Subject(about=about, text=text.text, breaks=read_breaks(text.breaks))
    return _search(registry, index, subject, reader)


def find_quotations_of(
    registry: Registry, index: PassageIndex, resolved: Resolved, reader: Reader
) -> QuotationReport | Gone:
    """Find the passages of a document, or of a part of it, in other held documents.

    Returns the tombstone if it was withdrawn. Raises the errors of resolving the name and of
    reading its text.
    """
    resolved.require_single()
    step = choose_text(resolved)
    if isinstance(step, Gone):
        return step
    source, selector = registry.documents.find_text(resolved, step)
    about = str(step.identifier) if resolved.part is None else str(resolved.asked)
    if selector is not None:
        text = read_divided_text(registry.parts, source, selector)
        subject = _Subject(
            about=about,
            text=text.text,
            breaks=read_breaks(text.breaks),
            day=_find_day(resolved, step),
        )
    else:
        compared = open_compared_text(registry.parts, source)
        if compared is None:
            raise TextNotSupported(media_type=source.media_type, selector="text")
        if compared.length > LARGEST:
            raise PlainTextTooLong(source=source.name, most=LARGEST)
        subject = _Subject(
            about=about,
            text=compared.cut(0, compared.length),
            breaks=compared.list_breaks(0, compared.length),
            name=step.identifier,
            day=_find_day(resolved, step),
            compared=compared,
        )
    return _search(registry, index, subject, reader, without=resolved.whole.key)


def _find_day(resolved: Resolved, step: Fetch) -> str:
    """Return the day on which the bytes of a step were deposited."""
    if step.representation.at:
        return step.representation.at[:10]
    versions = () if resolved.record is None else resolved.record.versions
    held = (one for one in versions if step.representation in one.representations)
    return next((one.at[:10] for one in held), "")


def _search(
    registry: Registry,
    index: PassageIndex,
    subject: _Subject,
    reader: Reader,
    without: str = "",
) -> QuotationReport:
    unread = [one.name for one in index.list_unread()]

    def note(name: str, error: PerdureError) -> None:
        if isinstance(error, Corrupt):
            unread.append(name)

    found = find_passages(
        registry,
        index,
        subject.text,
        reader,
        breaks=subject.breaks,
        without=without,
        note=note,
    )
    quotations = [_describe(subject, one) for one in found]
    quotations.sort(key=lambda one: (one.start, -one.words, one.document))
    mark = index.find_mark()
    return QuotationReport(
        about=subject.about,
        day=subject.day,
        quotations=tuple(quotations),
        searched="" if mark is None else str(mark),
        behind=_count_behind(registry, index),
        unread=len(unread),
    )


def _count_behind(registry: Registry, index: PassageIndex) -> int | None:
    mark = index.find_mark()
    if mark is not None:
        return count_behind(registry.records, mark)
    head = registry.records.find_head()
    return 0 if head is None else head.number


def _describe(subject: _Subject, found: FoundPassage) -> Quotation:
    ours = None
    if subject.name is not None and subject.compared is not None:
        ours = subject.compared.find_part(subject.name, found.start, found.stop)
    theirs = parse(found.name)
    named = subject.name
    written = subject.text[found.start : found.stop]
    return Quotation(
        start=found.start,
        stop=found.stop,
        identifier=None if ours is None or named is None else spell_part_uri(named, ours),
        found_in=found.name if found.part is None else spell_part_uri(theirs, found.part),
        document=found.name,
        day=found.day,
        is_older=_is_older(subject, found),
        words=found.words,
        text=written if len(written) <= _SHOWN else f"{written[:_SHOWN]}…",
        citation=_name_citation(subject, ours, found),
    )


def _name_citation(subject: _Subject, ours: str | None, found: FoundPassage) -> str | None:
    """Return the name of the citation of the older document by the later one, if it has one."""
    if subject.name is None or subject.compared is None:
        return None
    citing, origin, cited, part = found.name, found.origin, str(subject.name), ours
    if _is_older(subject, found):
        citing, cited, part = cited, found.name, found.part
        origin = subject.compared.find_origin(found.start, found.stop)
    if origin is None or part is None:
        return None
    try:
        return str(require_citation(parse(f"{citing}@{origin}={cited}#{part}")))
    except PerdureError:
        return None


def _is_older(subject: _Subject, found: FoundPassage) -> bool:
    """Return True if a document that was found was deposited first; all are older than a file."""
    if subject.name is None:
        return True
    ours = (subject.day, subject.name.key)
    return (found.day, parse(found.name).key) < ours  # keys of one day are in the order of naming
