"""Bibliographies in BibTeX. Each entry with an identifier is a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from perdure.errors import PerdureError
from perdure.errors.exchanging import RecordMalformed
from perdure.metadata.bibtex_reading import BibtexEntry, cut_entries, decode_url, read_record
from perdure.upkeep.exchange import describing
from perdure.upkeep.exchange.port import ExchangeForm, ReadingTerms, ReadRecord
from perdure.upkeep.exchange.texts import join_commented, open_text

_NAME = "bibtex"
MEDIA_TYPE = "application/x-bibtex"
_FIELDS = ("doi", "handle", "ark", "urn", "pdi", "eprint", "url", "note", "howpublished", "key")
_ADDRESS = re.compile(r"https?://[^\s{}]+|(?:urn|hdl|ark|doi|pdi|pwid):[^\s{},;]+", re.IGNORECASE)


def read_entries(file: BinaryIO, terms: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the entries of a file. The whole file is in memory, for its macros are at its head."""
    text = open_text(file, terms).read()
    last = 0
    for entry in cut_entries(text):
        number = last = max(entry.line, last + 1)
        try:
            if entry.fault:
                raise RecordMalformed(fault=entry.fault)
            yield ReadRecord(number, entry.raw, _make_line(entry))
        except PerdureError as error:
            yield ReadRecord(number, entry.raw, fault=error)


def _make_line(entry: BibtexEntry) -> dict[str, object]:
    fields = {name: decode_url(value) for name, value in entry.fields.items()}
    texts = [f"{name}:{fields[name]}" for name in ("ark", "urn", "pdi") if name in fields]
    texts += [f"hdl:{fields['handle']}"] if "handle" in fields else []
    texts = [fields.get("doi", ""), *texts]
    texts += [fields[name] for name in ("ark", "urn", "pdi", "eprint") if name in fields]
    for name in ("note", "howpublished", "url"):
        texts += _ADDRESS.findall(fields.get(name, ""))
    identifier = describing.find_name((*texts, entry.key), _FIELDS)
    url = fields.get("url", "")
    data = (entry.macros + entry.raw).encode()
    return describing.make_line(identifier, url, data, _NAME, MEDIA_TYPE, read_record)


FORM = ExchangeForm(
    name=_NAME,
    title="BibTeX",
    suffixes=(".bib", ".bibtex"),
    recognise=lambda head: re.search(r"(?m)^\s*@\s*[A-Za-z]+\s*\{", head) is not None,
    read=read_entries,
    refuse=lambda refused, _: join_commented(refused, unit="line", after="\n"),
    make_writing=partial(describing.RecordWriting, _NAME, _NAME, read_record, "\n"),
)
