"""Delegated names over HTTP: readers and writers are led to the resolver that answers for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Clock
from tests.server.both_ways import BothWays
from tests.server.deployment import (
    OTHER_SERIES,
    SERIES,
    Deployment,
    deployed,
    problem,
    text,
    today,
)

from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.model.delegations import make_delegation, read_resolver
from perdure.registry import initialise
from perdure.upkeep.delegating import delegate_names, revoke_delegation

ARCHIVES = "https://resolver.archives.example/"
OLD = "pdi://press.oma.eop.gov.us/1993/"
NAME = f"{OLD}01/20/1.text.1"


def delegate(site: Any, names: str, *to: str, kind: str = "http", **terms: Any) -> str:
    resolvers = tuple(
        read_resolver(one, kind=kind, priority=at) for at, one in enumerate(to or (ARCHIVES,))
    )
    made = make_delegation(read_set(names), resolvers, **terms)
    return delegate_names(site.registry, made).identifier


def revoke(site: Deployment, name: str) -> None:
    revoke_delegation(site.registry, parse(name))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("site") / "registry", workers=2) as running:
        delegate(running, OLD, ARCHIVES, "https://second.example/pid/")
        delegate(running, "hdl:4263537/", "https://hdl.handle.net")
        delegate(running, "ark:12148/b5*", how="refer")
        yield running


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("target", "there"),
    [
        (f"/{NAME}", NAME),
        (NAME, NAME),
        (f"/urn:{NAME}", f"urn:{NAME}"),
        (f"/{NAME}#char=0,4", f"{NAME}%23char=0,4"),
        (f"/{NAME}%23char=0,4", f"{NAME}%23char=0,4"),
        (f"/{NAME}?part=char=0,4", f"{NAME}?part=char=0,4"),
        (f"/{NAME}?info", f"{NAME}?info"),
        (f"/{OLD}", OLD),
        (f"/{OLD}01/*/*", f"{OLD}01/*/*"),
        (f"/uri-res/N2R?urn:{NAME}", f"uri-res/N2R?urn:{NAME}"),
        (f"/uri-res/N2Ls?urn:{OLD}", f"uri-res/N2Ls?urn:{OLD}"),
        (f"/iiif/3/{NAME}/full/max/0/default.png", f"iiif/3/{NAME}/full/max/0/default.png"),
        ("/api/handles/pdi/" + NAME[6:], "api/handles/pdi/" + NAME[6:]),
    ],
)
def test_the_request_keeps_its_form(site: Deployment, method: str, target: str, there: str) -> None:
    """ "`redirect` (307, the request form kept)" """
    answer = site.ask(method, target)
    assert (answer.status, answer.headers["location"]) == (307, ARCHIVES + there)
    assert answer.headers["link"] == f'<https://second.example/pid/{there}>; rel="alternate"'
    assert answer.body == b""


@pytest.mark.parametrize(
    ("target", "there"),
    [("/4263537/4000", "4263537/4000"), ("/hdl:4263537/4000", "hdl:4263537/4000"),
     ("/api/handles/4263537/4000", "api/handles/4263537/4000")],
)  # fmt: skip
def test_handles_are_delegated_by_their_prefix(site: Deployment, target: str, there: str) -> None:
    answer = site.get(target)
    assert (answer.status, answer.headers["location"]) == (307, f"https://hdl.handle.net/{there}")


def test_a_page_of_any_origin_may_follow_where_it_may_read(site: Deployment) -> None:
    for target in ("/api/handles/4263537/4000", f"/iiif/3/{NAME}/info.json"):
        assert site.get(target).headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-origin" not in site.get(f"/{NAME}").headers


def test_a_reference_says_who_knows(site: Deployment) -> None:
    """ "`refer` (300 with who knows)" """
    answer = site.get("/ark:12148/b5x", "Accept: application/json")
    assert answer.status == 300
    found = json.loads(answer.body)
    assert found["identifiers"] == [f"{ARCHIVES}ark:12148/b5x"]
    assert found["resolvers"] == [ARCHIVES]
    assert site.get("/" + found["delegation"]).status == 200
    assert answer.headers["link"] == f'<{ARCHIVES}ark:12148/b5x>; rel="alternate"'
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    ("target", "wish", "status"),
    [
        (f"/{NAME}", "resolve=refer", 300),
        ("/ark:12148/b5x", "resolve=redirect", 307),
        ("/ark:12148/b5x", 'respond-async, Resolve="redirect"; x=1', 307),
        ("/ark:12148/b5x", "resolve=shout", 300),
    ],
)
def test_a_client_may_choose(site: Deployment, target: str, wish: str, status: int) -> None:
    """ "a client may choose with `Prefer: resolve=…`" """
    answer = site.get(target, f"Prefer: {wish}")
    assert answer.status == status
    assert "prefer" in answer.headers["vary"]
    applied = answer.headers.get("preference-applied")
    assert applied == (
        None if "shout" in wish else f"resolve={'refer' if status == 300 else 'redirect'}"
    )


def test_a_record_that_is_here_wins(site: Deployment) -> None:
    """ "For reading, a record that is here wins" """
    name = f"{OLD}02/02/7"
    site.bind(name, "https://here.example/7")
    assert site.get(f"/{name}").headers["location"] == "https://here.example/7"
    listed = site.get(f"/{OLD}02/02/*", "Accept: application/json")
    found = json.loads(listed.body)
    assert found["identifiers"] == [name]
    assert (found["complete"], found["sources"]) == (False, [f"{ARCHIVES}{OLD}02/02/*"])
    lines = site.get(f"/{OLD}02/02/*", "Accept: text/uri-list").body.split(b"\r\n")
    assert f"# incomplete: {ARCHIVES}{OLD}02/02/*".encode() in lines
    page = site.get(f"/{OLD}02/02/*", "Accept: text/html").body
    assert b"incomplete" in page


def test_an_unknown_name_that_is_not_delegated_is_not_found(site: Deployment) -> None:
    for name in ("pdi://press.oma.eop.gov.us/1994/01/20/1", "hdl:426353/1?info"):
        problem(site.get(f"/{name}"), 404, "not-found")


def test_a_new_delegation_is_followed_at_once_and_an_ended_one_is_not(site: Deployment) -> None:
    """ "New subseries need no restart" """
    name = "pdi://new.press.oma.eop.gov.us/1999/01/20/1"
    for _ in range(3):
        assert site.get(f"/{name}").status == 404
    made = delegate(site, "pdi://press.oma.eop.gov.us/", has_subseries=True)
    for _ in range(6):  # of either worker
        assert site.get(f"/{name}").status == 307
    revoke(site, made)
    for _ in range(6):
        assert site.get(f"/{name}").status == 404


# what is resolved
# ----------------


def test_the_start_page_says_what_is_resolved_minted_and_delegated(site: Deployment) -> None:
    """ "say what is resolved here, minted here, delegated where …, with a statement of completeness
    per series" """
    found = json.loads(site.get("/", "Accept: application/json").body)
    assert "press.oma.eop.gov.us" in found["series"]
    assert found["minted"] == [SERIES, OTHER_SERIES]
    shown = {one["series"]: one for one in found["resolved"]}
    press = shown["press.oma.eop.gov.us"]
    assert (press["minted"], press["complete"]) == (False, False)
    (delegated,) = press["delegated"]
    assert (delegated["names"], delegated["resolvers"][0]) == (OLD, ARCHIVES)
    assert (shown[SERIES]["complete"], shown[SERIES]["delegated"]) == (True, [])
    assert ARCHIVES.encode() in site.get("/", "Accept: text/html").body
    stated = json.loads(site.get("/.well-known/pdi").body)["series"]
    (press,) = (one for one in stated if one["series"] == "press.oma.eop.gov.us")
    assert (press["complete"], press["delegated"]) == (False, [delegated])


