"""Signatures of SSH keys: SSHSIG, as `ssh-keygen -Y sign` makes and `ssh-keygen -Y verify` reads.

    ssh-keygen -Y sign -n perdure-signature-v1 -f KEY statement

How it works: a signature holds the public key, the namespace for which it was made, and the name of
the hash that was applied to the text. The key signs these, and the hash of the text.

What must stay true: a signature for another namespace is refused, because the key did not sign it
as a statement of perdure. A signature has one reading: no byte is left over.

Specification: PROTOCOL.sshsig of OpenSSH.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any

import msgspec

from perdure.errors.signing import (
    KeyLocked,
    KeyMalformed,
    SignatureForOtherUse,
    SignatureMalformed,
)
from perdure.errors.unavailable import import_library
from perdure.signing.form import FindKey, SignatureForm
from perdure.signing.keys import (
    ED25519,
    SK_ED25519,
    PublicKey,
    make_ed25519_key,
    pack_string,
    read_blob,
    split_strings,
    verify_bytes,
)
from perdure.signing.statement import DOMAIN, Statement

BEGIN = "-----BEGIN SSH SIGNATURE-----"
END = "-----END SSH SIGNATURE-----"
LONGEST = 16_384
"""Bytes of a signature; one of the longest RSA key has 6 KB."""
_MAGIC = b"SSHSIG" + bytes((0, 0, 0, 1))
_ARMOUR = re.compile(f"{BEGIN}\r?\n([A-Za-z0-9+/=\r\n]++){END}(?:\r?\n)?")
_COLUMNS = 70  # as ssh-keygen writes it
_BEFORE_HASH = b"SSHSIG" + pack_string(DOMAIN.encode()) + pack_string(b"")
_HASHES: dict[str, Callable[[bytes], Any]] = {"sha512": hashlib.sha512, "sha256": hashlib.sha256}


class SshSignature(msgspec.Struct, frozen=True):
    """The fields of an SSHSIG."""

    key: PublicKey
    namespace: str
    hash: str
    algorithm: str
    signature: bytes


def parse_ssh_signature(armoured: str) -> SshSignature:
    """Read a signature in its armour. Raises SignatureMalformed, or KeyMalformed for its key."""
    found = _ARMOUR.fullmatch(armoured) if len(armoured) <= LONGEST else None
    if found is None:
        raise SignatureMalformed(form="SSH", expected=f"{BEGIN}, base64 and {END}")
    try:
        encoded = found[1].replace("\n", "").replace("\r", "")
        blob = base64.b64decode(encoded, validate=True)
        key, namespace, _, hash, signed = split_strings(blob.removeprefix(_MAGIC))
        algorithm, signature = _split_signature(signed)
        well_formed = blob.startswith(_MAGIC) and hash.decode() in _HASHES
        names = (namespace.decode(), hash.decode(), algorithm.decode())
    except ValueError:
        well_formed = False
    if not well_formed:
        raise SignatureMalformed(form="SSH", expected="the fields of PROTOCOL.sshsig")
    return SshSignature(read_blob(key), *names, signature)


def _split_signature(signed: bytes) -> tuple[bytes, bytes]:
    """The algorithm and the signature. A key in hardware adds five bytes at the end."""
    marked = pack_string(SK_ED25519.encode())
    if signed.startswith(marked) and len(signed) > len(marked) + 5:
        (raw,) = split_strings(signed[len(marked) : -5])
        return SK_ED25519.encode(), raw + signed[-5:]
    algorithm, signature = split_strings(signed)
    return algorithm, signature


def verify_ssh_signature(signature: SshSignature, text: bytes) -> PublicKey:
    """Verify that a signature was made of a statement. Return its key.

    Raises SignatureForOtherUse if it was made for another namespace, and SignatureWrong.
    """
    if signature.namespace != DOMAIN:
        raise SignatureForOtherUse(found=signature.namespace, needed=DOMAIN)
    message = _compose_message(signature.hash, text)
    verify_bytes(signature.key, signature.algorithm, signature.signature, message)
    return signature.key


class SshSigner:
    """An Ed25519 key that signs."""

    def __init__(self, private: Any) -> None:
        self._private = private
        self.key = make_ed25519_key(private.public_key().public_bytes_raw())

    def sign_statement(self, statement: Statement) -> str:
        """Return a signature in its armour."""
        return self.sign_text(statement.text)

    def sign_text(self, text: bytes) -> str:
        """Return a signature in its armour, byte for byte as ssh-keygen writes it."""
        raw = self._private.sign(_compose_message("sha512", text))
        blob = _MAGIC + b"".join(
            pack_string(field)
            for field in (
                self.key.blob,
                DOMAIN.encode(),
                b"",
                b"sha512",
                pack_string(ED25519.encode()) + pack_string(raw),
            )
        )
        encoded = base64.b64encode(blob).decode()
        lines = [encoded[at : at + _COLUMNS] for at in range(0, len(encoded), _COLUMNS)]
        return "\n".join((BEGIN, *lines, END, ""))


def read_ssh_signer(data: bytes, passphrase: bytes | None = None) -> SshSigner:
    """Read a private key in a file of OpenSSH, or in PEM.

    Raises KeyLocked without its passphrase, KeyMalformed if it is not an Ed25519 key, and
    MissingLibrary if it is encrypted and bcrypt is not installed.
    """
    load: Any = import_library(
        "cryptography.hazmat.primitives.serialization", task="signing", extra="signatures"
    )
    ed25519: Any = import_library(
        "cryptography.hazmat.primitives.asymmetric.ed25519", task="signing", extra="signatures"
    )
    exceptions: Any = import_library("cryptography.exceptions", task="signing", extra="signatures")
    is_openssh = b"-----BEGIN OPENSSH PRIVATE KEY-----" in data
    read = load.load_ssh_private_key if is_openssh else load.load_pem_private_key
    try:
        private = read(data, passphrase)
    except TypeError:  # a passphrase is missing, or there is one for a key that is not encrypted
        raise KeyLocked(form="SSH") from None
    except exceptions.UnsupportedAlgorithm:
        import_library("bcrypt", task="opening an encrypted key", extra="signatures")
        raise KeyMalformed(form="SSH", expected="a cipher that is known here") from None
    except ValueError:
        if passphrase is not None:
            raise KeyLocked(form="SSH") from None
        raise KeyMalformed(form="SSH", expected="a private key") from None
    if not isinstance(private, ed25519.Ed25519PrivateKey):
        raise KeyMalformed(form="SSH", expected="an Ed25519 key, the kind that perdure signs with")
    return SshSigner(private)


def _compose_message(hash: str, text: bytes) -> bytes:
    """The bytes that the key signs."""
    named = pack_string(hash.encode()) + pack_string(_HASHES[hash](text).digest())
    return _BEFORE_HASH + named


def _verify(text: str, statement: Statement, _find_key: FindKey) -> PublicKey:
    return verify_ssh_signature(parse_ssh_signature(text), statement.text)


FORM = SignatureForm(name="SSHSIG", begin=BEGIN, verify=_verify)
