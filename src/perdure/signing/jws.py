"""Detached JSON Web Signatures: one line, `header..signature`, without the payload.

How it works: the payload is the statement, which the document has already. The protected header
names the algorithm; its member `typ` must be the domain of statements, as `perdure-signature-v1`.
Both ways to sign the payload are read: in base64url (RFC 7515), and as it is (`b64` false, RFC
7797). The key is the one that the statement names, from the list of allowed signers.

What must stay true: the algorithm must be one of the kind of the key, so `none` and the secrets of
HMAC are refused. A header with a critical member that perdure does not know is refused.

Specifications: RFC 7515 (section 7.2.2 and appendix F), RFC 7518, RFC 7797, RFC 8037.
"""

from __future__ import annotations

import base64
import re
from typing import Any

import msgspec

from perdure.errors.signing import KeyUnknown, SignatureForOtherUse, SignatureMalformed
from perdure.signing.form import FindKey, SignatureForm
from perdure.signing.keys import CURVES, ED25519, RSA, PublicKey, pack_string, verify_bytes
from perdure.signing.statement import DOMAIN, Statement

BEGIN = "eyJ"
"""The base64url of `{"`."""
_LINE = re.compile(r"([A-Za-z0-9_-]{4,8192})\.\.([A-Za-z0-9_-]{16,4096})(?:\r?\n)?")
_EC_BYTES = {"ES256": 32, "ES384": 48, "ES512": 66}
_KINDS = {
    "EdDSA": ED25519,
    "Ed25519": ED25519,
    "RS256": RSA,
    "RS512": RSA,
} | dict(zip(_EC_BYTES, CURVES, strict=True))
_RSA_NAMES = {"RS256": "rsa-sha2-256", "RS512": "rsa-sha2-512"}


def _verify(text: str, statement: Statement, find_key: FindKey) -> PublicKey:
    found = _LINE.fullmatch(text)
    if found is None:
        raise _expect("a header, two dots and a signature in base64url")
    header = _read_header(found[1])
    if header.get("typ") != DOMAIN:
        raise SignatureForOtherUse(found=str(header.get("typ", ""))[:200], needed=DOMAIN)
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in _KINDS:
        raise _expect(f"an algorithm out of {', '.join(_KINDS)}")
    is_encoded = _reads_encoded(header)
    payload = _encode(statement.text) if is_encoded else statement.text
    key = find_key(statement.signer)
    if key is None:
        raise KeyUnknown(signer=statement.signer)
    if key.algorithm != _KINDS[algorithm]:
        raise _expect(f"an algorithm of its key, which is {key.algorithm}")
    signature = _decode(found[2])
    name = _RSA_NAMES.get(algorithm, key.algorithm)
    signed = found[1].encode() + b"." + payload
    verify_bytes(key, name, _convert_signature(algorithm, signature), signed)
    return key


def _read_header(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(_decode(text), type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise _expect("a header in JSON") from None


def _reads_encoded(header: dict[str, Any]) -> bool:
    """Return False if the payload was signed as it is. `b64` must be critical then."""
    critical = header.get("crit", [])
    is_encoded = header.get("b64", True)
    known = critical == ["b64"] if "b64" in header else "crit" not in header
    if not known or not isinstance(is_encoded, bool):
        raise _expect("only the critical member b64")
    return is_encoded


def _convert_signature(algorithm: str, signature: bytes) -> bytes:
    """Return a signature in the form of SSH: of ECDSA, two numbers instead of fixed lengths."""
    size = _EC_BYTES.get(algorithm)
    if size is None:
        return signature
    if len(signature) != 2 * size:
        raise _expect(f"two numbers, as {algorithm} has them")
    return b"".join(pack_string(b"\0" + half) for half in (signature[:size], signature[size:]))


def _encode(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _decode(text: str) -> bytes:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        data = b""
    if _encode(data).decode() != text:
        raise _expect("base64url without padding")
    return data


def _expect(expected: str) -> SignatureMalformed:
    return SignatureMalformed(form="JWS", expected=expected)


FORM = SignatureForm(name="JWS", begin=BEGIN, verify=_verify)
