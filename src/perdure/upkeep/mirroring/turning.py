"""Turning a mirror to another registry: one that goes on where its origin ended.

How it works: a promoted mirror has the changes of the origin, and a new epoch after them, so a
mirror whose last change it has only needs its address. A successor that took names over has changes
of its own: a mirror of the origin starts again from nothing there, if the origin had handed names
over to that address. What it had is kept in `aside/`.

What must stay true: the mirror turns to no registry without such a connection, and never back: the
old origin lacks the changes of the new one.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec

from perdure.errors.mirroring import NotMirror, OriginUnrelated
from perdure.errors.processes import HasWriter
from perdure.errors.root import quote
from perdure.model.changes import ChainHead
from perdure.model.delegations import read_resolver
from perdure.registry import Registry
from perdure.storage.durable import WRITE_LOCK, hold_lock
from perdure.storage.origin import (
    MirroredOrigin,
    MirrorState,
    find_origin,
    load_state,
    save_origin,
    save_secret,
    save_state,
)
from perdure.storage.ports import storage_errors
from perdure.upkeep.mirroring.adding import restart_mirror
from perdure.upkeep.mirroring.client import RegistryClient, check_url


class TurnedMirror(msgspec.Struct, frozen=True, kw_only=True):
    """A mirror that follows another registry from now on."""

    origin: str
    former: str
    """The address of the registry that it followed."""
    continues: bool
    """True if it keeps what it has; False if it starts again, and `aside/` has what it had."""


def turn_mirror(root: Path, url: str, *, secret: str, now: str) -> TurnedMirror:
    """Let a mirror follow another registry. `secret` is that of its token there.

    Raises OriginUnrelated if that registry neither has the last change of the mirror nor is a
    successor of its origin; NotMirror, HasWriter, OriginSpelling, OriginUnusable, StorageFailed.
    """
    url = check_url(url)
    with storage_errors("the mirror"):
        known = find_origin(root)
        if known is None:
            raise NotMirror(directory=str(root))
        with hold_lock(root / WRITE_LOCK, HasWriter(used=quote(root))):
            with Registry(root) as registry:
                head = registry.head()
                is_successor = _is_successor(registry, url)
            with closing(RegistryClient(url)) as client:
                continues = _has_change(client, head)
            if not continues and not is_successor:
                raise OriginUnrelated(url=url, mark=str(head.mark) if head else "0.0")
            _replace_origin(root, known, url, secret)
            if not continues:
                restart_mirror(root, now)
            _forget_contradiction(root, now)
    return TurnedMirror(origin=url, former=known.url, continues=continues)


def _has_change(client: RegistryClient, head: ChainHead | None) -> bool:
    """Return True if a registry has the last change of a mirror, and thus all before it."""
    if head is None:
        return True
    theirs = client.fetch_change(head.mark, is_public=True)
    return theirs is not None and theirs.change.head == head


def _is_successor(registry: Registry, url: str) -> bool:
    """Return True if names were handed over to the registry at an address."""
    base = read_resolver(url).base
    return any(
        one.delegation.is_hand_over and any(base == to.base for to in one.delegation.resolvers)
        for one in registry.delegations.list_in_force()
    )


def _replace_origin(root: Path, known: MirroredOrigin, url: str, secret: str) -> None:
    if secret:
        save_secret(root, secret)
    elif url != known.url:
        save_secret(root, "")  # so that the new origin does not get that of the former one
    former = tuple(one for one in (*known.former, known.url) if one != url)
    save_origin(root, msgspec.structs.replace(known, url=url, former=former))


def _forget_contradiction(root: Path, now: str) -> None:
    """Go on after a contradiction of the former origin; it is kept as evidence."""
    state = load_state(root)
    if state is None:
        return
    found = () if state.contradiction is None else (state.contradiction,)
    fresh = MirrorState(at=now, verdict="following", evidence=(*state.evidence, *found))
    save_state(root, fresh, durably=True)
