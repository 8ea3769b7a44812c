"""Locations and aliases: `bind`, `break`, `alias`, `withdraw`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.deposit import DepositOptions, deposit_files, open_input
from perdure.cli.receipts import print_receipt

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.model.records import LocationDrift
    from perdure.registry import Registry


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--register", is_flag=True, help="Accept an identifier that is not known yet.")
@click.option(
    "--digest",
    type=options.DIGEST,
    help="Promise that the content never changes: sha512:HEX or sha-512=:BASE64:.",
)
@click.option(
    "--digest-of", type=options.FILE, metavar="FILE", help="The same, with the digest of FILE."
)
@options.add_version("Version at that location.")
@click.option("--format", metavar="TOKEN", help="Format at that location.")
@click.option("--language", metavar="TAG", help="Language of the content there.")
@click.option("--region", metavar="WORD", help="Part of the world that it serves, such as eu.")
@click.option("--role", metavar="WORD", help="Role of the location, such as mirror.")
@click.option(
    "--weight",
    type=click.IntRange(min=0),
    metavar="NUMBER",
    help="Locations with a higher weight come first. Default: 1.",
)
@click.option(
    "--size", type=click.IntRange(min=0), metavar="BYTES", help="Size of the content there."
)
@click.option("--valid-from", metavar="DAY", help="First day on which readers are sent there.")
@click.option("--valid-until", metavar="DAY", help="Last day on which readers are sent there.")
@options.expect
def bind(
    identifier: Identifier,
    urls: tuple[str, ...],
    register: bool,
    digest: str | None,
    digest_of: str | None,
    expect: int | None,
    **where: Any,
) -> None:
    """Bind IDENTIFIER to each URL: a reader can find what it names there.

    If a URL is bound already, these options replace the earlier ones. Version and format default to
    those that IDENTIFIER names, if it names any.
    """
    from perdure.errors import NotFound
    from perdure.model.commands import Bind
    from perdure.upkeep.transfer.lines import make_location

    if digest and digest_of:
        raise click.UsageError("--digest and --digest-of exclude each other")
    said = {name: value for name, value in where.items() if value is not None}
    if digest or digest_of:
        said["sha512"] = digest or _hash_file(str(digest_of))
    locations = tuple(make_location({"uri": uri} | said) for uri in urls)
    with here().open_registry() as registry:
        command = Bind(identifier=identifier, locations=locations, register=register, expect=expect)
        try:
            receipt = registry.door.execute_command(command)
        except NotFound:
            here().print_note("use --register for an identifier that was issued elsewhere")
            raise
    print_receipt(receipt)


def _hash_file(file: str) -> str:
    import hashlib

    digest = hashlib.sha512()
    with open_input(file) as source:
        while piece := source.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


@click.command("break", cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.argument("url")
@click.option(
    "--bytes",
    "file",
    type=options.FILE,
    metavar="FILE",
    help="The original content, to be kept in this registry instead.",
)
@options.expect
@options.add_file_options
def break_location(
    identifier: Identifier,
    url: str,
    file: str | None,
    expect: int | None,
    **about: Unpack[DepositOptions],
) -> None:
    """Remove the binding of IDENTIFIER to URL.

    If the content was promised never to change, this registry must hold it, or you must give it
    now: content that was promised once stays available forever (PDI section 3.6.2). If the last
    link check found other content, the record keeps this evidence, and the promise.
    """
    from perdure.model.commands import Break

    files = () if file is None else (file,)
    with here().open_registry() as registry:
        format = _find_bound_format(registry, identifier, url)
        if format and not about["format"]:
            about["format"] = (format,) if files else ()
        with deposit_files(registry, files, about) as contents:
            content = contents[0] if contents else None
            command = Break(
                identifier=identifier,
                uri=url,
                content=content,
                evidence=_find_evidence(registry, identifier, url),
                expect=expect,
            )
            receipt = registry.door.execute_command(command)
    print_receipt(receipt)


def _find_evidence(registry: Registry, identifier: Identifier, url: str) -> LocationDrift | None:
    """Return the evidence of the last link check that the content of a location changed."""
    from perdure.policy import rules
    from perdure.upkeep.linkcheck import breaking
    from perdure.upkeep.linkcheck.health import Health

    record = rules.require_known(identifier, registry.listings.find_record(identifier))
    return breaking.find_evidence(Health(registry.root), identifier, record, url)


def _find_bound_format(registry: Registry, identifier: Identifier, url: str) -> str | None:
    """Return the format that the record gives for a location."""
    from perdure.policy import binding, rules

    record = rules.require_one(identifier, registry.listings.find_record(identifier))
    return binding.find_location(identifier, record, url).format


@click.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.argument("other", type=options.IDENTIFIER)
@options.expect
def alias(identifier: Identifier, other: Identifier, expect: int | None) -> None:
    """Record that IDENTIFIER and OTHER name the same resource."""
    from perdure.model.commands import Alias

    with here().open_registry() as registry:
        command = Alias(identifier=identifier, other=other, expect=expect)
        receipt = registry.door.execute_command(command)
    print_receipt(receipt)
