"""Documents in the pages of others: oEmbed, the page that it embeds, and what people paste."""

from __future__ import annotations

import asyncio
import io
import json
import re
import threading
import xml.etree.ElementTree as ElementTree
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image
from tests.server.browser import Browser, run_browser
from tests.server.deployment import SHOULDER, Deployment, resource, text

from perdure.ids import parse
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule

BROWSER = "Accept: text/html,*/*;q=0.8"
HOSTILE = 'A "title" <script>alert(1)</script> & more'


def ask_oembed(site: Deployment, name: str, more: str = "") -> Any:
    return site.get(f"/oembed?url={quote(f'{site.base}/{name}', safe='')}{more}")


def describe(site: Deployment, name: str, more: str = "") -> dict[str, Any]:
    answer = ask_oembed(site, name, more)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = json.loads(answer.body)
    return found


def find_frame(html: str) -> str:
    """The address of the frame, as a browser reads it."""
    found = re.fullmatch(r'<iframe src="([^"]*)" title="[^"]*"( [a-z-]+="[^"]*")*></iframe>', html)
    assert found is not None
    return unescape(found[1])


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    about = {"title": HOSTILE, "creator": "Doe, Jane"}
    return site.mint(text(b"thank you for the herons"), metadata=about)


@pytest.fixture(scope="module")
def picture(site: Deployment) -> str:
    data = io.BytesIO()
    Image.new("RGB", (800, 600), "teal").save(data, "png")
    return site.mint(text(data.getvalue(), "png", "image/png"))


# oEmbed
# ------


def test_a_text_is_rich(site: Deployment, letter: str) -> None:
    """oEmbed 1.0, 2.3.4.4: rich has `html`, `width` and `height`, all required."""
    found = describe(site, letter)
    assert (found["type"], found["version"]) == ("rich", "1.0")
    assert (found["title"], found["author_name"]) == (HOSTILE, "Doe, Jane")
    assert found["provider_url"] == f"{site.base}/"
    address = find_frame(found["html"]).removeprefix(site.base)
    assert "thank you for the herons" in site.get(address, BROWSER).body.decode()


def test_a_picture_is_a_photo(site: Deployment, picture: str) -> None:
    """2.3.4.1: `url` is "the source URL of the image", with its width and height in pixels."""
    found = describe(site, picture)
    image = site.get(found["url"].removeprefix(site.base))
    assert found["type"] == "photo"
    assert Image.open(io.BytesIO(image.body)).size == (found["width"], found["height"])


@pytest.mark.parametrize("limits", [(700, 10_000), (400, 10_000), (10_000, 310), (90, 80)])
def test_nothing_is_larger_than_asked(
    site: Deployment, letter: str, picture: str, limits: tuple[int, int]
) -> None:
    """2.2: `maxwidth` is "the maximum width of the embedded resource"; so is `maxheight`."""
    for name in (letter, picture):
        found = describe(site, name, f"&maxwidth={limits[0]}&maxheight={limits[1]}")
        assert found["width"] <= limits[0]
        assert found["height"] <= limits[1]


def test_xml_says_the_same(site: Deployment, letter: str) -> None:
    """2.3.2: XML "must have `oembed` as the root element, with the members as its elements"."""
    answer = ask_oembed(site, letter, "&format=xml")
    root = ElementTree.fromstring(answer.body)
    assert answer.headers["content-type"] == "text/xml; charset=utf-8"
    assert root.tag == "oembed"
    told = {key: str(value) for key, value in describe(site, letter).items()}
    assert {one.tag: one.text for one in root} == told


def test_pages_are_discovered(site: Deployment, letter: str) -> None:
    """Section 4: links of the types `application/json+oembed` and `text/xml+oembed`."""
    for name in (letter, f"{letter}%23char=0,5"):
        page = site.get(f"/{name}?landing", BROWSER).body.decode()
        for kind, own in (("application/json+oembed", "json"), ("text/xml+oembed", "xml")):
            found = re.search(
                rf'<link rel="alternate" type="{re.escape(kind)}" href="([^"]*)"', page
            )
            assert found is not None
            address = unescape(found[1]).removeprefix(site.base)
            assert site.get(address).body == ask_oembed(site, name, f"&format={own}").body


def test_a_part_beside_a_name_is_embedded(site: Deployment) -> None:
    whole = site.mint(text(b"one and one"), authority=SHOULDER)
    found = describe(site, f"{whole}?part=char%3D4,7")
    page = site.get(find_frame(found["html"]).removeprefix(site.base), BROWSER).body
    assert b"<mark>and</mark>" in page


