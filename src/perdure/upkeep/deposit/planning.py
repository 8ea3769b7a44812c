"""From a directory to a plan.

How it works: the files of one directory at a time are measured, grouped into documents and joined
with the rows of the inventory and with what they say of themselves. The workbook remembers the
bytes of earlier documents. Each row says why it is as it is.

What must stay true: the directory is only read; each file gets exactly one row, or one for each
member of a package; a date is in the plan with its source, or it is not there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from perdure.errors import PerdureError
from perdure.errors.depositing import RowDayMissing
from perdure.model.timestamps import format_timestamp
from perdure.upkeep.deposit import plan as rows
from perdure.upkeep.deposit.dates import DatePattern, read_date
from perdure.upkeep.deposit.describing import FILE_TIME, INSIDE
from perdure.upkeep.deposit.grouping import GroupedFile, group_files
from perdure.upkeep.deposit.listings import Listing
from perdure.upkeep.deposit.open_listings import OpenListings
from perdure.upkeep.deposit.options import AS_COLLECTIONS, ONCE, PlanOptions
from perdure.upkeep.deposit.packages import (
    MBOX,
    PackageMember,
    PackageOpener,
    find_kind,
    list_package,
)
from perdure.upkeep.deposit.plan import PlannedFile
from perdure.upkeep.deposit.spelling import is_odd, spell_path
from perdure.upkeep.deposit.tables import explain_error
from perdure.upkeep.deposit.taking import (
    FileKind,
    FileRoot,
    Measure,
    detect_kind,
    guess_kind,
    measure_stream,
)
from perdure.upkeep.deposit.walking import FoundDirectory, FoundFile
from perdure.upkeep.deposit.workbook import KnownRow, Workbook

_DIRECT = (
    "format",
    "media_type",
    "charset",
    "language",
    "title",
    "creator",
    "date",
    "series",
    "day",
)
"""Cells of an inventory that are fields of a row."""
_ALIKE = 0.8
"""Share of equal prints from which two texts are nearly the same."""


class InsideProposal(NamedTuple):
    """Metadata inside a file."""

    source: str
    """`PDF`, `EXIF` …"""
    pairs: dict[str, str]
    """Empty if the file says nothing of itself."""
    problem: str
    """The reason for which it could not be read."""


class ProposalReader(Protocol):
    """Reads what files say of themselves."""

    def propose(self, path: Path, offset: int, size: int, kind: FileKind) -> InsideProposal:
        """Read a stretch of a file."""


Sketcher = Callable[[Path, FileKind, int], list[int]]
"""The sketch of a text file; empty if it has none."""
FindHeld = Callable[[str], tuple[str, ...]]
"""The names under which bytes with a SHA-512 are held."""


class _Facts(NamedTuple):
    """Facts about a file, before its document is made."""

    found: FoundFile
    measure: Measure | None
    kind: FileKind
    known: KnownRow | None
    problem: str


class Planner:
    """Makes the rows of a plan, a directory at a time."""

    def __init__(
        self,
        root: FileRoot,
        options: PlanOptions,
        workbook: Workbook,
        *,
        today: str,
        inside: ProposalReader | None = None,
        sketch: Sketcher | None = None,
        find_held: FindHeld | None = None,
    ) -> None:
        """`today`: `2026-11-21`. Raises DatePatternMalformed."""
        self._root = root
        self._options = options
        self._workbook = workbook
        self._today = today
        self._inside, self._sketch, self._find_held = inside, sketch, find_held
        self._pattern = DatePattern(options.date_pattern) if options.date_pattern else None
        self._number = 0
        self._families: set[str] = set()
        self._packages = PackageOpener(root)
        self._listed = OpenListings(root, collect=options.packages == AS_COLLECTIONS)

    def plan_directory(self, found: FoundDirectory) -> Iterator[list[PlannedFile]]:
        """Yield the rows of each document of a directory, and of all that is passed over."""
        yield from self._end_listings(found.path)
        for passed in found.passed:
            yield [PlannedFile(action=rows.SKIP, file=passed.path, why=passed.reason)]
        for fault in self._listed.begin_directory(found, self._reserve_number):
            yield [PlannedFile(action=rows.SKIP, file=fault.path, why=fault.reason)]
        files = {one.path: one for one in found.files}
        named = {path: self._workbook.find_row(path) for path in files}
        alone = [path for path, row in named.items() if row is None or not row.family]
        for row in named.values():
            if row is not None and row.family and row.family not in self._families:
                self._families.add(row.family)
                yield from self._plan_family(row.family, files)
        if self._options.separate:
            groups = [[GroupedFile(path, 1, "")] for path in alone]
        else:
            groups = group_files(alone)
        for group in groups:
            yield from self._plan_group(group, files, named)

    def finish(self) -> Iterator[list[PlannedFile]]:
        """Yield the rows that follow the last directory."""
        yield from self._end_listings(None)
        self._packages.close()

    def _end_listings(self, path: bytes | None) -> Iterator[list[PlannedFile]]:
        """Yield the collections of directories that are behind us, and the files that they lack."""
        for ended in self._listed.end_before(path):
            for missing in ended.list_missing():
                why = f"listed by {ended.listing.kind}, but not there"
                yield [PlannedFile(action=rows.SKIP, file=missing, why=why)]
            if ended.number:
                yield [self._make_collection(ended.number, ended.path, ended.listing)]

    def _make_collection(self, number: int, path: bytes, listing: Listing) -> PlannedFile:
        row = PlannedFile(
            action=rows.COLLECTION,
            document=number,
            file=path,
            title=listing.title,
            creator=listing.creator,
            date=listing.date,
            date_source=listing.kind if listing.date else "",
            described_by=listing.kind,
            series=self._options.series,
            why=f"the members of this {listing.kind}",
        )
        return self._choose_day(row)

    def _reserve_number(self) -> int:
        self._number += 1
        return self._number

    def _plan_package(self, row: PlannedFile, kind: str) -> Iterator[list[PlannedFile]]:
        """Plan the members of a package, and the collection that lists them."""
        number = self._reserve_number()
        members = {one.name: one for one in list_package(self._root, row.file, kind)}
        paths = {os.fsencode(name): one for name, one in members.items()}
        grouped = group_files(paths) if not self._options.separate and kind != MBOX else None
        for group in grouped or [[GroupedFile(path, 1, "")] for path in paths]:
            kept: list[PlannedFile] = []
            for one in group:
                made = self._plan_member(row, paths[one.path], one, number)
                if made.action != rows.MINT:
                    yield [replace(made, document=self._reserve_number())]
                elif any(
                    made.format == other.format for other in kept if made.version == other.version
                ):
                    yield self._end_document([replace(made, version=1)])
                else:
                    kept.append(made)
            if kept:
                yield self._end_document(list(rows.renumber_versions(tuple(kept))))
        listing = Listing(kind, title=row.title, creator=row.creator, date=row.date)
        made = self._make_collection(number, row.file, listing)
        described = row.described_by or (kind if row.title else "")
        yield [replace(made, described_by=described, date_source=row.date_source, pairs=row.pairs)]

    def _plan_member(
        self, package: PlannedFile, member: PackageMember, place: GroupedFile, collection: int
    ) -> PlannedFile:
        """The row of a member of a package."""
        row = PlannedFile(
            action=rows.MINT,
            file=package.file,
            member=member.name,
            version=place.version,
            series=package.series,
            size=member.size,
            collection=collection,
            why=place.why,
        )
        if member.problem or not member.size:
            return replace(row, action=rows.SKIP, why=member.problem or "empty")
        kind, measure = guess_kind(member.name), None
        if self._options.detect:
            try:
                with self._packages.open_member(package.file, member.name) as file:
                    measure = measure_stream(file)
            except PerdureError as error:
                return replace(row, action=rows.SKIP, why=explain_error(error))
            kind = detect_kind(measure.sample, member.name, "")
        if member.offset >= 0:
            kind = FileKind("message/rfc822", "", "rfc822", "a message of an mbox")
        row = replace(
            row,
            media_type=kind.media_type,
            charset=kind.charset,
            format=kind.format,
            size=measure.size if measure else member.size,
            sha512=measure.sha512 if measure else "",
            why=_join_why(place.why, kind.why),
        )
        if member.offset >= 0 and self._inside is not None:
            path = self._find_path(package.file)
            row = self._add_proposal(row, self._inside.propose(path, member.offset, row.size, kind))
        return self._choose_day(row)

    def _plan_family(
        self, family: str, files: dict[bytes, FoundFile]
    ) -> Iterator[list[PlannedFile]]:
        """Plan the document to which the inventory gives these files, in whichever directory."""
        listed = list(self._workbook.list_family(family))
        group = [
            GroupedFile(row.path, int(row.cells["version"]), "by the inventory") for row in listed
        ]
        found = {row.path: files.get(row.path) or FoundFile(row.path, -1, 0) for row in listed}
        yield from self._plan_group(group, found, {row.path: row for row in listed})

    def _plan_group(
        self,
        group: Sequence[GroupedFile],
        files: dict[bytes, FoundFile],
        named: dict[bytes, KnownRow | None],
    ) -> Iterator[list[PlannedFile]]:
        """Plan the files of a group: one document, or several if two of them have one format."""
        kept: list[PlannedFile] = []
        for member in group:
            facts = self._learn_facts(files[member.path], named[member.path])
            row = self._make_row(facts, member)
            if row.action != rows.MINT:
                self._number += 1  # so that a person who mends the row needs no number
                yield [replace(row, document=self._number)]
            elif package := self._opens_package(row):
                try:
                    yield from self._plan_package(row, package)
                except PerdureError as error:
                    why = f"kept whole: {explain_error(error)}"
                    yield self._end_document([replace(row, why=_join_why(why, row.why))])
            elif any((row.version, row.format) == (one.version, one.format) for one in kept):
                beside = kept[0].name
                why = _join_why(f"not a format of {beside}, which has this format", row.why)
                yield self._end_document([replace(row, version=1, why=why)])
            else:
                kept.append(row)
        if kept:
            yield self._end_document(list(rows.renumber_versions(tuple(kept))))

    def _opens_package(self, row: PlannedFile) -> str:
        """The kind of package that a file is, if its members become documents; else empty."""
        if self._options.packages != AS_COLLECTIONS:
            return ""
        return find_kind(row.name, row.media_type)

    def _learn_facts(self, found: FoundFile, known: KnownRow | None) -> _Facts:
        """Measure a file, if the plan needs its bytes."""
        name = spell_path(found.path)
        language = known.cells.get("language", "") if known else ""
        if not self._options.detect:
            return _Facts(found, None, guess_kind(name), known, "")
        try:
            with self._root.open_file(found.path) as file:
                measure = measure_stream(file)
        except PerdureError as error:
            return _Facts(found, None, guess_kind(name), known, explain_error(error))
        return _Facts(found, measure, detect_kind(measure.sample, name, language), known, "")

    def _make_row(self, facts: _Facts, member: GroupedFile) -> PlannedFile:
        """The row of a file, without its document."""
        found, measure, kind, known, problem = facts
        size = measure.size if measure is not None else found.size
        row = PlannedFile(
            action=rows.MINT,
            file=found.path,
            version=member.version,
            media_type=kind.media_type,
            charset=kind.charset,
            format=kind.format,
            series=self._options.series,
            size=size,
            sha512=measure.sha512 if measure else "",
            why=_join_why(member.why, kind.why),
        )
        if is_odd(found.path):
            row = replace(row, why=_join_why("its name is not printable UTF-8", row.why))
        if known is not None:
            row = _apply_inventory(row, known)
            if known.problem:
                problem = f"its row in the inventory cannot be used: {known.problem}"
        if problem:
            return replace(row, action=rows.SKIP, why=problem)
        if size == 0:
            return replace(row, action=rows.SKIP, why="empty; to take it, write 'mint'")
        if known is None and self._options.listed_only:
            return replace(row, action=rows.SKIP, why="not in the inventory")
        row = self._listed.apply_to(row)
        if row.action != rows.MINT:
            return row
        row = self._propose(row, size, kind)
        row = self._date_row(row, found)
        return self._choose_day(row)

    def _propose(self, row: PlannedFile, size: int, kind: FileKind) -> PlannedFile:
        """Add what the file says of itself, if the inventory describes it no further."""
        if self._inside is None or row.title or row.creator or row.pairs:
            return row
        return self._add_proposal(
            row, self._inside.propose(self._find_path(row.file), 0, size, kind)
        )

    def _add_proposal(self, row: PlannedFile, found: InsideProposal) -> PlannedFile:
        if found.problem:
            why = f"the metadata inside cannot be read: {found.problem}"
            return replace(row, why=_join_why(row.why, why))
        if not found.pairs:
            return row
        pairs = dict(found.pairs)
        source = f"{INSIDE}{found.source}"
        fields = {name: pairs.pop(name, "") for name in ("title", "creator", "date", "language")}
        date = _join_date(fields["date"])
        return replace(
            row,
            title=fields["title"],
            creator=fields["creator"],
            language=row.language or fields["language"],
            date=row.date or date,
            date_source=row.date_source or (source if date else ""),
            described_by=source,
            pairs={name: pairs[name] for name in rows.DESCRIBING if name in pairs},
        )

    def _date_row(self, row: PlannedFile, found: FoundFile) -> PlannedFile:
        """Add the date that a path or the file system has, if the operator wants it."""
        if self._pattern is not None and row.date_source != "inventory":
            date = self._pattern.find_date(spell_path(row.file))
            if date is not None:
                return replace(row, date=date, date_source="path")
        if row.date or not self._options.file_times or not found.changed:
            return row
        moment = datetime.fromtimestamp(found.changed / 1e9, UTC)
        return replace(row, date=format_timestamp(moment)[:10], date_source=FILE_TIME)

    def _choose_day(self, row: PlannedFile) -> PlannedFile:
        """Choose the day under which the name is given.  # ruling: pdi-retrospective"""
        if not self._options.retrospective or row.day != rows.TODAY:
            return row
        day = row.date[:10]
        if len(day) < len("1997-09-01") or "/" in day:
            return replace(row, action=rows.SKIP, why=RowDayMissing().reason)
        if row.date_source.startswith(INSIDE):
            why = f"its date, {day}, is a proposal ({row.date_source}); write the day of its name"
            return replace(row, action=rows.SKIP, why=f"{why} under 'day', or 'today'")
        if day > self._today:
            return replace(row, action=rows.SKIP, why=f"its date, {day}, is in the future")
        return row if day == self._today else replace(row, day=day)

    def _end_document(self, document: list[PlannedFile]) -> list[PlannedFile]:
        """Number a document, and note whether its bytes are known already."""
        self._number += 1
        document = [replace(row, document=self._number) for row in document]
        if all(row.sha512 for row in document):
            same = self._find_same(document)
            if same:
                return [replace(row, action=rows.SAME, same_as=same) for row in document]
            document = [self._note_equal(row) for row in document]
        return self._compare_texts(document)

    def _find_same(self, document: list[PlannedFile]) -> str:
        """The earlier file, or the name here, that has the bytes of a document; or empty."""
        joined = "\n".join(f"{row.version} {row.sha512}" for row in document)
        digest = hashlib.sha256(joined.encode()).digest()
        if self._options.duplicates != ONCE:
            return ""
        earlier = self._workbook.note_digest(digest, document[0].name)
        if earlier or self._find_held is None:
            return earlier
        names = self._find_held(document[0].sha512)
        for row in document[1:]:
            resources = {name.rsplit(".", 2)[0] for name in self._find_held(row.sha512)}
            names = tuple(name for name in names if name.rsplit(".", 2)[0] in resources)
        return names[0] if names else ""

    def _note_equal(self, row: PlannedFile) -> PlannedFile:
        """Say if a file has the bytes of an earlier one that is a part of another document."""
        earlier = self._workbook.note_digest(bytes.fromhex(row.sha512)[:32], row.name)
        if not earlier:
            return row
        return replace(row, why=_join_why(f"same bytes as {earlier}", row.why))

    def _compare_texts(self, document: list[PlannedFile]) -> list[PlannedFile]:
        """Note an earlier text that is nearly the same."""
        if self._sketch is None:
            return document
        first = document[0]
        kind = FileKind(first.media_type, first.charset, first.format, "")
        prints = self._sketch(self._find_path(first.file), kind, first.size)
        if not prints:
            return document
        near = self._workbook.note_sketch(prints, first.name)
        if near is None or near[1] < _ALIKE:
            return document
        why = _join_why(f"nearly the text of {near[0]}", first.why)
        return [replace(first, why=why), *document[1:]]

    def _find_path(self, path: bytes) -> Path:
        return Path(os.fsdecode(os.path.join(self._root.path, path)))


def _apply_inventory(row: PlannedFile, known: KnownRow) -> PlannedFile:
    """A row with what the inventory says of its file."""
    fields: dict[str, Any] = {name: known.cells[name] for name in _DIRECT if name in known.cells}
    rest = {
        name: cell
        for name, cell in known.cells.items()
        if name not in _DIRECT and name != "version"
    }
    source = "inventory" if rest or "title" in fields or "creator" in fields else ""
    if "media_type" in fields or "charset" in fields:
        fields.setdefault("format", "")  # which follows from them
    return replace(
        row,
        **fields,
        date_source="inventory" if "date" in fields else "",
        described_by=source,
        pairs=rest,
    )


def _join_date(text: str) -> str:
    """A date in the form of plans; empty if it is not one."""
    return read_date(text.strip()) or ""


def _join_why(*reasons: str) -> str:
    return "; ".join(one for one in reasons if one)
