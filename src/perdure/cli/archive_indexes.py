"""Indexes of archive files that other programs made: `archive add-index`."""

from __future__ import annotations

from pathlib import Path

import click

from perdure.cli import exits
from perdure.cli.command import PerdureCommand, here
from perdure.cli.paths import StatedPath
from perdure.errors.root import count_things

_SHOWN = 20


@click.command("add-index", cls=PerdureCommand)
@click.argument(
    "indexes",
    nargs=-1,
    required=True,
    type=StatedPath(exists=True, dir_okay=False, path_type=Path),
    metavar="INDEX…",
)
@click.option(
    "--archives",
    type=StatedPath(exists=True, file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="Directory of the archive files. Default: that of the first INDEX.",
)
@click.option(
    "--refused",
    type=StatedPath(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the refused lines to FILE, as they are.",
)
def add_index(indexes: tuple[Path, ...], archives: Path | None, refused: Path | None) -> None:
    """Take over indexes of archive files (CDX, CDXJ, blocks of ZipNum), without reading the files.

    The archive files must be in the directory of archives, and stay there. Those that are
    registered already are left as they are. A line that cannot be taken is reported with its file,
    its number and the reason, and the others are taken. Exits with 1 if there were any.

    An index says less than the files: the methods of requests are missing, and the originals of
    revisits are found by their digests. `perdure archive reindex` reads the files, later.
    """
    from perdure.archives.index_importing import IndexImport

    bad = 0
    with here().open_registry() as registry:
        taking = IndexImport(registry.archive, indexes, archives or indexes[0].parent)
        lines: list[bytes] = []
        for one in taking:
            bad += 1
            if refused is not None:
                lines.append(one.text.rstrip(b"\r\n") + b"\n")
            told = {"file": str(one.path), "line": one.number} | one.fault.as_dict()
            if here().as_json or bad <= _SHOWN:
                here().print_failure(told, f"{one.path}, line {one.number}: {one.fault.problem()}")
        if refused is not None and lines:
            refused.write_bytes(b"".join(lines))
    if bad > _SHOWN and not here().as_json:
        here().print_note(f"{count_things(bad - _SHOWN, 'further line')} refused; see --refused")
    here().print_summary(
        {
            "files": taking.files,
            "captures": taking.captures,
            "known": taking.known,
            "refused": bad,
        },
        f"{count_things(taking.files, 'file')}, {count_things(taking.captures, 'capture')} added, "
        f"{count_things(bad, 'line')} refused",
    )
    if bad:
        click.get_current_context().exit(exits.FINDINGS)
