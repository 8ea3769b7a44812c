"""The frame of every page: who runs the resolver, the way to the content, and the files it uses."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.browser import Browser, run_browser
from tests.server.deployment import Deployment, deployed, text

from perdure.errors import BadSettings
from perdure.server.pages.framing import load_frame
from perdure.settings import Settings

sys.path.append(str(Path(__file__).parents[2] / "tools"))
import vendor

BROWSER = "Accept: text/html"
LOGO = b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'


@pytest.fixture(scope="module")
def framed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A resolver of an institution."""
    root = tmp_path_factory.mktemp("framed") / "registry"
    root.mkdir()
    (root / "freedonia.svg").write_bytes(LOGO)
    with deployed(
        root,
        institution="Archives of Freedonia <&>",
        institution_url="https://archives.example/",
        policy_url="https://archives.example/policy",
        contact="ids@archives.example",
        logo="freedonia.svg",
        colour="#7A0019",
    ) as running:
        yield running


def find_addresses(site: Deployment) -> dict[str, str]:
    """The addresses of the assets of the start page, by the names of their files."""
    body = site.get("/", BROWSER).body.decode()
    return {one.rpartition("/")[2]: one for one in re.findall(r'"(/assets/[^"]*)"', body)}


def test_every_page_says_who_runs_the_resolver(framed: Deployment) -> None:
    name = framed.mint(text(b"a text"))
    for path in ("/", f"/{name}?landing", f"/{name}?info", "/nowhere", "/search?q=x", "/nothing:x"):
        body = framed.get(path, BROWSER).body.decode()
        assert "Archives of Freedonia &lt;&amp;&gt;</span>" in body, path
        for address in (
            "https://archives.example/",
            "https://archives.example/policy",
            "mailto:ids@archives.example",
        ):
            assert f'href="{address}"' in body, path


def test_assets_keep_their_addresses_for_ever(framed: Deployment) -> None:
    """ "immutable … the server will not update the resource's representation" (RFC 8246, 2)."""
    found = find_addresses(framed)
    assert sorted(found) == ["logo.svg", "style.css"]
    style = framed.get(found["style.css"])
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in style.headers["cache-control"]
    assert b"--accent: #7a0019" in style.body
    logo = framed.get(found["logo.svg"])
    assert logo.headers["content-type"] == "image/svg+xml"
    assert logo.body == LOGO
    assert "sandbox" in logo.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path", ["/assets/0123456789abcdef/style.css", "/assets/x/../../perdure.toml", "/assets/a/b"]
)
def test_nothing_else_is_an_asset(framed: Deployment, path: str) -> None:
    assert framed.get(path).status == 404


def test_the_addresses_follow_the_content(tmp_path: Path) -> None:
    one = load_frame(Settings(), tmp_path)
    other = load_frame(Settings(colour="#102030"), tmp_path)
    assert one.style == load_frame(Settings(), tmp_path).style
    assert one.style != other.style


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"colour": "#ffff00"}, "contrast"),
        ({"colour": "red"}, "six hexadecimal digits"),
        ({"colour": "#0b57a4;}"}, "six hexadecimal digits"),
        ({"logo": "../logo.svg"}, "name of a file"),
        ({"institution": "two\nlines"}, "one line"),
        ({"policy_url": "javascript:alert(1)"}, "http(s) URL"),
    ],
)
def test_an_unusable_frame_is_refused(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(BadSettings, match=re.escape(fault)):
        Settings(**settings)


@pytest.mark.parametrize(
    ("name", "data", "fault"),
    [
        ("logo.bmp", b"", "does not end in"),
        ("missing.png", None, "No such file"),
        ("large.png", bytes(300_000), "more than 262,144 bytes"),
    ],
)
def test_an_unusable_logo_is_refused(
    tmp_path: Path, name: str, data: bytes | None, fault: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(BadSettings, match=fault):
        load_frame(Settings(logo=name), tmp_path)


def test_a_page_in_a_frame_has_no_head_and_foot(framed: Deployment) -> None:
    """ "Sec-Fetch-Dest … exposes a request's destination" (Fetch Metadata Request Headers, 2.1)."""
    path = f"/{framed.mint(text(b'cited'))}?citedby"
    alone = framed.get(path, BROWSER)
    inside = framed.get(path, BROWSER, "Sec-Fetch-Dest: iframe")
    assert b"<footer>" in alone.body
    assert b"<footer>" not in inside.body
    assert b"<header>" not in inside.body
    assert "sec-fetch-dest" in inside.headers["vary"]


def test_the_first_tab_leads_to_the_content(framed: Deployment) -> None:
    """ "A mechanism is available to bypass blocks of content" (WCAG 2.2, 2.4.1); its target is at
    least 24 pixels high (2.5.8)."""

    async def press_keys(browser: Browser) -> list[object]:
        await browser.open(f"{framed.base}/")
        for kind in ("keyDown", "keyUp"):
            await browser.call(
                "Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9
            )
        focused = await browser.evaluate("document.activeElement.textContent")
        small = await browser.evaluate(
            """[...document.querySelectorAll("header a, header button, header input, nav a,"""
            """ footer a, main button, main input")].filter(one =>"""
            """ one.getBoundingClientRect().height < 24).map(one => one.outerHTML)"""
        )
        logo = await browser.evaluate("document.querySelector('header img').naturalWidth")
        return [focused, small, logo]

    assert run_browser(press_keys) == ["Skip to the content", [], 8]


def test_scripts_of_others_are_as_their_authors_released_them() -> None:
    for script in vendor.list_scripts():
        for key, file in (("sha256", "file"), ("licence_sha256", "licence")):
            data = (vendor.VENDOR / script[file]).read_bytes()
            assert hashlib.sha256(data).hexdigest() == script[key]
    kept = {one.name for one in vendor.VENDOR.iterdir()} - {"vendor.toml"}
    assert kept == {one[key] for one in vendor.list_scripts() for key in ("file", "licence")}
