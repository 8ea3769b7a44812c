"""Rebuilding a registry from its segments, if its file is damaged or lost.

How it works: under the write lock, `perdure.upkeep.rebuilding` fills a new file from the
segments. Then everything else comes from the old file, as far as it can be read: identifiers
without bytes, locations, aliases, metadata, history, tokens. The new file replaces the old one in
one step, and the old one is kept in `aside`.

What must stay true: a promise in the old file is never dropped, even if its bytes are in no segment
(`verify` reports that); an interruption leaves the old file in its place.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import chain, count
from pathlib import Path

import msgspec
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.errors.processes import HasWriter
from perdure.ids.keys import spell_key
from perdure.model import stored
from perdure.model.records import Record, Representation, Version
from perdure.model.references import list_document_references, list_references
from perdure.policy.correcting import adopt_reading
from perdure.policy.naming import identify_record, spell_full_name
from perdure.reading.scanning import split_numbered_locations
from perdure.storage import fence, home
from perdure.storage.byte_ports import INCOMING, Bytes, OpenBytes
from perdure.storage.durable import WRITE_LOCK, hold_lock
from perdure.storage.ports import (
    Renewal,
    Salvage,
    SalvagedRecord,
    Store,
    storage_errors,
)
from perdure.storage.reference_hashes import hash_locations, hash_references
from perdure.upkeep.rebuilding import rebuild_index, replay_some
from perdure.upkeep.transfer.claims import PlaceClaims
from perdure.writing.copy_fence import FULL, CopyFence

BY = "rebuild"
_MOST_KNOWN = 4000
_UNNAMED = Record()  # a record whose key spells its name
_ANY_FORMAT = "text"


class RebuildStep(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a rebuild."""

    phase: str
    done: int
    """Number of segments read, or of records copied."""
    problem: str | None = None


def rebuild_registry(
    root: Path,
    store: Store,
    open_bytes: OpenBytes,
    *,
    now: str,
    highest: Mapping[str, int] | None = None,
    copy_fence: str = FULL,
) -> Iterator[RebuildStep]:
    """Rebuild the registry. Iterate to the end.

    If records are lost, their numbers are not given out again on the day of `now`. If it is not
    known which records are lost, no number of that day is given out any more, except in a series
    whose highest number `highest` tells (`perdure.storage.fence`). If the registry knows a later
    day than that of `now`, the same holds up to that day. `copy_fence` is the setting: a copy is
    still one afterwards, and the registry itself is not.  # ruling: copy-fence

    Raises Unavailable if another process writes to the registry or has it open, StorageFailed if
    the disk is full.
    """
    work = root / INCOMING / "rebuild"
    today = now[:10].replace("-", "/")
    lock = hold_lock(root / WRITE_LOCK, HasWriter(used="the registry"))
    with lock, storage_errors("the new registry"):
        try:
            with store.open_salvage(root) as old:
                shutil.rmtree(work, ignore_errors=True)
                work.mkdir(parents=True)
                with (
                    closing(open_bytes(root)) as held,
                    closing(store.open_renewal(work)) as journal,
                ):
                    last_day = yield from _fill_registry(old, held, journal, now)
                    lost = old.find_lost_numbers(today)
            fence.raise_fence(root, today, highest or {}, lost=lost, last_day=last_day)
            _install_registry(root, work, store, now, copy_fence)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _fill_registry(
    old: Salvage, held: Bytes, journal: Renewal, now: str
) -> Generator[RebuildStep, None, str]:
    """Fill the new registry from the segments and the old one; return the last day of a record.

    The day is written as in `2026/11/22`; it is empty if there is none.
    """
    claims = _collect_claims(old)
    last_day = ""
    segments = rebuild_index(held, journal, now=now, claims=claims)
    for number, step in enumerate(segments, 1):
        last_day = max(last_day, step.last_day)
        yield RebuildStep(phase="segments", done=number, problem=step.problem)
    taking = _TakeOver(old, journal, now, claims)
    yield from taking.run()
    if claims.has_open():  # a record could not be kept, or not be read again
        replay_some(held, journal, claims=claims, is_wanted=claims.is_open)
    journal.note_renewed(now, BY)
    for one in old.problems:
        problem = f"of the old registry: {one}"
        yield RebuildStep(phase="records", done=taking.count, problem=problem)
    return max(last_day, old.last_day, taking.last_day)


