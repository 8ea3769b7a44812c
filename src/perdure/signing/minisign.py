"""Signatures of minisign, and of signify's keys that minisign reads.

    minisign -S -m statement -t "$(sed -n 2p statement)"

How it works: a signature has four lines: an untrusted comment, the signature of the text, a trusted
comment, and a signature of both. The trusted comment is the line of the statement that names the
identifier, so that the signature says in each listing what it is about. The private key may be
encrypted with a passphrase (scrypt).

What must stay true: a signature is one of a statement only if both signatures are right and the
trusted comment is the line of the identifier. The number of a key is part of its file only; perdure
names the key by its fingerprint.

Specification: https://jedisct1.github.io/minisign/#signature-format.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import struct
from typing import Any

import msgspec

from perdure.errors.signing import (
    KeyLocked,
    KeyMalformed,
    KeyUnknown,
    SignatureForOtherUse,
    SignatureMalformed,
    SignatureWrong,
)
from perdure.errors.unavailable import import_library
from perdure.signing.form import FindKey, SignatureForm
from perdure.signing.keys import ED25519, PublicKey, make_ed25519_key, verify_bytes
from perdure.signing.statement import Statement

BEGIN = "untrusted comment: "
LONGEST = 16_384
"""Characters of a signature; the trusted comment may have 8 KB."""
_LINES = re.compile(
    "untrusted comment: [^\r\n]{0,1024}\r?\n"
    "([A-Za-z0-9+/=]{100})\r?\n"
    "trusted comment: ([^\r\n]{0,8300})\r?\n"
    "([A-Za-z0-9+/=]{88})(?:\r?\n)?"
)
_KEY = re.compile("(?:untrusted comment: [^\r\n]{0,1024}\r?\n)?([A-Za-z0-9+/=]{40,300})(?:\r?\n)?")
_HASHED, _PLAIN = b"ED", b"Ed"
_MOST_MEMORY = 1 << 30
"""Bytes for scrypt: those that minisign itself uses."""


class MinisignKey(msgspec.Struct, frozen=True):
    """A public key of minisign, with its number."""

    number: bytes
    key: PublicKey


class MinisignSignature(msgspec.Struct, frozen=True):
    """The fields of a signature."""

    is_hashed: bool
    """The text is signed by its BLAKE2b-512, as minisign does by default."""
    number: bytes
    signature: bytes
    comment: str
    """The trusted comment."""
    over_comment: bytes
    """The signature of `signature` and `comment`."""


def parse_minisign_signature(text: str) -> MinisignSignature:
    """Read the four lines of a signature. Raises SignatureMalformed."""
    found = _LINES.fullmatch(text) if len(text) <= LONGEST else None
    try:
        if found is None:
            raise ValueError
        blob, over = (base64.b64decode(found[at], validate=True) for at in (1, 3))
        if len(blob) != 74 or len(over) != 64 or blob[:2] not in (_HASHED, _PLAIN):
            raise ValueError
    except ValueError:
        raise SignatureMalformed(form="minisign", expected="its four lines") from None
    return MinisignSignature(blob[:2] == _HASHED, blob[2:10], blob[10:], found[2], over)


def verify_minisign_signature(
    signature: MinisignSignature, statement: Statement, key: PublicKey
) -> PublicKey:
    """Verify that a key made a signature of a statement. Return the key.

    Raises SignatureWrong, and SignatureForOtherUse if the trusted comment is about something else.
    """
    if key.algorithm != ED25519:
        raise SignatureWrong(signer=key.fingerprint)
    text = statement.text
    message = hashlib.blake2b(text).digest() if signature.is_hashed else text
    verify_bytes(key, ED25519, signature.signature, message)
    commented = signature.signature + signature.comment.encode()
    verify_bytes(key, ED25519, signature.over_comment, commented)
    if signature.comment != statement.identifier_line:
        raise SignatureForOtherUse(found=signature.comment, needed=statement.identifier_line)
    return key


def read_minisign_key(text: str) -> MinisignKey:
    """Read a public key, with or without its comment. Raises KeyMalformed."""
    blob = _decode_key(text)
    if len(blob) != 42 or blob[:2] != _PLAIN:
        raise KeyMalformed(form="minisign", expected="a public key of 42 bytes in base64")
    return MinisignKey(blob[2:10], make_ed25519_key(blob[10:]))


class MinisignSigner:
    """A private key of minisign."""

    def __init__(self, number: bytes, seed: bytes) -> None:
        library = _import_primitives("asymmetric.ed25519")
        self._number = number
        self._private: Any = library.Ed25519PrivateKey.from_private_bytes(seed)
        self.key = make_ed25519_key(self._private.public_key().public_bytes_raw())

    def sign_statement(self, statement: Statement) -> str:
        """Return the four lines of a signature."""
        signature = self._private.sign(hashlib.blake2b(statement.text).digest())
        comment = statement.identifier_line
        over = self._private.sign(signature + comment.encode())
        blob = base64.b64encode(_HASHED + self._number + signature).decode()
        return (
            f"untrusted comment: signature of a statement of perdure\n{blob}\n"
            f"trusted comment: {comment}\n{base64.b64encode(over).decode()}\n"
        )


def read_minisign_signer(data: bytes, passphrase: bytes | None = None) -> MinisignSigner:
    """Read a private key, encrypted or not.

    Raises KeyLocked if the passphrase is missing or wrong, and KeyMalformed.
    """
    blob = _decode_key(data.decode("latin-1"))
    if len(blob) != 158 or blob[:2] != _PLAIN or blob[4:6] != b"B2":
        raise KeyMalformed(form="minisign", expected="a private key of 158 bytes in base64")
    secret, is_locked = blob[54:], blob[2:4] == b"Sc"
    if is_locked:
        if passphrase is None:
            raise KeyLocked(form="minisign")
        stream = _derive_stream(passphrase, blob[6:38], *struct.unpack("<QQ", blob[38:54]))
        secret = bytes(a ^ b for a, b in zip(secret, stream, strict=True))
    elif blob[2:4] != b"\0\0":
        raise KeyMalformed(form="minisign", expected="a known way of encryption")
    expected = hashlib.blake2b(_PLAIN + secret[:72], digest_size=32).digest()
    if is_locked and not hmac.compare_digest(secret[72:], expected):
        raise KeyLocked(form="minisign")
    signer = MinisignSigner(secret[:8], secret[8:40])
    if signer.key != make_ed25519_key(secret[40:72]):
        raise KeyMalformed(form="minisign", expected="a private key with its own public key")
    return signer


def _derive_stream(passphrase: bytes, salt: bytes, operations: int, memory: int) -> bytes:
    """The bytes that hide a private key, as crypto_pwhash_scryptsalsa208sha256 makes them."""
    if memory > _MOST_MEMORY or operations > 1 << 26:
        raise KeyMalformed(form="minisign", expected="limits of scrypt that perdure accepts")
    block = 8
    operations = max(operations, 32_768)
    is_slow = operations < memory // 32
    most = operations // (block * 4) if is_slow else memory // (block * 128)
    exponent = next(one for one in range(1, 64) if 1 << one > most // 2)
    lanes = 1 if is_slow else max(min(operations // 4 >> exponent, 0x3FFFFFFF) // block, 1)
    scrypt = _import_primitives("kdf.scrypt").Scrypt
    derived: bytes = scrypt(salt, 104, 1 << exponent, block, lanes).derive(passphrase)
    return derived


def _decode_key(text: str) -> bytes:
    found = _KEY.fullmatch(text)
    try:
        return base64.b64decode(found[1], validate=True) if found else b""
    except ValueError:
        return b""


def _import_primitives(name: str) -> Any:
    task = "signing with a minisign key"
    return import_library(f"cryptography.hazmat.primitives.{name}", task=task, extra="signatures")


def _verify(text: str, statement: Statement, find_key: FindKey) -> PublicKey:
    signature = parse_minisign_signature(text)
    key = find_key(statement.signer)
    if key is None:
        raise KeyUnknown(signer=statement.signer)
    return verify_minisign_signature(signature, statement, key)


FORM = SignatureForm(name="minisign", begin=BEGIN, verify=_verify)
