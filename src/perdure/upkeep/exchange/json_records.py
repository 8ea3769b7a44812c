"""The records of a JSON file, one by one: lines, a list, objects one after another, pages of lists.

How it works: a file whose lines are objects is read by lines. In any other, a scan of brackets and
quotation marks finds the elements of a list, or the objects that follow one another. An object with
a list of records in one of its members (`{"data": […]}`) is a page of records.

What must stay true: memory is bounded by the longest record, or page of records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from perdure.errors.exchanging import RecordMalformed, RecordTooLong
from perdure.upkeep.exchange.port import ReadingTerms, ReadRecord
from perdure.upkeep.exchange.texts import LONGEST, open_text

_PIECE = 1 << 16  # characters
_MARKS = re.compile(r'[{}\[\]"]')
_STRING_END = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)
_PAGES = ("data", "handles", "items", "records", "results")
"""Members that can have the records of a page."""
REASON = "_reason"
"""The member of a refused record that says why; it is dropped when the record is given back."""


def cut_records(file: BinaryIO, terms: ReadingTerms) -> Iterator[tuple[ReadRecord, Any]]:
    """Yield each record with its value; a record with a fault has None."""
    number = 0
    for raw in _cut_texts(open_text(file, terms)):
        if len(raw) > LONGEST:
            number += 1
            yield ReadRecord(number, raw[:100], fault=RecordTooLong(most=LONGEST)), None
            continue
        try:
            value = msgspec.json.decode(raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
            number += 1
            yield ReadRecord(number, raw, fault=RecordMalformed(fault=str(error))), None
            continue
        page = _list_page(value)
        for one in [value] if page is None else page:
            number += 1
            if isinstance(one, dict):
                one.pop(REASON, None)
            text = raw if page is None else msgspec.json.encode(one).decode()
            yield ReadRecord(number, text), one


def _list_page(value: Any) -> list[Any] | None:
    if not isinstance(value, dict):
        return None
    lists = (value[name] for name in _PAGES if isinstance(value.get(name), list))
    page = next(lists, None)
    return page if page is not None and all(isinstance(one, dict) for one in page) else None


def _cut_texts(text: Iterator[str]) -> Iterator[str]:
    """Yield the text of each value: an element of a list, or one that follows another."""
    depth, inside = 0, 0
    kept, start, at = "", 0, 0
    opened: int | None = None
    for piece in _read_pieces(text):
        kept = kept[start:] + piece if start else kept + piece
        at -= start
        opened = None if opened is None else opened - start
        start = 0
        while (mark := _MARKS.search(kept, at)) is not None:
            character, at = mark[0], mark.end()
            if character == '"':
                end = _STRING_END.match(kept, at)
                if end is None:
                    at = mark.start()
                    break
                at = end.end()
            elif character in "{[":
                if character == "[" and depth == 0:
                    inside = 1
                elif depth == inside:
                    opened = mark.start()
                depth += 1
            else:
                depth -= 1
                if depth == inside and opened is not None:
                    yield kept[opened:at]
                    opened, start = None, at
                elif depth <= 0:
                    depth, inside = 0, 0
        else:
            at = len(kept)
        if opened is not None:
            start = opened
        elif mark is None:
            start = at
        if len(kept) - start > LONGEST:
            yield kept[start:]
            return
    if opened is not None:
        yield kept[opened:]


def _read_pieces(text: Any) -> Iterator[str]:
    while piece := text.read(_PIECE):
        yield piece


def refuse_records(refused: list[tuple[ReadRecord, str]]) -> str:
    """Write refused records as lines, each with its reason in a member, if it is an object."""
    written = []
    for record, reason in refused:
        try:
            value = msgspec.json.decode(record.raw)
        except msgspec.MsgspecError:
            value = None
        if isinstance(value, dict):
            words = f"record {record.number}: {' '.join(reason.split())}"
            written.append(msgspec.json.encode({REASON: words} | value).decode())
        else:
            written.append(" ".join(record.raw.split()))
    return "".join(f"{one}\n" for one in written)
