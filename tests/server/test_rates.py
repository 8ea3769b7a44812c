"""Limits of clients: whose request it is, and what is remembered."""

from __future__ import annotations

import pytest

from perdure.server.protocol.limits import ClientLimits

CLIENTS = [
    ("192.0.2.1", "", "192.0.2.1"),
    ("::ffff:192.0.2.1", "", "192.0.2.1"),
    ("2001:db8:1:2:3::4", "", "2001:db8:1:2::/64"),
    ("2001:db8:1:2:ffff::", "", "2001:db8:1:2::/64"),
    ("127.0.0.1", "", None),
    ("127.9.9.9", "", None),
    ("::1", "", None),
    ("", "", None),
    ("10.0.0.7", "", None),  # a proxy itself
    ("10.0.0.7", "192.0.2.1", "192.0.2.1"),
    ("10.0.0.7", "203.0.113.9, 192.0.2.1", "192.0.2.1"),  # the first may be invented by the client
    ("10.0.0.7", "192.0.2.1, 10.0.0.8", "192.0.2.1"),
    ("10.0.0.7", "unknown", None),
    ("192.0.2.1", "203.0.113.9", "192.0.2.1"),  # not a proxy: its field is not believed
]


@pytest.mark.parametrize(("peer", "forwarded", "client"), CLIENTS)
def test_the_client_of_a_request(peer: str, forwarded: str, client: str | None) -> None:
    limits = ClientLimits(requests_per_minute=1, trusted_proxies=("10.0.0.0/24",))
    field = f"\r\nX-Forwarded-For: {forwarded}" if forwarded else ""
    assert limits.find_client(peer, f"\r\nHost: a{field}\r\n\r\n".encode()) == client


def test_a_token_without_a_share_waits_as_the_writer_said() -> None:
    limits = ClientLimits()
    limits.note_refusal("press", 3600)
    assert 3590 < limits.find_mint_wait("press") <= 3600
    assert limits.find_mint_wait("other") == 0
    assert limits.mints_refused == 1
    for number in range(5000):
        limits.note_refusal(f"t{number}", 60)
    assert limits.find_mint_wait("press") == 0  # forgotten: the memory is bounded
    assert limits.find_mint_wait("t4999") > 0


def test_without_limits_nobody_is_refused() -> None:
    limits = ClientLimits()
    limits.charge_bytes("192.0.2.1", 1 << 40)
    assert [limits.judge_client("192.0.2.1") for _ in range(1000)] == [None] * 1000


def test_repeated_fields_are_one_list() -> None:
    limits = ClientLimits(trusted_proxies=("10.0.0.7",))
    fields = b"\r\nx-forwarded-for: 203.0.113.9\r\nX-FORWARDED-FOR: 192.0.2.1\r\n\r\n"
    assert limits.find_client("10.0.0.7", fields) == "192.0.2.1"
