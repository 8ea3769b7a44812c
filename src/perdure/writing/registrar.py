"""The registrar: carries out commands, many in one durable step.

How it works: `execute_commands` takes the waiting commands, carries out each of them
(`perdure.writing.entering` for new names, `revising` for known records, `withdrawing`, `load`),
collects their changes in the ledger and writes all of them at once. A refused command does not
affect the others. If the disk fails, the complete batch is undone.

What must stay true: a registry has one registrar, in the process that holds the write lock, and one
thread at a time uses it; a receipt is given only for a write that a power cut cannot undo.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import cast

from perdure.errors import (
    PerdureError,
    Unavailable,
)
from perdure.errors.conflicts import TokenNameTaken
from perdure.errors.credentials import SignatureReused
from perdure.errors.delegations import AnsweredElsewhere
from perdure.errors.naming import UnspeakableValue
from perdure.errors.processes import CommandFailed
from perdure.ids.pdi_key import make_resource_key
from perdure.model.commands import (
    Adopt,
    Alias,
    Answer,
    Assign,
    Bind,
    Break,
    Claim,
    CloseDays,
    Command,
    Commit,
    Content,
    Correct,
    Describe,
    Load,
    Mint,
    Outcome,
    Receipt,
    Refuse,
    Register,
    Relocate,
    Restrict,
    SaveToken,
    Withdraw,
    list_contents,
)
from perdure.model.timestamps import format_timestamp
from perdure.policy import (
    rights,
)
from perdure.policy.private_locations import LocationRule
from perdure.settings import Settings
from perdure.storage.byte_ports import Bytes
from perdure.storage.ports import Journal, storage_errors
from perdure.writing import numbering
from perdure.writing.adopting import adopt_records
from perdure.writing.closing import close_days
from perdure.writing.delegated import Fence, FindFence, check_written_here
from perdure.writing.entering import Entering
from perdure.writing.ledger import Ledger
from perdure.writing.load import Check, execute_load
from perdure.writing.rehearsing import may_place_bytes
from perdure.writing.repetition import ANSWERS_KEPT, find_receipt, save_receipt
from perdure.writing.restricting import restrict_reading
from perdure.writing.revising import Revising
from perdure.writing.shares import Shares
from perdure.writing.silencing import DeleteIndexes
from perdure.writing.withdrawing import Withdrawing

_log = logging.getLogger(__name__)
_REHEARSALS = 2
"""How often bytes are placed before a batch locks a row. Then it holds the row meanwhile."""
_ATTEMPTS = 4
"""How often a batch is tried that other machines interrupt, before its commands are tried alone."""


class Registrar:
    """Carries out commands on one registry directory, which it recovers when it opens it."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        open_journal: Callable[[Path], Journal],
        bytes: Bytes,
        *,
        clock: Callable[[], datetime],
        delete_indexes: DeleteIndexes,
        learn: Callable[[], Settings] | None = None,
        find_fence: FindFence | None = None,
        check: Callable[[], None] = lambda: None,
        find_move: Callable[[], str] = str,
    ) -> None:
        """`learn` returns the settings with the authorities that were added meanwhile, `find_fence`
        refuses to write names that other resolvers assign, and `check` raises an error if nothing
        may be written. The result of both changes only together with a count of revisions.
        """
        self._find_fence = find_fence
        self._fence: Fence | None = None
        self._check = check
        self._seen = -1
        """The count of revisions before the last look at what may be written."""
        self._location_rule, self._clock = LocationRule(settings.private_networks), clock
        self._shares = Shares(settings.mints_per_day)
        self._spooled: list[Content] = []
        """Files that came with commands of this batch; in the end they are stored or deleted."""
        now = clock()
        with storage_errors("the registry"), ExitStack() as opened:
            ledger = Ledger(
                root,
                open_journal(root),
                bytes,
                segment_bytes=settings.segment_bytes,
                now=format_timestamp(now),
                quotas=settings.quotas,
                find_move=find_move,
            )
            opened.callback(ledger.close)
            ledger.journal.number_changes(format_timestamp(now))
            ledger.journal.begin_batch()
            ledger.merge_staged()
            for names in ledger.index_equal_names():
                _log.warning("equal names that were minted as several: %s", ", ".join(names))
            ledger.journal.forget_answers(format_timestamp(now - ANSWERS_KEPT))
            ledger.journal.commit_batch()
            self._ledger = ledger
            self._entering = Entering(settings, ledger, self._shares, learn)
            self._revising = Revising(ledger, self._entering)
            self._withdrawing = Withdrawing(
                root,
                settings,
                ledger,
                bytes,
                self._entering.enter_name,
                self._entering.read_name,
                delete_indexes,
            )
            self._withdrawing.finish_work()  # what a crash has left
            opened.pop_all()

    def execute_commands(self, commands: Sequence[Command]) -> Sequence[Answer]:
        """Carry out commands in order, and return a receipt or an error for each.

        When it returns, every command that has a receipt is durable.
        """
        ledger = self._ledger
        if ledger.broken:
            return [ledger.broken] * len(commands)
        are_equal = commands.count(commands[0]) == len(commands)  # the usual batch of names alone
        if not are_equal or _delegates(commands[0]):
            end = _find_delegation(commands)
            if end < len(commands):  # what follows is judged with it
                return [
                    *self.execute_commands(commands[:end]),
                    *self.execute_commands(commands[end:]),
                ]
        try:
            self._look_around()
        except PerdureError as error:
            return [error] * len(commands)
        for attempt in range(1, _ATTEMPTS + 1):
            moment = self._clock()
            self._spooled.clear()
            self._shares.begin_batch(moment.timestamp())
            try:
                if attempt <= _REHEARSALS and ledger.can_rehearse and may_place_bytes(commands):
                    self._rehearse_batch(commands, moment, are_equal=are_equal)
                ledger.begin_batch(format_timestamp(moment))
                self._entering.day = ledger.now[:10].replace("-", "/")
                answers = self._answer_all(commands, are_equal=are_equal)
                ledger.write_batch()
                break
            except Exception as error:  # any error: every waiting caller gets an answer
                if ledger.may_repeat(error) and attempt < _ATTEMPTS:
                    self._undo_attempt(error)
                    if not ledger.broken:
                        continue
                return self._undo_batch(commands, error)
        ledger.discard_spooled(self._spooled)
        ledger.tidy_up()
        return self._withdrawing.finish_batch(commands, answers)

    def _rehearse_batch(
        self, commands: Sequence[Command], moment: datetime, *, are_equal: bool
    ) -> None:
        """Place the bytes of a batch under the names that it will probably give them."""
        ledger = self._ledger
        ledger.begin_rehearsal(format_timestamp(moment))
        self._entering.day = ledger.now[:10].replace("-", "/")
        self._answer_all(commands, are_equal=are_equal)
        self._shares.undo_batch()
        self._spooled.clear()
        ledger.place_bytes()

    def _look_around(self) -> None:
        """Find out again what may be written here, if that may have changed."""
        count = self._ledger.revision_count
        if count == self._seen:
            return
        self._check()
        self._fence = self._find_fence() if self._find_fence else None
        self._seen = count  # counted before, so a later change is not missed

    def _undo_attempt(self, error: Exception) -> None:
        self._ledger.undo_batch(error)
        self._shares.undo_batch()

    def _undo_batch(self, commands: Sequence[Command], error: Exception) -> Sequence[Answer]:
        """Undo a batch. If our own mistake made one command fail, carry out each command alone."""
        failure = self._ledger.undo_batch(error)
        self._shares.undo_batch()
        if failure is None and len(commands) > 1:
            return [self.execute_commands((command,))[0] for command in commands]
        for command in commands:
            self._ledger.discard_spooled(list_contents(command))
        if failure is not None:
            return [failure] * len(commands)
        if isinstance(error, (UnicodeEncodeError, OverflowError)):
            return [UnspeakableValue()]
        _log.error("command failed", exc_info=error)
        return [CommandFailed(fault=f"{type(error).__name__}: {error}")]

    @property
    def failure(self) -> Unavailable | None:
        """The error for which the registrar refuses all commands, or None."""
        return self._ledger.broken

    def list_sealable(self) -> list[int]:
        """Segments that are complete but not sealed yet."""
        return self._ledger.list_sealable(format_timestamp(self._clock()))

    def close(self) -> None:
        self._ledger.close()

    def _answer_all(self, commands: Sequence[Command], *, are_equal: bool) -> Sequence[Answer]:
        """Answer each command, in order; mints that need only numbers are minted together."""
        in_common = partial(numbering.find_common, self._entering.settings.series)
        if are_equal:
            return self._answer_run(in_common(commands[0]), commands)
        journal = self._ledger.journal
        if journal.is_shared:
            journal.lock_days(self._list_days(commands))
        journal.prefetch_records(_list_keys(commands))
        answers: list[Answer] = []
        for common, some in groupby(commands, key=in_common):
            answers += self._answer_run(common, list(some))
        return answers

    def _list_days(self, commands: Sequence[Command]) -> set[str]:
        """The days of today whose serial numbers the commands may use."""
        series = {one.authority for one in commands if isinstance(one, Mint)}
        owned = series.intersection(self._entering.settings.series)
        return {make_resource_key(one, self._entering.day, None) for one in owned}

    def _answer_run(self, common: Mint | str | None, run: Sequence[Command]) -> Sequence[Answer]:
        """Answer commands that share `common`, the result of `numbering.in_common`."""
        if common is None or self._is_fenced(run[0]):
            return [self._answer_one(command) for command in run]
        owned, day = self._entering.settings.series, self._entering.day
        books = self._ledger, self._shares
        try:
            if isinstance(common, Mint):
                return numbering.reserve_names(*books, common, len(run), owned=owned, day=day)
            return numbering.mint_run(
                *books, common, cast("Sequence[Mint]", run), owned=owned, day=day
            )
        except PerdureError as error:
            if len(run) == 1:
                return [error]
            # A number may be left for some of them.
            return [self._answer_run(common, (one,))[0] for one in run]

    def _is_fenced(self, command: Command) -> bool:
        """Return True if another resolver assigns the name that a command writes."""
        if self._fence is None:
            return False
        entering = self._entering
        try:
            check_written_here(command, entering.settings, entering.day, self._fence)
        except AnsweredElsewhere:
            return True
        return False

    def _answer_one(self, command: Command) -> Answer:
        try:
            return self._carry_out(command)
        except PerdureError as error:
            return error
        finally:
            if contents := list_contents(command):
                self._spooled += [one for one in contents if one.spooled is not None]

    def _carry_out(self, command: Command) -> Receipt:
        check = None
        if self._fence is not None:
            entering = self._entering
            check_written_here(command, entering.settings, entering.day, self._fence)
        if self._entering.settings.private_locations == "refuse":
            self._location_rule.check_command(command)
            check = self._location_rule.check_record
        if command.once is None:
            return self._dispatch_command(command, check)
        receipt = find_receipt(self._ledger, command, command.once)
        if receipt is None:
            receipt = self._dispatch_command(command, check)
            save_receipt(self._ledger, command, command.once, receipt)
        return receipt

    def _dispatch_command(self, command: Command, check: Check | None) -> Receipt:
        match command:
            case Mint():
                return self._entering.mint_name(command)
            case Commit():
                return self._revising.commit_contents(command)
            case Correct():
                return self._revising.correct_reading(command)
            case Register():
                return self._entering.register_name(command)
            case Bind():
                return self._revising.bind_locations(command)
            case Relocate():
                return self._revising.relocate_records(command)
            case Break():
                return self._revising.break_location(command)
            case Alias():
                return self._revising.add_alias(command)
            case Describe():
                return self._revising.describe_record(command)
            case Assign():
                return self._revising.assign_values(command)
            case Withdraw():
                return self._withdrawing.withdraw_record(command)
            case Refuse():
                return self._withdrawing.refuse_withdrawal(command)
            case Load():
                return execute_load(self._ledger, command, check=check)
            case SaveToken():
                return self._save_token(command)
            case CloseDays():
                return close_days(self._ledger, command, self._entering.settings.series)
            case Claim():
                return self._claim_nonce(command)
            case Restrict():
                return restrict_reading(self._ledger, command)
            case Adopt():
                return adopt_records(self._ledger, command)
        raise TypeError(f"no command: {type(command).__name__}")

    # Carrying out
    # ------------

    def _claim_nonce(self, command: Claim) -> Receipt:
        # No idempotency key has a tab in it.
        store, name = self._ledger.journal, f"\t{command.what}"
        if store.find_answer(command.by, name) is not None:
            raise SignatureReused()
        store.save_answer(command.by, name, "", "", self._ledger.now)
        return Receipt(outcome=Outcome.CREATED)

    def _save_token(self, command: SaveToken) -> Receipt:
        token = command.token
        if not token.revoked:  # any token can be revoked, even a malformed one
            rights.check_shape(token)
        before = self._ledger.journal.find_token_named(token.name)
        if command.new and before is not None:
            raise TokenNameTaken(identifier=token.name)
        self._ledger.save_token(token, before, command.by)
        outcome = Outcome.CREATED if before is None else Outcome.CHANGED
        return Receipt(outcome=outcome, identifier=token.name)


def _find_delegation(commands: Sequence[Command]) -> int:
    """The place after the first delegation; the end if there is none."""
    for place, command in enumerate(commands, 1):
        if type(command) is Mint and command.delegates:  # as `_delegates` says, without its call
            return place
    return len(commands)


def _delegates(command: Command) -> bool:
    return type(command) is Mint and bool(command.delegates)


def _list_keys(commands: Sequence[Command]) -> list[str]:
    """The keys of the records that the commands will read."""
    others = [command for command in commands if type(command) is not Mint]  # a mint reads none
    found = (getattr(command, "identifier", None) for command in others)
    return [identifier.key for identifier in found if identifier is not None]
