"""Bibliographies in CSL-JSON. Each item with an identifier is a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from perdure.errors import PerdureError
from perdure.errors.exchanging import RecordNotObject
from perdure.metadata.csl import read_record
from perdure.upkeep.exchange import describing, json_records
from perdure.upkeep.exchange.port import (
    ExchangeForm,
    ExportedRecord,
    ReadingTerms,
    ReadRecord,
    Writing,
)

_NAME = "csl-json"
_ATTACHED = "csl"
MEDIA_TYPE = "application/vnd.citationstyles.csl+json"
_FIELDS = ("DOI", "id", "note", "URL")


def read_items(file: BinaryIO, terms: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the items of a file."""
    for record, value in json_records.cut_records(file, terms):
        if record.fault is None:
            try:
                record = record._replace(line=_make_line(record.raw, value))
            except PerdureError as error:
                record = record._replace(fault=error)
        yield record


def _make_line(raw: str, item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise RecordNotObject()
    notes = re.findall(r"(?m)^PID: (\S+)$", str(item.get("note", "")))
    texts = [str(item.get("DOI", "")), str(item.get("id", "")), *notes, str(item.get("URL", ""))]
    name = describing.find_name(texts, _FIELDS)
    url = str(item.get("URL", ""))
    return describing.make_line(name, url, raw.encode(), _ATTACHED, MEDIA_TYPE, read_record)


class ItemsWriting(Writing):
    """Writes a list of items."""

    head, between, tail = "[\n", ",\n", "\n]\n"

    def __init__(self) -> None:
        self._records = describing.RecordWriting(_ATTACHED, "csl", read_record)

    def write(self, exported: ExportedRecord) -> str:
        return self._records.write(exported).rstrip()


FORM = ExchangeForm(
    name=_NAME,
    title="CSL-JSON",
    unit="record",
    suffixes=(".json",),
    opens_with="{[",
    recognise=lambda head: (
        re.search(
            r'"type"\s*:\s*"(?:article|book|chapter|dataset|document|graphic|motion_picture|paper|'
            r"post|report|review|software|song|speech|standard|thesis|webpage|manuscript|map|patent|"
            r"interview|periodical|collection|event|legislation|broadcast|figure|entry|bill|treaty)",
            head,
        )
        is not None
    ),
    read=read_items,
    refuse=lambda refused, _: json_records.refuse_records(list(refused)),
    make_writing=ItemsWriting,
)
