"""XML of EZID's batch download: `<records><record identifier="…"><element name="…">…`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from perdure.errors import PerdureError
from perdure.upkeep.exchange import ezid
from perdure.upkeep.exchange.port import (
    ExchangeForm,
    ExportedRecord,
    ReadingTerms,
    ReadRecord,
    Writing,
)
from perdure.upkeep.exchange.texts import join_commented
from perdure.upkeep.exchange.xml_records import cut_elements

_RECORD = re.compile(r"<record\s[^>]*?identifier\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ELEMENT = re.compile(
    r"<element\s[^>]*?name\s*=\s*(?:\"([^\"]*)\"|'([^']*)')[^>]*?(?:/>|>(.*?)</element\s*>)",
    re.DOTALL,
)
_XML = (ezid.DATACITE, ezid.CROSSREF)
"""Elements that have XML in them, not text."""
_DECLARATION = re.compile(r"\A<\?xml[^>]*\?>\s*")


def read_records(file: BinaryIO, _: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the records of a download."""
    for record in cut_elements(file, lambda name, depth: name == "record" and depth > 1):
        if record.fault is not None:
            yield record
            continue
        head = _RECORD.match(record.raw)
        identifier = html.unescape((head[1] or head[2] or "") if head else "")
        elements: dict[str, str] = {}
        for found in _ELEMENT.finditer(record.raw):
            name, text = html.unescape(found[1] or found[2] or ""), found[3] or ""
            elements[name] = text if name in _XML else html.unescape(text)
        try:
            yield record._replace(line=ezid.make_line(identifier, elements))
        except PerdureError as error:
            yield record._replace(fault=error)


class ElementWriting(Writing):
    """Writes an element for each identifier."""

    head = '<?xml version="1.0" encoding="utf-8"?>\n<records>'
    tail = "</records>\n"

    def write(self, exported: ExportedRecord) -> str:
        name = ezid.spell_identifier(str(exported.identifier))
        elements = "".join(
            f'<element name="{html.escape(element)}">{_write_value(element, value)}</element>'
            for element, value in ezid.list_elements(exported).items()
        )
        return f'<record identifier="{html.escape(name)}">{elements}</record>'


def _write_value(name: str, value: str) -> str:
    return _DECLARATION.sub("", value) if name in _XML else html.escape(value, quote=False)


def refuse_records(refused: Sequence[tuple[ReadRecord, str]], _: ReadingTerms) -> str:
    """Write refused records, each after a comment with its reason."""
    safe = [(record, reason.replace("--", "- -")) for record, reason in refused]
    inside = join_commented(safe, unit="record", mark="<!-- ").replace("\n<record", " -->\n<record")
    return f'<?xml version="1.0" encoding="utf-8"?>\n<records>\n{inside}</records>\n'


FORM = ExchangeForm(
    name="ezid-xml",
    title="XML of EZID",
    unit="record",
    suffixes=(".xml",),
    opens_with="<",
    recognise=lambda head: "<records" in head and "<element name=" in head,
    read=read_records,
    refuse=refuse_records,
    make_writing=ElementWriting,
)
