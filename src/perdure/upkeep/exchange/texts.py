"""Text files of other systems: their lines, and comments that say why a record was refused."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import BinaryIO

from perdure.upkeep.exchange.port import ReadingTerms, ReadRecord

LONGEST = 16 << 20
"""The most characters of one record."""


def open_text(file: BinaryIO, terms: ReadingTerms) -> io.TextIOWrapper:
    """Open a file as text with its own line ends. Bytes of another charset become surrogates, so
    that only their records are refused."""
    codec = "utf-8-sig" if terms.charset == "utf-8" else terms.charset
    return io.TextIOWrapper(file, codec, errors="surrogateescape", newline="")


def join_commented(
    refused: Sequence[tuple[ReadRecord, str]], *, unit: str, mark: str = "# ", after: str = ""
) -> str:
    """Join refused records, each after a comment with its number and its reason."""
    return "".join(
        f"{mark}{unit} {record.number}: {' '.join(reason.split())}\n{record.raw.rstrip()}\n{after}"
        for record, reason in refused
    )
