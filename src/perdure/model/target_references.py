"""The references by which documents are found that are about a name, or about a part of it. Pure.

How it works: there are three kinds of references, one for each use of the names that a document is
about (`TargetUse`), so that the signatures of a document are found without reading a million
assertions about it. An assertion or a composite is also found by the place of the part that it is
about (`perdure.parts.boxes`):

    target:KEY                 signatures of the resource, or of something of it
    asserted:KEY               assertions about it, or about something of it
    asserted:KEY#              assertions about a whole version, format or resource
    asserted:KEY#BIN           assertions about a part in this bin
    asserted:KEY#=PART         assertions about exactly this part, which has no place
    composed:KEY…              the same for composites, which contain the part

What must stay true: the references of a target never change, since they are stored.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.model.records import Record
from perdure.parts.boxes import find_bin, list_bins, place_part


class TargetUse(enum.StrEnum):
    """The use that a document makes of its targets; the beginning of a reference."""

    SIGNED = "target"
    ASSERTED = "asserted"
    COMPOSED = "composed"


_KINDS = {
    "application/ld+json": TargetUse.ASSERTED,
    "application/xhtml+xml": TargetUse.COMPOSED,
    "application/xml": TargetUse.COMPOSED,
    "text/html": TargetUse.COMPOSED,
    "text/xml": TargetUse.COMPOSED,
}


def find_target_kind(record: Record) -> TargetUse:
    """Return what a record with targets does with them, by the types of its documents."""
    types = {
        strip_parameters(held.media_type)
        for version in record.versions
        for held in version.representations
    }
    found = {kind for essence, kind in _KINDS.items() if essence in types}
    return min(found, default=TargetUse.SIGNED)  # an assertion rather than a composite


def list_target_references(kind: TargetUse, target: Identifier) -> Iterator[str]:
    """Yield the references of a document that has a target."""
    about = f"{kind}:{target.key}"
    yield about
    if kind is TargetUse.SIGNED:
        return
    place = place_part(target)
    if place is not None:
        yield f"{about}#{find_bin(place)}"
    elif target.fragment is not None:
        yield f"{about}#={target.fragment.text}"
    else:
        yield f"{about}#"


def list_part_references(kind: TargetUse, name: Identifier) -> list[str] | None:
    """Return the references by which documents about a part are found, and those about its whole.

    None if they are too many: then all documents about the resource must be looked through.
    """
    about = f"{kind}:{name.key}"
    place = place_part(name)
    if place is None:
        return [f"{about}#", f"{about}#={name.fragment.text if name.fragment else ''}"]
    bins = list_bins(place)
    return None if bins is None else [f"{about}#", *(f"{about}#{one}" for one in bins)]
