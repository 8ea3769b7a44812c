"""Clients that ask too often, take too much or mint too many names, over a real connection."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection

import pytest
from tests.server.conftest import Answer
from tests.server.deployment import OTHER_SERIES, SERIES, SHOULDER, Deployment, deployed, text

REQUESTS, BYTES, MINTS, QUOTA = 10, 100_000, 4, 2
PREFIX = "21.T14999"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    limits = {"requests_per_minute": REQUESTS, "bytes_per_minute": BYTES}
    root = tmp_path_factory.mktemp("limits") / "registry"
    root.mkdir()  # these hold for whichever process writes, so they are in the file
    (root / "perdure.toml").write_text(
        f'[perdure]\nseries_quotas = ["{OTHER_SERIES}={QUOTA}"]\nmints_per_day = {MINTS}\n'
        f'handle_prefixes = ["{PREFIX}"]\n'
    )
    with deployed(root, **limits) as running:
        yield running


def count_refused(site: Deployment, limit: str) -> float:
    lines = site.get("/metrics").body.decode().splitlines()
    begin = f'perdure_limited_requests_total{{limit="{limit}"}} '
    return sum(float(line.removeprefix(begin)) for line in lines if line.startswith(begin))


def check_refusal(answer: Answer, limit: str, amount: int, seconds: int) -> None:
    assert answer.status == 429
    wait = int(answer.headers["retry-after"])
    assert 0 < wait <= 2 * seconds  # more than a period if the last answer was large
    assert answer.headers["ratelimit"] == f'"{limit}";r=0;t={wait}'
    assert answer.headers["ratelimit-policy"] == f'"{limit}";q={amount};w={seconds}'
    assert answer.headers["content-type"] == "application/problem+json"
    assert json.loads(answer.body)["code"] == "too-many-requests"


@pytest.mark.parametrize("target", ["/healthz", "redirect"])  # through the application and without
def test_an_address_that_asks_too_often(site: Deployment, target: str) -> None:
    if target == "redirect":
        target = f"/{site.bind(f'pdi://{SERIES}/1997/09/01/7.html.1', 'https://a.example/')}"
    client = f"X-Forwarded-For: 192.0.2.{len(target)}"
    before = count_refused(site, "requests")
    answers = [site.get(target, client) for _ in range(REQUESTS + 2)]
    assert all(one.status in (200, 302) for one in answers[:REQUESTS])
    for one in answers[REQUESTS:]:
        check_refusal(one, "requests", REQUESTS, 60)
    assert site.get(target, "X-Forwarded-For: 198.51.100.7").status in (200, 302)
    assert count_refused(site, "requests") == before + 2


def test_a_kept_connection_is_refused_and_closed(site: Deployment) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.200\r\n\r\n"
    answers = site.send(request * (REQUESTS + 5))
    assert [one.status for one in answers] == [200] * REQUESTS + [429]


def test_the_delay_of_fast_answers_is_measured(site: Deployment) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        lines = site.get("/metrics").body.decode().splitlines()
        counts = [one for one in lines if one.startswith("perdure_loop_delay_seconds_count ")]
        if float(counts[0].split()[1]) > 0:
            return
        time.sleep(0.2)
    pytest.fail("no timer was measured")


def test_this_machine_has_no_limits(site: Deployment) -> None:
    assert {site.get("/healthz").status for _ in range(3 * REQUESTS)} == {200}


def test_an_address_that_took_too_much(site: Deployment) -> None:
    name = site.mint(text(b"x" * (2 * BYTES)))
    client = "X-Forwarded-For: 192.0.2.100"
    whole = site.get(f"/{name}", client)
    assert (whole.status, len(whole.body)) == (200, 2 * BYTES)
    check_refusal(site.get(f"/{name}", client), "bytes", BYTES, 60)


def test_a_token_that_mints_too_much(site: Deployment) -> None:
    token, other = site.token("busy"), site.token("idle")
    target = f"/pdi://{SERIES}/"
    kind = "Content-Type: text/plain"
    minted = [site.put(target, b"%d" % one, kind, token=token) for one in range(MINTS - 1)]
    minted.append(site.post(f"{target}?mint", {}, token=token))
    assert {one.status for one in minted} == {201}
    check_refusal(site.put(target, b"more", kind, token=token), "mints", MINTS, 86_400)
    check_refusal(site.post(f"{target}?mint", {}, token=token), "mints", MINTS, 86_400)
    assert site.put(target, b"other", kind, token=other).status == 201


def test_every_way_to_a_name_counts(site: Deployment) -> None:
    """One share for all interfaces; what gives no new name costs nothing and is not refused."""
    token, before = site.token("every way"), count_refused(site, "mints")

    def put_handle(name: str, data: str) -> Answer:
        value = {"index": 1, "type": "URL", "data": data}
        target = f"/api/handles/{PREFIX}/{name}"
        return site.put(target, json.dumps({"values": [value]}).encode(), token=token)

    ways: dict[str, Callable[[], Answer]] = {
        "handle": lambda: put_handle("way", "https://a.example/"),
        "register": lambda: site.post("/doi:10.1000/way?register", {}, token=token),
        "shoulder": lambda: site.post(f"/ark:{SHOULDER}?mint", {}, token=token),
        "stated": lambda: site.post(f"/pdi://{SERIES}/?mint", {"uid": "way"}, token=token),
    }
    assert len(ways) == MINTS
    assert {name: ask().status for name, ask in ways.items()} == {
        "handle": 200, "register": 201, "shoulder": 201, "stated": 201
    }  # fmt: skip
    for refused in (
        put_handle("way2", "https://a.example/"),
        site.post("/doi:10.1000/way2?register", {}, token=token),
        site.post(f"/ark:{SHOULDER}?mint", {}, token=token),
        site.put(f"/pdi://{SERIES}/", b"way", token=token),
    ):
        assert refused.status == 429
        assert refused.headers["ratelimit-policy"] == f'"mints";q={MINTS};w=86400'
        assert int(refused.headers["retry-after"]) > 0
    assert count_refused(site, "mints") == before + 4
    assert put_handle("way", "https://b.example/").status == 200
    place = {"locations": ["https://a.example/way"]}
    assert site.post("/doi:10.1000/way?register", place, token=token).status == 201
    assert site.get("/doi:10.1000/way2?info").status == 404


def test_a_repeated_request_is_no_further_name(site: Deployment) -> None:
    token = site.token("repeating")
    target, once = f"/pdi://{SERIES}/?mint", "Idempotency-Key: again"
    answers = [site.post(target, {}, once, token=token) for _ in range(MINTS + 2)]
    assert {one.status for one in answers} == {201}
    assert [site.post(target, {}, token=token).status for _ in range(MINTS)] == [
        *[201] * (MINTS - 1),
        429,
    ]


@pytest.mark.parametrize("way", ["post", "put"])
def test_a_repeated_request_needs_no_share(site: Deployment, way: str) -> None:
    """A client that lost the answer repeats its request, and gets the receipt, not a 429."""
    token, once = site.token(f"repeating {way}"), f"Idempotency-Key: share {way}"

    def mint(*fields: str) -> Answer:
        if way == "put":
            fields = (*fields, "Content-Type: text/plain")
            return site.put(f"/pdi://{SERIES}/", b"share", *fields, token=token)
        return site.post(f"/pdi://{SERIES}/?mint", {}, *fields, token=token)

    first = mint(once)
    assert first.status == 201
    assert [mint().status for _ in range(MINTS)] == [201] * (MINTS - 1) + [429]
    repeated = mint(once)
    assert repeated.status == 201
    assert repeated.headers["location"] == first.headers["location"]
    check_refusal(mint(f"{once} unused"), "mints", MINTS, 86_400)


def test_a_fast_upload_counts_too(site: Deployment) -> None:
    token = site.token("steady")
    fields = {"Authorization": f"Bearer {token}", "Content-Type": "text/plain"}
    statuses = []
    with contextlib.closing(HTTPConnection("127.0.0.1", site.port)) as connection:
        for _ in range(MINTS + 1):  # each request is one packet, as the fast way wants it
            connection.request("PUT", f"/pdi://{SERIES}/", b"more", fields)
            with connection.getresponse() as answer:
                answer.read()
                statuses.append(answer.status)
    assert statuses == [201] * MINTS + [429]


def test_a_series_that_has_used_its_quota(site: Deployment) -> None:
    token = site.token("press")
    target = f"/pdi://{OTHER_SERIES}/"
    minted = [site.post(f"{target}?mint", {}, token=token) for _ in range(QUOTA + 1)]
    assert [one.status for one in minted] == [201] * QUOTA + [429]
    problem = json.loads(minted[-1].body)
    assert minted[-1].headers["ratelimit-policy"] == f'"series";q={QUOTA};w=86400'
    assert problem["series"] == OTHER_SERIES
    assert problem["limit"] == QUOTA
    assert problem["wait"] == int(minted[-1].headers["retry-after"]) <= 86_400
