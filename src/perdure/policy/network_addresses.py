"""Decide to which network addresses this machine may connect for a stranger's URL. Pure.

How it works: an address is allowed if it is global unicast by IANA's registries of special-purpose
addresses, or in a network that the operator allows. An IPv6 address with an embedded IPv4 address
(RFC 4291 mapped, RFC 6052 NAT64, RFC 3056 6to4) leads to that address, so both must be allowed.

What must stay true: an address that is not known to be public is refused. The decision is about the
address of the connection, never about the name.
"""

from __future__ import annotations

import ipaddress

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_UNICAST = ipaddress.IPv6Network("2000::/3")  # all that IANA has allocated as global unicast
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NOT_PUBLIC: tuple[Network, ...] = (
    # global by the registries, or missing in those of this Python version, but not safe
    ipaddress.IPv4Network("192.0.0.0/24"),  # IETF protocols, RFC 6890
    ipaddress.IPv4Network("192.88.99.0/24"),  # relays of 6to4, RFC 7526
    ipaddress.IPv4Network("168.63.129.16/32"),  # a cloud's own services, from inside that cloud
    ipaddress.IPv6Network("2001::/23"),  # IETF protocols; Teredo is one
    ipaddress.IPv6Network("2001:db8::/32"),
    ipaddress.IPv6Network("3fff::/20"),  # documentation, RFC 9637
)


def parse_networks(written: tuple[str, ...]) -> tuple[Network, ...]:
    """Parse networks in the form of the settings. Raises ValueError.

    >>> parse_networks(("10.1.0.0/16", "::1"))
    (IPv4Network('10.1.0.0/16'), IPv6Network('::1/128'))
    """
    return tuple(ipaddress.ip_network(text) for text in written)


def is_allowed(written: str, allowed: tuple[Network, ...] = ()) -> bool:
    """Return whether a connection to this address is allowed. Raises ValueError if it is invalid.

    >>> is_allowed("192.0.2.1"), is_allowed("9.9.9.9"), is_allowed("::ffff:127.0.0.1")
    (False, True, False)
    >>> is_allowed("::ffff:127.0.0.1", parse_networks(("127.0.0.0/8",)))
    True
    """
    address = ipaddress.ip_address(written.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped  # the same socket as the IPv4 address
    return _is_in_any(address, allowed) or (
        _is_public(address)
        and all(_is_public(one) or _is_in_any(one, allowed) for one in _find_carried(address))
    )


def _is_in_any(address: Address, several: tuple[Network, ...]) -> bool:
    return any(address in one for one in several)


def _is_public(address: Address) -> bool:
    if _is_in_any(address, _NOT_PUBLIC) or address.is_multicast:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global
    return address in _NAT64 or (address in _UNICAST and (address.is_global or _is_6to4(address)))


def _is_6to4(address: ipaddress.IPv6Address) -> bool:
    return address.sixtofour is not None


def _find_carried(address: Address) -> tuple[ipaddress.IPv4Address, ...]:
    """Return the IPv4 address that is embedded in an IPv6 address, if any."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    if address in _NAT64:
        return (ipaddress.IPv4Address(int(address) & 0xFFFFFFFF),)
    return (address.sixtofour,) if address.sixtofour else ()
