"""Batches: each line has the outcome that its request would have alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.server.conftest import Answer
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, deployed, today
from tests.server.write_ways import count_fast

from perdure.policy.tokens import make_token
from perdure.registry import initialise
from perdure.server.apis import batches

PREFIX = "21.T14999"
MINT = f"/pdi://{SERIES}/?mint"
PLACE = "https://a.example/1"
URL = {"index": 1, "type": "URL", "data": PLACE}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("batches") / "registry"
    initialise(root, handle_prefixes=(PREFIX,))
    with deployed(root) as running:
        yield running


@pytest.fixture(scope="module")
def secret(site: Deployment) -> str:
    return site.token("all", authorities=("*",))


def send(site: Deployment, secret: str, *lines: object, fields: tuple[str, ...] = ()) -> Answer:
    """Send lines: texts as they are, everything else as JSON."""
    written = [one if isinstance(one, str) else json.dumps(one) for one in lines]
    body = "\n".join(written).encode()
    return site.ask(
        "POST", "/operations", f"Authorization: Bearer {secret}", *fields, body=body or b"\n"
    )


def run(site: Deployment, secret: str, *lines: object) -> list[dict[str, Any]]:
    answer = send(site, secret, *lines)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/jsonl"
    return [json.loads(line) for line in answer.body.decode().splitlines()]


def operation(target: str, body: object = None, **more: object) -> dict[str, object]:
    return {"target": target, **({} if body is None else {"body": body}), **more}


def assign(name: str, **more: object) -> dict[str, object]:
    target = f"/api/handles/{PREFIX}/{name}"
    return operation(target, {"values": [URL]}, method="PUT", **more)


def test_each_line_has_the_answer_that_it_would_have_alone(site: Deployment, secret: str) -> None:
    def write(name: str) -> list[tuple[str, str, object]]:
        return [
            ("POST", f"/hdl:{PREFIX}/{name}?register", {"locations": [PLACE]}),
            ("POST", f"/hdl:{PREFIX}/{name}?bind", {"locations": ["https://b.example/"]}),
            ("POST", f"/hdl:{PREFIX}/{name}?alias", {"other": f"hdl:20.1/{name}"}),
            ("POST", f"/hdl:{PREFIX}/{name}?metadata", {"titles": [{"text": "A letter"}]}),
            ("POST", f"/hdl:{PREFIX}/{name}?break", {"uri": "https://missing.example/"}),
            ("POST", f"/hdl:{PREFIX}/{name}?nothing", {}),
            ("POST", f"/hdl:{PREFIX}/un{name}?bind", {"locations": [PLACE]}),
            ("POST", f"/hdl:{PREFIX}/{name}?bind", {"locations": ["javascript:1"]}),
            ("POST", f"/hdl:{PREFIX}/{name}?bind", {"places": []}),
            ("POST", "/hdl:no?bind", {"locations": [PLACE]}),
            ("PUT", f"/api/handles/{PREFIX}/v{name}", {"values": [URL]}),
            ("PUT", f"/api/handles/{PREFIX}/v{name}?overwrite=false&pretty", {"values": [URL]}),
            ("PUT", f"/api/handles/20.500/{name}", {"values": [URL]}),
            ("DELETE", f"/api/handles/{PREFIX}/v{name}?index=1", None),
            ("DELETE", f"/api/handles/{PREFIX}/v{name}", None),
        ]

    together = run(
        site,
        secret,
        *[operation(target, body, method=verb) for verb, target, body in write("nr-a")],
    )
    alone = [
        site.ask(
            verb,
            target,
            f"Authorization: Bearer {secret}",
            "Content-Type: application/json",
            body=b"" if body is None else json.dumps(body).encode(),
        )
        for verb, target, body in write("nr-b")
    ]
    assert [one["status"] for one in together] == [one.status for one in alone]
    for one, other in zip(together, alone, strict=True):
        assert json.dumps(one["body"]).replace("nr-a", "nr-b") == json.dumps(json.loads(other.body))
    assert {one["status"] for one in together} >= {200, 201, 400, 404, 405, 409}


def test_lines_need_no_task(site: Deployment, secret: str) -> None:
    """Or the comparison proves nothing about the way without one. What is refused is left out."""
    run(site, secret, operation(MINT, {}))  # the server leads from now on
    before = count_fast(site, "operation"), count_fast(site, "assign")
    found = run(
        site,
        secret,
        operation(f"/hdl:{PREFIX}/quick?register", {}),
        operation(MINT, {}, idempotency_key="quick"),
        operation(MINT, {}),
        assign("quick-values"),
        operation(f"/api/handles/{PREFIX}/quick-values?index=1", method="DELETE"),
        operation(f"/hdl:{PREFIX}/quick?bind", {"locations": [PLACE]}, if_match='"r1"'),
        operation(f"/hdl:{PREFIX}/quick?bind", {"locations": [PLACE]}, if_match='"r7"'),
        assign("quick-values", if_match='"r1"'),
    )
    assert [one["status"] for one in found] == [201, 201, 201, 200, 200, 201, 412, 200]
    after = count_fast(site, "operation"), count_fast(site, "assign")
    assert [one - other for one, other in zip(after, before, strict=True)] == [4, 2]


def test_an_operation_sees_what_the_earlier_lines_did(site: Deployment, secret: str) -> None:
    name = f"hdl:{PREFIX}/order"
    found = run(
        site,
        secret,
        assign("order"),
        operation(f"/{name}?bind", {"locations": ["https://b.example/"]}),
        operation(f"/{name.upper()}?bind", {"locations": ["https://c.example/"]}, if_match='"r2"'),
        operation(f"/{name}?bind", {"locations": ["https://d.example/"]}, if_match='"r2"'),
        operation(f"/hdl:{PREFIX}/second?register", {}),
        operation(f"/hdl:{PREFIX}/second?alias", {"other": name}),
        operation(f"/{name}?break", {"uri": "https://b.example/"}),
    )
    assert [one["status"] for one in found] == [200, 201, 201, 412, 201, 201, 200]
    shown = json.loads(site.get(f"/{name}?info", "Accept: application/json").body)
    assert [one["uri"] for one in shown["locations"]] == [PLACE, "https://c.example/"]


def test_names_are_minted_in_the_order_of_the_lines(site: Deployment, secret: str) -> None:
    lines = [operation(MINT, {"locations": [f"{PLACE}{number}"]}) for number in range(200)]
    found = run(site, secret, *lines)
    assert {one["status"] for one in found} == {201}
    names = [one["body"]["identifier"] for one in found]
    serials = [int(name.rpartition("/")[2]) for name in names]
    assert serials == list(range(serials[0], serials[0] + 200))
    for name, number in zip(names, range(200), strict=True):
        assert name.startswith(f"pdi://{SERIES}/{today()}/")
        assert site.get(f"/{name}").headers["location"] == f"{PLACE}{number}"


def test_rights_are_checked_for_each_operation(site: Deployment) -> None:
    made = site.token("one series", operations=("mint",), authorities=(SERIES,))
    found = run(
        site,
        made,
        operation(MINT, {}),
        operation(f"/pdi://{OTHER_SERIES}/?mint", {}),
        operation(f"/hdl:{PREFIX}/denied?register", {}),
        assign("denied"),
        operation(MINT, {}),
    )
    assert [one["status"] for one in found] == [201, 403, 403, 403, 201]
    assert site.get(f"/hdl:{PREFIX}/denied?info").status == 404


def test_a_repeated_batch_is_carried_out_once(site: Deployment, secret: str) -> None:
    lines = [operation(MINT, {}, idempotency_key=f"batch-{number}") for number in range(3)]
    first, again = run(site, secret, *lines), run(site, secret, *lines)
    assert [one["body"]["replayed"] for one in (*first, *again)] == [False] * 3 + [True] * 3
    names = [[one["body"]["identifier"] for one in some] for some in (first, again)]
    assert names[0] == names[1]


def test_lines_that_are_no_operations_are_refused_alone(site: Deployment, secret: str) -> None:
    refused: list[object] = [
        "{",
        "7",
        '"\xff"',
        {"target": MINT, "method": "GET"},
        {"target": MINT, "verb": "mint"},
        {"body": {}},
        operation("/tokens", {"name": "x"}),
        operation("/operations", {}),
        operation("/captures?url=https://a.example/", {}),
        operation(f"/api/handles/{PREFIX}/x", {}),
        operation(f"/hdl:{PREFIX}/x", {}, method="PUT"),
        operation("/ a", {}),
        operation("", {}),
        operation(f"{MINT}é", {}),
    ]
    found = run(site, secret, operation(MINT, {}), "", *refused, "  ", operation(MINT, {}))
    assert [one["status"] for one in found] == [201, *[400] * len(refused), 201]
    assert found[1]["body"]["code"] == "invalid-request"
    assert "line 3" in found[1]["body"]["detail"]


def test_a_batch_as_a_whole_is_refused(site: Deployment, secret: str) -> None:
    assert send(site, make_token()[0], operation(MINT, {})).status == 401
    assert send(site, secret, *[""] * 3).body == b""
    for field in ("If-Match: *", "If-None-Match: *", "Idempotency-Key: k"):
        assert send(site, secret, operation(MINT, {}), fields=(field,)).status == 400
    assert send(site, secret, *["{}"] * batches.MOST).status == 200
    assert send(site, secret, *["{}"] * (batches.MOST + 1)).status == 413
    assert send(site, secret, "x" * (batches.LARGEST + 1)).status == 413
    cut = ("Content-Digest: sha-256=:AAAA:",)
    assert send(site, secret, operation(MINT, {}), fields=cut).status == 400
    assert site.get("/operations").status == 405


def test_browsers_get_problems_as_json_in_a_batch(site: Deployment, secret: str) -> None:
    """A line of the answer is JSON, whatever the client prefers for pages."""
    answer = send(site, secret, "{", operation("/hdl:1/1?bind", {}), fields=("Accept: text/html",))
    found = [msgspec.json.decode(line) for line in answer.body.splitlines()]
    assert [one["body"]["status"] for one in found] == [400, 404]