# errors (2.3.4.5)
# ----------------


def test_an_unknown_format_is_not_implemented(site: Deployment, letter: str) -> None:
    """ "501 Not Implemented: the provider cannot return a response in the requested format"."""
    assert ask_oembed(site, letter, "&format=yaml").status == 501


@pytest.mark.parametrize(
    "url", ["http://far.example/pdi", "x", "about", f"pdi://{'x' * 9}.gov.us/"]
)
def test_other_addresses_are_not_found(site: Deployment, url: str) -> None:
    """ "404 Not Found: the provider has no response for the requested URL"."""
    assert site.get(f"/oembed?url={quote(url, safe='')}").status == 404
    assert ask_oembed(site, url).status == 404


def test_what_was_withdrawn_is_silent(site: Deployment) -> None:
    name = site.mint(text(b"a secret text"), metadata={"title": "A secret title"})
    page = f"/embed?url={quote(f'{site.base}/{name}', safe='')}"
    assert b"secret title" in site.get(page, BROWSER).body
    site.do(Withdraw(identifier=parse(resource(name)), reason="x"))
    assert ask_oembed(site, name).status == 404
    assert ask_oembed(site, resource(name)).status == 404
    landing = site.get(f"/{name}?landing", BROWSER).body
    shown = site.get(page, BROWSER)
    assert shown.status == 410
    assert b"secret" not in shown.body
    assert b"oembed" not in landing
    assert b"iframe src" not in landing


def test_what_is_closed_is_refused(site: Deployment) -> None:
    """ "401 Unauthorized: the specified URL contains a private (non-public) resource"."""
    name = site.mint(text(b"a secret text"), metadata={"title": "A secret title"})
    site.do(Restrict(rule=ReadingRule(about=resource(name), access=Access.CLOSED)))
    for address in ("oembed", "embed"):
        answer = site.get(f"/{address}?url={quote(f'{site.base}/{name}', safe='')}", BROWSER)
        assert answer.status in (401, 403, 451)
        assert b"secret" not in answer.body


# the page that is embedded
# -------------------------


def test_the_page_is_sandboxed(site: Deployment, letter: str) -> None:
    answer = site.get(f"/embed?url={quote(f'{site.base}/{letter}', safe='')}", BROWSER)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-popups allow-popups-to-escape-sandbox; ")
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert b"<script" not in answer.body
    assert "x-frame-options" not in answer.headers


def test_another_site_shows_a_passage(site: Deployment, letter: str, tmp_path: Path) -> None:
    html = describe(site, f"{letter}%23char=10,24")["html"]
    (tmp_path / "index.html").write_text(f"<!DOCTYPE html><title>Other</title>{html}", "utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))

    async def read_frame(browser: Browser) -> tuple[list[str], list[str]]:
        await browser.open(other)
        frame = await browser.attach_frame(f"{site.base}/embed")
        shown: list[str] = []
        for _ in range(200):
            found = await browser.call("DOMSnapshot.captureSnapshot", frame, computedStyles=[])
            shown = found["strings"]
            if "MARK" in shown:
                break
            await asyncio.sleep(0.05)
        return shown, browser.requests

    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        other = f"http://localhost:{server.server_port}/"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            shown, requests = run_browser(read_frame)
        finally:
            server.shutdown()
    assert {HOSTILE, "MARK", "for the herons"} <= set(shown)
    assert "SCRIPT" not in shown
    others = [one for one in requests if not one.startswith((site.base, other, "about:"))]
    assert others == []


def test_people_paste_what_browsers_read(site: Deployment, letter: str) -> None:
    """The pieces on the page are HTML of a link and of a frame, whatever the title is."""

    async def read_pieces(browser: Browser) -> list[str]:
        await browser.open(f"{site.base}/{letter}?landing")
        found: list[str] = await browser.evaluate(
            "[...document.querySelectorAll('.uses code')].map(one => one.textContent)"
        )
        return found

    link, words, frame = run_browser(read_pieces)
    found = re.fullmatch(r'<a href="([^"]*)">([^<]*)</a>', link)
    assert found is not None
    assert (unescape(found[1]), unescape(found[2])) == (f"{site.base}/{letter}", HOSTILE)
    assert words == f"{HOSTILE}, {site.base}/{letter}"
    assert frame == describe(site, letter)["html"]
