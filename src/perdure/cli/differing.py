"""`diff`: what differs in two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here

if TYPE_CHECKING:
    from perdure.ids import Identifier

_NUMBER = click.IntRange(min=1)


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.argument("before", metavar="VERSION", type=_NUMBER)
@click.argument("after", metavar="VERSION", type=_NUMBER)
def diff(identifier: Identifier, before: int, after: int) -> None:
    """Print the lines that differ in two versions of IDENTIFIER, as 'diff -u' does.

    The lines are those of the plain text, also of a PDF or an office document. Of versions without
    text, it says that the bytes differ.
    """
    import msgspec

    from perdure.cli import exits, queries
    from perdure.cli.fetching import WithdrawnResource
    from perdure.model.queries import Gone
    from perdure.reading.version_differences import compare_versions

    with here().open_registry() as registry:
        resolved = registry.reading.resolve(queries.make_query(registry, identifier))
        numbers = before, after
        resolved.require_single()
        found = compare_versions(
            registry.reading, registry.documents, registry.parts, resolved, numbers
        )
        if isinstance(found, Gone):
            gone = WithdrawnResource(
                identifier=str(found.identifier), tombstone=msgspec.to_builtins(found.tombstone)
            )
            here().print_failure(gone, gone.sentence)
            click.get_current_context().exit(exits.GONE)
        here().print_answer(msgspec.to_builtins(found), found.write_unified().removesuffix("\n"))
