"""Sessions of depositors in a browser: signed in with a token, until they sign out.

How it works: a session is a random identity, which only the cookie contains. A file named by its
SHA-256 has the digest of the token and the time of the signing in, so all worker processes know
it, and its time of modification says when it was last used. Each request looks the token up again.
The sessions of EZID's clients (`perdure.server.common.sessions`) are another matter: they cannot be
ended one by one.

What must stay true: neither a token nor an identity is ever stored or logged. An identity is made
here, never taken from a request; signing in always makes a new one. A token that was revoked ends
its sessions at once. There are never more than `MOST` sessions, nor `MOST_EACH` of one token. You
may delete the files; that ends the sessions.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from perdure.errors.credentials import SessionEnded
from perdure.model.records import Token
from perdure.storage.durable import write_all

PLACE = Path("desk", "sessions")
LONGEST = 12 * 3600  # seconds from signing in
IDLE = 3600  # seconds without a request
MOST = 1000
MOST_EACH = 10
_TOUCHED = 60  # seconds between two notes that a session was used
_IDENTITY = re.compile("[A-Za-z0-9_-]{43}")  # 256 bits
_FILE = re.compile("[0-9a-f]{64}")


class _StoredSession(msgspec.Struct, frozen=True):
    token: str
    """The SHA-256 of the token's secret, by which it is looked up."""
    begun: float
    """Seconds since 1970."""


class DeskSessions:
    """The sessions of one registry. `clock` returns seconds since 1970."""

    def __init__(self, root: Path, clock: Callable[[], float]) -> None:
        self._place = root / PLACE
        self._clock = clock

    def begin_session(self, token: Token) -> str:
        """Begin a session, and return its identity. Raises OSError."""
        self._place.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._make_room(token.digest)
        identity = secrets.token_urlsafe(32)
        stored = msgspec.json.encode(_StoredSession(token.digest, self._clock()))
        fd = os.open(
            self._place / _name_file(identity),
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC,
            0o600,
        )
        try:
            write_all(fd, stored)
            os.utime(fd, (self._clock(), self._clock()))
        finally:
            os.close(fd)
        return identity

    def find_token(self, identity: str, find: Callable[[str], Token | None]) -> Token:
        """Return the token of a session. `find` looks one up by its digest.

        Raises SessionEnded if the session has ended, or its token is no longer known.
        """
        if not _IDENTITY.fullmatch(identity):
            raise SessionEnded()
        file = self._place / _name_file(identity)
        stored = self._read_current(file)
        token = None if stored is None else find(stored.token)
        if token is None:
            with suppress(OSError):
                file.unlink()
            raise SessionEnded()
        now = self._clock()
        with suppress(OSError):
            if now - file.stat().st_mtime > _TOUCHED:
                os.utime(file, (now, now))
        return token

    def end_session(self, identity: str) -> None:
        """End a session, if there is one."""
        if _IDENTITY.fullmatch(identity):
            with suppress(OSError):
                (self._place / _name_file(identity)).unlink()

    def _read_current(self, file: Path) -> _StoredSession | None:
        """Read a session that has not ended, or return None."""
        try:
            used = file.stat().st_mtime
            stored = msgspec.json.decode(file.read_bytes(), type=_StoredSession)
        except (OSError, msgspec.MsgspecError):
            return None
        now = self._clock()
        return stored if now - used < IDLE and now - stored.begun < LONGEST else None

    def _make_room(self, token: str) -> None:
        """Remove sessions that have ended, and the oldest ones beyond the bounds."""
        current: list[tuple[float, Path, str]] = []
        for file in self._place.iterdir():
            if not _FILE.fullmatch(file.name):
                continue
            stored = self._read_current(file)
            if stored is None:
                file.unlink(missing_ok=True)
            else:
                current.append((stored.begun, file, stored.token))
        current.sort()
        own = [file for _, file, other in current if other == token]
        surplus = {*own[: max(len(own) - MOST_EACH + 1, 0)]}
        rest = [file for _, file, _ in current if file not in surplus]
        surplus.update(rest[: max(len(rest) - MOST + 1, 0)])
        for file in surplus:
            file.unlink(missing_ok=True)


def _name_file(identity: str) -> str:
    return hashlib.sha256(identity.encode("ascii")).hexdigest()
