"""Annotorious in Chromium reads the annotations of a picture, and writes one back.

It is a client of the Web Annotation model that others use; `make unit` installs it.
"""

from __future__ import annotations

import base64
import json
import os
import struct
from pathlib import Path
from typing import Any
from zlib import compress, crc32

import pytest
from tests.server.browser import Browser, run_browser
from tests.server.deployment import SERIES, Deployment, text

from perdure.model.assertions import CONTEXT

PROJECT = Path(__file__).parents[2]
SCRIPT = (
    Path(os.environ.get("PERDURE_ANNOTORIOUS", PROJECT / ".oracles")).resolve()
    / "node_modules/@annotorious/annotorious/dist/annotorious.js"
)
MEDIA = "http://www.w3.org/TR/media-frags/"

pytestmark = pytest.mark.skipif(
    not SCRIPT.exists(), reason="Annotorious is not installed (make unit)"
)


def draw_picture() -> bytes:
    """A grey picture of 300 x 200 pixels (PNG)."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", crc32(kind + body))

    rows = (b"\0" + b"\x80" * 300) * 200
    head = struct.pack(">IIBBBBB", 300, 200, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def test_annotorious_reads_and_writes(site: Deployment, tmp_path: Path) -> None:
    token = site.token("ann", operations=("assert",), authorities=(SERIES,))
    name = site.mint(text(draw_picture(), format="png", media_type="image/png"))
    source = f"{site.base}/{name}"
    document = {
        "@context": CONTEXT,
        "type": "Annotation",
        "body": [{"type": "TextualBody", "purpose": "commenting", "value": "The lake."}],
        "target": {
            "source": source,
            "selector": {
                "type": "FragmentSelector",
                "conformsTo": MEDIA,
                "value": "xywh=pixel:5,6,70,80",
            },
        },
    }
    container = f"/annotations/{SERIES}/"
    made = site.post(container, document, "Content-Type: application/ld+json", token=token)
    assert made.status == 201
    page = tmp_path / "page.html"
    page.write_text(
        f"""<!doctype html><img id="picture" width="300" height="200"
        src="data:image/png;base64,{base64.b64encode(draw_picture()).decode()}">
        <script src="{SCRIPT.as_uri()}"></script>"""
    )
    load = f"""(async () => {{
        window.anno = Annotorious.createImageAnnotator("picture",
            {{adapter: Annotorious.W3CImageFormat({json.dumps(source)})}});
        await anno.loadAnnotations({json.dumps(f"{source}?assertions&form=array")});
        return anno.getAnnotations();
    }})()"""
    write = f"""(async () => {{
        const one = anno.getAnnotations()[0];
        one.body[0].value = "The lake in winter.";
        const answer = await fetch(one.id, {{method: "PUT", body: JSON.stringify(one), headers: {{
            "Content-Type": "application/ld+json", "Authorization": "Bearer {token}",
            "If-Match": (await fetch(one.id)).headers.get("ETag")}}}});
        return [answer.status, (await answer.json()).id];
    }})()"""

    async def annotate(browser: Browser) -> list[Any]:
        await browser.open(page.as_uri())
        return [await browser.evaluate(load), await browser.evaluate(write)]

    loaded, written = run_browser(annotate)
    (shown,) = loaded
    assert shown["body"][0]["value"] == "The lake."
    assert shown["target"]["selector"]["value"] == "xywh=pixel:5,6,70,80"
    assert written == [200, made.headers["location"]]
    (item,) = json.loads(site.get(f"/{name}%23xywh=0,0,10,10?assertions").body)["items"]
    assert item["body"][0]["value"] == "The lake in winter."
    assert item["registry"]["scope"] == "overlapping"
