"""Archive files: `archive add`, `list`, `find`, `check`, `export-cdxj`.

What must stay true: a flaw in a file is reported with its offset, and the rest of the file is
indexed all the same; the exit code says that there was a flaw.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.archive_indexes import add_index
from perdure.cli.capturing import capture as capture_page
from perdure.cli.command import PerdureCommand, PerdureGroup, here
from perdure.cli.paths import StatedPath
from perdure.cli.progress import show_progress
from perdure.cli.withholding import withheld, withhold
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.archives.files.careful import Flaw
    from perdure.archives.index.sqlite_index import ArchiveFile
    from perdure.archives.library import AddedFile
    from perdure.archives.port import Capture, Captures
    from perdure.registry import Registry

_SHOWN = 20
_EVERY = 1024  # lines between two steps of a progress bar
_public = click.option("--public", is_flag=True, help="Only the captures that everyone may read.")


@click.group(cls=PerdureGroup)
def archive() -> None:
    """Archive files (WARC, ARC, WACZ): add them, find captures in them, check them."""


archive.add_command(capture_page)
archive.add_command(withhold)
archive.add_command(withheld)


@archive.command(cls=PerdureCommand)
@click.argument(
    "paths", nargs=-1, required=True, type=StatedPath(exists=True, path_type=Path), metavar="PATH…"
)
@click.option(
    "--move/--in-place",
    help="Move the files into the registry directory. Otherwise they must not be moved.",
)
def add(paths: tuple[Path, ...], *, move: bool) -> None:
    """Index archive files, or all archive files in a directory.

    A file that was added before is read again only if it has changed. Flaws in a file are reported
    with their offsets, and the rest of the file is indexed. Exits with 1 if there were any.
    """
    from perdure.archives.library import archive_files
    from perdure.errors.captures import IndexNotTaken

    files = [file for path in paths for file in archive_files(path)]
    sizes = [file.stat().st_size for file in files]
    captures = flaws = refused = read = 0
    with here().open_registry() as registry, show_progress("reading", total=sum(sizes)) as bar:
        for file, size in zip(files, sizes, strict=True):

            def watch_file(at: int, before: int = read) -> None:
                bar(before + at)

            try:
                added = registry.archive.add_file(file, move=move, watch=watch_file)
            except (OSError, IndexNotTaken) as error:
                refused += 1
                reason = getattr(error, "strerror", None) or str(error)
                here().print_failure({"file": str(file), "problem": reason}, f"{file}: {reason}")
                continue
            finally:
                read += size
            for one in added:
                captures += one.file.captures if one.outcome != "unchanged" else 0
                flaws += one.file.flaws
                _print_added(one)
    here().print_summary(
        {"files": len(files), "captures": captures, "flaws": flaws, "unreadable": refused},
        f"{count_things(len(files), 'file')}, {count_things(captures, 'capture')} "
        f"added, {count_things(flaws, 'flaw')}",
    )
    if flaws or refused:
        click.get_current_context().exit(exits.FINDINGS)


def _print_added(added: AddedFile) -> None:
    file = added.file
    here().print_answer(
        {
            "file": file.name,
            "outcome": added.outcome,
            "records": file.records,
            "captures": file.captures,
            "flaws": [{"offset": flaw.offset, "problem": flaw.what} for flaw in added.flaws],
            "flaw_count": file.flaws,
        }
        | ({"notes": added.notes} if added.notes else {}),
        f"{file.name}: {added.outcome}, {count_things(file.records, 'record')}, "
        f"{count_things(file.captures, 'capture')}",
    )
    for note in added.notes:
        here().print_note(f"{file.name}: {note}")
    _print_flaws(file.name, added.flaws, file.flaws)


archive.add_command(add_index)


@archive.command(cls=PerdureCommand)
def reindex() -> None:
    """Read the archive files again that an earlier release of perdure indexed.

    Their entries in the index lack the methods of requests and the digests of records that carry
    none. The server goes on answering from the old entries until the new ones are complete, and
    reads the requests at each look-up. If this command is interrupted, run it again: it goes on
    with the next file.
    """
    files = captures = flaws = unreadable = 0
    with here().open_registry() as registry:
        outdated = [one for one in registry.archive.list_files() if one.is_outdated]
        with show_progress("reading", total=sum(one.size for one in outdated)) as bar:
            for file in outdated:
                try:
                    added = registry.archive.refresh_file(file, bar)
                except OSError as error:
                    unreadable += 1
                    reason = error.strerror or type(error).__name__
                    here().print_failure(
                        {"file": file.name, "problem": reason}, f"{file.name}: {reason}"
                    )
                    continue
                files += 1
                captures += added.file.captures
                flaws += added.file.flaws
                _print_added(added)
    here().print_summary(
        {"files": files, "captures": captures, "flaws": flaws, "unreadable": unreadable},
        f"{count_things(files, 'file')} read again, {count_things(captures, 'capture')}",
    )
    if unreadable:
        click.get_current_context().exit(exits.FINDINGS)


def _print_outdated(files: list[ArchiveFile]) -> None:
    outdated = sum(one.is_outdated for one in files)
    if outdated:
        here().print_note(
            f"{count_things(outdated, 'file')} indexed by an earlier release: to tell pages from "
            "answers to POST and OPTIONS requests, perdure reads the requests at each look-up, and "
            "lists leave such answers out; run `perdure archive reindex`"
        )


def _print_flaws(name: str, flaws: tuple[Flaw, ...] | list[Flaw], count: int) -> None:
    for flaw in flaws[:_SHOWN]:
        here().print_note(f"{name} at {flaw.offset}: {flaw.what}")
    if count > _SHOWN:
        more = count_things(count - _SHOWN, "more flaw")
        here().print_note(f"{name}: {more}; --json shows the first thousand")


@archive.command("list", cls=PerdureCommand)
def list_archive_files() -> None:
    """List the archive files: name, records, captures, flaws and path of each."""
    with here().open_registry() as registry:
        files = registry.archive.list_files()
    for file in files:
        here().print_answer(
            file, f"{file.name}\t{file.records}\t{file.captures}\t{file.flaws}\t{file.path}"
        )
    here().end_list("no archive files; 'perdure archive add' registers some")
    _print_outdated(files)


@archive.command(cls=PerdureCommand)
@click.argument("url")
@click.option("--at", metavar="TIME", help="2016-01-22T11:20:29Z, or less precise, or 14 digits.")
@click.option("--nearest", is_flag=True, help="Print the nearest capture if none is exact.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=1000,
    metavar="NUMBER",
    help="At most this many captures, without --at. Default: 1000.",
)
@_public
def find(url: str, at: str | None, *, nearest: bool, limit: int, public: bool) -> None:
    """Find the captures of URL, or the one at a given time.

    With --at, a capture is printed only if its URL and time are exactly those, or with --nearest.
    Otherwise the command exits with 10 and lists the closest captures on stderr.
    """
    with here().open_registry() as registry:
        captures = _choose_captures(registry, public=public)
        if at is None:
            _print_all_captures(captures, url, limit)
        else:
            _print_capture_at(captures, url, at, nearest=nearest)


def _choose_captures(registry: Registry, *, public: bool) -> Captures:
    """Return the captures that everyone may read, or all of them."""
    from perdure.errors import ArchiveClosed
    from perdure.model.queries import LOCAL_READER, PUBLIC_READER

    if public and not registry.has_open_captures:
        raise ArchiveClosed(archive=registry.settings.archive_id)
    return registry.read_archive(PUBLIC_READER if public else LOCAL_READER).captures


@archive.command(cls=PerdureCommand)
@click.argument("names", nargs=-1, metavar="[NAME…]")
def check(names: tuple[str, ...]) -> None:
    """Read all archive files again, or those called NAME, and compare the digests of all records.

    Prints one line for each problem, but of many of one kind in a file only the first, and at the
    end the number of problems by file and kind. --json prints all. Exits with 1 if there are any.
    """
    from collections import Counter

    from perdure.errors.lookup import NoSuchArchiveFile

    faults: Counter[tuple[str, str]] = Counter()

    with here().open_registry() as registry:
        files = [one for one in registry.archive.list_files() if not names or one.name in names]
        for name in set(names) - {one.name for one in files}:
            raise NoSuchArchiveFile(identifier=name)
        records = digests = problems = read = 0
        with show_progress("checking", total=sum(one.size for one in files)) as bar:
            for file in files:
                try:
                    for found in registry.archive.check_file(file):
                        records += found.is_record
                        digests += found.digests
                        bar(read + min(found.offset, file.size))
                        if found.note:
                            here().print_note(f"{found.file}: {found.note}")
                        if found.problem:
                            problems += 1
                            faults[found.file, found.fault] += 1
                            if here().as_json or faults[found.file, found.fault] <= _SHOWN:
                                here().print_answer(
                                    found, f"{found.file}@{found.offset}: {found.problem}"
                                )
                except OSError as error:
                    problems += 1
                    reason = error.strerror or type(error).__name__
                    here().print_answer(
                        {"file": file.name, "problem": reason}, f"{file.name}: {reason}"
                    )
                read += file.size
    for (name, fault), count in faults.items():
        here().print_note(f"{name}: {count} × {fault}")
    _print_outdated(files)
    here().print_summary(
        {
            "files": len(files),
            "records": records,
            "digests": digests,
            "problems": problems,
            "faults": [
                {"file": name, "fault": fault, "count": count}
                for (name, fault), count in faults.items()
            ],
        },
        f"{count_things(len(files), 'file')} with {count_things(records, 'record')} "
        f"checked, {count_things(digests, 'digest')} compared, "
        f"{count_things(problems, 'problem')}",
    )
    if problems:
        click.get_current_context().exit(exits.FINDINGS)


@archive.command("export-cdxj", cls=PerdureCommand)
@options.add_output()
@click.option(
    "--all", "every", is_flag=True, help="Include requests and other records about captures."
)
@_public
def export_cdxj(output: str, *, every: bool, public: bool) -> None:
    """Write the index as sorted CDXJ, which pywb and other programs read."""
    from perdure.archives.index.exporting import export_lines
    from perdure.cli.output import output_file

    written = 0
    with here().open_registry() as registry, output_file(output) as into:
        captures = _choose_captures(registry, public=public)
        with show_progress("captures", total=captures.count_captures(), unit="captures") as bar:
            for line in export_lines(captures, every=every):
                into.write(line)
                written += 1
                if not written % _EVERY:
                    bar(written)
    here().print_note(f"{count_things(written, 'capture')} written")


def _print_all_captures(captures: Captures, url: str, limit: int) -> None:
    from itertools import islice

    from perdure.archives.index import ranges

    found = 0
    for capture in islice(ranges.walk_range(captures, ranges.make_range(url, "exact")), limit):
        found += 1
        _print_capture(capture)
    if not found:
        _report_absence(f"no captures of {url}")


def _print_capture_at(captures: Captures, url: str, at: str, *, nearest: bool) -> None:
    from perdure.archives.dates import format_second, parse_second
    from perdure.archives.pwid import verdict
    from perdure.model.timestamps import find_span

    try:
        parse_second(at)
    except ValueError:
        raise click.BadParameter(f"{at[:40]!r} is not a time", param_hint="--at") from None
    date = format_second(at) if at.isdigit() and len(at) == 14 else at
    first, last = find_span(date)
    wanted = verdict.WantedCapture(uri=url, first=first, last=last, date=date)
    judged = verdict.judge_evidence(
        wanted, verdict.look_up_evidence(captures, wanted), nearest=nearest
    )
    if judged.capture is None:
        _report_absence(
            f"{judged.sentence}: no exact capture of {url}",
            offered=[_capture_fields(one) for one in judged.offered[:_SHOWN]],
        )
        return
    for capture in judged.fits or (judged.capture,):
        _print_capture(capture, match=judged.verdict.token, delta=judged.delta)


def _capture_fields(capture: Capture) -> dict[str, object]:
    import msgspec

    fields = msgspec.structs.asdict(capture)
    return {name: value for name, value in fields.items() if value not in ("", None)}


def _print_capture(capture: Capture, **more: object) -> None:
    """Print a capture; `more` says how it relates to the query."""
    verdict = [str(value) for value in more.values()]
    kind = f"{capture.kind} to {capture.method}" if capture.method else capture.kind
    text = (capture.date, kind, str(capture.status or "-"), capture.media_type or "-")
    place = f"{capture.file}@{capture.offset}"
    here().print_answer(
        more | _capture_fields(capture), "\t".join((*verdict, *text, capture.uri, place))
    )


def _report_absence(text: str, *, offered: list[dict[str, object]] | None = None) -> None:
    from perdure.errors import NotFound

    here().print_failure({"code": NotFound.code, "message": text, "offered": offered or []}, text)
    for one in offered or []:
        here().print_note(f"the archive has {one['date']} {one['uri']}")
    click.get_current_context().exit(exits.CODES[NotFound])
