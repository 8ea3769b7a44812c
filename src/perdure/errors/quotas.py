"""Errors about shares that are used up: wait, or ask the operator for a larger one."""

from __future__ import annotations

from perdure.errors.root import count_things, quote
from perdure.errors.unavailable import ShareUsedUp


class MintsUsedUp(ShareUsedUp):
    """A token has been given as many names as it may in a day."""

    share = "mints"
    token: str

    @property
    def what(self) -> str:
        return f"giving out names with the token {quote(self.token)}"

    @property
    def reason(self) -> str:
        return f"it was given {count_things(self.limit, 'name')} within a day"

    @property
    def mend(self) -> str:
        return (
            f"try again in {count_things(self.wait, 'second')}, or raise the setting mints_per_day"
        )


class TooManyWaiting(ShareUsedUp):
    """Too many requests of one address wait for work that only a few can have done at a time."""

    share = "waiting"
    seconds = 0
    kind: str
    """The queue, such as `markup.xpath`, an extractor, or `lists`."""

    @property
    def what(self) -> str:
        return f"a turn in the queue {quote(self.kind)}"

    @property
    def reason(self) -> str:
        return f"{count_things(self.limit, 'request')} of this address wait there already"

    @property
    def mend(self) -> str:
        return (
            f"wait for their answers, or try again in {count_things(self.wait, 'second')}; "
            "an operator can raise the setting waiting_per_address"
        )


class SeriesQuotaUsedUp(ShareUsedUp):
    """As many names of a series were given out as it may have on a day."""

    share = "series"
    series: str

    @property
    def what(self) -> str:
        return f"minting in {quote(self.series)}"

    @property
    def reason(self) -> str:
        return f"it gave out {count_things(self.limit, 'name')} today"

    @property
    def mend(self) -> str:
        return (
            "try again tomorrow (UTC), in "
            f"{count_things(self.wait, 'second')}, or raise the series_quotas"
        )
