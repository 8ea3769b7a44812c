"""The full audit: the bytes, their heads, the records and the references, compared with each other.

How it works: the first pass reads all segments from beginning to end, once, and remembers for each
record with an intact head where its bytes are and a hash of what the head says. The second pass
walks the records: each representation must be at such a place, with the same hash. Only if it is
not, its bytes are read again to find out what is wrong. A third pass reads only segments in which
something is left over, to name it. A record in one of the short stored forms is compared without
being decoded; as soon as anything is unusual, it is decoded and checked like all others. A second
thread checks the file of the registry meanwhile, and looks up the references of the records.

What must stay true: memory grows by 17 bytes for each representation; what is written during the
audit is never taken for damage; one damaged record, head or segment hides no other.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import msgspec

from perdure.archives.places import DIRECTORY, INDEX, WITHHELD
from perdure.errors import Corrupt, PerdureError
from perdure.errors.root import count_things
from perdure.ids import Identifier, parse
from perdure.ids.keys import spell_key
from perdure.ids.name_set import NameSet
from perdure.model import collection, stored
from perdure.model.queries import IntegrityFinding
from perdure.model.records import Record, Representation
from perdure.model.references import list_document_references, list_references
from perdure.policy.naming import spell_full_name
from perdure.reading.scanning import ScannedRecord, split_numbered_locations
from perdure.registry import Registry
from perdure.storage import closed_days, fence, handover, home
from perdure.storage.byte_ports import (
    HeadFacts,
    IntactBytes,
    KeptCorrection,
    KeptRecord,
    join_kind,
    list_facts,
)
from perdure.storage.reference_hashes import hash_locations, hash_references
from perdure.upkeep.audit import (
    KeptRepresentation,
    check_digest,
    list_kept,
    make_finding,
    read_page,
    walk_records,
)
from perdure.upkeep.changes.intact import IntactChanges

_TOGETHER = 1000  # records that are read, and references that are looked up at a time
_MOST_SOUGHT = 4  # look-ups that wait for the second thread
_UNNAMED = Record()  # a record whose key spells its name
_ANY_FORMAT = "text"
_DAMAGED_HEAD = (
    "its bytes are as promised, but the head of its WARC record is damaged or missing: a rebuild "
    "without the registry file would lose it"
)


Report = Callable[[int, str], None]
"""Receives the number of bytes read, and the name of the present phase."""


class _ReadSegment:
    """The records with intact heads in one segment."""

    def __init__(self, end: int) -> None:
        self.end = end
        """Bytes up to which it was read."""
        self.offsets = array("q")
        self.marks = array("q")
        self.is_named = bytearray()
        self.metadata: list[KeptRecord] = []
        self._next = 0  # index of the record that is probably sought next

    def add_bytes(self, offset: int, facts: HeadFacts) -> None:
        self.offsets.append(offset)
        self.marks.append(hash(facts))
        self.is_named.append(0)

    def find_mark(self, offset: int) -> int | None:
        """Return the hash of the head before an offset, and note that a record names it."""
        at, count = self._next, len(self.offsets)
        if at >= count or self.offsets[at] != offset:
            at = bisect_left(self.offsets, offset)
            if at == count or self.offsets[at] != offset:
                return None
        self._next = at + 1
        self.is_named[at] = 1
        return self.marks[at]


class _AwaitedReferences:
    """References that are looked up together."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.keys: list[str] = []
        """For each reference, the key of the record that has it."""
        self._names: dict[str, Identifier] = {}

    def add_references(self, key: str, texts: Iterable[str], name: Identifier) -> None:
        for text in texts:
            self.texts.append(text)
            self.keys.append(key)
            self._names[key] = name

    def find_name(self, key: str) -> str:
        return str(self._names.get(key) or spell_key(key))


class _Sought(NamedTuple):
    """References that are being looked up."""

    rows: list[tuple[int, str]]
    lost: Future[list[tuple[int, str]]]
    find_text: Callable[[int], str]
    """Returns the reference at an index of `rows`."""
    find_name: Callable[[str], str]
    """Returns the name of the record with a key."""


