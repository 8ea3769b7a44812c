"""A series that is added while the server runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.server.deployment import SERIES, Deployment, deployed, text

from perdure.errors import UnknownAuthority
from perdure.model.commands import Mint
from perdure.registry import Registry, initialise

PRESS = f"press.{SERIES}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("series") / "registry") as running:
        yield running


def test_a_new_series_is_minted_in_without_a_restart(site: Deployment) -> None:
    secret = site.token("all")
    bearer = f"Authorization: Bearer {secret}"
    kind = "Content-Type: text/plain"
    put = ("PUT", f"/pdi://{SERIES}/", bearer, kind)
    assert site.ask(*put, body=b"one").status == 201  # the server leads from now on
    target = f"/pdi://{PRESS}/"
    refused = site.ask("PUT", target, bearer, kind, body=b"two")
    assert refused.status == 404
    initialise(site.root, series=(PRESS,))
    assert "PUT" in site.ask("OPTIONS", target).headers["allow"]
    assert PRESS.encode() in site.get("/", "Accept: application/json").body
    with Registry(site.root) as beside:  # a command, whose mint the server carries out
        name = beside.door.execute_command(
            Mint(by="clerk", authority=PRESS, contents=(text(b"three"),))
        ).identifier
    assert site.get(f"/{name}").body == b"three"
    narrow = site.token("press", authorities=(PRESS,))
    minted = site.ask("PUT", target, f"Authorization: Bearer {narrow}", kind, body=b"four")
    assert minted.status == 201


def test_what_is_nobodys_stays_unknown(site: Deployment) -> None:
    with Registry(site.root) as beside, pytest.raises(UnknownAuthority):
        beside.door.execute_command(Mint(by="clerk", authority="nobody.us", contents=()))
