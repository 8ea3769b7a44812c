"""`tools/screenshots.py`: makes the pictures of pages that the README shows.

How it works: it mints a short text in a registry of its own, serves it, and takes pictures of the
page of one of its sentences in Chromium, light and dark. The text and the name are always the same,
so a picture changes only if the pages do.

    python tools/screenshots.py        # writes docs/images/*.png
"""

from __future__ import annotations

import base64
import importlib
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import URLError

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / "tests/server"))

run_browser = importlib.import_module("browser").run_browser

IMAGES = PROJECT / "docs/images"
SERIES, DAY, PORT = "archives.example.us", "1863/11/19", 18863
TEXT = """\
Four score and seven years ago our fathers brought forth on this continent, a new nation,
conceived in Liberty, and dedicated to the proposition that all men are created equal.

Now we are engaged in a great civil war, testing whether that nation, or any nation so conceived
and so dedicated, can long endure. We are met on a great battle-field of that war. We have come to
dedicate a portion of that field, as a final resting place for those who here gave their lives that
that nation might live. It is altogether fitting and proper that we should do this.

But, in a larger sense, we can not dedicate -- we can not consecrate -- we can not hallow -- this
ground. The brave men, living and dead, who struggled here, have consecrated it, far above our poor
power to add or detract. The world will little note, nor long remember what we say here, but it can
never forget what they did here. It is for us the living, rather, to be dedicated here to the
unfinished work which they who fought here have thus far so nobly advanced. It is rather for us to
be here dedicated to the great task remaining before us -- that from these honored dead we take
increased devotion to that cause for which they gave the last full measure of devotion -- that we
here highly resolve that these dead shall not have died in vain -- that this nation, under God,
shall have a new birth of freedom -- and that government of the people, by the people, for the
people, shall not perish from the earth.
"""
QUOTED = "The world will little note, nor long remember what we say here"
WIDTH, HEIGHT = 1280, 1100  # pixels
_PATIENCE = 100  # attempts


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as directory:
        registry = Path(directory) / "registry"
        text = Path(directory) / "address.txt"
        text.write_text(TEXT)
        run_perdure(registry, "init", str(registry), "--series", SERIES)
        about = {"creator": "Lincoln, Abraham", "date": DAY.replace("/", "-")}
        given = [word for name, value in about.items() for word in ("--meta", f"{name}={value}")]
        given += ["--title", "Gettysburg Address"]
        run_perdure(registry, "mint", "--series", SERIES, "--day", DAY, *given, str(text))
        start = TEXT.replace("\n", "\r\n").index(QUOTED)
        part = f"char={start},{start + len(QUOTED)}"
        page = f"http://127.0.0.1:{PORT}/pdi://{SERIES}/{DAY}/1.text.1%23{part}"
        command = [sys.executable, "-m", "perdure.cli", "-C", str(registry), "serve"]
        with subprocess.Popen([*command, "--port", str(PORT), "--workers", "1"]) as server:
            try:
                wait_for(f"http://127.0.0.1:{PORT}/readyz")
                run_browser(Path(directory) / "browser", lambda browser: take_all(browser, page))
            finally:
                server.terminate()


def run_perdure(registry: Path, *arguments: str) -> None:
    """Run a command. Raises CalledProcessError."""
    command = [sys.executable, "-m", "perdure.cli"]
    command += [] if arguments[0] == "init" else ["-C", str(registry)]
    subprocess.run([*command, *arguments], check=True)


def wait_for(url: str) -> None:
    """Wait until a server answers. Raises TimeoutError."""
    for _ in range(_PATIENCE):
        try:
            urllib.request.urlopen(url).close()
        except URLError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(url)


async def take_all(browser: Any, page: str) -> None:
    """Take all pictures of a page."""
    IMAGES.mkdir(exist_ok=True)
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    await browser.call("Emulation.setDeviceMetricsOverride", **size)
    for scheme in ("light", "dark"):
        preferred = {"name": "prefers-color-scheme", "value": scheme}
        await browser.call("Emulation.setEmulatedMedia", features=[preferred])
        await browser.open(page)
        shot = await browser.call("Page.captureScreenshot", format="png")
        (IMAGES / f"landing-{scheme}.png").write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
