"""Giving names and bytes: `mint` and `commit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from perdure.cli import options
from perdure.cli.command import Command, here
from perdure.cli.deposit import About, deposited
from perdure.cli.receipts import answer

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.model.commands import Content
    from perdure.registry import Registry
    from perdure.settings import Settings


@click.command(cls=Command)
@click.argument("files", nargs=-1, type=options.FILE, metavar="[FILE]...")
@click.option("--series", type=options.SERIES, help="Document series to mint in.")
@click.option(
    "--authority",
    type=options.AUTHORITY,
    help="Naming authority of the URN of 1993, such as IANA:42117.",
)
@click.option("--shoulder", type=options.SHOULDER, help="ARK shoulder, such as 99999/fk4.")
@click.option(
    "--uid", metavar="TEXT", help="Unique-id or opaque string, as plain text; else the next number."
)
@click.option("--foreign", metavar="URI", help="Encapsulate this identifier of another scheme.")
@click.option("--location", multiple=True, metavar="URL", help="Where the thing can be had.")
@click.option("--title", metavar="TEXT", help="Kept as metadata, as is any --meta.")
@click.option("--meta", multiple=True, type=options.PAIR, help="Metadata; may be repeated.")
@options.once
@options.about_files
def mint(
    files: tuple[str, ...],
    series: str | None,
    authority: str | None,
    shoulder: str | None,
    uid: str | None,
    foreign: str | None,
    location: tuple[str, ...],
    title: str | None,
    meta: tuple[tuple[str, str], ...],
    once: str | None,
    **about: Unpack[About],
) -> None:
    """Make a new identifier and print it.

    Each FILE (- for stdin) becomes one format of version 1; without a file the name is reserved or,
    with --location, bound. The first --type belongs to the first FILE, and so on. Where the
    registry owns but one series, shoulder or authority, it need not be given.
    """
    from perdure.cli import advising
    from perdure.model.commands import Mint
    from perdure.model.records import Location

    if uid is not None and foreign is not None:
        raise click.UsageError("--uid and --foreign exclude each other")
    metadata = dict(meta) | ({"title": title} if title else {})
    with here().registry() as registry, deposited(registry, files, about) as contents:
        command = Mint(
            authority=_authority(registry.settings, series, authority, shoulder),
            uid=uid if foreign is None else _uri(foreign),
            format=_reserved_format(files, about),
            contents=contents,
            locations=tuple(Location(uri=uri) for uri in location),
            metadata=metadata,
            once=once,
        )
        advice = advising.look(
            registry,
            command.authority,
            contents,
            files=files,
            locations=location,
            metadata=metadata,
        )
        receipt = registry.door.execute(command)
    answer(receipt, advice)


def _authority(settings: Settings, *given: str | None) -> str:
    chosen = [one for one in given if one is not None]
    if len(chosen) > 1:
        raise click.UsageError("--series, --authority and --shoulder exclude each other")
    owned = [one.name for one in settings.owned]
    if not chosen and len(owned) != 1:
        known = ", ".join(owned) or "none"
        raise click.UsageError(f"--series, --authority or --shoulder is needed; owned: {known}")
    return chosen[0] if chosen else owned[0]


def _uri(foreign: str) -> str:
    scheme, colon, rest = foreign.partition(":")
    if not colon or not rest or not scheme.isascii() or not scheme[:1].isalpha():
        raise click.BadParameter(f"{foreign[:60]!r} is no URI", param_hint="--foreign")
    return foreign


def _reserved_format(files: tuple[str, ...], about: About) -> str:
    """The format of a name without bytes."""
    from perdure import formats

    if files or not (about["format"] or about["media_type"]):
        return "text"
    if about["format"]:
        return about["format"][0]
    return formats.token(about["media_type"][0], next(iter(about["charset"]), None))


@click.command(cls=Command)
@click.argument("identifier", type=options.IDENTIFIER)
@click.argument("files", nargs=-1, required=True, type=options.FILE, metavar="FILE...")
@options.add_version("Add formats to this version, instead of making the next one.")
@options.expect
@options.once
@options.about_files
def commit(
    identifier: Identifier,
    files: tuple[str, ...],
    version: int | None,
    expect: int | None,
    once: str | None,
    **about: Unpack[About],
) -> None:
    """Bind bytes to IDENTIFIER as its next version, and print its full name.

    All FILEs (- for stdin) are formats of that one version. Bytes that are the newest version
    already change nothing; bytes once committed are never replaced. An IDENTIFIER with a version is
    that of bytes whose successor is committed, or of what comes next; the format in it must be
    that of a FILE.
    """
    from perdure.model.commands import Commit

    with here().registry() as registry, deposited(registry, files, about) as contents:
        if version is None:
            version = _meant(registry, identifier, contents)
        command = Commit(
            identifier=identifier, contents=contents, version=version, expect=expect, once=once
        )
        receipt = registry.door.execute(command)
    answer(receipt)


def _meant(registry: Registry, identifier: Identifier, contents: tuple[Content, ...]) -> int | None:
    """The version that an identifier says, as a PUT reads it; None for the next."""
    from perdure.policy import naming, rules

    number, format = naming.wanted(identifier)
    rules.check_format_named(format, [one.format for one in contents])
    record = registry.listings.record(identifier)
    return None if record is None else rules.version_meant(record, number, contents)
