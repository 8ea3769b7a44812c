"""Secrets of administrators (`HS_SECKEY`): stored as hashes, compared, never shown. Pure.

How it works: before a secret gets anywhere near a record, its text is replaced by
`scrypt$<salt>$<hash>` with the format `seal_secret`. People choose these secrets, so the hash is a
slow one: each comparison takes 16 MiB of memory and some 40 ms.

>>> kept = seal_secret("s3cret", salt=b"0123456789abcdef")
>>> (matches_secret("s3cret", kept), matches_secret("S3cret", kept),
...  matches_secret("s3cret", "s3cret"))
(True, False, False)

What must stay true: the secret cannot be recovered from the hash; every comparison takes the same
time.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

FORMAT = "sealed"
"""The format of a value that holds the hash of a secret."""
NOBODYS = f"scrypt${'A' * 22}==${'A' * 86}=="
"""A hash that no secret matches. If there is no hash, compare with it: this takes as long."""
_COST = {"n": 1 << 14, "r": 8, "p": 1}
_SALT = 16  # bytes
_NAME = "scrypt"


def seal_secret(secret: str, *, salt: bytes | None = None) -> str:
    """The hash of a secret, which is stored."""
    salt = secrets.token_bytes(_SALT) if salt is None else salt
    return "$".join((_NAME, _encode_base64(salt), _encode_base64(_hash_secret(secret, salt))))


def matches_secret(secret: str, kept: str) -> bool:
    """Return True if `kept` is a hash of this secret."""
    name, _, rest = kept.partition("$")
    salt, _, digest = rest.partition("$")
    if name != _NAME or not digest:
        return False
    found = _encode_base64(_hash_secret(secret, base64.urlsafe_b64decode(salt)))
    return hmac.compare_digest(found.encode(), digest.encode())


def _hash_secret(secret: str, salt: bytes) -> bytes:
    return hashlib.scrypt(secret.encode("utf-8", "surrogatepass"), salt=salt, **_COST)


def _encode_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii")
