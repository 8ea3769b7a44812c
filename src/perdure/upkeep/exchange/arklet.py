"""ARKs of arklet: `manage.py dumpdata ark`, as JSON, or its table of ARKs.

    [{"model": "ark.ark", "pk": "99999/fk4abc", "fields": {"url": "https://a.example/", …}}]

How it works: the address is `url`. `metadata`, `commitment`, `title` and the like become
name-value pairs under these names; the times become `_created` and `_updated`, the NAAN and the
shoulder become pairs, too. Objects of other models (NAANs, users, keys) are not ARKs: they are
passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from perdure.errors import PerdureError
from perdure.errors.exchanging import RecordNotObject, RecordWithoutName
from perdure.upkeep.exchange import json_records, provenance
from perdure.upkeep.exchange.port import ExchangeForm, ReadingTerms, ReadRecord

_MODEL = "ark.ark"
_TIMES = {"created_at": provenance.CREATED, "updated_at": provenance.UPDATED}


def read_records(file: BinaryIO, terms: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the ARKs in a dump."""
    for record, value in json_records.cut_records(file, terms):
        if record.fault is None:
            if not isinstance(value, dict):
                yield record._replace(fault=RecordNotObject())
                continue
            if str(value.get("model", _MODEL)).lower() != _MODEL:
                continue
            try:
                record = record._replace(line=_make_line(value))
            except PerdureError as error:
                record = record._replace(fault=error)
        yield record


def _make_line(value: dict[str, Any]) -> dict[str, Any]:
    fields: Any = value.get("fields", value)
    name = str(value.get("pk") or (isinstance(fields, dict) and fields.get("ark")) or "")
    if not isinstance(fields, dict) or not name:
        raise RecordWithoutName(places=("pk", "ark"))
    line: dict[str, Any] = {"id": name if name.lower().startswith("ark:") else f"ark:{name}"}
    pairs: dict[str, str] = {
        _TIMES.get(str(field), str(field)): str(text)
        for field, text in fields.items()
        if field not in ("url", "ark") and text not in (None, "")
    }
    provenance.place_target(line, pairs, str(fields.get("url") or ""), provenance.PUBLIC)
    if pairs:
        line["metadata"] = pairs
    return line


FORM = ExchangeForm(
    name="arklet",
    title="dump of arklet",
    unit="record",
    suffixes=(".json",),
    opens_with="{[",
    recognise=lambda head: re.search(r'"model"\s*:\s*"ark\.', head, re.IGNORECASE) is not None,
    read=read_records,
    refuse=lambda refused, _: json_records.refuse_records(list(refused)),
)
