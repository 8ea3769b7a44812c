"""Secrets that let their bearer write: how they are spelled, made and recognised.

How it works: a token is `perdure_` and 43 letters, digits, hyphens and underscores, which carry 256
random bits. The registry keeps its SHA-256 only, next to what it may be used for
(`perdure.model.records.Token`). So many random bits need no slow hash, and a look-up by the digest
tells nobody through its timing how much of a guess was right.

What must stay true: the secret is shown once, when it is made, and written nowhere by us.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets

from perdure.errors.tokens import MalformedPublicKey

_TOKEN = re.compile(r"perdure_[A-Za-z0-9_-]{43}", re.ASCII)


def new_token() -> tuple[str, str]:
    """A new secret and the digest to keep of it."""
    text = f"perdure_{secrets.token_urlsafe(32)}"
    return text, digest(text)


def digest(text: str) -> str:
    """SHA-256 of a secret, hexadecimal, as `perdure.model.records.Token.digest` has it."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_token(text: str) -> bool:
    """Whether a text is spelled like a secret of ours.

    >>> is_token("perdure_" + 43 * "x"), is_token("perdure_")
    (True, False)
    """
    return _TOKEN.fullmatch(text) is not None


def read_key(text: str) -> bytes:
    """The 32 bytes of an Ed25519 public key from base64. Raises InvalidRequest."""
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != 32:
        raise MalformedPublicKey(text=text)
    return key


def digest_of_key(name: str, key: bytes) -> str:
    """What is kept in place of a secret for an Ed25519 public key, 32 bytes.

    The name of the token is in it: a key is public, and several tokens may have the same.
    """
    return hashlib.sha256(name.encode("utf-8", "surrogatepass") + b"\0" + key).hexdigest()
