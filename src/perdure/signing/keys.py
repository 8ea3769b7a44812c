"""Public keys in one form for all kinds of signatures: that of SSH (RFC 4253 section 6.6).

How it works: a `PublicKey` is the blob of the key, whose first string names its algorithm. A key of
minisign, a certificate or a JWK is converted to it, so that one list of keys says who is trusted,
and one fingerprint names a key. The library cryptography verifies signatures; libsodium, if it is
installed, those of Ed25519 (`perdure.signing.sodium`).

What must stay true: a blob that differs is another key. `verify_bytes` either returns, or raises
SignatureWrong. RSA keys of fewer than 2,048 bits, DSA and SHA-1 are refused.

Specifications: RFC 4253 (RSA), RFC 5656 (ECDSA), RFC 8332 (RSA with SHA-2), RFC 8709 (Ed25519),
PROTOCOL.u2f of OpenSSH (keys in hardware).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from functools import lru_cache
from typing import Any

import msgspec

from perdure.errors.signing import KeyMalformed, SignatureMalformed, SignatureWrong
from perdure.errors.unavailable import import_library
from perdure.signing import sodium

ED25519 = "ssh-ed25519"
SK_ED25519 = "sk-ssh-ed25519@openssh.com"
RSA = "ssh-rsa"
CURVES = {
    "ecdsa-sha2-nistp256": ("nistp256", "SECP256R1", "SHA256", 65),
    "ecdsa-sha2-nistp384": ("nistp384", "SECP384R1", "SHA384", 97),
    "ecdsa-sha2-nistp521": ("nistp521", "SECP521R1", "SHA512", 133),
}
"""Name of the curve, its class and that of the hash in cryptography, bytes of a point."""
_RSA_HASHES = {"rsa-sha2-256": "SHA256", "rsa-sha2-512": "SHA512"}
_RSA_BITS = range(2048, 16_385)
_MOST_STRINGS = 8
_ED25519_BYTES = 32
ALGORITHMS = frozenset({ED25519, SK_ED25519, RSA, *CURVES})
_KEY_STRINGS = {ED25519: 2, SK_ED25519: 3, RSA: 3} | dict.fromkeys(CURVES, 3)


class PublicKey(msgspec.Struct, frozen=True):
    """A public key. Made by `read_blob`, which checks it."""

    blob: bytes

    @property
    def algorithm(self) -> str:
        return _read_algorithm(self.blob)

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it: `SHA256:` and 43 characters of base64."""
        return _spell_fingerprint(self.blob)

    @property
    def line(self) -> str:
        """The key as OpenSSH writes it: algorithm and base64."""
        return f"{self.algorithm} {base64.b64encode(self.blob).decode()}"


@lru_cache(maxsize=1024)
def _read_algorithm(blob: bytes) -> str:
    return split_strings(blob)[0].decode()


@lru_cache(maxsize=1024)
def _spell_fingerprint(blob: bytes) -> str:
    digest = hashlib.sha256(blob).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


# the wire format of SSH (RFC 4251 section 5)
# -------------------------------------------


def pack_string(data: bytes) -> bytes:
    """Return a string of the wire format: its length in four bytes, and its bytes."""
    return struct.pack(">I", len(data)) + data


def split_strings(data: bytes) -> list[bytes]:
    """Return the strings of which the data consists. Raises ValueError if anything is left."""
    found: list[bytes] = []
    at = 0
    while at < len(data):
        if len(found) == _MOST_STRINGS or at + 4 > len(data):
            raise ValueError(at)
        (length,) = struct.unpack_from(">I", data, at)
        if at + 4 + length > len(data):
            raise ValueError(at)
        found.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return found


# reading keys
# ------------


def make_ed25519_key(raw: bytes) -> PublicKey:
    """Return the key with these 32 bytes."""
    return read_blob(pack_string(ED25519.encode()) + pack_string(raw))


@lru_cache(maxsize=1024)
def read_blob(blob: bytes) -> PublicKey:
    """Read the blob of a key. Raises KeyMalformed if perdure cannot verify with it.

    Cached, since few keys make many signatures.
    """
    try:
        strings = split_strings(blob)
        algorithm = strings[0].decode()
        well_formed = len(strings) == _KEY_STRINGS[algorithm]
    except (ValueError, IndexError, KeyError):
        expected = f"an algorithm out of {', '.join(_KEY_STRINGS)}"
        raise KeyMalformed(form="SSH", expected=expected) from None
    if algorithm in CURVES:
        name, _, _, size = CURVES[algorithm]
        well_formed &= strings[1:2] == [name.encode()] and len(strings[-1]) == size
    elif algorithm == RSA:
        modulus = int.from_bytes(strings[-1])
        if well_formed and modulus.bit_length() not in _RSA_BITS:
            raise KeyMalformed(form="SSH", expected="2048 bits or more, and at most 16384")
        well_formed &= all(not string or string[0] < 128 for string in strings[1:])
    else:
        well_formed &= len(strings) > 1 and len(strings[1]) == _ED25519_BYTES
    if not well_formed:
        raise KeyMalformed(form="SSH", expected=f"the fields of {algorithm}, and nothing else")
    return PublicKey(blob)


