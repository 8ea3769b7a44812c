"""Identifiers as addresses that can be followed, and back: `urlify` and `deurlify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import Command, here

if TYPE_CHECKING:
    from perdure.ids import Identifier


@click.command(cls=Command)
@click.argument("identifiers", nargs=-1, required=True, type=options.IDENTIFIER)
@click.option("--url", metavar="URL", help="Address of the resolver; else base_url.")
@click.option("--public", is_flag=True, help="Use the public resolver of the scheme.")
def urlify(identifiers: tuple[Identifier, ...], url: str | None, public: bool) -> None:
    """Write each IDENTIFIER as an address that a browser can follow.

    That of our resolver where the registry says where it is (base_url), else that of the scheme's
    public one, if it has one. Needs no registry.

    \b
    perdure urlify doi:10.1000/182 ark:12345/x6
    perdure urlify pdi://oma.eop.gov.us/1997/09/01/1 --url https://pid.example.org
    """
    from perdure.ids import urls
    from perdure.reading.targets import path_of

    base = "" if public else url or _base_url()
    for one in identifiers:
        address = urls.urlify(one, base, path_of(one))
        here().answer({"identifier": str(one), "url": address}, address)


@click.command(cls=Command)
@click.argument("addresses", nargs=-1, required=True, metavar="URL...")
@click.option("--url", metavar="URL", help="Address of the resolver, besides base_url.")
def deurlify(addresses: tuple[str, ...], url: str | None) -> None:
    """Write the identifier that each URL is the address of.

    Known are this resolver and doi.org, hdl.handle.net, n2t.net, arks.org, identifiers.org,
    nbn-resolving.org and urn.fi. Needs no registry.

    \b
    perdure deurlify https://dx.doi.org/10.1000/182
    """
    from perdure.ids import urls
    from perdure.reading.targets import identify

    bases = tuple(one for one in (url, _base_url()) if one)
    for one in addresses:
        found = urls.deurlify(one, bases, identify)
        here().answer({"url": one, "identifier": str(found)}, str(found))


def _base_url() -> str:
    """What the settings of the registry say, where there is one."""
    import os

    from perdure import settings

    root = here().root
    if not (root / settings.FILE).exists():
        return os.environ.get("PERDURE_BASE_URL", "")
    return settings.load(root, os.environ).base_url
