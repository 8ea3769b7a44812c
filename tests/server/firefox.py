"""Firefox without a window, over WebDriver BiDi (https://w3c.github.io/webdriver-bidi/).

`run_firefox` starts it if it is installed (Debian: firefox-esr), and skips the test otherwise. It
does what `tests.server.browser` does with Chromium, as far as a test needs it here.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest

_T = TypeVar("_T")
_PROGRAMS = ("firefox-esr", "firefox")
_PATIENCE = 60  # seconds
_PREFERENCES = """user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("app.update.enabled", false);
user_pref("services.settings.server", "data:,");
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
"""


class Firefox:
    """One tab."""

    def __init__(self, wire: aiohttp.ClientWebSocketResponse) -> None:
        self._wire = wire
        self._numbers = itertools.count(1)
        self.tab = ""

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and wait for its result."""
        number = next(self._numbers)
        await self._wire.send_json({"id": number, "method": method, "params": parameters})
        while True:
            answer = await self._wire.receive_json(timeout=_PATIENCE)
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                result: dict[str, Any] = answer["result"]
                return result

    async def open(self, url: str) -> None:
        """Open a page, and wait until everything is loaded."""
        await self.call("browsingContext.navigate", context=self.tab, url=url, wait="complete")

    async def evaluate(self, script: str, frame: str = "") -> Any:
        """The value of an expression, or of its promise, which JSON can write."""
        found = await self.call(
            "script.evaluate",
            expression=f"Promise.resolve({script}).then((one) => JSON.stringify([one ?? null]))",
            target={"context": frame or self.tab},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])[0]

    async def wait_for(self, script: str) -> Any:
        """The value of an expression, as soon as it is true."""
        end = time.monotonic() + _PATIENCE
        while not (found := await self.evaluate(script)):
            assert time.monotonic() < end, script
            await asyncio.sleep(0.05)
        return found

    async def find_frame(self, part: str) -> str:
        """The context of the frame whose address contains a text."""
        end = time.monotonic() + _PATIENCE
        while True:
            tree = await self.call("browsingContext.getTree", root=self.tab)
            for one in tree["contexts"][0]["children"]:
                if part in one["url"]:
                    return str(one["context"])
            assert time.monotonic() < end, tree
            await asyncio.sleep(0.05)

    async def drag(self, selector: str, *way: int) -> None:
        """Drag the mouse over an element, from one place in it to another."""
        left, top = await self.evaluate(
            f"""(() => {{ const one = document.querySelector({json.dumps(selector)});
            one.scrollIntoView({{block: "start"}});
            const box = one.getBoundingClientRect(); return [box.left, box.top]; }})()"""
        )
        places = [(int(left) + way[at], int(top) + way[at + 1]) for at in (0, 2)]
        move = [{"type": "pointerMove", "x": x, "y": y, "duration": 50} for x, y in places]
        acts = [
            move[0],
            {"type": "pointerDown", "button": 0},
            move[1],
            {"type": "pointerUp", "button": 0},
        ]
        pointer = {"type": "pointer", "id": "mouse", "actions": acts}
        await self.call("input.performActions", context=self.tab, actions=[pointer])

    async def set_width(self, width: int) -> None:
        size = {"width": width, "height": 900}
        await self.call("browsingContext.setViewport", context=self.tab, viewport=size)


def find_firefox() -> str | None:
    """The path of an installed Firefox, or None."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


def run_firefox(work: Callable[[Firefox], Awaitable[_T]]) -> _T:
    """Do something in a Firefox of its own. Skips the test if none starts with BiDi."""
    program = find_firefox()
    if program is None:
        pytest.skip("Firefox is not installed (Debian: firefox-esr)")
    with tempfile.TemporaryDirectory(prefix="perdure-firefox-", ignore_cleanup_errors=True) as name:
        place = Path(name)
        (place / "user.js").write_text(_PREFERENCES, "utf-8")
        process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--profile", name, "--remote-debugging-port=0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": name},
        )
        try:
            return asyncio.run(_open_tab(_wait_for_address(place, process), work))
        finally:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_address(place: Path, process: subprocess.Popen[bytes]) -> str:
    listens = place / "WebDriverBiDiServer.json"
    end = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < end:
        if listens.exists() and (written := listens.read_text("utf-8").strip()).endswith("}"):
            found = json.loads(written)
            return f"ws://{found['ws_host']}:{found['ws_port']}/session"
        time.sleep(0.05)
    pytest.skip("Firefox does not start here, or not with WebDriver BiDi")


async def _open_tab(address: str, work: Callable[[Firefox], Awaitable[_T]]) -> _T:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(address, max_msg_size=0) as wire,
    ):
        firefox = Firefox(wire)
        await firefox.call("session.new", capabilities={})
        firefox.tab = (await firefox.call("browsingContext.create", type="tab"))["context"]
        await firefox.set_width(1280)
        return await work(firefox)
