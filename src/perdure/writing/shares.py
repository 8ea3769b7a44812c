"""The shares of tokens: how many names each may be given in a day.

How it works: the registrar asks before it gives a name to the bearer of a token, and notes each
name that it gives, whichever interface the command came from. Names that are given on the machine
itself have no bearer and no limit. `perdure.policy.rates` measures the use.

What must stay true: a command that gives no new name costs nothing, so neither does one that is
refused, repeated with its key, or undone with its batch.
"""

from __future__ import annotations

from perdure.errors.quotas import MintsUsedUp
from perdure.policy.rates import Rate, RateMeter

DAY = 86_400  # seconds


class Shares:
    """The use that each token has made of its share. A share of 0 means no limit."""

    def __init__(self, names_per_day: int) -> None:
        self._meter = RateMeter(Rate(names_per_day, DAY))
        self._now = 0.0
        self._given: list[tuple[str, int]] = []

    def begin_batch(self, now: float) -> None:
        """Start a batch at this time, in seconds since any moment."""
        self._now = now
        self._given.clear()

    def undo_batch(self) -> None:
        """Give back the shares of the names of this batch."""
        for bearer, count in self._given:
            self._meter.charge_client(bearer, self._now, -count)
        self._given.clear()

    def check_share(self, bearer: str, count: int = 1) -> None:
        """Raise MintsUsedUp if a token may not be given so many more names."""
        if bearer and (wait := self._meter.find_wait(bearer, self._now, count)):
            raise MintsUsedUp(token=bearer, limit=self._meter.rate.amount, wait=wait)

    def note_names(self, bearer: str, count: int = 1) -> None:
        """Note that a token was given names."""
        if bearer and count and self._meter.rate.amount:
            self._meter.charge_client(bearer, self._now, count)
            self._given.append((bearer, count))
