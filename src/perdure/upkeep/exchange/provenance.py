"""Facts of another system that come along: owner, dates, state, and an address that is not public.

How it works: they are name-value pairs of the metadata, under the names that EZID gives them:
`_owner`, `_created`, `_updated`, `_status`, `_target`. An identifier that its system shows to
readers has its address as a location. A reserved one has none, so it does not resolve; its address
waits in `_target`. For an unavailable one, the address was broken, with the reason. An address that
is not a URI, but means one, such as one with spaces or accents, stays in `_target` as it came.

What must stay true: the address of a reserved or unavailable identifier is never a location.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from perdure.model.records import Record
from perdure.model.timestamps import format_timestamp
from perdure.policy import binding
from perdure.policy.handles import addresses

OWNER = "_owner"
CREATED = "_created"
UPDATED = "_updated"
STATUS = "_status"
TARGET = "_target"
MOMENTS = frozenset((CREATED, UPDATED))
"""Pairs that are moments, in seconds since 1970 if they come from EZID."""

_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?Z")

PUBLIC = "public"
RESERVED = "reserved"
UNAVAILABLE = "unavailable"
NO_REASON = "unavailable"
"""The reason of an unavailable identifier whose system gives none."""


def place_target(line: dict[str, Any], pairs: dict[str, str], target: str, status: str) -> None:
    """Put the address of an identifier into its line, as its status demands.

    Raises InvalidRequest if a public address cannot be a location.
    """
    word, _, reason = (one.strip() for one in status.partition("|"))
    if word == UNAVAILABLE:
        ending = {"reason": reason or NO_REASON, "by": pairs.get(OWNER, "")}
        moment = read_moment(pairs.get(UPDATED, ""))
        line["broken"] = [ending | ({"at": moment} if moment else {})]
    if not target:
        return
    if word in (RESERVED, UNAVAILABLE):
        pairs[TARGET] = target
        return
    address = read_target(target)
    if address != target:
        pairs[TARGET] = target
    line["locations"] = [address]


def read_target(target: str) -> str:
    """Return the location that an address means. Raises InvalidRequest if it means none.

    >>> read_target("https://a.example/caf\u00e9 1")
    'https://a.example/caf%C3%A9%201'
    """
    address = addresses.read_address(target)
    if address is None:
        binding.check_uri(target)  # says what is wrong
    return address or target


def read_moment(text: str) -> str:
    """Return a moment as records have it; empty if the text is neither seconds nor a moment.

    >>> read_moment("1514764800"), read_moment("2018-01-01T00:00:00Z"), read_moment("2018")
    ('2018-01-01T00:00:00Z', '2018-01-01T00:00:00Z', '')
    """
    if text.isascii() and text.isdigit() and len(text) in (9, 10):
        return format_timestamp(datetime.fromtimestamp(int(text), UTC))
    found = _MOMENT.fullmatch(text)
    return f"{found[1]}Z" if found else ""


def count_seconds(moment: str) -> int:
    """Return the seconds since 1970 of a moment.

    >>> count_seconds("2018-01-01T00:00:00Z")
    1514764800
    """
    return int(datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp())


def find_target(record: Record) -> str:
    """Find the address of a record as it came: its first location, or the one that waits."""
    kept = record.metadata.get(TARGET, "")
    if not record.locations:
        return kept
    uri = record.locations[0].uri
    return kept if kept and addresses.read_address(kept) == uri else uri


def find_status(record: Record) -> str:
    """Find the status of a record in the words of EZID."""
    ending = record.tombstone or record.unbound(None)
    if ending is not None:
        return UNAVAILABLE if ending.reason == NO_REASON else f"{UNAVAILABLE} | {ending.reason}"
    if record.locations or record.versions:
        return PUBLIC
    return RESERVED
