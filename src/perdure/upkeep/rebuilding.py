"""Rebuilding: recreate the identifier-to-bytes part of a registry from its segments.

How it works: `rebuild_index` reads the segments from the first to the last, and repeats what the
head of each record says, without reading the old registry. Of the bytes, it reads only those of
short texts: signatures and assertions say in their bytes which names they are about. What the old
registry confirms (`Claims`) is left to the caller.

What must stay true: nothing here changes a segment; damage in a segment hides no later record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol

import msgspec

from perdure.errors import Corrupt, PerdureError
from perdure.errors.segment_corruption import HeadContradictory
from perdure.formats.essence import JSON_LD, strip_parameters
from perdure.ids import Identifier, parse
from perdure.model import assertions, composite_marks, composites
from perdure.model.records import Record, Representation, Tombstone
from perdure.model.references import list_references
from perdure.policy.correcting import apply_correction, replace_representation
from perdure.policy.erasing import mark_erased
from perdure.policy.naming import qualify_identifier, spell_name
from perdure.policy.rules import bury_version, with_representations
from perdure.signing import document
from perdure.storage.byte_ports import Bytes, KeptCorrection, KeptRecord
from perdure.storage.ports import Renewal
from perdure.storage.reference_hashes import reference_hash
from perdure.writing.content_targets import read_targets

_PAGE = 1000
_WITH_TARGETS = (JSON_LD, document.MEDIA_TYPE)
"""The types of documents that may be about other names."""
_MARKED = (*composite_marks.HTML, *composite_marks.XML)
_Waiting = dict[tuple[str, int, str], list[KeptCorrection]]
"""Corrections that were read before their bytes, by key, version and format."""


class RebuiltSegment(msgspec.Struct, frozen=True):
    """Progress of a rebuild, reported for each segment."""

    segment: int
    records: int
    problem: str | None = None
    """The places that could not be read, and the reasons."""
    last_day: str = ""
    """The last day of its records, such as `2026/11/22`."""


class Claims(Protocol):
    """The places in the segments, as an older registry knows them."""

    def contradict(self, held: Representation, key: str, version: int) -> bool:
        """Return True if it has something else than this key, version and format at the place."""

    def confirm(self, held: Representation, name: str, version: int) -> bool:
        """Return True if it has exactly this there, and so gives it to the new registry.

        `name` is the full name, as the head has it. No other check of the head is then needed.
        """


class NoClaims:
    """The claims if no older registry is known."""

    def contradict(self, _held: Representation, _key: str, _version: int) -> bool:
        return False

    def confirm(self, _held: Representation, _name: str, _version: int) -> bool:
        return False


_NO_CLAIMS = NoClaims()


def rebuild_index(
    held: Bytes, journal: Renewal, *, now: str, claims: Claims = _NO_CLAIMS
) -> Iterator[RebuiltSegment]:
    """Fill an empty registry from the segments.

    Identifiers without bytes, locations, aliases, metadata and tokens are in no segment; they come
    from a backup. Serial numbers continue after those found. If a segment is damaged, reading goes
    on at the next complete record. Bytes that `claims` confirms are left to the caller, unless they
    were corrected.
    """
    waiting: _Waiting = {}
    for number in held.list_numbers():
        yield _rebuild_segment(held, journal, number, now, (claims, waiting))
    if waiting:  # for bytes that were left to the caller, perhaps
        replay_some(held, journal, claims=claims, waiting=waiting)


def replay_some(
    held: Bytes,
    journal: Renewal,
    *,
    claims: Claims,
    waiting: _Waiting | None = None,
    is_wanted: Callable[[Representation], bool] = lambda _: False,
) -> None:
    """Read the segments once more, and repeat the bytes that are wanted or have corrections."""
    awaited: _Waiting = {} if waiting is None else waiting
    for number in held.list_numbers():
        journal.begin_batch()
        references: list[tuple[int, str]] = []
        with suppress(Corrupt):  # a missing segment was reported the first time, as is all below
            for kept in held.read_records(number):
                if isinstance(kept, Corrupt) or kept.representation is None:
                    continue
                with suppress(PerdureError, ValueError):
                    identifier = parse(kept.name)
                    key = identifier.key
                    place = (key, kept.version, kept.representation.format)
                    if place in awaited or is_wanted(kept.representation):
                        _check_head(kept, identifier, key, claims)
                        references += _replay_record(
                            held, journal, kept, (identifier, key), awaited
                        )
        if references:
            journal.add_references(references)
        journal.commit_batch()


def _rebuild_segment(
    held: Bytes, journal: Renewal, number: int, now: str, known: tuple[Claims, _Waiting]
) -> RebuiltSegment:
    claims, waiting = known
    count, end, last_day = 0, 0, ""
    problems: list[str] = []
    references: list[tuple[int, str]] = []
    journal.begin_batch()
    try:
        for kept in held.read_records(number):
            if isinstance(kept, Corrupt):
                problems.append(str(kept))
                continue
            end = kept.end
            try:
                one = kept.representation
                if one is None or not claims.confirm(one, kept.name, kept.version):
                    identifier = parse(kept.name)
                    key = identifier.key
                    _check_head(kept, identifier, key, claims)
                    references += _replay_record(held, journal, kept, (identifier, key), waiting)
                count += 1
                last_day = max(last_day, kept.at[:10])
            except (PerdureError, ValueError) as error:  # a damaged name, for example
                problems.append(f"segment {number}, the record that ends at {kept.end}: {error}")
            if len(references) >= _PAGE:  # one by one, each would be a row of its own
                journal.add_references(references)
                references.clear()
    except Corrupt as error:  # the segment is missing
        problems.append(str(error))
    journal.add_references(references)
    journal.save_segment(number, end, now, grows=False)
    journal.commit_batch()
    journal.tidy_up()
    last_day = last_day.replace("-", "/")
    return RebuiltSegment(number, count, "; ".join(problems) or None, last_day)


def _check_head(kept: KeptRecord, identifier: Identifier, key: str, claims: Claims) -> None:
    """Raise Corrupt if the values in the head of a record contradict each other, or the registry
    that is rebuilt."""
    held = kept.representation
    if held is None:
        is_sound = kept.name == str(identifier.resource)
    else:
        full = qualify_identifier(identifier.resource, kept.version, held.format)
        is_sound = kept.version > 0 and kept.name == str(full)
        is_sound &= not claims.contradict(held, key, kept.version)
    if not is_sound:
        raise HeadContradictory(
            identifier=kept.name, version=kept.version, format=held.format if held else None
        )


def _replay_record(
    held: Bytes,
    journal: Renewal,
    kept: KeptRecord,
    named: tuple[Identifier, str],
    waiting: _Waiting,
) -> Iterator[tuple[int, str]]:
    """Repeat what a record of a segment says, and return the references of the changed record.

    `named` is the identifier and its key.
    """
    identifier, key = named
    known = journal.find_record(key)
    record = known or Record(name=spell_name(identifier), at=kept.at, by="rebuild")
    if kept.tombstone is not None:
        changed = _bury_version(record, kept.tombstone, kept.version)
    elif kept.representation is not None:
        version = record.version(kept.version)
        if version is not None and version.find_representation(kept.representation.format):
            return iter(())
        changed = with_representations(record, kept.version, (kept.representation,), kept.at)
        targets = (*changed.targets, *_read_targets(held, kept.representation))
        changed = msgspec.structs.replace(changed, targets=tuple(dict.fromkeys(targets)))
        for correction in waiting.pop((key, kept.version, kept.representation.format), ()):
            changed = _correct_version(changed, kept.version, correction) or changed
    elif kept.correction is not None:
        corrected = _correct_version(record, kept.version, kept.correction)
        if corrected is None:  # its bytes are in a later segment
            place = (key, kept.version, kept.correction.format)
            waiting.setdefault(place, []).append(kept.correction)
            return iter(())
        changed = corrected
    else:
        return iter(())
    changed = mark_erased(changed)
    journal.put_record(key, changed)
    return ((reference_hash(one), key) for one in list_references(changed))


def _read_targets(held: Bytes, one: Representation) -> tuple[str, ...]:
    """Return the names that a document is about by its own bytes, or none if it is damaged."""
    essence = strip_parameters(one.media_type)
    with suppress(Corrupt):
        if essence in _MARKED:
            file, offset = held.find_local(one)
            with file.path.open("rb") as opened:
                opened.seek(offset)
                beginning = opened.read(min(composite_marks.MARKED, one.length))
            if (
                not composite_marks.is_composite(essence, beginning)
                or one.length > composites.LARGEST
            ):
                return ()
        elif essence not in _WITH_TARGETS or one.length > assertions.LONGEST:
            return ()
        return read_targets(one.media_type, held.read_bytes(one))
    return ()


def _correct_version(record: Record, number: int, kept: KeptCorrection) -> Record | None:
    """Apply a correction to the bytes of a version, or return None if they are not there."""
    version = record.version(number)
    held = version.find_representation(kept.format) if version else None
    if version is None or held is None:
        return None
    corrected = apply_correction(held, kept.correction)
    return replace_representation(record, version, held, corrected)


def _bury_version(record: Record, tombstone: Tombstone, version: int) -> Record:
    """Add a tombstone. Its bytes may come later, because they can be in another segment."""
    if not version:
        return msgspec.structs.replace(record, tombstone=tombstone)
    return bury_version(record, version, tombstone)
