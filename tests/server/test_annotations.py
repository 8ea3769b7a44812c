"""Assertions over HTTP: `?assertions`, and the Web Annotation Protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rdflib
from tests.server.browser import Browser, run_browser
from tests.server.conftest import Answer
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, deployed, resource, text

from perdure.ids import parse
from perdure.model.assertions import CONTEXT, write_assertion
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.signing.statement import Statement
from perdure.upkeep.asserting import retract_assertion, store_assertion

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "annotation-protocol.json").read_text("utf-8")
)["rows"]
CONTAINER = f"/annotations/{SERIES}/"
LD_JSON = "Content-Type: application/ld+json"
NANOPUB = "http://www.nanopub.org/nschema#"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("site") / "registry", page_size=100) as running:
        yield running


@pytest.fixture(scope="module")
def token(site: Deployment) -> str:
    return site.token("ann", operations=("assert",), authorities=(SERIES,))


@pytest.fixture
def name(site: Deployment) -> str:
    return site.mint(text(b"to whom it may concern"))


def annotate(target: str, **more: object) -> dict[str, object]:
    return {"@context": CONTEXT, "type": "Annotation", "target": target} | more


def make(site: Deployment, token: str, document: object, series: str = SERIES) -> Answer:
    return site.post(f"/annotations/{series}/", document, LD_JSON, token=token)


def path_of(answer: Answer, site: Deployment) -> str:
    return answer.headers["location"].removeprefix(site.base)


def ask(site: Deployment, name: str, question: str = "", *fields: str) -> dict[str, Any]:
    answer = site.get(f"/{name}?assertions{question}", *fields)
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith("application/ld+json; profile=")
    page: dict[str, Any] = json.loads(answer.body)
    return page


# the question
# ------------


def test_the_assertions_about_a_part(site: Deployment, name: str, token: str) -> None:
    assert ask(site, name)["items"] == []
    made = json.loads(make(site, token, annotate(f"{name}#char=3,7", bodyValue="Whom?")).body)
    for asked, scope in (
        (name, "part"),
        (resource(name), "part"),
        (f"{name}%23char=3,7", "same"),
        (f"{name}%23char=5,9", "overlapping"),
        (f"{name}%23char=4,5", "whole"),
    ):
        page = ask(site, asked)
        (item,) = page["items"]
        assert (item["registry"]["scope"], item["registry"]["by"]) == (scope, "ann")
        assert {key: value for key, value in item.items() if key != "registry"} == made
    assert ask(site, f"{name}%23char=7,9")["items"] == []
    assert ask(site, f"{name}", "&part=char=5,9")["items"][0]["registry"]["scope"] == "overlapping"
    (listed,) = json.loads(site.get(f"/{name}?assertions&form=array").body)
    assert listed == made


def test_a_set_and_a_citation_have_assertions(site: Deployment) -> None:
    token = site.token("everywhere", operations=("assert", "mint"))
    name = site.mint(text(b"to whom it may concern"), authority=OTHER_SERIES)
    day = name.rpartition("/")[0] + "/"
    citation = f"{name}@0={name}#char=0,7"
    for about, asked in ((day, day), (citation, citation.replace("#", "%23")), (day, name)):
        made = json.loads(make(site, token, annotate(about), OTHER_SERIES).body)
        found = ask(site, asked, "&limit=1000")["items"]
        assert made["id"] in [one["id"] for one in found]


def test_a_name_of_others_has_assertions_here(site: Deployment, token: str) -> None:
    made = json.loads(make(site, token, annotate("hdl:1839/of-others")).body)
    assert [one["id"] for one in ask(site, "hdl:1839/of-others")["items"]] == [made["id"]]
    assert ask(site, "hdl:1839/nothing-said")["items"] == []
    assert site.get(f"/pdi://{SERIES}/1999/01/01/1?assertions").status == 404


def test_pages_and_filters(site: Deployment, name: str, token: str) -> None:
    made = [
        json.loads(make(site, token, annotate(name, motivation=word)).body)["id"]
        for word in ("tagging", "cito:disputes", "tagging")
    ]
    store_assertion(site.registry, write_assertion((name,)), by="bob")
    first = ask(site, name, "&limit=2")
    assert [one["id"] for one in first["items"]] == made[:2]
    following = first["next"].removeprefix(site.base)
    link = site.get(f"/{name}?assertions&limit=2").headers["link"]
    assert link == f'<{first["next"]}>; rel="next"'
    second = json.loads(site.get(following).body)
    assert second["id"] == first["next"]
    assert second["items"][0]["id"] == made[2]
    assert "next" not in second
    assert len(ask(site, name, "&by=bob")["items"]) == 1
    assert len(ask(site, name, "&motivation=cito:disputes")["items"]) == 1
    assert len(ask(site, name, "&scope=part&scope=set")["items"]) == 0
    pdi = parse(made[0].replace(f"{site.base}/annotations/", "pdi://"))
    retract_assertion(site.registry, pdi, by="ann")
    assert len(ask(site, name, "&standing")["items"]) == 3
    assert len(ask(site, name)["items"]) == 4


@pytest.mark.parametrize("question", ["form=xml", "scope=all", "motivation=shouting", "limit=0"])
def test_questions_that_mean_nothing(site: Deployment, name: str, question: str) -> None:
    answer = site.get(f"/{name}?assertions&{question}")
    assert (answer.status, json.loads(answer.body)["code"]) == (400, "invalid-request")


def test_the_link_set_names_what_is_asserted(site: Deployment, name: str, token: str) -> None:
    linkset = f"/{name}?linkset"
    assert b"?assertions" not in site.get(linkset, "Accept: application/linkset").body
    make(site, token, annotate(name))
    row = b'rel="http://www.w3.org/ns/oa#annotationService"'
    assert row in site.get(linkset, "Accept: application/linkset").body


def test_nothing_closed_is_listed(site: Deployment, name: str, token: str) -> None:
    reader = site.token("reader", operations=("read",))
    make(site, token, annotate(name, bodyValue="secret words"))
    path = path_of(make(site, token, annotate([name, "hdl:1839/closed-with"])), site)  # type: ignore[arg-type]
    site.do(Restrict(rule=ReadingRule(about=name, access=Access.CLOSED, by_token=True)))
    assert site.get(f"/{name}?assertions").status == 401
    assert ask(site, "hdl:1839/closed-with")["items"] == []
    assert site.get(path).status == 404
    assert b"secret words" not in site.get(f"{CONTAINER}?page=0").body
    bearer = f"Authorization: Bearer {reader}"
    assert site.get(path, bearer).status == 200
    answer = site.get("/hdl:1839/closed-with?assertions", bearer)
    assert answer.headers["cache-control"] == "private, no-store"
    assert len(json.loads(answer.body)["items"]) == 1
    site.do(Restrict(rule=ReadingRule(about=name, access=Access.OPEN, lifted=True)))


def test_a_page_loads_the_assertions_when_it_is_shown(
    site: Deployment, name: str, token: str
) -> None:
    words = "<b>Whom?</b><script>alert(1)</script>"
    make(site, token, annotate(f"{name}#char=3,7", bodyValue=words, motivation="questioning"))

    script = """new Promise(resolve => { const look = () => {
        const frame = document.querySelector("#assertions ~ iframe");
        frame.scrollIntoView();
        const shown = frame.contentDocument?.querySelector("main li");
        shown ? resolve([shown.innerText, shown.querySelectorAll("b").length])
              : setTimeout(look, 20); }; look(); })"""

    async def read_frame(browser: Browser) -> list[Any]:
        await browser.open(f"{site.base}/{name}?landing")
        found: list[Any] = await browser.evaluate(script)
        return found

    shown, markup = run_browser(read_frame)
    assert "questioning (part) by ann" in " ".join(shown.split())
    assert words in shown
    assert markup == 0


def test_the_assertions_as_a_page_for_people(site: Deployment, name: str, token: str) -> None:
    empty = site.get(f"/{name}?assertions", "Accept: text/html")
    assert b"There are no assertions" in empty.body
    for _ in range(2):
        make(site, token, annotate(name, bodyValue="a <b> word"))
    answer = site.get(f"/{name}?assertions&limit=1", "Accept: text/html")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert b"a &lt;b&gt; word" in answer.body
    assert b'rel="next">More</a>' in answer.body


# the protocol
# ------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['send']} {row['rule']}")
def test_the_protocol_as_the_test_page_asks(
    site: Deployment, token: str, row: dict[str, Any]
) -> None:
    made = make(site, token, annotate("http://www.example.com/index.html"))
    places = {"container": CONTAINER, "annotation": path_of(made, site)}
    answer = site.ask(*row["send"].format(**places).split(" "))
    assert answer.status == row.get("status", 200)
    if "field" in row:
        assert re.search(row["matches"], answer.headers[row["field"]])
    if "member" in row:
        assert re.search(row["matches"], json.dumps(json.loads(answer.body)[row["member"]]))


def test_the_content_location_of_a_container_is_its_id(site: Deployment) -> None:
    prefers = 'Prefer: return=representation;include="http://www.w3.org/ns/ldp#Prefer'
    for field in ("", f'{prefers}MinimalContainer"', f'{prefers}ContainedIRIs"'):
        answer = site.get(CONTAINER, *filter(None, (field,)))
        assert json.loads(answer.body)["id"] == answer.headers["content-location"]


def test_the_life_of_an_annotation(site: Deployment, name: str, token: str) -> None:
    """The test page of the protocol: creation, update, deletion."""
    canonical = "urn:uuid:6f5ba3a4-5e3a-4b4a-9f0a-2a4a2f5c0b1d"
    given = annotate("http://www.example.com/index.html", canonical=canonical, id="urn:x:mine")
    made = make(site, token, given)
    assert made.status == 201
    body = json.loads(made.body)
    assert body["id"] == made.headers["location"]
    assert body["id"].startswith(site.base + CONTAINER)
    assert (body["canonical"], body["via"]) == (canonical, ["urn:x:mine"])
    path, tag = path_of(made, site), made.headers["etag"]
    assert site.get(path).headers["etag"] == tag
    assert site.get(path, f"If-None-Match: {tag}").status == 304

    changed = body | {"target": name}
    stale = site.put(path, json.dumps(changed).encode(), LD_JSON, 'If-Match: "x"', token=token)
    assert stale.status == 412
    put = site.put(path, json.dumps(changed).encode(), LD_JSON, f"If-Match: {tag}", token=token)
    assert (put.status, json.loads(put.body)["target"]) == (200, name)
    assert json.loads(site.get(path).body) == json.loads(put.body)
    assert json.loads(put.body)["id"] == body["id"]
    assert put.headers["etag"] == site.get(path).headers["etag"] != tag
    pdi = path.replace("/annotations/", "/pdi://")
    assert site.get(f"{pdi}.jsonld.1").status == site.get(f"{pdi}.jsonld.2").status == 200
    assert json.loads(site.get(f"{pdi}.jsonld.1").body) == given

    assert site.ask("DELETE", path, 'If-Match: "x"', f"Authorization: Bearer {token}").status == 412
    assert site.ask("DELETE", path, f"Authorization: Bearer {token}").status == 204
    gone = site.get(path)
    assert (gone.status, json.loads(gone.body)["code"]) == (410, "gone")
    assert site.ask("DELETE", path, f"Authorization: Bearer {token}").status == 410
    assert site.get(f"{pdi}.jsonld.2").status == 200
    assert ask(site, name)["items"][0]["registry"]["retracted_by"]
    assert site.ask("DELETE", pdi).status == 405  # ruling: http-405


def test_pages_of_a_container(site: Deployment, token: str) -> None:
    """ "Annotation Pages MUST have a link to the previous page … (if not the first page)"."""
    while True:
        shown = json.loads(site.get(CONTAINER).body)
        if shown["total"] > 2 * 100:
            break
        line = json.dumps(annotate("hdl:1839/many")).encode() + b"\n"
        answer = site.ask(
            "POST", CONTAINER, "Content-Type: application/jsonl", f"Authorization: Bearer {token}",
            body=line * 100,
        )  # fmt: skip
        assert {json.loads(one)["status"] for one in answer.body.splitlines()} == {201}
    address, seen, before = f"{site.base}{CONTAINER}?iris=1&page=0", [], None
    while address:
        page = json.loads(site.get(address.removeprefix(site.base)).body)
        assert (page["id"], page.get("prev")) == (address, before)
        assert page["partOf"]["id"] == f"{site.base}{CONTAINER}?iris=1"
        seen += page["items"]
        before, address = address, page.get("next")
    assert len(seen) == len(set(seen)) <= shown["total"]
    assert before == f"{site.base}{CONTAINER}?iris=1&page={(shown['total'] - 1) // 100}"
    assert shown["last"] == before.replace("iris=1", "iris=0")
    minimal = site.get(
        CONTAINER,
        'Prefer: return=representation;include="http://www.w3.org/ns/ldp#PreferMinimalContainer"',
    )
    assert json.loads(minimal.body)["first"] == f"{site.base}{CONTAINER}?iris=0&page=0"
    assert site.get(f"{CONTAINER}?page=x").status == 400
    assert json.loads(site.get(f"{CONTAINER}?page=999").body)["items"] == []


def test_many_lines_at_once(site: Deployment, name: str, token: str) -> None:
    lines = [annotate(name), {"type": "x"}, annotate(f"{name}#char=0,999"), annotate(name)]
    body = b"\n".join(json.dumps(line).encode() for line in lines)
    answer = site.ask(
        "POST", CONTAINER, "Content-Type: application/jsonl", f"Authorization: Bearer {token}",
        body=body,
    )  # fmt: skip
    assert answer.status == 200
    outcomes = [json.loads(line) for line in answer.body.splitlines()]
    assert [one["status"] for one in outcomes] == [201, 400, 416, 201]
    assert len(ask(site, name)["items"]) == 2
    too_many = b"{}\n" * 1001
    answer = site.ask(
        "POST", CONTAINER, "Content-Type: application/jsonl", f"Authorization: Bearer {token}",
        body=too_many,
    )  # fmt: skip
    assert answer.status == 413


# rights
# ------


def test_who_may_assert_what(site: Deployment, name: str, token: str) -> None:
    other = site.mint(text(b"another"), authority=OTHER_SERIES)
    assert make(site, "perdure_x", annotate(name)).status == 401
    assert site.post(CONTAINER, annotate(name), LD_JSON).status == 401
    assert make(site, token, annotate(other)).status == 403
    assert make(site, token, annotate(f"pdi://{OTHER_SERIES}/")).status == 403
    assert make(site, token, annotate(name), OTHER_SERIES).status == 403
    assert make(site, token, annotate("hdl:1839/x")).status == 201
    assert make(site, token, annotate(f"pdi://{SERIES}/1999/")).status == 201
    minting = site.token("minter", operations=("mint", "commit"), authorities=(SERIES,))
    assert make(site, minting, annotate(name)).status == 403
    past = {"authorities": (SERIES,), "last_day": "1999-01-01"}
    dated = site.token("dated", operations=("assert",), **past)
    assert make(site, dated, annotate("hdl:1839/x")).status == 403


def test_a_plain_upload_of_an_assertion_needs_the_right(
    site: Deployment, name: str, token: str
) -> None:
    minter = site.token("plain minter", operations=("mint", "commit"), authorities=(SERIES,))
    body = json.dumps(annotate(name)).encode()
    series = f"/pdi://{SERIES}/"
    for _ in range(3):  # the fast way learns from the first ones
        assert site.put(series, body, LD_JSON, token=minter).status == 403
        assert site.put(f"/{resource(name)}", body, LD_JSON, token=minter).status == 403
        assert site.put(series, b'{"other": 1}', LD_JSON, token=minter).status == 201
        assert site.put(series, b"plain", "Content-Type: text/plain", token=minter).status == 201
    both = site.token("both", operations=("mint", "assert"), authorities=(SERIES,))
    answer = site.put(series, body, LD_JSON, token=both)
    assert answer.status == 201
    assert len(ask(site, name)["items"]) == 1


def test_a_signed_statement_needs_the_right_too(site: Deployment, name: str, token: str) -> None:
    """ "by whoever holds the right `assert`": `signs` is one of the motivations."""
    minter = site.token("statement minter", operations=("mint", "commit"), authorities=(SERIES,))
    both = site.token("statement both", operations=("mint", "assert"), authorities=(SERIES,))
    statement = Statement(
        identifier=parse(name),
        sha512="0" * 128,
        length=3,
        media_type="text/plain",
        signer=f"SHA256:{'A' * 43}",
        signed="2026-11-23T22:30:00Z",
    )
    body = f"{statement}\n-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"
    series = f"/pdi://{SERIES}/"
    plain = "Content-Type: text/plain"
    for kind in (plain, f"{plain}; charset=utf-8", "Content-Type: text/html"):
        for _ in range(3):  # the fast way learns from the first ones
            assert site.put(series, b"plain", kind, token=minter).status == 201
            assert site.put(series, body.encode(), kind, token=minter).status == 403
        assert site.put(f"/{resource(name)}", body.encode(), kind, token=minter).status == 403
    assert site.put(series, f"{statement}".encode(), plain, token=minter).status == 201
    assert site.put(series, body.encode(), plain, token=both).status == 201


def test_only_its_actor_changes_an_annotation(site: Deployment, name: str, token: str) -> None:
    path = path_of(make(site, token, annotate(name)), site)
    other = site.token("eve", operations=("assert",), authorities=(SERIES,))
    body = json.dumps(annotate(name)).encode()
    assert site.put(path, body, LD_JSON, token=other).status == 403
    assert site.ask("DELETE", path, f"Authorization: Bearer {other}").status == 403
    assert site.put(path, body, LD_JSON).status == 401
    assert site.get(path).status == 200


# mistakes
# --------


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ([], 400),
        ({"type": "Annotation"}, 400),
        (annotate("not an iri"), 400),
        (annotate("hdl:1839/x", **{"@context": [CONTEXT, "http://evil.example/"]}), 400),
        (annotate(f"pdi://{SERIES}/1999/01/01/1"), 404),
        (annotate("pdi://malformed"), 400),
        (annotate("hdl:1839/x", bodyValue="x" * 300_000), 413),
    ],
)
def test_what_is_refused(site: Deployment, token: str, document: object, status: int) -> None:
    before = json.loads(site.get(CONTAINER).body)["total"]
    assert make(site, token, document).status == status
    assert json.loads(site.get(CONTAINER).body)["total"] == before


def test_bodies_of_other_kinds_are_refused(site: Deployment, token: str) -> None:
    for kind in ("text/turtle", "", "text/html"):
        fields = (f"Content-Type: {kind}",) if kind else ()
        answer = site.post(CONTAINER, annotate("hdl:1839/x"), *fields, token=token)
        assert answer.status == 415


@pytest.mark.parametrize(
    "path",
    [
        "/annotations/",
        "/annotations/nobody.us/",
        f"/annotations/{SERIES}/1999/01/01/1",
        f"/annotations/{SERIES}/1999/*/01/1",
        f"/annotations/{SERIES}/1999/",
    ],
)
def test_there_is_nothing_else(site: Deployment, path: str) -> None:
    assert site.get(path).status == 404


def test_documents_that_say_nothing_are_no_annotations(site: Deployment, name: str) -> None:
    assert site.get(f"/annotations/{name.removeprefix('pdi://')}").status == 404


def test_methods_that_do_not_fit(site: Deployment, token: str, name: str) -> None:
    path = path_of(make(site, token, annotate(name)), site)
    for method, target, allowed in (
        ("PUT", CONTAINER, "GET, HEAD, OPTIONS, POST"),
        ("DELETE", CONTAINER, "GET, HEAD, OPTIONS, POST"),
        ("PATCH", CONTAINER, "GET, HEAD, OPTIONS, POST"),
        ("POST", path, "GET, HEAD, OPTIONS, PUT, DELETE"),
    ):
        answer = site.ask(method, target)
        assert (answer.status, answer.headers["allow"]) == (405, allowed)
        assert answer.headers["access-control-allow-origin"] == "*"


def test_a_withdrawn_assertion_is_gone(site: Deployment, name: str, token: str) -> None:
    path = path_of(make(site, token, annotate(name)), site)
    pdi = path.replace("/annotations/", "pdi://")
    site.do(Withdraw(identifier=parse(pdi), reason="a court said so"))
    assert site.get(path).status == 410
    assert ask(site, name)["items"] == []


def test_a_repeated_request_makes_one_annotation(site: Deployment, name: str, token: str) -> None:
    fields = (LD_JSON, "Idempotency-Key: once")
    first = site.post(CONTAINER, annotate(name), *fields, token=token)
    again = site.post(CONTAINER, annotate(name), *fields, token=token)
    assert first.headers["location"] == again.headers["location"]


def test_nanopublications_in_and_out(site: Deployment, name: str, token: str) -> None:
    pytest.importorskip("pyoxigraph")
    made = make(site, token, annotate(name, bodyValue="x", motivation="cito:disputes"))
    answer = site.get(path_of(made, site), "Accept: application/trig")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/trig")
    assert answer.headers["vary"] == "accept, prefer"
    found = rdflib.Dataset(default_union=True)
    found.parse(data=answer.body, format="trig")
    pdi = path_of(made, site).removeprefix("/annotations/")
    (said,) = found.objects(None, rdflib.URIRef(f"{NANOPUB}hasAssertion"))
    graph = found.graph(rdflib.URIRef(str(said)))
    about = rdflib.URIRef("http://www.w3.org/ns/oa#hasTarget")
    assert (rdflib.URIRef(f"pdi://{pdi}.jsonld.1"), about, rdflib.URIRef(name)) in graph
    assert site.get(path_of(made, site), "Accept: image/png").status == 406
    kind, bearer = "Content-Type: application/trig", f"Authorization: Bearer {token}"
    kept = site.ask("POST", CONTAINER, kind, bearer, body=answer.body)
    assert kept.status == 201, kept.body
    assert json.loads(kept.body)["body"]["value"] == answer.body.decode()
    again = site.get(path_of(kept, site), "Accept: application/trig")
    assert again.body == answer.body
    assert site.ask("POST", CONTAINER, kind, bearer, body=b"no trig").status == 400
