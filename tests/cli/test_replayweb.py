"""ReplayWeb.page in Chromium plays the WACZ packages that `collection extract` writes."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web
from tests.archives.warcs import Warc
from tests.cli.browser import CHROMIUM, Browser, running_browser
from tests.cli.conftest import Shell

PROJECT = Path(__file__).parents[2]
PLAYER = (
    Path(os.environ.get("PERDURE_REPLAYWEB", PROJECT / ".oracles")).resolve()
    / "node_modules"
    / "replaywebpage"
)
SITE = "http://site.example/"
DATE = "2020-01-02T03:04:05Z"
TIME = "20200102030405"
PAGE = b"""<!doctype html><title>T</title><link rel=stylesheet href=/style.css>
<p>kept for good</p><iframe src="/frame?a=1&amp;b=2"></iframe>"""
EMBED = """<!doctype html><script src="/ui.js"></script>
<replay-web-page source="/corpus.wacz" url="{url}" ts="{time}" replayBase="/replay/"
  embed="replayonly"></replay-web-page>"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (make debian)")
    if not (PLAYER / "ui.js").exists():
        pytest.skip("replaywebpage is not installed (make unit, with node and npm)")
    with running_browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def package(shell: Shell, tmp_path: Path) -> Path:
    """The package of a corpus with one page, which has a style, a frame and a redirect."""
    made = Warc(tmp_path / "a.warc.gz")
    made.response(SITE, DATE, PAGE)
    made.response(f"{SITE}style.css", DATE, b"p { text-transform: uppercase }",
                  media_type="text/css")  # fmt: skip
    made.response(f"{SITE}frame?a=1&b=2", DATE, b"", ("Location", "/framed"), status="302 Found")
    made.response(f"{SITE}framed", DATE, b"<p>in a frame")
    settings = shell.root / "perdure.toml"
    settings.write_text(settings.read_text() + 'archive_id = "own.example"\n')
    shell.run("archive", "add", str(made.finish()))
    (corpus,) = shell.lines(
        "collection", "make", "-", stdin=f"pwid:own.example:2020-01-02T03.04.05Z:page:{SITE}"
    )
    into = tmp_path / "corpus.wacz"
    shell.run("collection", "extract", corpus, "-o", str(into))
    return into


@pytest.fixture
def address(package: Path) -> Iterator[str]:
    """A web server with the package, and a page with the player in it."""
    embed = EMBED.format(url=SITE, time=TIME)
    files = {"/ui.js": PLAYER / "ui.js", "/replay/sw.js": PLAYER / "sw.js", "/corpus.wacz": package}

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path in files:
            return web.FileResponse(files[request.path])  # also in ranges
        if request.path in ("/", "/replay/"):
            text = embed if request.path == "/" else (PLAYER / "index.html").read_text()
            return web.Response(text=text, content_type="text/html")
        raise web.HTTPNotFound

    loop = asyncio.new_event_loop()
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    loop.run_until_complete(runner.setup())
    site = web.TCPSite(runner, "127.0.0.1", 0)
    loop.run_until_complete(site.start())
    port = runner.addresses[0][1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}/"
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(20)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(20)
    loop.close()


def test_replayweb_plays_an_extracted_package(browser: Browser, address: str) -> None:
    """The style applies to the page, and the frame shows where its redirect leads."""
    browser.open_page(address)
    frames = browser.wait_for_text("in a frame")
    shown = [text.strip() for _, text in frames]
    assert "KEPT FOR GOOD" in shown, frames
    assert "in a frame" in shown, frames
