"""Closing past days of a series  # ruling: pdi-retrospective"""

from __future__ import annotations

from perdure.errors.naming import DayNotPast
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
