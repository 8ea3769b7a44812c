"""Pages of the web archive: the calendar of an address, and the bar above a replayed page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lxml.html
import pytest
from tests.archives.warcs import Warc
from tests.server.browser import Browser, run_browser
from tests.server.deployment import Deployment, deployed, find_free_port

PAGE = "Accept: text/html"
URL = "http://www.dr.dk/nyheder?a=1"
OTHER = "http://www.dr.dk/other"
TIMES = ("2016-01-22T11:20:29Z", "2016-01-22T12:00:00Z", "2016-03-01T00:00:00Z",
         "2019-12-31T23:59:59Z")  # fmt: skip
ATTACK = b"""<!doctype html><html><head><title>News &amp; <b>more</title>
<style>body{position:fixed;inset:-99rem;z-index:9999;background:red}</style></head>
<body><script>parent.document.body.innerHTML = ""; top.location = "http://evil.example/"</script>
<meta http-equiv=refresh content="0;url=http://evil.example/">
<a id=out target=_top href="http://evil.example/">out</a> captured text</body></html>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("captures")
    warc = Warc(place / "a.warc.gz")
    for at in TIMES:
        warc.response(URL, at, ATTACK)
    warc.response(OTHER, TIMES[0], b"<!doctype html>other")
    port = find_free_port()
    origin = f"http://localhost:{port}"
    with deployed(
        place / "registry", port=port, content_origin=origin, institution="The archive"
    ) as running:
        running.registry.archive.add_file(place / "a.warc.gz")
        yield running


def find_page(site: Deployment, target: str) -> lxml.html.HtmlElement:
    answer = site.get(target, PAGE)
    assert answer.status == 200, answer.body
    return lxml.html.document_fromstring(answer.body.decode())


def list_days(page: lxml.html.HtmlElement) -> dict[str | None, str | None]:
    return {one.get("aria-label"): one.get("href") for one in page.cssselect(".month td a")}


def test_an_address_has_a_calendar_of_each_year(site: Deployment) -> None:
    page = find_page(site, f"/timemap/html/{URL}")
    years = {
        row.cssselect("a")[0].get("href"): row.cssselect(".number")[0].text
        for row in page.cssselect(".bars tbody tr")
    }
    assert years == {f"/replay/2016*/{URL}": "3", f"/replay/2019*/{URL}": "1"}
    assert list_days(page) == {
        "31 December 2019: 1 capture": f"/replay/20191231235959bar_/{URL}",
    }


def test_a_day_with_several_captures_leads_to_its_rows(site: Deployment) -> None:
    page = find_page(site, f"/replay/2016*/{URL}")
    assert list_days(page) == {
        "22 January 2016: 2 captures": "#day-20160122",
        "1 March 2016: 1 capture": f"/replay/20160301000000bar_/{URL}",
    }
    assert len(page.cssselect("#day-20160122")) == 1
    rows = page.cssselect(".captures tbody tr")
    assert [row.cssselect("a")[0].text for row in rows] == list(TIMES[:3])


def test_a_calendar_says_that_pages_are_sent_as_files(site: Deployment, tmp_path: Path) -> None:
    """Without a second host, no archived page is shown (docs/decisions/replay-origin.md)."""
    words = b"This server sends archived pages as files."
    assert words not in site.get(f"/timemap/html/{URL}", PAGE).body
    warc = Warc(tmp_path / "a.warc.gz")
    warc.response(URL, TIMES[0], ATTACK)
    with deployed(tmp_path / "registry") as other:
        other.registry.archive.add_file(tmp_path / "a.warc.gz")
        assert words in other.get(f"/timemap/html/{URL}", PAGE).body


def test_a_year_without_captures_says_so(site: Deployment) -> None:
    page = find_page(site, f"/replay/2017*/{URL}")
    assert "No captures were made in this year." in page.xpath("string()")
    assert page.cssselect(".bars a")


def test_an_address_is_looked_up_in_a_form(site: Deployment) -> None:
    (form,) = find_page(site, f"/timemap/html/{URL}").cssselect("main form")
    assert form.get("action") == "/"
    (field,) = form.cssselect("input")
    assert (field.get("name"), field.get("value")) == ("identifier", URL)
    answer = site.get("/?identifier=http%3A%2F%2Fwww.dr.dk%2Fother", PAGE)
    assert (answer.status, answer.headers["location"]) == (303, f"/timemap/html/{OTHER}")
    missing = site.get("/?identifier=http%3A%2F%2Fnowhere.example%2F", PAGE)
    assert missing.status == 404
    assert b"http://nowhere.example/" in missing.body


def test_a_bar_says_what_is_below_it(site: Deployment) -> None:
    page = find_page(site, f"/replay/20160122120000bar_/{URL}")
    assert page.cssselect("h1")[0].text == "News & <b>more"
    assert TIMES[1] in page.cssselect(".replayed p")[0].xpath("string()")
    assert "Kept by The archive" in page.cssselect(".replayed p")[0].xpath("string()")
    links = {one.get("rel"): one.get("href") for one in page.cssselect(".replayed a[rel]")}
    assert links == {
        "prev": f"/replay/20160122112029bar_/{URL}",
        "next": f"/replay/20160301000000bar_/{URL}",
    }
    (frame,) = page.cssselect("iframe")
    assert frame.get("sandbox") == ""  # no permission at all
    assert frame.get("src") == f"http://localhost:{site.port}/replay/20160122120000/{URL}"


def test_a_bar_is_of_a_capture(site: Deployment) -> None:
    """A time between captures leads to the nearest one, as without a bar."""
    answer = site.get(f"/replay/20190101000000bar_/{URL}", PAGE)
    assert answer.status == 302
    assert answer.headers["location"] == f"/replay/20191231235959bar_/{URL}"
    assert site.get("/replay/20180101000000bar_/http://nowhere.example/", PAGE).status == 404


def test_the_bytes_are_those_that_were_captured(site: Deployment) -> None:
    assert site.get(f"/replay/20160122112029id_/{URL}").body == ATTACK


def test_the_replay_origin_has_no_bar_and_no_calendar(site: Deployment) -> None:
    host = f"localhost:{site.port}".encode()
    for target in (f"/replay/2016*/{URL}", f"/replay/20160122112029bar_/{URL}"):
        request = b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (
            target.encode(),
            host,
        )
        (answer,) = site.send(request)
        assert answer.status in (400, 404)


@pytest.mark.parametrize("has_script", [True, False])
def test_a_replayed_page_cannot_touch_the_bar(site: Deployment, *, has_script: bool) -> None:
    async def work(browser: Browser) -> tuple[str, str, int, list[str]]:
        if not has_script:
            await browser.forbid_scripts()
        await browser.set_width(320)
        address = f"{site.base}/replay/20160122112029bar_/{URL}"
        await browser.open(address)
        heading = await browser.evaluate("document.querySelector('.replayed h1').textContent")
        there = await browser.evaluate("location.href")
        sideways = await browser.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        top = await browser.evaluate(
            "(() => { const box = document.querySelector('.replayed h1').getBoundingClientRect();"
            " return document.elementFromPoint(box.x + 5, box.y + 5).tagName })()"
        )
        assert top == "H1"  # nothing covers it
        assert there == address
        return heading, there, sideways, browser.requests

    heading, _, sideways, requests = run_browser(work)
    assert heading == "News & <b>more"
    assert sideways == 0
    assert f"http://localhost:{site.port}/replay/20160122112029/{URL}" in requests
    assert not [one for one in requests if "evil.example" in one]
