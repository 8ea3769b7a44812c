"""A signed statement as a document: the statement, an empty line, and the signature.

    perdure-signature-v1
    identifier: …
    …
    signed: 2026-11-23T22:30:00Z

    -----BEGIN SSH SIGNATURE-----
    …
    -----END SSH SIGNATURE-----

Time stamps of all this may follow, each in a block of its own (`perdure.signing.stamps`).

How it works: the text before the empty line, with the line feed that ends it, is what was signed.
The beginning of the signature shows its form.

What must stay true: a document has one statement, one signature and its time stamps, and nothing
else.
"""

from __future__ import annotations

import msgspec

from perdure.errors.invalid import InvalidRequest
from perdure.errors.signing import SignatureMalformed, SignerDiffers
from perdure.signing import cms, jws, minisign, ssh, stamps
from perdure.signing.form import FindKey, SignatureForm
from perdure.signing.keys import PublicKey
from perdure.signing.statement import DOMAIN, Statement, parse_statement

MEDIA_TYPE = "text/plain"
CHARSET = "utf-8"
LONGEST = 262_144
"""Bytes of a signed statement."""
FORMS: tuple[SignatureForm, ...] = (ssh.FORM, minisign.FORM, jws.FORM, cms.FORM)
"""In the order in which their beginnings are tried."""


class SignedStatement(msgspec.Struct, frozen=True, kw_only=True):
    """A statement and its signature. `str()` is the document."""

    statement: Statement
    form: SignatureForm
    signature: str
    stamps: tuple[bytes, ...] = ()
    """Time stamps of the document without them."""

    def __str__(self) -> str:
        return f"{self.statement}\n{self.signature}{stamps.write_blocks(self.stamps)}"

    @property
    def stamped_text(self) -> bytes:
        """The bytes of which its time stamps are."""
        return f"{self.statement}\n{self.signature}".encode()


def find_form(signature: str) -> SignatureForm:
    """Return the form of a signature. Raises SignatureMalformed if it is not a known one."""
    for form in FORMS:
        if signature.startswith(form.begin):
            return form
    names = ", ".join(form.name for form in FORMS)
    raise SignatureMalformed(form="attached", expected=f"the beginning of one of {names}")


def join_signature(statement: Statement, signature: str) -> SignedStatement:
    """Return a signed statement. Raises SignatureMalformed if the signature has no known form."""
    return SignedStatement(statement=statement, form=find_form(signature), signature=signature)


def parse_signed_statement(data: bytes) -> SignedStatement:
    """Read a signed statement.

    Raises StatementMalformed, SignatureMalformed or TimeStampMalformed. The signature itself and
    the content of time stamps are not read yet.
    """
    head, gap, tail = data[: LONGEST + 1].partition(b"\n\n")
    statement = parse_statement(head + b"\n" if gap else head)
    try:
        signature = tail.decode() if len(data) <= LONGEST else ""
    except UnicodeDecodeError:
        signature = ""
    signature, mark, blocks = signature.partition(stamps.BEGIN)
    signed = join_signature(statement, signature)
    if not mark:
        return signed
    return msgspec.structs.replace(signed, stamps=stamps.read_blocks(mark + blocks))


def is_signed_statement(data: bytes) -> bool:
    """Return True if the data begins as a statement does."""
    return data.startswith(DOMAIN.encode() + b"\n")


def verify_signed_statement(signed: SignedStatement, find_key: FindKey) -> PublicKey:
    """Verify that the key that a statement names has signed it. Return the key.

    Raises SignatureMalformed, KeyMalformed, or a subclass of SignatureRejected.
    """
    statement = signed.statement
    key = signed.form.verify(signed.signature, statement, find_key)
    if key.fingerprint != statement.signer:
        raise SignerDiffers(stated=statement.signer, found=key.fingerprint)
    return key


def find_targets(data: bytes) -> tuple[str, ...]:
    """Return the name that a signed statement is about; empty if the data is another document."""
    if not is_signed_statement(data):
        return ()
    try:
        return (str(parse_signed_statement(data).statement.identifier),)
    except InvalidRequest:
        return ()
