"""Deposits of Crossref: each work with a DOI is a record.

How it works: a deposit is cut into the children of its `body`: journals, books, conferences. A work
inside of one is attached with the elements that describe what is around it, but without the other
works there.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from perdure.errors import PerdureError
from perdure.errors.exchanging import RecordWithoutName
from perdure.metadata import crossref, xml_text
from perdure.upkeep.exchange import describing
from perdure.upkeep.exchange.port import ExchangeForm, ReadingTerms, ReadRecord
from perdure.upkeep.exchange.xml_records import cut_elements

_TOP = frozenset(
    (
        "journal", "book", "conference", "sa_component", "dissertation", "report-paper", "standard",
        "database", "peer_review", "pending_publication", "posted_content", "grant",
    )
)  # fmt: skip


def read_works(file: BinaryIO, _: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the works of a deposit. Works of one journal or book have the same text."""
    number = 0
    for record in cut_elements(file, lambda name, _depth: name in _TOP):
        if record.fault is not None:
            yield record._replace(number=number + 1)
            return
        count = 0
        try:
            for work in crossref.list_works(record.raw.encode()):
                number, count = number + 1, count + 1
                try:
                    yield ReadRecord(number, record.raw, _make_line(work))
                except PerdureError as error:
                    yield ReadRecord(number, record.raw, fault=error)
        except PerdureError as error:
            number += 1
            yield ReadRecord(number, record.raw, fault=error)
        else:
            if not count:
                number += 1
                fault = RecordWithoutName(places=("doi_data",))
                yield ReadRecord(number, record.raw, fault=fault)


def _make_line(work: crossref.DepositedWork) -> dict[str, Any]:
    name = describing.find_name((work.doi,), ("doi_data",))
    data = _cut_out(work.element)
    read = crossref.NAME, "application/xml", lambda _: work.about
    return describing.make_line(name, work.url, data, *read)


def _cut_out(element: Any) -> bytes:
    """Return a work with what describes its surroundings, and without its sibling works."""
    etree = xml_text.load_lxml()
    made = copy.deepcopy(element)
    while (parent := element.getparent()) is not None:
        around = etree.Element(parent.tag, parent.attrib, nsmap=parent.nsmap)
        for one in parent:
            if one is element:
                around.append(made)
            elif xml_text.strip_namespace(one).endswith(("_metadata", "_issue", "_volume")):
                around.append(copy.deepcopy(one))
        element, made = parent, around
    return bytes(etree.tostring(made, encoding="utf-8"))


def refuse_works(refused: Sequence[tuple[ReadRecord, str]], _: ReadingTerms) -> str:
    """Write the parts of a deposit that have refused works, each once, after the reasons."""
    parts: list[str] = []
    last = ""
    for record, why in refused:
        words = " ".join(why.split()).replace("--", "- -")
        comment = f"<!-- record {record.number}: {words} -->\n"
        parts.append(comment if record.raw == last else f"{comment}{record.raw}\n")
        last = record.raw
    body = "".join(parts)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<doi_batch><body>\n{body}</body></doi_batch>\n'


FORM = ExchangeForm(
    name="crossref-xml",
    title="deposit of Crossref",
    unit="record",
    suffixes=(".xml",),
    opens_with="<",
    recognise=lambda head: "<doi_batch" in head or "crossref.org/schema" in head,
    read=read_works,
    refuse=refuse_works,
)
