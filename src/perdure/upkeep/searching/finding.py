"""Documents that contain some words, the newest first, with the parts in which the words are.

How it works: the index of words gives candidates. Each one is resolved through the read door for
the reader, and its words are compared with what the reader may see now: the text of its bytes, its
title and its description. So nothing is found that was withdrawn, closed, erased or changed since
it was indexed. The passages of a text are shown with the part that contains each word; this part is
resolved and cut, too, and given only if it contains the word.

Names of one thing (formats and versions of a resource, equal bytes under other names) are shown
once, under the name that was indexed last (ruling urn93-duplicates).

The count is of documents, and bounded. It counts only what the reader may see: documents about
which there are reading rules, and those that changed since they were indexed, are resolved first.

What must stay true: a document that the reader may not see has no effect on an answer, be it on its
hits, its count or its pages.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice

from perdure.errors import Conflict, Corrupt, PerdureError
from perdure.extractors.plain_text import PlainText, list_breaks
from perdure.extractors.port import Source, iterate_body
from perdure.extractors.text.coding import find_part_codec
from perdure.ids import Identifier, scheme_of
from perdure.model.changes import WITHOUT_RECORDS, ChangeMark
from perdure.model.queries import Fetch, Query, Reader
from perdure.policy.searching.matching import (
    Place,
    SearchedText,
    choose_passages,
    matches_query,
)
from perdure.reading.plain_texts import read_plain_text
from perdure.reading.text_places import select_range
from perdure.registry import Registry
from perdure.upkeep.changes.record_index import list_keys
from perdure.upkeep.searching.admission import Admission, AdmittedEntry
from perdure.upkeep.searching.facets import count_facets
from perdure.upkeep.searching.found import (
    FoundDocument,
    FoundPage,
    MatchedPassage,
    show_passage,
    spell_day,
)
from perdure.upkeep.searching.index_reader import IndexReader
from perdure.upkeep.searching.text_index import Entry, Selection

MOST_COUNTED = 10_000
"""Documents that are counted; further ones are "more than" these."""
_MOST_COUNTED_SLOWLY = 1000
"""The same, if some of them must be resolved to know whether they count."""
MOST_ALSO = 20
"""Other names of a document that are shown."""
_MOST_CHANGED = 1000  # changes since the last one that was indexed
_SHOWN = 300  # characters of a title or a description


class Finder:
    """Searches the registry for one reader, on one index. For one thread."""

    def __init__(self, registry: Registry, index: IndexReader, reader: Reader) -> None:
        self._registry = registry
        self._index = index.words
        self._reader = reader
        self._admission = Admission(registry, index, reader)
        self.is_governed = self._admission.has_rules
        """True if the answer depends on reading rules."""

    # pages
    # -----

    def find_page(
        self,
        selection: Selection,
        *,
        before: int | None = None,
        limit: int,
        since: ChangeMark | None,
    ) -> FoundPage:
        """Return a page of documents; `before` is the cursor of the page before, and `since` the
        last change that was indexed.
        """
        found: list[tuple[int, FoundDocument]] = []
        cursor = None
        with closing(self._list_numbers(selection, before)) as numbers:
            for number in numbers:
                if len(found) < limit:
                    document = self._find_document(selection, number)
                    if document is not None:
                        found.append((number, document))
                elif self._is_first(selection, number):
                    cursor = found[-1][0]
                    break
        counted, is_more = self._list_counted(selection, since)
        return FoundPage(
            documents=tuple(one for _, one in found),
            count=len(counted),
            is_more=is_more,
            cursor=cursor,
            facets=count_facets(self._index.count_limits(counted)),
        )

    def find_names(self, selection: Selection) -> Iterator[Identifier]:
        """Yield the names of all documents that are found, the newest first.

        Captures are left out: this registry has no records of them.
        """
        with closing(self._list_numbers(selection)) as numbers:
            for number in numbers:
                candidate = self._admission.admit(self._index.find_entry(number))
                if candidate is None or candidate.text is not None:
                    continue
                if self._matches(selection, candidate):
                    yield candidate.name

    def _list_numbers(self, selection: Selection, before: int | None = None) -> Generator[int]:
        """List the numbers of entries that may be found.

        Words that must not occur are left to the comparison with what the reader may see: else
        hidden words would keep a document from being found.
        """
        if self.is_governed:
            selection = selection.without_excluded
        return self._index.find_numbers(selection, before)

    def _find_document(self, selection: Selection, number: int) -> FoundDocument | None:
        candidate = self._admission.admit(self._index.find_entry(number))
        if candidate is None:
            return None
        passages = self._find_passages(selection, candidate)
        if passages is None:
            return None
        same = self._list_same(candidate)
        if self._is_shown_before(selection, candidate, same):
            return None
        return FoundDocument(
            identifier=str(candidate.name),
            title=candidate.described["title"].text.partition("\n")[0][:_SHOWN],
            media_type=candidate.media_type,
            at=candidate.at,
            day=spell_day(candidate.entry.day),
            passages=passages,
            also=tuple(self._list_also(selection, candidate, same)),
        )

    def _is_first(self, selection: Selection, number: int) -> bool:
        """Return True if `_find_document` would return a document."""
        candidate = self._admission.admit(self._index.find_entry(number))
        return (
            candidate is not None
            and self._matches(selection, candidate)
            and not self._is_shown_before(selection, candidate, self._list_same(candidate))
        )

    # other names
    # -----------

    def _is_shown_before(
        self, selection: Selection, candidate: AdmittedEntry, same: Sequence[Entry]
    ) -> bool:
        """Return True if a newer document of the same thing contains the words, too."""
        newer = (one for one in same if one.id > candidate.entry.id)
        return any(self._is_found(selection, one) for one in newer)

    def _list_also(
        self, selection: Selection, candidate: AdmittedEntry, same: Sequence[Entry]
    ) -> Iterator[str]:
        older = (one for one in same if one.id < candidate.entry.id)
        found = (self._admission.admit(one) for one in older if self._is_found(selection, one))
        yield from islice((str(one.name) for one in found if one is not None), MOST_ALSO)

    def _is_found(self, selection: Selection, entry: Entry) -> bool:
        """Return True if the reader may see an entry, and it is selected."""
        candidate = self._admission.admit(entry) if selection.covers(entry) else None
        return candidate is not None and self._matches(selection, candidate)

    def _list_same(self, candidate: AdmittedEntry) -> list[Entry]:
        """Return the other entries of the same resource, and those with the same bytes."""
        keys = [candidate.entry.key]
        if candidate.held is not None:
            with suppress(Corrupt):
                reference = f"sha512:{candidate.held.sha512}"
                found = self._registry.records.find_referring(reference, limit=MOST_ALSO + 1)
                keys += [key for key in found if key != candidate.entry.key]
        entries = [
            entry
            for key in keys
            for entry in self._index.list_entries(key)
            if entry.id != candidate.entry.id
        ]
        return [
            one
            for one in entries
            if one.key == candidate.entry.key or self._has_same_bytes(one, candidate)
        ]

    def _has_same_bytes(self, entry: Entry, candidate: AdmittedEntry) -> bool:
        other = self._admission.admit(entry)
        if other is None or other.held is None or candidate.held is None:
            return False
        return other.held.sha512 == candidate.held.sha512

    # passages
    # --------

    def _matches(self, selection: Selection, candidate: AdmittedEntry) -> bool:
        """Return True if a document contains the words."""
        fields = _list_described(selection, candidate)
        source = self._open_source(selection, candidate)
        if candidate.text is not None and "text" in selection.fields:
            fields["text"] = candidate.text
        if source is not None:
            with suppress(PerdureError):  # noted as unread when it was indexed
                found = self._registry.parts.read_characters(source)
                if found is not None:
                    fields["text"] = SearchedText(*found)
        return _is_selected(selection, candidate, fields)

    def _open_source(self, selection: Selection, candidate: AdmittedEntry) -> Source | None:
        if "text" not in selection.fields or candidate.held is None:
            return None
        return self._registry.documents.open_source(candidate.name, candidate.held)

    def _find_passages(
        self, selection: Selection, candidate: AdmittedEntry
    ) -> tuple[MatchedPassage, ...] | None:
        """Return the passages that contain the words, or None if the document does not match."""
        fields = _list_described(selection, candidate)
        source, plain = self._open_source(selection, candidate), None
        if source is not None:
            with suppress(PerdureError):  # noted as unread when it was indexed
                plain = self._registry.parts.read_text(source)
        if plain is not None:
            fields["text"] = SearchedText(plain.text, list_breaks(plain))
        elif candidate.text is not None and "text" in selection.fields:
            fields["text"] = candidate.text
        if not _is_selected(selection, candidate, fields):
            return None
        shown: list[MatchedPassage] = []
        for field, text in fields.items():
            for passage in choose_passages(text, selection.query.terms):
                found: list[str | None] = [None] * len(passage.hits)
                if field == "text" and source is not None and plain is not None:
                    found = [self._find_part(candidate, source, plain, hit) for hit in passage.hits]
                shown.append(show_passage(field, text, passage, candidate.name, found))
        return tuple(shown)

    def _find_part(
        self, candidate: AdmittedEntry, source: Source, plain: PlainText, hit: Place
    ) -> str | None:
        """Return the text of the part that contains a hit; None if no part is known to do so."""
        own = bool(scheme_of(candidate.name).part_mark)
        parts = self._registry.parts
        try:
            selector = select_range(parts, source, plain, *hit, has_own_parts=own)
            part = None if selector is None else str(selector)
            if part and self._has_words(candidate.name, part, plain.text[slice(*hit)]):
                return part
        except PerdureError:  # a part that this reader may not have, or that cannot be named
            return None
        return None

    def _has_words(self, name: Identifier, part: str, words: str) -> bool:
        """Return True if a part, resolved through the read door, contains some words."""
        query = Query(identifier=name, part=part, reader=self._reader)
        resolved = self._registry.reading.resolve(query)
        step = resolved.require_step()
        if not isinstance(step, Fetch):
            return False
        source, selector = self._registry.documents.find_text(resolved, step)
        if selector is None:
            return False
        if source.essence == "text/plain":
            cut = self._registry.parts.cut_part(source, selector)
            data = b"".join(iterate_body(cut.body, source))
            found = data.decode(find_part_codec(source, cut.charset))
            return found.replace("\r\n", "\n").replace("\r", "\n") == words
        return words in read_plain_text(self._registry.parts, source, selector)

    # counting
    # --------

    def _list_counted(
        self, selection: Selection, since: ChangeMark | None
    ) -> tuple[list[int], bool]:
        """List the numbers of what is found, up to a bound; True if there are more."""
        doubtful = self._list_doubtful(since)
        hides = self.is_governed or self._admission.hides_captures
        is_fast = not hides and doubtful is not None
        most = MOST_COUNTED if is_fast else _MOST_COUNTED_SLOWLY
        counted: list[int] = []
        with closing(self._list_numbers(selection._replace(is_ranked=False))) as numbers:
            for number in numbers:
                if is_fast and number not in (doubtful or ()):
                    pass
                elif not self._counts(selection, number, doubtful):
                    continue
                if len(counted) == most:
                    return counted, True
                counted.append(number)
        return counted, False

    def _counts(self, selection: Selection, number: int, doubtful: frozenset[int] | None) -> bool:
        """Return True if the reader may see an entry, and it contains the words."""
        entry = self._index.find_entry(number)
        if entry is None:
            return False
        is_certain = doubtful is not None and number not in doubtful
        if is_certain and not selection.query.excluded and self._admission.is_open(entry.key):
            return True
        return self._is_found(selection, entry)

    def _list_doubtful(self, since: ChangeMark | None) -> frozenset[int] | None:
        """Return the entries whose records changed since, or None if they are many."""
        changed = self._list_changed(since)
        if changed is None:
            return None
        return frozenset(one.id for key in changed for one in self._index.list_entries(key))

    def _list_changed(self, since: ChangeMark | None) -> frozenset[str] | None:
        """Return the keys of records that changed after what was indexed; None if they are many."""
        records = self._registry.records
        try:
            page = records.list_changes(since, limit=_MOST_CHANGED + 1)
            if len(page) > _MOST_CHANGED:
                return None
            return frozenset(
                key
                for change in page
                if change.act not in WITHOUT_RECORDS and change.revision > 1
                for key in list_keys(change, records)
            )
        except (Conflict, Corrupt):  # the index is of another past
            return None


def _list_described(selection: Selection, candidate: AdmittedEntry) -> dict[str, SearchedText]:
    """Return the texts of the description to look in, the title first."""
    return {
        field: candidate.described[field]
        for field in ("title", "people", "metadata")
        if field in selection.fields
    }


def _is_selected(
    selection: Selection, candidate: AdmittedEntry, fields: dict[str, SearchedText]
) -> bool:
    """Return True if a document contains the words in these fields, and those of its people."""
    by = selection.by
    return matches_query(list(fields.values()), selection.query) and (
        by is None or matches_query([candidate.described["people"]], by)
    )
