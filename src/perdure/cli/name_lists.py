"""Lists of names on the command line: `@FILE`, `@IDENTIFIER` of a collection, `@search:WORDS`.

How it works: a file has a name in each line; blank lines, and lines that begin with `#`, are passed
over. A table with a column `identifier` (or `id`), such as the receipts of a deposit, is read by
that column. A collection stands for its members, and a search for all documents that it finds.
Wherever a command takes a pattern, it takes such a list.

What must stay true: a line that names nothing known is reported with file, line and reason, the
others are used, and the command exits with 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from perdure.cli.command import here, note_findings

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.ids.name_set import NameSet
    from perdure.registry import Registry

MARK = "@"
SEARCH = "search:"
"""Begins the words of a search."""
_COLUMNS = ("identifier", "id")


class ListedName(NamedTuple):
    """A name in a list, and its line or its number."""

    line: int
    text: str


def read_list(source: str) -> NameSet:
    """Read the names that `@source` stands for.

    Raises UsageError if none of them is known, NothingMatches if a search finds nothing.
    """
    from perdure.errors import NothingMatches, PerdureError
    from perdure.ids import parse
    from perdure.ids.name_set import choose_names, make_set

    names: list[Identifier] = []
    with here().open_registry() as registry:
        for listed in _list_names(registry, source):
            try:
                name = parse(listed.text)
                registry.listings.require_known(make_set(name))
                names.append(name.whole)
            except PerdureError as error:
                told = {"file": source, "line": listed.line} | error.as_dict()
                here().print_failure(told, f"{source}, line {listed.line}: {error}")
                note_findings()
    if not names and source.startswith(SEARCH):
        raise NothingMatches(identifier=f"{MARK}{source}")
    if not names:
        raise click.UsageError(f"{source} has no known names")
    return choose_names(names, f"{MARK}{source}")


def _list_names(registry: Registry, source: str) -> Iterator[ListedName]:
    from perdure.ids import find_scheme

    if source.startswith(SEARCH):
        return _list_found(registry, source.removeprefix(SEARCH))
    if source != "-" and not Path(source).exists() and find_scheme(source) is not None:
        return _list_members(registry, source)
    return _list_lines(source)


def _list_members(registry: Registry, source: str) -> Iterator[ListedName]:
    """The members of a collection that is held here."""
    from perdure.ids import parse
    from perdure.upkeep.collection.making import load_held

    held = load_held(registry, parse(source))
    for number, member in enumerate(held.collection.members, 1):
        yield ListedName(number, member.identifier)


def _list_found(registry: Registry, words: str) -> Iterator[ListedName]:
    """The documents that a search finds, other names included, the newest first."""
    from perdure.cli.indexing import update_word_index
    from perdure.model.queries import LOCAL_READER
    from perdure.upkeep.searching.asking import make_selection
    from perdure.upkeep.searching.updating import Searching

    selection = make_selection(words)
    update_word_index(registry)
    found = Searching(registry).open_finder(LOCAL_READER).find_names(selection)
    for number, name in enumerate(found, 1):
        yield ListedName(number, str(name))


def _list_lines(source: str) -> Iterator[ListedName]:
    from perdure.upkeep.deposit.tables import Row, Table

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
