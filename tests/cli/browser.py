"""Chromium without a window, driven over the pipe of its DevTools protocol."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_LONGEST = 60.0
"""Seconds to wait for an answer."""
_FRAMES = """
(() => {
  const texts = [];
  const visit = root => {
    for (const one of root.querySelectorAll("*")) {
      if (one.shadowRoot) visit(one.shadowRoot);
      if (one.localName !== "iframe" || !one.contentDocument) continue;
      texts.push([one.contentWindow.location.href, one.contentDocument.body?.innerText ?? ""]);
      visit(one.contentDocument);
    }
  };
  visit(document);
  return JSON.stringify(texts);
})()
"""
"""All frames of a page, in shadow trees, too, with their text."""


class Browser:
    """A running browser with one page."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._received = b""
        self._number = 0
        self._session = ""

    def open_page(self, url: str) -> None:
        target = self._call("Target.createTarget", url=url)["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]

    def list_frames(self) -> list[tuple[str, str]]:
        """Return the address and the text of each frame of the page."""
        result = self._call("Runtime.evaluate", expression=_FRAMES)["result"]
        return [(url, text) for url, text in json.loads(result.get("value", "[]"))]

    def wait_for_text(self, text: str) -> list[tuple[str, str]]:
        """Return the frames once one of them has this text, or after a while without it."""
        end = time.monotonic() + _LONGEST
        while True:
            frames = self.list_frames()
            if any(text in shown for _, shown in frames) or time.monotonic() > end:
                return frames
            time.sleep(0.1)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read_message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                result: dict[str, Any] = answer["result"]
                return result

    def _read_message(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._from], [], [], _LONGEST)
            piece = os.read(self._from, 1 << 16) if ready else b""
            if not piece:
                raise RuntimeError("the browser does not answer")
            self._received += piece
        text, _, self._received = self._received.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found


@contextmanager
def running_browser(profile: Path) -> Iterator[Browser]:
    """Start a browser with a new profile in a directory."""
    assert CHROMIUM is not None
    its_input, to_browser = os.pipe()
    from_browser, its_output = os.pipe()
    # The protocol of the pipe is spoken on the descriptors 3 and 4.
    command = f'exec "$0" "$@" 3<&{its_input} 4>&{its_output}'
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    alone = ["--no-first-run", "--disable-background-networking", "--disable-component-update"]
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    process = subprocess.Popen(
        ["/bin/bash", "-c", command, CHROMIUM, *options, *alone, *offline,
         "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
        pass_fds=(its_input, its_output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    os.close(its_input)
    os.close(its_output)
    try:
        yield Browser(to_browser, from_browser)
    finally:
        os.close(to_browser)
        os.close(from_browser)
        process.terminate()
        process.wait(20)
