"""The choices of a deposit that are made before it is planned."""

from __future__ import annotations

import msgspec

ONCE, EACH = "once", "each"
AS_DOCUMENTS, AS_COLLECTIONS = "documents", "collections"


class PlanOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Choices that decide what a plan says."""

    series: str
    inventory: str = ""
    """The path of the inventory; empty if there is none."""
    mapping: dict[str, str] = {}
    """Meanings of columns of the inventory, by their names."""
    listed_only: bool = False
    """Take only files that the inventory lists."""
    date_pattern: str = ""
    """The pattern of dates in paths; empty: paths have none."""
    file_times: bool = False
    """Take the time of change of a file as its date, if nothing else says one."""
    retrospective: bool = False
    """Give names under the days of the documents."""
    detect: bool = True
    """Detect types and charsets from the bytes."""
    inside: bool = True
    """Propose what the files say of themselves."""
    separate: bool = False
    """Each file is a document of its own."""
    duplicates: str = ONCE
    """Whether the same bytes get one name (`once`) or one for each file (`each`)."""
    packages: str = AS_DOCUMENTS
    """Whether a package is one document, or a collection of its members."""
