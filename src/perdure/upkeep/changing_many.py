"""Changes of many names: which they are, what each would change, and their execution in turns.

How it works: a set is listed page by page. A merge of metadata is compared with what each record
says, and yields a change only if it has one. Commands are handed to the write door some hundred at
a time, and each is answered by a receipt or by its error.

What must stay true: one name that cannot be changed keeps no other from being changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from perdure.ids import Identifier
from perdure.ids.name_set import NameSet
from perdure.model.commands import Answer, Command, Withdraw
from perdure.model.merging import patch_description, read_patch
from perdure.model.records import LOCAL
from perdure.policy import levels, naming, rules
from perdure.registry import Registry
from perdure.upkeep.name_lists import list_chosen
from perdure.upkeep.transfer.previewing import FieldChange, RecordChange
from perdure.upkeep.withdrawing import execute_commands

_TURN = 500  # commands


def preview_merge(registry: Registry, names: NameSet, patch: bytes) -> Iterator[RecordChange]:
    """Yield what a patch would change in the description of each name; nothing if it is equal.

    Raises InvalidMetadata, or NotFound if there is no such name.
    """
    members = read_patch(patch)
    for name in list_chosen(registry, names):
        change = _preview_name(registry, name, members)
        if change is not None:
            yield change


def _preview_name(
    registry: Registry, name: Identifier, members: dict[str, object]
) -> RecordChange | None:
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


def list_served(registry: Registry, names: NameSet) -> Iterator[Identifier]:
    """Yield the names of a set that were not withdrawn. Raises NotFound if there are none."""
    for name in list_chosen(registry, names):
        record = registry.listings.find_record(name.resource)
        if record is not None and record.tombstone is None:
            yield name


def make_withdrawal(
    name: Identifier,
    reason: str,
    *,
    by: str = LOCAL,
    silent: bool = False,
    keep_digest: bool = False,
) -> Withdraw:
    """Return the withdrawal of a name: of one version if it names one, else of the resource."""
    return Withdraw(
        identifier=name.resource if name.resource != name else name,
        version=naming.read_qualifiers(name)[0],
        reason=reason,
        by=by,
        silent=silent,
        keep_digest=keep_digest,
    )


def execute_turns(
    registry: Registry, commands: Iterable[Command]
) -> Iterator[tuple[Command, Answer]]:
    """Carry out commands, and yield each with its receipt or its error."""
    waiting = iter(commands)
    while turn := list(islice(waiting, _TURN)):
        yield from zip(turn, execute_commands(registry, turn), strict=True)
