"""Descriptions of resources: `cite`, and `metadata` in other formats, in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, PerdureGroup, here
from perdure.cli.deposit import open_input
from perdure.cli.output import output_file
from perdure.cli.pwid import load_archives, pwid
from perdure.cli.receipts import print_receipt

if TYPE_CHECKING:
    from perdure.archives.pwid.known import Archives
    from perdure.errors import Corrupt
    from perdure.ids import Identifier
    from perdure.ids.name_set import NameSet
    from perdure.ids.pwid import Pwid
    from perdure.metadata.port import DescribedResource
    from perdure.model.about import About
    from perdure.policy.unfolding import Name
    from perdure.reading.resolve import Resolved
    from perdure.registry import Registry

_part = click.option("--part", metavar="SPEC", help="Part, if IDENTIFIER cannot name one itself.")
_style = click.option(
    "--style",
    default="apa",
    metavar="NAME",
    help="apa (default), mla, iso690, iso690-numeric, bibtex, ris, csl, or a CSL style.",
)
_locale = click.option(
    "--locale", default="en", metavar="TAG", help="Language of the citation. Default: en."
)
_url = click.option(
    "--url", metavar="URL", help="Address in the citation. Default: that below base_url."
)


@click.command(cls=PerdureCommand)
@click.argument("named", metavar="IDENTIFIER", type=options.NAMED)
@_style
@_locale
@_url
@_part
def cite(named: Name, style: str, locale: str, url: str | None, part: str | None) -> None:
    """Write IDENTIFIER as an entry of a reference list, with its actionable form.

    If IDENTIFIER is a pattern or an interval, write a bibliography: an entry for each resource, in
    the order of the identifiers; those that were withdrawn are left out.

    \b
    perdure cite pdi://oma.eop.gov.us/2026/11/21/1
    perdure cite 'hdl:1839/*' --style bibtex
    perdure cite 'pdi://oma.eop.gov.us/2026/11/21/1.text.1#char=37,51' --locale fr
    perdure cite doi:10.1000/182 --style iso690-numeric
    """
    from perdure.cli import fetching
    from perdure.metadata import citing
    from perdure.upkeep import citations

    with here().open_registry() as registry:
        query = fetching.make_query(
            registry, named.identifier, part=named.part if part is None else part, names=named.names
        )
        resolved = citations.resolve_or_explain(registry, query)
        if resolved.names is not None:
            if url is not None:
                raise click.UsageError("--url is the address of one resource, not of a pattern")
            _print_bibliography(registry, resolved.names, style, locale)
            return
        resolved.require_citable()
        what = _describe_resource(registry, resolved, url)
        text = citing.write_citation(what, style, locale).rstrip()
    here().print_answer(
        {
            "identifier": str(named.identifier),
            "url": what.url,
            "style": style,
            "locale": locale,
            "citation": text,
        },
        text,
    )


def _print_bibliography(registry: Registry, names: NameSet, style: str, locale: str) -> None:
    """Print a citation of each resource in a set. Raises NotFound if none is known."""
    from perdure.metadata import citing

    registry.listings.require_known(names)
    damaged: list[Corrupt] = []
    texts = []
    for page in registry.listings.walk_pages(names, limit=registry.settings.page_size, once=True):
        for error in page.damaged:
            damaged.append(error)
            exits.report_error(error, as_json=here().as_json)
        for one in page.records:
            name, record = one.identifier, one.record
            if record.tombstone is not None:
                continue
            what = _describe_resource(registry, _resolve_describable(registry, name), None)
            text = citing.write_citation(what, style, locale).rstrip()
            if not here().as_json:
                texts.append(text)
            told: dict[str, object] = {"identifier": str(name), "url": what.url, "citation": text}
            if others := page.also.get(str(name)):
                told["also"] = [str(one) for one in others]
            here().print_answer(told, "")
    if texts:
        here().print_answer(None, citing.join_citations(texts, style).rstrip())
    if damaged:
        click.get_current_context().exit(exits.exit_code_of(damaged[0]))


def _describe_resource(
    registry: Registry, resolved: Resolved, url: str | None
) -> DescribedResource:
    address = url or _find_actionable_url(registry, resolved.identifier, resolved.part_beside)
    return registry.described(resolved, address)


def _resolve_describable(
    registry: Registry, identifier: Identifier, part: str | None = None
) -> Resolved:
    """Resolve an identifier that can be described. Raises NotFound."""
    from perdure.cli import fetching
    from perdure.upkeep import citations

    resolved = citations.resolve_or_explain(
        registry, fetching.make_query(registry, identifier, part=part)
    )
    resolved.require_citable()
    return resolved


def _require_part(registry: Registry, identifier: Identifier, part: str | None) -> None:
    """Raise the errors of cutting a part, unless it exists.  # ruling: part-exists"""
    from perdure.cli import fetching

    resolved = registry.reading.resolve(fetching.make_query(registry, identifier, part=part))
    registry.select_part(resolved)


