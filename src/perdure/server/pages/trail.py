"""The way up from a page: from a thing to the lists that contain it, and to its own page.

How it works: a name is in the set of its authority, and a PDI also in those of its year, month and
day, which are the beginnings of its text. A set is in the sets whose text its own begins with.

What must stay true: each step leads to a list that contains the name, so none of them is empty.
"""

from __future__ import annotations

from contextlib import suppress

from perdure.errors import PerdureError
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet, find_authority, read_set
from perdure.reading.targets import append_question, spell_path, spell_set_path

Trail = list[tuple[str, str]]
"""The text and the address of each step, the widest first."""


def make_trail(name: Identifier) -> Trail:
    """Return the way up from a name: its authority, its intervals and, from a part, the document.

    >>> from perdure.ids import parse
    >>> [text for text, _ in make_trail(parse("pdi://oma.eop.gov.us/1997/09/01/1.text.1"))]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['pdi://oma.eop.gov.us/', 'pdi://oma.eop.gov.us/1997/', 'pdi://oma.eop.gov.us/1997/09/',
     'pdi://oma.eop.gov.us/1997/09/01/']
    >>> make_trail(parse("ark:12345/x6"))
    [('ark:12345/', '/ark:12345/')]
    """
    whole = name.whole
    steps = _list_sets(str(whole.resource), find_authority(whole))
    if whole is not name:
        steps.append((str(whole), find_page(whole)))
    return steps


def make_set_trail(names: NameSet) -> Trail:
    """Return the way up from a set of names, without the set itself."""
    steps = _list_sets(str(names), find_authority(names.example))
    return [step for step in steps if step[0] != str(names)]


def label_steps(trail: Trail) -> list[tuple[str, str, str]]:
    """Return label, text and address of each step; a label is what a step adds to the one before.

    >>> steps = make_trail(parse("pdi://oma.eop.gov.us/1997/09/01/1.text.1"))
    >>> [label for label, _, _ in label_steps(steps)]
    ['pdi://oma.eop.gov.us', '1997', '09', '01']
    """
    before, labelled = "", []
    for text, href in trail:
        added = text.removeprefix(before)
        labelled.append((added.rstrip("/") or text, text, href))
        before = text
    return labelled


def find_page(name: Identifier) -> str:
    """Return the address of the landing page of a name, on this server."""
    return append_question(f"/{spell_path(name)}", "landing")


def find_page_of(text: object) -> str:
    """Return the address of the landing page of the resource in a text, or an empty string."""
    with suppress(PerdureError):
        return find_page(parse(str(text)).whole.resource)
    return ""


def _list_sets(text: str, authority: NameSet) -> Trail:
    steps = [(str(authority), f"/{spell_set_path(authority)}")]
    at = len(str(authority))
    while (at := text.find("/", at) + 1) > 0:
        with suppress(PerdureError):
            names = read_set(text[:at])
            if names.is_interval:
                steps.append((str(names), f"/{spell_set_path(names)}"))
    return steps
