"""Pages for everybody: judged by axe-core and the Nu validator, and walked by keyboard.

axe-core and the Nu validator come with `.oracles` (make unit); the tests that ask one of them are
skipped if it is not installed. The browser is Chromium.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pypdfium2
import pytest
from tests.server.browser import Browser, run_browser
from tests.server.deployment import OTHER_SERIES, Deployment, resource, text
from tests.server.test_depositing import sign_in
from tests.server.test_members import document

from perdure.ids import parse
from perdure.model.about import About, Agent, DescriptionText
from perdure.model.collection import CollectionMember
from perdure.model.commands import Describe, Withdraw
from perdure.server import pages

ORACLES = Path(os.environ.get("PERDURE_ORACLES", Path(__file__).parents[2] / ".oracles")).resolve()
AXE = ORACLES / "node_modules/axe-core/axe.min.js"
NU = ORACLES / "node_modules/vnu-jar/build/dist/vnu.jar"
STYLES = Path(pages.__file__).parent / "styles"
HTML = "Accept: text/html"
WALKS = Path(__file__).with_name("tab_walks.json")
"""The walks as they are; `PERDURE_RECORD=1` records them anew, to be read before a commit."""

LIGHT = {"prefers-color-scheme": "light"}
MODES: dict[str, tuple[int, dict[str, str]]] = {
    "light": (1280, LIGHT),
    "dark": (1280, {"prefers-color-scheme": "dark"}),
    "phone": (390, LIGHT),
    "forced colours": (1280, {"forced-colors": "active"}),
}
"""Each mode: the width of the window in pixels, and what the reader prefers."""

_TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_JUDGE = f"""axe.run(document, {{iframes: false, runOnly: {json.dumps(_TAGS)}}}).then(found =>
    found.violations.map(one => [one.id, one.nodes.map(node => node.html.slice(0, 200))]))"""

LETTER = b"Dear Sir,\r\n\r\nthank you for the herons. They have settled in.\r\n\r\nJane\r\n"


@pytest.fixture(scope="module")
def addresses(site: Deployment) -> dict[str, str]:
    """The address of a page of each kind."""
    letter = site.mint(text(LETTER, charset="us-ascii"))
    site.do(
        Describe(
            identifier=parse(resource(letter)),
            about=About(
                titles=(DescriptionText(value="Of herons", language="en"),),
                creators=(Agent(name="Doe, Jane", given="Jane", family="Doe"),),
                descriptions=(DescriptionText(value="A letter of thanks.", kind="Abstract"),),
                year="1997",
            ),
        )
    )
    site.commit(letter, text(LETTER + b"P.S. Two more came.\r\n", charset="us-ascii"))
    quoting = site.mint(text(f"See {letter}#char=0,9.".encode()))
    page = site.mint(text(b"<title>Of herons</title><p>Two <b>more</b>.", "html", "text/html"))
    gone = site.mint(text(b"x"))
    site.do(Withdraw(identifier=parse(resource(gone)), reason="The author wished it."))
    located = site.bind("hdl:21.T14999/located", "https://far.example/1")
    corpus = site.mint(
        document(
            CollectionMember(identifier=letter, title="A letter", note="The first."),
            CollectionMember(identifier=resource(gone)),
            CollectionMember(identifier="hdl:21.T14999/elsewhere"),
        ),
        authority=OTHER_SERIES,  # so that the walk over the list stays as it is
    )
    day = resource(letter).rpartition("/")[0]
    month = day.rpartition("/")[0]
    while b"settled" not in site.get("/search?q=herons", HTML).body:
        time.sleep(0.1)  # until the search index has the letter
    return {
        "start": "/",
        "collection": f"/{corpus}?members",
        "landing": f"/{letter}?landing",
        "part": f"/{letter}%23char=0,9",
        "embedded": f"/embed?url={quote(f'{site.base}/{letter}', safe='')}",
        "elsewhere": f"/{located}?landing",
        "tombstone": f"/{gone}?landing",
        "list": f"/{day}/",
        "series": f"/{month.rpartition('/')[0].rpartition('/')[0]}/",
        "year": f"/{month.rpartition('/')[0]}/",
        "month": f"/{month}/",
        "authorities": "/authorities",
        "citation": f"/{quoting}?cites",
        "assertions": f"/{letter}?assertions",
        "provenance": f"/{letter}?provenance",
        "record": f"/{letter}?info",
        "history": f"/{letter}?history",
        "difference": f"/{resource(letter)}?diff=1,2",
        "framed": f"/{page}?landing",
        "passages": f"/{letter}?quote=e",
        "no passage": f"/{letter}?quote=nowhere",
        "search": "/search?q=herons",
        "captures": "/timemap/html/http://example.org/",
        "pwid": "/urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk?info",
        "problem": "/pdi://oma.eop.gov.us/1990/01/01/1",
        "explanation": "/problems/not-found",
        "about": "/about",
        "interfaces": "/api",
        "documentation": "/docs/",
        "sign-in": "/sign-in",
        "patterns": "/patterns",
    }


@pytest.fixture(scope="module")
def all_addresses(site: Deployment, addresses: dict[str, str]) -> dict[str, str]:
    """Those, and the addresses of the pages for people who signed in."""
    to_withdraw = quote(resource(site.mint(text(b"to withdraw"), authority=OTHER_SERIES)), safe="")
    return addresses | {
        "desk": "/deposit",
        "operator": "/operator",
        "tokens": "/desk/tokens",
        "proposals": "/desk/proposals",
        "withdrawing": f"/desk/withdraw?of={to_withdraw}",
    }


@pytest.fixture(scope="module")
def cookie(site: Deployment) -> str:
    """The Cookie field of a session with every right."""
    return sign_in(site, site.token("keeper of the desk"))


async def bring_cookie(browser: Browser, site: Deployment, cookie: str) -> None:
    """Give a browser a session."""
    name, _, value = cookie.removeprefix("Cookie: ").partition("=")
    await browser.call("Network.setCookie", name=name, value=value, url=site.base)


async def open_page(browser: Browser, site: Deployment, kind: str, address: str) -> None:
    """Open a page. The sandbox of an embedding forbids scripts, also those of a judge."""
    await browser.call("Page.setBypassCSP", enabled=kind == "embedded")
    await browser.open(f"{site.base}{address}")


async def set_mode(browser: Browser, mode: str) -> None:
    width, prefers = MODES[mode]
    await browser.set_width(width)
    features = [{"name": name, "value": value} for name, value in prefers.items()]
    await browser.call("Emulation.setEmulatedMedia", media="screen", features=features)


# judged by programs of others
# ----------------------------


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed (make unit)")
@pytest.mark.parametrize("mode", MODES)
def test_axe_finds_nothing(
    site: Deployment,
    all_addresses: dict[str, str],
    cookie: str,
    mode: str,
) -> None:
    """WCAG 2.2, levels A and AA, and best practice, as far as a program can tell."""
    judge = AXE.read_text("utf-8")

    async def judge_pages(browser: Browser) -> dict[str, Any]:
        await set_mode(browser, mode)
        await bring_cookie(browser, site, cookie)
        found = {}
        for kind, address in all_addresses.items():
            await open_page(browser, site, kind, address)
            await browser.evaluate(f"{judge};0")
            assert await browser.evaluate("document.querySelectorAll('main').length") == 1, kind
            faults = await browser.evaluate(_JUDGE)
            if faults:
                found[kind] = faults
        return found

    assert run_browser(judge_pages) == {}


@pytest.mark.skipif(
    not NU.exists() or shutil.which("java") is None,
    reason="the Nu validator (make unit) or Java is not installed",
)
def test_the_validator_finds_nothing(
    site: Deployment,
    all_addresses: dict[str, str],
    cookie: str,
    tmp_path: Path,
) -> None:
    """The HTML is valid by the checker of the W3C and the WHATWG."""
    for number, (kind, address) in enumerate(all_addresses.items()):
        body = site.get(address, HTML, "Accept-Language: da", cookie).body
        (tmp_path / f"{number}-{kind.replace(' ', '-')}.html").write_bytes(body)
    command = ["java", "-jar", str(NU), "--format", "json", "--stdout", "--exit-zero-always"]
    done = subprocess.run(
        [*command, *map(str, sorted(tmp_path.glob("*.html")))], capture_output=True, check=True
    )
    faults = [
        (Path(one["url"]).name, one["message"], one.get("extract", "")[:120])
        for one in json.loads(done.stdout)["messages"]
        if one["type"] != "info"
    ]
    assert faults == []


# by keyboard, in print, on a small screen, without a script
# ----------------------------------------------------------

_FOCUSED = """(() => {
    const one = document.activeElement;
    if (!one || one === document.body) return "";
    const label = one.getAttribute("aria-label") || one.labels?.[0]?.innerText || one.title
        || one.innerText || one.getAttribute("aria-labelledby") || "";
    const seen = getComputedStyle(one);
    const ring = one.localName === "iframe"
        || (seen.outlineStyle !== "none" && parseFloat(seen.outlineWidth) >= 2);
    const words = label.trim().split("\\n")[0];
    return `${one.localName} ${words}${ring ? "" : " (no ring)"}`;
})()"""


async def walk_by_tab(browser: Browser) -> list[str]:
    """Press Tab until the focus leaves the page, and list where it was."""
    steps: list[str] = []
    for _ in range(200):
        for kind in ("rawKeyDown", "keyUp"):
            await browser.call(
                "Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9
            )
        step = await browser.evaluate(_FOCUSED)
        if not step or (len(steps) > 1 and step == steps[0]):
            return steps
        step = re.sub(r"(127[.0-9]+):[0-9]+/", r"\1:<port>/", step)
        steps.append(re.sub(r"/20[0-9]{2}/([0-9]{2}/?){0,2}", "/<date>/", step))
    raise AssertionError("the focus is caught")


@pytest.mark.parametrize("kind", ["start", "list", "search", "problem", "tombstone"])
def test_the_keyboard_reaches_everything_in_order(
    site: Deployment, addresses: dict[str, str], kind: str
) -> None:
    """WCAG 2.2, 2.4.3 Focus Order and 2.4.7 Focus Visible: the walk is recorded as text."""

    async def walk(browser: Browser) -> list[str]:
        await set_mode(browser, "light")
        await browser.open(f"{site.base}{addresses[kind]}")
        if kind == "start":  # what changed last is not the same in each run
            await browser.evaluate("document.querySelector('ul.entries').remove()")
        return await walk_by_tab(browser)

    steps = run_browser(walk)
    if os.environ.get("PERDURE_RECORD"):
        known = json.loads(WALKS.read_text("utf-8")) if WALKS.exists() else {}
        walks = json.dumps(known | {kind: steps}, indent=1, ensure_ascii=False, sort_keys=True)
        WALKS.write_text(f"{walks}\n", "utf-8")
    assert steps == json.loads(WALKS.read_text("utf-8"))[kind]
    assert not [one for one in steps if one.endswith("(no ring)")]


def test_targets_are_large_enough(
    site: Deployment, all_addresses: dict[str, str], cookie: str
) -> None:
    """WCAG 2.2, 2.5.8: "at least 24 by 24 CSS pixels", except links within a sentence."""
    script = """[...document.querySelectorAll("button, input, summary, nav a, .get, .home")]
        .map(one => [one.outerHTML.slice(0, 90), one.getBoundingClientRect()])
        .filter(([_, box]) => box.width && (box.width < 24 || box.height < 24))
        .map(([text, box]) => [text, box.width, box.height])"""

    async def measure(browser: Browser) -> dict[str, Any]:
        await set_mode(browser, "phone")
        await bring_cookie(browser, site, cookie)
        found = {}
        for kind, address in all_addresses.items():
            await open_page(browser, site, kind, address)
            small = await browser.evaluate(script)
            if small:
                found[kind] = small
        return found

    assert run_browser(measure) == {}


@pytest.mark.parametrize("language", ["en", "de", "da"])
def test_nothing_scrolls_sideways(
    site: Deployment, all_addresses: dict[str, str], cookie: str, language: str
) -> None:
    """WCAG 2.2, 1.4.10 Reflow: 320 CSS pixels, which is also a window of 1280 at 400 %."""

    async def measure(browser: Browser) -> dict[str, int]:
        await browser.set_width(320)
        fields = {"Accept-Language": language}
        await browser.call("Network.setExtraHTTPHeaders", headers=fields)
        await bring_cookie(browser, site, cookie)
        wide = {}
        for kind, address in all_addresses.items():
            await open_page(browser, site, kind, address)
            assert await browser.evaluate("document.documentElement.lang") == language, kind
            width = await browser.evaluate("document.documentElement.scrollWidth")
            if width > 320:
                wide[kind] = width
        return wide

    assert run_browser(measure) == {}


def test_a_page_prints_what_it_says(site: Deployment, addresses: dict[str, str]) -> None:
    async def print_page(browser: Browser) -> bytes:
        await browser.open(f"{site.base}{addresses['landing']}")
        found = await browser.call("Page.printToPDF")
        return base64.b64decode(found["data"])

    document = pypdfium2.PdfDocument(run_browser(print_page))
    printed = " ".join(page.get_textpage().get_text_range() for page in document)
    for words in ("Of herons", "Doe", "Dear Sir", "settled in", "Version 2", "SHA-512"):
        assert words in printed
    for words in ("Skip to the content", "Get identifier", "Deutsch"):
        assert words not in printed


def test_everything_is_there_without_a_script(site: Deployment, addresses: dict[str, str]) -> None:
    """The forms of a page do all that its scripts do."""

    async def read_pages(browser: Browser) -> tuple[str, str]:
        await browser.forbid_scripts()
        await browser.open(f"{site.base}{addresses['landing']}")
        page = await browser.evaluate("document.body.innerText")
        buttons = "[...document.querySelectorAll('.copy')].filter(one => one.checkVisibility())"
        assert await browser.evaluate(f"{buttons}.length") == 0
        await browser.evaluate("document.querySelector('[name=quote]').value = 'the herons'")
        await browser.evaluate("document.querySelector('[name=quote]').form.submit()")
        for _ in range(100):
            await asyncio.sleep(0.1)
            where = await browser.evaluate("location.href + document.readyState")
            if "char=" in where and where.endswith("complete"):
                break
        return page, await browser.evaluate("document.body.innerText")

    page, passage = run_browser(read_pages)
    for words in ("Of herons", "Doe, Jane", "Dear Sir", "Version 2", "Refer to a passage"):
        assert words in page
    assert "the herons" in passage


# the page of patterns
# --------------------


def test_the_page_of_patterns_shows_every_component(site: Deployment) -> None:
    """So what judges see there is what readers see anywhere."""
    body = site.get("/patterns", HTML).body.decode()
    styled = set()
    for sheet in ("base", "landing", "media"):
        style = (STYLES / f"{sheet}.css").read_text("utf-8")
        styled |= set(re.findall(r"\.([a-z][a-z-]*)(?=[^{}]*\{)", style))
    shown = {word for one in re.findall(r'class="([^"]*)"', body) for word in one.split()}
    assert styled <= shown
