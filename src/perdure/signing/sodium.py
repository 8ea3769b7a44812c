"""Ed25519 signatures, verified by libsodium in half the time that OpenSSL takes.

How it works: a signature that libsodium accepts is right. If it refuses one, `keys` asks OpenSSL,
so a verdict does not depend on whether PyNaCl is installed.

What must stay true: libsodium accepts nothing that OpenSSL refuses. Both compute the equation of
RFC 8032 section 5.1.7 without the cofactor. A version that multiplied by the cofactor would accept
more (the RFC allows both), so it is asked about such a signature first, and not used if it accepts
it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

_KEY = bytes.fromhex("7767a3242dc9b58bbc68488c1265cc6cc5f26c6f3c88a5d55e901b0734dca572")
_WITH_COFACTOR = bytes.fromhex(
    "6999d5cb5126005c325892f1c6eab824b310708befff12fbaf45dda050cb12f0"
    "3d9e1dc3d5aaab3aa3b50f7e6f219b120e2c78f85501e7d12c77f0a3fbdf1b03"
)
"""A signature of `_TEXT` whose first point has a part of order 8: right only with the cofactor."""
_TEXT = b"m"


def is_signed(key: bytes, signature: bytes, message: bytes) -> bool:
    """Return True if a key of 32 bytes has signed a message.

    False if libsodium refuses the signature, or is not installed: then another library decides.
    """
    verify = _find_verifier()
    return verify is not None and verify(key, signature, message)


@cache
def _find_verifier() -> Callable[[bytes, bytes, bytes], bool] | None:
    try:
        bindings: Any = import_module("nacl.bindings")
        errors: Any = import_module("nacl.exceptions")
    except ImportError:
        return None

    def verify(key: bytes, signature: bytes, message: bytes) -> bool:
        if len(signature) != bindings.crypto_sign_BYTES:
            return False
        with suppress(errors.CryptoError):
            bindings.crypto_sign_open(signature + message, key)
            return True
        return False

    return None if verify(_KEY, _WITH_COFACTOR, _TEXT) else verify
