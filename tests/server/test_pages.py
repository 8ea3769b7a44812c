"""All pages for people: walked from `/` as a reader walks them, and shown as a browser does."""

from __future__ import annotations

import base64
import hashlib
import json
import py_compile
import re
from urllib.parse import urldefrag, urljoin

import pytest
from lxml import html
from tests.server.browser import Browser, run_browser
from tests.server.deployment import Deployment, resource, text

from perdure.ids import parse
from perdure.model.about import About, DescriptionText
from perdure.model.commands import Break, Describe, Mint, Withdraw
from perdure.model.records import Location, LocationDrift
from perdure.server import pages
from perdure.server.pages import own

BROWSER = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
COLLECTION = "application/vnd.perdure.collection+json"
LETTER = b"Dear Sir,\r\n\r\n\tone and one is  two\r\nand so on: one and one\r\n"
LONG = "https://far.example/" + "long" * 90


@pytest.fixture(scope="module")
def names(site: Deployment) -> dict[str, str]:
    """One name of each kind of thing."""
    letter = site.mint(text(LETTER, charset="us-ascii"))
    listed = {"collection": 1, "title": "Two", "members": [{"identifier": letter}]}
    found = {
        "letter": letter,
        "page": site.mint(text(b"<title>A page</title><p>one", "html", "text/html")),
        "collection": site.mint(text(json.dumps(listed).encode(), "json", COLLECTION)),
        "located": site.bind(
            "hdl:21.T14999/located",
            *(Location(uri=f"{LONG}{one}", weight=one) for one in (1, 2)),
        ),
        "ark": site.bind("ark:99999/fk4abc", "https://a.example/1"),
        "urn": site.bind("urn:isbn:9780141036144", "https://a.example/2"),
        "urn93": site.bind("URN:IANA:42117::a1:::", "https://a.example/3"),
        "reserved": site.do(Mint(authority="oma.eop.gov.us")).identifier,
        "gone": site.mint(text(b"x")),
    }
    site.do(Withdraw(identifier=parse(resource(found["gone"])), reason="word" * 90))
    about = About(titles=(DescriptionText(value="A title that is " + "long" * 90),))
    site.do(Describe(identifier=parse(resource(letter)), about=about))
    for level in (f"{resource(letter)}.*.1", letter, f"{letter}#char=0,4"):
        own = About(edition="long" * 90, language="en")
        site.do(Describe(identifier=parse(level), about=own))
    promised, there = (hashlib.sha512(one).hexdigest() for one in (b"promised", b"there"))
    changed = Location(uri=f"{LONG}3", sha512=promised, size=8)
    site.bind(found["located"], changed)
    evidence = LocationDrift(
        uri=changed.uri, sha512=promised, size=8, found_sha512=there, at="2026-11-20T01:02:03Z"
    )
    site.do(Break(identifier=parse(found["located"]), uri=changed.uri, evidence=evidence))
    return found


def list_links(site: Deployment, path: str, body: bytes) -> list[str]:
    """The addresses on this server that a page leads to, without their fragments and without those
    that lead back to it in another language."""
    tree = html.document_fromstring(body)
    addresses = tree.xpath("//a[not(@hreflang)]/@href | //form/@action | //source/@src")
    assert isinstance(addresses, list)
    absolute = (urljoin(f"{site.base}{path}", str(one)) for one in addresses)
    return [urldefrag(one)[0].removeprefix(site.base) for one in absolute if site.base in one]


def start_pages(names: dict[str, str]) -> list[str]:
    """Pages that no page leads to: of parts, errors and quotations, and answers to services."""
    letter, gone = names["letter"], names["gone"]
    return [
        "/",
        *(f"/{one}?{word}" for one in names.values() for word in ("info", "locations", "landing")),
        *(f"/uri-res/{one}?{letter}" for one in ("N2C", "N2Ls", "N2Ns")),
        *(f"/{letter}%23char=0,4", f"/{letter}%23char=0,99999", f"/{letter}%23line=0,1"),
        *(f"/{letter}?quote=one+and+one", f"/{letter}?quote=nothing+of+the+kind"),
        *(f"/{resource(letter)}.text.9", f"/{resource(letter)}.pdf", f"/{gone}?bytes"),
        *("/pdi://oma.eop.gov.us/1990/01/01/1", "/nowhere", "/problems/not-found"),
        *(f"/{resource(letter)}.*.*", "/pdi://oma.eop.gov.us/2026/*/*/*"),
    ]


def walk(site: Deployment, names: dict[str, str]) -> dict[str, tuple[int, bytes]]:
    """Every page that is reached, with its status."""
    waiting, found = start_pages(names), dict[str, tuple[int, bytes]]()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        answer = site.get(path, BROWSER)
        is_page = answer.headers.get("content-type", "").startswith("text/html")
        found[path] = answer.status, answer.body if is_page else b""
        if "location" in answer.headers and answer.headers["location"].startswith(site.base):
            waiting.append(answer.headers["location"].removeprefix(site.base))
        if is_page and b"<footer>" in answer.body:
            waiting += list_links(site, path, answer.body)
        assert len(found) < 1000
    return found


def test_no_page_leads_nowhere(site: Deployment, names: dict[str, str]) -> None:
    found = walk(site, names)
    first = set(start_pages(names))
    for path, (status, _) in found.items():
        if path not in first:
            gone = resource(names["gone"]) in path
            expected = (200, 410) if gone else (200, 302)
            assert status in expected, (path, status)


