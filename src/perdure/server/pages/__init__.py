"""The pages for people: each has the same frame around its content, and the same header fields.

How it works: the templates are in this directory (`perdure.server.pages.templates`), and what is
the same on all pages of a resolver is read once (`perdure.server.pages.framing`). All style is in
one sheet, with an address of its own. A landing page has two scripts, and works without them. One
is in the page, whose policy allows it by its digest: a browser does not send what follows a `#`, so
it leads from `…/1.text.1#char=37,51` to the page of the part (ruling: page-or-thing). The other one
is a file (`scripts/page.js`): it copies names, and turns a selection into a name.

A page that another page shows inside a frame leaves out its own head and foot; browsers say so by
`Sec-Fetch-Dest` (Fetch Metadata Request Headers, section 2.1).

What must stay true: no other script and no other style can have an effect on a page; a page asks
nothing of any other server.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache

from perdure.server.common.answers import Answer, make_answer
from perdure.server.pages.framing import PageFrame
from perdure.server.pages.languages import VARY
from perdure.server.pages.templates import load_templates, render_template

__all__ = [
    "HTML",
    "VARY",
    "PageFrame",
    "load_templates",
    "make_page",
    "render_page",
    "render_template",
    "tag_page",
]

HTML = "text/html; charset=utf-8"


def render_page(frame: PageFrame, name: str, **values: object) -> bytes:
    """Render a page in its frame, as UTF-8."""
    return render_template(name, frame=frame, **values)


def make_page(
    status: int,
    body: bytes,
    *fields: tuple[bytes, bytes],
    has_script: bool = False,
    in_frames: bool = False,
    has_writes: bool = False,
    framed: str = "",
) -> Answer:
    """Make an answer with a page as its body. `in_frames` lets our own pages contain it; `framed`
    is another origin whose pages it may contain.

    `has_writes`: its forms write, so browsers must name their origin, which they send as `null`
    for a page without a referrer (Fetch Standard, "append a request Origin header").
    """
    return make_answer(
        status,
        HTML,
        body,
        (
            b"content-security-policy",
            _write_policy(framed, has_script=has_script, in_frames=in_frames),
        ),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"same-origin" if has_writes else b"no-referrer"),
        *(one for one in fields if one[0] != b"vary"),
        _write_vary(*(value for name, value in fields if name == b"vary"), in_frames=in_frames),
    )


def tag_page(tag: bytes, frame: PageFrame) -> bytes:
    """Make the entity tag of a page in a language from that of the page in English."""
    return tag if frame.language == "en" else tag[:-1] + f'-{frame.language}"'.encode()


@cache
def _write_vary(*given: bytes, in_frames: bool) -> tuple[bytes, bytes]:
    """Name the fields on which a page depends: those that are `given`, the language, and the place
    where the browser shows it."""
    names = b", ".join((*given, VARY, *([b"sec-fetch-dest"] if in_frames else [])))
    return (b"vary", b", ".join(dict.fromkeys(names.split(b", "))))


@cache
def _write_policy(framed: str, *, has_script: bool, in_frames: bool) -> bytes:
    # Without scripts nothing connects, but judges of pages fetch robots.txt as the page would.
    ancestors = "'self'" if in_frames else "'none'"
    script, own = "", "'self'"
    if has_script:
        script = f" script-src 'self' '{_digest_template('part.js')}';"
    return (
        f"default-src 'none';{script} connect-src 'self'; style-src 'self'; img-src 'self'; "
        f"media-src 'self'; frame-src {framed or own}; form-action 'self'; base-uri 'none'; "
        f"frame-ancestors {ancestors}"
    ).encode()


def _digest_template(name: str) -> str:
    """Return the digest of a template as a policy names it (Content Security Policy 3, 2.3.1)."""
    return f"sha256-{base64.b64encode(hashlib.sha256(render_template(name)).digest()).decode()}"
