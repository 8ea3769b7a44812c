"""Time stamps of signatures (RFC 3161): proofs that a signature existed at a time.

    openssl ts -query -data signed -sha512 -cert -out query

How it works: the authority stamps the signed statement, byte for byte, as the registry keeps it.
Its answer, or only the token in it, follows the signature in a block of its own. rfc3161-client
verifies it with the certificates of the authorities that this registry trusts.

What must stay true: the time of a stamp is the latest at which the signature can have been made:
fractions of a second and the stated inaccuracy are added. A stamp by an unknown authority proves
nothing.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import Any

from perdure.errors.signing import TimeAuthoritiesMissing, TimeStampMalformed, TimeStampRejected
from perdure.errors.unavailable import import_library
from perdure.model.timestamps import format_timestamp
from perdure.signing.der import sort_certificates

BEGIN = "-----BEGIN TIMESTAMP TOKEN-----"
END = "-----END TIMESTAMP TOKEN-----"
LARGEST = 32_768
"""Bytes of an answer of an authority, with its certificates."""
MOST = 4
"""Time stamps of one signature."""
_BLOCK = re.compile(f"{BEGIN}\n([A-Za-z0-9+/=\n]++){END}\n")
_COLUMNS = 64
_GRANTED = bytes.fromhex("3003020100")
"""The status of an answer that contains a token (RFC 3161 section 2.4.2)."""
_SEQUENCE = 0x30
_OID = 0x06


def write_blocks(stamps: Sequence[bytes]) -> str:
    """Return time stamps as blocks of text."""
    lines: list[str] = []
    for stamp in stamps:
        encoded = base64.b64encode(stamp).decode()
        lines += (BEGIN, *(encoded[at : at + _COLUMNS] for at in range(0, len(encoded), _COLUMNS)))
        lines.append(END)
    return "".join(f"{line}\n" for line in lines)


def read_blocks(text: str) -> tuple[bytes, ...]:
    """Read the blocks of which a text consists. Raises TimeStampMalformed."""
    try:
        found = tuple(
            base64.b64decode(one[1].replace("\n", ""), validate=True)
            for one in _BLOCK.finditer(text)
        )
    except ValueError:
        found = ()
    if write_blocks(found) != text or len(found) > MOST or max(map(len, found)) > LARGEST:
        raise TimeStampMalformed(expected=f"at most {MOST} blocks of base64 in lines of 64")
    return found


def read_certificates(data: bytes) -> tuple[Any, ...]:
    """Read the certificates of authorities, in PEM. Raises TimeStampMalformed."""
    x509: Any = import_library("cryptography.x509", task="reading certificates", extra="signatures")
    try:
        return tuple(x509.load_pem_x509_certificates(data))
    except ValueError:
        raise TimeStampMalformed(expected="certificates in PEM") from None


def verify_stamp(stamp: bytes, text: bytes, certificates: Sequence[Any]) -> str:
    """Verify that one of the authorities stamped a text. Return the time, in UTC.

    Of the certificates, those that signed themselves are the roots. Raises TimeStampRejected,
    TimeAuthoritiesMissing without a root, and MissingLibrary without rfc3161-client.
    """
    library: Any = import_library("rfc3161_client", task="time stamps", extra="signatures")
    roots = [one for one in certificates if one.issuer == one.subject]
    others = [one for one in certificates if one.issuer != one.subject]
    if not roots:
        raise TimeAuthoritiesMissing()
    try:
        response = library.decode_timestamp_response(wrap_token(sort_certificates(stamp)))
        verifier = library.VerifierBuilder(roots=roots, intermediates=others).build()
        verifier.verify_message(response, text)
        found = response.tst_info
        at = found.gen_time if found.gen_time.tzinfo else found.gen_time.replace(tzinfo=UTC)
        at += _read_accuracy(found.accuracy)
    except Exception as error:  # of many kinds, and none of them ours
        raise TimeStampRejected(fault=str(error) or type(error).__name__) from None
    if at.microsecond:
        at = at.replace(microsecond=0) + timedelta(seconds=1)
    return format_timestamp(at.astimezone(UTC))


def _read_accuracy(accuracy: Any) -> timedelta:
    if accuracy is None:
        return timedelta()
    return timedelta(
        seconds=accuracy.seconds or 0,
        milliseconds=accuracy.millis or 0,
        microseconds=accuracy.micros or 0,
    )


def wrap_token(stamp: bytes) -> bytes:
    """Return the answer of an authority; around a token alone, an answer that grants it."""
    start = 2 if stamp[1:2] < b"\x80" else 2 + (stamp[1] & 0x7F)
    if stamp[start : start + 1] != bytes((_OID,)):
        return stamp
    content = _GRANTED + stamp
    return bytes((_SEQUENCE, 0x82)) + len(content).to_bytes(2) + content
