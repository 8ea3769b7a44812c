"""Locations that only somebody on a private network could follow, for operators who forbid them.

How it works: of a command, of a record and of a value of a handle all addresses are collected that
readers would be sent to; `check` refuses the first one that says by itself that it lies on a
private network (`perdure.fetching.spelled`). What is no address, such as the text of another value,
is not looked at.

What must stay true: no way into the registry leads past it: what a bulk load brings is judged as
what a single command brings, and a template as what it would make of a part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from perdure.errors.locations import PrivateLocation
from perdure.fetching import spelled
from perdure.fetching.addresses import Network
from perdure.model.commands import Assign, Bind, Command, Mint, Register, Relocate
from perdure.model.records import Record, Value
from perdure.policy.handles import loc, namespace
from perdure.policy.handles.values import TEMPLATE, is_url

_ADDRESS = re.compile(r"https?://[^\s\"'<>{}$/?#]+", re.IGNORECASE)
"""As far as its host, of what stands in a template."""


def of_command(command: Command) -> Iterator[str]:
    """The addresses that a command would bind; of a bulk load none, see `of_record`."""
    match command:
        case Mint() | Register() | Bind():
            yield from (one.uri for one in command.locations)
        case Relocate():
            yield from (f"http:{one}" if one[:2] == "//" else one for _, one in command.moves)
        case Assign():
            for value in command.values or ():
                yield from _of_value(value)


def of_record(record: Record) -> Iterator[str]:
    """The addresses that readers of a record are sent to."""
    yield from (one.uri for one in record.locations)
    for value in record.values:
        yield from _of_value(value)


def _of_value(value: Value) -> Iterator[str]:
    """Those of a value of a handle; of a value that is no location and no template none."""
    if is_url(value):
        yield value.data
    elif value.type == loc.TYPE:
        yield from (one.uri for one in loc.read(value.data))
    elif value.type in (TEMPLATE, namespace.TYPE):
        yield from _ADDRESS.findall(value.data)


def check(uris: Iterable[str], allowed: tuple[Network, ...]) -> None:
    """Raises InvalidRequest for an address on a private network that is not allowed."""
    for uri in uris:
        if spelled.is_private(uri, allowed):
            raise PrivateLocation(uri=uri)