def audit_registry(
    registry: Registry,
    *,
    within: Identifier | NameSet | None = None,
    report: Report | None = None,
    intact: IntactChanges | None = None,
) -> Iterator[IntegrityFinding]:
    """Check everything, and yield a finding for each representation and for each problem.

    With `within`, check the records of an interval or pattern, and the segments of their bytes.
    Without it, `intact` is given all sound records.
    """
    intact = intact or IntactChanges(registry.records)
    yield from _Audit(registry, within, report or _report_nothing, intact).run()


def _report_nothing(done: int, phase: str) -> None:
    """Do nothing."""


class _Audit:
    def __init__(
        self,
        registry: Registry,
        within: Identifier | NameSet | None,
        report: Report,
        intact: IntactChanges,
    ) -> None:
        self._registry = registry
        self._records = registry.records
        self._held = registry.bytes
        self._within = within
        self._report = report
        self._intact = intact
        self._awaited = _AwaitedReferences()
        self._beside: ThreadPoolExecutor
        self._sought: deque[_Sought] = deque()
        self._segments: dict[int, _ReadSegment] = {}
        self._damaged: dict[tuple[int, int], KeptRecord] = {}
        """Records with an intact head whose bytes do not have their digest, by their place."""

    def run(self) -> Iterator[IntegrityFinding]:
        with ThreadPoolExecutor(max_workers=1) as self._beside:
            yield from self._check_all()

    def _check_all(self) -> Iterator[IntegrityFinding]:
        faults: Future[list[Corrupt]] | None = None
        if self._within is None:
            self._report(0, "registry file")
            faults = self._beside.submit(lambda: list(self._records.check_integrity()))
            yield from self._describe(self._held.check_root())
            yield from self._check_files()
            self._report(0, "captures")
            yield from self._check_captures()
        size = 0
        for number, length in self._list_segments():
            self._report(size, f"segment {number}")
            yield from self._read_segment(number, length)
            size += length
        if faults is not None:
            yield from self._describe(faults.result())
        self._report(size, "records")
        if self._within is None:
            yield from self._check_lines()
        else:
            yield from self._check_rows(walk_records(self._records, within=self._within))
        yield from self._check_awaited()
        yield from self._name_unlinked(0)
        yield from self._check_metadata()
        if self._within is None:
            yield from self._find_unnamed()

    def _check_files(self) -> Iterator[IntegrityFinding]:
        """Check the small files of the registry directory that hold promises."""
        root = self._registry.root
        checks: dict[str, Callable[[], object]] = {
            home.FILE: lambda: home.load_home(root),
            home.MARK: lambda: home.load_mark(root),
            fence.FILE: lambda: fence.load_fence(root),
            handover.FILE: lambda: handover.load_handover(root),
            closed_days.FILE: lambda: closed_days.load_closed_days(root),
        }
        if (root / WITHHELD).exists():
            from perdure.archives.withholding import Withholdings  # few registries have captures

            checks[WITHHELD] = Withholdings(root).list_lines
        for name, check in checks.items():
            try:
                check()
            except (PerdureError, OSError) as error:
                yield make_finding(name, str(error))

    def _check_captures(self) -> Iterator[IntegrityFinding]:
        """Check the index of captures. The archive files have a check of their own."""
        if not (self._registry.root / DIRECTORY / INDEX).exists():
            return
        try:
            for error in self._registry.archive.check_index():
                identifier = getattr(error, "identifier", "") or f"{DIRECTORY}/{INDEX}"
                yield make_finding(identifier, str(error))
        except PerdureError as error:
            yield make_finding(f"{DIRECTORY}/{INDEX}", str(error))

    def _describe(self, errors: Iterable[Corrupt]) -> Iterator[IntegrityFinding]:
        for error in errors:
            yield make_finding(error.identifier, str(error))

    def _list_segments(self) -> list[tuple[int, int]]:
        """Number and committed length of the segments to read."""
        known = {number: length for number, length, _ in self._records.list_segments()}
        if self._within is None:
            return sorted(known.items())
        wanted: set[int] = set()
        for row in walk_records(self._records, within=self._within):
            if isinstance(row, ScannedRecord):
                wanted.update(
                    held.segment for one in row.record.versions for held in one.representations
                )
        return [(number, known[number]) for number in sorted(wanted & known.keys())]

    # Segments
    # --------

    def _read_segment(self, number: int, length: int) -> Iterator[IntegrityFinding]:
        found = self._segments[number] = _ReadSegment(length)
        try:
            for checked in self._held.check_records(number, length):
                if isinstance(checked, IntactBytes):
                    found.add_bytes(checked.offset, checked.facts)
                    continue
                if isinstance(checked, Corrupt):
                    yield _make_place_finding(number, checked)
                    continue
                kept = checked.kept
                if kept.representation is None:
                    found.metadata.append(kept)
                    if not checked.is_intact:
                        problem = f"its withdrawal in segment {number} is damaged"
                        yield make_finding(kept.name, problem)
                else:
                    self._damaged[number, kept.representation.offset] = kept
        except OSError as error:
            yield _make_place_finding(number, error)

    # Records
    # -------

    def _check_lines(self) -> Iterator[IntegrityFinding]:
        """Check all records, and decode only those that the short way does not accept."""
        low: str | None = ""
        while low is not None:
            runs = self._records.scan_runs(low, limit=_TOGETHER)
            if runs is None or (runs and runs[-1].keys[-1] < low):  # something is damaged
                page, low = read_page(self._records, low, None, limit=_TOGETHER)
                yield from self._check_rows(page)
                continue
            for change, keys, texts in runs:
                self._intact.add_lines(change, keys, texts)
                yield from self._check_run(keys, texts)
            if len(self._awaited.keys) >= _TOGETHER:
                yield from self._check_awaited()
            is_full = sum(len(run.keys) for run in runs) == _TOGETHER
            low = runs[-1].keys[-1] + "\0" if is_full else None
        self._intact.end_run()

    def _check_run(self, keys: Sequence[str], texts: Sequence[str]) -> Iterator[IntegrityFinding]:
        uris = split_numbered_locations(keys, texts)
        if uris is not None:  # as in an import: what follows, for all of them at once
            hashes = hash_locations(uris)
            yield from self._find_unlinked(hashes, keys, lambda at: f"location:{uris[at]}")
            return
        unusual: list[str] = []
        for key, text in zip(keys, texts, strict=True):
            found = self._accept_line(key, text)
            if found is None:
                unusual.append(key)
                continue
            yield from self._check_keys(unusual)
            yield from found
        yield from self._check_keys(unusual)

    def _accept_line(self, key: str, text: str) -> tuple[IntegrityFinding, ...] | None:
        """The findings of a record of a short form, none of which is a problem; else None."""
        try:
            document = stored.parse_document_line(text)
            if document is not None:
                return self._accept_document(key, document)
            fields = stored.split_location_line(text)
            if fields is None:
                return None
            _, version, _, uri = fields
            if version != stored.NONE:
                int(version)
            spell_full_name(key, _UNNAMED, 1, _ANY_FORMAT)  # raises if the key is damaged
        except (PerdureError, ValueError, TypeError):
            return None
        self._await_reference(f"location:{uri}", key)
        return ()

    def _accept_document(
        self, key: str, document: stored.DocumentLine
    ) -> tuple[IntegrityFinding, ...] | None:
        _, _, format, charset, language, length, sha512, segment, offset, media_type = document
        name = spell_full_name(key, _UNNAMED, 1, format)
        number, at, size = int(segment), int(offset), int(length)
        there = self._segments.get(number)
        if there is None or media_type == collection.MEDIA_TYPE:
            return None
        kind = media_type if charset == stored.NONE else join_kind(media_type, charset)
        spoken = None if language == stored.NONE else language
        if there.find_mark(at) != hash((name, 1, format, kind, spoken, size, sha512)):
            return None
        for reference in list_document_references(document):
            self._await_reference(reference, key)
        return (IntegrityFinding(identifier=name, segment=number, offset=at, length=size),)

    def _await_reference(self, reference: str, key: str) -> None:
        self._awaited.texts.append(reference)
        self._awaited.keys.append(key)

    def _check_keys(self, keys: list[str]) -> Iterator[IntegrityFinding]:
        """Check the records from the first to the last of these keys, and clear the list."""
        if keys:
            first, last = keys[0], keys[-1]
            keys.clear()
            low: str | None = first
            while low is not None:
                page, low = read_page(self._records, low, last + "\0", limit=_TOGETHER)
                yield from self._check_rows(page)

    def _check_rows(
        self, rows: Iterable[ScannedRecord | IntegrityFinding]
    ) -> Iterator[IntegrityFinding]:
        for row in rows:
            yield from (row,) if isinstance(row, IntegrityFinding) else self._check_record(row)

    def _check_record(self, row: ScannedRecord) -> Iterator[IntegrityFinding]:
        try:
            for kept in sorted(list_kept(row), key=lambda one: one.representation.offset):
                yield self._check_kept(kept)
            record = row.record
            if record.versions or record.locations or record.aliases or record.values:
                self._awaited.add_references(row.key, list_references(record), row.name)
                if len(self._awaited.keys) >= _TOGETHER:
                    yield from self._check_awaited()
            if record.values or _has_collection(record):
                from perdure.upkeep.dangling import find_dangling  # few registries need it

                for problem in find_dangling(self._registry, record):
                    yield make_finding(str(row.name), problem)
        except PerdureError as error:  # a damaged format, say
            yield make_finding(str(row.name), str(error))

    def _check_kept(self, kept: KeptRepresentation) -> IntegrityFinding:
        held = kept.representation
        segment = self._segments.get(held.segment)
        self._damaged.pop((held.segment, held.offset), None)
        if segment is not None and held.offset < segment.end:
            mark = segment.find_mark(held.offset)
            name = str(kept.identifier)
            if mark in _hash_readings(name, kept.version.number, held):
                return _make_kept_finding(kept, None)
            found = check_digest(self._held, kept.identifier, held)
            if found.problem is not None:
                return found
            if mark is None:
                return _make_kept_finding(kept, _DAMAGED_HEAD)
            return _make_kept_finding(kept, self._describe_difference(kept))
        # It was written after the audit began, or its segment is not known.
        return check_digest(self._held, kept.identifier, held)

    def _describe_difference(self, kept: KeptRepresentation) -> str:
        held = kept.representation
        for other in self._held.read_records(held.segment):
            if isinstance(other, KeptRecord) and other.representation is not None:
                there = other.representation
                if there.offset == held.offset:
                    ours = list_facts(str(kept.identifier), kept.version.number, held)
                    theirs = list_facts(other.name, other.version, there)
                    pairs = zip(ours, theirs, strict=True)
                    found = "; ".join(f"{a!r} is {b!r} there" for a, b in pairs if a != b)
                    return f"the head of its WARC record differs: {found}"
        return _DAMAGED_HEAD

    def _check_awaited(self) -> Iterator[IntegrityFinding]:
        """Check that the index of references has those that wait for this."""
        awaited, self._awaited = self._awaited, _AwaitedReferences()
        yield from self._find_unlinked(
            hash_references(awaited.texts),
            awaited.keys,
            awaited.texts.__getitem__,
            awaited.find_name,
        )

    def _find_unlinked(
        self,
        hashes: Sequence[int],
        keys: Sequence[str],
        find_text: Callable[[int], str],
        find_name: Callable[[str], str] = spell_key,
    ) -> Iterator[IntegrityFinding]:
        """Look up the references with these hashes, of records with these keys, in the index of
        references, and name those that earlier calls did not find there."""
        rows = list(zip(hashes, keys, strict=True))
        lost = self._beside.submit(self._records.find_unlinked, rows)
        self._sought.append(_Sought(rows, lost, find_text, find_name))
        yield from self._name_unlinked(_MOST_SOUGHT)

    def _name_unlinked(self, most: int) -> Iterator[IntegrityFinding]:
        """Name the references that were not found, until at most `most` look-ups are left."""
        while len(self._sought) > most:
            sought = self._sought.popleft()
            try:
                for row in sought.lost.result():
                    text = sought.find_text(sought.rows.index(row))
                    problem = f"the index of references does not have {text}"
                    yield make_finding(sought.find_name(row[1]), problem)
            except PerdureError as error:
                yield make_finding("the index of references", str(error))

    # What is left over
    # -----------------

    def _check_metadata(self) -> Iterator[IntegrityFinding]:
        for number, segment in self._segments.items():
            for kept in segment.metadata:
                try:
                    name = parse(kept.name)
                    record = self._records.find_record(name.key)
                except Corrupt:
                    continue  # a damaged record has a finding of its own
                except PerdureError as error:
                    problem = f"a withdrawal without a valid identifier: {error}"
                    yield make_finding(f"segment {number}", problem)
                    continue
                if kept.correction is not None:
                    if str(name) != kept.name or not _has_correction(
                        record, kept.version, kept.correction
                    ):
                        problem = f"segment {number} has a correction that its record does not have"
                        yield make_finding(kept.name, problem)
                    continue
                if str(name) != kept.name or not _has_tombstone(record, kept.version):
                    problem = f"segment {number} says that it was withdrawn, its record does not"
                    yield make_finding(kept.name, problem)

    def _find_unnamed(self) -> Iterator[IntegrityFinding]:
        """Name the bytes that no record names."""
        for kept in self._damaged.values():
            yield _make_unnamed_finding(kept)
        for number, segment in self._segments.items():
            if 0 not in segment.is_named:
                continue
            offsets = {
                offset
                for offset, is_named in zip(segment.offsets, segment.is_named, strict=True)
                if not is_named
            }
            for found in self._held.read_records(number):
                if isinstance(found, KeptRecord) and found.representation is not None:
                    is_left = found.representation.offset in offsets
                    yield from (_make_unnamed_finding(found),) if is_left else ()


