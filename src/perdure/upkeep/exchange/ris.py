"""Bibliographies in RIS. Each record with an identifier is a record of the import."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from perdure.errors import PerdureError
from perdure.errors.exchanging import RecordMalformed, RecordTooLong
from perdure.metadata.ris_reading import TAG, read_record, read_tags
from perdure.upkeep.exchange import describing
from perdure.upkeep.exchange.port import ExchangeForm, ReadingTerms, ReadRecord
from perdure.upkeep.exchange.texts import LONGEST, join_commented, open_text

_NAME = "ris"
MEDIA_TYPE = "application/x-research-info-systems"


def read_records(file: BinaryIO, terms: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the records of a file. Lines between records are passed over."""
    for number, raw in _cut_records(open_text(file, terms)):
        try:
            yield ReadRecord(number, raw, _make_line(raw))
        except PerdureError as error:
            yield ReadRecord(number, raw, fault=error)


def _cut_records(text: Iterator[str]) -> Iterator[tuple[int, str]]:
    lines: list[str] = []
    start = 0
    for number, line in enumerate(text, 1):
        tag = TAG.fullmatch(line.strip("\ufeff\r\n").rstrip())
        name = tag[1] if tag else ""
        if name == "TY":
            if lines:
                yield start, "".join(lines)
            lines, start = [], number
        if lines or name == "TY":
            lines.append(line)
        if name == "ER" and lines:
            yield start, "".join(lines)
            lines = []
    if lines:
        yield start, "".join(lines)


def _make_line(raw: str) -> dict[str, object]:
    if len(raw) > LONGEST:
        raise RecordTooLong(most=LONGEST)
    try:
        tags = read_tags(raw)
    except ValueError as error:
        raise RecordMalformed(fault=str(error)) from None
    texts = [value for wanted in ("DO", "ID", "AN", "UR") for name, value in tags if name == wanted]
    name = describing.find_name(texts, ("DO", "ID", "AN", "UR"))
    url = next((value for tag, value in tags if tag in ("UR", "L2") and value), "")
    return describing.make_line(name, url, raw.encode(), _NAME, MEDIA_TYPE, read_record)


FORM = ExchangeForm(
    name=_NAME,
    title="RIS",
    suffixes=(".ris",),
    recognise=lambda head: re.search(r"(?m)^\ufeff?TY  - ", head) is not None,
    read=read_records,
    refuse=lambda refused, _: join_commented(refused, unit="line", after="\n"),
    make_writing=partial(describing.RecordWriting, _NAME, _NAME, read_record, "\n"),
)
