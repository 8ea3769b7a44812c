"""PWIDs: `make`, `check`, `resolve-url` (to where an archive plays them back), `archives`.

None of these commands contacts an archive. They work without a registry directory; if there is one,
its settings name further archives and the id of your own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, PerdureGroup, here
from perdure.cli.paths import StatedPath
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.archives.port import Capture
    from perdure.archives.pwid.known import Archive, Archives
    from perdure.errors import PerdureError
    from perdure.ids.pwid import Pwid
    from perdure.settings import Settings

_COVERAGES = ("part", "page", "subsite", "site", "collection", "recording", "snapshot", "other")


@click.group(cls=PerdureGroup)
def pwid() -> None:
    """References to material in web archives (PWID): make, check, resolve them."""


@pwid.command(cls=PerdureCommand)
@click.argument("url", required=False)
@click.option("--archive", metavar="ID", help="Id of the archive, such as archive.org.")
@click.option(
    "--at", metavar="TIME", help="When it was archived: 2016-01-22T11:20:29Z or 14 digits."
)
@click.option(
    "--coverage",
    type=click.Choice(_COVERAGES),
    metavar="NAME",
    help="part, page … of the eight. Default: page; for a record or the address of a file, part.",
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="draft-00 to draft-04, urn-00 to urn-09, urn (registered). Default: canonical.",
)
@click.option(
    "--warc",
    type=StatedPath(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Use a record of this archive file, which --offset or --record names.",
)
@click.option("--offset", type=click.IntRange(min=0), metavar="BYTES", help="Start of the record.")
@click.option("--record", metavar="ID", help="WARC-Record-ID of the record.")
def make(
    url: str | None,
    archive: str | None,
    at: str | None,
    coverage: str | None,
    dialect: str | None,
    warc: Path | None,
    offset: int | None,
    record: str | None,
) -> None:
    """Make a PWID of URL, archived by --archive --at a time, or of an archive file's record.

    URL alone is the address at which an archive plays something back:
    https://web.archive.org/web/20160122112029/http://www.dr.dk
    """
    from perdure.archives.pwid.making import make_pwid as made
    from perdure.archives.pwid.making import write_pwid

    settings = _load_settings()
    collection = ""
    if warc is not None:
        if url or at or (offset is None) == (record is None):
            raise click.UsageError("--warc needs --offset or --record, and takes no URL or --at")
        capture = _find_record(warc, offset, record)
        own = archive or settings.archive_id
        if not own:
            raise click.UsageError("give --archive, or set archive_id")
        found = made(own, capture.date, coverage or "part", capture.uri)
    elif url and (archive or at):
        if not at or not (archive or settings.archive_id):
            raise click.UsageError("give --archive and --at together")
        found = made(archive or settings.archive_id, at, coverage or "page", url)
    elif url:
        found, collection = _read_playback_url(url, coverage)
    else:
        raise click.UsageError("give a URL or --warc")
    text = write_pwid(found, dialect) if dialect else str(found)
    if not dialect and not found.is_valid("draft-04"):  # a fraction of a second, or none
        here().print_note("perdure reads its time, but the grammar of draft-04 does not allow it")
    here().print_answer(
        {"pwid": text, "collection": collection or None} | _pwid_fields(found), text
    )


@pwid.command(cls=PerdureCommand)
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…")
def check(texts: tuple[str, ...]) -> None:
    """Report which grammars each TEXT satisfies, and why it does not satisfy the others.

    Understands every dialect that was ever published. A TEXT of - reads the lines of stdin. Exits
    with 1 if a TEXT satisfies none of the grammars, even if perdure can read it.
    """
    from perdure.errors import MalformedIdentifier
    from perdure.ids.pwid import parse_pwid

    wrong = 0
    for text in _read_texts(texts):
        try:
            found = parse_pwid(text)
        except MalformedIdentifier as error:
            wrong += 1
            fields = error.as_dict() | {"pwid": None, "message": str(error)}
            here().print_answer(fields, f"not a PWID: {error}")
        else:
            wrong += not found.dialects
            _print_grammars(found)
    if wrong:
        click.get_current_context().exit(exits.FINDINGS)


@pwid.command("resolve-url", cls=PerdureCommand)
@click.argument("identifier", metavar="PWID", type=options.PWID)
@click.option("--raw", is_flag=True, help="Print the address of the record as it was recorded.")
@click.option("--local", is_flag=True, help="Print the address within the archive's own network.")
@click.option("--collection", metavar="NAME", default="", help="Collection in the archive.")
def resolve_url(identifier: Pwid, *, raw: bool, local: bool, collection: str) -> None:
    """Print the address at which the archive of PWID plays it back, without contacting the archive.

    With --json, also prints its TimeGate, TimeMap, CDX server and own resolver of PWIDs.
    """
    known = load_archives()
    addresses = {
        "playback": known.make_playback_url(identifier, collection=collection),
        "raw": known.make_raw_url(identifier, collection=collection),
        "local": known.make_local_url(identifier),
        "timegate": known.make_timegate_url(identifier),
        "timemap": known.make_timemap_url(identifier),
        "cdx": known.make_cdx_url(identifier),
        "resolver": known.make_resolver_url(identifier),
    }
    chosen = addresses["raw" if raw else "local" if local else "playback"]
    archive = known.find_archive(identifier.archive)
    if chosen is None:
        raise _explain_refusal(identifier, archive, local=local)
    about = {name: getattr(archive, name, None) for name in ("access", "status", "moved_to")}
    here().print_answer({"pwid": str(identifier)} | addresses | about, chosen)


@pwid.command(cls=PerdureCommand)
@click.argument("ids", nargs=-1, metavar="[ID…]")
@click.option(
    "--import",
    "source",
    type=StatedPath(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Add archives from MemGator's archives.json, Turtle or TOML to archives_file.",
)
@click.option(
    "--export",
    "form",
    type=click.Choice(("turtle", "toml")),
    metavar="FORM",
    help="Write the registry of archives for other programs: turtle or toml.",
)
def archives(ids: tuple[str, ...], source: Path | None, form: str | None) -> None:
    """List all known web archives, or those called ID: id, access, status, name."""
    from perdure.archives.pwid import registries
    from perdure.errors import UnknownArchive

    if source is not None:
        _import_archives(source)
        return
    known = load_archives()
    chosen = []
    for one in ids:
        found = known.find_archive(one)
        if found is None:
            raise UnknownArchive(identifier=one, archive=one)
        chosen.append(found)
    listed = chosen or list(known)
    if form is not None:
        write = registries.write_turtle if form == "turtle" else registries.write_toml
        click.echo(write(listed), nl=False)
        return
    for archive in listed:
        here().print_answer(
            archive, f"{archive.id}\t{archive.access}\t{archive.status}\t{archive.name}"
        )


def _load_settings() -> Settings:
    """Load the settings of the registry; without one, the defaults and the environment."""
    import os

    from perdure import settings

    root = here().root
    if (root / settings.FILE).exists():
        return settings.load_settings(root, os.environ)
    return settings.read_table({}, os.environ)


def load_archives() -> Archives:
    """Load the archives that the package knows, and those of the operator."""
    from perdure.archives.pwid.known import load_archives

    return load_archives(_load_settings(), here().root)


def _read_playback_url(url: str, coverage: str | None) -> tuple[Pwid, str]:
    """Return the PWID of a playback address, and the archive's collection in it."""
    from perdure.archives.pwid.making import make_pwid as made
    from perdure.errors.captures import UnknownPlayback

    found = load_archives().read_playback_url(url)
    if not found:
        raise UnknownPlayback(url=url)
    for other in found[1:]:
        here().print_note(f"it can also mean {other.pwid}")
    best = found[0].pwid
    if coverage:
        best = made(best.archive, best.time, coverage, best.item)
    return best, found[0].collection


