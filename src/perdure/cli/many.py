"""Changes of many names at once: a difference first, then the changes and a file that undoes them.

How it works: the names of a set are listed page by page. Without --apply, a command prints what it
would change. With it, the undo file is written durably before the first change, and the changes are
handed to the write door in turns.

What must stay true: an undo line gives back what the record had when the file was written; a name
that cannot be changed is reported, and the others are changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import exits
from perdure.cli.command import here
from perdure.cli.moving import print_change
from perdure.cli.name_lists import list_chosen
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.errors import PerdureError
    from perdure.ids import Identifier
    from perdure.ids.name_set import NameSet
    from perdure.model.commands import Command
    from perdure.model.records import Record
    from perdure.registry import Registry
    from perdure.upkeep.transfer.previewing import RecordChange

_TURN = 500  # commands


def merge_metadata(
    registry: Registry, names: NameSet, patch: bytes, *, by: str, apply: bool, undo: Path
) -> None:
    """Merge a patch into the descriptions of a set of names. Raises NotFound for an empty set."""
    from perdure.model.commands import Describe

    changes = _preview_merge(registry, names, patch)
    if not apply:
        count = 0
        for change in changes:
            if change is not None:
                count += 1
                print_change(change)
        here().print_summary(
            {"changed": count}, f"{count_things(count, 'name')} would change; --apply does it"
        )
        return
    changed: list[str] = []
    try:
        target = undo.open("xb")
    except FileExistsError:
        raise click.UsageError(
            f"{undo} exists: it undoes an earlier change; move it, or give --undo"
        ) from None
    with target:
        for change in changes:
            if change is not None:
                target.write(change.undo_line)
                changed.append(change.identifier)
        target.flush()
        os.fsync(target.fileno())
    from perdure.ids import parse

    commands = (Describe(identifier=parse(name), patch=patch, by=by) for name in changed)
    execute_many(registry, commands, "changed")


def _preview_merge(
    registry: Registry, names: NameSet, patch: bytes
) -> Iterator[RecordChange | None]:
    """Yield the change of each name; None if it has none."""
    from perdure.model.merging import read_patch

    members = read_patch(patch)
    for name in list_chosen(registry, names):
        yield _preview_name(registry, name, members)


def _preview_name(
    registry: Registry, name: Identifier, members: dict[str, object]
) -> RecordChange | None:
    import msgspec

    from perdure.model.merging import patch_description
    from perdure.policy import levels, rules
    from perdure.upkeep.transfer.previewing import FieldChange, RecordChange

    resource, level = levels.read_described(name, None)
    record = rules.require_known(name, registry.listings.find_record(resource))
    level = levels.settle_level(resource, record, level)
    before = levels.find_own(record, level).about
    after = patch_description(levels.describe_own(record, level), members)
    if before == after:
        return None
    field = FieldChange(
        name="about",
        before=None if before is None else msgspec.to_builtins(before),
        after=msgspec.to_builtins(after),
    )
    return RecordChange(identifier=str(name), line=0, is_new=False, fields=(field,))


def withdraw_many(
    registry: Registry,
    names: NameSet,
    *,
    reason: str,
    by: str,
    silent: bool,
    keep_digest: bool,
    apply: bool,
) -> None:
    """Withdraw all names of a set, or print which would be withdrawn."""
    from perdure.model.commands import Withdraw
    from perdure.policy import naming

    chosen = list(_list_served(registry, names))
    if not apply:
        for name in chosen:
            here().print_answer({"identifier": str(name)}, str(name))
        here().print_note(
            f"{count_things(len(chosen), 'name')} would be withdrawn, for ever; --apply does it"
        )
        return
    commands = [
        Withdraw(
            identifier=name.resource if name.resource != name else name,
            version=naming.read_qualifiers(name)[0],
            reason=reason,
            by=by,
            silent=silent,
            keep_digest=keep_digest,
        )
        for name in chosen
    ]
    execute_many(registry, iter(commands), "withdrawn")


def _list_served(registry: Registry, names: NameSet) -> Iterator[Identifier]:
    """The names of a set that were not withdrawn."""
    for name in list_chosen(registry, names):
        record: Record | None = registry.listings.find_record(name.resource)
        if record is not None and record.tombstone is None:
            yield name


def execute_many(registry: Registry, commands: Iterator[Command], act: str) -> None:
    """Carry out commands in turns, and print how many were. Exits with 1 if one was refused."""
    from itertools import islice

    done = refused = 0
    while turn := list(islice(commands, _TURN)):
        for command, answer in zip(turn, registry.door.execute_commands(turn), strict=True):
            if _print_error(command, answer):
                refused += 1
            else:
                done += 1
    here().print_summary(
        {act: done, "refused": refused},
        f"{count_things(done, 'name')} {act}, {count_things(refused, 'name')} refused",
    )
    if refused:
        click.get_current_context().exit(exits.FINDINGS)


def _print_error(command: Command, answer: object) -> PerdureError | None:
    """Report the error of a command, if it has one."""
    from perdure.errors import PerdureError

    if not isinstance(answer, PerdureError):
        return None
    name = str(getattr(command, "identifier", ""))
    here().print_failure({"identifier": name} | answer.as_dict(), f"{name}: {answer}")
    return answer


def is_set(names: NameSet) -> bool:
    """Return True for a list of names, and for a pattern of several resources.

    A name whose format or version alone is a pattern (`…/1.*.2`) is a level of one resource.
    """
    if names.chosen is not None or names.pattern is None:
        return True
    return names.pattern.is_interval or names.pattern.resource.is_pattern


def find_pattern(names: NameSet) -> NameSet:
    """Return the set that is written like a name (`hdl:1839/*`), or the same set if none is."""
    from perdure.ids.name_set import find_set

    if names.chosen is not None:
        return names
    return find_set(names.example) or names


def list_each(registry: Registry, names: NameSet) -> Iterator[Identifier]:
    """The names of a list or of a pattern, or the one identifier as it was given."""
    return list_chosen(registry, names) if is_set(names) else iter((names.example,))