def _find_actionable_url(registry: Registry, identifier: Identifier, part: str | None) -> str:
    """Return the address at our resolver or, without `base_url`, the public one of the scheme."""
    from perdure.ids.urls import find_public_address
    from perdure.reading.targets import spell_part_path, spell_path

    path = spell_path(identifier) if part is None else spell_part_path(identifier, part)
    if registry.settings.base_url:
        return f"{registry.settings.base_url}/{path}"
    public = find_public_address(identifier)
    if public:
        return public + path.removeprefix(identifier.path)
    return f"http://{registry.settings.host}:{registry.settings.port}/{path}"


@click.group(cls=PerdureGroup)
def metadata() -> None:
    """Metadata of identifiers in other formats: DataCite, Dublin Core, JSON-LD …"""


@metadata.command("get")
@click.argument("identifier", type=options.IDENTIFIER)
@click.option(
    "--format",
    "form",
    default="datacite",
    metavar="NAME",
    help="datacite (default), dc, jsonld, turtle, csl, bibtex, ris, json, or an attached one.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="-",
    help="Write to FILE instead of stdout.",
)
@_url
@_part
def get_record(
    identifier: Identifier, form: str, output: str, url: str | None, part: str | None
) -> None:
    """Write the metadata of IDENTIFIER as a record of a format."""
    from perdure import metadata as formats

    with here().open_registry() as registry:
        resolved = _resolve_describable(registry, identifier, part)
        attached = resolved.find_attached(form.lower())
        if attached is not None:
            data = attached.content
        else:
            data = formats.write_record(_describe_resource(registry, resolved, url), form)
    if here().as_json and output == "-":
        here().print_answer(
            {
                "identifier": str(identifier),
                "format": form,
                "record": data.decode("utf-8", "replace"),
            },
            "",
        )
        return
    with output_file(output) as file:
        file.write(data)


@metadata.command("set")
@click.argument("identifier", type=options.IDENTIFIER)
@click.argument("file", type=options.FILE)
@click.option("--format", "form", metavar="NAME", help="Format of FILE. Default: detected.")
@click.option("--merge", is_flag=True, help="Change only the members that FILE gives.")
@click.option("--by", metavar="NAME", help="Who says so. Default: local.")
@_part
@options.expect
def set_record(
    identifier: Identifier,
    file: str,
    part: str | None,
    form: str | None,
    merge: bool,
    by: str | None,
    expect: int | None,
) -> None:
    """Set the metadata of IDENTIFIER: FILE is DataCite, Dublin Core, JSON-LD or CSL-JSON.

    They are said of IDENTIFIER alone, and stay there: of the resource (.../1), of one version
    (.../1.*.2), one format (.../1.html), one format of one version (.../1.html.2), or a part.
    Readers of a version see its own metadata before those of the resource, member by member.

    The new metadata replaces the old, which stays in the history. A CMDI record is attached
    instead, and kept byte for byte. An invalid record is refused with line and reason.

    With --merge, members that FILE does not give stay. FILE is a JSON Merge Patch (RFC 7396) of our
    own JSON, in which null removes a member, or a record of another format.
    """
    import msgspec

    from perdure import metadata as formats
    from perdure.metadata import cmdi
    from perdure.model.commands import Describe
    from perdure.model.records import LOCAL
    from perdure.policy import levels, rules

    data = _read_record(file)
    name = form or formats.guess_format(data)
    with here().open_registry() as registry:
        resource, level = levels.read_described(identifier, part)
        record = rules.require_known(identifier, registry.listings.find_record(resource))
        if level.part:
            _require_part(registry, identifier, part)
        command = Describe(by=by or LOCAL, identifier=identifier, part=part, expect=expect)
        if name == cmdi.NAME:
            own = levels.find_own(record, levels.pin_part(resource, record, level)).attached
            attached = cmdi.replace_attachment(own, data)
            command = msgspec.structs.replace(command, attached=attached)
        elif merge:
            patch = formats.read_merge_patch(data, name)
            command = msgspec.structs.replace(command, patch=patch)
        else:
            url = _find_actionable_url(registry, identifier, part)
            about = formats.adopt_description(formats.read_record(data, name), identifier, url)
            command = msgspec.structs.replace(command, about=about)
        receipt = registry.door.execute_command(command)
    if name != cmdi.NAME and not merge:
        receipt = msgspec.structs.replace(receipt, dropped=formats.list_unread(data, name))
    print_receipt(receipt)


