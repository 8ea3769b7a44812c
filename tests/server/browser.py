"""Chromium without a window, over its DevTools protocol: pages as a reader's browser shows them.

`run_browser` starts it if it is installed, and skips the test otherwise. The tests of a process
share one Chromium. Each gets a tab in a context of its own, as a private window is: no cookie and
nothing cached is left from another test.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest

_T = TypeVar("_T")
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--autoplay-policy=no-user-gesture-required", "--mute-audio"),
    "--remote-debugging-port=0",
)
_NEEDED = frozenset({"Stylesheet", "Script", "Image", "Font", "XHR", "Fetch"})
_PATIENCE = 60  # seconds


class Browser:
    """One tab."""

    def __init__(self, wire: aiohttp.ClientWebSocketResponse, frame: str) -> None:
        self._wire = wire
        self._frame = frame
        self._numbers = itertools.count(1)
        self._is_loaded = self._is_leaving = False
        self._is_without_scripts = False
        self._address = ""
        self._under_way: set[str] = set()
        """The requests for what the page needs, by their numbers."""
        self.requests: list[str] = []
        """The addresses that it has asked for."""

    async def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Send a command to the tab, or to a frame in a process of its own."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        await self._wire.send_json(message | ({"sessionId": session} if session else {}))
        while True:
            answer = await self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    async def _receive(self) -> dict[str, Any]:
        """Receive a message, and note what it tells of the page."""
        message: dict[str, Any] = await self._wire.receive_json(timeout=_PATIENCE)
        told: dict[str, Any] = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
                if told.get("type") in _NEEDED:
                    self._under_way.add(told["requestId"])
            case "Network.loadingFinished" | "Network.loadingFailed":
                self._under_way.discard(told["requestId"])
            case "Page.frameRequestedNavigation" if told["frameId"] == self._frame:
                self._is_leaving = True
            case "Page.frameNavigated" if told["frame"]["id"] == self._frame:
                self._is_leaving = self._is_loaded = False
                self._address = told["frame"]["url"]
                self._under_way.clear()
            case "Page.navigatedWithinDocument" if told["frameId"] == self._frame:
                self._is_leaving = False
                self._address = told["url"]
            case "Page.lifecycleEvent" if told["frameId"] == self._frame:
                self._is_loaded |= told["name"] == "load"
        return message

    async def evaluate(self, script: str, session: str = "") -> Any:
        found = await self.call(
            "Runtime.evaluate",
            session,
            expression=script,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def forbid_scripts(self) -> None:
        """Run no script of a page from now on."""
        self._is_without_scripts = True
        await self.call("Emulation.setScriptExecutionDisabled", value=True)

    async def open(self, url: str) -> None:
        """Open a page, and wait until all is there: also what its scripts load, or lead to."""
        # Chromium only scrolls to another place of the page that it shows. An empty page between
        # the two prevents that, but after an empty page it starts a process.
        is_shown = self._address.partition("#")[0] == url.partition("#")[0]
        for address in ("about:blank", url) if is_shown else (url,):
            self._is_loaded = self._is_leaving = False
            found = await self.call("Page.navigate", url=address)
            assert "errorText" not in found, f"{url} did not load: {found['errorText']}"
            await self._receive_page()
        before = -1
        # A script that has just arrived may ask for more. No timer runs without scripts.
        while before != len(self.requests) and not self._is_without_scripts:
            before = len(self.requests)
            await self.evaluate("new Promise(done => setTimeout(done))")
            await self._receive_page()

    async def _receive_page(self) -> None:
        while self._is_leaving or self._under_way or not self._is_loaded:
            await self._receive()

    async def attach_frame(self, beginning: str) -> str:
        """Return the session of the frame whose address begins so, which has an own process."""
        for _ in range(_PATIENCE * 10):
            for one in (await self.call("Target.getTargets"))["targetInfos"]:
                if one["type"] == "iframe" and one["url"].startswith(beginning):
                    found = await self.call(
                        "Target.attachToTarget", targetId=one["targetId"], flatten=True
                    )
                    return str(found["sessionId"])
            await asyncio.sleep(0.1)
        raise AssertionError(f"no frame has {beginning}")

    async def set_width(self, width: int) -> None:
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=True,
        )


class Chromium:
    """A running browser, which has no tab yet."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="perdure-chromium-")
        place = Path(self._profile.name)
        self.process = subprocess.Popen(
            [program, *_FLAGS, f"--user-data-dir={place}", "about:blank"],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"HOME": str(place)},
            start_new_session=True,
        )
        self.host = self.path = ""
        """Where it listens; empty if it did not start."""
        listens = place / "DevToolsActivePort"
        while not self.path and self.process.poll() is None:
            time.sleep(0.02)
            if listens.exists():
                port, _, self.path = listens.read_text("utf-8").partition("\n")
                self.host = f"127.0.0.1:{port}"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        with suppress(ProcessLookupError):  # its other processes may still write to the profile
            for _ in range(_PATIENCE):
                os.killpg(self.process.pid, signal.SIGKILL)
                time.sleep(0.02)
        self._profile.cleanup()


def find_chromium() -> str | None:
    """The path of an installed Chromium, or None."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


@cache
def _start_chromium() -> Chromium:
    program = find_chromium()
    if program is None:
        pytest.skip("Chromium is not installed")
    chromium = Chromium(program)
    atexit.register(chromium.stop)
    return chromium


def run_browser(work: Callable[[Browser], Awaitable[_T]]) -> _T:
    """Do something in a new tab, which knows nothing of those before."""
    chromium = _start_chromium()
    if not chromium.path:
        pytest.skip("Chromium does not start here")
    return asyncio.run(_open_tab(chromium, work))


async def _open_tab(chromium: Chromium, work: Callable[[Browser], Awaitable[_T]]) -> _T:
    base = f"ws://{chromium.host}"
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{base}{chromium.path}") as wire,
    ):
        keeper = Browser(wire, "")
        context = (await keeper.call("Target.createBrowserContext"))["browserContextId"]
        created = await keeper.call(
            "Target.createTarget", url="about:blank", browserContextId=context
        )
        frame = created["targetId"]  # the tab and its main frame have the same name
        try:
            async with session.ws_connect(f"{base}/devtools/page/{frame}", max_msg_size=0) as page:
                browser = Browser(page, frame)
                for domain in ("Page", "Runtime", "Network"):
                    await browser.call(f"{domain}.enable")
                await browser.call("Page.setLifecycleEventsEnabled", enabled=True)
                return await work(browser)
        finally:
            await keeper.call("Target.disposeBrowserContext", browserContextId=context)
