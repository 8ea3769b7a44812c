"""The plain text of documents: `text` prints it, or says why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.output import output_file
from perdure.cli.paths import StatedPath

if TYPE_CHECKING:
    from perdure.ids.named_parts import Name
    from perdure.ids.pwid import Pwid
    from perdure.reading.resolved import Resolved
    from perdure.registry import Registry

_FILE = StatedPath(exists=True, dir_okay=False)


@click.command(cls=PerdureCommand)
@click.argument("named", metavar="[IDENTIFIER]", type=options.NAMED, required=False)
@click.option(
    "--of", "file", type=_FILE, metavar="FILE", help="Read this file, without a registry."
)
@options.add_output("Write to FILE; it appears when it is complete.")
@options.part
@click.option(
    "--nearest", is_flag=True, help="For a PWID, accept the nearest capture if none is exact."
)
def text(
    named: Name | None, file: str | None, output: str, part: str | None, nearest: bool
) -> None:
    """Print the plain text of what IDENTIFIER names, as UTF-8.

    That is the text of a document held here, of a part of it, of a capture, or of the passage that
    a citation names. With --json the text is a member of the answer.
    """
    if (named is None) == (file is None):
        raise click.UsageError("give an IDENTIFIER, or --of FILE")
    if named is None:
        source, found = str(file), _read_file(str(file), part)
    else:
        source, found = _read_name(named, part, nearest=nearest)
    if here().as_json and output == "-":
        here().print_answer({"identifier": source, "text": found}, "")
        return
    data = found.encode("utf-8", "replace")
    with output_file(output) as target:
        target.write(data)
    if here().as_json:
        here().print_answer({"identifier": source, "length": len(data)}, "")


def _read_file(file: str, part: str | None) -> str:
    from perdure.reading.file_parts import FileParts

    with FileParts(Path(file)) as local:
        return local.read_text(part)


def _read_name(named: Name, part: str | None, *, nearest: bool) -> tuple[str, str]:
    """Return a name and its text."""
    from perdure.cli import queries
    from perdure.ids.named_parts import join_part

    identifier, part = join_part(named.identifier, named.part if part is None else part)
    with here().open_registry() as registry:
        resolved = registry.reading.resolve(queries.make_query(registry, identifier, part=part))
        if resolved.pwid is not None:
            return str(resolved.asked), _read_pwid(registry, resolved.pwid, nearest=nearest)
        shown = resolved
        if resolved.is_citation:
            from perdure.cli import quotations

            shown = quotations.find_passage(registry, resolved)
        return str(resolved.asked), _read_resolved(registry, shown)


def _read_resolved(registry: Registry, resolved: Resolved) -> str:
    """Read the text of a document, or end with the exit code of a withdrawn one."""
    import msgspec

    from perdure.cli.fetching import WithdrawnResource
    from perdure.model.queries import Gone
    from perdure.reading.plain_texts import choose_text

    resolved.require_single()
    step = choose_text(resolved)
    if isinstance(step, Gone):
        gone = WithdrawnResource(
            identifier=str(step.identifier), tombstone=msgspec.to_builtins(step.tombstone)
        )
        here().print_failure(gone, gone.sentence)
        click.get_current_context().exit(exits.GONE)
    return registry.documents.read_text(resolved, step)


def _read_pwid(registry: Registry, pwid: Pwid, *, nearest: bool) -> str:
    """Read the text of a capture, and print the verdict on it."""
    from perdure.cli import archived
    from perdure.reading.plain_texts import read_capture_text

    capture, judgement = archived.choose_capture(registry, pwid, nearest=nearest)
    here().print_note(judgement.sentence)
    return read_capture_text(registry.parts, registry.archive, capture)
