"""Descriptions of resources: `metadata` in other formats, in and out."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.addresses import find_actionable_url
from perdure.cli.command import PerdureGroup, here
from perdure.cli.deposit import open_input
from perdure.cli.output import output_file
from perdure.cli.paths import StatedPath
from perdure.cli.receipts import print_receipt

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.ids.name_set import NameSet
    from perdure.metadata.port import DescribedResource
    from perdure.model.commands import Describe, Receipt
    from perdure.reading.resolved import Resolved
    from perdure.registry import Registry


def describe_resource(
    registry: Registry, resolved: Resolved, url: str | None, *, own: bool = False
) -> DescribedResource:
    address = url or find_actionable_url(registry, resolved.identifier, resolved.part_beside)
    return registry.documents.describe_resolved(resolved, address, own=own)


def resolve_describable(
    registry: Registry, identifier: Identifier, part: str | None = None
) -> Resolved:
    """Resolve an identifier that can be described. Raises NotFound, or PatternNotAllowed if it is
    a pattern."""
    from perdure.cli import queries

    resolved = registry.reading.resolve(queries.make_query(registry, identifier, part=part))
    resolved.require_single()
    resolved.require_citable()
    return resolved


def _require_part(registry: Registry, identifier: Identifier, part: str | None) -> None:
    """Raise the errors of cutting a part, unless it exists.  # ruling: part-exists"""
    from perdure.cli import queries

    resolved = registry.reading.resolve(queries.make_query(registry, identifier, part=part))
    registry.documents.select_part(resolved)


@click.group(cls=PerdureGroup)
def metadata() -> None:
    """Metadata of identifiers in other formats: DataCite, Dublin Core, JSON-LD …"""


@metadata.command("get")
@click.argument("names", metavar="IDENTIFIER", type=options.LISTED)
@click.option(
    "--format",
    "form",
    metavar="NAME",
    help="datacite (default), dc, jsonld, turtle, csl, bibtex, ris, json, or an attached one.",
)
@click.option(
    "--own",
    is_flag=True,
    help="Only the metadata set for IDENTIFIER itself; the default format is json.",
)
@options.add_output()
@options.url
@options.part
def get_record(
    names: NameSet,
    form: str | None,
    output: str,
    url: str | None,
    part: str | None,
    *,
    own: bool,
) -> None:
    """Write the metadata of IDENTIFIER as a record of a format.

    If IDENTIFIER is a pattern (hdl:1839/*) or a list of names (@FILE), write a record for each
    name, one after the other; with --json, one line for each.

    A version, format or part inherits the metadata of the wider levels. With --own, the record has
    only the metadata set for IDENTIFIER itself: the members that 'metadata set --merge' changes.
    """
    from perdure.cli import many

    form = form or ("json" if own else "datacite")
    names = many.find_pattern(names)
    if many.is_set(names) and (url is not None or part is not None):
        raise click.UsageError("--url and --part are about one resource, not a set of names")
    with contextlib.ExitStack() as opened:
        registry = opened.enter_context(here().open_registry())
        as_lines = here().as_json and output == "-"
        file = None if as_lines else opened.enter_context(output_file(output))
        for identifier in many.list_each(registry, names):
            data = _write_one(registry, identifier, form, url, part, own=own)
            if file is None:
                text = data.decode("utf-8", "replace")
                told = {"identifier": str(identifier), "format": form, "record": text}
                here().print_answer(told, "")
            else:
                file.write(data)
                if many.is_set(names) and not data.endswith(b"\n"):
                    file.write(b"\n")


def _write_one(
    registry: Registry,
    identifier: Identifier,
    form: str,
    url: str | None,
    part: str | None,
    *,
    own: bool,
) -> bytes:
    """Write a record about one identifier."""
    from perdure import metadata as formats

    if identifier.is_citation:
        return _write_quotation(registry, identifier, form)
    resolved = resolve_describable(registry, identifier, part)
    attached = resolved.find_attached(form.lower(), own=own)
    if attached is not None:
        return attached.content
    what = describe_resource(registry, resolved, url, own=own)
    return formats.write_record(what, form)


def _write_quotation(registry: Registry, citation: Identifier, form: str) -> bytes:
    """Write a record about the passage that a citation names, or records of both documents."""
    from perdure import metadata as formats
    from perdure.cli import queries, quotations
    from perdure.reading.citations.citing import RECORDS

    resolved = registry.reading.resolve(queries.make_query(registry, citation))
    if form.lower() in RECORDS:
        return f"{quotations.cite_resolved(registry, resolved, form, 'en', None)}\n".encode()
    return formats.write_record(quotations.describe_resolved(registry, resolved), form)