def _install_registry(root: Path, work: Path, store: Store, now: str, copy_fence: str) -> None:
    """Put the new registry file in the place of the old one, which is kept in `aside`."""
    aside = _name_aside(root, now)
    here, fresh = store.find_file(root), store.find_file(work)
    is_home = not CopyFence(root, store, copy_fence).list_signs()
    if is_home and here and fresh:  # its file has another birth from now on
        home.expect_records(root, here, fresh)
    store.install_registry(work, root, aside=aside)
    if is_home and here and fresh:
        home.expect_records(root, here)


def _name_aside(root: Path, now: str) -> Path:
    """A name in `aside/` that no earlier rebuild has used."""
    place = root / "aside"
    place.mkdir(exist_ok=True)
    name = f"registry-{now.replace(':', '')}"
    for number in count(2):
        if not any(place.glob(f"{name}.*")):
            break
        name = f"registry-{now.replace(':', '')}-{number}"
    return place / name


def _collect_claims(old: Salvage) -> PlaceClaims:
    """The places of all bytes that the old registry names. Its problems are noted later."""
    claims = PlaceClaims()
    known = len(old.problems)
    for salvaged in chain.from_iterable(old.read_pages(with_bytes=True)):
        content = old.parse_content(salvaged)
        if isinstance(content, Record):
            claims.add_record(salvaged.key, content)
        elif content is not None and content.document is not None:
            claims.add_document(salvaged.key, content.document)
    del old.problems[known:]
    return claims


class _TakeOver:
    """Adds to the new registry what the segments do not contain."""

    def __init__(self, old: Salvage, journal: Renewal, now: str, claims: PlaceClaims) -> None:
        self._old = old
        self._journal = journal
        self._now = now
        self._claims = claims
        self.count = 0
        """Number of records that were read."""
        self.last_day = ""
        """The last day of a record, such as `2026/11/22`."""

    def run(self) -> Iterator[RebuildStep]:
        journal = self._journal
        journal.begin_batch()
        journal.take_over(self._old)
        journal.commit_batch()
        with ThreadPoolExecutor(max_workers=1) as writing:  # a page, while the next one is read
            kept: Future[None] | None = None
            for page in self._old.read_pages():
                if kept is not None:
                    kept.result()
                kept = writing.submit(self._write_page, page)
                self.count += len(page)
                yield RebuildStep(phase="records", done=self.count)
            if kept is not None:
                kept.result()

    def _write_page(self, page: list[SalvagedRecord]) -> None:
        self._journal.begin_batch()
        references = self._keep_page(page)
        if references:  # one by one, each would be a row of its own
            self._journal.add_references(references)
        self._journal.commit_batch()
        self._journal.tidy_up()

    def _keep_page(self, page: list[SalvagedRecord]) -> list[tuple[int, str]]:
        """Store a page of records, and return their references."""
        keys, texts = tuple(zip(*page, strict=True))[:2]
        known = _read_known(self._journal, keys)
        if known is not None and not known:
            references = self._keep_locations(keys, texts, page)
            if references is not None:
                return references
        find_known = self._journal.find_record if known is None else _make_finder(known)
        pairs: list[tuple[str, str]] = []
        lines: list[SalvagedRecord] = []  # to be stored as they are
        for salvaged in page:
            content = self._old.parse_content(salvaged)
            if content is None:
                continue
            self._note_day(content.at)
            try:
                found = find_known(salvaged.key)
                if found is None and not isinstance(content, Record):
                    pairs += [(one, salvaged.key) for one in self._accept_short(salvaged, content)]
                    lines.append(salvaged)
                    if known is None:  # it may come again
                        self._journal.keep_lines(lines)
                        lines.clear()
                else:
                    pairs += [
                        (one, salvaged.key) for one in self._keep_one(salvaged, content, found)
                    ]
            except (PerdureError, ValueError) as error:
                self._old.note_lost(salvaged.key, f"{spell_key(salvaged.key)}: {error}")
        self._journal.keep_lines(lines)
        hashes = hash_references([text for text, _ in pairs])
        return [(hash, key) for hash, (_, key) in zip(hashes, pairs, strict=True)]

    def _note_day(self, at: str) -> None:
        self.last_day = max(self.last_day, at[:10].replace("-", "/"))

    def _keep_locations(
        self, keys: Sequence[str], texts: Sequence[str], page: list[SalvagedRecord]
    ) -> list[tuple[int, str]] | None:
        """Do the same for records with serial numbers and one location each.

        None if there are others, of which nothing is stored.
        """
        uris = split_numbered_locations(keys, texts)
        if uris is None:
            return None
        self._journal.keep_lines(page)
        self._note_day(max(texts))  # a location begins with its time
        return list(zip(hash_locations(uris), keys, strict=True))

    def _keep_one(
        self, salvaged: SalvagedRecord, content: stored.ShortLine | Record, known: Record | None
    ) -> set[str]:
        """Store a record, and return its references.

        Raises PerdureError or ValueError if its name is damaged.
        """
        old = content if isinstance(content, Record) else stored.decode_stored(salvaged.text)
        kept = combine_records(old, known, is_settled=self._claims.is_open)
        kept = _keep_record(self._journal, salvaged.key, kept, salvaged.position, old, self._now)
        found = list_references(kept)
        self._claims.note_kept(old)
        return found

    def _accept_short(self, salvaged: SalvagedRecord, content: stored.ShortLine) -> tuple[str, ...]:
        """Return the references of a record of a short form, which is stored as it is.

        Raises PerdureError if its key is damaged.
        """
        document = content.document
        if document is None:
            spell_full_name(salvaged.key, _UNNAMED, 1, _ANY_FORMAT)
            return (content.reference,)
        self._claims.note_kept_document(salvaged.key, document)
        return list_document_references(document)


