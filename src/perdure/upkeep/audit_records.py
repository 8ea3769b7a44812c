"""The second pass of the full audit: the records, compared with the heads and the references.

How it works: each representation must be where a record with an intact head is, with the same hash.
Only if it is not, its bytes are read again to find out what is wrong. A record in one of the short
stored forms is compared without being decoded; as soon as anything is unusual, it is decoded and
checked like all others.

Each record must be found by its references. If the index of references has exactly those of the
present records, a sum over all of them tells that none is missing; the caller compares it
(`ReferenceSum`). Otherwise each is looked up.

What must stay true: one damaged record hides no other, and is found in the range in whose place it
is, whatever its key says.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from perdure.errors import PerdureError
from perdure.ids.keys import spell_key
from perdure.model import collection, stored
from perdure.model.queries import IntegrityFinding
from perdure.model.records import Record, Representation
from perdure.model.references import list_document_references, list_references
from perdure.policy.naming import spell_full_name
from perdure.reading.scanning import ScannedRecord, split_numbered_locations
from perdure.registry import Registry
from perdure.storage.byte_ports import KeptRecord, join_kind, list_facts
from perdure.storage.ports import LineRun
from perdure.storage.reference_hashes import hash_locations, hash_references
from perdure.upkeep.audit import (
    KeptRepresentation,
    check_digest,
    list_kept,
    make_finding,
    read_page,
)
from perdure.upkeep.audit_segments import SegmentHeads
from perdure.upkeep.changes.intact import IntactChanges

_TOGETHER = 1000  # records that are read, and references that are looked up at a time
_UNNAMED = Record()  # a record whose key spells its name
_ANY_FORMAT = "text"
_DAMAGED_HEAD = (
    "its bytes are as promised, but the head of its WARC record is damaged or missing: a rebuild "
    "without the registry file would lose it"
)


class RecordsCheck:
    """Checks records, as many ranges of them as are given, and remembers what it saw."""

    def __init__(
        self,
        registry: Registry,
        segments: dict[int, SegmentHeads],
        intact: IntactChanges,
        *,
        looks_up: bool,
    ) -> None:
        self.named_damaged: set[tuple[int, int]] = set()
        """Segment and offset of damaged bytes that a record names."""
        self.count = 0
        """Number of references, if they are not looked up."""
        self.total = 0
        """The sum of the hashes of these references and their keys."""
        self.unlinked: list[IntegrityFinding] = []
        """The references that were looked up and not found, which are also yielded."""
        self._registry = registry
        self._records = registry.records
        self._held = registry.bytes
        self._segments = segments
        self._intact = intact
        self._looks_up = looks_up
        self._texts: list[str] = []  # references that are hashed together
        self._keys: list[str] = []  # for each of them, the key of the record that has it
        self._names: dict[str, str] = {}

    def check_range(self, low: str, high: str | None) -> Iterator[list[IntegrityFinding]]:
        """Check the records with low <= key < high, and decode only those that the short way does
        not accept."""
        following: str | None = low
        while following is not None:
            runs = self._records.scan_runs(following, limit=_TOGETHER)
            if runs is None or (runs and runs[-1].keys[-1] < following):  # something is damaged
                page, following = read_page(self._records, following, None, limit=_TOGETHER)
                rows, is_end = _cut_rows(page, high)
                yield list(self.check_rows(rows))
            else:
                is_full = sum(len(run.keys) for run in runs) == _TOGETHER
                following = runs[-1].keys[-1] + "\0" if is_full else None
                runs, is_end = _cut_runs(runs, high)
                for change, keys, texts in runs:
                    self._intact.add_lines(change, keys, texts)
                    yield list(self._check_run(keys, texts))
            if is_end:
                break
        self._intact.end_run()
        yield list(self._check_awaited())

    def check_rows(
        self, rows: Iterable[ScannedRecord | IntegrityFinding]
    ) -> Iterator[IntegrityFinding]:
        for row in rows:
            yield from (row,) if isinstance(row, IntegrityFinding) else self._check_record(row)
        yield from self._check_awaited()

    # Records in a short form
    # -----------------------

    def _check_run(self, keys: Sequence[str], texts: Sequence[str]) -> Iterator[IntegrityFinding]:
        uris = split_numbered_locations(keys, texts)
        if uris is not None:  # as in an import: what follows, for all of them at once
            hashes = hash_locations(uris)
            yield from self._note_linked(hashes, keys, lambda at: f"location:{uris[at]}")
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
        if len(self._keys) >= _TOGETHER:
            yield from self._check_awaited()

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

    def _check_keys(self, keys: list[str]) -> Iterator[IntegrityFinding]:
        """Check the records from the first to the last of these keys, and clear the list."""
        if keys:
            first, last = keys[0], keys[-1]
            keys.clear()
            low: str | None = first
            while low is not None:
                page, low = read_page(self._records, low, last + "\0", limit=_TOGETHER)
                yield from self.check_rows(page)

    # Other records
    # -------------

    def _check_record(self, row: ScannedRecord) -> Iterator[IntegrityFinding]:
        try:
            for kept in sorted(list_kept(row), key=lambda one: one.representation.offset):
                yield self._check_kept(kept)
            record = row.record
            if record.versions or record.locations or record.aliases or record.values:
                self._names[row.key] = str(row.name)
                for text in list_references(record):
                    self._await_reference(text, row.key)
            if record.values or _has_collection(record):
                from perdure.upkeep.dangling import find_dangling  # few registries need it

                for problem in find_dangling(self._registry, record):
                    yield make_finding(str(row.name), problem)
        except PerdureError as error:  # a damaged format, say
            yield make_finding(str(row.name), str(error))

    def _check_kept(self, kept: KeptRepresentation) -> IntegrityFinding:
        held = kept.representation
        segment = self._segments.get(held.segment)
        if segment is not None and held.offset < segment.end:
            mark = segment.find_mark(held.offset)
            name = str(kept.identifier)
            if mark in _hash_readings(name, kept.version.number, held):
                return _make_kept_finding(kept, None)
            self.named_damaged.add((held.segment, held.offset))
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

    # References
    # ----------

    def _await_reference(self, reference: str, key: str) -> None:
        self._texts.append(reference)
        self._keys.append(key)

    def _check_awaited(self) -> Iterator[IntegrityFinding]:
        texts, keys, names = self._texts, self._keys, self._names
        if not texts:
            return
        self._texts, self._keys, self._names = [], [], {}
        yield from self._note_linked(
            hash_references(texts), keys, texts.__getitem__, lambda key: names.get(key, "")
        )

    def _note_linked(
        self,
        hashes: Sequence[int],
        keys: Sequence[str],
        find_text: Callable[[int], str],
        find_name: Callable[[str], str] = lambda _: "",
    ) -> Iterator[IntegrityFinding]:
        """Add the references with these hashes, of records with these keys, to the sum; or look
        them up, and name those that the index of references does not have."""
        if not self._looks_up:
            self.count += len(keys)
            self.total += sum(map(hash, zip(hashes, keys, strict=True)))
            return
        rows = list(zip(hashes, keys, strict=True))
        found: list[IntegrityFinding] = []
        try:
            for row in self._records.find_unlinked(rows):
                problem = f"the index of references does not have {find_text(rows.index(row))}"
                found.append(make_finding(find_name(row[1]) or spell_key(row[1]), problem))
        except PerdureError as error:
            found.append(make_finding("the index of references", str(error)))
        self.unlinked += found
        yield from found


def _cut_runs(runs: list[LineRun], high: str | None) -> tuple[list[LineRun], bool]:
    """The part of a page of sound records before a key, and True if it ends there."""
    if high is None or not runs or runs[-1].keys[-1] < high:
        return runs, False
    cut: list[LineRun] = []
    for change, keys, texts in runs:
        end = bisect_left(keys, high)
        if end:
            cut.append(LineRun(change, keys[:end], texts[:end]))
        if end < len(keys):
            break
    return cut, True


def _cut_rows(
    rows: list[ScannedRecord | IntegrityFinding], high: str | None
) -> tuple[list[ScannedRecord | IntegrityFinding], bool]:
    """The same for a page in which some are damaged, whose keys say nothing."""
    if high is not None:
        for at, row in enumerate(rows):
            if isinstance(row, ScannedRecord) and row.key >= high:
                return rows[:at], True
    return rows, False


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
