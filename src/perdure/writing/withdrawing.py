"""Withdrawals and erasures: proposed by one person, confirmed by another, and carried out.

How it works: `Withdrawing` plans one command, in the batch of the registrar: the tombstone in the
record and beside the bytes, and for an erasure the record without digests, the past revisions
rewritten and their salts destroyed. What follows on the disk (indexes, bytes) is noted before the
commit and done after it (`perdure.writing.silencing`).

What must stay true: what is erased was withdrawn before, in the same change at the latest; a change
with the act `erase` informs mirrors.  # ruling: tombstone-silence
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeGuard

from msgspec.structs import replace

from perdure.archives.port import CaptureBlanking
from perdure.errors import StorageFailed, Unavailable
from perdure.errors.unavailable import ErasureUnfinished
from perdure.ids import Identifier
from perdure.ids.pwid import Pwid
from perdure.model.commands import Answer, Command, Erase, Outcome, Receipt, Refuse, Withdraw
from perdure.model.records import Proposal, Record, Tombstone
from perdure.model.references import list_references
from perdure.policy import erasing, naming, proposals, rules
from perdure.policy.erasing import Erasable, Erasure
from perdure.policy.remaining import list_remaining, list_representations
from perdure.policy.showing import find_withdrawal
from perdure.settings import Settings
from perdure.storage.byte_ports import Blanking, Bytes
from perdure.storage.reference_hashes import reference_hash
from perdure.writing.capture_erasing import NO_CAPTURES, CaptureErasing, Plan
from perdure.writing.ledger import Ledger
from perdure.writing.silencing import DeleteIndexes, Silencing, SilencingQueue, digest_rest

WITHDRAW, ERASE = "withdraw", "erase"
"""Acts of changes."""
Enter = Callable[[Identifier, str], Record]
"""Registers a name that has no record yet, for an actor, and returns its record."""
ReadName = Callable[[Identifier], Identifier]


class Withdrawing:
    """Carries out withdrawals and erasures of one registry, for its registrar."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        ledger: Ledger,
        held: Bytes,
        enter: Enter,
        read_name: ReadName,
        delete_indexes: DeleteIndexes,
    ) -> None:
        """`read_name` finds the known spelling of a name, and checks that it is one resource."""
        self._root = root
        self._settings = settings
        self._ledger = ledger
        self._bytes = held
        self._enter = enter
        self._read_name = read_name
        self._captures = CaptureErasing(root, settings)
        self._queue = SilencingQueue(
            root,
            held,
            delete_indexes=delete_indexes,
            erase_captures=self._captures.erase_captures,
        )
        self._waiting = False
        """True if this batch has noted work that follows its commit."""
        ledger.persons = settings.withdrawal_persons
        ledger.note_withdrawn = self._note_withdrawn

    # After a batch
    # -------------

    def finish_work(self) -> list[str]:
        """Do what follows committed withdrawals. Return the places that may still have erased
        bytes. Raises OSError, StorageFailed, Unavailable.
        """
        self._waiting = False
        return self._queue.finish(self._ledger.journal.find_record)

    def finish_batch(
        self, commands: Sequence[Command], answers: Sequence[Answer]
    ) -> Sequence[Answer]:
        """Do what follows the withdrawals of a batch, and add to the receipts what was found."""
        if not self._waiting:
            return answers
        try:
            unreached = tuple(self.finish_work())
        except (OSError, StorageFailed, Unavailable) as error:
            failed = ErasureUnfinished(reason=str(error))
            return [
                failed if isinstance(command, Withdraw) and isinstance(answer, Receipt) else answer
                for command, answer in zip(commands, answers, strict=True)
            ]
        return [
            replace(answer, unreached=(*answer.unreached, *unreached))
            if isinstance(command, Erase) and isinstance(answer, Receipt)
            else answer
            for command, answer in zip(commands, answers, strict=True)
        ]

    # Commands
    # --------

    def withdraw_record(self, command: Withdraw) -> Receipt:
        """Withdraw, or also erase, what a command names; or propose it."""
        identifier = self._read_name(command.identifier)
        known = self._ledger.find_record(identifier.key)
        is_own = self._is_own_capture(identifier)
        captures, unreached = self._plan_captures(identifier, known, command)
        if known is None and is_own:
            known = self._enter(identifier, command.by)
        record = rules.require_known(identifier, known)
        rules.check_revision(identifier, record, command.expect)
        named = naming.read_qualifiers(identifier)[0]
        version = named if command.version is None else command.version
        is_erasure = isinstance(command, Erase)
        first = self._find_seconded(record, version, command)
        by = f"{first.by}, {command.by}" if first else command.by
        tombstone = Tombstone(
            reason=command.reason,
            at=self._ledger.now,
            by=by,
            silent=command.silent,
            keeps_digest=command.keep_digest,
        )
        buried, outcome = rules.withdraw_record(identifier, record, tombstone, version)
        erasable: tuple[Erasable, ...] = ()
        if isinstance(command, Erase):
            erasable = erasing.list_erasable(identifier, buried, version, command.blanks)
            is_left = erasable or captures or (is_own and not _is_erased(buried, version))
            outcome = Outcome.CHANGED if is_left else outcome
            self._waiting = True  # an earlier erasure may not be finished yet
        if outcome is Outcome.UNCHANGED:
            self._withhold_captures(identifier, record)  # again, if a crash came before it
            return Receipt(
                outcome=outcome,
                identifier=str(identifier),
                revision=record.revision,
                unreached=unreached,
            )
        persons = (
            self._settings.erasure_persons if is_erasure else self._settings.withdrawal_persons
        )
        if first is None and persons > 1:
            return self._propose(identifier, record, version, command)
        remaining = list_remaining(self._ledger, identifier, buried, version)
        changed = replace(buried, proposal=None)
        if isinstance(command, Erase):
            receipt = self._erase(
                identifier, record, changed, version, erasable, command, by, captures
            )
            receipt = replace(receipt, unreached=unreached)
        else:
            receipt = self._revise(identifier, record, changed, version, (WITHDRAW, command.by))
        return replace(
            receipt,
            copies=remaining.copies,
            written_about=remaining.written_about,
            is_list_cut=remaining.is_cut,
        )

    def _propose(
        self, identifier: Identifier, record: Record, version: int | None, command: Withdraw
    ) -> Receipt:
        proposal = Proposal(
            act=_name_act(command),
            reason=command.reason,
            at=self._ledger.now,
            by=command.by,
            version=version,
            silent=command.silent,
            keeps_digest=command.keep_digest,
            blanks=command.blanks if isinstance(command, Erase) else (),
            bearer=command.bearer,
        )
        changed, _ = proposals.make_proposal(
            identifier, record, proposal, self._settings.proposal_days
        )
        return self._ledger.revise_record(
            identifier, record, changed, Outcome.PROPOSED, ("propose", command.by)
        )

    def _revise(
        self,
        identifier: Identifier,
        record: Record,
        changed: Record,
        version: int | None,
        deed: tuple[str, str],
        blankings: tuple[Blanking, ...] = (),
        captures: tuple[CaptureBlanking, ...] = (),
    ) -> Receipt:
        """Store a withdrawn record, and note what follows."""
        tombstone = _find_tombstone(changed, version)
        if tombstone is not None:
            self._ledger.log_tombstone(identifier, tombstone, version)
        is_capture = self._withhold_captures(identifier, changed)
        digests = tuple(one.sha512 for _, one in list_representations(record, version))
        is_described = bool(record.about or record.narrower or record.metadata or record.values)
        if digests or captures or is_capture or is_described:
            self._queue.add(
                Silencing(
                    key=identifier.key,
                    at=self._ledger.now,
                    digests=digests,
                    blankings=blankings,
                    captures=captures,
                )
            )
            self._waiting = True
        return self._ledger.revise_record(identifier, record, changed, Outcome.CHANGED, deed)

    def _erase(
        self,
        identifier: Identifier,
        record: Record,
        buried: Record,
        version: int | None,
        erasable: tuple[Erasable, ...],
        command: Erase,
        by: str,
        captures: tuple[CaptureBlanking, ...],
    ) -> Receipt:
        """Erase bytes that are withdrawn in `buried`.

        Raises Corrupt, before anything is written, if a past revision cannot be read: it could not
        be redacted.
        """
        now, journal = self._ledger.now, self._ledger.journal
        journal.list_revisions(identifier.key)
        erasure = Erasure(
            at=now,
            digests={
                (one.version, one.held.format): digest_rest(self._bytes, one.held, one.spans)
                for one in erasable
            },
            blanks=command.blanks,
            keep_digest=command.keep_digest,
            silent=command.silent,
            is_whole=find_withdrawal(None, buried) is not None,
        )
        changed = erasing.redact_record(buried, erasure)
        if not command.blanks:
            changed = erasing.note_erased(changed, version, now, by)
        blankings = tuple(
            Blanking(
                held=replace(one.held, sha512=erasure.digests[one.version, one.held.format]),
                spans=one.spans,
            )
            for one in erasable
        )
        deed = (ERASE, command.by)
        receipt = self._revise(identifier, record, changed, version, deed, blankings, captures)
        journal.redact_past(identifier.key, partial(erasing.redact_stored, erasure=erasure))
        dropped = list_references(record) - list_references(changed)
        journal.drop_references((reference_hash(one), identifier.key) for one in dropped)
        return receipt

    def refuse_withdrawal(self, command: Refuse) -> Receipt:
        """Refuse a proposed withdrawal or erasure."""
        identifier = self._read_name(command.identifier)
        record = rules.require_known(identifier, self._ledger.find_record(identifier.key))
        rules.check_revision(identifier, record, command.expect)
        named = naming.read_qualifiers(identifier)[0]
        version = named if command.version is None else command.version
        changed = proposals.refuse_proposal(identifier, record, version, self._ledger.now)
        return self._ledger.revise_record(
            identifier, record, changed, Outcome.CHANGED, ("refuse", command.by)
        )

    def _find_seconded(
        self, record: Record, version: int | None, command: Withdraw
    ) -> Proposal | None:
        """The proposal of another person that a command confirms, or None."""
        standing = proposals.find_standing(record, self._ledger.now)
        if standing is None or (standing.version, standing.act) != (version, _name_act(command)):
            return None
        find = self._ledger.journal.find_token_named
        first = proposals.find_person(standing.bearer, find)
        second = proposals.find_person(command.bearer, find)
        if first.is_same(second):
            return None
        proposals.confirm_proposal(command.identifier, standing, command)
        return standing

    def _note_withdrawn(self, key: str, record: Record) -> None:
        """Note that the indexes of withdrawn bytes must go, for other acts that withdraw."""
        digests = tuple(
            held.sha512
            for one in record.versions
            if record.tombstone or one.tombstone
            for held in one.representations
        )
        self._queue.add(Silencing(key=key, at=self._ledger.now, digests=digests))
        self._waiting = True

    # Captures and copies
    # -------------------

    def _is_own_capture(self, identifier: Identifier) -> TypeGuard[Pwid]:
        """Return whether an identifier is answered from the captures of this registry."""
        own = (self._settings.archive_id, *self._settings.archive_aliases)
        return isinstance(identifier, Pwid) and identifier.archive.removeprefix("~") in filter(
            None, own
        )

    def _plan_captures(
        self, identifier: Identifier, known: Record | None, command: Withdraw
    ) -> Plan:
        """Plan to erase the captures that a PWID names, unless only a version will be erased."""
        if not isinstance(command, Erase) or command.version is not None or command.blanks:
            return NO_CAPTURES
        if not self._is_own_capture(identifier):
            return NO_CAPTURES
        return self._captures.plan_captures(identifier, known, command)

    def _withhold_captures(self, identifier: Identifier, record: Record) -> bool:
        """Take down the captures that a withdrawn PWID names, before the change that says so is
        durable. Return False if it names none.
        """
        from perdure.archives.withholding import Withholdings, withhold_pwid

        if record.tombstone is None or not self._is_own_capture(identifier):
            return False
        withheld, one = Withholdings(self._root), withhold_pwid(identifier, record.tombstone)
        if one not in withheld.list_all():
            withheld.add(one)
        return True


def _name_act(command: Withdraw) -> str:
    return ERASE if isinstance(command, Erase) else WITHDRAW


def _is_erased(record: Record, version: int | None) -> bool:
    tombstone = _find_tombstone(record, version)
    return tombstone is not None and bool(tombstone.erased)


def _find_tombstone(record: Record, version: int | None) -> Tombstone | None:
    """The tombstone of a version, or of the whole, to write beside the bytes."""
    held = record.version(version) if version is not None else None
    return held.tombstone if held else record.tombstone
