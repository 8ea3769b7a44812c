"""Closing past days of a series  # ruling: pdi-retrospective"""

from __future__ import annotations

from perdure.errors.naming import DayNotPast
from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.model.commands import CloseDays, Outcome, Receipt
from perdure.policy.rules import check_series
from perdure.storage.closed_days import ClosedStretch
from perdure.writing.ledger import Ledger


def close_days(ledger: Ledger, command: CloseDays, series: tuple[str, ...]) -> Receipt:
    """Close days of a series, durably.

    Raises InvalidRequest if the series is not minted here, or if a day is not past; StorageFailed.
    """
    check_series(command.series, series)
    today = ledger.now[:10].replace("-", "/")
    for day in (command.first, command.last):
        if day >= today:
            raise DayNotPast(identifier=f"pdi://{command.series}/{day}/")
    stretch = ClosedStretch(
        series=command.series,
        first=command.first,
        last=command.last,
        at=ledger.now,
        by=command.by,
        reason=command.reason,
    )
    name = f"pdi://{command.series}/"
    closed = ledger.load_closed_days()
    if closed.includes(stretch):
        return Receipt(outcome=Outcome.UNCHANGED, identifier=name)
    ledger.save_closed_days(closed.add_stretch(stretch))
    return Receipt(outcome=Outcome.CREATED, identifier=name)


def read_interval(text: str) -> tuple[str, str, str]:
    """Return the series, and the first and last day, of a day, month or year of a series.

    >>> read_interval("pdi://oma.eop.gov.us/1997/02/")
    ('oma.eop.gov.us', '1997/02/01', '1997/02/31')

    Raises MalformedIdentifier, or DayNotPast if it is not an interval.
    """
    label = "" if text.lower().startswith(("pdi:", "urn:pdi:")) else "pdi://"
    named = parse(f"{label}{text.rstrip('/')}/")
    if not isinstance(named, Pdi) or named.uid is not None:
        raise DayNotPast(identifier=text)
    if not named.date or "*" in named.date:
        raise DayNotPast(identifier=text)
    parts = named.date.split("/")
    first = "/".join([*parts, *("01", "01")[len(parts) - 1 :]])
    last = "/".join([*parts, *("12", "31")[len(parts) - 1 :]])
    return named.series, first, last