def read_public_line(text: str) -> PublicKey:
    """Read a public key as OpenSSH writes it: `ssh-ed25519 AAAA… comment`."""
    words = text.split(maxsplit=2)
    try:
        key = read_blob(base64.b64decode(words[1], validate=True))
    except (IndexError, binascii.Error, ValueError) as error:
        if isinstance(error, KeyMalformed):
            raise
        expected = "an algorithm, a space, and the key in base64"
        raise KeyMalformed(form="SSH", expected=expected) from None
    if key.algorithm != words[0]:
        raise KeyMalformed(form="SSH", expected=f"a key of the algorithm {words[0][:40]}")
    return key


# verifying
# ---------


def verify_bytes(key: PublicKey, algorithm: str, signature: bytes, message: bytes) -> None:
    """Verify the signature of a message, in the form that SSH gives to signatures.

    Raises SignatureMalformed if the key cannot make signatures of this algorithm, and
    SignatureWrong if it did not make this one.
    """
    kind = key.algorithm
    allowed = _RSA_HASHES if kind == RSA else (kind,)
    if algorithm not in allowed:
        expected = f"an algorithm of its key: {' or '.join(allowed)}"
        raise SignatureMalformed(form="SSH", expected=expected)
    if kind == ED25519 and sodium.is_signed(key.blob[-_ED25519_BYTES:], signature, message):
        return
    loaded = _load_key(key.blob)
    invalid = _import_cryptography("exceptions").InvalidSignature
    try:
        if kind == ED25519:
            loaded.verify(signature, message)
        elif kind == RSA:
            padding = _import_primitives("asymmetric.padding").PKCS1v15()
            loaded.verify(signature, message, padding, _make_hash(_RSA_HASHES[algorithm]))
        elif kind in CURVES:
            ecdsa = _import_primitives("asymmetric.ec").ECDSA(_make_hash(CURVES[kind][2]))
            loaded.verify(_encode_points(signature), message, ecdsa)
        else:
            _verify_in_hardware(key, loaded, signature, message)
    except invalid:
        raise SignatureWrong(signer=key.fingerprint) from None


def verify_der_signature(key: PublicKey, hash: str, signature: bytes, message: bytes) -> None:
    """Verify an ECDSA signature in DER, with any hash of SHA-2 (`sha384`).

    Raises SignatureWrong, also if the key is not one for ECDSA.
    """
    if key.algorithm not in CURVES:
        raise SignatureWrong(signer=key.fingerprint)
    ecdsa = _import_primitives("asymmetric.ec").ECDSA(_make_hash(hash.upper()))
    try:
        _load_key(key.blob).verify(signature, message, ecdsa)
    except _import_cryptography("exceptions").InvalidSignature:
        raise SignatureWrong(signer=key.fingerprint) from None


def _verify_in_hardware(key: PublicKey, loaded: Any, signature: bytes, message: bytes) -> None:
    """Verify a signature by a FIDO key; `signature` ends with flags and counter."""
    raw, flags_and_counter = signature[:64], signature[64:]
    if len(flags_and_counter) != 5 or not flags_and_counter[0] & 1:
        raise SignatureMalformed(form="SSH", expected="the presence of a user, and a counter")
    application = split_strings(key.blob)[2]
    signed = hashlib.sha256(application).digest() + flags_and_counter
    loaded.verify(raw, signed + hashlib.sha256(message).digest())


def _encode_points(signature: bytes) -> bytes:
    """Return an ECDSA signature of SSH (RFC 5656 section 3.1.2) in DER."""
    try:
        r, s = split_strings(signature)
    except ValueError:
        raise SignatureMalformed(form="SSH", expected="the two numbers of ECDSA") from None
    utils: Any = _import_primitives("asymmetric.utils")
    encoded: bytes = utils.encode_dss_signature(int.from_bytes(r), int.from_bytes(s))
    return encoded


@lru_cache(maxsize=1024)
def _load_key(blob: bytes) -> Any:
    """The key as a value of the library cryptography."""
    strings = split_strings(blob)
    kind = strings[0].decode()
    try:
        if kind in CURVES:
            ec = _import_primitives("asymmetric.ec")
            curve = getattr(ec, CURVES[kind][1])()
            return ec.EllipticCurvePublicKey.from_encoded_point(curve, strings[2])
        if kind == RSA:
            exponent, modulus = (int.from_bytes(string) for string in strings[1:])
            rsa = _import_primitives("asymmetric.rsa")
            return rsa.RSAPublicNumbers(exponent, modulus).public_key()
        ed25519 = _import_primitives("asymmetric.ed25519")
        return ed25519.Ed25519PublicKey.from_public_bytes(strings[1])
    except ValueError:
        raise KeyMalformed(form="SSH", expected=f"a key of {kind} that exists") from None


@lru_cache(maxsize=8)
def _make_hash(name: str) -> Any:
    return getattr(_import_primitives("hashes"), name)()


def _import_primitives(name: str) -> Any:
    return _import_cryptography(f"hazmat.primitives.{name}")


@lru_cache(maxsize=32)
def _import_cryptography(name: str) -> Any:
    return import_library(f"cryptography.{name}", task="verifying signatures", extra="signatures")
