"""Which addresses may be connected to, by IANA's special-purpose registries."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.policy.network_addresses import is_allowed, parse_networks

REFUSED = {
    "this host": "0.0.0.0",
    "this network": "0.1.2.3",
    "private use, RFC 1918": "10.0.0.1",
    "private use, the second": "172.31.255.255",
    "private use, the third": "192.168.1.1",
    "shared between carriers, RFC 6598": "100.64.0.1",
    "loopback": "127.0.0.1",
    "loopback, anywhere in it": "127.255.255.254",
    "link-local, where clouds keep keys": "169.254.169.254",
    "a cloud's services": "168.63.129.16",
    "IETF protocols": "192.0.0.192",
    "documentation": "192.0.2.1",
    "6to4 relays": "192.88.99.1",
    "benchmarks": "198.18.0.1",
    "multicast": "224.0.1.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "unspecified": "::",
    "loopback of IPv6": "::1",
    "IPv4-compatible, RFC 4291": "::7f00:1",
    "IPv4-mapped loopback": "::ffff:127.0.0.1",
    "IPv4-mapped private": "::ffff:10.0.0.1",
    "IPv4-translated, RFC 2765": "::ffff:0:7f00:1",
    "NAT64 to loopback, RFC 6052": "64:ff9b::7f00:1",
    "NAT64 to link-local": "64:ff9b::169.254.169.254",
    "NAT64 of one's own, RFC 8215": "64:ff9b:1::808:808",
    "discard": "100::1",
    "Teredo": "2001:0:7f00:1::",
    "benchmarks of IPv6": "2001:2::1",
    "documentation of IPv6": "2001:db8::1",
    "6to4 to loopback, RFC 3056": "2002:7f00:1::1",
    "6to4 to a private network": "2002:c0a8:101::1",
    "documentation, RFC 9637": "3fff::1",
    "unique local": "fd00::1",
    "link-local of IPv6": "fe80::1",
    "link-local with a zone": "fe80::1%eth0",
    "site-local": "fec0::1",
    "multicast of IPv6": "ff0e::1",
    "not allocated": "4000::1",
}
PUBLIC = ("9.9.9.9", "2620:fe::fe", "::ffff:9.9.9.9", "64:ff9b::909:909", "2002:909:909::1")


@pytest.mark.parametrize("address", REFUSED.values(), ids=REFUSED)
def test_what_is_not_public_is_refused(address: str) -> None:
    assert not is_allowed(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_is_allowed(address: str) -> None:
    assert is_allowed(address)


def test_an_operator_allows_single_networks() -> None:
    own = parse_networks(("127.0.0.0/8", "fd00::/8"))
    assert is_allowed("127.0.0.1", own)
    assert is_allowed("::ffff:127.0.0.1", own)
    assert is_allowed("64:ff9b::7f00:1", own)
    assert is_allowed("fd12::1", own)
    assert not is_allowed("10.0.0.1", own)


def test_what_is_no_address_is_an_error() -> None:
    with pytest.raises(ValueError, match="localhost"):
        is_allowed("localhost")


_NOT_GLOBAL = st.ip_addresses(v=4).filter(lambda one: not one.is_global or one.is_multicast)


@given(inner=_NOT_GLOBAL, low=st.integers(0, 2**80 - 1))
def test_no_form_of_ipv6_leads_to_an_ipv4_address_that_is_refused(
    inner: IPv4Address, low: int
) -> None:
    """RFC 4291 section 2.5.5, RFC 6052 section 2.1, RFC 3056 section 2, RFC 4380 section 4."""
    four = int(inner)
    for address in (
        four,  # IPv4-compatible
        0xFFFF << 32 | four,  # IPv4-mapped
        0x64FF9B << 96 | four,  # NAT64
        0x2002 << 112 | four << 80 | low,  # 6to4
        0x20010000 << 96 | low % 2**64 << 32 | four ^ 0xFFFFFFFF,  # Teredo, its client
    ):
        assert not is_allowed(str(IPv6Address(address)))
