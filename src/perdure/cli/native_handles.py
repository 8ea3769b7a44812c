"""The native Handle protocol: `handle-server run|site`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from perdure.cli.command import PerdureGroup, here

if TYPE_CHECKING:
    from perdure.registry import Registry

PORT = 2641
"""The port of the Handle System."""


@click.group("handle-server", cls=PerdureGroup)
def handle_server() -> None:
    """Answer the native protocol of the Handle System, so that prefixes can be referred here."""


def _load_site(registry: Registry, port: int) -> tuple[dict[str, Any], Any]:
    from perdure.server.native.site import load_key, load_site

    key = load_key(registry.root)
    return load_site(registry.root, registry.settings, port, key), key


@handle_server.command("run")
@click.option("--port", type=click.IntRange(1, 65535), help="Port. Default: handle_port, or 2641.")
def run_handle_server(port: int | None) -> None:
    """Answer over UDP, TCP and HTTP until interrupted; 'perdure serve' does so itself.

    Only resolution and site information are answered; to write, use the REST API. If the setting
    handle_port is set, 'perdure serve' starts this command.
    """
    import asyncio

    import uvloop

    from perdure.errors.configuring import AddressUnusable
    from perdure.server.native.answering import Answerer
    from perdure.server.native.listening import LOCK, listen
    from perdure.upkeep.children import watch_parent
    from perdure.upkeep.searching.updating import hold_lock

    is_wanted = watch_parent()
    with here().open_registry() as registry, hold_lock(registry.root / LOCK, 0) as is_held:
        if not is_held:
            here().print_note("another process answers already")
            return
        settings = registry.settings
        chosen = port or settings.handle_port or PORT
        answerer = Answerer(registry, *_load_site(registry, chosen))
        try:
            work = listen(answerer, settings.host, chosen, is_wanted)
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(work)
        except OSError as error:
            where = f"{settings.host}, {chosen}"
            raise AddressUnusable(setting="host, handle_port", value=where) from error
        finally:
            answerer.close()


@handle_server.command("site")
@click.option("--port", type=click.IntRange(1, 65535), help="Port. Default: handle_port, or 2641.")
def show_site(port: int | None) -> None:
    """Print the site information (HS_SITE) that refers a prefix to this server.

    Send it to the administrators of your prefix. With --json, the binary form is there, too.
    """
    import json

    from perdure.server.native.value_bytes import write_site

    with here().open_registry() as registry:
        site, _ = _load_site(registry, port or registry.settings.handle_port or PORT)
    here().print_answer(
        {"site": site, "octets": write_site(site).hex()}, json.dumps(site, indent=2)
    )
