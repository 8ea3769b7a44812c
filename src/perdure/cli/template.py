"""Where parts lie of what is held elsewhere: `template`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import Command, here

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.policy.unfolding import Unfolded, Unfolding


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
    from perdure.policy.decide import decide
    from perdure.policy.unfolding import Unfolding

    general = tuple(str(templates.read(text)) for text in tried)
    with here().registry() as registry:
        unfolding = Unfolding(registry.records.record, general) if tried else registry.unfolding
        found = _taken_apart(unfolding, identifier, part)
        step = decide(fetching.query(registry, found.whole, want=Want.LOCATION), found.record)
        place = None
        if isinstance(step, Redirect):
            place = unfolding.part_location(
                found.whole, found.record, found.delimiter, found.part, step.location.uri
            )
    if place is None:
        raise PartNotSupported(media_type=f"what {found.whole} leads to", selector=found.part)
    fields = {"whole": str(found.whole), "delimiter": found.delimiter, "part": found.part}
    here().answer(fields | {"location": place}, place)


def _taken_apart(unfolding: Unfolding, identifier: Identifier, part: str | None) -> Unfolded:
    """The whole and its part. Raises NotFound where the whole is not registered."""
    from perdure.errors import NotFound
    from perdure.policy.unfolding import Unfolded

    record = unfolding.record(identifier)
    if record is not None:
        own = str(identifier).removeprefix(str(identifier.whole)).removeprefix("#")
        if not (part or own):
            raise click.UsageError(f"{identifier} is registered as it is: give a part with --part")
        return Unfolded(identifier.whole, record, "#" if own else "?part=", part or own)
    found = unfolding.unfold(identifier)
    if found is None:
        raise NotFound(identifier=str(identifier))
    return found
