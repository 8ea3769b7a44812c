"""Closing past days of a series: `close`."""

from __future__ import annotations

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here


@click.command(cls=PerdureCommand)
@click.argument("intervals", nargs=-1, metavar="[INTERVAL…]")
@click.option(
    "--reason", default="", metavar="TEXT", help="Shown to those who mint under such a day."
)
@options.add_actor("Who closes the days")
def close(intervals: tuple[str, ...], reason: str, by: str | None) -> None:
    """Declare that no further names are given under past days of a series.

    INTERVAL is a day, a month or a year: oma.eop.gov.us/1997/09/01, oma.eop.gov.us/1997. A closed
    day stays closed. Names that it has stay, and their versions grow; imports may still bring names
    that were given elsewhere. Without INTERVAL, the closed days are listed.
    """
    from perdure.model.commands import CloseDays, Outcome
    from perdure.model.records import LOCAL
    from perdure.policy.past_days import read_interval

    with here().open_registry() as registry:
        if not intervals:
            for one in registry.closed_days.stretches:
                words = f"{one.series} {one.first} {one.last} {one.reason}".rstrip()
                here().print_answer(one, words)
        for series, first, last in [read_interval(one) for one in intervals]:
            command = CloseDays(
                by=by or LOCAL, series=series, first=first, last=last, reason=reason
            )
            receipt = registry.door.execute_command(command)
            done = "already closed" if receipt.outcome is Outcome.UNCHANGED else "closed"
            facts = {"series": series, "first": first, "last": last, "outcome": receipt.outcome}
            here().print_answer(facts, f"{done} pdi://{series}/{first}/ to {last}")
