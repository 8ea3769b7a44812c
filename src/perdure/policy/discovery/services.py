"""The order of servers in SRV records (RFC 2782). Pure.

How it works: servers of the lowest priority come first; among those of one priority, each comes
next with a probability proportional to its weight. The random numbers are an argument.

What must stay true: each server is listed once; one with the weight 0 has a small chance, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

MOST_SERVERS = 16


class Server(msgspec.Struct, frozen=True, order=True):
    """An SRV record."""

    priority: int
    weight: int
    port: int
    host: str
    """Without the dot at its end; empty if the service is decidedly not available."""


def order_servers(servers: Iterable[Server], choose: Callable[[int], int]) -> list[Server]:
    """Return servers in the order in which to try them.

    `choose(n)` returns a random number from 0 to n, both included.
    """
    left = sorted(servers)[:MOST_SERVERS]
    found: list[Server] = []
    while left:
        same = [one for one in left if one.priority == left[0].priority]
        # "arrange all SRV RRs … in any order, except that all those with weight 0 are placed at
        # the beginning of the list"; sorting has done so
        number = choose(sum(one.weight for one in same))
        chosen = same[-1]
        for one in same:
            number -= one.weight
            if number <= 0:
                chosen = one
                break
        left.remove(chosen)
        if chosen.host:
            found.append(chosen)
    return found
