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
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.errors import PerdureError
    from perdure.ids import Identifier
    from perdure.ids.name_set import NameSet
    from perdure.model.commands import Command
    from perdure.registry import Registry


def merge_metadata(
    registry: Registry, names: NameSet, patch: bytes, *, by: str, apply: bool, undo: Path
) -> None:
    """Merge a patch into the descriptions of a set of names. Raises NotFound for an empty set."""
    from perdure.model.commands import Describe
    from perdure.upkeep.changing_many import preview_merge

    changes = preview_merge(registry, names, patch)
    if not apply:
        count = 0
        for change in changes:
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
            target.write(change.undo_line)
            changed.append(change.identifier)
        target.flush()
        os.fsync(target.fileno())
    from perdure.ids import parse

    commands = (Describe(identifier=parse(name), patch=patch, by=by) for name in changed)
    execute_many(registry, commands, "changed")


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
    from perdure.upkeep.changing_many import list_served, make_withdrawal

    chosen = list(list_served(registry, names))
    if not apply:
        for name in chosen:
            here().print_answer({"identifier": str(name)}, str(name))
        here().print_note(
            f"{count_things(len(chosen), 'name')} would be withdrawn, for ever; --apply does it"
        )
        return
    commands = (
        make_withdrawal(name, reason, by=by, silent=silent, keep_digest=keep_digest)
        for name in chosen
    )
    execute_many(registry, commands, "withdrawn")


def execute_many(registry: Registry, commands: Iterator[Command], act: str) -> None:
    """Carry out commands in turns, and print how many were.

    Of a withdrawal, it also prints which documents contain a copy, or are about it. Exits with 1 if
    one was refused.
    """
    from perdure.upkeep.changing_many import execute_turns

    done = refused = 0
    for command, answer in execute_turns(registry, commands):
        if _print_error(command, answer):
            refused += 1
        else:
            done += 1
            _note_remaining(answer)
    here().print_summary(
        {act: done, "refused": refused},
        f"{count_things(done, 'name')} {act}, {count_things(refused, 'name')} refused",
    )
    if refused:
        click.get_current_context().exit(exits.FINDINGS)


def _note_remaining(answer: object) -> None:
    """Report what a withdrawal leaves as it is."""
    from perdure.cli.receipts import note_remaining
    from perdure.model.commands import Receipt

    if not isinstance(answer, Receipt) or not answer.tells_remaining:
        return
    if here().as_json:
        here().print_answer({"identifier": answer.identifier} | answer.remarks, "")
    else:
        note_remaining(answer)


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
    from perdure.upkeep.name_lists import list_chosen

    return list_chosen(registry, names) if is_set(names) else iter((names.example,))
