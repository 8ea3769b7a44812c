"""Messages of webhooks: their body, and their signature. Pure.

How it works: a message is a JSON object with `type`, `timestamp` and `data`. Its signature is an
HMAC-SHA256 over the id of the message, the time of the attempt and the body, joined by full stops.

Specification: Standard Webhooks 1.0.0 (standardwebhooks.com), "Webhook headers" and "Symmetric".

>>> secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
>>> sign_message(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='

What must stay true: an attempt to deliver a message again has the same id and the same body.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

import msgspec

from perdure.reading.harvest import HarvestedRecord
from perdure.reading.targets import spell_path

CHANGED, TEST = "records.changed", "webhook.test"
"""The types of messages."""
_PREFIX = "whsec_"
_SECRET_BYTES = 32  # the specification asks for 24 to 64


class NotifiedRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record in a message, as everyone may see it."""

    name: str
    at: str
    """When it last changed."""
    state: str
    """`changed` or `withdrawn`."""
    address: str = ""
    """The address at which it is resolved; empty if the setting `base_url` is not set."""


def make_secret() -> str:
    """Return a new secret for a webhook."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def make_id() -> str:
    """Return the id of a new message."""
    return f"msg_{secrets.token_hex(16)}"


def sign_message(secret: str, id: str, seconds: int, body: bytes) -> str:
    """Return the value of `webhook-signature`. `seconds` is the time of the attempt (Unix)."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    text = f"{id}.{seconds}.".encode() + body
    return f"v1,{base64.b64encode(hmac.digest(key, text, hashlib.sha256)).decode()}"


def make_headers(secret: str, id: str, seconds: int, body: bytes) -> tuple[tuple[str, str], ...]:
    """Return the header fields of one attempt to deliver a message."""
    return (
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("webhook-id", id),
        ("webhook-timestamp", str(seconds)),
        ("webhook-signature", sign_message(secret, id, seconds, body)),
    )


def write_message(kind: str, now: str, base: str, found: Sequence[HarvestedRecord] = ()) -> bytes:
    """Write the body of a message. `base` is the setting `base_url`."""
    records = [
        NotifiedRecord(
            name=str(one.identifier),
            at=one.at,
            state="withdrawn" if one.resolved is None else "changed",
            address=f"{base}/{spell_path(one.identifier)}" if base else "",
        )
        for one in found
    ]
    return msgspec.json.encode(
        {"type": kind, "timestamp": now, "data": {"resolver": base, "records": records}}
    )
