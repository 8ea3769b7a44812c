"""Rates of clients: what is permitted, what a refused client is told, and what is remembered."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.policy.rates import Rate, RateMeter
from perdure.server.protocol.limits import ClientLimits

requests = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 3)), max_size=80)


@given(requests, st.integers(1, 10), st.integers(1, 60))
def test_a_period_never_sees_more_than_two_shares(
    times: list[tuple[int, int]], amount: int, seconds: int
) -> None:
    """ITU-T I.371 annex A: the number of conforming cells in any period is bounded by the burst
    tolerance and the rate: here a share at once, and a share that is earned meanwhile."""
    meter = RateMeter(Rate(amount, seconds))
    taken = [now for now, _ in sorted(times) if not meter.take_share("a", now)]
    for begin in taken:
        assert sum(begin <= now < begin + seconds for now in taken) <= 2 * amount


@given(requests, st.integers(1, 10), st.integers(1, 60))
def test_waiting_as_told_is_enough(times: list[tuple[int, int]], amount: int, seconds: int) -> None:
    """RFC 9110 section 10.2.3: "how long the user agent ought to wait before making a follow-up
    request"."""
    meter = RateMeter(Rate(amount, seconds))
    for now, much in sorted(times):
        meter.charge_client("a", now, much)
        wait = meter.find_wait("a", now)
        assert meter.find_wait("a", now + wait) == 0


@given(st.integers(1, 10), st.integers(1, 60))
def test_a_share_at_once_is_permitted_and_no_more(amount: int, seconds: int) -> None:
    meter = RateMeter(Rate(amount, seconds))
    assert [meter.take_share("a", 5.0) for _ in range(amount)] == [0] * amount
    assert meter.refused == 0
    wait = meter.take_share("a", 5.0)
    assert wait == math.ceil(seconds / amount - 1e-6)
    assert meter.refused == 1
    assert meter.take_share("a", 5.0 + wait) == 0  # the refused request cost nothing
    assert meter.take_share("b", 5.0, amount) == 0


def test_a_wait_of_less_than_a_second_is_a_wait() -> None:
    meter = RateMeter(Rate(120, 60))
    assert meter.take_share("a", 0.0, 120) == 0
    assert meter.take_share("a", 0.25) == 1
    assert meter.take_share("a", 0.5) == 0


def test_no_limit_remembers_nobody() -> None:
    meter = RateMeter(Rate(0, 60))
    assert not any(meter.take_share("a", 0.0) for _ in range(1000))
    assert meter.refused == 0


def test_many_clients_take_bounded_memory_and_the_worst_stays_refused() -> None:
    meter = RateMeter(Rate(1, 60), most_clients=10)
    meter.charge_client("worst", 0.0, 100)
    for number in range(1000):
        meter.take_share(f"client {number}", 0.0)
        assert len(meter._paid_at) <= 10
    assert meter.find_wait("worst", 0.0) == 99 * 60 + 60


def test_a_client_that_is_known_pushes_no_other_out() -> None:
    meter = RateMeter(Rate(1, 60), most_clients=10)
    for number in range(10):
        meter.charge_client(f"client {number}", 0.0, 1)
    meter.charge_client("client 0", 0.0, 1)
    assert [meter.find_wait(f"client {number}", 0.0) for number in range(10)] == [120, *[60] * 9]


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
