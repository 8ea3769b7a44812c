"""Locations: `check-links` finds broken ones, `relocate` moves many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.damage import DamageReport
from perdure.cli.progress import show_progress
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.ids.name_set import NameSet
    from perdure.upkeep.linkcheck.breaking import DriftOutcome


@click.command("check-links", cls=PerdureCommand)
@click.argument("pattern", type=options.PATTERN, required=False)
@click.option(
    "--report",
    "form",
    type=click.Choice(("text", "json", "html")),
    default="text",
    help="Form of the report on stdout. Default: text.",
)
@click.option("--resume", is_flag=True, help="Resume a run that was interrupted.")
@click.option(
    "--every",
    "hours",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="HOURS",
    help="Skip locations that were checked within the last HOURS.",
)
@click.option("--all", "well", is_flag=True, help="Also report locations without a problem.")
@click.option(
    "--workers",
    type=click.IntRange(1, 1000),
    default=64,
    metavar="N",
    help="Requests at once. Default: 64.",
)
@click.option(
    "--per-host",
    type=click.IntRange(1, 100),
    default=2,
    metavar="N",
    help="Requests at once to one host. Default: 2.",
)
def check_links(
    pattern: NameSet | None,
    form: str,
    resume: bool,
    hours: float,
    well: bool,
    workers: int,
    per_host: int,
) -> None:
    """Check whether every location still exists and still has the content that was bound.

    PATTERN is an identifier, a pattern of PDIs, or the beginning of identifiers of another scheme
    (hdl:1839/*); without it, all locations are checked. From then on, redirects skip the locations
    that were found lost. Exits with 1 if there are problems. Damaged records are reported and left
    out; then it exits with 53. An interrupted run keeps its findings.

    \b
    perdure check-links pdi://oma.eop.gov.us/2026/
    perdure check-links --every 168 --report html > links.html
    """
    import asyncio
    from contextlib import closing

    from perdure.upkeep.linkcheck import (
        LinkChecker,
        Links,
        Politeness,
        report,
        running,
    )
    from perdure.upkeep.linkcheck.breaking import break_drifted

    form = "json" if here().as_json else form
    damage = DamageReport()
    with (
        here().open_registry() as registry,
        closing(Links(registry.root)) as links,
        links.hold_lock(),
    ):
        run = running.start_run(
            links, registry, pattern, report=damage.add_error, resume=resume, fresh_hours=hours
        )
        checker = LinkChecker(
            networks=registry.settings.private_networks,
            politeness=Politeness(workers=workers, per_host=per_host),
        )
        with show_progress("checking links", total=links.count_remaining(run), unit="links") as bar:
            asyncio.run(running.carry_out_run(links, run, checker, lambda done, _: bar(done)))
        if registry.settings.on_drift == "break":
            found = (finding for _, finding in links.list_findings(run))
            for outcome in break_drifted(registry, list(found)):
                _print_drift(outcome)
        summary = links.summarise_run(run)
        for line in report.FORMS[form](summary, links.list_findings(run, well=well)):
            click.echo(line)
    damage.end_command()
    if summary.has_problems:
        click.get_current_context().exit(exits.FINDINGS)


def _print_drift(outcome: DriftOutcome) -> None:
    """Print on stderr that a binding was broken, or why it was not."""
    if outcome.problem is not None:
        exits.report_error(outcome.problem, as_json=here().as_json)
        return
    kept = (
        "the original bytes are held here"
        if outcome.is_held
        else ("the original bytes are not held here: commit them if you have them")
    )
    here().print_note(f"{outcome.identifier} is no longer bound to {outcome.uri}; {kept}")


@click.command(cls=PerdureCommand)
@click.option("--series", "within", type=options.SERIES, metavar="SERIES", help="PDIs of a series.")
@click.option(
    "--pattern",
    type=options.PATTERN,
    metavar="PATTERN",
    help="Identifiers that match a pattern of PDIs, or begin with this: hdl:1839/*.",
)
@click.option(
    "--from",
    "before",
    required=True,
    multiple=True,
    metavar="PREFIX",
    help="Beginning of the locations to move, such as https://old.example/; or //old.example for "
    "a host under any URL scheme. May be repeated, with as many --to.",
)
@click.option(
    "--to", "after", required=True, multiple=True, metavar="PREFIX", help="Replacement of --from."
)
@click.option("--apply", is_flag=True, help="Make the change; without this it is only shown.")
@options.add_actor("Who moves them")
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=20,
    metavar="N",
    help="Locations to show at most. Default: 20.",
)
def relocate(
    within: str | None,
    pattern: NameSet | None,
    before: tuple[str, ...],
    after: tuple[str, ...],
    apply: bool,
    by: str | None,
    show: int,
) -> None:
    """Move all locations that begin with a prefix, or are at a host, to another.

    Shows what would change. With --apply, everything is moved in one change; if one of the new
    locations is not valid, nothing is. Every record keeps the old location in its history. Without
    --series and --pattern, the command applies to all identifiers. Damaged records are reported and
    left out; then it exits with 53.

    \b
    perdure relocate --series oma.eop.gov.us --from https://old.example/ --to https://new.example/a/
    perdure relocate --from //old.example --to //new.example --apply
    """
    from perdure.ids.name_set import read_set
    from perdure.model.records import LOCAL
    from perdure.policy.moves import Move
    from perdure.upkeep.linkcheck import relocating

    if len(before) != len(after):
        raise click.UsageError("give as many --to as --from")
    if within and pattern:
        raise click.UsageError("--series and --pattern exclude each other")
    scope = read_set(f"pdi://{within}/") if within else pattern
    damage = DamageReport()
    moves = tuple(Move(source=one, target=other) for one, other in zip(before, after, strict=True))
    with here().open_registry() as registry:
        with show_progress("looking", total=None, unit="identifiers") as bar:
            plan = relocating.preview_moves(
                registry, scope, moves, tell=bar, report=damage.add_error, most_shown=show
            )
        for change in plan.shown:
            here().print_answer(
                {"identifier": change.identifier, "from": change.source, "to": change.target},
                f"{change.identifier}\n  - {change.source}\n  + {change.target}",
            )
        done = 0
        if apply and plan.keys:
            receipt = relocating.apply_plan(registry, plan, by=by or LOCAL)
            done = receipt.accepted
    told = {"locations": plan.locations, "identifiers": len(plan.keys), "applied": done}
    words = (
        f"{count_things(plan.locations, 'location', grouped=True)} of "
        f"{count_things(len(plan.keys), 'identifier', grouped=True)}"
    )
    here().print_summary(told, f"{words} {'moved' if apply else 'would move; --apply does it'}")
    damage.end_command()
