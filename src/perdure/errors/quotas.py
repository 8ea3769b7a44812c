"""Errors about shares that are used up: wait, or ask the operator for a larger one."""

from __future__ import annotations

from perdure.errors.root import quote
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
        return f"it was given {self.limit} names within a day"

    @property
    def mend(self) -> str:
        return f"try again in {self.wait} seconds, or raise the setting mints_per_day"


class SeriesQuotaUsedUp(ShareUsedUp):
    """As many names of a series were given out as it may have on a day."""

    share = "series"
    series: str

    @property
    def what(self) -> str:
        return f"minting in {quote(self.series)}"

    @property
    def reason(self) -> str:
        return f"{self.limit} names were given out today"

    @property
    def mend(self) -> str:
        return f"try again tomorrow (UTC), in {self.wait} seconds, or raise the series_quotas"
