"""Composites: `compose`, `provenance` and `manifest`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here, to_json
from perdure.cli.output import check_not_input, output_file
from perdure.cli.receipts import print_receipt

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.ids.named_parts import Name
    from perdure.reading.composites import PieceReport
    from perdure.upkeep.composing import ComposedDocument


@click.command(cls=PerdureCommand)
@click.argument("file", type=options.FILE)
@click.option("--series", type=options.SERIES, help="Series in which the composite is minted.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the composite to FILE (- for stdout), and mint nothing.",
)
@click.option("--type", "media_type", metavar="MEDIA/TYPE", help="Default: detected.")
@click.option("--title", default="", metavar="TEXT", help="Title of the composite.")
@options.add_actor("Who composes it")
def compose(
    file: str,
    series: str | None,
    output: str | None,
    media_type: str | None,
    title: str,
    by: str | None,
) -> None:
    """Fill the parts that FILE cites into it, and mint the result.

    FILE is HTML or XML in UTF-8. In HTML, an empty blockquote or q whose cite names a part of a
    document of this registry gets its text, and an image, sound or film whose src names one is
    shown from there. In XML, xi:include is replaced by the part that its href names. Each piece
    gets the identifier with its version, the date and the digest. A quotation that is not empty
    must be verbatim, or the command fails and nothing is minted.
    """
    from perdure.model.records import LOCAL
    from perdure.upkeep.composing import compose_document, mint_composite

    if (series is None) == (output is None):
        raise click.UsageError("give --series to mint the composite, or --output to write it")
    if output is not None and file != "-":
        check_not_input(output, file)
    with click.open_file(file, "rb") as stream:
        data = stream.read(_LARGEST + 1)
    with here().open_registry() as registry:
        composed = compose_document(registry, data, media_type or _detect_type(data, file))
        if series is not None:
            receipt = mint_composite(registry, composed, series, title=title, by=by or LOCAL)
    if output is not None:
        with output_file(output) as target:
            target.write(composed.data)
    else:
        print_receipt(receipt)
    _note_pieces(composed)


_LARGEST = 8 << 20


def _detect_type(data: bytes, file: str) -> str:
    from perdure.formats import detect

    name = None if file == "-" else Path(file).name
    return detect.resolve_type(None, detect.detect_type(data, name=name)).essence


def _note_pieces(composed: ComposedDocument) -> None:
    from perdure.errors.root import count_things

    for piece in composed.pieces:
        here().print_note(f"{piece.verdict}: {piece.identifier}")
    here().print_note(count_things(len(composed.pieces), "piece"))


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
def provenance(identifier: Identifier) -> None:
    """List the pieces of the composite IDENTIFIER, each with its source, verdict and digest.

    Each piece is compared with its source now. If the source was withdrawn, the line says so. The
    parts of a conjunction are listed, too. The command exits with 1 if a piece is not verbatim, or
    a part of a conjunction is not available. If IDENTIFIER is neither a composite nor a
    conjunction, nothing is listed.
    """
    from perdure.cli import queries
    from perdure.model.queries import LOCAL_READER, Fetch
    from perdure.reading.composites import describe_piece

    with here().open_registry() as registry:
        resolved = registry.reading.resolve(queries.make_query(registry, identifier))
        step = resolved.require_step()
        found = (
            registry.provenance.read_pieces(step, LOCAL_READER) if isinstance(step, Fetch) else []
        )
        for report in found:
            here().print_answer(describe_piece(report), _describe_line(report))
        for name in registry.provenance.walk_composites(resolved.identifier, LOCAL_READER):
            here().print_note(f"{name} contains it, or a part of it")
    if not all(report.is_sound for report in found):
        click.get_current_context().exit(exits.FINDINGS)


def _describe_line(report: PieceReport) -> str:
    words = [report.verdict, str(report.identifier), "at", report.place]
    if report.date:
        words += ["of", report.date]
    if report.sha512:
        words.append(f"sha512:{report.sha512}")
    line = " ".join(words)
    for one in report.signatures:
        line += f", signed by {' '.join(one.judgement.principals)}"
    if report.tombstone is not None:
        return f"{line}: withdrawn {report.tombstone.at[:10]}, {report.tombstone.reason}"
    return f"{line}: {report.reason}" if report.reason else line


@click.command(cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED)
def manifest(named: Name) -> None:
    """Print the IIIF manifest of IDENTIFIER, for viewers such as Mirador.

    A composite, a conjunction, a picture, a sound, a film and a part of these have one. Its
    addresses are at the resolver of the setting base_url, which must be set.
    """
    from perdure.cli import queries
    from perdure.errors.composing import ManifestEmpty
    from perdure.ids.urls import urlify
    from perdure.model.queries import LOCAL_READER, Fetch

    with here().open_registry() as registry:
        base = registry.settings.base_url
        query = queries.make_query(registry, named.identifier, part=named.part)
        resolved = registry.reading.resolve(query)
        url = urlify(resolved.identifier, base)
        step = resolved.require_step()
        if not isinstance(step, Fetch):
            raise ManifestEmpty(identifier=str(named.identifier))
        title = registry.documents.describe_resolved(resolved, url).about.title
        made = registry.manifests.make_manifest(resolved, step, base, title, LOCAL_READER)
    click.echo(to_json(made))
