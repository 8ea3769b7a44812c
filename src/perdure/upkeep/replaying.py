"""Repeating the records of segments in a new registry: documents, tombstones, corrections.

How it works: a head names a document, with its version and format, or what became of it: a
tombstone, a correction. Of the bytes, only those of short texts are read: signatures and assertions
say in their bytes which names they are about.

What must stay true: a head that contradicts itself, or the old registry, is repeated for no name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec

from perdure.errors import Corrupt
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

_WITH_TARGETS = (JSON_LD, document.MEDIA_TYPE)
"""The types of documents that may be about other names."""
_MARKED = (*composite_marks.HTML, *composite_marks.XML)
Waiting = dict[tuple[str, int, str], list[KeptCorrection]]
"""Corrections that were read before their bytes, by key, version and format."""
_Contradict = Callable[[Representation, str, int], bool]


def replay_record(
    held: Bytes, journal: Renewal, kept: KeptRecord, contradict: _Contradict, waiting: Waiting
) -> Iterator[tuple[int, str]]:
    """Repeat what a record of a segment says, and return the references of the changed record.

    `contradict` returns True if the old registry has something else than this key, version and
    format at the place. A correction whose bytes were not read yet is added to `waiting`. Raises
    MalformedIdentifier, Corrupt.
    """
    identifier = parse(kept.name)
    key = identifier.key
    _check_head(kept, identifier, key, contradict)
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


def _check_head(
    kept: KeptRecord, identifier: Identifier, key: str, contradict: _Contradict
) -> None:
    """Raise Corrupt if the values in the head of a record contradict each other, or the registry
    that is rebuilt."""
    held = kept.representation
    if held is None:
        is_sound = kept.name == str(identifier.resource)
    else:
        full = qualify_identifier(identifier.resource, kept.version, held.format)
        is_sound = kept.version > 0 and kept.name == str(full)
        is_sound &= not contradict(held, key, kept.version)
    if not is_sound:
        raise HeadContradictory(
            identifier=kept.name, version=kept.version, format=held.format if held else None
        )


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
