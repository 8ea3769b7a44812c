"""The full audit: the bytes, their heads, the records and the references, compared with each other.

How it works: the first pass reads all segments from beginning to end, once, and remembers for each
record with an intact head where its bytes are and a hash of what the head says
(`perdure.upkeep.audit_segments`). The second pass walks the records, and compares each with these
heads and with the index of references (`perdure.upkeep.audit_records`). A third pass reads only
segments in which something is left over, to name it. If there are helper processes, they share the
segments, and then the records by ranges of their keys.

What must stay true: in each process, memory grows by 17 bytes for each representation; what is
written during the audit is never taken for damage; one damaged record, head or segment hides no
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import msgspec

from perdure.archives.places import DIRECTORY, INDEX, WITHHELD
from perdure.errors import Corrupt, PerdureError
from perdure.errors.root import count_things
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet
from perdure.model.changes import ChangeMark
from perdure.model.queries import IntegrityFinding
from perdure.model.records import Record
from perdure.reading.scanning import ScannedRecord
from perdure.registry import Registry
from perdure.storage import closed_days, fence, handover, home
from perdure.storage.byte_ports import KeptCorrection, KeptRecord
from perdure.upkeep.audit import make_finding, walk_records
from perdure.upkeep.audit_records import RecordsCheck
from perdure.upkeep.audit_segments import SegmentHeads, read_segment
from perdure.upkeep.changes.intact import IntactChanges
from perdure.upkeep.helpers import Call, Helpers, RunHere

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[IntegrityFinding]).decode
Report = Callable[[int, str], None]
"""Receives the number of bytes read, and the name of the present phase."""


def audit_registry(
    registry: Registry,
    *,
    within: Identifier | NameSet | None = None,
    report: Report | None = None,
    intact: IntactChanges | None = None,
    helpers: Helpers | None = None,
) -> Iterator[IntegrityFinding]:
    """Check everything, and yield a finding for each representation and for each problem.

    With `within`, check the records of an interval or pattern, and the segments of their bytes.
    Without it, `intact` is given all sound changes. `helpers` have an `AuditWork` each; without
    them, this process does everything.

    Raises Unavailable if a helper process ends.
    """
    intact = intact or IntactChanges(registry.records)
    audit = _Audit(registry, report or _report_nothing, intact, helpers)
    yield from audit.check_all() if within is None else audit.check_within(within)


def _report_nothing(done: int, phase: str) -> None:
    """Do nothing."""


class RangeResult(msgspec.Struct, frozen=True):
    """The result of the check of a range of records, besides findings."""

    named: dict[int, bytes]
    """For each segment, whether a record names the head, for each of them."""
    named_damaged: set[tuple[int, int]]
    """Segment and offset of damaged bytes that a record names."""
    count: int
    """Number of references, and the sum of their hashes, as `Records.sum_references`."""
    total: int
    intact: set[ChangeMark]


class ReferenceSum(msgspec.Struct, frozen=True):
    """The sum over the index of references, or None if it cannot be compared."""

    sum: tuple[int, int] | None


class AuditWork:
    """The parts of an audit that can be done at the same time, each by one generator."""

    def __init__(self, registry: Registry, *, is_alone: bool = False) -> None:
        self._registry = registry
        self._is_alone = is_alone
        self._segments: dict[int, SegmentHeads] = {}

    def check_file(self) -> Iterator[list[IntegrityFinding]]:
        """Check the registry file, all but its records."""
        yield [
            make_finding(error.identifier, str(error))
            for error in self._registry.records.check_integrity()
        ]

    def read_segment(
        self, number: int, length: int
    ) -> Iterator[list[IntegrityFinding] | SegmentHeads]:
        """Read a segment, and yield its heads at the end."""
        yield from read_segment(self._registry.bytes, number, length)

    def learn_heads(self, segments: dict[int, SegmentHeads]) -> Iterator[None]:
        """Take the heads with which records are compared."""
        self._segments = segments
        yield from ()

    def check_range(
        self, low: str, high: str | None, looks_up: bool
    ) -> Iterator[list[IntegrityFinding] | bytes | RangeResult]:
        """Check the records with low <= key < high, and yield what was seen at the end.

        A helper process yields findings encoded, which takes a tenth of the time to pickle them.
        """
        intact = IntactChanges(self._registry.records)
        check = RecordsCheck(self._registry, self._segments, intact, looks_up=looks_up)
        for found in check.check_range(low, high):
            if found:
                yield found if self._is_alone else _encode(found)
        named = {at: bytes(one.is_named) for at, one in self._segments.items()}
        yield RangeResult(
            {} if self._is_alone else named,
            check.named_damaged,
            check.count,
            check.total,
            intact.marks,
        )

    def look_up(self, low: str, high: str | None) -> Iterator[list[IntegrityFinding]]:
        """Look up all references of these records, of which some are missing."""
        intact = IntactChanges(self._registry.records)
        check = RecordsCheck(self._registry, self._segments, intact, looks_up=True)
        for _ in check.check_range(low, high):
            if check.unlinked:
                yield check.unlinked[:]
                check.unlinked.clear()

    def sum_references(self) -> Iterator[ReferenceSum]:
        """Sum up the index of references."""
        yield ReferenceSum(self._registry.records.sum_references())


def measure_size(root: Path) -> int:
    """The bytes that an audit reads, about. Raises nothing: 0 if the registry cannot be opened."""
    try:
        with Registry(root) as registry:
            held = sum(length for _, length, _ in registry.records.list_segments())
            file = registry.store.find_file(root)
            return held + (file.stat().st_size if file else 0)
    except (PerdureError, OSError):
        return 0  # the audit itself says why


@contextmanager
def open_work(root: Path) -> Iterator[AuditWork]:
    """The work object of a helper process."""
    with Registry(root) as registry:
        yield AuditWork(registry)


class _Audit:
    def __init__(
        self,
        registry: Registry,
        report: Report,
        intact: IntactChanges,
        helpers: Helpers | None,
    ) -> None:
        self._registry = registry
        self._records = registry.records
        self._held = registry.bytes
        self._report = report
        self._intact = intact
        self._helpers = helpers or RunHere(AuditWork(registry, is_alone=True))
        self._segments: dict[int, SegmentHeads] = {}
        self._named_damaged: set[tuple[int, int]] = set()
        self._references: tuple[int, int] | None = None
        """The sum over the index of references, if it can be compared with that of the records."""
        self._count = self._total = 0

    def check_all(self) -> Iterator[IntegrityFinding]:
        self._report(0, "registry file")
        yield from self._describe(self._held.check_root())
        yield from self._check_files()
        self._report(0, "captures")
        yield from self._check_captures()
        yield from self._read_segments(
            dict(_list_segments(self._registry)), Call("sum_references"), Call("check_file")
        )
        self._report(sum(one.end for one in self._segments.values()), "records")
        yield from self._check_records()
        yield from self._check_metadata()
        yield from self._find_unnamed()

    def check_within(self, within: Identifier | NameSet) -> Iterator[IntegrityFinding]:
        yield from self._read_segments(self._select_segments(within))
        check = RecordsCheck(self._registry, self._segments, self._intact, looks_up=True)
        yield from check.check_rows(walk_records(self._records, within=within))
        yield from self._check_metadata()

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

    # Passes over everything
    # ----------------------

    def _select_segments(self, within: Identifier | NameSet) -> dict[int, int]:
        """Number and committed length of the segments with the bytes of some records."""
        known = dict(_list_segments(self._registry))
        wanted: set[int] = set()
        for row in walk_records(self._records, within=within):
            if isinstance(row, ScannedRecord):
                wanted.update(
                    held.segment for one in row.record.versions for held in one.representations
                )
        return {number: known[number] for number in sorted(wanted & known.keys())}

    def _read_segments(self, lengths: dict[int, int], *others: Call) -> Iterator[IntegrityFinding]:
        """Read segments, and carry out other calls meanwhile."""
        calls = [*others, *(Call("read_segment", one) for one in sorted(lengths.items()))]
        size = 0
        for _, item in self._helpers.run_calls(calls):
            if isinstance(item, SegmentHeads):
                self._segments[item.number] = item
                size += item.end
                self._report(size, f"segment {item.number}")
            elif isinstance(item, ReferenceSum):
                self._references = item.sum
            else:
                yield from item
        self._helpers.tell_all(Call("learn_heads", (self._segments,)))

    def _check_records(self) -> Iterator[IntegrityFinding]:
        count = self._helpers.count
        keys = self._records.divide_keys(2 * count - 1) if count > 1 else []
        ranges = list(zip(["", *keys], [*keys, None], strict=True))
        looks_up = self._references is None
        yield from self._share([Call("check_range", (*one, looks_up)) for one in ranges])
        if not looks_up and self._references != (self._count, self._total):
            # Some are missing; or a writer added some meanwhile, which a look-up finds.
            yield from self._share([Call("look_up", one) for one in ranges])

    def _share(self, calls: list[Call]) -> Iterator[IntegrityFinding]:
        """Carry out calls, one for each range, and yield the findings: the problems in order, and
        each once, because two ranges may have a damaged record between them."""
        problems: list[list[IntegrityFinding]] = [[] for _ in calls]
        for index, item in self._helpers.run_calls(calls):
            item = _decode(item) if isinstance(item, bytes) else item
            if isinstance(item, RangeResult):
                self._take_result(item)
            elif len(calls) == 1:
                yield from item
            else:
                yield from (one for one in item if one.problem is None)
                problems[index] += (one for one in item if one.problem is not None)
        yield from dict.fromkeys(chain.from_iterable(problems))

    def _take_result(self, seen: RangeResult) -> None:
        for number, is_named in seen.named.items():
            self._segments[number].note_named(is_named)
        self._named_damaged |= seen.named_damaged
        self._count += seen.count
        self._total += seen.total
        self._intact.marks |= seen.intact

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
        for number, segment in self._segments.items():
            for offset, kept in segment.damaged.items():
                if (number, offset) not in self._named_damaged:
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


def _has_correction(record: Record | None, version: int, kept: KeptCorrection) -> bool:
    found = record.version(version) if record is not None else None
    held = found.find_representation(kept.format) if found is not None else None
    return held is not None and kept.correction in held.corrections


def _has_tombstone(record: Record | None, version: int) -> bool:
    if record is None or record.tombstone is not None:
        return record is not None
    found = record.version(version) if version else None
    return found is not None and found.tombstone is not None


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


def _list_segments(registry: Registry) -> list[tuple[int, int]]:
    return [(number, length) for number, length, _ in registry.records.list_segments()]
