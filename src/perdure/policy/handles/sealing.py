"""Secrets of administrators (`HS_SECKEY`): kept as hashes, compared, never shown. Pure.

How it works: the text of a secret is replaced, before it gets anywhere near a record, by
`scrypt$<salt>$<hash>` with the format `sealed`. Secrets are what people choose, so the hash is a
slow one: 16 MiB of memory and some 40 ms for each comparison.

>>> kept = sealed("s3cret", salt=b"0123456789abcdef")
>>> matches("s3cret", kept), matches("S3cret", kept), matches("s3cret", "s3cret")
(True, False, False)

What must stay true: the secret cannot be had from what is kept; comparing takes the same time
whatever is compared.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

FORMAT = "sealed"
"""The format of a value that holds the hash of a secret."""
NOBODYS = f"scrypt${'A' * 22}==${'A' * 86}=="
"""What no secret matches, to compare with where there is none: it takes as long."""
_COST = {"n": 1 << 14, "r": 8, "p": 1}
_SALT = 16  # bytes
_NAME = "scrypt"


def sealed(secret: str, *, salt: bytes | None = None) -> str:
    """What to keep of a secret."""
    salt = secrets.token_bytes(_SALT) if salt is None else salt
    return "$".join((_NAME, _text(salt), _text(_hash(secret, salt))))


def matches(secret: str, kept: str) -> bool:
    """Whether `kept` was made of this secret."""
    name, _, rest = kept.partition("$")
    salt, _, digest = rest.partition("$")
    if name != _NAME or not digest:
        return False
    found = _text(_hash(secret, base64.urlsafe_b64decode(salt)))
    return hmac.compare_digest(found.encode(), digest.encode())


def _hash(secret: str, salt: bytes) -> bytes:
    return hashlib.scrypt(secret.encode("utf-8", "surrogatepass"), salt=salt, **_COST)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii")
