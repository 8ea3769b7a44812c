"""Locations that work only on a private network, for operators who forbid them.

How it works: this module collects all addresses in a command, a record or a value of a handle to
which readers would be sent. `check_addresses` refuses the first address whose text alone shows that
it is on a private network (`perdure.fetching.spelled`). Text that is not an address, such as that
of another value, is ignored.

What must stay true: every write passes this check. A bulk load is checked like a single command,
and a template like the addresses that it would make of parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from perdure.errors.locations import PrivateLocation
from perdure.fetching import spelled
from perdure.fetching.addresses import Network
from perdure.model.commands import Assign, Bind, Command, Mint, Register, Relocate
from perdure.model.records import Record, Value
from perdure.policy.handles import namespace
from perdure.policy.handles.values import TEMPLATE, is_public, list_locations

_ADDRESS = re.compile(r"https?://[^\s\"'<>{}$/?#]+", re.IGNORECASE)
"""An address in a template, up to its host."""


def list_command_addresses(command: Command) -> Iterator[str]:
    """The addresses that a command would bind. For the records of a bulk load, see
    `list_record_addresses`.
    """
    match command:
        case Mint() | Register() | Bind():
            yield from (one.uri for one in command.locations)
        case Relocate():
            yield from (f"http:{one}" if one[:2] == "//" else one for _, one in command.moves)
        case Assign():
            for value in command.values or ():
                yield from _list_value_addresses(value)


def list_record_addresses(record: Record) -> Iterator[str]:
    """The addresses that readers of a record are sent to."""
    yield from (one.uri for one in record.locations)
    for value in record.values:
        yield from _list_value_addresses(value)


def _list_value_addresses(value: Value) -> Iterator[str]:
    """The addresses to which a value sends readers: a public location, or a template."""
    if is_public(value):
        yield from (one.uri for one in list_locations(value))
    if value.type in (TEMPLATE, namespace.TYPE):
        yield from _ADDRESS.findall(value.data)


def check_addresses(uris: Iterable[str], allowed: tuple[Network, ...]) -> None:
    """Raise InvalidRequest if an address is on a private network that is not allowed."""
    for uri in uris:
        if spelled.is_private(uri, allowed):
            raise PrivateLocation(uri=uri)
