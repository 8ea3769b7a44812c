"""`/restrictions`: reading rules are set, listed and lifted by those who hold the right."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, resource, text


@pytest.fixture
def owner(site: Deployment) -> str:
    return site.token("owner", operations=("restrict",), authorities=(SERIES,))


def list_rules(site: Deployment, token: str, question: str = "") -> dict[str, Any]:
    answer = site.get(f"/restrictions{question}", f"Authorization: Bearer {token}")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    found: dict[str, Any] = json.loads(answer.body)
    return found


def test_a_rule_is_set_changed_and_lifted(site: Deployment, owner: str) -> None:
    name = site.mint(text(b"one"))
    rule = {"about": resource(name), "until": "2999-01-01"}
    first = site.post("/restrictions", rule, token=owner)
    assert first.status == 201
    assert json.loads(first.body)["about"] == resource(name)
    assert site.get(f"/{name}").status == 403
    assert site.post("/restrictions", rule, token=owner).status == 200
    changed = site.post("/restrictions", rule | {"by_token": True}, token=owner)
    assert (changed.status, json.loads(changed.body)["outcome"]) == (200, "changed")
    (shown,) = list_rules(site, owner)["restrictions"]
    assert (shown["about"], shown["by"], shown["until"]) == (resource(name), "owner", "2999-01-01")
    lift = {"about": resource(name), "lift": True}
    assert site.post("/restrictions", lift, token=owner).status == 200
    assert site.get(f"/{name}").status == 200
    assert list_rules(site, owner)["restrictions"] == []
    again = site.post("/restrictions", lift, token=owner)
    assert (again.status, json.loads(again.body)["code"]) == (400, "invalid-request")


@pytest.mark.parametrize(
    ("about", "allowed"),
    [
        (SERIES, True),
        (f"pdi://{SERIES}/1997/", True),
        (f"pdi://{SERIES}/1997/09/01/1.html.2", True),
        ("*", False),
        ("*.gov.us", False),
        (OTHER_SERIES, False),
        (f"pdi://{OTHER_SERIES}/1997/09/01/1", False),
        ("hdl:1839/x", False),
    ],
)
def test_a_token_restricts_only_within_its_scopes(
    site: Deployment, owner: str, about: str, *, allowed: bool
) -> None:
    answer = site.post("/restrictions", {"about": about, "access": "open"}, token=owner)
    assert answer.status == (201 if allowed else 403), answer
    if allowed:
        site.post("/restrictions", {"about": about, "lift": True}, token=owner)


def test_a_dated_token_restricts_no_scope(site: Deployment) -> None:
    dated = site.token(
        "dated", operations=("restrict",), authorities=(SERIES,), first_day="1997-01-01"
    )
    assert site.post("/restrictions", {"about": SERIES}, token=dated).status == 403
    name = f"pdi://{SERIES}/1998/09/01/1"
    assert site.post("/restrictions", {"about": name}, token=dated).status == 201
    assert site.post("/restrictions", {"about": name, "lift": True}, token=dated).status == 200
    early = f"pdi://{SERIES}/1996/09/01/1"
    assert site.post("/restrictions", {"about": early}, token=dated).status == 403


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"about": "a*b"},
        {"about": SERIES, "access": "ajar"},
        {"about": SERIES, "until": "soon"},
        {"about": SERIES, "networks": ["10.0.0.1/8"]},
        {"about": SERIES, "access": "open", "by_token": True},
        {"about": SERIES, "reason": "x" * 1001},
        {"about": SERIES, "part": "page=2"},
        {"about": SERIES, "more": 1},
    ],
)
def test_malformed_rules_change_nothing(site: Deployment, owner: str, body: object) -> None:
    assert site.post("/restrictions", body, token=owner).status == 400
    assert list_rules(site, owner)["restrictions"] == []


def test_callers_without_the_right(site: Deployment) -> None:
    reader = site.token("reader", operations=("read",))
    assert site.get("/restrictions").status == 401
    assert site.get("/restrictions", f"Authorization: Bearer {reader}").status == 403
    assert site.post("/restrictions", {"about": SERIES}).status == 401
    assert site.post("/restrictions", {"about": SERIES}, token=reader).status == 403


def test_rules_are_listed_page_by_page(site: Deployment, owner: str) -> None:
    abouts = [f"pdi://{SERIES}/1997/09/{day:02}/" for day in range(1, 6)]
    for about in (*abouts,):
        site.post("/restrictions", {"about": about, "access": "open"}, token=owner)
    root = site.token("root", operations=("restrict",))
    site.post("/restrictions", {"about": "hdl:1839/*", "access": "open"}, token=root)
    found: list[str] = []
    question = "?limit=2"
    while True:
        page = list_rules(site, owner, question)
        assert len(page["restrictions"]) <= 2
        found += [one["about"] for one in page["restrictions"]]
        if "cursor" not in page:
            break
        question = f"?limit=2&cursor={page['cursor']}"
    assert found == abouts
    assert len(list_rules(site, root)["restrictions"]) == 6
    for bad in (
        "?limit=0",
        "?limit=x",
        "?cursor=-1",
        "?limit=000000000199999",
        f"?limit=1{'0' * 5000}",
    ):
        answer = site.get(f"/restrictions{bad}", f"Authorization: Bearer {owner}")
        assert answer.status == 400
