"""Passwords of Handle administrators, compared without holding anybody up.

How it works: comparing takes tens of milliseconds of one processor, so it is done in a thread, one
at a time, and what was right is remembered by a keyed hash of password and what it was compared
with. When many wait, those who come are sent away.

What must stay true: no password is remembered, written or logged; one that was changed is refused
by the next request, for what is compared with comes from the record each time.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets

from perdure.errors.processes import TooBusy
from perdure.policy.handles import sealing

_MOST_WAITING = 32
_MOST_KNOWN = 1024


class Passwords:
    """Compares passwords with what is kept of them."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._known: dict[bytes, None] = {}
        self._waiting = 0
        self._one = asyncio.Lock()

    async def matches(self, password: str, kept: str) -> bool:
        """Whether `kept` was made of this password. Raises Unavailable when too many ask."""
        name = self._name(password, kept)
        if name in self._known:
            return True
        if self._waiting >= _MOST_WAITING:
            raise TooBusy(task="authentication", under_way="too many comparisons of passwords")
        self._waiting += 1
        try:
            async with self._one:
                found = await asyncio.to_thread(sealing.matches, password, kept)
        finally:
            self._waiting -= 1
        if found:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[name] = None
        return found

    def _name(self, password: str, kept: str) -> bytes:
        text = f"{kept}\0{password}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self._key, digest_size=32).digest()
