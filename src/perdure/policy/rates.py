"""Rates: how much each client has used of what it may use in a period.

How it works: the generic cell rate algorithm (ITU-T I.371, annex A). One number for each client
says when its use so far would be paid off at the permitted rate. A client may be ahead of the clock
by at most one period, so it may use the amount of a period at once, and then goes on at the rate.

What must stay true: a refused request costs a client nothing, so waiting as told is enough; memory
is bounded, whatever the number of clients. Time is an argument.
"""

from __future__ import annotations

from math import ceil

import msgspec

_MOST_CLIENTS = 100_000


class Rate(msgspec.Struct, frozen=True):
    """An amount that each client may use in a period. An amount of 0 means no limit."""

    amount: int
    seconds: int
    """The length of the period."""


class RateMeter:
    """Measures the use of each client against a rate.

    >>> meter = RateMeter(Rate(amount=2, seconds=60))
    >>> [meter.take_share("a", now) for now in (0.0, 0.0, 0.0, 30.0, 30.0)]
    [0, 0, 30, 0, 30]
    """

    __slots__ = ("_most", "_paid_at", "_price", "rate", "refused")

    def __init__(self, rate: Rate, most_clients: int = _MOST_CLIENTS) -> None:
        self.rate = rate
        self.refused = 0
        """Requests that were refused since this was set to 0."""
        self._price = rate.seconds / rate.amount if rate.amount else 0.0
        self._paid_at: dict[str, float] = {}
        self._most = most_clients

    def take_share(self, client: str, now: float, amount: int = 1) -> int:
        """Use an amount. Return 0, or the seconds to wait if the client has used its share."""
        wait = self.find_wait(client, now, amount)
        if not wait:
            self.charge_client(client, now, amount)
        return wait

    def find_wait(self, client: str, now: float, amount: int = 1) -> int:
        """Return the seconds until the client may use an amount, or 0 if it may now."""
        if not self._price:
            return 0
        ahead = max(self._paid_at.get(client, now) - now, 0.0)
        # A billionth allows for the rounding of a sum of prices.
        excess = ahead + amount * self._price - self.rate.seconds * (1 + 1e-9)
        if excess <= 0:
            return 0
        self.refused += 1
        return ceil(excess)

    def charge_client(self, client: str, now: float, amount: int) -> None:
        """Add to the use of a client, whether or not it is within the rate.

        A negative amount takes back what was charged at the same time.
        """
        if not self._price:
            return
        if len(self._paid_at) >= self._most and client not in self._paid_at:
            self._forget_clients(now)
        self._paid_at[client] = max(self._paid_at.get(client, now), now) + amount * self._price

    def _forget_clients(self, now: float) -> None:
        """Forget the clients that owe nothing; if they are too few, those that owe least, too."""
        self._paid_at = {one: paid for one, paid in self._paid_at.items() if paid > now}
        if len(self._paid_at) >= self._most:
            ordered = sorted(self._paid_at.items(), key=lambda one: one[1])
            self._paid_at = dict(ordered[self._most // 2 :])