def test_every_landing_page_is_found_from_the_start(
    site: Deployment, names: dict[str, str]
) -> None:
    """ruling: page-or-thing: "Every thing links to its page, every list links to pages"."""
    waiting, seen = ["/"], set[str]()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = site.get(path, BROWSER)
        if b"<footer>" in answer.body:
            waiting += list_links(site, path, answer.body)
    for kind, name in names.items():
        whole = parse(name).whole.resource
        assert f"/{whole.path}?landing" in seen, kind


def test_every_page_leads_up_and_home(site: Deployment, names: dict[str, str]) -> None:
    for path, (_, body) in walk(site, names).items():
        if b"<footer>" not in body:
            continue
        links = list_links(site, path, body)
        assert "/" in links, path
        if "?landing" in path or "%23" in path:
            whole = path.partition("%23")[0].partition("?")[0]
            sets = [one for one in links if whole.startswith(one) and one.endswith(("/", ":"))]
            problem = "/problems/" in str(links)
            assert problem or sets or "URN:" in path, path
            assert "%23" not in path or any(one.endswith("?landing") for one in links), path


def test_every_thing_links_to_its_page(site: Deployment, names: dict[str, str]) -> None:
    letter = names["letter"]
    for target in (letter, f"{letter}%23char=0,4", names["collection"], names["page"]):
        for query in ("", "?bytes"):
            link = site.get(f"/{target}{query}").headers["link"]
            assert "?landing>" in link or 'rel="cite-as"' in link, target
            assert re.search(r"<[^>]*landing>", link), (target, query, link)


@pytest.mark.parametrize("name", ["located", "ark", "urn"])
def test_a_redirect_links_to_the_page(site: Deployment, names: dict[str, str], name: str) -> None:
    link = site.get(f"/{names[name]}").headers["link"]
    assert "?linkset>" in link
    assert 'rel="cite-as"' in link


# as a browser shows them
# -----------------------


def test_no_page_scrolls_sideways_on_a_phone(site: Deployment, names: dict[str, str]) -> None:
    """ "without requiring scrolling in two dimensions for … a width equivalent to 320 CSS pixels"
    (WCAG 2.2, 1.4.10)."""
    paths = [path for path, (_, body) in walk(site, names).items() if b"<footer>" in body]
    assert len(paths) > 30

    async def measure_pages(browser: Browser) -> dict[str, int]:
        await browser.set_width(320)
        wide = {}
        for path in paths:
            await browser.open(f"{site.base}{path}")
            width = await browser.evaluate("document.documentElement.scrollWidth")
            if width > 320:
                wide[path] = width
        return wide

    assert run_browser(measure_pages) == {}


def test_dark_mode_turns_inputs_and_passages_keep_their_spaces(
    site: Deployment, names: dict[str, str]
) -> None:
    """In a dark scheme an input is dark only if `color-scheme` says so (CSS Color Adjust 2.2)."""
    spaced = site.mint(text(b"two  spaces\r\n\r\n   and an indent"))
    script = """(() => {
        return [getComputedStyle(document.documentElement).colorScheme,
                document.querySelector(".passage").innerText];
    })()"""

    async def read_style(browser: Browser) -> list[str]:
        await browser.open(f"{site.base}/{spaced}%23char=0,31?landing")
        found: list[str] = await browser.evaluate(script)
        return found

    scheme, passage = run_browser(read_style)
    assert scheme == "light dark"
    assert passage.split("\n") == ["two  spaces", "", "   and an indent"]


def test_a_page_of_a_part_offers_the_part(site: Deployment, names: dict[str, str]) -> None:
    page = site.get(f"/{names['letter']}%23char=0,4?landing", BROWSER).body
    assert b">Get the part</a>" in page
    assert b"Get the document" not in page


def test_a_fragment_leads_to_the_page_of_the_part(site: Deployment, names: dict[str, str]) -> None:
    """ruling: page-or-thing: "a citation pasted into a browser opens at the marked passage"."""
    letter = names["letter"]
    pasted = {
        f"/{letter}#char=0,8": f"/{letter}%23char=0,8",
        f"/{letter}?landing#char=0,8": f"/{letter}%23char=0,8",
        f"/{letter}#versions": f"/{letter}#versions",
        f"/{letter}#char=0,8%22%3E%3Cb%3E": f"/{letter}%23char=0,8%22%3E%3Cb%3E",
    }

    async def open_pages(browser: Browser) -> dict[str, str]:
        found = {}
        for address in pasted:
            await browser.open(f"{site.base}{address}")
            found[address] = (await browser.evaluate("location.href")).removeprefix(site.base)
        await browser.open(f"{site.base}/{letter}#char=0,8")
        assert "Dear Sir" in await browser.evaluate("document.body.innerText")
        assert await browser.evaluate("document.querySelectorAll('body b').length") == 0
        return found

    assert run_browser(open_pages) == pasted


def test_no_other_script_can_run(site: Deployment, names: dict[str, str]) -> None:
    """The policy names the digest of the only script (Content Security Policy 3, 2.3.1)."""
    answer = site.get(f"/{names['letter']}?landing")
    (script,) = re.findall(rb"<script>(.*?)</script>", answer.body, re.DOTALL)
    assert re.findall(rb'<script type="module" src="/assets/[0-9a-f]{16}/page.js"', answer.body)
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    for path, (_, body) in walk(site, names).items():
        if b"<footer>" in body and b"<script type=" not in body:
            other = site.get(path, BROWSER).headers["content-security-policy"]
            assert "script-src" not in other, path
            assert "default-src 'none'" in other


def test_templates_load_beside_compiled_modules() -> None:
    """Python writes `__pycache__` into the directory of the templates, unless it was forbidden."""
    py_compile.compile(own.__file__, doraise=True)
    pages.load_templates()