def _read_known(journal: Renewal, keys: Sequence[str]) -> dict[str, str] | None:
    """The lines of the new registry under these keys and between them.

    None if it has too many, so that each key is sought alone.
    """
    if len(set(keys)) < len(keys):  # a damaged table gives some records twice
        return None
    lines = journal.scan_lines(min(keys), max(keys) + "\0", limit=_MOST_KNOWN)
    return None if lines is None or len(lines) == _MOST_KNOWN else dict(lines)


def _make_finder(lines: Mapping[str, str]) -> Callable[[str], Record | None]:
    return lambda key: stored.decode_stored(lines[key]) if key in lines else None


def _keep_record(
    journal: Renewal, key: str, record: Record, position: int | None, old: Record, now: str
) -> Record:
    """Store a record that the old registry has, perhaps with more in it, and return it.

    Raises PerdureError or ValueError if its name is damaged.
    """
    past = None
    identify_record(key, record)  # raises if the stored name is damaged
    if record != old and _without_places(record) != _without_places(old):
        record, past = replace(record, revision=old.revision + 1, at=now, by=BY), old
    journal.keep_record(key, record, position, past)
    return record


Settle = Callable[[Representation], bool]
"""Says if the place of a representation was confirmed, so that it has no other."""


def combine_records(
    old: Record, found: Record | None, *, is_settled: Settle = lambda _: False
) -> Record:
    """Combine an old record with the places and further bytes that the segments give.

    If they contradict each other, the old record is right: a failed batch can leave bytes in a
    segment that were never promised.
    """
    if found is None:
        return old
    versions = {one.number: one for one in found.versions}
    for one in old.versions:
        same = versions.get(one.number)
        versions[one.number] = _combine_versions(one, same, is_settled) if same else one
    return replace(
        old,
        versions=tuple(versions[number] for number in sorted(versions)),
        tombstone=old.tombstone or found.tombstone,
        targets=old.targets or found.targets,
    )


def _combine_versions(old: Version, found: Version, is_settled: Settle) -> Version:
    placed = tuple(
        _with_place(one, found.find_representation(one.format), is_settled)
        for one in old.representations
    )
    more = tuple(one for one in found.representations if not old.find_representation(one.format))
    return replace(old, representations=placed + more, tombstone=old.tombstone or found.tombstone)


def _with_place(
    one: Representation, found: Representation | None, is_settled: Settle
) -> Representation:
    if found is None or found.sha512 != one.sha512:
        return one
    placed = one
    if not is_settled(one):
        placed = replace(one, segment=found.segment, offset=found.offset)
    known = len(one.corrections)
    if len(found.corrections) > known and found.corrections[:known] == one.corrections:
        return adopt_reading(placed, found)  # the old registry is older than its last segments
    return placed


def _without_places(record: Record) -> Record:
    versions = tuple(
        replace(
            version,
            representations=tuple(
                replace(one, segment=0, offset=0) for one in version.representations
            ),
        )
        for version in record.versions
    )
    return replace(record, versions=versions)
