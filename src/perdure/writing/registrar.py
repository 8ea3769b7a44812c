"""The registrar: carries out commands, many in one durable step.

How it works: `execute_commands` takes the waiting commands, plans each with `perdure.policy.rules`,
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

import msgspec

from perdure.errors import (
    NotFound,
    PerdureError,
    StorageFailed,
)
from perdure.errors.conflicts import NameTaken, TokenNameTaken
from perdure.errors.credentials import SignatureReused
from perdure.errors.naming import UnspeakableValue
from perdure.errors.processes import CommandFailed
from perdure.ids import Identifier, pdi
from perdure.ids.keys import spell_key
from perdure.ids.pdi import Pdi
from perdure.model.about import About
from perdure.model.commands import (
    Alias,
    Answer,
    Assign,
    Bind,
    Break,
    Claim,
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
from perdure.model.description_checks import check_description
from perdure.model.merging import patch_description, read_patch
from perdure.model.records import WHOLE_RESOURCE, Record
from perdure.model.timestamps import format_timestamp
from perdure.policy import (
    binding,
    correcting,
    levels,
    moves,
    naming,
    rights,
    rules,
)
from perdure.policy.equality import find_same_record, spell_alike
from perdure.policy.handles import changes
from perdure.policy.handles.names import find_home_prefix
from perdure.policy.moves import Move
from perdure.policy.private_locations import LocationRule
from perdure.settings import Settings
from perdure.storage.byte_ports import Bytes
from perdure.storage.ports import Journal, storage_errors
from perdure.writing import numbering
from perdure.writing.content_targets import find_targets
from perdure.writing.ledger import Ledger
from perdure.writing.load import Check, execute_load
from perdure.writing.new_names import choose_name
from perdure.writing.repetition import ANSWERS_KEPT, find_receipt, save_receipt
from perdure.writing.restricting import restrict_reading
from perdure.writing.shares import Shares
from perdure.writing.silencing import DeleteIndexes
from perdure.writing.withdrawing import Withdrawing

_log = logging.getLogger(__name__)


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
    ) -> None:
        """`learn` returns the settings with the authorities that were added meanwhile."""
        self._settings = settings
        self._learn = learn
        self._location_rule = LocationRule(settings.private_networks)
        self._clock = clock
        self._day = ""
        self._shares = Shares(settings.mints_per_day)
        self._spooled: list[Content] = []
        """Files that came with commands of this batch; in the end they are stored or deleted."""
        now = clock()
        with storage_errors("the registry"), ExitStack() as opened:
            journal = open_journal(root)
            ledger = Ledger(
                root,
                journal,
                bytes,
                segment_bytes=settings.segment_bytes,
                now=format_timestamp(now),
                quotas=settings.quotas,
            )
            opened.callback(ledger.close)
            journal.number_changes(format_timestamp(now))
            ledger.journal.begin_batch()
            ledger.merge_staged()
            for names in ledger.index_equal_names():
                _log.warning("equal names that were minted as several: %s", ", ".join(names))
            ledger.journal.forget_answers(format_timestamp(now - ANSWERS_KEPT))
            ledger.journal.commit_batch()
            self._ledger = ledger
            self._withdrawing = Withdrawing(
                root,
                settings,
                ledger,
                bytes,
                self._enter_name,
                self._read_name,
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
        moment = self._clock()
        now = format_timestamp(moment)
        self._day = now[:10].replace("-", "/")
        self._spooled.clear()
        self._shares.begin_batch(moment.timestamp())
        try:
            ledger.begin_batch(now)
            answers = self._answer_all(commands)
            ledger.write_batch()
        except Exception as error:  # any error: every waiting caller gets an answer
            return self._undo_batch(commands, error)
        ledger.discard_spooled(self._spooled)
        ledger.tidy_up()
        return self._withdrawing.finish_batch(commands, answers)

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
    def failure(self) -> StorageFailed | None:
        """The error for which the registrar refuses all commands, or None."""
        return self._ledger.broken

    def list_sealable(self) -> list[int]:
        """Segments that are complete but not sealed yet."""
        return self._ledger.list_sealable(format_timestamp(self._clock()))

    def close(self) -> None:
        self._ledger.close()

    def _answer_all(self, commands: Sequence[Command]) -> Sequence[Answer]:
        """Answer each command, in order; mints that need only numbers are minted together."""
        in_common = partial(numbering.find_common, self._settings.series)
        if len(commands) == commands.count(commands[0]):  # the usual batch of names alone
            return self._answer_run(in_common(commands[0]), commands)
        self._ledger.journal.prefetch_records(_list_keys(commands))
        answers: list[Answer] = []
        for common, some in groupby(commands, key=in_common):
            answers += self._answer_run(common, list(some))
        return answers

    def _answer_run(self, common: Mint | str | None, run: Sequence[Command]) -> Sequence[Answer]:
        """Answer commands that share `common`, the result of `numbering.in_common`."""
        if common is None:
            return [self._answer_one(command) for command in run]
        owned, day = self._settings.series, self._day
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

    def _answer_one(self, command: Command) -> Answer:
        try:
            return self._carry_out(command)
        except PerdureError as error:
            return error
        finally:
            self._spooled += (one for one in list_contents(command) if one.spooled is not None)

    def _carry_out(self, command: Command) -> Receipt:
        check = None
        if self._settings.private_locations == "refuse":
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
                return self._mint_name(command)
            case Commit():
                return self._commit_contents(command)
            case Correct():
                return self._correct_reading(command)
            case Register():
                return self._register_name(command)
            case Bind():
                return self._bind_locations(command)
            case Relocate():
                return self._relocate_records(command)
            case Break():
                return self._break_location(command)
            case Alias():
                return self._add_alias(command)
            case Describe():
                return self._describe_record(command)
            case Assign():
                return self._assign_values(command)
            case Withdraw():
                return self._withdrawing.withdraw_record(command)
            case Refuse():
                return self._withdrawing.refuse_withdrawal(command)
            case Load():
                return execute_load(self._ledger, command, check=check)
            case SaveToken():
                return self._save_token(command)
            case Claim():
                return self._claim_nonce(command)
            case Restrict():
                return restrict_reading(self._ledger, command)
        raise TypeError(f"no command: {type(command).__name__}")

    # Carrying out
    # ------------

    def _mint_name(self, command: Mint) -> Receipt:
        if command.authority not in self._settings.series:
            self._learn_authority(command.authority)
        day = self._choose_day(command)
        if command.authority in self._settings.series and command.uid is None:
            return self._mint_serial(command, day)
        identifier = choose_name(command, self._settings, self._ledger, day)
        taken = find_same_record(self._ledger, identifier)
        if taken is not None:
            raise NameTaken(identifier=str(taken.identifier.resource))
        return self._create_record(identifier, command, format=command.format)

    def _learn_authority(self, name: str) -> None:
        """Look for an authority that was added while this process runs."""
        if self._learn is not None and self._settings.find_authority(name) is None:
            self._settings = self._learn()

    def _choose_day(self, command: Mint) -> str:
        """The day under which a name is minted: today, or the past one that the command states.

        Raises InvalidRequest if it is not past, or if the scheme has no days; Conflict if unknown
        names may have numbers of it.  # ruling: pdi-retrospective
        """
        if not command.day:
            return self._day
        rules.check_series(command.authority, self._settings.series)
        day = rules.check_past_day(command.authority, command.day, self._day)
        self._ledger.find_floor(command.authority, day)
        return day

    def _mint_serial(self, command: Mint, day: str) -> Receipt:
        """Mint the next number of a day, used up only when nothing can fail any more."""
        rules.check_series(command.authority, self._settings.series)
        serials = self._ledger.find_serials(command.authority, day)
        ((stem,), _) = serials.list_following()
        format = command.contents[0].format if command.contents else command.format
        name = pdi.parse_pdi(stem + naming.spell_first_ending(format))
        receipt = self._create_record(name, command, format=format)
        serials.use_numbers()
        return receipt

    def _register_name(self, command: Register) -> Receipt:
        identifier = self._read_name(command.identifier)
        record = self._ledger.find_record(identifier.key)
        if record is not None:
            rules.check_revision(identifier, record, command.expect)
            return self._add_to_record(identifier, record, command)
        self._check_turn(identifier)
        self._ledger.recount_serials()
        _, format = naming.read_qualifiers(identifier)
        return self._create_record(identifier, command, format=format or "")

    def _create_record(
        self, identifier: Identifier, command: Mint | Register, *, format: str
    ) -> Receipt:
        self._shares.check_share(command.bearer)
        self._ledger.check_quota(identifier, self._day)
        version = naming.read_qualifiers(identifier)[0] or 1
        record = Record(
            name=naming.spell_name(identifier),
            at=self._ledger.now,
            by=command.by,
            minted=format if version == 1 and not command.contents else "",
            metadata=command.metadata,
            targets=tuple(map(str, command.targets)) if isinstance(command, Mint) else (),
            about=_read_description(command) if isinstance(command, Mint) else None,
            delegates=isinstance(command, Mint) and command.delegates,
        )
        if command.locations:
            record, _ = binding.bind_locations(identifier, record, command.locations)
        if command.contents:
            is_new = isinstance(command, Mint)
            check = rules.check_new_contents if is_new else rules.check_contents
            contents = check(identifier, command.contents)
            plan = rules.plan_version(identifier, record, contents, version)
            later = _plan_later(identifier, record, command) if isinstance(command, Mint) else ()
            self._ledger.check_spooled(list_contents(command))
            for one in (plan, *later):
                record = self._with_bytes(identifier, record, one)
            format = plan.fresh[0].format
        self._ledger.add_record(identifier.key, record, _name_act(command))
        if record.delegates:
            self._ledger.note_revision()  # caches know where names lead
        self._shares.note_names(command.bearer)
        self._ledger.note_name(identifier, self._day)
        name = identifier
        if format and naming.read_qualifiers(identifier) != (version, format):
            name = naming.qualify_identifier(identifier, version, format)
        return Receipt(outcome=Outcome.CREATED, identifier=str(name), revision=1)

    def _add_to_record(self, identifier: Identifier, record: Record, command: Register) -> Receipt:
        """Add the data of a registration to an identifier that is already known."""
        changed, outcome = record, Outcome.UNCHANGED
        if command.locations:
            changed, outcome = binding.bind_locations(identifier, record, command.locations)
        if command.contents:
            # This may leave a gap, since the version comes from elsewhere.
            number = naming.read_qualifiers(identifier)[0] or 1
            contents = rules.check_contents(identifier, command.contents)
            plan = rules.plan_version(identifier, changed, contents, number)
            if plan.fresh:
                changed = self._with_bytes(identifier, changed, plan)
                outcome = Outcome.CREATED
        return self._ledger.revise_record(
            identifier, record, changed, outcome, ("register", command.by)
        )

    def _commit_contents(self, command: Commit) -> Receipt:
        identifier = self._read_name(command.identifier)
        record = rules.require_known(identifier, self._ledger.find_record(identifier.key))
        rules.check_revision(identifier, record, command.expect)
        plan = rules.plan_commit(identifier, record, command.contents, command.version)
        left = rules.list_left_behind(identifier, record, plan)
        if self._settings.formats_together == "refuse":
            rules.check_formats_together(identifier, left)
        changed, outcome = record, Outcome.UNCHANGED
        if plan.fresh:
            changed = self._with_bytes(identifier, record, plan)
            outcome = Outcome.CREATED
        name = naming.qualify_identifier(identifier, plan.version, plan.format)
        receipt = self._ledger.revise_record(
            identifier, record, changed, outcome, ("commit", command.by)
        )
        return msgspec.structs.replace(
            receipt, identifier=str(name), left_behind=tuple(map(str, left))
        )

    def _correct_reading(self, command: Correct) -> Receipt:
        identifier = self._read_name(command.identifier)
        record = rules.require_known(identifier, self._ledger.find_record(identifier.key))
        rules.check_revision(identifier, record, command.expect)
        plan = correcting.plan_correction(identifier, record, command, self._ledger.now)
        outcome = Outcome.UNCHANGED
        if plan.correction is not None:
            outcome = Outcome.CHANGED
            self._ledger.log_correction(identifier, plan.version, plan.format, plan.correction)
        receipt = self._ledger.revise_record(
            identifier, record, plan.record, outcome, ("correct", command.by)
        )
        return msgspec.structs.replace(
            receipt, identifier=str(plan.name), reading_aliases=plan.aliases
        )

    def _bind_locations(self, command: Bind) -> Receipt:
        identifier = self._read_name(command.identifier)
        record = self._ledger.find_record(identifier.key)
        if record is None and command.register:
            registration = Register(
                by=command.by,
                bearer=command.bearer,
                identifier=identifier,
                locations=command.locations,
            )
            return self._register_name(registration)
        record = rules.require_known(identifier, record)
        rules.check_revision(identifier, record, command.expect)
        changed, outcome = binding.bind_locations(identifier, record, command.locations)
        return self._ledger.revise_record(
            identifier, record, changed, outcome, ("bind", command.by)
        )

    def _relocate_records(self, command: Relocate) -> Receipt:
        rows = tuple(Move(source=source, target=target) for source, target in command.moves)
        moves.check_moves(rows)
        plan: list[tuple[Identifier, Record, Record]] = []
        for key, revision in command.keys:  # all are checked before one is changed
            record = self._ledger.find_record(key)
            if record is None:
                raise NotFound(identifier=spell_key(key))
            identifier = naming.identify_record(key, record)
            rules.check_revision(identifier, record, revision)
            changed, _ = moves.move_locations(record, rows)
            binding.check_locations(changed.locations)
            plan.append((identifier, record, changed))
        for identifier, record, changed in plan:
            self._ledger.revise_record(
                identifier, record, changed, Outcome.CHANGED, ("relocate", command.by)
            )
        return Receipt(outcome=Outcome.CHANGED, accepted=len(plan))

    def _break_location(self, command: Break) -> Receipt:
        identifier = self._read_name(command.identifier)
        record = rules.require_known(identifier, self._ledger.find_record(identifier.key))
        rules.check_revision(identifier, record, command.expect)
        drift = command.evidence
        if drift is None:
            location = binding.find_location(identifier, record, command.uri)
        else:
            location = binding.find_drifted(identifier, record, drift)
        plan = binding.plan_break(identifier, record, location, command.content, drift)
        changed = record
        if plan and plan.fresh:
            changed = self._with_bytes(identifier, record, plan)
        changed = binding.break_location(changed, location, command.by, self._ledger.now, drift)
        self._ledger.check_alone(identifier, record, changed)
        return self._ledger.revise_record(
            identifier, record, changed, Outcome.CHANGED, ("break", command.by)
        )

    def _add_alias(self, command: Alias) -> Receipt:
        identifier, other = (
            self._read_name(command.identifier),
            self._read_name(command.other),
        )
        record = rules.require_known(identifier, self._ledger.find_record(identifier.key))
        rules.check_revision(identifier, record, command.expect)
        changed, outcome = binding.add_aliases(identifier, record, other)
        return self._ledger.revise_record(
            identifier, record, changed, outcome, ("alias", command.by)
        )

    def _describe_record(self, command: Describe) -> Receipt:
        resource, level = levels.read_described(command.identifier, command.part)
        identifier = self._read_name(resource)
        record = rules.require_known(identifier, self._ledger.find_record(identifier.key))
        rules.check_revision(identifier, record, command.expect)
        level = levels.settle_level(identifier, record, level)
        about = command.about
        if command.patch is not None:
            held = levels.describe_own(record, level)
            about = patch_description(held, read_patch(command.patch))
        changed, outcome = levels.describe_record(record, level, about, command.attached)
        receipt = self._ledger.revise_record(
            identifier, record, changed, outcome, ("describe", command.by)
        )
        undescribed = level != WHOLE_RESOURCE and not levels.is_resource_described(changed)
        return msgspec.structs.replace(
            receipt,
            identifier=str(levels.name_level(identifier, level)),
            undescribed=str(identifier.resource) if undescribed else "",
        )

    def _assign_values(self, command: Assign) -> Receipt:
        identifier = self._read_name(command.identifier)
        record = self._ledger.find_record(identifier.key)
        now = self._ledger.now
        if record is None:
            rules.check_unknown(identifier, command.expect)
            self._check_turn(identifier)
            self._shares.check_share(command.bearer)
            self._ledger.check_quota(identifier, self._day)
            empty = Record(name=naming.spell_name(identifier), at=now, by=command.by)
            record, _ = changes.assign_values(
                identifier, empty, command.values or (), now, command.by
            )
            self._ledger.recount_serials()
            self._ledger.add_record(identifier.key, record, "assign")
            self._shares.note_names(command.bearer)
            self._ledger.note_name(identifier, self._day)
            return Receipt(outcome=Outcome.CREATED, identifier=str(identifier), revision=1)
        rules.check_revision(identifier, record, command.expect)
        mutable = changes.is_mutable(find_home_prefix(identifier), self._settings.mutable_prefixes)
        if command.values is None:
            if not mutable:
                raise changes.refuse_deletion(identifier)
            changed, outcome = (
                changes.delete_handle(identifier, record, now, command.by),
                Outcome.CHANGED,
            )
        elif mutable and changes.is_deleted(record):
            changed, _ = changes.assign_values(
                identifier, changes.revive_handle(record), command.values, now, command.by
            )
            outcome = Outcome.CREATED
        else:
            changed, outcome = changes.assign_values(
                identifier, record, command.values, now, command.by
            )
            self._ledger.check_alone(identifier, record, changed)
        return self._ledger.revise_record(
            identifier, record, changed, outcome, ("assign", command.by)
        )

    def _enter_name(self, identifier: Identifier, by: str) -> Record:
        """Register a name without anything else."""
        self._create_record(identifier, Register(identifier=identifier, by=by), format="")
        return rules.require_known(identifier, self._ledger.find_record(identifier.key))

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

    def _with_bytes(self, identifier: Identifier, record: Record, plan: rules.CommitPlan) -> Record:
        self._ledger.check_spooled(plan.fresh)
        added = tuple(
            self._ledger.place_content(
                str(naming.qualify_identifier(identifier, plan.version, content.format)),
                plan.version,
                content,
            )
            for content in plan.fresh
        )
        changed = rules.with_representations(record, plan.version, added, self._ledger.now)
        targets = find_targets(plan.fresh)
        if not targets:
            return changed
        targets = tuple(dict.fromkeys((*record.targets, *targets)))
        return msgspec.structs.replace(changed, targets=targets)

    # Names
    # -----

    def _read_name(self, identifier: Identifier) -> Identifier:
        """The name that a command concerns: if it is equal to a known one, under that spelling.

        Raises InvalidRequest if it does not name one whole resource.
        """
        naming.check_bindable(identifier)
        if identifier.equal_key is None:
            return identifier
        known = find_same_record(self._ledger, identifier)
        return identifier if known is None else spell_alike(identifier, known.identifier)

    def _check_turn(self, identifier: Identifier) -> None:
        """Raise InvalidRequest if the counter of a series has yet to reach a new name."""
        if not isinstance(identifier, Pdi):
            return
        if identifier.series not in self._settings.series:
            self._learn_authority(identifier.series)
        if identifier.series in self._settings.series:
            rules.check_day(identifier, self._day)
            if identifier.date == self._day:
                last = self._ledger.find_serials(identifier.series, self._day).last_number
                rules.check_serial(identifier, self._day, last)
            elif identifier.date is not None and identifier.serial is not None:
                self._ledger.find_floor(identifier.series, identifier.date)  # raises if closed


def _read_description(command: Mint) -> About | None:
    """The description that a mint brings. Raises InvalidMetadata or TooLarge."""
    return None if command.about is None else check_description(command.about)


def _plan_later(
    identifier: Identifier, record: Record, command: Mint
) -> tuple[rules.CommitPlan, ...]:
    """Plan the versions of a mint that follow the first, before any byte has a place.

    Raises InvalidRequest or MalformedIdentifier.
    """
    return tuple(
        rules.plan_version(
            identifier, record, rules.check_new_contents(identifier, contents), number
        )
        for number, contents in enumerate(command.later, 2)
    )


def _name_act(command: Mint | Register) -> str:
    """The act of the change: a name under a past day has its own.  # ruling: pdi-retrospective"""
    if isinstance(command, Register):
        return "register"
    if command.delegates:
        return "delegate"
    return "retrospect" if command.day else "mint"


def _list_keys(commands: Sequence[Command]) -> list[str]:
    """The keys of the records that the commands will read."""
    others = [command for command in commands if type(command) is not Mint]  # a mint reads none
    found = (getattr(command, "identifier", None) for command in others)
    return [identifier.key for identifier in found if identifier is not None]
