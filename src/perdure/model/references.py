"""The references by which a record is found: locations, digests, aliases, targets, values, equals.

What must stay true: `list_references` never changes for the same record, since its result is stored
to find the record, and removed with it.
"""

from __future__ import annotations

from perdure.formats.essence import JSON_LD
from perdure.ids import parse
from perdure.model.records import Record
from perdure.model.stored import DocumentLine
from perdure.model.target_references import find_target_kind, list_target_references

_LONGEST_SOUGHT = 1000  # characters of a handle value by which its record is found

PROPOSAL = "proposal:"
"""The reference by which the records with a proposed withdrawal are found."""
ASSERTION = "assertion:"
"""The reference by which the records are found that may be assertions."""
DELEGATION = "delegation:"
"""The reference by which the records of delegations are found."""
WITHDRAWN_DELEGATION = "delegation:withdrawn"
"""The reference of those that were withdrawn, beside the other one, which they may keep."""
EQUAL = "equal:"
"""Before an `equal_key`: the reference by which a name is found under the spelling of an equal."""


def list_document_references(document: DocumentLine) -> tuple[str, ...]:
    """Do the same as `list_references` for a record of the short form that has one document.

    >>> from perdure.model.stored import parse_document_line
    >>> line = "=2026-11-21T05:13:46Z local ld%2bjson - - 1 ab 1 9 application/ld+json"
    >>> list_document_references(parse_document_line(line))
    ('sha512:ab', 'assertion:')
    """
    digest = f"sha512:{document.sha512}"
    return (digest, ASSERTION) if document.media_type.startswith(JSON_LD) else (digest,)


def list_references(record: Record) -> set[str]:
    """All references by which the record is found, such as its locations, digests and aliases."""
    found: set[str] = set()
    for one in record.versions:
        for held in one.representations:
            found.add(f"sha512:{held.sha512}")
            if held.media_type.startswith(JSON_LD):
                found.add(ASSERTION)
    for location in record.locations:
        found.add(f"location:{location.uri}")
        if location.sha512:
            found.add(f"sha512:{location.sha512}")
    for alias in record.aliases:
        found.add(f"alias:{parse(alias).key}")
    if record.targets:
        kind = find_target_kind(record)
        for target in record.targets:
            found.update(list_target_references(kind, parse(target)))
    if record.proposal is not None:
        found.add(PROPOSAL)
    if record.delegates:
        is_held = record.tombstone is None and record.newest is not None
        found.update((DELEGATION,) if is_held else (DELEGATION, WITHDRAWN_DELEGATION))
    for value in record.values:
        if value.format == "string" and len(value.data) <= _LONGEST_SOUGHT:
            found.add(f"value:{value.type}:{value.data}")
    if record.name and (equal := parse(record.name).equal_key):
        found.add(EQUAL + equal)
    return found
