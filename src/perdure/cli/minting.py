"""New identifiers and versions: `mint` and `commit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.deposit import DepositOptions, deposit_files
from perdure.cli.receipts import print_receipt

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.model.commands import Content
    from perdure.registry import Registry
    from perdure.settings import Settings


@click.command(cls=PerdureCommand)
@click.argument("files", nargs=-1, type=options.FILE, metavar="[FILE]...")
@click.option("--series", type=options.SERIES, help="Document series to mint in.")
@click.option(
    "--authority",
    type=options.AUTHORITY,
    help="Naming authority of the URN of 1993, such as IANA:42117.",
)
@click.option("--shoulder", type=options.SHOULDER, help="ARK shoulder, such as 99999/fk4.")
@click.option("--uid", metavar="TEXT", help="Unique-id or opaque string. Default: the next number.")
@click.option("--foreign", metavar="URI", help="Encapsulate this identifier of another scheme.")
@click.option("--location", multiple=True, metavar="URL", help="Where the resource is available.")
@click.option(
    "--ask", is_flag=True, help="Ask the server of the location for its media type (HEAD)."
)
@click.option("--title", metavar="TEXT", help="Title, kept as metadata like every --meta.")
@click.option("--meta", multiple=True, type=options.PAIR, help="Metadata; may be repeated.")
@click.option("--day", default="", help="Give the name under this past day: 1997/09/01.")
@options.once
@options.add_file_options
def mint(
    files: tuple[str, ...],
    series: str | None,
    authority: str | None,
    shoulder: str | None,
    uid: str | None,
    foreign: str | None,
    location: tuple[str, ...],
    ask: bool,
    title: str | None,
    meta: tuple[tuple[str, str], ...],
    day: str,
    once: str | None,
    **about: Unpack[DepositOptions],
) -> None:
    """Make a new identifier and print it.

    Each FILE (- for stdin) becomes one format of version 1. Without a file the name is reserved or,
    with --location, bound; it has a format and version only if you state them with --type or
    --format, or --ask for the type. The first --type belongs to the first FILE, and so on. If the
    registry owns only one series, shoulder or authority, you need not name it. An empty stdin is
    refused.
    """
    from perdure.cli import advising
    from perdure.model.commands import Mint
    from perdure.model.records import Location

    if uid is not None and foreign is not None:
        raise click.UsageError("--uid and --foreign exclude each other")
    if ask and not location:
        raise click.UsageError("--ask needs a --location")
    metadata = dict(meta) | ({"title": title} if title else {})
    with here().open_registry() as registry, deposit_files(registry, files, about) as contents:
        command = Mint(
            authority=_choose_authority(registry.settings, series, authority, shoulder),
            uid=uid if foreign is None else _check_uri(foreign),
            format="" if files else _state_format(registry, about, location if ask else ()),
            contents=contents,
            locations=tuple(Location(uri=uri) for uri in location),
            metadata=metadata,
            day=day,
            once=once,
        )
        advice = advising.collect_advice(
            registry,
            command.authority,
            contents,
            files=files,
            locations=location,
            metadata=metadata,
        )
        receipt = registry.door.execute_command(command)
    print_receipt(receipt, advice)


def _choose_authority(settings: Settings, *given: str | None) -> str:
    chosen = [one for one in given if one is not None]
    if len(chosen) > 1:
        raise click.UsageError("--series, --authority and --shoulder exclude each other")
    owned = [one.name for one in settings.owned_authorities]
    if not chosen and len(owned) != 1:
        known = ", ".join(owned) or "none"
        raise click.UsageError(f"--series, --authority or --shoulder is needed; owned: {known}")
    return chosen[0] if chosen else owned[0]


def _check_uri(foreign: str) -> str:
    scheme, colon, rest = foreign.partition(":")
    if not colon or not rest or not scheme.isascii() or not scheme[:1].isalpha():
        raise click.BadParameter(
            f"{foreign[:60]!r} is not a URI; give any other text with --uid",
            param_hint="--foreign",
        )
    return foreign


def _state_format(registry: Registry, about: DepositOptions, asked: tuple[str, ...]) -> str:
    """Return the format of a name without bytes; empty if it is not stated."""
    import asyncio

    from perdure.upkeep.transfer.declared_types import ask_format, state_format

    stated = state_format(*(next(iter(about[one]), None) for one in _STATED))
    if stated or not asked:
        return stated
    return asyncio.run(ask_format(asked, registry.settings))


_STATED: tuple[Literal["format", "media_type", "charset"], ...] = (
    "format",
    "media_type",
    "charset",
)


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.argument("files", nargs=-1, required=True, type=options.FILE, metavar="FILE...")
@options.add_version("Add formats to this version, instead of making the next one.")
@options.expect
@options.once
@options.add_file_options
def commit(
    identifier: Identifier,
    files: tuple[str, ...],
    version: int | None,
    expect: int | None,
    once: str | None,
    **about: Unpack[DepositOptions],
) -> None:
    """Add bytes to IDENTIFIER as its next version, and print its full name.

    All FILEs (- for stdin) are formats of that one version. If they are equal to the newest
    version, nothing changes; committed bytes are never replaced. A version in IDENTIFIER must be
    the newest one, which the new bytes follow, or the next one; a format in IDENTIFIER must be that
    of a FILE.
    """
    from perdure.model.commands import Commit

    with here().open_registry() as registry, deposit_files(registry, files, about) as contents:
        if version is None:
            version = _meant_version(registry, identifier, contents)
        command = Commit(
            identifier=identifier, contents=contents, version=version, expect=expect, once=once
        )
        receipt = registry.door.execute_command(command)
    print_receipt(receipt)


def _meant_version(
    registry: Registry, identifier: Identifier, contents: tuple[Content, ...]
) -> int | None:
    """Return the version that an identifier names, as PUT reads it, or None for the next one."""
    from perdure.policy import naming, rules

    number, format = naming.read_qualifiers(identifier)
    rules.check_format_named(format, [one.format for one in contents])
    record = registry.listings.find_record(identifier)
    return None if record is None else rules.choose_version(record, number, contents)