def _find_record(path: Path, offset: int | None, id: str | None) -> Capture:
    """Find the record at an offset or with an id. Raises NotFound."""
    from perdure.archives.files.careful import SharedMember
    from perdure.archives.files.scanning import ArchivePlace, scan_file
    from perdure.archives.port import Capture
    from perdure.cli.progress import show_progress
    from perdure.errors.lookup import NoSuchArchivedRecord

    wanted, size, start = (id or "").strip("<>"), path.stat().st_size, offset or 0
    for place in (
        ArchivePlace(path=str(path), base=start, size=max(0, size - start)),
        ArchivePlace(path=str(path), shared=True),
    ):
        sought = offset if place.shared else 0
        try:
            with show_progress("reading", total=None if place.shared else size) as bar:
                for met in scan_file(place, path.name):
                    bar(met.offset)
                    if isinstance(met, Capture) and (
                        met.id == wanted if id is not None else met.offset == sought
                    ):
                        return met
                    if id is None and met.offset > (sought or 0):
                        break
        except SharedMember:
            continue
        break
    raise NoSuchArchivedRecord(identifier=id if id is not None else f"@{offset}", file=path.name)


def _read_texts(texts: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts; `-` stands for the lines of stdin that are not empty."""
    for text in texts:
        if text != "-":
            yield text
            continue
        for line in sys.stdin:
            if line.strip():
                yield line.strip()


def _pwid_fields(found: Pwid) -> dict[str, object]:
    return {
        "archive": found.archive,
        "time": found.time,
        "coverage": found.coverage,
        "item": found.item,
    }


def _print_grammars(found: Pwid) -> None:
    """Print the drafts that a text satisfies, and its misfits with the others."""
    from perdure.ids.pwid_dialects import DIALECTS, Misfit, list_misfits

    faults: dict[tuple[Misfit, ...], list[str]] = {}
    for dialect in DIALECTS:
        faults.setdefault(list_misfits(dialect, found.written, found.item), []).append(dialect)
    satisfied = faults.pop((), [])
    warning = "a time of day without its Z was read as UTC" if found.assumed_utc else None
    lines = [f"{found.written}: {', '.join(satisfied) or 'satisfies no grammar'}"]
    if found.written != str(found):
        lines.append(f"  canonical: {found}")
    lines += [f"  warning: {warning}"] if warning else []
    for wrong, dialects in faults.items():
        reasons = (f"{one.field} {one.found!r}, expected {one.expected}" for one in wrong)
        lines.append(f"  not {', '.join(dialects)}: {'; '.join(reasons)}")
    here().print_answer(
        {
            "pwid": str(found),
            "urn": found.urn,
            "written": found.written,
            "satisfies": satisfied,
            "warnings": [warning] if warning else [],
            "misfits": {
                dialect: [one._asdict() for one in wrong]
                for wrong, dialects in faults.items()
                for dialect in dialects
            },
        }
        | _pwid_fields(found),
        "\n".join(lines),
    )


def _explain_refusal(identifier: Pwid, archive: Archive | None, *, local: bool) -> PerdureError:
    """Return the error that says why a PWID has no address."""
    from perdure.archives.pwid.playback import format_digits, is_uri
    from perdure.errors import ArchiveClosed, UnknownArchive
    from perdure.errors.captures import (
        CollectionNeeded,
        ItemNotUri,
        PlaybackUnknown,
        TimeTooCoarse,
    )

    if archive is None:
        return UnknownArchive(identifier=str(identifier), archive=identifier.archive)
    if not is_uri(identifier.item):
        return ItemNotUri(identifier=str(identifier))
    if format_digits(identifier) is None:
        return TimeTooCoarse(identifier=str(identifier))
    if archive.access == "closed" and not local:
        return ArchiveClosed(archive=archive.id)
    if any("{collection}" in one.url for one in archive.patterns):
        return CollectionNeeded(identifier=str(identifier))
    return PlaybackUnknown(identifier=str(identifier))


def _import_archives(source: Path) -> None:
    """Add archives that are not known yet from a file to the operator's own file."""
    from perdure.archives.pwid.importing import import_archives
    from perdure.errors.captures import NoArchivesFile

    settings = _load_settings()
    if not settings.archives_file:
        raise NoArchivesFile(source=source.name)
    path = here().root / settings.archives_file
    added, count = import_archives(source.read_bytes(), path)
    for one in added:
        here().print_answer(one, f"{one.id}\t{one.access}\t{one.status}\t{one.name}")
    here().print_note(
        f"{len(added)} of {count_things(count, 'archive')} added to {path}; the others were known"
    )
