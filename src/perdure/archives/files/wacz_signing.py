"""Verify the signature of a WACZ package, as far as that is possible without a network.

https://specs.webrecorder.net/wacz-auth/0.1.0/: `signedData` has the hash of `datapackage.json`, an
ECDSA signature with SHA-256 of the text of this hash, and either a public key (anonymous), or a
domain with its certificate, a chain of certificates, and a time signature.

How it works: the signature is verified with the key. If it is that of a certificate, each of the
chain must be signed by the next, the first must be for the domain and valid on the day that the
signature states. `perdure.archives.files.time_stamps` verifies the time signature.

What must stay true: a report names the steps that were verified and the stated signer, and says
that the trust in the last certificates was not verified, and if the time was not.
"""

from __future__ import annotations

import base64
import importlib
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec

from perdure.archives.files.time_stamps import WrongStamp, describe_error, verify_stamp

_EXTRA = "pip install 'perdure[signatures]'"
_MOST_CERTIFICATES = 10


class SignedData(msgspec.Struct, frozen=True):
    """The member `signedData` of `datapackage-digest.json`, as far as perdure reads it."""

    hash: str = ""
    created: str = ""
    software: str = ""
    signature: str = ""
    key: str = msgspec.field(name="publicKey", default="")
    domain: str = ""
    certificates: str = msgspec.field(name="domainCert", default="")
    time_signature: str = msgspec.field(name="timeSignature", default="")
    time_certificates: str = msgspec.field(name="timestampCert", default="")


class SignatureReport(msgspec.Struct, frozen=True):
    """The result of verifying a signature."""

    text: str
    """The steps that were verified, and the others."""
    fault: str = ""
    """Why the signature is wrong; empty if it is not, or was not verified."""


class _Wrong(ValueError):
    """A signature that is wrong. The text says why."""


def verify_signature(signed: SignedData) -> SignatureReport:
    """Verify the signature of a package. Never raises."""
    who = f"by {signed.domain[:253]!a}" if signed.domain else "anonymously"
    said = f"stated to be signed {who} on {signed.created[:40]!a} with {signed.software[:80]!a}"
    try:
        importlib.import_module("cryptography")
    except ImportError:
        return SignatureReport(f"{said}; the signature was not verified: {_EXTRA}")
    try:
        if signed.certificates:
            return SignatureReport(f"{said}; {_verify_domain(signed)}")
        _verify_with_key(signed, _load_key(signed.key))
    except _Wrong as error:
        return SignatureReport(f"{said}; the signature is wrong", str(error))
    return SignatureReport(
        f"{said}; the signature was verified with the key in the package, and the package does not "
        "say whose key it is"
    )


def _load_key(text: str) -> Any:
    serialization: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    try:
        return serialization.load_der_public_key(base64.b64decode(text, validate=True))
    except Exception as error:  # of many kinds, and none of them ours
        raise _Wrong(f"its public key cannot be read: {describe_error(error)}") from None


def _verify_with_key(signed: SignedData, key: Any) -> None:
    ec: Any = importlib.import_module("cryptography.hazmat.primitives.asymmetric.ec")
    utils: Any = importlib.import_module("cryptography.hazmat.primitives.asymmetric.utils")
    hashes: Any = importlib.import_module("cryptography.hazmat.primitives.hashes")
    exceptions: Any = importlib.import_module("cryptography.exceptions")
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise _Wrong("its key is not one for ECDSA")
    try:
        signature = base64.b64decode(signed.signature, validate=True)
    except ValueError:
        raise _Wrong("its signature is not Base64") from None
    size = (key.curve.key_size + 7) // 8
    if len(signature) == 2 * size:  # as browsers write it; authsign writes DER
        numbers = (int.from_bytes(half, "big") for half in (signature[:size], signature[size:]))
        signature = utils.encode_dss_signature(*numbers)
    try:
        key.verify(signature, signed.hash.encode(), ec.ECDSA(hashes.SHA256()))
    except exceptions.InvalidSignature:
        raise _Wrong("its key did not make the signature of this hash") from None
    except Exception as error:  # a curve that the library does not know
        raise _Wrong(f"its signature cannot be verified: {describe_error(error)}") from None


def _verify_domain(signed: SignedData) -> str:
    """Verify a signature by a domain. Return the steps that were verified, and the others."""
    chain = _load_chain(signed.certificates)
    for one, issuer in pairwise(chain):
        try:
            one.verify_directly_issued_by(issuer)
        except Exception as error:  # of many kinds
            raise _Wrong(f"its chain of certificates is broken: {describe_error(error)}") from None
    first = chain[0]
    _verify_with_key(signed, first.public_key())
    names = _list_names(first)
    if signed.domain not in names:
        found = ", ".join(names)[:200]
        raise _Wrong(f"its certificate is for {found!a}, not for {signed.domain[:253]!a}")
    if not first.not_valid_before_utc <= _read_time(signed.created) <= first.not_valid_after_utc:
        raise _Wrong("its certificate was not valid on the day of the signature")
    count = f"{len(chain)} certificates" if len(chain) > 1 else "certificate"
    return (
        f"the signature was verified with the certificate of the domain, and its chain of {count}; "
        f"{_name_untrusted(chain)}; {_verify_time(signed)}"
    )


def _name_untrusted(chain: list[Any]) -> str:
    last = chain[-1].issuer.rfc4514_string()[:200]
    return f"whether {last!a}, who issued the last one, can be trusted was not verified"


def _verify_time(signed: SignedData) -> str:
    """Verify the time signature. Return what was verified."""
    if not signed.time_signature:
        return "the time is only stated, there is no time signature"
    if not signed.time_certificates:
        return "the time signature was not verified: its certificates are missing"
    chain = _load_chain(signed.time_certificates)
    if chain[-1].issuer != chain[-1].subject:  # a library for X.509 goes on to a root
        return "the time signature was not verified: its chain of certificates has no root"
    try:
        found = verify_stamp(
            signed.signature, signed.time_signature, chain, _read_time(signed.created)
        )
    except ImportError:
        return f"the time signature was not verified: {_EXTRA}"
    except WrongStamp as error:
        raise _Wrong(str(error)) from None
    return (
        f"the time signature of {found.isoformat()!a} was verified with its certificates; "
        f"{_name_untrusted(chain)}"
    )


def _load_chain(text: str) -> list[Any]:
    x509: Any = importlib.import_module("cryptography.x509")
    try:
        chain: list[Any] = x509.load_pem_x509_certificates(text.encode())
    except Exception as error:  # of many kinds
        raise _Wrong(f"its certificates cannot be read: {describe_error(error)}") from None
    if len(chain) > _MOST_CERTIFICATES:
        raise _Wrong(f"it has {len(chain)} certificates; at most {_MOST_CERTIFICATES} are read")
    return chain


def _list_names(certificate: Any) -> list[str]:
    x509: Any = importlib.import_module("cryptography.x509")
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    names = [str(one.value) for one in common]
    try:
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        names += held.value.get_values_for_type(x509.DNSName)
    except (x509.ExtensionNotFound, ValueError):
        pass
    return list(dict.fromkeys(names))


def _read_time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise _Wrong("the time of the signature cannot be read") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
