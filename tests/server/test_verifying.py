"""Readers verify a document: in the browser, and by the command that the page gives them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.server.browser import Browser, run_browser
from tests.server.deployment import Deployment, resource, text

from perdure.ids import parse
from perdure.model.commands import Withdraw
from perdure.server.pages.framing import load_frame
from perdure.settings import Settings

BROWSER = "Accept: text/html"
PRESS = """(async () => {
    const place = document.querySelector('.verify'), told = place.querySelector('output');
    const wait = () => new Promise(done => setTimeout(done, 20));
    for (let turn = 0; turn < 300 && place.hidden; turn++) await wait();
    place.querySelector('button').click();
    for (let turn = 0; turn < 500 && !told.textContent; turn++) await wait();
    return told.textContent;
})()"""


def find_command(page: bytes) -> str:
    found = re.search(r'<code class="command"[^>]*>([^<]*sha512sum[^<]*)</code>', page.decode())
    assert found is not None
    return unescape(found[1])


def press_verify(site: Deployment, name: str, *, before: str = "0") -> tuple[Any, ...]:
    async def verify(browser: Browser) -> tuple[Any, ...]:
        await browser.open(f"{site.base}/{name}?landing")
        await browser.evaluate(before)
        told = await browser.evaluate(PRESS)
        return told, [one for one in browser.requests if not one.startswith(site.base)]

    return run_browser(verify)


def test_the_browser_verifies_a_document(site: Deployment) -> None:
    data = os.urandom(3_000_000)
    name = site.mint(text(data, "bin", "application/octet-stream"))
    told, others = press_verify(site, name)
    assert told == "✓ 3\u202f000\u202f000 bytes received, with exactly this SHA-512."
    assert [one for one in others if not one.startswith("about:")] == []


def test_the_browser_notices_another_digest(site: Deployment) -> None:
    """The digest is compared with that of the page, by a program that is not ours."""
    name = site.mint(text(b"one and one"))
    change = "document.querySelector('.verify').dataset.sha512 = '0'.repeat(128)"
    told, _others = press_verify(site, name, before=change)
    digest = hashlib.sha512(b"one and one").hexdigest()
    assert told == f"✗ Not the same: the SHA-512 of the bytes received is {digest}."


@pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("sha512sum") is None,
    reason="curl or sha512sum is not installed",
)
def test_the_command_verifies_a_document(site: Deployment, tmp_path: Path) -> None:
    name = site.mint(text(b"one and one"))
    command = find_command(site.get(f"/{name}?landing", BROWSER).body)
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    (file,) = tmp_path.iterdir()
    assert (file.read_bytes(), done.stdout) == (b"one and one", f"{file.name}: OK\n")
    wrong = command.replace(hashlib.sha512(b"one and one").hexdigest(), "0" * 128)
    failed = subprocess.run(["sh", "-c", wrong], cwd=tmp_path, capture_output=True, check=False)
    assert failed.returncode == 1


def test_withdrawn_documents_are_not_verified(site: Deployment) -> None:
    name = site.mint(text(b"soon gone"))
    site.do(Withdraw(identifier=parse(resource(name)), reason="x"))
    page = site.get(f"/{name}?landing", BROWSER)
    assert page.status == 410
    assert b'class="verify"' not in page.body
    assert b"sha512sum" not in page.body


def test_only_the_worker_may_compile(tmp_path: Path) -> None:
    """Content Security Policy 3, 4.4: 'wasm-unsafe-eval' "allows the execution of WebAssembly"."""
    frame = load_frame(Settings(), tmp_path)
    allowed = {place for place, one in frame.assets.items() if "wasm-unsafe-eval" in one.policy}
    directory = frame.hashing.rpartition("/")[0]
    assert allowed == {f"{directory}/hashing.js", f"{directory}/hash-wasm.js"}
    assert all(
        "sandbox" in one.policy for place, one in frame.assets.items() if place not in allowed
    )


def test_what_is_hidden_is_not_shown(site: Deployment) -> None:
    """HTML, 6.1: "the user agent should not render" it, whatever the style of its class."""
    name = site.mint(text(b"one and one"))
    script = """[...document.querySelectorAll('[hidden]')]
        .filter(one => one.getBoundingClientRect().height).map(one => one.outerHTML)"""

    async def measure(browser: Browser) -> Any:
        await browser.open(f"{site.base}/{name}?landing")
        return await browser.evaluate(script)

    assert run_browser(measure) == []
