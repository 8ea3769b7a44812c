"""The owners of segments: a node claims a number by conditional creation.

How it works: each directory has an identity of its own in the file `bytes-node`. A writer takes the
next number by creating the object `claims/NUMBER`, with its identity and a random word, which
succeeds for one writer alone. A node that seals a segment or changes bytes in it holds its lock in
the same way.

What must stay true: a number belongs to one node for ever; a node never takes back the bytes of
another one.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from perdure.errors.object_stores import ObjectStoreFailed, ObjectTaken, SegmentHeldElsewhere
from perdure.storage.durable import write_durably
from perdure.storage.segments.objects.client import ObjectAbsent, ObjectClient
from perdure.storage.segments.objects.layout import CLAIMS, LOCKS

FILE = "bytes-node"
_MOST_TRIES = 1000


def find_node(root: Path) -> str:
    """The identity of a directory. It is made when it is needed first. Raises OSError."""
    path = root / FILE
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        write_durably(path, f"{uuid4()}\n".encode())
        return find_node(root)


def claim_number(client: ObjectClient, node: str, following: int) -> int:
    """Take the first number from `following` that no writer has taken."""
    for number in range(following, following + _MOST_TRIES):
        try:
            client.create_object(_claim_key(number), f"{node} {secrets.token_hex(8)}\n".encode())
        except ObjectTaken:
            continue
        return number
    raise ObjectTaken(place=client.name_place(_claim_key(following)))


def take_over_number(client: ObjectClient, node: str, number: int) -> None:
    """Make a node the owner of a number that a move brings, unless it is that already."""
    if find_owner(client, number) != node:
        claim = f"{node} {secrets.token_hex(8)}\n".encode()
        client.replace_object(_claim_key(number), lambda: iter((claim,)))


def list_claims(client: ObjectClient) -> list[int]:
    """The numbers that were taken, in order."""
    names = (key.rpartition("/")[2] for key in client.list_objects(CLAIMS))
    return sorted(int(name) for name in names if name.isdecimal())


def find_owner(client: ObjectClient, number: int) -> str:
    """The identity of the node that took a number; empty if none did."""
    try:
        return client.read_object(_claim_key(number)).decode("ascii", "replace").split(" ")[0]
    except ObjectAbsent:
        return ""


def _claim_key(number: int) -> str:
    return f"{CLAIMS}/{number:06d}"


class SegmentLocks:
    """The locks with which a node keeps others from changing a segment meanwhile."""

    def __init__(self, client: ObjectClient, root: Path) -> None:
        self._client = client
        self._root = root
        self._changing = threading.Lock()

    @contextmanager
    def hold_segment(self, number: int) -> Iterator[None]:
        """Let no other thread, process or node change a segment.

        Raises SegmentHeldElsewhere. A lock that this node left behind in a crash is its own.
        """
        with self._changing:
            fd = os.open(self._root, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                with self._hold_object(f"{LOCKS}/{number:06d}"):
                    yield
            finally:
                os.close(fd)

    @contextmanager
    def _hold_object(self, key: str) -> Iterator[None]:
        node = find_node(self._root)
        try:
            self._client.create_object(key, node.encode())
        except ObjectTaken:
            try:
                other = self._client.read_object(key).decode("ascii", "replace")
            except ObjectAbsent:
                other = "unknown"
            raise SegmentHeldElsewhere(place=self._client.name_place(key), node=other) from None
        try:
            yield
        except BaseException:
            with suppress(ObjectStoreFailed):  # the node that left it may take it again
                self._client.delete_objects([key])
            raise
        self._client.delete_objects([key])
