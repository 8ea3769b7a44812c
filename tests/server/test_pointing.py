"""From a selection to the identifier of exactly that passage, in a browser and without one."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import random
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from lxml import html
from tests.server.browser import Browser, run_browser
from tests.server.deployment import AUTHORITY, Deployment, problem, text

from perdure.ids import parse
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule

# every kind of line break, a byte order mark, a character beyond 16 bits, controls, markup
MIXED = (
    "\ufeffone\r\ntwo\nthree\rfour \U0001f600 <b>&amp;</b>\r\n\r\n\tfive\x0csix\x00 sev\u00e9n\r"
)
SHOWN = "one\ntwo\nthree\nfour \U0001f600 <b>&amp;</b>\n\n\tfive\u240csix\u2400 sev\u00e9n\n"
PAGE = b"<title>T</title><p>One &amp; <b>two</b> three</p><p>four</p>"
BROWSER = "Accept: text/html"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


@pytest.fixture(scope="module")
def mixed(site: Deployment) -> str:
    return site.mint(text(MIXED.encode(), charset="utf-8"))


def point(site: Deployment, name: str, start: int, stop: int) -> dict[str, object]:
    answer = site.get(f"/{name}?point={start},{stop}")
    assert answer.status == 200, answer.body
    found: dict[str, object] = json.loads(answer.body)
    return found


def find_all(body: bytes, path: str) -> list[str]:
    """The texts that an XPath finds in a page."""
    found = html.document_fromstring(body).xpath(path)
    assert isinstance(found, list)
    return [one.text_content() if isinstance(one, html.HtmlElement) else str(one) for one in found]


def read_shown(body: bytes) -> str:
    (shown,) = find_all(body, "//pre[@id='readable']")
    return shown.removeprefix("\n")  # which browsers ignore (HTML, section 13.1.2.5)


def test_a_page_shows_every_character_once(site: Deployment, mixed: str) -> None:
    assert read_shown(site.get(f"/{mixed}?landing", BROWSER).body) == SHOWN


def test_every_passage_gets_the_name_of_exactly_its_bytes(site: Deployment, mixed: str) -> None:
    """PDI section 3.4.1: "the characters between", with each line break as CRLF."""
    chance = random.Random(1994)
    for _ in range(60):
        start, stop = sorted(chance.sample(range(len(SHOWN) + 1), 2))
        found = point(site, mixed, start, stop)
        part = site.get(f"/{quote(str(found['identifier']), safe=':/=,.')}?bytes")
        expected = SHOWN[start:stop].translate({0x240C: 12, 0x2400: 0})
        assert part.body == expected.replace("\n", "\r\n").encode(), (start, stop)
        assert found["sha512"] == hashlib.sha512(part.body).hexdigest()
        assert found["text"] == expected


def test_a_passage_of_html_is_widened_to_whole_references(site: Deployment) -> None:
    name = site.mint(text(PAGE, "html", "text/html"))
    shown = read_shown(site.get(f"/{name}?landing", BROWSER).body)
    start = shown.index("& two")
    found = point(site, name, start, start + 5)
    part = site.get(f"/{quote(str(found['identifier']), safe=':/=,.')}?bytes")
    assert part.body == b"&amp; <b>two"


def test_a_passage_of_mail_gets_its_octets(site: Deployment) -> None:
    """Section 3.4.6: `byte=`. In the text, a header has only the fields that people read."""
    mail = b"From: a@b.example\r\nX-Other: 1\r\n\r\nDear all,\r\nwe met.\r\n"
    name = site.mint(text(mail, "rfc822", "message/rfc822", charset="us-ascii"))
    start = site.get(f"/{name}?text").body.decode().index("we met")
    found = point(site, name, start, start + 6)
    assert found["selector"] == f"byte={mail.index(b'we met')},{len(mail)}"
    part = site.get(f"/{quote(str(found['identifier']), safe=':/=,.')}?bytes")
    assert part.body == b"we met.\r\n"


def test_other_schemes_get_their_own_parts(site: Deployment) -> None:
    """ruling: part-meaning: their parts follow the media type, so a line break is one."""
    name = site.mint(text(b"one\r\ntwo"), authority=AUTHORITY)
    found = point(site, name, 4, 7)
    assert found["selector"] == "char=4,7"
    assert found["text"] == "two"


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ("point=4,4", 400, "invalid-request"),
        ("point=5,4", 400, "invalid-request"),
        ("point=-1,4", 400, "invalid-request"),
        ("point=a", 400, "invalid-request"),
        ("point=", 400, "invalid-request"),
        ("point=0,4&info", 400, "invalid-request"),
        ("point=0,9999", 416, "part-out-of-range"),
        ("landing&at=x", 400, "invalid-request"),
    ],
)
def test_impossible_places_are_refused(
    site: Deployment, mixed: str, asked: str, status: int, code: str
) -> None:
    problem(site.get(f"/{mixed}?{asked}"), status, code)


def test_a_picture_has_no_passages(site: Deployment) -> None:
    name = site.mint(text(b"GIF89a", "gif", "image/gif"))
    problem(site.get(f"/{name}?point=0,1"), 501, "part-not-supported")


def test_a_form_leads_to_the_page_of_the_part(site: Deployment, mixed: str) -> None:
    answer = site.get(f"/{mixed}?point=0,3", BROWSER)
    assert answer.status == 303
    assert answer.headers["location"] == f"{site.base}/{mixed}%23char=0,3?landing"


def test_the_page_of_a_part_marks_it_in_its_text(site: Deployment, mixed: str) -> None:
    """ruling: page-or-thing: "opens at the marked passage"."""
    body = site.get(f"/{mixed}%23char=5,8?landing", BROWSER).body
    assert find_all(body, "//mark[@id='part']") == ["two"]
    assert read_shown(body) == SHOWN


def test_a_long_text_is_shown_in_windows(site: Deployment) -> None:
    """Together, the windows have every character once."""
    whole = "".join(f"Line {number} of a long text.\n" for number in range(3000))
    name = site.mint(text(whole.replace("\n", "\r\n").encode()))
    path, seen = f"/{name}?landing", ""
    while path:
        body = site.get(path, BROWSER).body
        assert find_all(body, "//pre[@id='readable']/@data-start") == [str(len(seen))]
        seen += read_shown(body)
        path = "".join(find_all(body, "//a[text()='Later']/@href")).partition("#")[0]
    assert seen == whole


def test_nothing_is_shown_around_the_open_part_of_a_closed_text(site: Deployment) -> None:
    name = site.mint(text(b"secret and open and secret"))
    whole = str(parse(name).whole.resource)
    site.do(Restrict(rule=ReadingRule(about=whole, access=Access.CLOSED)))
    site.do(Restrict(rule=ReadingRule(about=f"{name}#char=11,15", access=Access.OPEN)))
    part = site.get(f"/{name}%23char=11,15", "Accept: text/plain")
    assert (part.status, part.body) == (200, b"open")
    assert b"secret" not in site.get(f"/{name}%23char=11,15", BROWSER).body
    assert b"secret" not in site.get(f"/{name}%23char=11,15?landing", BROWSER).body
    problem(site.get(f"/{name}?point=0,6"), 403, "forbidden")


def test_a_withdrawn_text_is_silent(site: Deployment) -> None:
    """ruling: tombstone-silence"""
    name = site.mint(text(b"withdrawn words"))
    site.do(Withdraw(identifier=parse(name).whole.resource, reason="asked to"))
    assert b"withdrawn words" not in site.get(f"/{name}?landing", BROWSER).body
    problem(site.get(f"/{name}?point=0,4"), 410, "gone")


SELECT = """(async (start, stop) => {
    const text = document.getElementById("readable"), range = document.createRange();
    const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT), places = [];
    for (let node = walk.nextNode(); node; node = walk.nextNode())
        for (let at = 0; at <= node.length; at++)
            if (!/^[\\uDC00-\\uDFFF]/.test(node.data.slice(at))) places.push([node, at]);
    range.setStart(...places[start]); range.setEnd(...places[stop]);
    document.getElementById("pointed").replaceChildren();
    getSelection().removeAllRanges(); getSelection().addRange(range);
    for (let turn = 0; turn < 300; turn++) {
        await new Promise(done => setTimeout(done, 20));
        const code = document.querySelector("#pointed code");
        if (code) return [code.textContent, document.querySelector("#pointed span").textContent];
    }
    return ["", document.getElementById("pointed").textContent];
})"""


def test_a_selection_in_a_browser_is_named(site: Deployment, mixed: str) -> None:
    chance = random.Random(2026)
    ranges = [sorted(chance.sample(range(len(SHOWN) + 1), 2)) for _ in range(20)]

    async def select_ranges(browser: Browser) -> list[list[str]]:
        await browser.open(f"{site.base}/{mixed}?landing")
        return [await browser.evaluate(f"{SELECT}({one[0]}, {one[1]})") for one in ranges]

    named = run_browser(select_ranges)
    for (start, stop), (name, note) in zip(ranges, named, strict=True):
        assert name == point(site, mixed, start, stop)["identifier"]
        plain = not re.search("[\u2400\u240c]", SHOWN[start:stop])
        assert note == ("✓ exactly what you selected" if plain else note)


SELECT_ALL = """(async (ranges) => {
    const wait = window.setTimeout;
    window.setTimeout = (work) => wait(work, 0);
    const text = document.getElementById("readable"), place = document.getElementById("pointed");
    const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT), places = [], found = [];
    for (let node = walk.nextNode(); node; node = walk.nextNode())
        for (let at = 0; at <= node.length; at++)
            if (!/^[\\uDC00-\\uDFFF]/.test(node.data.slice(at, at + 1))) places.push([node, at]);
    for (const [start, stop] of ranges) {
        const range = document.createRange();
        range.setStart(...places[start]); range.setEnd(...places[stop]);
        place.replaceChildren();
        getSelection().removeAllRanges(); getSelection().addRange(range);
        for (let turn = 0; turn < 500 && !place.querySelector("code"); turn++)
            await new Promise(done => wait(done, 5));
        found.push(place.querySelector("code")?.textContent ?? place.textContent);
    }
    return found;
})"""
LATIN = "one\rtwo \xe9\r\nthree\n\xa0four \xdf\r\rfive\n" * 40
DOCUMENTS = {
    "rfc2616.txt": ("", "us-ascii"),
    "html40.txt": ("", "iso-8859-1"),
    "every line break": (MIXED * 20, "utf-8"),
    "lone CRs": (LATIN, "iso-8859-1"),
}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_fifty_selections_have_the_digest_of_their_characters(
    site: Deployment, document: str
) -> None:
    """ "50 seeded selections on each of eight documents compared by digest": four are HTML, see
    `test_view`. The expected bytes are cut out of the source here: a line break of any kind is
    one character, and CRLF in a part (PDI section 3.4.1)."""
    source, charset = DOCUMENTS[document]
    if not source and not CORPUS.exists():
        pytest.skip("the corpus of real documents is not here")
    data = source.encode(charset) if source else (CORPUS / document).read_bytes()
    name = site.mint(text(data, charset=charset))
    characters = re.findall(r"\r\n|.", data.decode(charset).removeprefix("\ufeff"), re.DOTALL)
    shown = min(len(characters), 20_000)
    chance = random.Random(2068)
    ranges = [sorted(chance.sample(range(1, shown), 2)) for _ in range(50)]

    async def select_ranges(browser: Browser) -> list[str]:
        await browser.open(f"{site.base}/{name}?landing")
        found: list[str] = await browser.evaluate(f"{SELECT_ALL}({json.dumps(ranges)})")
        return found

    for (start, stop), named in zip(ranges, run_browser(select_ranges), strict=True):
        expected = "".join("\r\n" if one in "\r\n" else one for one in characters[start:stop])
        answer = site.get(f"/{quote(named, safe=':/=,.')}?bytes")
        assert answer.status == 200, named
        digest = base64.b64encode(hashlib.sha512(expected.encode(charset)).digest()).decode()
        assert answer.headers["repr-digest"] == f"sha-512=:{digest}:", (start, stop, named)
        assert answer.body == expected.encode(charset)


def test_a_name_can_be_copied(site: Deployment, mixed: str) -> None:
    async def press_copy(browser: Browser) -> str:
        await browser.open(f"{site.base}/{mixed}?landing")
        await browser.evaluate(
            "navigator.clipboard.writeText = text => (window.copied = text, Promise.resolve())"
        )
        await browser.evaluate("document.querySelector('button.copy').click()")
        await asyncio.sleep(0)
        return str(await browser.evaluate("window.copied"))

    assert run_browser(press_copy) == str(parse(mixed))
