"""The description of a document, from the rows of a plan. Pure.

What must stay true: what a file says of itself is marked as derived, and only a date that people
stated is a date of publication.  # ruling: cite-date
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from perdure.model.about import About, DescriptionDate
from perdure.model.plain_words import is_plain_word, read_pairs
from perdure.upkeep.deposit.plan import PlannedFile

INSIDE = "inside: "
INVENTORY = "inventory"
FILE_TIME = "file time"
"""The source of the time of the last change of a file, which is not the date of its creation."""
_STATED = (INVENTORY, "plan", "", "BagIt", "METS", "EAD")


def describe_rows(rows: Sequence[PlannedFile]) -> tuple[About | None, dict[str, str]]:
    """Return the description of a document, and the name-value pairs that no description has.

    The first row that has a value counts, field by field.
    """
    pairs: dict[str, str] = {}
    for row in rows:
        fields = {"title": row.title, "creator": row.creator, "language": row.language}
        for name, value in (fields | row.pairs).items():
            if value:
                pairs.setdefault(name, value)
    dated = next((row for row in rows if row.date), None)
    metadata = {name: value for name, value in pairs.items() if not is_plain_word(name)}
    known = {name: value for name, value in pairs.items() if is_plain_word(name)}
    if dated is not None and dated.date_source in _STATED:
        known["date"] = dated.date
    about = read_pairs(known)
    if dated is not None and dated.date_source not in _STATED:
        kind = "Updated" if dated.date_source == FILE_TIME else "Created"
        date = DescriptionDate(value=dated.date, kind=kind, note=_note_source(dated))
        about = msgspec.structs.replace(about, dates=(*about.dates, date))
    sources = {row.described_by for row in rows if row.described_by}
    if len(sources) == 1 and (source := sources.pop()).startswith(INSIDE):
        about = msgspec.structs.replace(about, derived=source.removeprefix(INSIDE))
    return (None if about == About() else about), metadata


def _note_source(row: PlannedFile) -> str:
    """Name the source of a date that no one stated."""
    notes = {"path": "from the path of the file", FILE_TIME: "from the time of the file"}
    return notes.get(row.date_source, row.date_source)
