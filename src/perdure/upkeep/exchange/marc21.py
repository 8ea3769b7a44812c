"""Records of MARC 21 in MARCXML, for library catalogues. They are written only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from perdure.metadata.marc21 import NAMESPACE, write_element
from perdure.reading.described import describe_resource
from perdure.upkeep.exchange.port import (
    ExchangeForm,
    ExportedRecord,
    ReadingTerms,
    ReadRecord,
    Writing,
)


def read_nothing(_: BinaryIO, __: ReadingTerms) -> Iterator[ReadRecord]:
    """Yield no record: perdure does not read MARC."""
    yield from ()


class MarcWriting(Writing):
    """Writes a collection of records."""

    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<collection xmlns="{NAMESPACE}">\n'
    tail = "</collection>\n"

    def write(self, exported: ExportedRecord) -> str:
        described = describe_resource(exported.identifier, exported.record, exported.url)
        return write_element(described)


FORM = ExchangeForm(
    name="marc21",
    title="MARC 21",
    unit="record",
    recognise=lambda _: False,
    read=read_nothing,
    refuse=lambda _, __: "",
    make_writing=MarcWriting,
    holds=frozenset(
        f"about.{name}"
        for name in (
            "titles", "creators", "contributors", "publisher", "year", "dates", "language",
            "resource_type", "resource_kind", "subjects", "codes", "relations", "sizes", "version",
            "edition", "rights", "descriptions", "fundings", "related",
        )
    ),
)  # fmt: skip
