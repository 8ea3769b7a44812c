"""The native Handle protocol: one resolution over TCP or UDP, and the values read.

The codes of answers are those of RFC 3652 section 2.2.2.3.
"""

from __future__ import annotations

from typing import Any

from tests.contract.fixture import LABELS
from tests.contract.table import Cell, Outcome, fill_spelling
from tests.contract.terms import make_list
from tests.server.native_client import NativeSite, make_request

SUCCESS, NOT_FOUND, INVALID, NO_VALUES, NOT_RESPONSIBLE = 1, 100, 102, 200, 301
ERRORS = {
    NOT_FOUND: "not-found",
    INVALID: "malformed-identifier",
    NOT_RESPONSIBLE: "not-found",  # nothing is said of where it may be known
}


def ask(native: NativeSite, cell: Cell, kind: dict[str, Any]) -> Outcome:
    """The outcome of a cell, which is spelled `tcp` or `udp` and the handle."""
    transport, _, handle = fill_spelling(cell.spelling, kind).partition(" ")
    send = native.ask_tcp if transport == "tcp" else native.ask_udp
    reply = send(make_request(handle))
    if reply.code in ERRORS:
        return {"is": ERRORS[reply.code]}
    assert reply.code in (SUCCESS, NO_VALUES), reply.code
    values = reply.read_values()[1] if reply.code == SUCCESS else []
    if cell.question == "locations":
        return make_list(one["data"].decode() for one in values if one["type"] == "URL")
    (checksum,) = (one["data"].decode() for one in values if one["type"] == "CHECKSUM")
    digest = checksum.removeprefix("sha512:")
    return {"is": "digest", "of": LABELS.get(digest, digest)}
