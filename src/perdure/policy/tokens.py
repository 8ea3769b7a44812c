"""Secrets that let their bearer write: their form, and how to make and recognise them.

How it works: a token is `perdure_` and 43 letters, digits, hyphens and underscores, which contain
256 random bits. The registry stores only its SHA-256, with its rights
(`perdure.model.records.Token`). 256 random bits need no slow hash, and the time of a look-up by the
digest does not reveal how much of a guess was right.

What must stay true: the secret is shown once, when it is made, and perdure never writes it down.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets

from perdure.errors.tokens import MalformedPublicKey

_TOKEN = re.compile(r"perdure_[A-Za-z0-9_-]{43}", re.ASCII)


def make_token() -> tuple[str, str]:
    """A new secret, and its digest, which is stored."""
    text = f"perdure_{secrets.token_urlsafe(32)}"
    return text, digest_secret(text)


def digest_secret(text: str) -> str:
    """SHA-256 of a secret in hexadecimal, as in `perdure.model.records.Token.digest`."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_token(text: str) -> bool:
    """Return True if a text has the form of a secret.

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


def digest_key(name: str, key: bytes) -> str:
    """The digest that is stored for an Ed25519 public key of 32 bytes, instead of a secret's.

    It includes the name of the token, since a key is public and several tokens may have the same.
    """
    return hashlib.sha256(name.encode("utf-8", "surrogatepass") + b"\0" + key).hexdigest()
