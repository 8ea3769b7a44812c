"""Locations of parts of resources that are held elsewhere: `template`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here
from perdure.errors.cutting import PartElsewhere

if TYPE_CHECKING:
    from perdure.ids import Identifier


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@options.part
@click.option(
    "--try", "tried", multiple=True, metavar="TEMPLATE", help="Use this instead of the settings."
)
def template(identifier: Identifier, part: str | None, tried: tuple[str, ...]) -> None:
    """Show the location of the part that IDENTIFIER ends in, by the templates of the registry.

    With --try, you can test a template before you add it to the settings.
    """
    from perdure.cli import queries
    from perdure.model.queries import Redirect, Want
    from perdure.policy import templates

    general = tuple(str(templates.read_template(text)) for text in tried)
    with here().open_registry() as registry:
        door = registry.make_read_door(general) if tried else registry.reading
        resolved = door.resolve(queries.make_query(registry, identifier, part=part))
        found = resolved.inside
        if found is None:
            raise click.UsageError(f"{identifier} is registered as it is: give a part with --part")
        step = resolved.choose(Want.LOCATION, whole=True)
        place = None
        if isinstance(step, Redirect):
            place = resolved.locate_part(step.location.uri)
    if place is None:
        raise PartElsewhere(held_at=str(found.whole), selector=found.part)
    fields = {"whole": str(found.whole), "delimiter": found.delimiter, "part": found.part}
    here().print_answer(fields | {"location": place}, place)
