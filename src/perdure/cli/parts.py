"""Parts of documents: `part` cuts one out, `parts` lists what a file offers, `verify-part` compares
one, and `prepare` builds indexes for the documents of the registry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.output import check_not_input, note_other_type, output_file
from perdure.cli.paths import StatedPath
from perdure.cli.progress import show_progress
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.ids.name_set import NameSet
    from perdure.ids.named_parts import Name

_FILE = StatedPath(exists=True, dir_okay=False)
_type = click.option("--type", "media_type", metavar="MEDIA/TYPE", help="Default: detected.")
_charset = click.option("--charset", metavar="NAME", help="Charset of a text. Default: detected.")


@click.command(cls=PerdureCommand)
@click.argument("file", type=_FILE)
@click.argument("spec")
@options.add_output("Write to FILE; it appears when it is complete.")
@click.option("--web", is_flag=True, help="Read SPEC as in a web URL, not as in a PDI.")
@_type
@_charset
def part(
    file: str, spec: str, output: str, web: bool, media_type: str | None, charset: str | None
) -> None:
    """Write the part SPEC of FILE to stdout, without a registry.

    \b
    char=37,51                characters, as in a PDI; with --web by RFC 5147
    rect=(5,10),(25,30)       pixels of an image
    sec=23,57                 seconds of sound or video
    xpointer(//table[2])      other SPECs follow the rules of the media type
    """
    from perdure.parts import annotation
    from perdure.reading.file_parts import FileParts

    if here().as_json and output == "-":
        raise click.UsageError("with --json, stdout describes the output: give --output")
    check_not_input(output, file)
    with FileParts(Path(file), media_type=media_type, charset=charset) as local:
        found = local.cut_part(spec, web=web)
        length = 0
        with output_file(output) as target:
            for chunk in local.read_part(found):
                length += len(chunk)
                target.write(chunk)
    about = {
        "part": str(found.selector),
        "reading": found.selector.reading,
        "media_type": found.media_type,
        "length": length,
        "slices": [[one.start, one.stop] for one in found.slices],
        "selector": annotation.write_annotation(found.selector),
        "decoded": found.decoded and {"form": found.decoded.form, "sha512": found.decoded.sha512},
        "facts": found.facts,
    }
    size = f"{count_things(length, 'byte')} of {found.media_type}"
    here().print_note(f"{about['part']} ({about['reading']}): {size}")
    note_other_type(output, found.media_type)
    if here().as_json:
        here().print_answer(about, "")


@click.command(cls=PerdureCommand)
@click.option(
    "--of", "file", metavar="FILE", type=_FILE, required=True, help="The file to look at."
)
@_type
@_charset
def parts(file: str, media_type: str | None, charset: str | None) -> None:
    """List what you can address in FILE: characters, tags, pixels, pages, seconds."""
    from perdure.reading.file_parts import FileParts

    with FileParts(Path(file), media_type=media_type, charset=charset) as local:
        found = local.list_extents()
    fields = {
        "media_type": local.source.media_type,
        "charset": local.source.charset,
        "extents": [
            {"syntax": one.syntax, "what": one.what, "size": one.size, "items": list(one.items)}
            for one in found
        ],
    }
    here().print_answer(
        fields, "\n".join(_write_extent(one.syntax, one.what, one.size, one.items) for one in found)
    )


def _write_extent(syntax: str, what: str, size: int | None, items: tuple[str, ...]) -> str:
    count = "" if size is None else f"{size} "
    names = f": {', '.join(items)}" if items else ""
    return f"{syntax:<28} {count}{what}{names}"


@click.command("verify-part", cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED)
@click.argument("file", type=_FILE)
@click.option("--part", "spec", metavar="SPEC", help="Part, if IDENTIFIER cannot name one itself.")
@click.option("--resolver", metavar="URL", help="Ask this resolver instead of the registry.")
def verify_part(named: Name, file: str, spec: str | None, resolver: str | None) -> None:
    """Check whether FILE is exactly the part that IDENTIFIER names.

    Exits with 1 if it is not.
    """
    from perdure.cli import fetching, queries
    from perdure.ids.named_parts import join_part

    identifier, spec = join_part(named.identifier, named.part if spec is None else spec)
    if spec is None and identifier.whole is identifier:
        raise click.UsageError(f"{identifier} names no part: write one after #, or give --part")
    if resolver is not None:
        delivery = fetching.fetch_from_resolver(resolver, identifier, (), follow=False, part=spec)
        _compare_file(delivery, file)
        return
    with here().open_registry() as registry:
        resolved = registry.reading.resolve(queries.make_query(registry, identifier, part=spec))
        _compare_file(fetching.fetch_from_registry(registry, resolved, follow=False), file)


@click.command(cls=PerdureCommand)
@click.argument("pattern", required=False, type=options.PATTERN)
def prepare(pattern: NameSet | None) -> None:
    """Build the indexes for parts of all documents in the registry, or those of PATTERN.

    Texts, tags and tables need indexes, and large images need copies in tiles. Without this
    command, they are built at the first request for a part, while a reader waits. They are kept in
    indexes/, which you may delete at any time. Prints one line for each document that cannot be
    prepared. Exits with 1 if there are any.
    """
    from perdure.errors import PerdureError
    from perdure.model.queries import IntegrityFinding
    from perdure.upkeep import audit

    count = problems = 0
    with (
        here().open_registry() as registry,
        show_progress("preparing", total=None, unit="documents") as bar,
    ):
        if pattern is not None:
            pattern = registry.listings.require_known(pattern)
        for one in audit.walk_representations(registry.records, within=pattern):
            if isinstance(one, IntegrityFinding):
                name, problem = one.identifier, one.problem
            elif one.version.tombstone:
                continue
            else:
                name, problem = str(one.identifier), None
                try:
                    registry.parts.prepare_source(
                        registry.documents.open_source(one.identifier, one.representation)
                    )
                except PerdureError as error:
                    problem = str(error)
            count += 1
            bar(count, name)
            if problem:
                problems += 1
                here().print_answer({"identifier": name, "problem": problem}, f"{name}: {problem}")
    here().print_summary(
        {"prepared": count - problems, "problems": problems},
        f"{count_things(count - problems, 'document')} "
        f"prepared, {count_things(problems, 'problem')}",
    )
    if problems:
        click.get_current_context().exit(exits.FINDINGS)


def _compare_file(delivery: object, file: str) -> None:
    from perdure.cli.fetching import DeliveredBytes, find_difference

    if not isinstance(delivery, DeliveredBytes):
        here().print_failure(delivery, delivery.sentence)  # type: ignore[attr-defined]  # the others have it
        click.get_current_context().exit(exits.GONE)
    with Path(file).open("rb") as given:
        at = find_difference(delivery, given)
    same = at is None
    fields = {"identifier": delivery.identifier, "file": file, "same": same, "differs_at": at}
    where = "" if same else f" from byte {at} on"
    verdict = "is exactly" if same else "is not"
    here().print_answer(fields, f"{file} {verdict} {delivery.identifier}{where}")
    if not same:
        click.get_current_context().exit(exits.FINDINGS)
