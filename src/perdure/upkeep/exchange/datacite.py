"""DataCite: records in XML, also in answers of OAI-PMH; and the JSON of the REST API.

How it works: a record in XML has no address, no state and no owner: it describes, and is attached.
The JSON of a repository's DOIs has all of them. A draft is reserved here; a registered or findable
DOI has its address as a location. The JSON is attached, too, byte for byte.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import msgspec

from perdure.errors import PerdureError
from perdure.errors.exchanging import RecordNotObject, RecordWithoutName, StatusUnknown
from perdure.ids import find_label
from perdure.metadata import write_record
from perdure.metadata.datacite_json import read_attributes, write_attributes
from perdure.model.about import About
from perdure.model.placeholders import drop_placeholders
from perdure.reading.described import describe_resource
from perdure.upkeep.exchange import attaching, describing, json_records, provenance
from perdure.upkeep.exchange.ezid import DATACITE, read_datacite
from perdure.upkeep.exchange.port import (
    ExchangeForm,
    ExportedRecord,
    ReadingTerms,
    ReadRecord,
    Writing,
)
from perdure.upkeep.exchange.xml_records import cut_elements

_IDENTIFIER = re.compile(
    r"<(?:\w+:)?identifier\b[^>]*identifierType\s*=\s*[\"'](\w+)[\"'][^>]*>\s*([^<\s]+)\s*<"
)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>\s*")
JSON = "datacite-json"
JSON_TYPE = "application/vnd.datacite.datacite+json"
DRAFT = "draft"
STATES = (DRAFT, "registered", "findable")
_DATES = (
    ("created", provenance.CREATED),
    ("updated", provenance.UPDATED),
    ("registered", "_registered"),
    ("published", "_published"),
)
"""Members of the attributes, and the pairs that have them."""
_OF_REGISTERED = ("registered", "published")
"""Dates that a draft does not have."""


# XML
# ---


def read_xml(file: BinaryIO, _: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the records of a file: one, several in a list, or those in an answer of OAI-PMH."""
    for record in cut_elements(file, lambda name, _depth: name == "resource"):
        if record.fault is None:
            try:
                record = record._replace(line=_describe_xml(record.raw))
            except PerdureError as error:
                record = record._replace(fault=error)
        yield record


def _describe_xml(raw: str) -> dict[str, Any]:
    found = _IDENTIFIER.search(raw)
    label = find_label(found[1]) if found is not None else None
    texts = () if found is None else (found[2], f"{label.text if label else ''}{found[2]}")
    name = describing.find_name(texts, ("identifier",))
    data = raw.encode()
    return describing.make_line(name, "", data, DATACITE, "application/xml", read_datacite)


class ResourceWriting(Writing):
    """Writes a list of records, in a root element that has no meaning of its own."""

    head = '<?xml version="1.0" encoding="UTF-8"?>\n<resources>\n'
    tail = "</resources>\n"

    def __init__(self) -> None:
        self._records = describing.RecordWriting(DATACITE, DATACITE, read_datacite)

    def write(self, exported: ExportedRecord) -> str:
        return _DECLARATION.sub("", self._records.write(exported))


def refuse_xml(refused: Sequence[tuple[ReadRecord, str]], _: ReadingTerms) -> str:
    """Write refused records, each after a comment with its reason."""
    parts = []
    for record, why in refused:
        words = " ".join(why.split()).replace("--", "- -")
        parts.append(f"<!-- record {record.number}: {words} -->\n{record.raw}\n")
    body = "".join(parts)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<resources>\n{body}</resources>\n'


XML_FORM = ExchangeForm(
    name="datacite-xml",
    title="XML of DataCite",
    unit="record",
    suffixes=(".xml",),
    opens_with="<",
    recognise=lambda head: "datacite.org/schema/kernel" in head,
    read=read_xml,
    refuse=refuse_xml,
    make_writing=ResourceWriting,
)


# JSON
# ----


