"""Browsing: a series by its years, calendars, and lists that say what they list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import lxml.html
import pytest
from tests.server.browser import Browser, run_browser
from tests.server.deployment import SERIES, Deployment, deployed, text, today

from perdure.ids import parse
from perdure.model.about import About, DescriptionText
from perdure.model.commands import Describe, Register, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location
from perdure.upkeep.changes.name_counts import FILE

PER_DAY = {"1997/09/01": 70, "1997/09/30": 7, "1997/11/02": 1, "1998/01/01": 2}
PAGE = ("Accept: text/html",)
JSON = ("Accept: application/json",)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("browsing") / "registry") as running:
        for day, number in PER_DAY.items():
            for serial in range(1, number + 1):
                name = f"pdi://{SERIES}/{day}/{serial}"
                place = Location(uri=f"https://a.example/{day}/{serial}")
                running.do(Register(identifier=parse(name), locations=(place,)))
        running.bind("hdl:1839/a", "https://b.example/")
        running.bind("ark:12345/x5", "https://b.example/")
        yield running


def find_page(site: Deployment, target: str) -> lxml.html.HtmlElement:
    answer = site.get(target, *PAGE)
    assert answer.status == 200, answer.body
    return lxml.html.document_fromstring(answer.body.decode())


def read_json(site: Deployment, target: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(site.get(target, *JSON).body)
    return found


def test_a_series_shows_its_years_with_their_numbers(site: Deployment) -> None:
    """ "a browser can provide a directory list of all the documents in a year, a month, or on a
    day" (section 2.3)."""
    page = find_page(site, f"/pdi://{SERIES}/")
    (table,) = page.cssselect("table")
    rows = [
        (row.cssselect("th a")[0].get("href"), row.cssselect(".number")[0].text)
        for row in table.cssselect("tbody tr")
    ]
    assert rows == [(f"/pdi://{SERIES}/1997/", "78"), (f"/pdi://{SERIES}/1998/", "2")]
    widths = [float(one.get("width")) for one in table.cssselect("rect")]
    assert widths[0] == 100
    assert 0 < widths[1] < 5  # 2 of 78 are 2.6 per cent
    assert table.cssselect("caption")
    assert {one.get("scope") for one in table.cssselect("th")} == {"col", "row"}


def test_a_year_is_a_calendar_whose_days_lead_to_lists(site: Deployment) -> None:
    page = find_page(site, f"/pdi://{SERIES}/1997/")
    months = page.cssselect("table.month")
    assert len(months) == 12
    days = {one.get("href"): one.get("aria-label") for one in page.cssselect(".month td a")}
    assert days == {
        f"/pdi://{SERIES}/1997/09/01/": "1 September 1997: 70 names",
        f"/pdi://{SERIES}/1997/09/30/": "30 September 1997: 7 names",
        f"/pdi://{SERIES}/1997/11/02/": "2 November 1997: 1 name",
    }
    first_week = months[8].cssselect("tbody tr")[0]
    assert [one.text_content() for one in first_week] == ["1", "2", "3", "4", "5", "6", "7"]
    for href in days:
        assert site.get(href, *PAGE).status == 200


def test_a_month_is_one_calendar_and_an_empty_one_says_so(site: Deployment) -> None:
    assert len(find_page(site, f"/pdi://{SERIES}/1997/09/").cssselect("table.month")) == 1
    empty = find_page(site, f"/pdi://{SERIES}/1997/10/")
    assert not empty.cssselect("table")
    assert "No names were given in this time." in empty.text_content()


def test_numbers_are_in_the_json_too(site: Deployment) -> None:
    found = read_json(site, f"/pdi://{SERIES}/1997/")
    assert found["counts"] == {f"pdi://{SERIES}/1997/09/": 77, f"pdi://{SERIES}/1997/11/": 1}
    assert found["uncounted"] == 0


def test_a_new_name_is_counted_at_once(site: Deployment) -> None:
    year = f"pdi://{SERIES}/{today()[:4]}/"
    before = read_json(site, f"/pdi://{SERIES}/")["counts"].get(year, 0)
    site.mint(text(b"a new one"))
    assert read_json(site, f"/pdi://{SERIES}/")["counts"][year] == before + 1


def test_calendars_do_not_depend_on_the_counts(site: Deployment) -> None:
    """Deleted, they are made again; unreadable, the calendar has days without numbers."""
    for file in site.root.glob(f"{FILE}*"):
        file.unlink()
    assert read_json(site, f"/pdi://{SERIES}/1998/")["counts"] == {f"pdi://{SERIES}/1998/01/": 2}
    for file in site.root.glob(f"{FILE}*"):
        file.unlink()
    (site.root / FILE).write_bytes(b"not a database" * 100)
    (day,) = find_page(site, f"/pdi://{SERIES}/1998/").cssselect(".month td a")
    assert day.get("aria-label") == "1 January 1998"
    (site.root / FILE).unlink()


