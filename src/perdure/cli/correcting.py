"""`correct`: another media type, charset or language for bytes that stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.receipts import print_receipt

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.policy.correcting import CorrectionPlan
    from perdure.reading.comparing import TextDifference
    from perdure.registry import Registry


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.option("--charset", metavar="NAME", help="The right charset of the text.")
@click.option("--type", "media_type", metavar="MEDIA/TYPE", help="The right media type.")
@click.option("--language", metavar="TAG", help="The right language, such as en-GB.")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in the record.")
@options.add_actor("Who corrects it")
@options.add_version("The version to correct. Default: the newest.")
@click.option("--format", metavar="TOKEN", help="The format to correct, if there are several.")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and change nothing.")
@click.option(
    "--no-search", is_flag=True, help="Do not search this registry for parts that are affected."
)
@options.expect
def correct(
    identifier: Identifier,
    charset: str | None,
    media_type: str | None,
    language: str | None,
    reason: str,
    by: str | None,
    version: int | None,
    format: str | None,
    dry_run: bool,
    no_search: bool,
    expect: int | None,
) -> None:
    """Correct the charset, media type or language of bytes, and print their full name.

    The bytes and the name stay. The record keeps the earlier reading, the time, the person and the
    reason. The parts of a text are counted in its characters, so this command says how many it has
    in both readings, and which parts of it this registry itself names. If the right reading has
    another format in names, that name finds the bytes, too.
    """
    from perdure.model.commands import Correct
    from perdure.model.records import LOCAL
    from perdure.policy.correcting import plan_correction
    from perdure.policy.rules import require_one

    if charset is None and media_type is None and language is None:
        raise click.UsageError("give --charset, --type or --language")
    command = Correct(
        identifier=identifier,
        media_type=media_type,
        charset=charset,
        language=language,
        reason=reason,
        version=version,
        format=format,
        expect=expect,
        by=by or LOCAL,
    )
    with here().open_registry() as registry:
        record = require_one(identifier, registry.listings.find_record(identifier))
        plan = plan_correction(identifier, record, command, "")
        _print_effects(registry, plan, search=not no_search)
        if dry_run:
            here().print_answer({"identifier": str(plan.name), "dry_run": True}, str(plan.name))
            return
        receipt = registry.door.execute_command(command)
    print_receipt(receipt)


def _print_effects(registry: Registry, plan: CorrectionPlan, *, search: bool) -> None:
    """Say on stderr what the correction changes, before it is carried out."""
    from perdure.policy.correcting import choose_representation, show_reading
    from perdure.reading import comparing
    from perdure.upkeep import affected

    correction = plan.correction
    if correction is None:
        return
    note = here().print_note
    note(f"was {show_reading(correction.before)}; is {show_reading(correction.after)}")
    _, held = choose_representation(plan.name, plan.record, plan.version, plan.format)
    source = registry.documents.open_source(plan.name, held)
    difference = comparing.compare_texts(source, correction.before, correction.after)
    if difference is not None:
        note(_describe_difference(difference))
    if search:
        recorded = affected.list_recorded_parts(
            registry, plan.name, report=lambda error: note(f"parts in it are not known: {error}")
        )
        for one in recorded:
            note(f"{one.part} may mean something else: {one.place} of {one.identifier}")


def _describe_difference(found: TextDifference) -> str:
    if found.after is None:
        return "the bytes cannot all be read in this way, so most of its parts cannot be found"
    counts = f"characters: {_show_count(found.before)} before, {found.after} after"
    if found.first is None:
        same = found.before == found.after
        return f"{counts}; all parts stay the same" if same else counts
    return f"{counts}; parts that end before character {found.first} stay the same"


def _show_count(count: int | None) -> str:
    return "unknown" if count is None else str(count)
