"""Commands that are sent twice: the second gets the receipt of the first (idempotency keys).

How it works: the journal keeps the answer to each command with an idempotency key, under its author
and the key, with a fingerprint of the request.

What must stay true: a key is answered with its receipt only if the request is the same; the form of
a fingerprint never changes, because fingerprints are stored.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

import msgspec

from perdure.errors.requests import KeyReused
from perdure.model.commands import Command, Receipt, list_contents
from perdure.writing.ledger import Ledger

ANSWERS_KEPT = timedelta(days=30)
"""How long an idempotency key is remembered."""

_ADDED: dict[str, object] = {
    "part": None, "targets": (), "later": (), "about": None, "day": "", "delegates": False,
}  # fmt: skip
"""Fields that were added after fingerprints were stored, with their defaults."""

_encode = msgspec.json.Encoder().encode
_decode_receipt = msgspec.json.Decoder(Receipt).decode


def find_receipt(ledger: Ledger, command: Command, once: str) -> Receipt | None:
    """The receipt of an earlier command with this key, or None if it is new.

    Raises InvalidRequest if the key belongs to another request.
    """
    earlier = ledger.journal.find_answer(command.by, once)
    if earlier is None:
        return None
    if earlier[0] != fingerprint_command(command):
        raise KeyReused(key=once)
    return msgspec.structs.replace(_decode_receipt(earlier[1]), replayed=True)


def save_receipt(ledger: Ledger, command: Command, once: str, receipt: Receipt) -> None:
    """Remember the receipt of a command with its key, in the batch of the command."""
    request = fingerprint_command(command)
    ledger.journal.save_answer(command.by, once, request, _encode(receipt).decode(), ledger.now)


def fingerprint_command(command: Command) -> str:
    """SHA-256 of the fields that make two commands the same request; bytes count by their digest.

    The revision that the sender expected does not count, since a repetition meets another one, nor
    does evidence, which a repetition no longer finds.
    """
    seen = [type(command).__name__]
    for name in command.__struct_fields__:
        if name in ("content", "contents"):
            seen.extend(
                f"{one.format} {one.media_type} {one.sha512}" for one in list_contents(command)
            )
        elif getattr(command, name) == _ADDED.get(name, ...):
            continue
        elif name not in ("expect", "once", "bearer", "evidence"):
            value = getattr(command, name)
            if name == "targets":
                value = " ".join(map(str, value))
            elif name == "later":
                value = tuple(len(some) for some in value)  # the bytes count as `contents`
            elif name == "about":
                value = _encode(value).decode()
            # Until the ruling pdi-reserved-name, this was the format of a name without bytes.
            seen.append(f"{name}={value if (name, value) != ('format', '') else 'text'}")
    seen.append(f"once={command.once}")  # last, as in the stored fingerprints
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()
