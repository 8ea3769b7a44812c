"""Pages about the server: its institution, interfaces and documentation; errors that repair."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.server.browser import Browser, run_browser
from tests.server.deployment import SERIES, Deployment, deployed, resource, text
from tests.test_docs import anchors

from perdure.server.pages.documentation import list_documents
from perdure.server.routes.table import ROUTES

BROWSER = "Accept: text/html"
PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("informed") / "registry"
    with deployed(root, institution="Archives", contact="a@example.org", search="on") as running:
        yield running


class Links(HTMLParser):
    """The addresses and the anchors of a page."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: set[str] = set()
        self.feed(body.decode())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        fields = dict(attributes)
        if tag == "a" and fields.get("href"):
            self.addresses.append(str(fields["href"]))
        if fields.get("id"):
            self.ids.add(str(fields["id"]))


# documentation
# -------------


def test_every_page_of_the_documentation_is_served(site: Deployment) -> None:
    files = {f"{path.parent.name}/{path.stem}" for path in (PROJECT / "docs").glob("*/*.md")}
    assert set(list_documents()) == files
    listed = Links(site.get("/docs", BROWSER).body).addresses
    assert {f"/docs/{one}" for one in files} <= set(listed)


@pytest.mark.parametrize("path", ["reference/http", "reference/errors", "how-to/give-rights"])
def test_links_and_headings_lead_where_they_lead_on_the_forge(site: Deployment, path: str) -> None:
    found = Links(site.get(f"/docs/{path}", BROWSER).body)
    assert anchors(PROJECT / "docs" / f"{path}.md") <= found.ids
    for address in found.addresses:
        if address.startswith("/docs/"):
            target, _, anchor = address.partition("#")
            answer = site.get(target, BROWSER)
            assert answer.status == 200, address
            assert not anchor or anchor in Links(answer.body).ids, address
        assert not address.endswith(".md") or address == f"/docs/{path}.md"


def test_a_page_of_the_documentation_is_there_as_it_was_written(site: Deployment) -> None:
    found = site.get("/docs/reference/http.md")
    assert found.headers["content-type"] == "text/markdown; charset=utf-8"
    assert found.body == (PROJECT / "docs/reference/http.md").read_bytes()


@pytest.mark.parametrize(
    "path", ["/docs/x", "/docs/reference/../../pyproject.toml", "/docs/reference/http.md.md"]
)
def test_nothing_else_is_documentation(site: Deployment, path: str) -> None:
    assert site.get(path).status == 404


# interfaces
# ----------


def test_the_page_of_interfaces_has_every_operation_of_openapi(site: Deployment) -> None:
    found = Links(site.get("/api", BROWSER).body)
    wanted = {route.operation for route in ROUTES if not route.is_common}
    assert wanted <= found.ids
    for address in found.addresses:
        if address.startswith("#"):
            assert address[1:] in found.ids


def test_who_runs_the_resolver_and_how_it_is_followed(searched: Deployment) -> None:
    page = searched.get("/about", BROWSER)
    addresses = Links(page.body).addresses
    assert {"/feed.atom", "/sitemap.xml", "/docs", "/api", "mailto:a@example.org"} <= set(addresses)
    for address in addresses:
        if address.startswith("/") and not address.startswith("/language/"):
            assert searched.get(address, BROWSER).status == 200, address
    document = searched.get("/about", "Accept: application/json")
    assert b'"institution":"Archives"' in document.body


# errors
# ------


def test_an_unknown_name_is_shown_with_its_neighbours(site: Deployment) -> None:
    minted = [resource(site.mint(text(b"%d" % at))) for at in range(5)]
    day = minted[0].rpartition("/")[0]
    page = site.get(f"/{day}/9999", BROWSER)
    assert page.status == 404
    found = Links(page.body).addresses
    assert f"/{minted[-1]}?landing" in found
    assert f"/{day}/" in found
    assert len([one for one in found if one.endswith("?landing")]) == 3
    other = Links(site.get(f"/pdi://{SERIES}/1997/09/01/1", BROWSER).body).addresses
    assert f"/pdi://{SERIES}/" in other  # nothing is on that day


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("/annual%20report%201997", "annual report 1997"),
        ("/%22%3E%3Cscript%3Ealert(1)%3C/script%3E", '"><script>alert(1)</script>'),
        ("/nothing:%3Cb%3E", "nothing:<b>"),
        ("/?identifier=pdi%3A%2F%2F%3C", "pdi://<"),
        ("/pdi://oma.eop.gov.us/1997/13/01/1", "pdi://oma.eop.gov.us/1997/13/01/1"),
    ],
)
def test_what_was_typed_stays(searched: Deployment, path: str, typed: str) -> None:
    page = searched.get(path, BROWSER)
    assert page.status in (400, 404)
    body = page.body.decode()
    values = re.findall(r'<input id="(?:typed|words)"[^>]* value="([^"]*)"', body)
    assert [html.unescape(one) for one in values] == [typed, typed]
    assert "<script>alert" not in body


def test_a_page_about_an_error_asks_nothing_for_programs(site: Deployment) -> None:
    answer = site.get("/pdi://oma.eop.gov.us/1997/09/01/77", "Accept: application/json")
    assert answer.headers["content-type"] == "application/problem+json"
    assert b"nearby" not in answer.body


def test_the_pages_fit_into_a_phone(searched: Deployment) -> None:
    async def measure(browser: Browser) -> dict[str, int]:
        await browser.set_width(320)
        found = {}
        for path in ("/about", "/api", "/docs", "/docs/reference/http", f"/pdi://{SERIES}/1/1/1/9"):
            await browser.open(searched.base + path)
            found[path] = await browser.evaluate("document.documentElement.scrollWidth")
        return found

    assert set(run_browser(measure).values()) == {320}
