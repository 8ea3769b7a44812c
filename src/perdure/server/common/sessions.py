"""Sessions: what people and clients send after they have signed in with a token.

How it works: a session is the name of the token, the time when it ends, and a code that needs a key
of this server (HMAC, RFC 2104). The key is a random file in `followers/`, so all worker processes
know it, and neither a backup nor a mirror has it.

What must stay true: no secret is in a session. The digest of a token is not enough to make one,
because backups and mirrors have it, and that of a public key can be computed. You may delete the
key; that ends all sessions.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from perdure.errors.credentials import SessionEnded
from perdure.model.records import Token

FILE = Path("followers", "sessions.key")
_KEY_BYTES = 32
_SESSION = re.compile(r"([A-Za-z0-9_-]{1,400})\.([0-9]{1,12})\.([0-9a-f]{64})")


class Sessions:
    """The sessions of one registry."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def make_session(self, token: Token, ends: int) -> str:
        """Make a session that ends at a time (seconds since 1970). Raises OSError."""
        name = base64.urlsafe_b64encode(token.name.encode()).decode().rstrip("=")
        return f"{name}.{ends}.{self._sign(token, name, str(ends))}"

    def find_token(
        self, session: str, find_named: Callable[[str], Token | None], now: int
    ) -> Token:
        """Return the token for which a session stands. Raises SessionEnded, OSError."""
        found = _SESSION.fullmatch(session)
        if found is None:
            raise SessionEnded()
        name, ends, code = found.groups()
        try:
            text = base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise SessionEnded() from None
        token = find_named(text)
        if token is None or not hmac.compare_digest(self._sign(token, name, ends), code):
            raise SessionEnded()
        if int(ends) < now:
            raise SessionEnded()
        return token

    def _sign(self, token: Token, name: str, ends: str) -> str:
        text = f"session {token.digest} {name} {ends}"
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

    @cached_property
    def _key(self) -> bytes:
        """The key of this registry, which the first process that needs it makes."""
        path = self._root / FILE
        with suppress(FileNotFoundError):
            return path.read_bytes()
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
        with suppress(FileExistsError):  # another process was first
            path.hardlink_to(beside)
        beside.unlink()
        return path.read_bytes()
