"""Elements of EZID, and the line of an import: what its CSV, ANVL and XML files have in common.

How it works: `_target` is the address and `_status` decides what becomes of it
(`perdure.upkeep.exchange.provenance`). The XML records in `datacite` and `crossref` describe the
resource and are attached, byte for byte. All other elements stay as they are, as name-value pairs.

What must stay true: `list_elements` returns the elements that `make_line` read, as long as nothing
was changed since.

Specification: EZID API, version 2, "Internal metadata" and "Metadata profiles".
"""

from __future__ import annotations

import re
from typing import Any

from perdure.errors.exchanging import RecordWithoutName, StatusUnknown
from perdure.metadata import read_record, write_record
from perdure.metadata.crossref import read_element as read_crossref
from perdure.model.about import About
from perdure.reading.described import describe_resource
from perdure.upkeep.exchange import attaching, provenance
from perdure.upkeep.exchange.port import ExportedRecord

ID = "_id"
DATACITE = "datacite"
CROSSREF = "crossref"
STATUSES = (provenance.PUBLIC, provenance.RESERVED, provenance.UNAVAILABLE)
_UUID = re.compile("uuid:", re.IGNORECASE)


def make_line(identifier: str, elements: dict[str, str]) -> dict[str, Any]:
    """Make the line of an import from the elements of an identifier. Raises PerdureError."""
    if not identifier:
        raise RecordWithoutName(places=(ID,))
    pairs = {name: value for name, value in elements.items() if value}
    line: dict[str, Any] = {"id": name_identifier(identifier)}
    status = pairs.pop(provenance.STATUS, provenance.PUBLIC)
    if status.partition("|")[0].strip() not in STATUSES:
        raise StatusUnknown(state=status, known=STATUSES)
    if status != provenance.PUBLIC:
        pairs[provenance.STATUS] = status
    provenance.place_target(line, pairs, pairs.pop(provenance.TARGET, ""), status)
    for name, read in READERS:
        text = pairs.get(name, "")
        if text.lstrip().startswith("<"):
            del pairs[name]
            attaching.keep(line, text.encode(), name, "application/xml", read)
    if pairs:
        line["metadata"] = pairs
    return line


def name_identifier(identifier: str) -> str:
    """Return the identifier of perdure for one of EZID.

    >>> name_identifier("uuid:430c5f08-017e-11e1-858f-0025bce7cc84")
    'urn:uuid:430c5f08-017e-11e1-858f-0025bce7cc84'
    """
    return _UUID.sub("urn:uuid:", identifier.strip(), count=1)


def spell_identifier(identifier: str) -> str:
    """Spell an identifier as EZID does: `ark:/99999/fk4`, a DOI in capitals.

    >>> spell_identifier("ark:99999/fk4a"), spell_identifier("doi:10.5072/fk2a")
    ('ark:/99999/fk4a', 'doi:10.5072/FK2A')
    """
    scheme, _, rest = identifier.partition(":")
    if scheme == "ark":
        return f"ark:/{rest}"
    if scheme == "doi":
        return f"doi:{rest.upper()}"
    return identifier.removeprefix("urn:") if rest.startswith("uuid:") else identifier


def read_datacite(data: bytes) -> About:
    """Read the description in a record of DataCite. Raises InvalidMetadata."""
    return read_record(data, DATACITE)


READERS: tuple[tuple[str, attaching.Reader], ...] = (
    (DATACITE, read_datacite),
    (CROSSREF, read_crossref),
)
"""Elements that have a record in XML, and what reads it."""


def list_elements(exported: ExportedRecord) -> dict[str, str]:
    """List the elements of a record, as EZID shows them."""
    record = exported.record
    elements = dict(record.metadata)
    status = provenance.find_status(record)
    elements |= {provenance.STATUS: status}
    for name in provenance.MOMENTS & elements.keys():
        if moment := provenance.read_moment(elements[name]):
            elements[name] = str(provenance.count_seconds(moment))
    target = provenance.find_target(record)
    if target:
        elements[provenance.TARGET] = target
    if status == provenance.PUBLIC and provenance.STATUS not in record.metadata:
        elements[provenance.STATUS] = provenance.PUBLIC
    for name, read in READERS:
        text = attaching.find_unchanged(record, name, read)
        if text is not None:
            elements[name] = text.decode()
            return elements
    if record.about is not None:
        described = describe_resource(exported.identifier, record, exported.url)
        elements[DATACITE] = write_record(described, DATACITE).decode()
        elements.setdefault("_profile", DATACITE)
    return elements
