"""Rebuilding: recreate the identifier-to-bytes part of a registry from its segments.

How it works: `rebuild_index` reads the segments from the first to the last, and repeats what the
head of each record says (`perdure.upkeep.replaying`), without reading the old registry. What the
old registry confirms (`Claims`) is left to the caller.

What must stay true: nothing here changes a segment; damage in a segment hides no later record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import msgspec

from perdure.errors import Corrupt, PerdureError
from perdure.ids import parse
from perdure.model.records import Representation
from perdure.storage.byte_ports import Bytes, KeptRecord
from perdure.storage.ports import Renewal

if TYPE_CHECKING:
    from perdure.upkeep.replaying import Waiting

_PAGE = 1000


class RebuiltSegment(msgspec.Struct, frozen=True):
    """Progress of a rebuild, reported for each segment."""

    segment: int
    records: int
    problem: str | None = None
    """The places that could not be read, and the reasons."""
    last_day: str = ""
    """The last day of its records, such as `2026/11/22`."""


class Claims(Protocol):
    """The places in the segments, as an older registry knows them."""

    def contradict(self, held: Representation, key: str, version: int) -> bool:
        """Return True if it has something else than this key, version and format at the place."""

    def confirm(self, held: Representation, name: str, version: int) -> bool:
        """Return True if it has exactly this there, and so gives it to the new registry.

        `name` is the full name, as the head has it. No other check of the head is then needed.
        """


class NoClaims:
    """The claims if no older registry is known."""

    def contradict(self, _held: Representation, _key: str, _version: int) -> bool:
        return False

    def confirm(self, _held: Representation, _name: str, _version: int) -> bool:
        return False


_NO_CLAIMS = NoClaims()


def rebuild_index(
    held: Bytes, journal: Renewal, *, now: str, claims: Claims = _NO_CLAIMS
) -> Iterator[RebuiltSegment]:
    """Fill an empty registry from the segments.

    Identifiers without bytes, locations, aliases, metadata and tokens are in no segment; they come
    from a backup. Serial numbers continue after those found. If a segment is damaged, reading goes
    on at the next complete record. Bytes that `claims` confirms are left to the caller, unless they
    were corrected.
    """
    waiting: Waiting = {}
    for number in held.list_numbers():
        yield _rebuild_segment(held, journal, number, now, (claims, waiting))
    if waiting:  # for bytes that were left to the caller, perhaps
        replay_some(held, journal, claims=claims, waiting=waiting)


def replay_some(
    held: Bytes,
    journal: Renewal,
    *,
    claims: Claims,
    waiting: Waiting | None = None,
    is_wanted: Callable[[Representation], bool] = lambda _: False,
) -> None:
    """Read the segments once more, and repeat the bytes that are wanted or have corrections."""
    awaited: Waiting = {} if waiting is None else waiting
    for number in held.list_numbers():
        journal.begin_batch()
        references: list[tuple[int, str]] = []
        with suppress(Corrupt):  # a missing segment was reported the first time, as is all below
            for kept in held.read_records(number):
                if isinstance(kept, Corrupt) or kept.representation is None:
                    continue
                with suppress(PerdureError, ValueError):
                    key = parse(kept.name).key
                    place = (key, kept.version, kept.representation.format)
                    if place in awaited or is_wanted(kept.representation):
                        references += _replay_record(held, journal, kept, claims, awaited)
        if references:
            journal.add_references(references)
        journal.commit_batch()


def _rebuild_segment(
    held: Bytes, journal: Renewal, number: int, now: str, known: tuple[Claims, Waiting]
) -> RebuiltSegment:
    claims, waiting = known
    count, end, last_day = 0, 0, ""
    problems: list[str] = []
    references: list[tuple[int, str]] = []
    journal.begin_batch()
    try:
        for kept in held.read_records(number):
            if isinstance(kept, Corrupt):
                problems.append(str(kept))
                continue
            end = kept.end
            try:
                one = kept.representation
                if one is None or not claims.confirm(one, kept.name, kept.version):
                    references += _replay_record(held, journal, kept, claims, waiting)
                count += 1
                last_day = max(last_day, kept.at[:10])
            except (PerdureError, ValueError) as error:  # a damaged name, for example
                problems.append(f"segment {number}, the record that ends at {kept.end}: {error}")
            if len(references) >= _PAGE:  # one by one, each would be a row of its own
                journal.add_references(references)
                references.clear()
    except Corrupt as error:  # the segment is missing
        problems.append(str(error))
    journal.add_references(references)
    journal.save_segment(number, end, now, grows=False)
    journal.commit_batch()
    journal.tidy_up()
    last_day = last_day.replace("-", "/")
    return RebuiltSegment(number, count, "; ".join(problems) or None, last_day)


def _replay_record(
    held: Bytes, journal: Renewal, kept: KeptRecord, claims: Claims, waiting: Waiting
) -> Iterator[tuple[int, str]]:
    # Only a damaged registry needs this, with thirty modules that know what documents are about.
    from perdure.upkeep.replaying import replay_record

    return replay_record(held, journal, kept, claims.contradict, waiting)
