"""Passwords of Handle administrators, checked without delaying other requests.

How it works: a check takes tens of milliseconds of one processor, so it runs in a thread, one at a
time. A correct password is remembered as a keyed hash of the password and its sealed form. When too
many checks are waiting, further ones are refused.

What must stay true: no password is remembered, written or logged; a password that was changed is
refused at once, because each request reads the sealed form from the record.
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
    """Compares passwords with their sealed forms."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._known: dict[bytes, None] = {}
        self._waiting = 0
        self._one = asyncio.Lock()

    async def match_password(self, password: str, kept: str) -> bool:
        """Return True if `kept` seals this password. Raises Unavailable if too many are waiting."""
        name = self._make_key(password, kept)
        if name in self._known:
            return True
        if self._waiting >= _MOST_WAITING:
            raise TooBusy(task="authentication", under_way="too many password checks")
        self._waiting += 1
        try:
            async with self._one:
                found = await asyncio.to_thread(sealing.matches_secret, password, kept)
        finally:
            self._waiting -= 1
        if found:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[name] = None
        return found

    def _make_key(self, password: str, kept: str) -> bytes:
        text = f"{kept}\0{password}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self._key, digest_size=32).digest()
