"""`archive capture`: save a page and all that belongs to it in a WARC file of our own archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli.command import PerdureCommand, here
from perdure.cli.paths import StatedPath
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.archives.capture.capturing import CaptureResult

_SHOWN = 20


@click.command(cls=PerdureCommand)
@click.argument("url")
@click.option(
    "--archive", metavar="ID", help="Id of your own archive. Default: the setting archive_id."
)
@click.option(
    "-o",
    "--output",
    type=StatedPath(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the WARC file there instead of adding it to the archive files of the registry.",
)
@click.option(
    "--requests",
    type=click.IntRange(min=1),
    metavar="N",
    default=1000,
    help="At most this many requests. Default: 1000.",
)
@click.option(
    "--seconds",
    type=click.IntRange(min=1),
    metavar="N",
    default=900,
    help="At most this many seconds. Default: 900.",
)
def capture(
    url: str, archive: str | None, output: Path | None, requests: int, seconds: int
) -> None:
    """Fetch the page at URL with its images, styles, scripts and frames, and print its PWID.

    Everything is recorded in a WARC file exactly as it came over the wire. The command contacts
    only servers on the public internet and in the networks of the setting private_networks. It
    lists on stderr which resources of the page are missing.
    """
    import asyncio

    from perdure.archives.capture import capturing
    from perdure.cli.output import output_file
    from perdure.cli.progress import show_progress

    with here().open_registry() as registry:
        own = archive or registry.settings.archive_id
        if not own:
            raise click.UsageError("give --archive, or set archive_id")
        fetcher = capturing.make_fetcher(
            registry.settings, body=32 << 20, seconds=min(60.0, seconds)
        )
        bounds = capturing.Bounds(requests=requests, seconds=seconds)
        with show_progress("capturing", total=None, unit="requests") as bar:

            def watch(done: int, _: int, last: str) -> None:
                bar(done, f"capturing {last[:60]}")

            if output is None:
                captured, name = capturing.capture_into_library(
                    url,
                    registry.archive,
                    registry.incoming,
                    fetcher=fetcher,
                    archive_id=own,
                    bounds=bounds,
                    watch=watch,
                )
            else:
                name = output.name
                with output_file(str(output)) as into:
                    captured = asyncio.run(
                        capturing.capture_page(
                            url,
                            into,
                            fetcher=fetcher,
                            archive_id=own,
                            name=name,
                            bounds=bounds,
                            watch=watch,
                        )
                    )
    _print_captured(captured, name)


def _print_captured(captured: CaptureResult, name: str) -> None:
    for missing in captured.missing[:_SHOWN]:
        here().print_note(f"missing {missing.uri[:200]}: {missing.reason}")
    if len(captured.missing) > _SHOWN:
        here().print_note(f"{len(captured.missing) - _SHOWN} more are missing; --json lists all")
    here().print_note(
        f"status {captured.status}, {count_things(captured.exchanges, 'exchange')}, "
        f"{count_things(captured.wire, 'byte')} in {name}"
    )
    here().print_answer(captured.as_dict() | {"file": name}, str(captured.pwid))