def _hash_readings(name: str, version: int, held: Representation) -> Iterator[int | None]:
    """The facts that the head may have: it keeps the reading from before later corrections."""
    yield hash(list_facts(name, version, held))
    for one in held.corrections:
        before = one.before
        earlier = msgspec.structs.replace(
            held,
            media_type=before.media_type,
            charset=before.charset,
            language=before.language,
        )
        yield hash(list_facts(name, version, earlier))


def _has_collection(record: Record) -> bool:
    return any(
        held.media_type == collection.MEDIA_TYPE
        for version in record.versions
        for held in version.representations
    )


def _has_correction(record: Record | None, version: int, kept: KeptCorrection) -> bool:
    found = record.version(version) if record is not None else None
    held = found.find_representation(kept.format) if found is not None else None
    return held is not None and kept.correction in held.corrections


def _has_tombstone(record: Record | None, version: int) -> bool:
    if record is None or record.tombstone is not None:
        return record is not None
    found = record.version(version) if version else None
    return found is not None and found.tombstone is not None


def _make_kept_finding(kept: KeptRepresentation, problem: str | None) -> IntegrityFinding:
    held = kept.representation
    return IntegrityFinding(
        identifier=str(kept.identifier),
        segment=held.segment,
        offset=held.offset,
        length=held.length,
        problem=problem,
        erased=held.erased,
    )


def _make_unnamed_finding(kept: KeptRecord) -> IntegrityFinding:
    held = kept.representation
    assert held is not None  # noqa: S101 - the caller passes only bytes
    return IntegrityFinding(
        identifier=kept.name,
        segment=held.segment,
        offset=0,  # it is not a representation
        length=0,
        problem=f"segment {held.segment} has {count_things(held.length, 'byte')} of it, from "
        f"offset {held.offset}, "
        "that no record names",
    )


def _make_place_finding(number: int, error: Exception) -> IntegrityFinding:
    return IntegrityFinding(
        identifier=f"segment {number}", segment=number, offset=0, length=0, problem=str(error)
    )
