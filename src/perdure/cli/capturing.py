"""`archive capture`: a page with all that belongs to it, into a WARC file of one's own archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli.command import Command, here

if TYPE_CHECKING:
    from perdure.archives.capturing import Captured
    from perdure.settings import Settings

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
    "--requests", type=click.IntRange(min=1), metavar="N", default=1000, help="At most so many."
)
@click.option(
    "--seconds", type=click.IntRange(min=1), metavar="N", default=900, help="At most so long."
)
def capture(
    url: str, archive: str | None, output: Path | None, requests: int, seconds: int
) -> None:
    """Fetch the page at URL with its images, styles, scripts and frames, and print its PWID.

    Everything is recorded in a WARC file as it came over the wire. Only servers on the public
    internet are asked, and those of the setting private_networks. What belongs to the page and
    could not be had is told on stderr.
    """
    with here().registry() as registry:
        own = archive or registry.settings.archive_id
        if not own:
            raise click.UsageError("--archive or the setting archive_id is needed")
        if output is not None:
            _tell(_capture(url, output, own, registry.settings, requests, seconds), output.name)
            return
        from perdure.archives.capturing import file_name

        incoming = registry.root / "incoming" / file_name(url)
        try:
            captured = _capture(url, incoming, own, registry.settings, requests, seconds)
            (added,) = registry.archive.add(incoming, move=True)
        finally:
            incoming.unlink(missing_ok=True)
        _tell(captured, added.file.name)


def _capture(
    url: str, path: Path, archive: str, settings: Settings, requests: int, seconds: int
) -> Captured:
    import asyncio
    from importlib.metadata import version

    from perdure.archives import capturing
    from perdure.cli.output import output_file
    from perdure.cli.progress import progress
    from perdure.fetching import Fetcher, Limits

    software = f"perdure/{version('perdure')}"
    about = f" (+{settings.base_url})" if settings.base_url else ""
    fetcher = Fetcher(
        user_agent=software + about,
        networks=settings.private_networks,
        limits=Limits(body=32 << 20),
    )
    with output_file(str(path)) as into, progress("capturing", total=None, unit="requests") as bar:

        def watch(done: int, _: int, last: str) -> None:
            bar(done, f"capturing {last[:60]}")

        return asyncio.run(
            capturing.capture(
                url,
                into,
                fetcher=fetcher,
                archive_id=archive,
                name=path.name,
                software=software,
                bounds=capturing.Bounds(requests=requests, seconds=seconds),
                watch=watch,
            )
        )


def _tell(captured: Captured, name: str) -> None:
    for missing in captured.missing[:_SHOWN]:
        here().note(f"missing {missing.uri[:200]}: {missing.reason}")
    if len(captured.missing) > _SHOWN:
        here().note(f"{len(captured.missing) - _SHOWN} more are missing; --json tells all")
    here().note(
        f"status {captured.status}, {captured.exchanges} exchanges, {captured.wire} bytes in {name}"
    )
    here().answer(
        {
            "pwid": str(captured.pwid),
            "urn": captured.pwid.urn,
            "file": name,
            "status": captured.status,
            "exchanges": captured.exchanges,
            "bytes": captured.wire,
            "missing": captured.missing,
        },
        str(captured.pwid),
    )
