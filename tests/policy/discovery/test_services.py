"""The order of servers (RFC 2782)."""

from __future__ import annotations

import random

from perdure.policy.discovery.services import Server, order_servers


def test_the_lowest_priority_comes_first() -> None:
    far, near = Server(20, 1, 80, "far.example"), Server(10, 0, 80, "near.example")
    assert order_servers([far, near], lambda most: most) == [near, far]


def test_weights_are_shares() -> None:
    """ "Larger weights SHOULD be given a proportionately higher probability of being selected"."""
    rows = [Server(1, 100, 80, "a"), Server(1, 300, 80, "b")]
    chance = random.Random(7)
    first = [order_servers(rows, lambda most: chance.randint(0, most))[0].host for _ in range(2000)]
    assert 0.6 < first.count("b") / 2000 < 0.8


def test_each_server_is_listed_once() -> None:
    rows = [Server(1, weight, 80, f"h{weight}") for weight in (0, 0, 5, 9)]
    found = order_servers(rows, lambda most: 0)
    assert sorted(one.host for one in found) == ["h0", "h0", "h5", "h9"]


def test_a_service_that_is_not_available_has_no_server() -> None:
    """ "A Target of "." means that the service is decidedly not available at this domain"."""
    assert order_servers([Server(0, 0, 0, "")], lambda most: 0) == []