def test_options_of_a_delegated_name_are_answered_here(site: Deployment) -> None:
    for target in (NAME, OLD):
        answer = site.ask("OPTIONS", f"/{target}")
        assert answer.status == 204
        assert answer.headers["link"].startswith(f'<{ARCHIVES}{target}>; rel="alternate"')
        assert "GET" in answer.headers["allow"]


def test_options_of_a_series_tell_that_it_is_delegated(site: Deployment) -> None:
    """ "OPTIONS and `/` say what is resolved here, minted here, delegated where" """
    delegate(site, "pdi://whole.example.us/", ARCHIVES)
    answer = site.ask("OPTIONS", "/pdi://whole.example.us/")
    assert answer.status == 204
    assert f'<{ARCHIVES}pdi://whole.example.us/>; rel="alternate"' in answer.headers["link"]
    assert site.ask("OPTIONS", "/pdi://press.oma.eop.gov.us/").status == 204  # in part
    assert site.ask("OPTIONS", "/pdi://unknown.example.us/").status == 404


def test_a_trace_goes_on_unless_it_may_not(site: Deployment) -> None:
    """ "TRACE shows the way" """
    answer = site.ask("TRACE", f"/{NAME}")
    assert (answer.status, answer.headers["location"]) == (307, ARCHIVES + NAME)
    assert site.ask("TRACE", f"/{NAME}", "Max-Forwards: 3").status == 307
    last = site.ask("TRACE", f"/{NAME}", "Max-Forwards: 0", "Authorization: Bearer secret")
    assert last.status == 200
    assert b"secret" not in last.body


