"""Lists of names: the lines of a file, the members of a collection, the documents of a search.

How it works: a file has a name in each line; blank lines, and lines that begin with `#`, are passed
over. A table with a column `identifier` (or `id`), such as the receipts of a deposit, is read by
that column. A collection stands for its members, and a search for all documents that it finds.

What must stay true: the texts are as they were written; whether they are names, and known here, is
for the caller to find out, who can say where a wrong one is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from perdure.ids import Identifier, find_scheme, parse
from perdure.ids.name_set import NameSet
from perdure.model.queries import LOCAL_READER
from perdure.registry import Registry
from perdure.upkeep.collection.making import load_held
from perdure.upkeep.deposit.tables import Row, Table
from perdure.upkeep.searching.asking import make_selection
from perdure.upkeep.searching.updating import Searching, update_index

MARK = "@"
SEARCH = "search:"
"""Begins the words of a search."""
_COLUMNS = ("identifier", "id")


class ListedName(NamedTuple):
    """A name in a list, and its line or its number."""

    line: int
    text: str


def list_names(registry: Registry, source: str) -> Iterator[ListedName]:
    """Yield what is listed in a file (`-`: standard input), in a collection, or by `search:WORDS`.

    Raises OSError if a file cannot be read, or the errors of the collection or the search.
    """
    if source.startswith(SEARCH):
        return _list_found(registry, source.removeprefix(SEARCH))
    if source != "-" and not Path(source).exists() and find_scheme(source) is not None:
        return _list_members(registry, source)
    return _list_lines(source)


def _list_members(registry: Registry, source: str) -> Iterator[ListedName]:
    """The members of a collection that is held here."""
    held = load_held(registry, parse(source))
    for number, member in enumerate(held.collection.members, 1):
        yield ListedName(number, member.identifier)


def _list_found(registry: Registry, words: str) -> Iterator[ListedName]:
    """The documents that a search finds, other names included, the newest first."""
    selection = make_selection(words)
    for _ in update_index(registry):
        pass
    found = Searching(registry).open_finder(LOCAL_READER).find_names(selection)
    for number, name in enumerate(found, 1):
        yield ListedName(number, str(name))


def _list_lines(source: str) -> Iterator[ListedName]:
    path = Path(source)
    if source != "-":
        with path.open("rb") as file:
            first = file.readline(1 << 16)
        if any(column.encode() in first.lower() for column in _COLUMNS) and b":" not in first:
            with Table(path) as table:
                known = [one for one in table.columns if one.lower() in _COLUMNS]
                for row in table if known else ():
                    if isinstance(row, Row) and known[0] in row.cells:
                        yield ListedName(row.line, row.cells[known[0]])
                if known:
                    return
    lines = sys.stdin if source == "-" else path.open(encoding="utf-8-sig", errors="replace")
    with lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if text and not text.startswith("#"):
                yield ListedName(number, text)


def list_chosen(registry: Registry, names: NameSet) -> Iterator[Identifier]:
    """Yield the known names of a set. Raises NotFound if there are none."""
    names = registry.listings.require_known(names)
    for page in registry.listings.walk_pages(names, limit=registry.settings.page_size):
        yield from page.identifiers
