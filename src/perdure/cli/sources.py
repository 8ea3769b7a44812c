"""The file of an import or an update: its options, its form, and its bad records."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perdure.cli.command import here
from perdure.cli.paths import StatedPath

if TYPE_CHECKING:
    from perdure.upkeep.exchange.opening import SourceChoice
    from perdure.upkeep.transfer.importing import ImportSource

NEW_FILE = StatedPath(dir_okay=False, path_type=Path)
OUTPUT = StatedPath(dir_okay=False, allow_dash=True)

from_form = click.option(
    "--from", "form", metavar="FORM", help="Form of FILE, if its beginning does not say it."
)
with_map = click.option(
    "--map",
    "entries",
    metavar="ENTRIES",
    help="Meanings of columns: 'URL=location,Titel=title', or @FILE with an entry a line.",
)
with_charset = click.option("--charset", metavar="NAME", help="Charset of FILE. Default: detected.")
with_columns = click.option(
    "--columns", metavar="NAMES", help="Columns of a table without a first row of names: id,url."
)
with_errors = click.option(
    "--errors", type=OUTPUT, metavar="FILE", help="Append bad lines to FILE, in JSON."
)
with_refused = click.option(
    "--refused", type=NEW_FILE, metavar="FILE", help="Write bad records to FILE, to be mended."
)
with_undo = click.option(
    "--undo", type=NEW_FILE, metavar="FILE", help="File that undoes it. Default: FILE.undo.jsonl."
)


@contextlib.contextmanager
def choose_source(
    file: str,
    *,
    form: str,
    entries: str | None,
    charset: str | None,
    columns: str | None,
    files: Path | None,
) -> Iterator[SourceChoice]:
    """Choose the form of a file. A stream of another form than our own is copied to a file."""
    import tempfile

    from perdure.upkeep.exchange import opening

    words: dict[str, Any] = {
        "form": form,
        "files": files,
        "charset": charset or "",
        "entries": opening.read_mapping_option(entries) if entries else (),
        "columns": tuple(columns.split(",")) if columns else (),
    }
    if entries and not form:
        words["form"] = "csv"
    if file != "-":
        choice = opening.choose_source(Path(file), **words)
        _note_form(Path(file).name, choice)
        yield choice
        return
    if not words["form"]:
        words["form"] = "jsonl"
    words["files"] = files or Path()
    with tempfile.NamedTemporaryFile() as copy:
        if words["form"] != "jsonl":
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
        yield opening.choose_source(Path(copy.name), **words)


def _note_form(name: str, choice: SourceChoice) -> None:
    """Print how a file is read, if that is not plain from its name."""
    if choice.charset and choice.charset not in ("utf-8", "us-ascii"):
        here().print_note(f"{name}: read as {choice.charset}")
    if choice.form.name not in ("csv", "jsonl"):
        here().print_note(f"{name}: read as {choice.form.title}")


def write_refused(choice: SourceChoice, target: Path | None, bad: dict[int, str]) -> None:
    """Write the bad records of a file, with the reasons, so that they can be mended."""
    if target is not None and bad:
        from perdure.upkeep.exchange import opening

        opening.write_refused(choice, target, bad)


@contextlib.contextmanager
def open_source(file: str, choice: SourceChoice, files: Path | None) -> Iterator[ImportSource]:
    """Open a file as the source of an import."""
    from perdure.upkeep.exchange import opening
    from perdure.upkeep.transfer.importing import ImportSource

    if file == "-" and choice.is_own:
        yield ImportSource(sys.stdin.buffer, files or Path())
        return
    with opening.open_source(choice, files or (Path() if file == "-" else None)) as source:
        yield source
