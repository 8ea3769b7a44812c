"""Chromium without a window, over its DevTools protocol: pages as a reader's browser shows them.

`run_browser` starts it if it is installed, and skips the test otherwise.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Awaitable, Callable
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
_PATIENCE = 60  # seconds


class Browser:
    """One tab."""

    def __init__(self, wire: aiohttp.ClientWebSocketResponse) -> None:
        self._wire = wire
        self._numbers = itertools.count(1)
        self.requests: list[str] = []
        """The addresses that it has asked for."""

    async def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Send a command to the tab, or to a frame in a process of its own."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        await self._wire.send_json(message | ({"sessionId": session} if session else {}))
        while True:
            message = await self._wire.receive_json(timeout=_PATIENCE)
            if message.get("method") == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            if message.get("id") == number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result

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

    async def open(self, url: str) -> None:
        """Open a page, and wait until it and what it leads to are loaded."""
        await self.call("Page.navigate", url="about:blank")
        await self.call("Page.navigate", url=url)
        before = ""
        for _ in range(_PATIENCE * 10):
            await asyncio.sleep(0.1)
            there = await self.evaluate("document.readyState + ' ' + location.href")
            if there == before and there.startswith("complete") and "about:blank" not in there:
                return
            before = there
        raise AssertionError(f"{url} did not load")

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


def run_browser(place: Path, work: Callable[[Browser], Awaitable[_T]]) -> _T:
    """Do something in a new browser, whose files are in a directory."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        pytest.skip("Chromium is not installed")
    command = [program, *_FLAGS, f"--user-data-dir={place}", "about:blank"]
    environment = os.environ | {"HOME": str(place)}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment
    ) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                found = re.search(rb"DevTools listening on ws://([^/]+)/", line)
                if found:
                    break
            else:
                pytest.skip("Chromium does not start here")
            return asyncio.run(_connect(found[1].decode(), work))
        finally:
            process.terminate()


async def _connect(host: str, work: Callable[[Browser], Awaitable[_T]]) -> _T:
    async with aiohttp.ClientSession() as session:
        async with session.get(f"http://{host}/json/list") as answer:
            tabs = await answer.json(content_type=None)
        address = next(one["webSocketDebuggerUrl"] for one in tabs if one["type"] == "page")
        async with session.ws_connect(address, max_msg_size=0) as wire:
            browser = Browser(wire)
            for domain in ("Page", "Runtime", "Network"):
                await browser.call(f"{domain}.enable")
            return await work(browser)