def read_json(file: BinaryIO, terms: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the DOIs of a file: an answer of the REST API, pages, lines or a list."""
    for record, value in json_records.cut_records(file, terms):
        if record.fault is None:
            try:
                record = record._replace(line=make_json_line(record.raw, value))
            except PerdureError as error:
                record = record._replace(fault=error)
        yield record


def make_json_line(raw: str, value: Any) -> dict[str, Any]:
    """Make the line of a DOI in JSON. Raises PerdureError."""
    members = find_attributes(value)
    doi = str(members.get("doi") or (value.get("id") if isinstance(value, dict) else "") or "")
    if not doi:
        raise RecordWithoutName(places=("doi", "id"))
    name = describing.find_name((doi,), ("doi", "id"))
    line: dict[str, Any] = {"id": str(name)}
    pairs = _list_pairs(value, members)
    state = str(members.get("state") or "findable")
    if state not in STATES:
        raise StatusUnknown(state=state, known=STATES)
    status = provenance.RESERVED if state == DRAFT else provenance.PUBLIC
    provenance.place_target(line, pairs, str(members.get("url") or ""), status)
    if pairs:
        line["metadata"] = pairs
    attaching.keep(line, raw.encode(), JSON, JSON_TYPE, lambda _: read_description(members))
    return line


def find_attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of a DOI: of an answer, of its `data`, or the object itself."""
    for name in ("data", "attributes"):
        if isinstance(value, dict) and isinstance(value.get(name), dict):
            value = value[name]
    if not isinstance(value, dict):
        raise RecordNotObject()
    return value


def _list_pairs(value: Any, members: dict[str, Any]) -> dict[str, str]:
    """List the owner, the dates and the state of a DOI."""
    related = value.get("relationships") if isinstance(value, dict) else None
    client: Any = (related or {}).get("client") or {}
    owner = (client.get("data") or {}).get("id", "") if isinstance(client, dict) else ""
    pairs = {
        provenance.OWNER: owner,
        provenance.STATUS: members.get("state"),
        **{pair: members.get(name) for name, pair in _DATES},
    }
    return {name: str(text) for name, text in pairs.items() if text}


def read_description(members: dict[str, Any]) -> About:
    """Read the description of a DOI: of its XML, if it has some that is valid, else of its JSON.

    Raises InvalidMetadata or InvalidRequest.
    """
    encoded = members.get("xml")
    if isinstance(encoded, str) and encoded:
        with suppress(ValueError, PerdureError):
            return read_datacite(base64.b64decode(encoded, validate=True))
    return drop_placeholders(read_attributes(members))


def read_attached(data: bytes) -> About:
    """Read the description in an attached record."""
    return read_description(find_attributes(msgspec.json.decode(data)))


class DoiWriting(Writing):
    """Writes lines, each with a DOI as the REST API shows it."""

    def write(self, exported: ExportedRecord) -> str:
        kept = attaching.find_unchanged(exported.record, JSON, read_attached)
        shown = _write_doi(exported, kept)
        is_same = kept is not None and _find_doi(msgspec.json.decode(kept)) == shown
        return (kept if kept and is_same else msgspec.json.encode(shown)).decode() + "\n"


def write_doi(exported: ExportedRecord) -> dict[str, Any]:
    """Write a record as the REST API shows a DOI: with its attributes and its owner."""
    return _write_doi(exported, attaching.find_unchanged(exported.record, JSON, read_attached))


def _find_doi(value: dict[str, Any]) -> dict[str, Any]:
    """Return the DOI in an answer: its `data`, or the object itself."""
    data = value.get("data")
    return data if isinstance(data, dict) else value


def _write_doi(exported: ExportedRecord, kept: bytes | None) -> dict[str, Any]:
    """Do so; what was `kept` still says what the record does."""
    identifier, record = exported.identifier, exported.record
    pairs = record.metadata
    doi = str(identifier.resource).removeprefix("doi:")
    value = {} if kept is None else msgspec.json.decode(kept)
    if kept is not None:
        data = _find_doi(value)
        attributes = dict(find_attributes(value))
        related = data.get("relationships") or {}
        others = {name: one for name, one in data.items() if "attributes" in data}
    else:
        described = describe_resource(identifier, record, exported.url)
        attributes = write_attributes(described.about, doi)
        xml = write_record(described, DATACITE)
        attributes["xml"] = base64.b64encode(xml).decode()
        others, related = {}, {}
    status = provenance.find_status(record)
    state = pairs.get(provenance.STATUS, "")
    if status == provenance.PUBLIC:
        state = state if state in STATES[1:] else "findable"
    else:
        state = DRAFT if status == provenance.RESERVED else "registered"
    attributes |= {"doi": doi, "state": state}
    target = provenance.find_target(record) or None
    if target is not None or kept is None or "url" in attributes:
        attributes["url"] = target
    for name, pair in _DATES:
        is_known = kept is None and (state != DRAFT or name not in _OF_REGISTERED)
        moment = pairs.get(pair) or (record.at if is_known else "")
        if moment:
            is_seconds = moment.isascii() and moment.isdigit()
            seconds = provenance.read_moment(moment) if is_seconds else ""
            attributes[name] = seconds or moment  # `published` is often a year
    owner = pairs.get(provenance.OWNER)
    if owner and "client" not in related:
        related = {"client": {"data": {"id": owner, "type": "clients"}}} | related
    shown = {"id": doi, "type": "dois"} | others | {"attributes": attributes}
    return shown | ({"relationships": related} if related else {})


JSON_FORM = ExchangeForm(
    name=JSON,
    title="JSON of DataCite",
    unit="record",
    suffixes=(".json", ".jsonl"),
    opens_with="{[",
    recognise=lambda head: (
        re.search(r'"type"\s*:\s*"dois"', head) is not None
        or ('"doi"' in head and '"titles"' in head)
    ),
    read=read_json,
    refuse=lambda refused, _: json_records.refuse_records(list(refused)),
    make_writing=DoiWriting,
)
