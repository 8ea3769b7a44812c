"""Detect URIs that visibly lead to a private network. Pure: no name is looked up.

How it works: the host is an address in any of the forms that browsers read (dotted, one number,
octal, hexadecimal: the URL standard's "IPv4 parser"), or a name that is reserved for local networks
(RFC 6761, RFC 6762, RFC 8375, and ICANN's `.internal`). Names that only a name server can resolve
are checked when a connection is made (`perdure.fetching.fetcher`).

What must stay true: a URI to which no browser would connect is not refused.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from perdure.policy.network_addresses import Network, is_allowed

_OWN = ("localhost", "local", "internal", "home.arpa", "intranet", "lan")


def is_private(uri: str, allowed: tuple[Network, ...] = ()) -> bool:
    """Return whether the host of a URI is on a private network that is not allowed.

    >>> [is_private(f"http://{one}/") for one in ("a.example", "0x7f.1", "[::1]", "db.local.")]
    [False, True, True, True]
    """
    try:
        host = (urlsplit(uri).hostname or "").rstrip(".")
    except ValueError:
        return False
    if any(host == one or host.endswith(f".{one}") for one in _OWN):
        return True
    address = _read_address(host)
    return address is not None and not is_allowed(address, allowed)


def _read_address(host: str) -> str | None:
    """Return the address that a host denotes; None if it is a name."""
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        pass
    numbers = [_read_number(one) for one in host.split(".")]
    if not 1 <= len(numbers) <= 4 or None in numbers:
        return None
    found = [one for one in numbers if one is not None]
    value = found.pop()
    if any(one > 255 for one in found) or value >= 256 ** (4 - len(found)):
        return None
    for at, one in enumerate(found):
        value += one * 256 ** (3 - at)
    return str(ipaddress.IPv4Address(value))


def _read_number(text: str) -> int | None:
    if len(text) > 20:
        return None
    try:
        if text[:2].lower() == "0x":
            return int(text[2:] or "0", 16)
        if not (text.isascii() and text.isdigit()):
            return None
        return int(text, 8) if text[:1] == "0" and len(text) > 1 else int(text)
    except ValueError:
        return None
