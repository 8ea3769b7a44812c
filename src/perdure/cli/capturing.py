"""`archive capture`: a page with all that belongs to it, into a WARC file of one's own archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli.command import Command, here

if TYPE_CHECKING:
    from perdure.archives.capture.capturing import Captured

_SHOWN = 20


@click.command(cls=Command)
@click.argument("url")
@click.option(
    "--archive", metavar="ID", help="Id of one's own archive; else the setting archive_id."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the WARC there, instead of adding it to the registry's archive files.",
)
@click.option(
    "--requests",
    type=click.IntRange(min=1),
    metavar="N",
    default=1000,
    help="At most so many requests; 1000 if not given.",
)
@click.option(
    "--seconds",
    type=click.IntRange(min=1),
    metavar="N",
    default=900,
    help="At most so many seconds; 900 if not given.",
)
def capture(
    url: str, archive: str | None, output: Path | None, requests: int, seconds: int
) -> None:
    """Fetch the page at URL with its images, styles, scripts and frames, and print its PWID.

    Everything is recorded in a WARC file as it came over the wire. Only servers on the public
    internet are asked, and those of the setting private_networks. What belongs to the page and
    could not be had is told on stderr.
    """
    import asyncio

    from perdure.archives.capture import capturing
    from perdure.cli.output import output_file
    from perdure.cli.progress import progress
    from perdure.fetching import Limits

    with here().registry() as registry:
        own = archive or registry.settings.archive_id
        if not own:
            raise click.UsageError("--archive or the setting archive_id is needed")
        limits = Limits(body=32 << 20, seconds=min(60.0, seconds))
        fetcher = capturing.fetcher(registry.settings, limits)
        bounds = capturing.Bounds(requests=requests, seconds=seconds)
        with progress("capturing", total=None, unit="requests") as bar:

            def watch(done: int, _: int, last: str) -> None:
                bar(done, f"capturing {last[:60]}")

            if output is None:
                captured, name = capturing.into_library(
                    url,
                    registry.archive,
                    registry.root / "incoming",
                    fetcher=fetcher,
                    archive_id=own,
                    bounds=bounds,
                    watch=watch,
                )
            else:
                name = output.name
                with output_file(str(output)) as into:
                    captured = asyncio.run(
                        capturing.capture(
                            url,
                            into,
                            fetcher=fetcher,
                            archive_id=own,
                            name=name,
                            bounds=bounds,
                            watch=watch,
                        )
                    )
    _tell(captured, name)


def _tell(captured: Captured, name: str) -> None:
    for missing in captured.missing[:_SHOWN]:
        here().note(f"missing {missing.uri[:200]}: {missing.reason}")
    if len(captured.missing) > _SHOWN:
        here().note(f"{len(captured.missing) - _SHOWN} more are missing; --json tells all")
    here().note(
        f"status {captured.status}, {captured.exchanges} exchanges, {captured.wire} bytes in {name}"
    )
    here().answer(captured.as_dict() | {"file": name}, str(captured.pwid))
