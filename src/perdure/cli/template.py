"""Where parts lie of what is held elsewhere: `template`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import Command, here

if TYPE_CHECKING:
    from perdure.ids import Identifier


@click.command(cls=Command)
@click.argument("identifier", type=options.IDENTIFIER)
@click.option("--part", metavar="SPEC", help="The part, where the identifier itself has none.")
@click.option(
    "--try", "tried", multiple=True, metavar="TEMPLATE", help="Instead of those of the settings."
)
def template(identifier: Identifier, part: str | None, tried: tuple[str, ...]) -> None:
    """Tell where the part lies that IDENTIFIER ends in, by the templates of the registry.

    With --try, a template can be looked at before it gets into the settings.
    """
    from perdure.cli import fetching
    from perdure.errors import PartNotSupported
    from perdure.model.queries import Redirect, Want
    from perdure.policy import templates
    from perdure.reading.resolve import ReadDoor

    general = tuple(str(templates.read(text)) for text in tried)
    with here().registry() as registry:
        door = ReadDoor(registry.records, general) if tried else registry.reading
        resolved = door.resolve(fetching.query(registry, identifier, part=part))
        found = resolved.inside
        if found is None:
            raise click.UsageError(f"{identifier} is registered as it is: give a part with --part")
        step = resolved.choose(Want.LOCATION, whole=True)
        place = None
        if isinstance(step, Redirect):
            place = resolved.locate_part(step.location.uri)
    if place is None:
        raise PartNotSupported(media_type=f"what {found.whole} leads to", selector=found.part)
    fields = {"whole": str(found.whole), "delimiter": found.delimiter, "part": found.part}
    here().answer(fields | {"location": place}, place)
