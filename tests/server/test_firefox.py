"""What readers do on a landing page, in Firefox: point, verify, open a part."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.server.deployment import Deployment, text
from tests.server.firefox import Firefox, run_firefox

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
LINES = b"".join(b"Line %04d of a letter about herons.\r\n" % number for number in range(1000))
PAGE = b"<!DOCTYPE html><title>Page</title><h1>Herons</h1><p>They have <b>settled</b> in.</p>"
POINTED = "[...document.querySelectorAll('.pointed code')].map((one) => one.textContent)[0]"
NOTE = "[...document.querySelectorAll('.pointed span')].map((one) => one.textContent)[0]"


def draw_picture() -> bytes:
    data = io.BytesIO()
    Image.effect_noise((400, 300), 60).convert("RGB").save(data, "png")
    return data.getvalue()


@pytest.fixture(scope="module")
def names(site: Deployment) -> dict[str, str]:
    found = {
        "text": site.mint(text(LINES)),
        "html": site.mint(text(PAGE, "html", "text/html")),
        "picture": site.mint(text(draw_picture(), "png", "image/png")),
        "table": site.mint(text(b"name,year\nHeron,1997\nStork,1998\n", "csv", "text/csv")),
    }
    if CORPUS.exists():
        sound = (CORPUS / "us-vp2.au").read_bytes()
        found["sound"] = site.mint(text(sound, "basic", "audio/basic"))
    return found


def test_a_landing_page_works_in_firefox(site: Deployment, names: dict[str, str]) -> None:
    """One start of the browser for all, because it takes seconds."""

    async def walk(firefox: Firefox) -> dict[str, Any]:
        seen: dict[str, Any] = {}

        async def point(kind: str) -> None:
            named = await firefox.wait_for(POINTED)
            seen[kind] = named.removeprefix(names[kind]), await firefox.evaluate(NOTE)

        await firefox.open(f"{site.base}/{names['text']}?landing")
        await firefox.drag("#readable", 60, 60, 240, 100)
        await point("text")
        await firefox.evaluate("document.querySelector('.verify button').click()")
        seen["verified"] = await firefox.wait_for(
            "document.querySelector('.verify output').textContent"
        )
        await firefox.open(f"{site.base}/{names['html']}?landing")
        frame = await firefox.find_frame("?view")
        await firefox.evaluate("document.querySelector('b').click()", frame)
        await point("html")
        seen["height"] = await firefox.evaluate(
            "document.querySelector('.document-frame').getBoundingClientRect().height"
        )
        await firefox.open(f"{site.base}/{names['picture']}?landing")
        await firefox.drag(".panes", 20, 30, 120, 90)
        await point("picture")
        seen["scale"] = await firefox.evaluate(
            "400 / document.querySelector('.panes').getBoundingClientRect().width"
        )
        await firefox.open(f"{site.base}/{names['table']}?landing")
        await firefox.evaluate("document.querySelector('tr[data-row=\"2\"] td').click()")
        await point("table")
        if "sound" in names:
            await firefox.open(f"{site.base}/{names['sound']}?landing")
            await firefox.drag(".waveform .panes", 100, 30, 300, 40)
            await point("sound")
        # Last: Firefox loses the end of a navigation that follows one of the page itself.
        await firefox.evaluate(f"void (location.href = '{site.base}/{names['text']}#char=5,9')")
        seen["marked"] = await firefox.wait_for("document.querySelector('mark#part')?.textContent")
        return seen

    seen = run_firefox(walk)
    selected, note = seen["text"]
    first, last = (int(one) for one in selected.removeprefix("#char=").split(","))
    assert 0 < first < last < len(LINES)
    assert note == "\u2713 exactly what you selected"
    assert seen["verified"].startswith("\u2713")
    element, note = seen["html"]
    assert note == "\u2713 exactly this element"
    part = site.get(f"/{names['html']}{element.replace('#', '%23')}?bytes")
    assert part.body == b"<b>settled</b>"
    assert 20 < seen["height"] < 200
    left, top = (math.floor(one * seen["scale"]) for one in (20, 30))
    right, bottom = (math.ceil(one * seen["scale"]) for one in (120, 90))
    assert seen["picture"][0] == f"#rect=({left},{top}),({right},{bottom})"
    assert seen["table"] == ("#row=2", "\u2713 exactly these rows")
    assert seen.get("sound", ("#msec=", "\u2713"))[0].startswith("#msec=")
    assert seen["marked"] == LINES[5:9].decode()
