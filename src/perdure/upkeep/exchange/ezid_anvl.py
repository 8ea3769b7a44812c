"""ANVL of EZID's batch download: a line `:: identifier`, and the elements of the identifier.

    :: ark:/99999/fk4gt78tq
    _owner: apitest
    _target: https://a.example/
    erc.what: Remembrance of Things Past

An answer of EZID's API, which begins with `success: ark:/…`, is read, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from perdure.errors import PerdureError
from perdure.errors.exchanging import AnvlHeadMissing, RecordTooLong
from perdure.metadata import anvl
from perdure.upkeep.exchange import ezid
from perdure.upkeep.exchange.port import (
    ExchangeForm,
    ExportedRecord,
    ReadingTerms,
    ReadRecord,
    Writing,
)
from perdure.upkeep.exchange.texts import LONGEST, join_commented, open_text

_HEAD = re.compile(r"(?:::|success:)\s*([^\s|]+)(?:\s*\|.*|\s+in_lieu_of.*)?\s*")


def read_records(file: BinaryIO, terms: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the records of a download."""
    for number, lines in _cut_records(open_text(file, terms)):
        raw = "".join(lines)
        head = _HEAD.fullmatch(lines[0])
        try:
            if head is None:
                raise AnvlHeadMissing()
            if len(raw) > LONGEST:
                raise RecordTooLong(most=LONGEST)
            elements = anvl.read_elements("".join(lines[1:]))
            yield ReadRecord(number, raw, ezid.make_line(head[1], elements))
        except PerdureError as error:
            yield ReadRecord(number, raw, fault=error)


def _cut_records(text: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each record and the number of its first one."""
    lines: list[str] = []
    start = 0
    for number, line in enumerate(text, 1):
        if lines and line.startswith(("::", "success:")):
            yield start, lines
            lines = []
        if line.startswith("#") or (not lines and line.isspace()):
            continue
        if not lines:
            start = number
        lines.append(line)
    if lines:
        yield start, lines


class AnvlWriting(Writing):
    """Writes a record for each identifier."""

    between = "\n"

    def write(self, exported: ExportedRecord) -> str:
        name = ezid.spell_identifier(str(exported.identifier))
        elements = anvl.write_elements(ezid.list_elements(exported))
        return f":: {name}\n{elements}"


FORM = ExchangeForm(
    name="ezid-anvl",
    title="ANVL of EZID",
    recognise=lambda head: _HEAD.match(head) is not None or "\n:: " in head[:2000],
    read=read_records,
    refuse=lambda refused, _: join_commented(refused, unit="line", after="\n"),
    make_writing=AnvlWriting,
)
