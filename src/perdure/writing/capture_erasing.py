"""Erasures of captures, for the registrar: what a PWID names is planned, and later carried out.

How it works: `plan_captures` asks `perdure.archives.erasing`, before anything is written, which
records the captures have and which of them can be overwritten. The plan is noted with the other
work that follows an erasure (`perdure.writing.silencing`), which calls `erase_captures`.

What must stay true: an erasure that can overwrite nothing is refused, and does not withdraw either.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from perdure.archives.port import CaptureBlanking
from perdure.errors.conflicts import CapturesNotErasable, ErasureTooLarge, NoCapturesToErase
from perdure.ids.pwid import Pwid
from perdure.model.commands import Erase
from perdure.model.records import Record, Tombstone
from perdure.settings import Settings

Plan = tuple[tuple[CaptureBlanking, ...], tuple[str, ...]]
"""Records to overwrite, and descriptions of the records that cannot be reached."""
NO_CAPTURES: Plan = ((), ())


class CaptureErasing:
    """Erases captures of the archive of a registry."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self._settings = settings

    def plan_captures(self, pwid: Pwid, record: Record | None, command: Erase) -> Plan:
        """Plan to erase the captures that a PWID names.

        Raises Conflict if nothing can be overwritten, unless the record has bytes of its own or was
        erased before.
        """
        from perdure.archives import erasing
        from perdure.archives.library import Library
        from perdure.archives.withholding import withhold_pwid

        takedown = withhold_pwid(pwid, Tombstone(reason=command.reason, at="", by=command.by))
        with closing(Library(self._root, self._settings)) as library:
            plan = erasing.plan_erasure(library, takedown)
        if plan.exceeds:
            raise ErasureTooLarge(identifier=str(pwid), most=erasing.MOST_ERASED)
        is_erased = record and record.tombstone and record.tombstone.erased
        if not (plan.blankings or plan.blank or is_erased or (record and record.versions)):
            if plan.unreached:
                raise CapturesNotErasable(identifier=str(pwid), places=plan.unreached)
            raise NoCapturesToErase(identifier=str(pwid))
        return plan.blankings, plan.unreached

    def erase_captures(self, blankings: Sequence[CaptureBlanking]) -> list[str]:
        """Overwrite records, and return the places that may still have erased bytes.

        Raises OSError, StorageFailed or Unavailable; then repeat it.
        """
        from perdure.archives import erasing
        from perdure.archives.library import Library

        with closing(Library(self._root, self._settings)) as library:
            return erasing.carry_out(self._root, library, blankings)
