"""`?provenance`: the pieces of a composite over HTTP, as annotations and as a page."""

from __future__ import annotations

import json

import pytest
from tests.server.deployment import SERIES, Deployment, resource, text

from perdure.ids import parse
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.upkeep.asserting import conjoin_parts
from perdure.upkeep.composing import compose_document, mint_composite


@pytest.fixture
def source(site: Deployment) -> str:
    return site.mint(text(b"to whom it may concern"))


def compose(site: Deployment, page: str) -> str:
    composed = compose_document(site.registry, page.encode(), "text/html")
    return mint_composite(site.registry, composed, SERIES).identifier


@pytest.fixture
def composite(site: Deployment, source: str) -> str:
    return compose(site, f'<!doctype html><q cite="{source}#char=3,7"></q>')


def test_the_pieces_as_annotations(site: Deployment, source: str, composite: str) -> None:
    answer = site.get(f"/{composite}?provenance")
    assert answer.headers["content-type"].startswith("application/ld+json; profile=")
    page = json.loads(answer.body)
    assert page["id"] == f"{site.base}/{composite}?provenance"
    (item,) = page["items"]
    assert item["motivation"] == "http://purl.org/spar/cito/includesQuotationFrom"
    assert item["body"] == f"{source}#char=3,7"
    assert item["registry"]["verdict"] == "verbatim"
    assert site.get(f"/{composite}%23{item['registry']['place']}").body == b"whom"
    assert json.loads(site.get(f"/{resource(composite)}?provenance").body) == page
    contained = json.loads(site.get(f"/{source}?provenance").body)
    assert (contained["items"], contained["containedIn"]) == ([], [composite])


def test_the_pieces_as_a_page(site: Deployment, source: str, composite: str) -> None:
    answer = site.get(f"/{composite}?provenance", "Accept: text/html")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert f"{source}#char=3,7" in answer.body.decode()
    assert b": verbatim" in answer.body
    answer = site.get(f"/{source}?provenance", "Accept: text/html")
    assert b"not a composite" in answer.body
    assert composite in answer.body.decode()


def test_a_withdrawn_source_shows_its_tombstone(
    site: Deployment, source: str, composite: str
) -> None:
    site.do(Withdraw(identifier=parse(resource(source)), reason="a <court> said so"))
    (item,) = json.loads(site.get(f"/{composite}?provenance").body)["items"]
    assert (item["registry"]["verdict"], item["registry"]["sha512"]) == ("gone", None)
    assert item["registry"]["tombstone"]["reason"] == "a <court> said so"
    page = site.get(f"/{composite}?provenance", "Accept: text/html").body
    assert b"a &lt;court&gt; said so" in page
    assert site.get(f"/{source}?provenance").status == 410
    site.do(Withdraw(identifier=parse(resource(composite)), reason="another"))
    assert site.get(f"/{composite}?provenance").status == 410


def test_the_landing_page_shows_the_pieces(site: Deployment, source: str) -> None:
    """Issue 17, D: "where a piece was withdrawn later, `?provenance` and the page show its
    tombstone"."""
    other = site.mint(text(b"a second letter"))
    page = f'<!doctype html><q cite="{source}#char=3,7"></q><q cite="{other}#char=2,8"></q>'
    composite = compose(site, page)
    shown = site.get(f"/{resource(composite)}?landing")
    before = shown.body.decode().partition('id="pieces"')[2].partition("</section>")[0]
    assert before.count("<strong>verbatim</strong>") == 2
    assert f"{source}#char=3,7" in before
    assert f"/{resource(composite)}?provenance" in before
    site.do(Withdraw(identifier=parse(resource(other)), reason="a <court> said so"))
    tag = f"If-None-Match: {shown.headers['etag']}"
    after = site.get(f"/{resource(composite)}?landing", tag)
    assert after.status == 200
    assert b"a &lt;court&gt; said so" in after.body
    assert b"<strong>gone</strong>" in after.body
    site.do(Restrict(rule=ReadingRule(about=resource(source), access=Access.CLOSED, by_token=True)))
    closed = site.get(f"/{composite}?landing")
    assert b"<strong>closed</strong>" in closed.body
    assert closed.headers["cache-control"] == "private, no-store"
    assert b'id="pieces"' not in site.get(f"/{composite}%23char=0,5?landing").body
    site.do(Withdraw(identifier=parse(resource(composite)), reason="another"))
    gone = site.get(f"/{composite}?landing")
    assert (gone.status, b'id="pieces"' in gone.body) == (410, False)


def test_the_landing_page_shows_the_first_pieces(site: Deployment, source: str) -> None:
    quotes = "".join(f'<q cite="{source}#char={at},{at + 1}"></q>' for at in range(21))
    page = site.get(f"/{compose(site, '<!doctype html>' + quotes)}?landing").body.decode()
    assert f"{source}#char=19,20" in page
    assert f"{source}#char=20,21" not in page


def test_nothing_of_a_closed_source_is_told(site: Deployment, source: str, composite: str) -> None:
    rule = ReadingRule(about=resource(source), access=Access.CLOSED, by_token=True)
    site.do(Restrict(rule=rule))
    answer = site.get(f"/{composite}?provenance")
    (item,) = json.loads(answer.body)["items"]
    assert (item["registry"]["verdict"], item["registry"]["date"]) == ("closed", None)
    assert answer.headers["cache-control"] == "private, no-store"
    assert site.get(f"/{source}?provenance").status == 401
    reader = site.token("reader", operations=("read",))
    answer = site.get(f"/{composite}?provenance", f"Authorization: Bearer {reader}")
    assert json.loads(answer.body)["items"][0]["registry"]["verdict"] == "verbatim"


def test_a_closed_composite_is_not_named(site: Deployment, source: str, composite: str) -> None:
    rule = ReadingRule(about=resource(composite), access=Access.CLOSED, by_token=True)
    site.do(Restrict(rule=rule))
    assert json.loads(site.get(f"/{source}?provenance").body)["containedIn"] == []
    assert site.get(f"/{composite}?provenance").status == 401


def test_unknown_names(site: Deployment) -> None:
    assert site.get(f"/pdi://{SERIES}/1999/01/01/1?provenance").status == 404


def test_the_parts_of_a_conjunction(site: Deployment, source: str) -> None:
    parts = [parse(f"{source}#char=3,7"), parse(f"{source}#char=0,2")]
    name = conjoin_parts(site.registry, parts).identifier
    items = json.loads(site.get(f"/{name}?provenance").body)["items"]
    assert [one["body"] for one in items] == list(map(str, parts))
    assert {one["motivation"] for one in items} == {"http://www.w3.org/ns/prov#hadMember"}
    page = site.get(f"/{name}?provenance", "Accept: text/html").body.decode()
    assert "stands for the following parts together" in page
    assert f"{source}#char=0,2" in page
