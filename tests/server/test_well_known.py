"""Fixed addresses: the series that are resolved here, and the catalogue of interfaces."""

from __future__ import annotations

import json
from typing import Any

from tests.server.deployment import OTHER_SERIES, SERIES, SHOULDER, Deployment, text

from perdure.ids import parse
from perdure.model.commands import Register
from perdure.model.records import Location

FOREIGN = "elsewhere.a.us"


def read_statement(site: Deployment) -> Any:
    answer = site.get("/.well-known/pdi")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    return json.loads(answer.body)


def test_series_are_stated_with_roles_and_completeness(site: Deployment) -> None:
    site.mint(text(b"one"))
    site.do(
        Register(
            identifier=parse(f"pdi://{FOREIGN}/1997/09/01/1"),
            locations=(Location(uri="https://a.example/1"),),
        )
    )
    told = read_statement(site)
    assert told["resolver"] == site.base
    found = {one["series"]: one for one in told["series"]}
    assert {SERIES, OTHER_SERIES, FOREIGN} <= {*found}
    ours, theirs = found[SERIES], found[FOREIGN]
    assert (ours["role"], ours["minted"], ours["complete"]) == ("authority", True, True)
    assert (theirs["role"], theirs["minted"], theirs["complete"]) == ("holder", False, False)
    assert {"scheme": "ark", "authority": SHOULDER} in told["authorities"]
    changes = site.get("/changes?limit=10000").body.splitlines()
    last = json.loads(changes[-1])
    assert told["as_of"] == f"{last['epoch']}.{last['number']}"
    assert told["at"] == last["at"]
    for one in (ours, theirs):
        assert one["interval"] == f"pdi://{one['series']}/"
        assert site.get(one["feed"].removeprefix(site.base)).status == 200


def test_options_agrees_with_the_statement(site: Deployment) -> None:
    """ "Issuing a HTTP request using the OPTIONS method on the PDI" (section 3.8.1)."""
    for one in read_statement(site)["series"]:
        answer = site.ask("OPTIONS", f"/{one['interval']}")
        assert answer.status == 204
        assert ("PUT" in answer.headers["allow"]) == one["minted"]
        assert answer.headers["link"] == '</.well-known/pdi>; rel="service-meta"'
    assert site.ask("OPTIONS", "/pdi://nobody.a.us/").status == 404


def test_the_catalogue_lists_interfaces_that_answer(site: Deployment) -> None:
    """RFC 9727 section 4.1: "MUST include hyperlinks to API endpoints"."""
    answer = site.get("/.well-known/api-catalog")
    kind = answer.headers["content-type"]
    assert kind == 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
    head = site.ask("HEAD", "/.well-known/api-catalog")  # section 3: a Link field with the relation
    assert 'rel="api-catalog"' in head.headers["link"]
    first, second = json.loads(answer.body)["linkset"]
    assert first["anchor"] == f"{site.base}/.well-known/api-catalog"
    hrefs = [one["href"] for one in first["item"]]
    hrefs += [
        one["href"] for key in ("service-desc", "service-meta", "status") for one in second[key]
    ]
    for href in hrefs:
        if "/uri-res/" in href:
            href += "?pdi://oma.eop.gov.us/"
        assert site.get(href.removeprefix(site.base)).status in (200, 400), href
    assert f"{site.base}/.well-known/pdi" in hrefs
