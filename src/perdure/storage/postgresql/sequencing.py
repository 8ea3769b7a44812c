"""Numbers for the changes that transactions left: one sequence for all nodes.

How it works: a transaction that writes records adds its changes without a number. A session
that is to read changes (for a follower, a harvest, a command) first numbers what is waiting, under
a lock that one session of all nodes holds: it continues the chain in the order of `id`, and
commits. Then it reads. So no mint waits for a number, and one flush numbers many batches.

The order respects each series and each record: a transaction draws the `id` of a change when it has
the lock of the day or record that it writes, and keeps the lock until it has committed. Of two such
transactions, the later one draws its `id` after the earlier one has become visible.

What must stay true: no reader sees a change without its number; a number is durable before it
is read; numbers have no gap and are never given twice.
"""

from __future__ import annotations

from perdure.model.changes import (
    BEGIN,
    NO_CHAIN,
    ChainHead,
    Deed,
    Epoch,
    Numbering,
    Scope,
    begin_chain,
    digest_alike,
)
from perdure.storage.postgresql.connecting import Connection

LOCK = "SELECT pg_advisory_xact_lock(hashtext(current_schema()), 1)"
"""Held by the session that numbers changes, until its transaction ends."""
_AT_ONCE = 4096
_WAITING = "SELECT EXISTS (SELECT FROM changes WHERE number IS NULL)"
_HEAD = """
SELECT epoch, number, chain FROM changes WHERE number IS NOT NULL
  ORDER BY epoch DESC, number DESC LIMIT 1
"""
_TAKE = f"""
SELECT id, act, at, actor, first, last, records, revision, digest, salt, reason FROM changes
  WHERE number IS NULL ORDER BY id LIMIT {_AT_ONCE}
"""
_NUMBER = """
UPDATE changes SET epoch = new.epoch, number = new.number, chain = new.chain, digest = new.digest
  FROM unnest(%s::bigint[], %s::int[], %s::bigint[], %s::bytea[], %s::bytea[])
    AS new (id, epoch, number, chain, digest)
  WHERE changes.id = new.id AND changes.number IS NULL
"""
_ADD_EPOCH = "INSERT INTO epochs VALUES (%s, %s, %s, %s, %s)"


def number_waiting(connection: Connection) -> None:
    """Number all changes that are waiting. Raises psycopg.Error. The connection is in no batch."""
    while _find_waiting(connection):
        with connection.transaction():
            connection.execute(LOCK)
            number_some(connection)


def _find_waiting(connection: Connection) -> bool:
    row = connection.execute(_WAITING).fetchone()
    return row is not None and bool(row[0])


def find_chain_head(connection: Connection) -> ChainHead | None:
    """The last numbered change."""
    row = connection.execute(_HEAD).fetchone()
    return row and ChainHead(epoch=row[0], number=row[1], chain=row[2].hex())


def number_some(connection: Connection) -> None:
    """Number a few thousand of the waiting changes. The transaction has the lock."""
    head = find_chain_head(connection)
    numbering = Numbering()
    if head is not None:
        numbering.restart_at(head.epoch, head.number, bytes.fromhex(head.chain))
    numbered: list[tuple[int, int, int, bytes, bytes]] = []
    for (
        id,
        act,
        at,
        actor,
        first,
        last,
        records,
        revision,
        digest,
        salt,
        reason,
    ) in connection.execute(_TAKE).fetchall():
        if act == BEGIN:
            previous = (
                ChainHead(
                    epoch=numbering.epoch, number=numbering.number, chain=numbering.chain.hex()
                )
                if numbering.number or numbering.chain != NO_CHAIN
                else None
            )
            epoch = Epoch(epoch=numbering.epoch + 1, reason=reason, previous=previous)
            add_epoch(connection, epoch)
            numbering.restart_at(epoch.epoch, 0, begin_chain(epoch))
            digest = digest_alike(salt, actor, ("",), epoch.line)
        deed, scope = Deed(act, at, actor), Scope(first, last, records, revision)
        numbering.count_change(deed, scope, digest)
        numbered.append((id, numbering.epoch, numbering.number, numbering.chain, digest))
    if numbered:
        connection.execute(_NUMBER, [list(column) for column in zip(*numbered, strict=True)])


def add_epoch(connection: Connection, epoch: Epoch) -> None:
    """Add the row of an epoch that begins."""
    previous = epoch.previous
    named = (previous.epoch, previous.number, previous.chain) if previous else (None, None, None)
    connection.execute(_ADD_EPOCH, (epoch.epoch, epoch.reason, *named))
