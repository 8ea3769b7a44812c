"""CMS signatures (PKCS #7, S/MIME), detached, in PEM: verified, not made.

    openssl cms -sign -binary -outform PEM -signer cert.pem -inkey key.pem -in statement

How it works: `read_elements` reads DER, of which a signature has a few levels. The signer must be
the one that the statement names: its key comes from the list of allowed signers, or from a
certificate in the signature that has this key. Certificates prove nothing else here: no chain is
followed, and their dates do not count, because the list of allowed signers says who is trusted.

What must stay true: exactly one signer; the signed attributes have the digest of the statement and
the type `data`; every length is definite and minimal, as DER requires.

Specification: RFC 5652 (sections 5.1 to 5.6), RFC 8419 (Ed25519).
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any, NamedTuple

from perdure.errors.signing import KeyUnknown, SignatureMalformed, SignatureWrong
from perdure.errors.unavailable import import_library
from perdure.signing.form import FindKey, SignatureForm
from perdure.signing.keys import (
    ED25519,
    RSA,
    PublicKey,
    read_public_line,
    verify_bytes,
    verify_der_signature,
)
from perdure.signing.statement import Statement

BEGIN = "-----BEGIN "
_ARMOUR = re.compile(
    "-----BEGIN (CMS|PKCS7)-----\r?\n([A-Za-z0-9+/=\r\n]++)-----END (CMS|PKCS7)-----(?:\r?\n)?"
)
_SEQUENCE, _SET, _OID, _OCTETS, _INTEGER = 0x30, 0x31, 0x06, 0x04, 0x02
_FIRST, _SECOND = 0xA0, 0xA1  # [0] and [1], constructed
_MOST_ELEMENTS = 64
_MOST_CERTIFICATES = 16
_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
_DATA = bytes.fromhex("2a864886f70d010701")
_CONTENT_TYPE = bytes.fromhex("2a864886f70d010903")
_MESSAGE_DIGEST = bytes.fromhex("2a864886f70d010904")
_HASHES = {
    bytes.fromhex("608648016503040201"): "sha256",
    bytes.fromhex("608648016503040202"): "sha384",
    bytes.fromhex("608648016503040203"): "sha512",
}


class DerElement(NamedTuple):
    """An element of DER: its tag, its content, and both with the length between them."""

    tag: int
    content: bytes
    whole: bytes


def read_elements(data: bytes) -> list[DerElement]:
    """Return the elements of which the data consists. Raises ValueError if it is not DER."""
    found: list[DerElement] = []
    at = 0
    while at < len(data):
        if len(found) == _MOST_ELEMENTS or at + 2 > len(data):
            raise ValueError(f"not DER at {at}")
        length, start = data[at + 1], at + 2
        if length >= 0x80:
            size = length - 0x80
            digits = data[start : start + size]
            length, start = int.from_bytes(digits), start + size
            if not 1 <= size <= 4 or len(digits) < size or length < 128 or not digits[0]:
                raise ValueError(f"not DER at {at}")
        if start + length > len(data) or data[at] & 0x1F == 0x1F:
            raise ValueError(f"not DER at {at}")
        end = start + length
        found.append(DerElement(data[at], data[start:end], data[at:end]))
        at = end
    return found


def _open(data: bytes, tag: int = _SEQUENCE) -> list[DerElement]:
    """Return the elements in the only element of the data, which must have this tag."""
    (outer,) = read_elements(data)
    if outer.tag != tag:
        raise ValueError(tag)
    return read_elements(outer.content)


class _SignerInfo(NamedTuple):
    hash: str
    attributes: DerElement | None
    signature: bytes


def _read_signed_data(blob: bytes) -> tuple[list[bytes], _SignerInfo]:
    """Return the certificates and the only signer. Raises ValueError."""
    kind, wrapped = _open(blob)
    if kind.whole[:1] != bytes((_OID,)) or kind.content != _SIGNED_DATA or wrapped.tag != _FIRST:
        raise ValueError("type")
    version, algorithms, content, *rest = _open(wrapped.content)
    (content_type,) = read_elements(content.content)  # detached: no content
    tags = (version.tag, algorithms.tag, content.tag, content_type.content)
    if tags != (_INTEGER, _SET, _SEQUENCE, _DATA):
        raise ValueError("content")
    certificates: list[bytes] = []
    if rest[0].tag == _FIRST:
        certificates = [one.whole for one in read_elements(rest.pop(0).content)]
    if rest[0].tag == _SECOND:
        rest.pop(0)  # lists of revoked certificates
    (signers,) = rest
    (signer,) = read_elements(signers.content)  # exactly one
    if signers.tag != _SET or signer.tag != _SEQUENCE or len(certificates) > _MOST_CERTIFICATES:
        raise ValueError("signers")
    _, _, digest, *last = read_elements(signer.content)
    attributes = last.pop(0) if last[0].tag == _FIRST else None
    _, signature, *_ = last
    if signature.tag != _OCTETS:
        raise ValueError("signature")
    hash = _HASHES[read_elements(digest.content)[0].content]
    return certificates, _SignerInfo(hash, attributes, signature.content)


def _check_attributes(signer: _SignerInfo, statement: Statement) -> bytes:
    """Return the message that was signed. Raises ValueError if its attributes are not complete, and
    SignatureWrong if they are about another text."""
    if signer.attributes is None:
        return statement.text
    found: dict[bytes, bytes] = {}
    for one in read_elements(signer.attributes.content):
        name, values = read_elements(one.content)
        (value,) = read_elements(values.content)
        if name.content in found:
            raise ValueError("attribute")
        found[name.content] = value.content
    if found.get(_CONTENT_TYPE) != _DATA or _MESSAGE_DIGEST not in found:
        raise ValueError("attributes")
    if found[_MESSAGE_DIGEST] != hashlib.new(signer.hash, statement.text).digest():
        raise SignatureWrong(signer=statement.signer)
    return bytes((_SET,)) + signer.attributes.whole[1:]  # section 5.4


def _verify(text: str, statement: Statement, find_key: FindKey) -> PublicKey:
    found = _ARMOUR.fullmatch(text)
    if found is None or found[1] != found[3]:
        raise SignatureMalformed(form="CMS", expected="PEM with the label CMS or PKCS7")
    try:
        blob = base64.b64decode(re.sub("[\r\n]", "", found[2]), validate=True)
        certificates, signer = _read_signed_data(blob)
        message = _check_attributes(signer, statement)
    except SignatureWrong:
        raise
    except (ValueError, KeyError, IndexError):
        expected = "a detached signature by one signer, with SHA-2, in DER"
        raise SignatureMalformed(form="CMS", expected=expected) from None
    key = find_key(statement.signer) or _find_certified(certificates, statement.signer)
    if key is None:
        raise KeyUnknown(signer=statement.signer)
    if key.algorithm == ED25519:
        verify_bytes(key, ED25519, signer.signature, message)
    elif key.algorithm == RSA and signer.hash != "sha384":
        verify_bytes(key, f"rsa-sha2-{signer.hash[3:]}", signer.signature, message)
    else:
        verify_der_signature(key, signer.hash, signer.signature, message)
    return key


def _find_certified(certificates: list[bytes], signer: str) -> PublicKey | None:
    """Return the key with this fingerprint if a certificate has it."""
    x509: Any = import_library("cryptography.x509", task="verifying CMS", extra="signatures")
    forms: Any = import_library(
        "cryptography.hazmat.primitives.serialization", task="verifying CMS", extra="signatures"
    )
    for one in certificates:
        try:
            public = x509.load_der_x509_certificate(one).public_key()
            line = public.public_bytes(forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH)
            key = read_public_line(line.decode())
        except Exception:  # noqa: S112  (of many kinds, and none of them ours)
            continue
        if key.fingerprint == signer:
            return key
    return None


FORM = SignatureForm(name="CMS", begin=BEGIN, verify=_verify)
