"""Keys in files, of any kind that perdure reads: private ones to sign, public ones to be named.

What must stay true: no part of a private key is in an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from perdure.errors.signing import KeyMalformed
from perdure.errors.unavailable import import_library
from perdure.signing.keys import PublicKey, read_public_line
from perdure.signing.minisign import read_minisign_key, read_minisign_signer
from perdure.signing.ssh import read_ssh_signer
from perdure.signing.statement import Statement

LARGEST_FILE = 1 << 16
"""Bytes of a key file."""


class Signer(Protocol):
    """A private key."""

    key: PublicKey

    def sign_statement(self, statement: Statement) -> str:
        """Return a signature of the statement, as text."""


def read_signer(data: bytes, passphrase: bytes | None = None) -> Signer:
    """Read a private key of OpenSSH, in PEM, or of minisign.

    Raises KeyLocked if its passphrase is missing or wrong, and KeyMalformed.
    """
    if b"PRIVATE KEY-----" in data:
        return read_ssh_signer(data, passphrase)
    return read_minisign_signer(data, passphrase)


def load_public_key(path: Path) -> PublicKey:
    """Read the public key in a file, as `read_public_key`. Raises OSError, too."""
    with path.open("rb") as file:
        return read_public_key(file.read(LARGEST_FILE))


def read_public_key(data: bytes) -> PublicKey:
    """Read the public key in a file: of OpenSSH, of minisign, in PEM, or in a certificate.

    Raises KeyMalformed.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise KeyMalformed(form="public", expected="a line of text") from None
    if text.startswith(("ssh-", "ecdsa-", "sk-")):
        return read_public_line(text)
    if text.startswith("-----BEGIN "):
        return _read_pem(data)
    return read_minisign_key(text).key


def _read_pem(data: bytes) -> PublicKey:
    """Read a public key or a certificate in PEM."""
    task, extra = "reading a key", "signatures"
    x509: Any = import_library("cryptography.x509", task=task, extra=extra)
    forms: Any = import_library(
        "cryptography.hazmat.primitives.serialization", task=task, extra=extra
    )
    try:
        if data.startswith(b"-----BEGIN CERTIFICATE"):
            public = x509.load_pem_x509_certificate(data).public_key()
        else:
            public = forms.load_pem_public_key(data)
        line: bytes = public.public_bytes(forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH)
    except Exception:  # of many kinds, and none of them ours
        raise KeyMalformed(form="PEM", expected="a public key or a certificate") from None
    return read_public_line(line.decode())