@metadata.command("set")
@click.argument("names", metavar="IDENTIFIER", type=options.LISTED)
@click.argument("file", type=options.FILE)
@click.option("--format", "form", metavar="NAME", help="Format of FILE. Default: detected.")
@click.option("--merge", is_flag=True, help="Change only the members that FILE gives.")
@click.option("--by", metavar="NAME", help="Who says so. Default: local.")
@click.option(
    "--apply", is_flag=True, help="For a pattern: change the names; without this it is only shown."
)
@click.option(
    "--undo",
    type=StatedPath(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="For a pattern: file that undoes it. Default: FILE.undo.jsonl.",
)
@options.part
@options.expect
def set_record(
    names: NameSet,
    file: str,
    part: str | None,
    form: str | None,
    merge: bool,
    by: str | None,
    expect: int | None,
    apply: bool,
    undo: Path | None,
) -> None:
    """Set the metadata of IDENTIFIER: FILE is DataCite, Dublin Core, JSON-LD or CSL-JSON.

    They are said of IDENTIFIER alone, and stay there: of the resource (.../1), of one version
    (.../1.*.2), one format (.../1.html), one format of one version (.../1.html.2), or a part.
    Readers of a version see its own metadata before those of the resource, member by member.

    The new metadata replaces the old, which stays in the history. A CMDI record is attached
    instead, and kept byte for byte. An invalid record is refused with line and reason.

    With --merge, members that FILE does not give stay. FILE is a JSON Merge Patch (RFC 7396) of our
    own JSON, in which null removes a member, or a record of another format. IDENTIFIER may then be
    a pattern (hdl:1839/*) or a list of names (@FILE): it shows what would change. With --apply it
    changes it, and writes the file that undoes it before it does: 'perdure import --replace --apply
    FILE.undo.jsonl'.
    """
    import msgspec

    from perdure import metadata as formats
    from perdure.cli import many
    from perdure.metadata import cmdi
    from perdure.model.commands import Describe
    from perdure.model.records import LOCAL

    data = _read_record(file)
    name = form or formats.guess_format(data)
    if merge:
        names = many.find_pattern(names)
    if many.is_set(names):
        if not merge or part is not None or expect is not None or name == cmdi.NAME:
            raise click.UsageError("a pattern or a list of names needs --merge, and no --part")
        patch = formats.read_merge_patch(data, name)
        target = undo or Path(f"{'stdin' if file == '-' else file}.undo.jsonl")
        with here().open_registry() as registry:
            many.merge_metadata(registry, names, patch, by=by or LOCAL, apply=apply, undo=target)
        return
    if apply or undo:
        raise click.UsageError("--apply and --undo are for patterns and lists of names")
    command = Describe(by=by or LOCAL, identifier=names.example, part=part, expect=expect)
    receipt = _describe_name(command, data, name, merge=merge)
    if name != cmdi.NAME:
        receipt = msgspec.structs.replace(receipt, dropped=formats.list_unread(data, name))
    print_receipt(receipt)


def _describe_name(command: Describe, data: bytes, name: str, *, merge: bool) -> Receipt:
    """Set the metadata of one name to a record in a format, or merge the record into them."""
    import msgspec

    from perdure import metadata as formats
    from perdure.metadata import cmdi
    from perdure.policy import levels, rules

    identifier, part = command.identifier, command.part
    with here().open_registry() as registry:
        resource, level = levels.read_described(identifier, part)
        record = rules.require_known(identifier, registry.listings.find_record(resource))
        if level.part:
            _require_part(registry, identifier, part)
        if name == cmdi.NAME:
            own = levels.find_own(record, levels.pin_part(resource, record, level)).attached
            attached = cmdi.replace_attachment(own, data)
            command = msgspec.structs.replace(command, attached=attached)
        elif merge:
            patch = formats.read_merge_patch(data, name)
            command = msgspec.structs.replace(command, patch=patch)
        else:
            url = find_actionable_url(registry, identifier, part)
            about = formats.adopt_description(formats.read_record(data, name), identifier, url)
            command = msgspec.structs.replace(command, about=about)
        return registry.door.execute_command(command)


@metadata.command("validate")
@click.argument("files", nargs=-1, required=True, type=options.FILE, metavar="FILE...")
@click.option("--format", "form", metavar="NAME", help="Format of the files. Default: detected.")
def validate_records(files: tuple[str, ...], form: str | None) -> None:
    """Report whether `metadata set` accepts each FILE; needs no registry."""
    from perdure import metadata as formats
    from perdure.errors import PerdureError
    from perdure.metadata import cmdi

    bad = False
    for file in files:
        problem = None
        name = form or ""
        try:
            data = _read_record(file)
            name = form or formats.guess_format(data)
            if name == cmdi.NAME:
                cmdi.read_attachment(data)
            else:
                formats.read_record(data, name)
        except PerdureError as error:
            bad, problem = True, error
        fields = {"file": file, "format": name, "valid": problem is None}
        if problem is None:
            here().print_answer(fields, f"{file}: {name}, valid")
        else:
            here().print_answer(fields | {"problem": problem.as_dict()}, f"{file}: {problem}")
    if bad:
        click.get_current_context().exit(exits.FINDINGS)


@metadata.command("formats")
def list_formats() -> None:
    """List the metadata formats with their media types."""
    from perdure import metadata as formats

    for one in formats.load_formats().values():
        ways = "read, write" if one.read else "write"
        here().print_answer(
            {
                "name": one.name,
                "title": one.title,
                "media_types": one.media_types,
                "read": one.read is not None,
                "schema": one.schema,
            },
            f"{one.name:<9} {one.media_types[0]:<48} {ways:<12} {one.title}",
        )
    here().print_answer(
        {"name": "cmdi", "title": "CMDI, attached", "media_types": ("application/x-cmdi+xml",),
         "read": True, "schema": ""},
        f"{'cmdi':<9} {'application/x-cmdi+xml':<48} {'attach':<12} CMDI, kept byte for byte",
    )  # fmt: skip


def _read_record(file: str) -> bytes:
    """Read a record, but no more than one byte beyond the largest that is allowed."""
    from perdure.metadata import LARGEST

    with open_input(file) as source:
        return source.read(LARGEST + 1)