@metadata.command("validate")
@click.argument("files", nargs=-1, required=True, type=options.FILE, metavar="FILE...")
@click.option("--format", "form", metavar="NAME", help="Format of the files. Default: detected.")
def validate_records(files: tuple[str, ...], form: str | None) -> None:
    """Report whether `metadata set` accepts each FILE; needs no registry."""
    from perdure import metadata as formats
    from perdure.cli import exits
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


@pwid.command("cite", cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER, metavar="PWID")
@_style
@_locale
@_url
@click.option(
    "--title", metavar="TEXT", help="Title. Default: that of the archived page, or its address."
)
@click.option("--author", multiple=True, metavar="NAME", help="Family, Given; may be repeated.")
@click.option("--publisher", metavar="NAME", help="Who published it.")
@click.option("--date", metavar="DATE", help="Date of publication. Default: date of archiving.")
def pwid_cite(
    identifier: Identifier,
    style: str,
    locale: str,
    url: str | None,
    title: str | None,
    author: tuple[str, ...],
    publisher: str | None,
    date: str | None,
) -> None:
    """Write a reference to archived web material: the archive, the time, the PWID and its URL.

    For a page that this registry captured, title and author come from the page itself unless you
    give them. For pages of other archives, the command needs no registry and contacts no archive.

    \b
    perdure pwid cite pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk --style mla
    """
    import msgspec

    from perdure import metadata as formats
    from perdure.ids.pwid import Pwid
    from perdure.metadata import citing
    from perdure.model.about import (
        About,
        DescriptionDate,
        DescriptionText,
        Publisher,
        check_description,
        parse_person,
    )
    from perdure.model.records import Record

    if not isinstance(identifier, Pwid):
        raise click.UsageError(f"{str(identifier)[:80]} is not a PWID; see 'perdure cite'")
    about = check_description(
        About(
            titles=(DescriptionText(value=title),) if title else (),
            creators=tuple(map(parse_person, author)),
            publisher=Publisher(name=publisher) if publisher else None,
            dates=(DescriptionDate(value=date, kind="Issued"),) if date else (),
        )
    )
    name, address = _describe_archive(load_archives(), identifier)
    own, ours = _find_own_capture(identifier)
    link = url or address or ours
    if not link:
        here().print_note(_NO_ADDRESS)
        link = identifier.urn
    about = msgspec.structs.replace(
        about,
        titles=about.titles or own.titles,
        creators=about.creators or own.creators,
        publisher=about.publisher or own.publisher,
        dates=about.dates or own.dates,
        archive=name,
    )
    what = formats.describe_resource(identifier, Record(about=about), link)
    text = citing.write_citation(what, style, locale).rstrip()
    here().print_answer(
        {"identifier": str(identifier), "url": link, "style": style, "locale": locale,
         "citation": text},
        text,
    )  # fmt: skip


_NO_ADDRESS = "no address is known at which it can be followed: give --url, or set base_url"


def _find_own_capture(identifier: Pwid) -> tuple[About, str]:
    """Return the description of our own capture, and its address if our resolver has one."""
    from perdure import settings
    from perdure.archives.capture import titles
    from perdure.archives.pwid.answering import is_ours
    from perdure.archives.pwid.verdict import (
        CaptureVerdict,
        interpret_pwid,
        judge_evidence,
        look_up_evidence,
    )
    from perdure.model.about import About
    from perdure.reading.targets import spell_path

    if not (here().root / settings.FILE).exists():
        return About(), ""
    with here().open_registry() as registry:
        if not is_ours(registry.settings, identifier):
            return About(), ""
        base = registry.settings.base_url
        archive, wanted = registry.archive, interpret_pwid(identifier)
        judged = judge_evidence(wanted, look_up_evidence(archive.captures, wanted))
        if judged.verdict is not CaptureVerdict.EXACT or judged.capture is None:
            return About(), ""
        said = titles.describe_capture(archive.captures, archive.files, judged.capture)
        return said, f"{base}/{spell_path(identifier)}" if base else ""


def _describe_archive(archives: Archives, identifier: Pwid) -> tuple[str, str]:
    """Return the name of the archive and its playback address; empty if it is not known."""
    known = archives.find_archive(identifier.archive)
    name = known.name if known is not None else ""
    address = archives.make_playback_url(identifier) or archives.make_resolver_url(identifier) or ""
    return (f"{name} ({identifier.archive})" if name else identifier.archive), address
