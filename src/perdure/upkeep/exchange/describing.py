"""Records of metadata as lines of an import: what BibTeX, RIS, CSL, DataCite and Crossref share.

How it works: the identifier is the first text of the record that is one: a DOI, or an identifier of
any scheme, or the address of one at its public resolver. An address that is not that of the
identifier itself is a location. The record is attached, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from perdure.errors import MalformedIdentifier, PerdureError
from perdure.errors.exchanging import RecordWithoutName
from perdure.ids import Identifier, find_scheme, parse
from perdure.ids.urls import deurlify
from perdure.metadata import write_record
from perdure.policy import binding
from perdure.reading.described import describe_resource
from perdure.upkeep.exchange import attaching
from perdure.upkeep.exchange.attaching import Reader
from perdure.upkeep.exchange.port import ExportedRecord, Writing

_DOI = re.compile(r"10\.[0-9.]+/\S+", re.ASCII)


def find_name(texts: Iterable[str], fields: tuple[str, ...]) -> Identifier:
    """Return the first identifier among texts. Raises RecordWithoutName."""
    for text in filter(None, (one.strip() for one in texts)):
        found = read_name(text) or read_address(text)
        if found is not None:
            return found
    raise RecordWithoutName(places=fields)


def read_name(text: str) -> Identifier | None:
    """Return the identifier that a text is, with or without its label; None if it is none.

    >>> str(read_name("10.1000/182")), read_name("Journal of Tests")
    ('doi:10.1000/182', None)
    """
    if _DOI.fullmatch(text):
        text = f"doi:{text}"
    with suppress(MalformedIdentifier):
        return parse(text) if find_scheme(text) is not None else None
    return None


def read_address(url: str) -> Identifier | None:
    """Return the identifier of which a URL is the address at a public resolver."""
    if not url.lower().startswith(("http://", "https://")):
        return None
    with suppress(PerdureError):
        return deurlify(url)
    return None


def make_line(
    name: Identifier, url: str, data: bytes, format: str, media_type: str, read: Reader
) -> dict[str, Any]:
    """Make the line of a record. Raises PerdureError if the record cannot be used."""
    line: dict[str, Any] = {"id": str(name)}
    if url and read_address(url) != name:
        binding.check_uri(url)
        line["locations"] = [url]
    attaching.describe(line, data, format, media_type, read)
    return line


class RecordWriting(Writing):
    """Writes records of a format of metadata: the attached one as long as it is still true."""

    def __init__(self, name: str, format: str, read: Reader, between: str = "") -> None:
        self._name = name
        self._format = format
        self._read = read
        self.between = between

    def write(self, exported: ExportedRecord) -> str:
        record = exported.record
        kept = attaching.find_unchanged(record, self._name, self._read)
        if kept is None:
            described = describe_resource(exported.identifier, record, exported.url)
            kept = write_record(described, self._format)
        text = kept.decode("utf-8-sig")
        end = "" if text.endswith("\n") else "\n"
        return text + end
