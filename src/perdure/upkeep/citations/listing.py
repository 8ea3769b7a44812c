"""Lists of the citations of a name, and of what it cites, page by page, as a reader may see it.

How it works: a `CitationSubject` is what is asked about: a resource, a version, a format, a part, a
series or a pattern. `CitationListing` reads the rows of the index that are about it, in a fixed
order, and asks the read door about both sides of each. A cursor says after which row the next page
begins, so pages stay right while rows are added.

Who cites a resource: citations of the resource and of any version, format or part of it. Who cites
a version or a part: only citations that name this version, or a part of it that overlaps. Names
that the record has as aliases are the same resource.

What must stay true: a citation is listed only if the reader may read the place in the citing
document, and if the cited name is neither withdrawn here nor closed to the reader. So the number of
rows reveals nothing, and a page may be shorter than its limit. Nothing is stored.
"""

from __future__ import annotations

import base64
import binascii
import heapq
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec

from perdure.errors import (
    Forbidden,
    LegallyUnavailable,
    PerdureError,
    Unauthenticated,
)
from perdure.errors.lookup import CitationGone
from perdure.errors.requests import ForeignCursor
from perdure.ids import Identifier, parse
from perdure.model.queries import Fetch, Gone, Query, Reader
from perdure.model.records import Record
from perdure.policy.citing import require_citation
from perdure.reading.citations.origins import Medium, find_medium
from perdure.reading.resolved import Resolved
from perdure.registry import Registry
from perdure.upkeep.changes.record_index import list_held
from perdure.upkeep.citations.citation_index import CitationIndex, IndexedCitation, RowFilter
from perdure.upkeep.citations.received import CitationReported
from perdure.upkeep.citations.subjects import CitationSubject, CitedPart, CitingPart
from perdure.upkeep.own_captures import OwnCaptures

_MOST_READ = 20_000  # rows that one page looks at
_MOST_REMEMBERED = 50_000  # names
_MOST_KEPT = 1000  # records
_LONGEST_CURSOR = 4096
_LAST = (1 << 62) - 1
_Cursor = tuple[int, str, str, int]
"""The phase, and the key, day or document, and number after which the next page begins."""
_Step = tuple[_Cursor, IndexedCitation | None]
"""A row that was read, or None if it is not one that is asked about."""


class ListedCitation(msgspec.Struct, frozen=True, kw_only=True):
    """One document refers to a name."""

    citing: str
    """The citing document, with version and format."""
    origin: str | None = None
    """The place in it (ruling: citation-origin), if it has positions."""
    extent: int = 0
    """The characters of the reference there; 0 if they are not counted."""
    cited: str
    kind: str
    day: str
    """The day on which the document that says so was deposited."""
    claimed_by: str | None = None
    """For a claim: the document that says so. It is not the citing one."""

    @property
    def name(self) -> str | None:
        """The name of the citation itself, if both sides name a version in a format."""
        if self.origin is None:
            return None
        try:
            return str(require_citation(parse(f"{self.citing}@{self.origin}={self.cited}")))
        except PerdureError:
            return None


class CitationPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of citations. `cursor` requests the next page; None for the last page."""

    about: str
    direction: str
    """`cites` or `citedby`."""
    citations: tuple[ListedCitation, ...]
    received: tuple[CitationReported, ...] = ()
    """Accepted reports of other services; on the first page only."""
    cursor: str | None = None


class CitationListing:
    """Lists the citations of one registry for one reader. For one thread."""

    def __init__(self, registry: Registry, index: CitationIndex, reader: Reader) -> None:
        self._registry = registry
        self._index = index
        self._reader = reader
        self._admitted: dict[str, bool] = {}
        self._read: dict[str, Record] = {}
        """The records that were read for the page, by their keys."""

    def list_page(
        self,
        subject: CitationSubject,
        direction: str,
        wanted: RowFilter | None = None,
        *,
        cursor: str | None = None,
        limit: int = 100,
    ) -> CitationPage:
        """Return a page of what cites a subject (`citedby`), or of what it cites (`cites`).

        The names of a page are resolved in one state of the registry. Raises ForeignCursor.
        """
        with self._registry.records.hold_snapshot():
            return self._list_page(subject, direction, wanted, cursor, limit)

    def _list_page(
        self,
        subject: CitationSubject,
        direction: str,
        wanted: RowFilter | None,
        cursor: str | None,
        limit: int,
    ) -> CitationPage:
        after = None if cursor is None else _read_cursor(cursor)
        self._read = dict(subject.read)
        wanted = wanted or RowFilter()
        walk = self._walk_citing if direction == "citedby" else self._walk_cited
        found: list[ListedCitation] = []
        for read, (place, row) in enumerate(walk(subject, wanted, after), 1):
            citation = None if row is None else self._admit(row)
            if citation is not None:
                found.append(citation)
            if len(found) == limit or read == _MOST_READ:
                cursor = _write_cursor(place)
                break
        else:
            cursor = None
        return CitationPage(
            about=subject.about, direction=direction, citations=tuple(found), cursor=cursor
        )

    def walk_all(
        self, subject: CitationSubject, direction: str, wanted: RowFilter | None = None
    ) -> Iterator[ListedCitation]:
        """Yield all citations, page after page."""
        cursor: str | None = None
        while True:
            page = self.list_page(subject, direction, wanted, cursor=cursor, limit=1000)
            yield from page.citations
            cursor = page.cursor
            if cursor is None:
                return

    # who cites
    # ---------

    def _walk_citing(
        self, subject: CitationSubject, wanted: RowFilter, after: _Cursor | None
    ) -> Iterator[_Step]:
        part = CitedPart(self._registry, subject)
        for key, row in self._read_citing(subject, wanted, after):
            is_about = subject.covers_cited(row) and part.overlaps(row)
            yield (0, key, row.day, row.number), row if is_about else None

    def _read_citing(
        self, subject: CitationSubject, wanted: RowFilter, after: _Cursor | None
    ) -> Iterator[tuple[str, IndexedCitation]]:
        """Yield the rows of one resource, the newest first; of a set, in the order of its names.

        Each has the key that a cursor needs.
        """
        if not subject.is_set:
            within = None if after is None else (after[2], after[3])
            rows = [self._index.list_citing(key, wanted, within) for key in subject.keys]
            merged = heapq.merge(*rows, key=lambda row: (row.day, row.number), reverse=True)
            yield from (("", row) for row in merged)
            return
        first = subject.names.low if after is None else max(subject.names.low, after[1])
        for key in self._index.list_targets(first, subject.names.end):
            within = (after[2], after[3]) if after is not None and after[1] == key else None
            yield from ((key, row) for row in self._index.list_citing(key, wanted, within))

    # what is cited
    # -------------

    def _walk_cited(
        self, subject: CitationSubject, wanted: RowFilter, after: _Cursor | None
    ) -> Iterator[_Step]:
        part = CitingPart(self._registry, subject)
        names = subject.names
        if after is None or after[0] == 0:
            first = ("", 0) if after is None else (after[1], _read_number(after[2]))
            for key, number, name in self._index.list_documents(names.low, names.end, first):
                if not subject.covers_citing(name):
                    yield (0, key, str(number), _LAST), None
                    continue
                begun = after is not None and (key, number) == first
                behind = after[3] if after is not None and begun else 0
                for row in self._index.list_cited(number, wanted, behind):
                    place = (0, key, str(number), row.number)
                    yield place, row if part.contains(row) else None
        beyond = (after[1], after[3]) if after is not None and after[0] == 1 else ("", 0)
        for row in self._index.list_claims(names.low, names.end, wanted, beyond):
            citing = row.citing or ""
            is_inside = subject.covers_citing(citing) and part.contains(row)
            yield (1, parse(citing).key, "", row.number), row if is_inside else None

    # the reader
    # ----------

    def _admit(self, row: IndexedCitation) -> ListedCitation | None:
        """Return a citation if the reader may see both sides and the document that says so."""
        if not self._may_read_source(row) or not self._may_know(row.cited):
            return None
        if row.citing is not None and not self._may_know(row.citing):
            return None
        return ListedCitation(
            citing=row.citing or row.source,
            origin=row.origin,
            extent=row.extent,
            cited=row.cited,
            kind=row.kind,
            day=row.day,
            claimed_by=row.source if row.citing is not None else None,
        )

    def _may_read_source(self, row: IndexedCitation) -> bool:
        """Return True if the reader may have the words in which a document says so."""
        if not self._has_rules or row.origin is None or row.citing is not None:
            return self._is_held(row.source)
        name = parse(row.source)
        kind = find_medium(self._find_type(row.source))
        part = f"page={row.origin}" if kind is Medium.PAGES else ""
        if kind is Medium.TEXT:
            part = f"char={row.origin},{int(row.origin) + max(row.extent, 1)}"
        named = name.with_part(part) if part else name
        return self._is_held(str(named or name))

    @cached_property
    def _has_rules(self) -> bool:
        return self._registry.reading.rules.refresh()

    @cached_property
    def _captured(self) -> OwnCaptures:
        return OwnCaptures(self._registry, self._reader)

    def _find_type(self, name: str) -> str:
        """Return the media type of a document, even if the reader may not have it."""
        identifier = parse(name)
        record = self._find_record(identifier.key)
        for version in () if record is None else record.versions:
            for held in version.representations:
                if (identifier.version, identifier.format) in (
                    (version.number, held.format),
                    (None, None),
                ):
                    return held.media_type
        return ""

    def _is_held(self, name: str) -> bool:
        """Return True if the reader may have the bytes, or the captured page, that a name names."""
        return self._remember(f"held {name}", name, self._resolve_held)

    def _may_know(self, name: str) -> bool:
        """Return True unless a name was withdrawn here, or is closed to the reader."""
        if not self._has_rules:  # then a part is as open as its document
            name = _name_whole(name)
        return self._remember(f"known {name}", name, self._resolve_known)

    def _remember(self, key: str, name: str, resolve: Any) -> bool:
        if key not in self._admitted:
            if len(self._admitted) >= _MOST_REMEMBERED:
                self._admitted.clear()
            self._admitted[key] = resolve(parse(name))
        return self._admitted[key]

    def _resolve_held(self, name: Identifier) -> bool:
        if not self._has_rules and self._has_document(name):
            return True
        try:
            resolved = self._resolve(name)
            if resolved.pwid is not None:
                return self._captured.may_read(resolved.pwid)
            return isinstance(resolved.require_step(), Fetch)
        except PerdureError:
            return False

    def _has_document(self, name: Identifier) -> bool:
        """Return True if a record has a document of exactly this name, which is not withdrawn.

        Without rules every reader may have it. This costs a third of resolving the name.
        """
        if name.version is None or name.format is None:
            return False
        record = self._find_record(name.key)
        held = () if record is None else list_held(name.key, record)
        return any(str(one[0]) == str(name) for one in held)

    def _resolve_known(self, name: Identifier) -> bool:
        try:
            return not isinstance(self._resolve(name).require_step(), Gone)
        except (Forbidden, Unauthenticated, LegallyUnavailable, CitationGone):
            return False
        except PerdureError:  # unknown here, elsewhere, or no such version: nothing to hide
            return True

    def _resolve(self, name: Identifier) -> Resolved:
        query = Query(identifier=name, reader=self._reader)
        resolved = self._registry.reading.resolve(query, self._read)
        for key, record in resolved.records_read.items():
            self._keep_record(key, record)
        return resolved

    def _find_record(self, key: str) -> Record | None:
        """Return a record before reading rules. A page reads it once."""
        record = self._read.get(key)
        if record is None:
            record = self._registry.records.find_record(key)
            if record is not None:
                self._keep_record(key, record)
        return record

    def _keep_record(self, key: str, record: Record) -> None:
        if len(self._read) < _MOST_KEPT:
            self._read[key] = record


# cursors
# -------


def _name_whole(name: str) -> str:
    """Return the document of a cited name. A plain PDI is not parsed: a page has a hundred."""
    if name.startswith("pdi://") and "@" not in name:
        return name.partition("#")[0]
    return str(parse(name).whole)


def _write_cursor(place: _Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def _read_cursor(text: str) -> _Cursor:
    """Return the place of a cursor. Raises ForeignCursor."""
    try:
        if len(text) > _LONGEST_CURSOR:
            raise ValueError
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        found: _Cursor = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Cursor)
        if found[0] not in (0, 1) or not 0 <= found[3] <= _LAST:
            raise ValueError
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise ForeignCursor(cursor=text) from None
    return found


def _read_number(text: str) -> int:
    """Return the number of a document in a cursor; 0 if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < len(str(_LAST)) else 0
