"""Locations, kept alive: `check-links` asks whether they are, `relocate` moves many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import Command, here
from perdure.cli.progress import progress

if TYPE_CHECKING:
    from perdure.upkeep.linkcheck.collecting import Within


@click.command("check-links", cls=Command)
@click.argument("pattern", type=options.WITHIN, required=False)
@click.option(
    "--report",
    "form",
    type=click.Choice(("text", "json", "html")),
    default="text",
    help="Form of the report on stdout; text if not given.",
)
@click.option("--resume", is_flag=True, help="Go on with a run that was interrupted.")
@click.option(
    "--every",
    "hours",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="HOURS",
    help="Leave out what was checked within so many hours.",
)
@click.option("--all", "well", is_flag=True, help="Report locations, too, where all is well.")
@click.option(
    "--workers", type=click.IntRange(1, 1000), default=64, metavar="N", help="Requests at once; 64."
)
@click.option(
    "--per-host",
    type=click.IntRange(1, 100),
    default=2,
    metavar="N",
    help="Requests to one host at once; 2.",
)
def check_links(
    pattern: Within | None,
    form: str,
    resume: bool,
    hours: float,
    well: bool,
    workers: int,
    per_host: int,
) -> None:
    """Ask whether every location is still there, and still what was bound.

    PATTERN is an identifier, a pattern of PDIs, or how identifiers of another scheme begin
    (hdl:1839/*); without it, all are checked. Redirects skip from then on what was found lost. Ends
    with 1 where something was found. A run that is interrupted keeps what it found.

    \b
    perdure check-links pdi://oma.eop.gov.us/2026/
    perdure check-links --every 168 --report html > links.html
    """
    import asyncio
    from contextlib import closing

    from perdure.cli import exits
    from perdure.upkeep.linkcheck import Checker, Links, Politeness, Verdict, report, running

    form = "json" if here().as_json else form
    with here().registry() as registry, closing(Links(registry.root)) as links, links.alone():
        run = running.start(links, registry, pattern, resume=resume, fresh_hours=hours)
        checker = Checker(
            networks=registry.settings.private_networks,
            politeness=Politeness(workers=workers, per_host=per_host),
        )
        with progress("checking links", total=links.remaining(run), unit="links") as bar:
            asyncio.run(running.carry_out(links, run, checker, lambda done, _: bar(done)))
        summary = links.summary(run)
        for line in report.FORMS[form](summary, links.findings(run, well=well)):
            click.echo(line)
    fine = summary.verdicts[Verdict.OK] + summary.verdicts[Verdict.REFUSED]
    if fine < summary.checked:
        click.get_current_context().exit(exits.FINDINGS)


@click.command(cls=Command)
@click.option("--series", "within", type=options.SERIES, metavar="SERIES", help="PDIs of a series.")
@click.option(
    "--pattern",
    type=options.WITHIN,
    metavar="PATTERN",
    help="Identifiers that match a pattern of PDIs, or begin so: hdl:1839/*.",
)
@click.option(
    "--from",
    "before",
    required=True,
    multiple=True,
    metavar="PREFIX",
    help="Beginning of the locations to move, such as https://old.example/; or //old.example for "
    "a host, whatever the scheme. May be repeated, with as many --to.",
)
@click.option(
    "--to", "after", required=True, multiple=True, metavar="PREFIX", help="What takes its place."
)
@click.option("--apply", is_flag=True, help="Do it; without this it is only shown.")
@options.add_actor("Who moves them")
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=20,
    metavar="N",
    help="Locations that are shown at most; 20 if not given.",
)
def relocate(
    within: str | None,
    pattern: Within | None,
    before: tuple[str, ...],
    after: tuple[str, ...],
    apply: bool,
    by: str | None,
    show: int,
) -> None:
    """Move all locations that begin with a prefix, or lie at a host, to another.

    Shows what would change; with --apply it is done as one change: all of it or, where one of the
    locations cannot be, none. Every record keeps the old location in its history. Without --series
    and --pattern all identifiers are meant.

    \b
    perdure relocate --series oma.eop.gov.us --from https://old.example/ --to https://new.example/a/
    perdure relocate --from //old.example --to //new.example --apply
    """
    from perdure.ids import pdi
    from perdure.model.records import LOCAL
    from perdure.policy.moves import Move
    from perdure.upkeep.linkcheck import relocating

    if len(before) != len(after):
        raise click.UsageError("as many --to as --from are needed")
    if within and pattern:
        raise click.UsageError("--series and --pattern exclude each other")
    scope = pdi.parse(f"pdi://{within}/") if within else pattern
    moves = tuple(Move(source=one, target=other) for one, other in zip(before, after, strict=True))
    with here().registry() as registry:
        with progress("looking", total=None, unit="identifiers") as bar:
            plan = relocating.preview(registry, scope, moves, tell=bar, most_shown=show)
        for change in plan.shown:
            here().answer(
                {"identifier": change.identifier, "from": change.source, "to": change.target},
                f"{change.identifier}\n  - {change.source}\n  + {change.target}",
            )
        done = 0
        if apply and plan.keys:
            receipt = relocating.apply(registry, plan, by=by or LOCAL)
            done = receipt.accepted
    told = {"locations": plan.locations, "identifiers": len(plan.keys), "applied": done}
    words = f"{plan.locations:,} locations of {len(plan.keys):,} identifiers"
    here().summary(told, f"{words} {'moved' if apply else 'would move; --apply does it'}")
