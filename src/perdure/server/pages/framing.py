"""The frame of every page of a resolver: who runs it, and the files that pages use.

How it works: `load_frame` reads the settings and the logo once. Assets have addresses that contain
digests (`/assets/<digest>/style.css`), so browsers keep them for ever, and a new one has a new
address. All scripts share one digest, so that each can import its neighbours; a worker shares one
with the script that it imports (`hashing`). `page.js` loads the
module that an element names (`data-script="text"`) and gives it the element. Scripts of
others are in `vendor`, with their licences and digests; what documents in frames use is in
`framed`.

What must stay true: an address of an asset never leads to another content; only the files that are
named here are served.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from perdure.errors.configuring import SettingUnreadable
from perdure.server.pages.languages import LANGUAGES
from perdure.server.pages.script_texts import SCRIPTS, write_translated_scripts
from perdure.server.pages.templates import render_template
from perdure.settings import Settings

LEAD = "assets"
"""The lead of the addresses of assets."""
LOGO_TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webp": "image/webp",
    ".jpg": "image/jpeg",
}
_LARGEST_LOGO = 256 << 10  # bytes
_DIGITS = 16  # of a digest, in an address
_FRAMED = Path(__file__).parent / "framed"
_HASHING = Path(__file__).parent / "hashing" / "hashing.js"
_HASHES = Path(__file__).parent / "vendor" / "hash-wasm.js"
_HASHING_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"
"""WebAssembly is compiled in the worker only (Content Security Policy 3, section 4.4)."""
_VIEWER = Path(__file__).parent / "vendor" / "openseadragon.js"


class Asset(msgspec.Struct, frozen=True):
    """A file that pages use."""

    media_type: str
    body: bytes
    policy: str = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    """Its Content-Security-Policy, which has an effect if it is opened, or started as a worker."""


class PageFrame(msgspec.Struct, frozen=True, kw_only=True):
    """The values that every page shows around its content."""

    institution: str = ""
    institution_url: str = ""
    policy_url: str = ""
    contact: str = ""
    is_searched: bool = False
    style: str = ""
    """The address of the style sheet."""
    script: str = ""
    """The address of the script of pages on which something can be copied or selected."""
    viewer: str = ""
    """The address of the script that zooms pictures, which pages load when it is needed."""
    viewer_digest: str = ""
    """The digest of that script, as Subresource Integrity writes it."""
    hashing: str = ""
    """The address of the worker that computes digests."""
    view_style: str = ""
    view_script: str = ""
    """The addresses of the style sheet and the script of documents that pages show in a frame."""
    logo: str = ""
    """The address of the logo, or an empty string."""
    icon: str = ""
    """The address of the picture that browsers show beside the title: the logo, if there is one."""
    assets: Mapping[str, Asset] = {}
    """The files behind these addresses."""
    is_inner: bool = False
    """True inside a frame of another page."""
    language: str = "en"
    """The language of the page, one of `LANGUAGES`."""
    address: str = "/"
    """The path and the query of the page."""

    @property
    def languages(self) -> Mapping[str, str]:
        return LANGUAGES

    @property
    def contact_url(self) -> str:
        return self.contact if "://" in self.contact else f"mailto:{self.contact}"


def load_frame(settings: Settings, root: Path) -> PageFrame:
    """Read what every page shows. `root` is the directory of the registry.

    Raises BadSettings if the logo cannot be read, or is too large or of another type.
    """
    style = render_template("style.css", colour=settings.colour)
    sheet = _make_address("style.css", style)
    assets = {sheet: Asset("text/css; charset=utf-8", style)}
    scripts = {one.name: one.read_bytes() for one in sorted(SCRIPTS.glob("*.js"))}
    scripts |= dict(write_translated_scripts())
    shared = b"".join(scripts.values())
    for name, body in scripts.items():
        assets[_make_address(name, shared)] = Asset("text/javascript; charset=utf-8", body)
    framed = {}
    for name, kind in (("view.css", "text/css"), ("view.js", "text/javascript")):
        body = (_FRAMED / name).read_bytes()
        framed[name] = _make_address(name, body)
        assets[framed[name]] = Asset(f"{kind}; charset=utf-8", body)
    hashing = {one.name: one.read_bytes() for one in (_HASHING, _HASHES)}
    worker = b"".join(hashing.values())
    for name, body in hashing.items():
        assets[_make_address(name, worker)] = _make_worker(body)
    viewer = _VIEWER.read_bytes()
    assets[_make_address(_VIEWER.name, viewer)] = Asset("text/javascript; charset=utf-8", viewer)
    logo = ""
    if settings.logo:
        found = _read_logo(settings.logo, root)
        logo = _make_address(f"logo{Path(settings.logo).suffix.lower()}", found.body)
        assets[logo] = found
    icon = logo
    if not logo:
        picture = render_template("icon.svg", colour=settings.colour)
        icon = _make_address("icon.svg", picture)
        assets[icon] = Asset(LOGO_TYPES[".svg"], picture)
    return PageFrame(
        institution=settings.institution,
        institution_url=settings.institution_url,
        policy_url=settings.policy_url,
        contact=settings.contact,
        is_searched=settings.search == "on",
        style=sheet,
        script=_make_address("page.js", shared),
        viewer=_make_address(_VIEWER.name, viewer),
        viewer_digest=f"sha256-{base64.b64encode(hashlib.sha256(viewer).digest()).decode()}",
        hashing=_make_address(_HASHING.name, worker),
        view_style=framed["view.css"],
        view_script=framed["view.js"],
        logo=logo,
        icon=icon,
        assets=assets,
    )


def _make_worker(body: bytes) -> Asset:
    return Asset("text/javascript; charset=utf-8", body, _HASHING_POLICY)


def _make_address(name: str, content: bytes) -> str:
    return f"/{LEAD}/{hashlib.sha256(content).hexdigest()[:_DIGITS]}/{name}"


def _read_logo(name: str, root: Path) -> Asset:
    def refuse(fault: str) -> SettingUnreadable:
        return SettingUnreadable(setting="logo", value=name, fault=fault)

    media_type = LOGO_TYPES.get(Path(name).suffix.lower())
    if media_type is None:
        raise refuse(f"its name does not end in {', '.join(LOGO_TYPES)}")
    try:
        with (root / name).open("rb") as file:
            body = file.read(_LARGEST_LOGO + 1)
    except OSError as error:
        raise refuse(f"{error.strerror}: {root / name}") from error
    if len(body) > _LARGEST_LOGO:
        raise refuse(f"it has more than {_LARGEST_LOGO:,} bytes")
    return Asset(media_type, body)
