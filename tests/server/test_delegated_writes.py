"""Writes of names that another resolver assigns: each face leads there, whoever asks, and writes
nothing here."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from tests.server.deployment import Deployment, deployed
from tests.server.test_delegations import delegate

THERE = "https://resolver.archives.example"
SERIES = "memos.oma.eop.gov.us"
DAY = f"pdi://{SERIES}/2026/11/28"
NAMES = (f"pdi://{SERIES}/", "ark:99999/zz9*", "hdl:21.T777/*", "doi:10.5072/*")
VALUES = json.dumps({"values": []})


def doi(**attributes: str) -> str:
    return json.dumps({"data": {"type": "dois", "attributes": attributes}})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("writes") / "registry"
    with deployed(root, basic_authentication="always") as running:
        for one in NAMES:
            delegate(running, one, THERE, role="authority")
        yield running


@pytest.mark.parametrize("with_token", [False, True])
@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("PUT", f"/pdi://{SERIES}/", "x"),
        ("PUT", f"/{DAY}/1", "x"),
        ("POST", f"/{DAY}/1", "{}"),
        ("PATCH", f"/{DAY}/1?metadata", "{}"),
        ("PUT", "/ark:99999/zz9abc", "x"),
        ("PUT", "/api/handles/21.T777/abc", VALUES),
        ("POST", "/api/handles/21.T777/abc?index=1", VALUES),
        ("DELETE", "/api/handles/21.T777/abc", ""),
        ("PUT", "/id/ark:/99999/zz9abc", "_target: https://a.example/"),
        ("POST", "/id/ark:/99999/zz9abc", "_target: https://a.example/"),
        ("DELETE", "/id/ark:/99999/zz9abc", ""),
        ("PUT", "/id/doi:10.5072/abc", "_target: https://a.example/"),
        ("POST", "/shoulder/ark:/99999/zz9", "_target: https://a.example/"),
        ("POST", "/shoulder/doi:10.5072/", "_target: https://a.example/"),
        ("POST", "/dois", doi(doi="10.5072/abc")),
        ("POST", "/dois", doi(prefix="10.5072")),
        ("PUT", "/dois/10.5072/abc", doi(url="https://a.example/")),
        ("DELETE", "/dois/10.5072/abc", ""),
        ("POST", f"/annotations/{SERIES}/", "{}"),
        ("PUT", f"/annotations/{SERIES}/2026/11/28/1", "{}"),
        ("DELETE", f"/annotations/{SERIES}/2026/11/28/1", ""),
    ],
)
def test_a_write_leads_to_the_resolver_that_assigns_the_name(
    site: Deployment, method: str, target: str, body: str, *, with_token: bool
) -> None:
    """ "Writes are redirected to who mints there; a client's credentials are never passed on" """
    before = site.registry.head()
    fields = [f"Authorization: {_find_credentials(target)}"] if with_token else []
    answer = site.ask(method, target, *fields, body=body.encode())
    assert answer.status == 307, answer.body
    assert answer.headers["location"] == f"{THERE}{target}"
    assert answer.headers["cache-control"] == "no-store"
    assert site.registry.head() == before


SECRET = "not-a-token-of-this-registry"


def _find_credentials(target: str) -> str:
    if target.startswith(("/id", "/shoulder", "/dois", "/api")):
        return f"Basic {base64.b64encode(f'them:{SECRET}'.encode()).decode()}"
    return f"Bearer {SECRET}"


@pytest.mark.parametrize(
    "target",
    ["/id/ark:/99999/zz9abc", "/dois/10.5072/abc", f"/annotations/{SERIES}/2026/11/28/1"],
)
def test_a_question_about_an_unknown_name_leads_there_too(site: Deployment, target: str) -> None:
    answer = site.get(target)
    assert (answer.status, answer.headers["location"]) == (307, f"{THERE}{target}")
