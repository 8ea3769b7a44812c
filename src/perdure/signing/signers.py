"""Keys in files, of any kind that perdure reads: private ones to sign, public ones to be named.

What must stay true: no part of a private key is in an error.
"""

from __future__ import annotations

from typing import Protocol

from perdure.errors.signing import KeyMalformed
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


def read_public_key(data: bytes) -> PublicKey:
    """Read the public key of OpenSSH or of minisign in a file. Raises KeyMalformed."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise KeyMalformed(form="public", expected="a line of text") from None
    if text.startswith(("ssh-", "ecdsa-", "sk-")):
        return read_public_line(text)
    return read_minisign_key(text).key
