"""A mapping of the columns of one's own table to what perdure knows: `URL=location,Titel=title`.

How it works: a mapping is a list of entries `COLUMN=MEANING`, with commas or line ends between
them; a file of them has one entry a line, and comments after `#`. A column without an entry means
what its name says: `id`, `handle`, `doi`, `ark`, `pdi`, `url`, `location`, `alias`; any other name
is that of a name-value pair. The meaning `-` leaves a column out.

>>> read_mapping("URL=location, Titel=title")
(('URL', 'location'), ('Titel', 'title'))

What must stay true: `read_mapping(write_mapping(x)) == x`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from perdure.errors.exchanging import MappingColumnMissing, MappingMalformed, MeaningMalformed

IDENTIFIER = {
    "id": "",
    "identifier": "",
    "pdi": "pdi:",
    "handle": "hdl:",
    "doi": "doi:",
    "ark": "ark:",
}
"""Meanings of a column with identifiers, and the label of those without one."""
LOCATION = frozenset(("url", "uri", "location"))
ALIAS = "alias"
OMIT = "-"
_NAME = re.compile(r"(?!\s)[^\x00-\x1f\x7f=]{1,100}(?<!\s)")
"""Any other meaning: the name of a pair."""


def read_mapping(text: str) -> tuple[tuple[str, str], ...]:
    """Read a mapping. Raises InvalidRequest."""
    entries: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        for entry in filter(None, (one.strip() for one in _split_entries(line))):
            column, equals, meaning = (one.strip() for one in entry.rpartition("="))
            if not equals or not column or not meaning:
                raise MappingMalformed(text=entry)
            if not _NAME.fullmatch(meaning):
                raise MeaningMalformed(text=meaning)
            entries.append((_unquote(column), meaning))
    return tuple(entries)


def _split_entries(line: str) -> list[str]:
    """Split entries at commas that are not in quotation marks."""
    return re.findall(r'(?:"(?:[^"]|"")*"|[^",])+', line)


def _unquote(column: str) -> str:
    if len(column) > 1 and column[0] == column[-1] == '"':
        return column[1:-1].replace('""', '"')
    return column


def write_mapping(mapping: Sequence[tuple[str, str]]) -> str:
    """Write a mapping as a file."""
    lines = ("# COLUMN=MEANING, for perdure import --map @FILE", *map(_write_entry, mapping))
    return "".join(f"{line}\n" for line in lines)


def _write_entry(entry: tuple[str, str]) -> str:
    column, meaning = entry
    if re.search(r'[",#]|\A\s|\s\Z', column):
        column = f'"{column.replace(chr(34), chr(34) * 2)}"'
    return f"{column}={meaning}"


def find_meanings(
    columns: Sequence[str], mapping: Sequence[tuple[str, str]]
) -> tuple[tuple[int, str], ...]:
    """List the places of the columns that are taken, with their meanings.

    Raises MappingColumnMissing if a mapped column is not in the table.
    """
    mapped: dict[int, str] = {}
    for column, meaning in mapping:
        places = [at for at, name in enumerate(columns) if name == column] or [
            at for at, name in enumerate(columns) if name.casefold() == column.casefold()
        ]
        if not places:
            raise MappingColumnMissing(column=column, columns=tuple(columns))
        mapped |= dict.fromkeys(places, meaning)
    meanings = ((at, mapped.get(at, name)) for at, name in enumerate(columns))
    return tuple((at, meaning) for at, meaning in meanings if meaning and meaning != OMIT)
