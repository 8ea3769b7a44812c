"""perdure's own lines, so that refused ones can be written to a file, mended and given back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from perdure.upkeep.exchange.port import ExchangeForm, ReadingTerms, ReadRecord


def read_lines(file: BinaryIO, _: ReadingTerms) -> Iterator[ReadRecord]:
    """Yield the lines of a file, which an import reads itself."""
    for number, line in enumerate(file, 1):
        yield ReadRecord(number, line.decode("utf-8", "surrogateescape"))


def refuse_lines(refused: Sequence[tuple[ReadRecord, str]], _: ReadingTerms) -> str:
    """Write refused lines as they are; `--errors` says why."""
    return "".join(f"{record.raw.rstrip()}\n" for record, _ in refused)


FORM = ExchangeForm(
    name="jsonl",
    title="JSON Lines of perdure",
    suffixes=(".jsonl",),
    read=read_lines,
    refuse=refuse_lines,
)
