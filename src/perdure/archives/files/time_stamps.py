"""Verify the time stamp (RFC 3161) of a signed WACZ package, without a network.

https://specs.webrecorder.net/wacz-auth/0.1.0/: `timeSignature` is the response of a time-stamping
authority, in Base64, about the text of `signature`; `timestampCert` has the certificate of the
authority and its chain. authsign and `wacz validate` refuse a stamp of another time than the stated
one; so does this.

How it works: rfc3161-client verifies the response with the certificates in the package; the last
one is taken for the root.

What must stay true: a report says whose certificate ends the chain, and that the trust in it was
not verified. Without the library, nothing is said to be verified.
"""

from __future__ import annotations

import base64
import importlib
from datetime import datetime, timedelta
from typing import Any

from perdure.signing.der import sort_certificates

LATEST = timedelta(minutes=10)
"""How long after the stated time a stamp may be made: `STAMP_DURATION` of authsign."""
_ROUNDED = timedelta(seconds=1)
"""A stamp may have whole seconds only."""


class WrongStamp(ValueError):
    """A time stamp that is wrong. The text says why."""


def verify_stamp(signature: str, stamp: str, chain: list[Any], stated: datetime) -> datetime:
    """Verify that the owner of the first certificate of a chain stamped the text of a signature.

    Return the time of the stamp. Raises WrongStamp, or ImportError without rfc3161-client.
    """
    library: Any = importlib.import_module("rfc3161_client")
    try:
        answer = sort_certificates(base64.b64decode(stamp, validate=True))
        response = library.decode_timestamp_response(answer)
    except ValueError as error:  # neither Base64 nor a response
        raise WrongStamp(f"its time signature cannot be read: {describe_error(error)}") from None
    first, *others = chain
    verifier = library.VerifierBuilder(
        tsa_certificate=first, intermediates=others[:-1], roots=[chain[-1]]
    ).build()
    try:
        verifier.verify_message(response, signature.encode())
        found: datetime = response.tst_info.gen_time
    except Exception as error:  # of many kinds, and none of them ours
        raise WrongStamp(f"its time signature is wrong: {describe_error(error)}") from None
    if not stated - _ROUNDED <= found <= stated + LATEST:
        raise WrongStamp(
            f"its time signature is of {found.isoformat()}, and not of the ten minutes after the "
            f"stated time {stated.isoformat()}"
        )
    return found


def describe_error(error: Exception) -> str:
    """Shorten what a library said of its error; without words, name its type."""
    return (str(error) or type(error).__name__)[:200]
