"""The fence around names that other resolvers assign: writes to them are refused.

How it works: `perdure.registry` hands in the function that knows the delegations. The registrar
calls it once for each batch; it returns None if no names are assigned elsewhere, as nearly always.

What must stay true: documents that are held here can be withdrawn and erased, also if their names
are assigned elsewhere. A document of a delegation (`Mint.delegates`) passes, since a hand-over of
the last series ends with two of them; `perdure.upkeep.delegating` sees to it that no others do.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.ids import Identifier
from perdure.ids.name_set import read_set
from perdure.model.commands import (
    Alias,
    Assign,
    Bind,
    Break,
    Command,
    Commit,
    Correct,
    Describe,
    Mint,
    Register,
)
from perdure.policy.rights import make_new_object
from perdure.settings import Settings

Fence = Callable[[Identifier], None]
"""Raises AnsweredElsewhere if another resolver assigns a name, or the names of an interval."""
FindFence = Callable[[], Fence | None]

_ABOUT_ONE = (Alias, Assign, Bind, Break, Commit, Correct, Describe, Register)


def check_written_here(command: Command, settings: Settings, today: str, fence: Fence) -> None:
    """Raise AnsweredElsewhere if a command writes a name that another resolver assigns."""
    if isinstance(command, _ABOUT_ONE):
        fence(command.identifier)
    if isinstance(command, Mint) and not command.delegates:
        authority = settings.find_authority(command.authority)
        if authority is not None:
            new = make_new_object(authority, (command.day or today).replace("/", "-"))
            fence(read_set(new.name).example)
