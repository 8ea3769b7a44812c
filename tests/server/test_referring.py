"""Names of other authorities that are unknown here, over HTTP, THTTP and the Handle API."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.server.deployment import Deployment, deployed

DOI = "doi:10.1000/182"
THERE = "https://doi.org/10.1000/182"


@pytest.fixture(scope="module")
def leading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A server that redirects to public resolvers."""
    with deployed(tmp_path_factory.mktemp("leading") / "registry", forward="redirect") as running:
        yield running


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("silent") / "registry", forward="never") as running:
        yield running


@pytest.mark.parametrize("target", [f"/{DOI}", f"/{DOI}?bytes", f"/uri-res/N2R?{DOI}"])
@pytest.mark.parametrize("accept", ["*/*", "image/png", "text/uri-list", "application/json"])
def test_readers_are_told_who_may_know_it(site: Deployment, target: str, accept: str) -> None:
    answer = site.get(target, f"Accept: {accept}")
    assert answer.status == 300
    assert "location" not in answer.headers
    assert answer.headers["link"] == f'<{THERE}>; rel="alternate"; title="DOI"'
    if accept == "application/json":
        told = json.loads(answer.body)
        assert told["identifiers"] == [THERE]
        assert told["resolvers"] == [{"name": "DOI", "address": THERE, "official": True}]
    else:
        assert answer.headers["content-type"] == "text/uri-list"
        assert answer.body == f"# {DOI}\r\n{THERE}\r\n".encode()


def test_a_browser_gets_a_page(site: Deployment) -> None:
    answer = site.get(f"/{DOI}", "Accept: text/html")
    assert answer.status == 300
    assert (
        "doi:10.1000/182 is not registered here. These resolvers may know it:"
        in answer.body.decode()
    )
    assert f'<A HREF="{THERE}">' in answer.body.decode()


def test_a_record_here_wins(site: Deployment, leading: Deployment) -> None:
    for server in (site, leading):
        server.bind("doi:10.1000/here", "https://a.example/")
        assert server.get("/doi:10.1000/here").headers["location"] == "https://a.example/"


def test_an_operator_can_lead_readers_on(leading: Deployment) -> None:
    answer = leading.get(f"/{DOI}")
    assert (answer.status, answer.headers["location"]) == (302, THERE)
    assert "cite-as" not in answer.headers.get("link", "")
    answer = leading.get(f"/uri-res/N2L?{DOI}")
    assert (answer.status, answer.headers["location"]) == (303, THERE)
    answer = leading.get("/urn:isbn:9780140328721")
    assert answer.status == 300


def test_an_operator_can_keep_silent(silent: Deployment) -> None:
    for target in (f"/{DOI}", f"/uri-res/N2R?{DOI}", f"/uri-res/N2L?{DOI}"):
        assert silent.get(target).status == 404


@pytest.mark.parametrize("question", ["info", "cite", "landing", "history", "linkset"])
def test_nothing_else_is_known_about_it(site: Deployment, question: str) -> None:
    assert site.get(f"/{DOI}?{question}").status == 404


def test_handles_are_known_at_the_global_service(site: Deployment, leading: Deployment) -> None:
    values = "https://hdl.handle.net/api/handles/20.1/a"
    answer = site.get("/api/handles/20.1/a")
    told = json.loads(answer.body)
    assert (answer.status, told["responseCode"]) == (400, 301)
    assert told["message"] == f"That prefix doesn't live here; ask Handle.Net: {values}"
    answer = leading.get("/api/handles/20.1/a?index=3&type=URL")
    assert (answer.status, answer.headers["location"]) == (302, f"{values}?index=3&type=URL")


def test_hostile_names_stay_in_the_address(leading: Deployment) -> None:
    answer = leading.get("/doi:10.1000/a%3c%22%3e@evil.example/../..%5c")
    there = answer.headers["location"]
    assert there == "https://doi.org/10.1000/a%3C%22%3E@evil.example/../..%5C"
    assert leading.get("/doi:10.1000/a%0d%0aX:1").status == 400