# writes
# ------


def test_writers_are_led_to_who_assigns_the_names(site: Deployment) -> None:
    """ "Writes are redirected to who mints there; a client's credentials are never passed on" """
    made = delegate(site, f"pdi://{OTHER_SERIES}/1995/", role="authority")
    name = f"pdi://{OTHER_SERIES}/1995/03/04/7"
    token = site.token("writer")
    for method, target in (
        ("PUT", f"/{name}.text.1"),
        ("POST", f"/{name}?bind"),
        ("PUT", f"/api/handles/pdi/{name[6:]}"),
    ):
        answer = site.ask(method, target, f"Authorization: Bearer {token}", body=b"{}")
        assert (answer.status, answer.headers["location"]) == (307, ARCHIVES + target[1:]), target
        assert answer.headers["cache-control"] == "no-store"
        assert token not in str(answer.headers)
    site.bind(f"pdi://{OTHER_SERIES}/1996/03/04/7", "https://here.example/8")
    revoke(site, made)


def test_the_series_mints_until_the_day_of_the_delegation(site: Deployment) -> None:
    made = delegate(site, f"pdi://{OTHER_SERIES}/", role="authority")
    (held,) = (one for one in site.registry.delegations.list_all() if str(one.identifier) == made)
    assert held.effective > today().replace("/", "-")
    token = site.token("minter")
    answer = site.put(f"/pdi://{OTHER_SERIES}/", b"x", "Content-Type: text/plain", token=token)
    assert answer.status == 201
    revoke(site, made)


def test_a_hand_over_precedes_what_is_here(site: Deployment) -> None:
    """ "after a hand-over the delegation does" """
    name = site.mint(text(b"handed over"), authority=OTHER_SERIES)
    old = f"pdi://{OTHER_SERIES}/1997/09/01/1"
    site.bind(old, "https://here.example/old")
    for _ in range(3):
        assert site.get(f"/{old}").status == 302
    made = delegate(site, f"pdi://{OTHER_SERIES}/1997/", role="successor")
    for target in (old, f"pdi://{OTHER_SERIES}/1997/", f"pdi://{OTHER_SERIES}/1997/*/*/*"):
        answer = site.get(f"/{target}")
        assert (answer.status, answer.headers["location"]) == (307, ARCHIVES + target)
    assert site.get(f"/{name}").status == 200
    revoke(site, made)
    assert site.get(f"/{old}").status == 302


# loops
# -----


@pytest.mark.parametrize(
    "field",
    [
        "Via: 1.1 a, 1.1 b, 1.1 c, 1.1 d, 1.1 e, 1.1 f, 1.1 g, 1.1 h, 1.1 i",
        "Perdure-Via: a, b, c, d, e, f, g, h, i",
    ],
)
def test_a_request_that_has_passed_too_many_resolvers_ends(site: Deployment, field: str) -> None:
    problem(site.get(f"/{NAME}", field), 508, "resolver-loop")


def test_a_request_that_comes_back_ends(tmp_path: Path) -> None:
    """ "Loops end (`Via`, `Max-Forwards`, an own header)" """
    with deployed(tmp_path / "registry", base_url="https://pid.example") as site:
        delegate(site, OLD)
        for field in ("Via: 1.1 varnish, 1.1 pid.example", "Perdure-Via: pid.example"):
            found = problem(site.get(f"/{NAME}", field), 508, "resolver-loop")
            assert found["identifier"] == NAME
        assert site.get(f"/{NAME}", "Via: 1.1 varnish (Varnish/7.1)").status == 307


