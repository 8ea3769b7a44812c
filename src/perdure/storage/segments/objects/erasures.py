"""Notes of erased bytes, by which other nodes find out what their caches must no longer have.

How it works: the node that erases puts an empty object into the folder `erased`, whose key has the
time, the segment and the offset. A node lists the new ones every minute. They are removed after two
days, since no file stays in a cache for longer than one.

What must stay true: a note is put after the bytes are gone, so that no node fetches them again.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

from perdure.storage.segments.objects.client import ObjectClient

FOLDER = "erased"
_KEPT = 2 * 86_400  # seconds
_CLOCKS = 3600  # seconds by which the clocks of nodes may differ
_Place = tuple[int, int]


def note_erasures(client: ObjectClient, places: Iterable[_Place]) -> None:
    """Note that the bytes of these places, each a segment and an offset, are gone."""
    now = _write_time(time.time())
    for segment, offset in places:
        key = f"{FOLDER}/{now}-{segment}-{offset}-{secrets.token_hex(4)}"
        client.create_object(key, b"")


class ErasureNotes:
    """The notes that one process has read."""

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._read_until: float | None = None

    def read_new(self) -> set[_Place]:
        """The places that were noted since the last call, and some that were noted before."""
        began = time.time()
        if self._read_until is None:
            keys = list(self._client.list_objects(FOLDER))
            limit = f"{FOLDER}/{_write_time(began - _KEPT)}"
            self._client.delete_objects([key for key in keys if key < limit])
        else:
            after = f"{FOLDER}/{_write_time(self._read_until - _CLOCKS)}"
            keys = list(self._client.list_objects(FOLDER, after=after))
        self._read_until = began
        return {_read_place(key) for key in keys}


def _write_time(seconds: float) -> str:
    return f"{max(int(seconds * 1000), 0):014d}"


def _read_place(key: str) -> _Place:
    _, segment, offset, _ = key.rpartition("/")[2].split("-")
    return int(segment), int(offset)
