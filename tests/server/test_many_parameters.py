"""Queries and forms with more parameters than any question has: refused before they cost time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.server.deployment import Deployment, deployed

MANY = "&".join(f"index={number}" for number in range(1001))
FORM = "Content-Type: application/x-www-form-urlencoded"
PATHS = (
    "/?", "/changes?", "/search?q=a&", "/feed.atom?", "/sitemap.xml?", "/cdx?url=a.example&",
    "/api/handles?prefix=21.T1&", "/api/handles/21.T1/x?", "/dois?", "/rules?", "/sparql?",
    "/pwid:?time=2016-01-22T11.20.29Z&",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(
        tmp_path_factory.mktemp("many") / "registry",
        sparql="on",
        webmentions="on",
        handle_prefixes=("21.T1",),
    ) as running:
        yield running


@pytest.mark.parametrize("path", PATHS)
def test_a_query_with_too_many_parameters_is_refused(site: Deployment, path: str) -> None:
    answer = site.get(path + MANY, "Accept: application/json")
    assert answer.status in (400, 401, 404, 422), answer.body[:300]
    assert site.get("/healthz").status == 200


@pytest.mark.parametrize("path", ["/api/handles/21.T1/x", "/sparql", "/webmention", "/oai"])
def test_a_form_with_too_many_parameters_is_refused(site: Deployment, path: str) -> None:
    large = "&".join(f"index={number}" for number in range(80_000))
    for body in (MANY, large):
        answer = site.ask("POST", path, FORM, body=body.encode())
        assert answer.status in (200, 400, 403, 404, 413), answer.body[:300]
        assert b"Internal Server Error" not in answer.body
