"""Making a registry, serving it, and examining it: `init`, `serve`, `doctor`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.paths import StatedPath

_SHOWN = 100  # characters of a request line; one has thousands


_NO_BASE_URL = (
    "no base_url is set, so the addresses that perdure writes for names work on this machine only; "
    "set it in perdure.toml before you publish them"
)


@click.command(cls=PerdureCommand)
@click.argument("directory", required=False, type=StatedPath(file_okay=False, path_type=Path))
@click.option("--series", multiple=True, type=options.SERIES, help="Document series to mint in.")
@click.option(
    "--naming-authority",
    multiple=True,
    type=options.NAMING_AUTHORITY,
    help="Naming authority of the URN of 1993, such as IANA:42117.",
)
@click.option(
    "--shoulder",
    multiple=True,
    type=options.SHOULDER,
    help="ARK shoulder to mint on, such as 99999/fk4.",
)
@click.option(
    "--handle-prefix",
    multiple=True,
    metavar="PREFIX",
    help="Prefix of the Handle System that is homed here, such as 21.T14999.",
)
@click.option(
    "--store",
    metavar="STORE",
    default="",
    help="Store of the records of a new registry: sqlite, the address of a PostgreSQL database "
    "(postgresql://USER@HOST/DATABASE), or the name of one from another package.",
)
@click.option(
    "--bytes",
    "held",
    metavar="STORE",
    default="",
    help="Store of the bytes of a new registry: segments, the address of a bucket of an S3 store "
    "(s3://BUCKET/PREFIX?endpoint=URL), or the name of one from another package.",
)
def init(
    directory: Path | None,
    series: tuple[str, ...],
    naming_authority: tuple[str, ...],
    shoulder: tuple[str, ...],
    handle_prefix: tuple[str, ...],
    store: str,
    held: str,
) -> None:
    """Make a registry in DIRECTORY, or add series and prefixes to an existing one."""
    from perdure.registry import initialise

    root = directory or here().root
    settings = initialise(
        root,
        store,
        held,
        series=series,
        naming_authorities=naming_authority,
        shoulders=shoulder,
        handle_prefixes=handle_prefix,
    )
    owned = {
        "series": settings.series,
        "naming_authorities": settings.naming_authorities,
        "shoulders": settings.shoulders,
        "handle_prefixes": settings.handle_prefixes,
    }
    names = ", ".join(name for names in owned.values() for name in names)
    text = f"{root} mints for {names}"
    if not names:
        text = f"{root} has no series yet; add one with 'perdure init --series NAME'"
    here().print_answer({"registry": str(root)} | owned, text)
    if not settings.base_url:
        here().print_note(_NO_BASE_URL)


@click.command(cls=PerdureCommand)
@click.option("--host", metavar="ADDRESS", help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 chooses a free one."
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="NUMBER",
    help="Server processes. Default: one for each core, at most 8.",
)
@click.option(
    "--log-level",
    type=click.Choice(("debug", "info", "warning", "error")),
    metavar="LEVEL",
    help="What to log: debug, info, warning or error.",
)
@click.option(
    "--content-origin",
    "--replay-origin",  # its name in earlier versions
    metavar="ORIGIN",
    help="Origin that shows archived pages and deposited HTML: another host name for this server.",
)
@click.option(
    "--handle-port",
    type=click.IntRange(0, 65535),
    help="Port of the native Handle protocol, usually 2641.",
)
def serve(
    host: str | None,
    port: int | None,
    workers: int | None,
    log_level: str | None,
    content_origin: str | None,
    handle_port: int | None,
) -> None:
    """Serve the registry over HTTP until interrupted.

    Options that you do not give come from perdure.toml. Commands that write still work meanwhile.
    """
    from perdure.server.serve import run

    if content_origin is not None:  # a setting like any other, for this process and its workers
        os.environ["PERDURE_CONTENT_ORIGIN"] = content_origin
    if handle_port is not None:
        os.environ["PERDURE_HANDLE_PORT"] = str(handle_port)
    run(here().root, host=host, port=port, workers=workers, log_level=log_level)


@click.command(cls=PerdureCommand)
@click.argument("url", required=False)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    default=10.0,
    help="Seconds to wait for each answer. Default: 10.",
)
def doctor(url: str | None, timeout: float) -> None:
    """Test how proxies change identifiers on their way to the resolver at URL, and how to fix it.

    Without URL, examine what this registry depends on: the file system or the database server of
    its store, the clock, the free space. Then compare the records that name servers have of each of
    its series with those that 'perdure dns' prints.

    Exits with 1 if identifiers arrive damaged, if something can be lost, or if records are missing.
    """
    from perdure.server.protocol.doctor import probe

    if url is None:
        if not _examine_here(timeout):
            click.get_current_context().exit(exits.FINDINGS)
        return
    worst = False
    for found in probe(url, timeout=timeout):
        mark = "ok" if found.ok else found.severity
        advice = f"\n    {found.advice}" if found.advice and not found.ok else ""
        sent = found.sent if len(found.sent) <= _SHOWN else f"{found.sent[:_SHOWN]}…"
        here().print_answer(found, f"{mark:8} {found.name}: {sent}{advice}")
        worst = worst or found.severity in ("error", "warning")
    if worst:
        click.get_current_context().exit(exits.FINDINGS)


def _examine_here(timeout: float) -> bool:
    """Examine the registry and its records in the DNS. Return True if there is nothing to do."""
    from perdure.upkeep.examining import examine_registry

    with here().open_registry() as registry:
        findings, settings = examine_registry(registry), registry.settings
    for found in findings:
        fields = {"name": found.name, "ok": found.ok, "severity": found.severity}
        fields |= {"found": found.seen, "advice": found.advice}
        advice = f"\n    {found.advice}" if found.advice else ""
        here().print_answer(fields, f"{found.severity:8} {found.name}: {found.seen}{advice}")
    good = all(found.ok for found in findings)
    if settings.series:
        from perdure.cli.discovering import check_live
        from perdure.errors import Unavailable

        try:
            good = check_live(settings, settings.series, timeout) and good
        except Unavailable as error:  # the findings say why
            if good:
                raise
            here().print_note(f"the records of name servers were not compared: {error.problem()}")
    return good
