"""Two registries with one past meet: find the last change that both have, and whether they divided.

How it works: chains that are equal at a change are equal before it, so a binary search over our own
changes finds the last common one with few requests. If both registries have changes after it, each
may have given out names that the other one gave out, too. Then this one is fenced, whichever of the
two is right: an operator decides.  # ruling: copy-fence

What must stay true: nothing but a common past divides two registries. Those that share no change,
those of which one only continues the other, and a successor to which the other registry handed all
its names over, are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from perdure.errors import RegistriesDivided
from perdure.errors.mirroring import OriginUnusable
from perdure.ids import parse
from perdure.model.changes import ChainHead, ChangeMark
from perdure.model.mirroring import MirroredChange
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.storage.division import Division, save_division
from perdure.storage.origin import load_origin
from perdure.storage.ports import Records, storage_errors
from perdure.upkeep.mirroring.client import RegistryClient
from perdure.upkeep.mirroring.wire import show_row

ReadTheirs = Callable[[ChangeMark], MirroredChange | None]
"""From a mark to the change that the other registry has there."""


class KnownMarks(Sequence[ChangeMark]):
    """The marks of all changes of a registry, in order."""

    def __init__(self, records: Records, head: ChainHead | None) -> None:
        epochs = records.list_epochs()
        ends = [one.previous.number if one.previous else 0 for one in epochs[1:]]
        ends.append(head.number if head else 0)
        self._counts = [(one.epoch, end) for one, end in zip(epochs, ends, strict=False)]

    def __len__(self) -> int:
        return sum(count for _, count in self._counts)

    def __getitem__(self, index: int) -> ChangeMark:  # type: ignore[override]  # no slices
        for epoch, count in self._counts:
            if index < count:
                return ChangeMark(epoch, index + 1)
            index -= count
        raise IndexError(index)


def read_change(records: Records, mark: ChangeMark) -> MirroredChange | None:
    """The change of a registry at a mark, or None."""
    before = ChangeMark(mark.epoch, max(mark.number - 1, 0))
    found = records.list_changes(before, limit=1)
    if not found or found[0].mark != mark:
        return None
    epoch = next((one for one in records.list_epochs() if one.epoch == mark.epoch), None)
    return MirroredChange(change=found[0], epoch=epoch if mark.number == 1 else None)


def count_common(records: Records, known: KnownMarks, read_theirs: ReadTheirs) -> int:
    """Return how many of our changes, from the first one on, the other registry has, too."""
    low, high = 0, len(known)  # the first `low` are the same; at `high` they differ
    while low < high:
        middle = (low + high) // 2
        ours, theirs = read_change(records, known[middle]), read_theirs(known[middle])
        is_same = (
            ours is not None and theirs is not None and (ours.change.head == theirs.change.head)
        )
        if is_same:
            low = middle + 1
        else:
            high = middle
    return low


def meet_registry(registry: Registry, client: RegistryClient) -> None:
    """Fence this registry if it and another one have divided, and raise RegistriesDivided.

    Raises OriginUnusable, StorageFailed.
    """
    records, head = registry.records, registry.head()
    known = KnownMarks(records, head)

    common = count_common(records, known, partial(client.fetch_change, is_public=True))
    if common in (0, len(known)):  # unrelated, or the other one has everything
        return
    last = known[common - 1]
    after = client.fetch_changes(last, limit=1, is_public=True).changes
    if not after or has_taken_over(registry):  # the other one is behind, or goes on with the rest
        return
    ours = read_change(records, known[common])
    division = Division(
        other=client.url,
        mark=str(last),
        at=format_timestamp(registry.clock()),
        ours=show_row(ours) if ours else None,
        theirs=show_row(after[0]),
    )
    with storage_errors("the registry"), registry.records.open_counter() as generation:
        save_division(registry.root, division)
        generation.note_revision()
    raise RegistriesDivided(other=client.url, mark=str(last))


def has_taken_over(registry: Registry) -> bool:
    """Return True if all names that are given out here were handed over, or are of a new series.

    Then the predecessor may go on: it gives out none of them.
    """
    delegations, day = registry.delegations, registry.delegations.today
    own = [one for one in delegations.list_in_force() if delegations.is_own(one)]
    if not any(one.delegation.writes for one in own):
        return False
    for series in registry.settings.series:
        today = parse(f"pdi://{series}/{day.replace('-', '/')}/")
        is_given = any(one.delegation.writes and one.delegation.covers(today) for one in own)
        if not is_given and not _is_new(registry, series):
            return False
    return True


def _is_new(registry: Registry, series: str) -> bool:
    """Return True if the first name of a series was given out in the present epoch."""
    key = registry.records.find_first_key(f"{series}/", f"{series}0")
    first = registry.records.find_change(key, 1) if key is not None else None
    head = registry.head()
    return key is None or (first is not None and head is not None and first.epoch == head.epoch)


def list_relatives(root: Path) -> tuple[str, ...]:
    """The addresses of registries that may have the same past, if this is a promoted mirror."""
    origin = load_origin(root)
    return (origin.url, *origin.sources) if origin is not None and origin.promoted else ()


def meet_relatives(registry: Registry) -> None:
    """Meet the origin of a promoted mirror, and the other mirrors that it knew.

    Raises RegistriesDivided, StorageFailed. Those that do not answer are passed over.
    """
    for url in list_relatives(registry.root):
        client = RegistryClient(url)
        try:
            meet_registry(registry, client)
        except OriginUnusable:
            continue
        finally:
            client.close()
