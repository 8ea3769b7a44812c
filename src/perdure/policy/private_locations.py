"""Locations that work only on a private network, for operators who forbid them.

How it works: this module collects all addresses in a command, a record or a value of a handle to
which readers would be sent. `LocationRule` refuses the first address whose text alone shows that
it is on a private network (`perdure.policy.spelled_hosts`). Text that is not an address, such as
that of another value, is ignored.

What must stay true: every write passes this check. A bulk load is checked like a single command,
and a template like the addresses that it would make of parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from perdure.errors.locations import PrivateLocation
from perdure.model.commands import Assign, Bind, Command, Mint, Register, Relocate
from perdure.model.records import Record, Value
from perdure.policy.handles import namespace
from perdure.policy.handles.values import TEMPLATE, is_public, list_locations
from perdure.policy.network_addresses import parse_networks
from perdure.policy.spelled_hosts import is_private

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


class LocationRule:
    """The rule of an operator: only these private networks are allowed (`private_networks`)."""

    def __init__(self, networks: tuple[str, ...]) -> None:
        self._allowed = parse_networks(networks)

    def check_command(self, command: Command) -> None:
        """Raise InvalidRequest if the command would send readers to a private network."""
        self.check_addresses(list_command_addresses(command))

    def check_record(self, record: Record) -> None:
        """Raise InvalidRequest if the record would send readers to a private network."""
        self.check_addresses(list_record_addresses(record))

    def check_addresses(self, uris: Iterable[str]) -> None:
        """Raise InvalidRequest if an address is on a private network that is not allowed."""
        for uri in uris:
            if is_private(uri, self._allowed):
                raise PrivateLocation(uri=uri)
