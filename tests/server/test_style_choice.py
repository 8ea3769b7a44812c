"""Readers choose the style of a citation on a landing page."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from tests.server.browser import Browser, run_browser
from tests.server.deployment import SHOULDER, Deployment, text

from perdure.server.resource.style_choice import EXPORTS, STYLES

BROWSER = "Accept: text/html"
CHOOSE = """(async () => {
    const form = document.querySelector('.styles'), place = document.getElementById('citation');
    const wait = () => new Promise(done => setTimeout(done, 20));
    for (let turn = 0; turn < 300 && !form.querySelector('button').hidden; turn++) await wait();
    const before = place.textContent;
    form.elements.cite.value = 'ieee';
    form.elements.cite.dispatchEvent(new Event('change', {bubbles: true}));
    for (let turn = 0; turn < 300 && place.textContent === before; turn++) await wait();
    return [before, place.textContent, history.length];
})()"""


@pytest.fixture(scope="module")
def name(site: Deployment) -> str:
    about = {"title": "Of herons", "creator": "Doe, Jane", "date": "1997"}
    return site.mint(text(b"thank you for the herons"), metadata=about)


def read_form(page: bytes) -> tuple[str, dict[str, str]]:
    """The address of the form, and its hidden fields."""
    found = re.search(r'<form class="styles" action="([^"]*)".*?</form>', page.decode(), re.DOTALL)
    assert found is not None
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', found[0])
    return unescape(found[1]), {key: unescape(value) for key, value in fields}


@pytest.mark.parametrize("style", [name for name, _label in (*STYLES, *EXPORTS)])
def test_each_style_has_a_citation(site: Deployment, name: str, style: str) -> None:
    action, fields = read_form(site.get(f"/{name}?landing", BROWSER).body)
    answer = site.get(f"{action}?{urlencode(fields | {'cite': style})}", BROWSER)
    assert answer.status == 200
    assert {"herons", "doe"} <= set(re.findall(r"\w+", answer.body.decode().lower()))


@pytest.mark.parametrize("language", ["en", "de", "da"])
def test_the_citation_is_in_the_language_of_the_page(
    site: Deployment, name: str, language: str
) -> None:
    """The first citation is the one that the form asks for."""
    page = site.get(f"/{name}?landing", BROWSER, f"Accept-Language: {language}").body
    action, fields = read_form(page)
    assert fields == {"locale": language}
    found = re.search(rb'<blockquote id="citation"[^>]*>([^<]*)<', page)
    asked = site.get(f"{action}?{urlencode(fields | {'cite': 'apa'})}", "Accept: text/plain")
    assert found is not None
    assert unescape(found[1].decode()) == asked.body.decode().strip()


def test_a_part_beside_a_name_is_cited(site: Deployment) -> None:
    """A form replaces the query of its address (HTML, "mutate action URL"), so the part is a
    field of the form."""
    whole = site.mint(text(b"one and one"), authority=SHOULDER)
    page = site.get(f"/{whole}?part=char%3D0,3&landing", BROWSER)
    assert page.status == 200
    action, fields = read_form(page.body)
    asked = site.get(f"{action}?{urlencode(fields | {'cite': 'mla'})}", BROWSER).body.decode()
    assert "char" in asked
    assert "0,3" in asked


def test_a_script_shows_the_style_on_the_page(site: Deployment, name: str) -> None:
    async def choose(browser: Browser) -> tuple[str, str, int]:
        await browser.open(f"{site.base}/{name}?landing")
        before, after, entries = await browser.evaluate(CHOOSE)
        return before, after, entries

    before, after, entries = run_browser(choose)
    assert before.startswith("Doe, J. (1997). ")
    assert re.match(r"\[1\] ?J\. Doe, ", after)
    assert entries == 2  # about:blank and the page, which was not left