# both ways
# ---------


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothWays]:
    root = tmp_path_factory.mktemp("both") / "registry"
    initialise(root, series=(SERIES,))
    ways = BothWays(root)
    ways.desk.bind("pdi://oma.eop.gov.us/1997/09/01/1", "https://a.example/x", register=True)
    delegate(ways.desk, OLD, ARCHIVES, "https://second.example/pid/")
    delegate(ways.desk, "hdl:4263537/", "https://hdl.handle.net")
    delegate(ways.desk, "ark:12148/b5*", how="refer")
    delegate(ways.desk, "urn:isbn:", "https://isbn.example", kind="thttp")
    delegate(ways.desk, "pdi://oma.eop.gov.us/1997/", role="successor")
    ways.desk.bind("hdl:4263537/here", "https://a.example/y", register=True)
    yield ways
    ways.close()


@pytest.mark.parametrize(
    "target",
    [f"/{NAME}", f"/{OLD}01/20/1", "/4263537/4000", "/hdl:4263537/4000", "/HDL:4263537/4000",
     "/ark:12148/b5x", "/ark:/12148/b5x", "/urn:isbn:0451450523", "/hdl:4263537/here",
     "/pdi://oma.eop.gov.us/1997/09/01/1", "/pdi://oma.eop.gov.us/1998/09/01/1",
     "/api/handles/4263537/4000", f"/{NAME}%23char=1,2"],
)  # fmt: skip
@pytest.mark.parametrize(
    "fields", [(), ("Via: 1.1 varnish",), ("Prefer: resolve=refer",), ("Accept: text/html",)]
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_both_ways_lead_to_the_same_place(
    both: BothWays, target: str, fields: tuple[str, ...], method: str
) -> None:
    """ "an answer from here is the same, byte for byte, as the plain way's" """
    plain = both.ask_plainly(target, *fields, method=method)
    for _ in range(2):
        fast = both.ask_fast(target, *fields, method=method)
        assert fast in (None, plain)


@pytest.mark.parametrize("target", [f"/{NAME}", "/4263537/4000", "/hdl:4263537/4000"])
def test_a_delegated_name_is_answered_fast(both: BothWays, target: str) -> None:
    assert both.ask_fast(target) is not None
    assert both.ask_fast(target, "Via: 1.1 varnish") is None


def test_a_record_that_is_added_is_answered_at_once(both: BothWays) -> None:
    name = "hdl:4263537/soon"
    first = both.ask_fast(f"/{name}")
    assert first is not None
    assert first.startswith(b"HTTP/1.1 307")
    both.desk.bind(name, "https://a.example/soon", register=True)
    second = both.ask_fast(f"/{name}")
    assert second is not None
    assert second.startswith(b"HTTP/1.1 302")


# THTTP
# -----


@pytest.mark.parametrize(
    ("method", "target", "there"),
    [
        ("GET", "/urn:isbn:0451450523", "uri-res/N2R?urn:isbn:0451450523"),
        ("HEAD", "/urn:isbn:0451450523", "uri-res/N2C?urn:isbn:0451450523"),
        ("GET", "/urn:isbn:0451450523?info", "uri-res/N2C?urn:isbn:0451450523"),
        ("GET", "/urn:isbn:0451450523?locations", "uri-res/N2Ls?urn:isbn:0451450523"),
        ("GET", "/uri-res/N2L?urn:isbn:0451450523", "uri-res/N2L?urn:isbn:0451450523"),
        ("GET", "/urn:isbn:0451450523?history", None),
    ],
)
def test_a_thttp_resolver_is_asked_by_its_services(
    both: BothWays, method: str, target: str, there: str | None
) -> None:
    """Section 3.8.4: "GET <pdi> … /uri-res/N2R?urn:<pdi>, HEAD <pdi> … /uri-res/N2C?urn:<pdi>" """
    head = both.ask_plainly(target, method=method).split(b"\r\n")
    if there is None:
        assert head[0] == b"HTTP/1.1 300 Multiple Choices"
    else:
        assert f"location: https://isbn.example/{there}".encode() in head


def test_time_passes_for_the_fast_path_too(tmp_path: Path) -> None:
    initialise(tmp_path / "registry", series=(SERIES,))
    ways = BothWays(tmp_path / "registry")
    try:
        delegate(ways.desk, OLD, effective="2026-12-01")
        assert isinstance(ways.desk.clock, Clock)
        assert ways.ask_fast(f"/{NAME}") is None
        ways.desk.clock.set("2026-12-01T00:00:00")
        ways.fast.drop_outdated()
        assert ways.ask_fast(f"/{NAME}") is not None
    finally:
        ways.close()
