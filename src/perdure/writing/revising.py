"""Changes of known records: versions, locations, other names, descriptions, values of handles.

How it works: each method of `Revising` carries out one command, in the batch of the registrar: it
finds the record, lets the pure rules plan the change, and gives the ledger the new revision.

What must stay true: a command that names a revision changes no other one; a command that changes
nothing writes nothing.
"""

from __future__ import annotations

import msgspec

from perdure.errors import NotFound
from perdure.ids import Identifier
from perdure.ids.keys import spell_key
from perdure.model.commands import (
    Alias,
    Assign,
    Bind,
    Break,
    Commit,
    Correct,
    Describe,
    Outcome,
    Receipt,
    Register,
    Relocate,
)
from perdure.model.merging import patch_description, read_patch
from perdure.model.records import WHOLE_RESOURCE, Record
from perdure.policy import binding, correcting, levels, moves, naming, rules
from perdure.policy.handles import changes
from perdure.policy.handles.names import find_home_prefix
from perdure.policy.moves import Move
from perdure.writing.entering import Entering
from perdure.writing.ledger import Ledger
from perdure.writing.placing import place_contents


class Revising:
    """Changes the records of one registry, for its registrar."""

    def __init__(self, ledger: Ledger, entering: Entering) -> None:
        self._ledger = ledger
        self._entering = entering

    def commit_contents(self, command: Commit) -> Receipt:
        """Commit the next version, or further formats of one."""
        identifier = self._entering.read_name(command.identifier)
        record = rules.require_known(identifier, self._ledger.find_record(identifier.key))
        rules.check_revision(identifier, record, command.expect)
        plan = rules.plan_commit(identifier, record, command.contents, command.version)
        left = rules.list_left_behind(identifier, record, plan)
        if self._entering.settings.formats_together == "refuse":
            rules.check_formats_together(identifier, left)
        changed, outcome = record, Outcome.UNCHANGED
        if plan.fresh:
            changed = place_contents(self._ledger, identifier, record, plan)
            outcome = Outcome.CREATED
        name = naming.qualify_identifier(identifier, plan.version, plan.format)
        receipt = self._ledger.revise_record(
            identifier, record, changed, outcome, ("commit", command.by)
        )
        return msgspec.structs.replace(
            receipt, identifier=str(name), left_behind=tuple(map(str, left))
        )

    def correct_reading(self, command: Correct) -> Receipt:
        """Correct how the bytes of a version are read: format, type, charset, language."""
        identifier = self._entering.read_name(command.identifier)
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

    def bind_locations(self, command: Bind) -> Receipt:
        """Bind a name to locations, and register it first if the command says so."""
        identifier = self._entering.read_name(command.identifier)
        record = self._ledger.find_record(identifier.key)
        if record is None and command.register:
            registration = Register(
                by=command.by,
                bearer=command.bearer,
                identifier=identifier,
                locations=command.locations,
            )
            return self._entering.register_name(registration)
        record = rules.require_known(identifier, record)
        rules.check_revision(identifier, record, command.expect)
        changed, outcome = binding.bind_locations(identifier, record, command.locations)
        return self._ledger.revise_record(
            identifier, record, changed, outcome, ("bind", command.by)
        )

    def relocate_records(self, command: Relocate) -> Receipt:
        """Move the locations of many records: all of them, or none."""
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

    def break_location(self, command: Break) -> Receipt:
        """Break the binding to a location, with the evidence of drift if there is any."""
        identifier = self._entering.read_name(command.identifier)
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
            changed = place_contents(self._ledger, identifier, record, plan)
        changed = binding.break_location(changed, location, command.by, self._ledger.now, drift)
        self._ledger.check_alone(identifier, record, changed)
        return self._ledger.revise_record(
            identifier, record, changed, Outcome.CHANGED, ("break", command.by)
        )

    def add_alias(self, command: Alias) -> Receipt:
        """Add another name of a record."""
        identifier, other = (
            self._entering.read_name(command.identifier),
            self._entering.read_name(command.other),
        )
        record = rules.require_known(identifier, self._ledger.find_record(identifier.key))
        rules.check_revision(identifier, record, command.expect)
        changed, outcome = binding.add_aliases(identifier, record, other)
        return self._ledger.revise_record(
            identifier, record, changed, outcome, ("alias", command.by)
        )

    def describe_record(self, command: Describe) -> Receipt:
        """Describe a resource, or a version, format or part of it."""
        resource, level = levels.read_described(command.identifier, command.part)
        identifier = self._entering.read_name(resource)
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

    def assign_values(self, command: Assign) -> Receipt:
        """Give a handle exactly these values, or delete it."""
        identifier = self._entering.read_name(command.identifier)
        record = self._ledger.find_record(identifier.key)
        now = self._ledger.now
        if record is None:
            return self._entering.enter_values(identifier, command)
        rules.check_revision(identifier, record, command.expect)
        mutable = changes.is_mutable(
            find_home_prefix(identifier), self._entering.settings.mutable_prefixes
        )
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
