"""The work that follows the withdrawals and erasures of an origin in its mirror.

How it works: the same notes as in the origin (`perdure.writing.silencing`) say, before the batch is
committed, what is to be done after it. The past revisions of an erased record are rewritten once
the journal has the change that erased it.

What must stay true: the bytes that an erasure leaves here have the digest that the origin says.
# ruling: tombstone-silence
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from perdure.model.changes import Change
from perdure.model.commands import NOWHERE
from perdure.model.mirroring import BrokenRule
from perdure.model.records import Blank, Record
from perdure.model.references import list_references
from perdure.policy import erasing, replaying
from perdure.policy.showing import find_withdrawal
from perdure.storage.byte_ports import Blanking, Bytes
from perdure.storage.ports import Journal
from perdure.storage.reference_hashes import reference_hash
from perdure.writing.replayed_places import find_held, is_withdrawn, list_held
from perdure.writing.silencing import Silencing, SilencingQueue, digest_rest


class ReplayedSilence:
    """Notes what follows the changes of one batch."""

    def __init__(self, journal: Journal, held: Bytes, queue: SilencingQueue, now: str) -> None:
        self._journal, self._bytes, self._queue, self._now = journal, held, queue, now
        self._redactions: list[tuple[str, Callable[[str], str]]] = []
        self.is_needed = False
        """True if something is to be done after the batch."""

    def note_withdrawn(self, key: str, before: Record, after: Record) -> None:
        """Note that what was computed from withdrawn bytes must go."""
        digests = tuple(
            one.sha512
            for number, one in list_held(before)
            if is_withdrawn(after, number) and not is_withdrawn(before, number)
        )
        if digests:
            self._queue.add(Silencing(key=key, at=self._now, digests=digests))
            self.is_needed = True

    def note_erased(self, change: Change, key: str, before: Record, after: Record) -> None:
        """Note that bytes must be overwritten, and rewrite the past revisions of the record."""
        erased: dict[tuple[int, str], str] = {}
        blankings: list[Blanking] = []
        blanks = tuple(
            blank
            for number, one in list_held(after)
            for blank in one.blanks
            if blank not in _find_blanks(before, number, one.format)
        )
        for number, one in list_held(after):
            old = find_held(before, number, one.format)
            if old is None or old.sha512 == one.sha512:
                continue
            spans = tuple(
                (blank.start, blank.end)
                for blank in blanks
                if (blank.version, blank.format) == (number, one.format)
            ) or ((0, one.length),)
            erased[number, one.format] = one.sha512
            if old.segment == NOWHERE:
                continue
            if digest_rest(self._bytes, old, spans) != one.sha512:
                fault = "the bytes that an erasure leaves do not have their digest"
                raise BrokenRule(replaying.DIGEST, fault, change=change)
            held = msgspec.structs.replace(old, sha512=one.sha512)
            blankings.append(Blanking(held=held, spans=spans))
        digests = tuple(one.sha512 for _, one in list_held(before))
        self._queue.add(
            Silencing(key=key, at=self._now, digests=digests, blankings=tuple(blankings))
        )
        self.is_needed = True
        self._note_redaction(key, before, after, erased, blanks)

    def _note_redaction(
        self,
        key: str,
        before: Record,
        after: Record,
        erased: dict[tuple[int, str], str],
        blanks: tuple[Blank, ...],
    ) -> None:
        whole = (after.tombstone,) if after.tombstone else ()
        endings = (*whole, *(one.tombstone for one in after.versions if one.tombstone))
        held = [one for _, one in list_held(after) if one.erased]
        erasure = erasing.Erasure(
            at=max((one.erased for one in held), default=after.at),
            digests=erased,
            blanks=blanks,
            keep_digest=any(one.original for one in held),
            silent=any(one.silent for one in endings),
            is_whole=find_withdrawal(None, after) is not None,
        )
        self._redactions.append((key, partial(erasing.redact_stored, erasure=erasure)))
        dropped = list_references(before) - list_references(after)
        self._journal.drop_references((reference_hash(one), key) for one in dropped)

    def redact_past(self) -> None:
        """Rewrite the past of erased records. The journal has the changes that erased them."""
        for key, redact in self._redactions:
            self._journal.redact_past(key, redact)
        self._redactions.clear()


def _find_blanks(record: Record, number: int, format: str) -> tuple[Blank, ...]:
    held = find_held(record, number, format)
    return held.blanks if held else ()
