"""Rates of clients: what is permitted, and what a refused client is told."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from perdure.policy.rates import Rate, RateMeter

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