def test_a_day_lists_fifty_names_and_then_the_rest(site: Deployment) -> None:
    page = find_page(site, f"/pdi://{SERIES}/1997/09/01/")
    assert len(page.cssselect(".entries > li")) == 50
    (more,) = page.cssselect('a[rel="next"]')
    rest = find_page(site, f"/pdi://{SERIES}/1997/09/01/{more.get('href')}")
    assert len(rest.cssselect(".entries > li")) == 20
    assert not rest.cssselect('a[rel="next"]')


def test_a_list_says_title_kind_size_day_and_state(site: Deployment) -> None:
    name = site.mint(text("Grüße\n".encode()))
    whole = parse(name).resource
    title = DescriptionText(value="Grüße & <Küsse>", language="de")
    site.do(Describe(identifier=whole, about=About(titles=(title,))))
    target = f"/pdi://{SERIES}/{today()}/"
    entries = {one["identifier"]: one for one in read_json(site, target)["entries"]}
    day = today().replace("/", "-")
    assert entries[str(whole)] == {
        "identifier": str(whole),
        "title": "Grüße & <Küsse>",
        "language": "de",
        "media_type": "text/plain",
        "length": 8,  # characters, of which two take two bytes
        "date": day,
        "state": "held",
    }
    page = find_page(site, target)
    (link,) = page.cssselect(".entries a.title")
    assert (link.text, link.get("lang")) == ("Grüße & <Küsse>", "de")
    assert link.get("href").endswith(f"/{whole}?landing")
    assert f"text/plain 8 bytes {day}" in " ".join(link.getparent().text_content().split())


@pytest.mark.parametrize("silent", [False, True])
def test_a_list_says_of_what_was_withdrawn_only_that(site: Deployment, *, silent: bool) -> None:
    whole = parse(site.mint(text(b"secret words"))).resource
    about = About(titles=(DescriptionText(value="A secret title"),))
    site.do(Describe(identifier=whole, about=about))
    site.do(Withdraw(identifier=whole, reason="a court said so", silent=silent))
    entries = read_json(site, f"/pdi://{SERIES}/{today()}/")["entries"]
    (found,) = (one for one in entries if one["identifier"] == str(whole))
    assert found["state"] == "withdrawn"
    assert (found["media_type"], found["length"]) == ("", None)
    assert found["title"] == ("" if silent else "A secret title")  # ruling: tombstone-silence


def test_authorities_of_other_schemes_are_counted_and_listed(site: Deployment) -> None:
    found = read_json(site, "/authorities")
    assert found["counts"]["hdl:1839/"] == 1
    assert found["counts"]["ark:12345/"] == 1
    page = find_page(site, "/authorities")
    for link in page.cssselect("main td a"):
        assert site.get(link.get("href").removeprefix(site.base), *PAGE).status == 200
    (entry,) = read_json(site, "/ark:12345/")["entries"]
    assert (entry["identifier"], entry["state"]) == ("ark:12345/x5", "located")


def test_a_reader_without_script_walks_from_the_series_to_a_document(site: Deployment) -> None:
    async def work(browser: Browser) -> list[str]:
        await browser.forbid_scripts()
        await browser.set_width(320)
        found = []
        await browser.open(f"{site.base}/pdi://{SERIES}/")
        for click in (".bars th a", ".month td a", ".entries a"):
            address = await browser.evaluate(f"document.querySelector('{click}').href")
            sideways = await browser.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert sideways == 0
            found.append(address.removeprefix(site.base))
            if not click.startswith(".entries"):  # which leads to another server
                await browser.open(address)
        return found

    assert run_browser(work) == [
        f"/pdi://{SERIES}/1997/",
        f"/pdi://{SERIES}/1997/09/01/",
        f"/pdi://{SERIES}/1997/09/01/1",
    ]


def test_a_list_says_of_what_is_closed_only_its_name(site: Deployment) -> None:
    whole = parse(site.mint(text(b"closed words"))).resource
    about = About(titles=(DescriptionText(value="A closed title"),))
    site.do(Describe(identifier=whole, about=about))
    site.do(Restrict(rule=ReadingRule(about=str(whole), access=Access.CLOSED)))
    answer = site.get(f"/pdi://{SERIES}/{today()}/", *JSON)
    assert b"A closed title" not in answer.body
    assert "no-store" in answer.headers["cache-control"]
    (found,) = (one for one in json.loads(answer.body)["entries"] if one["state"] == "closed")
    assert found["identifier"] == str(whole)
    assert (found["media_type"], found["length"]) == ("", None)
