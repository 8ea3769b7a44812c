"""The page of a PWID, which browsers get: spellings, other archives, neighbours, the citation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from tests.archives.warcs import Warc
from tests.server.deployment import Deployment, deployed, resource, text

from perdure.ids import parse
from perdure.model.collection import (
    MEDIA_TYPE,
    Collection,
    CollectionMember,
    write_collection,
)
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule

OURS = "archive.example.org"
AT = "2016-01-22T11.20.29Z"
DR = "http://www.dr.dk/"
PAGE = b"<!doctype html><title>DR</title><p>news"
SETTINGS: dict[str, Any] = {"archive_id": OURS, "content_origin": "http://r.test"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("pages")
    warc = Warc(place / "a.warc.gz")
    for date in ("2015-01-02T03:04:05Z", "2016-01-22T11:20:29Z", "2017-05-06T07:08:09Z"):
        warc.response(DR, date, PAGE)
    with deployed(place / "registry", **SETTINGS) as running:
        running.registry.archive.add_file(warc.finish())
        yield running


def name(at: str = AT, archive: str = OURS) -> str:
    return f"pwid:{archive}:{at}:part:{DR}"


BROWSER = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


def read_page(site: Deployment, form: str) -> Any:
    answer = site.get(f"/{form}", BROWSER)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "accept" in answer.headers["vary"]
    page = html.document_fromstring(answer.body)
    assert [one.get("type") for one in page.findall(".//script")] == ["application/ld+json"]
    return page


def test_browsers_get_the_page_and_programs_the_bytes(site: Deployment) -> None:
    """ruling page-or-thing: "reserved names, citations and PWIDs give their page to browsers"."""
    form = f"urn:{name()}"
    assert read_page(site, form).findtext(".//h1") == name()
    for fields in ((), ("Accept: */*",), ("Accept: image/*",), (BROWSER, "Range: bytes=0-")):
        assert site.get(f"/{form}", *fields).body == PAGE
    assert site.get(f"/{form}?bytes", BROWSER).body == PAGE
    assert site.get(f"/uri-res/N2R?{form}", BROWSER).body == PAGE
    query = f"/pwid?time={AT}&coverage=part&item={DR}"
    assert site.get(query, BROWSER).headers["content-type"].startswith("text/html")
    there = name(archive="archive.org")
    assert site.get(f"/{there}").status == 302
    assert read_page(site, there).findtext(".//h1") == there


def test_the_page_has_other_spellings_of_the_same_name(site: Deployment) -> None:
    page = read_page(site, name())
    texts = [one.text for one in page.iterfind(".//dl//code")]
    assert len(texts) == len(set(texts)) == 3
    for one in texts:
        assert site.get(f"/{one}").body == PAGE


def test_the_page_leads_to_other_archives_and_fetches_nothing(site: Deployment) -> None:
    for form in (name(), name("2016-01-22T11.20.28Z")):
        page = read_page(site, form)
        time = form.split(":")[2].translate(dict.fromkeys(map(ord, "-T.Z")))
        links = {one.get("href"): one.get("rel") for one in page.iter("a")}
        assert links[f"https://web.archive.org/web/{time}/{DR}"] == "nofollow noreferrer"
        assert not page.findall(".//img") + page.findall(".//iframe")
    of_another = read_page(site, name(archive="archive.org"))
    shown = [one.text for one in of_another.iterfind(".//ul[@class='plain']//bdi")]
    assert "Arquivo.pt" in shown
    assert "Internet Archive" not in shown


def test_the_page_has_the_citation_and_the_captures_before_and_after(site: Deployment) -> None:
    page = read_page(site, name())
    assert f"archived by {OURS} at 2016-01-22 11:20:29 UTC" in page.findtext(".//blockquote")
    links = {one.get("rel"): one.get("href") for one in page.iter("a")}
    assert links["prev"] == f"/urn:pwid:{OURS}:2015-01-02T03:04:05Z:part:{DR}?info"
    assert links["next"] == f"/urn:pwid:{OURS}:2017-05-06T07:08:09Z:part:{DR}?info"
    assert site.get(links["next"], BROWSER).status == 200


def test_the_page_leads_to_the_public_collections_that_have_it(site: Deployment) -> None:
    """ruling: tombstone-silence"""
    names = []
    for title in ("Open", "Closed", "Withdrawn"):
        members = (CollectionMember(identifier=name()),)
        data = write_collection(Collection(title=title, members=members))
        names.append(resource(site.mint(text(data, "json", MEDIA_TYPE))))
    site.do(Restrict(rule=ReadingRule(about=names[1], access=Access.CLOSED)))
    site.do(Withdraw(identifier=parse(names[2]), reason="x", silent=True))
    page = read_page(site, name())
    links = [(one.text, one.get("href")) for one in page.iter("a") if "members" in one.get("href")]
    assert links == [("Open", f"/{names[0]}?members")]
    other = read_page(site, name("2015-01-02T03.04.05Z"))
    assert not [one for one in other.iter("a") if "members" in one.get("href")]


def test_no_page_where_the_operator_wants_none(tmp_path: Path) -> None:
    warc = Warc(tmp_path / "a.warc.gz")
    warc.response(DR, "2016-01-22T11:20:29Z", PAGE)
    with deployed(tmp_path / "registry", pages="never", **SETTINGS) as running:
        running.registry.archive.add_file(warc.finish())
        assert running.get(f"/{name()}", BROWSER).body == PAGE
