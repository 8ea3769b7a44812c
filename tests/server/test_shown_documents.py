"""What a landing page says of a document, and how much room it takes: no frame is mostly empty.

The words are those of issue 20, C: "title, what it is, the PID with copy, preview …".
"""

from __future__ import annotations

from typing import Any

import pytest
from lxml import html
from tests.server.browser import Browser, run_browser
from tests.server.deployment import Deployment, text
from tests.server.test_members import document

from perdure.ids import parse
from perdure.model.collection import CollectionMember
from perdure.model.commands import Content, Withdraw
from perdure.server.pages.kinds import name_kind

_HTML = "Accept: text/html"
_SHORT = b"<!DOCTYPE html><title>Short</title><p>One line."
_ASSERTIONS = "section[aria-labelledby='assertions'] iframe"


def read_page(site: Deployment, name: str) -> Any:
    return html.fromstring(site.get(f"/{name}?landing", _HTML).body)


def read_section(page: Any, label: str) -> str:
    (found,) = page.xpath(f"//section[@aria-labelledby='{label}']")
    return " ".join(found.text_content().split())


@pytest.mark.parametrize(
    ("media_type", "word"),
    [
        ("text/plain; charset=utf-8", "Text"),
        ("text/html", "Web page"),
        ("image/tiff", "Picture"),
        ("application/pdf", "PDF document"),
        ("application/octet-stream", "Document"),
    ],
)
def test_each_media_type_has_a_word(media_type: str, word: str) -> None:
    assert name_kind(media_type) == word


def test_a_page_says_what_the_document_is(site: Deployment) -> None:
    page = read_page(site, site.mint(text(b"a,b\n1,2\n", "csv", "text/csv")))
    facts = [one.text_content() for one in page.xpath("//p[@class='facts']/*")]
    assert facts[:2] == ["Table", "8 bytes"]


def test_a_page_says_nothing_of_the_kind_of_what_was_withdrawn(site: Deployment) -> None:
    name = site.mint(text(b"Gone.")).rsplit(".", 2)[0]
    site.do(Withdraw(identifier=parse(name), reason="wrong"))
    assert not read_page(site, name).xpath("//p[@class='facts']")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (text(b""), "The document is empty."),
        (text(b"<!DOCTYPE html><img src=x>", "html", "text/html"), "The document has no text."),
    ],
)
def test_a_page_says_that_there_is_no_text(site: Deployment, content: Content, words: str) -> None:
    page = read_page(site, site.mint(content))
    assert read_section(page, "text") == f"Text {words}"
    assert not page.xpath("//pre")


def test_a_page_says_that_it_cannot_show_a_document(site: Deployment) -> None:
    page = read_page(site, site.mint(text(b"\0\1\2", "octet-stream", "application/octet-stream")))
    assert "This page cannot show documents of this kind." in page.text_content()
    shown = read_page(site, site.mint(text(b"Shown.")))
    assert "This page cannot show" not in shown.text_content()


def measure(site: Deployment, name: str, until: str, *selectors: str) -> list[float]:
    """The heights of frames in pixels, as soon as `until` is true of all, or after 20 seconds."""
    script = f"""new Promise(async (resolve) => {{
        const frames = {list(selectors)!r}.map((one) => document.querySelector(one));
        const read = () => frames.map((one) => one.getBoundingClientRect().height);
        for (let turn = 0; turn < 400 && !read().every((height) => {until}); turn++) {{
            frames[turn % frames.length].scrollIntoView();
            await new Promise((done) => setTimeout(done, 50));
        }}
        resolve(read());
    }})"""

    async def read_heights(browser: Browser) -> list[float]:
        await browser.open(f"{site.base}/{name}?landing")
        found: list[float] = await browser.evaluate(script)
        return found

    return run_browser(read_heights)


def test_frames_are_as_high_as_what_they_show(site: Deployment) -> None:
    """Without a script, each has a fixed height: 512 pixels, or 80."""
    short = site.mint(text(_SHORT, "html", "text/html"))
    heights = measure(site, short, "height < 75", ".document-frame", _ASSERTIONS)
    assert all(20 < one < 75 for one in heights), heights
    long = site.mint(text(_SHORT + b"<p>More." * 400, "html", "text/html"))
    (height,) = measure(site, long, "height > 300", ".document-frame")
    assert 300 < height <= 512


def test_the_page_of_a_collection_lists_its_members(site: Deployment) -> None:
    letter = site.mint(text(b"To whom it may concern\r\n"))
    corpus = site.mint(document(*(CollectionMember(identifier=letter) for _ in range(3))))

    async def read_members(browser: Browser) -> list[str]:
        await browser.open(f"{site.base}/{corpus}?landing")
        found: list[str] = await browser.evaluate(
            """new Promise((resolve) => { const look = () => {
            const frame = document.querySelector("section[aria-labelledby='members'] iframe");
            frame.scrollIntoView();
            const inner = frame.contentDocument;
            const links = [...(inner?.querySelectorAll("main li a") ?? [])];
            const target = inner?.querySelector("base")?.target;
            links.length ? resolve([...links.map((one) => one.textContent), target])
                         : setTimeout(look, 20); }; look(); })"""
        )
        return found

    assert run_browser(read_members) == [letter, letter, letter, "_top"]


def test_a_text_does_not_move_when_a_passage_of_it_is_named(site: Deployment) -> None:
    """The name is below the text, at the lower edge of the window."""
    name = site.mint(text(b"One line of many.\r\n" * 200))
    script = """(async () => {
        const text = document.getElementById("readable"), range = document.createRange();
        const place = document.getElementById("pointed"), before = text.getBoundingClientRect().top;
        range.setStart(text.firstChild, 4); range.setEnd(text.firstChild, 8);
        getSelection().addRange(range);
        const isSeen = () => {
            const { top, bottom, height } = place.getBoundingClientRect();
            return height > 0 && top > 0 && bottom <= innerHeight;
        };
        for (let turn = 0; turn < 500 && !isSeen(); turn++)
            await new Promise((done) => setTimeout(done, 20));
        return [text.getBoundingClientRect().top - before, isSeen()];
    })()"""

    async def select(browser: Browser) -> list[Any]:
        await browser.open(f"{site.base}/{name}?landing")
        found: list[Any] = await browser.evaluate(script)
        return found

    assert run_browser(select) == [0, True]
