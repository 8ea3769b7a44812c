"""Convert identifiers to addresses that you can follow, and back: `urlify` and `deurlify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.registry import Registry


@click.command(cls=PerdureCommand)
@click.argument("identifiers", nargs=-1, required=True, type=options.IDENTIFIER)
@click.option("--url", metavar="URL", help="Address of the resolver. Default: base_url.")
@click.option("--public", is_flag=True, help="Use the public resolver of the scheme.")
def urlify(identifiers: tuple[Identifier, ...], url: str | None, public: bool) -> None:
    """Write each IDENTIFIER as an address that a browser can follow.

    The address is at this resolver if the setting base_url is set, otherwise at the public resolver
    of the scheme, if it has one. Works without a registry.

    \b
    perdure urlify doi:10.1000/182 ark:12345/x6
    perdure urlify pdi://oma.eop.gov.us/1997/09/01/1 --url https://pid.example.org
    """
    from perdure.ids import urls
    from perdure.reading.targets import spell_path

    base = "" if public else url or here().find_base_url()
    for one in identifiers:
        address = urls.urlify(one, base, spell_path(one))
        here().print_answer({"identifier": str(one), "url": address}, address)


@click.command(cls=PerdureCommand)
@click.argument("addresses", nargs=-1, required=True, metavar="URL...")
@click.option("--url", metavar="URL", help="Address of a resolver, in addition to base_url.")
def deurlify(addresses: tuple[str, ...], url: str | None) -> None:
    """Write the identifier that each URL is the address of.

    Understands addresses at this resolver, of PDIs and ARKs at any resolver, and at doi.org,
    hdl.handle.net, n2t.net, arks.org, identifiers.org, nbn-resolving.org and urn.fi. Works without
    a registry.

    \b
    perdure deurlify https://dx.doi.org/10.1000/182
    """
    from perdure.ids.wrapping import unwrap_text
    from perdure.reading.pasted import read_address

    bases = (*((url,) if url else ()), *here().list_resolvers())
    for one in addresses:
        found = read_address(unwrap_text(one), bases)
        here().print_answer({"url": one, "identifier": found}, found)


def find_actionable_url(registry: Registry, identifier: Identifier, part: str | None) -> str:
    """Return the address at our resolver or, without `base_url`, the public one of the scheme."""
    from perdure.ids.urls import find_public_address
    from perdure.reading.targets import spell_part_path, spell_path

    path = spell_path(identifier) if part is None else spell_part_path(identifier, part)
    if registry.settings.base_url:
        return f"{registry.settings.base_url}/{path}"
    public = find_public_address(identifier)
    if public:
        return public + path.removeprefix(identifier.path)
    return f"http://{registry.settings.host}:{registry.settings.port}/{path}"
