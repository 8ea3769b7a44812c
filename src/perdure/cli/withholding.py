"""Takedowns of captures: `archive withhold`, `archive withheld`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli.command import PerdureCommand, here
from perdure.errors.root import count_things
from perdure.model.matches import MATCHES

if TYPE_CHECKING:
    from perdure.archives.withholding import Match, Withholding


@click.command(cls=PerdureCommand)
@click.argument("url")
@click.option(
    "--match",
    type=click.Choice(MATCHES),
    default="exact",
    help="Captures of this URL in all its spellings (the default), of all URLs that begin with it, "
    "of its host, or of its domain.",
)
@click.option("--from", "since", metavar="TIME", help="Not those before: 2014, 2014-01, 20140126.")
@click.option("--to", "until", metavar="TIME", help="Not those after.")
@click.option("--reason", required=True, help="Reason, which the server gives to every reader.")
@click.option("--by", help="Name to record with the takedown. Default: local.")
@click.option("--lift", is_flag=True, help="End the takedown with the same URL, match and times.")
def withhold(
    url: str,
    match: Match,
    since: str | None,
    until: str | None,
    reason: str,
    by: str | None,
    *,
    lift: bool,
) -> None:
    """Take down captures: stop serving them, until the takedown is lifted.

    They are found in no PWID, replay, listing or extraction any more, whichever archive file they
    are in, and neither are captures that are added later. The archive files stay as they are. To
    take down the capture that one PWID names, forever, use `perdure withdraw`.

    With --lift, a takedown ends: give the same URL, --match, --from and --to, and the reason. The
    file keeps both lines.
    """
    from perdure.archives.index import ranges
    from perdure.archives.withholding import Withholding
    from perdure.errors.conflicts import NothingWithheld
    from perdure.model.records import LOCAL
    from perdure.model.timestamps import format_timestamp
    from perdure.upkeep.forgetting import forget_captures

    with here().open_registry() as registry:
        one = Withholding(
            uri=url,
            match=match,
            first=_read_span(since, "--from")[0],
            last=_read_span(until, "--to")[1],
            reason=reason,
            at=format_timestamp(registry.clock()),
            by=by or LOCAL,
            lifts=lift,
        )
        if lift and one.scope not in {met.scope for met in registry.archive.withheld.list_all()}:
            raise NothingWithheld(identifier=url, match=match)
        if lift:  # before they are counted
            registry.archive.take_down(one)
        captures = sum(
            one.covers(met.uri, met.time, met.time)
            for stretch in one.list_ranges()
            for met in ranges.walk_range(registry.archive.captures, stretch)
        )
        if not lift:
            registry.archive.take_down(one)
            forget_captures(registry)
    counted = count_things(captures, "capture")
    said = f"served again: {counted}" if lift else f"{counted} withheld"
    here().print_answer({"captures": captures} | _withholding_fields(one), said)


def _read_span(time: str | None, option: str) -> tuple[str, str]:
    """Return the first and the last second of a time of any precision, or of all time."""
    from perdure.model.timestamps import read_span

    if time is None:
        return "0" * 14, "9" * 14
    try:
        return read_span(time)
    except ValueError:
        raise click.BadParameter(f"{time[:40]!r} is not a time", param_hint=option) from None


def _withholding_fields(one: Withholding) -> dict[str, object]:
    import msgspec

    fields: dict[str, object] = msgspec.structs.asdict(one)
    return fields


@click.command(cls=PerdureCommand)
@click.option("--all", "everything", is_flag=True, help="Also those that were lifted, and when.")
def withheld(*, everything: bool) -> None:
    """List the captures that were taken down, by `archive withhold` or by `withdraw`."""
    with here().open_registry() as registry:
        known = registry.archive.withheld
        for one in known.list_lines() if everything else known.list_all():
            act = ("lifted",) if one.lifts else ()
            span = f"{one.first}-{one.last}"
            text = (one.at, one.match, one.uri, span, one.by, one.reason, *act)
            here().print_answer(_withholding_fields(one), "\t".join(text))
