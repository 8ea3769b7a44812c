"""Lists of names on the command line: `@FILE`, `@IDENTIFIER` of a collection, `@search:WORDS`.

How it works: `perdure.upkeep.name_lists` reads the list. Wherever a command takes a pattern, it
takes such a list.

What must stay true: a line that names nothing known is reported with file, line and reason, the
others are used, and the command exits with 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli.command import here, note_findings

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.ids.name_set import NameSet


def read_list(source: str) -> NameSet:
    """Read the names that `@source` stands for.

    Raises UsageError if none of them is known, NothingMatches if a search finds nothing.
    """
    from perdure.cli.indexing import update_word_index
    from perdure.errors import NothingMatches, PerdureError
    from perdure.ids import parse
    from perdure.ids.name_set import choose_names, make_set
    from perdure.upkeep.name_lists import MARK, SEARCH, list_names

    names: list[Identifier] = []
    with here().open_registry() as registry:
        if source.startswith(SEARCH):
            update_word_index(registry)
        for listed in list_names(registry, source):
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
