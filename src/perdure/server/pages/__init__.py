"""The pages for people: templates, and the header fields that every page gets.

How it works: Jinja with escaping always on; the templates are in this directory. All style is in
one template, and the Content-Security-Policy names its digest, so that nothing else can have an
effect on a page. There is one script, in a template too, which the policy of a page allows by its
digest if the page has it: a browser does not send what follows a `#`, so the script leads from
`…/1.text.1#char=37,51` to the page of the part (ruling: page-or-thing). Without it, pages work the
same.

What must stay true: a template gets only values, never markup; no other script can run.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache

import jinja2

from perdure.server.common.answers import Answer, make_answer

HTML = "text/html; charset=utf-8"


@cache
def _load_environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("perdure.server", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _write_policy(*, has_script: bool, in_frames: bool) -> bytes:
    ancestors = "'self'" if in_frames else "'none'"
    script = f" script-src '{_digest_template('part.js')}';" if has_script else ""
    return (
        f"default-src 'none';{script} style-src '{_digest_template('style.css')}'; "
        "media-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
        f"frame-ancestors {ancestors}"
    ).encode()


def _digest_template(name: str) -> str:
    """Return the digest of a template as a policy names it (Content Security Policy 3, 2.3.1)."""
    text = _load_environment().get_template(name).render()
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def load_templates() -> None:
    """Compile all templates. Modules, and what Python compiled of them, are beside them."""
    environment = _load_environment()
    for name in environment.list_templates(extensions=("html", "css", "js", "xml")):
        environment.get_template(name)


def render_template(name: str, **values: object) -> bytes:
    """Render a template as UTF-8."""
    return _load_environment().get_template(name).render(values).encode()


def make_page(
    status: int,
    body: bytes,
    *fields: tuple[bytes, bytes],
    has_script: bool = False,
    in_frames: bool = False,
) -> Answer:
    """Make an answer with a page as its body. `in_frames` lets our own pages contain it."""
    return make_answer(
        status,
        HTML,
        body,
        (b"content-security-policy", _write_policy(has_script=has_script, in_frames=in_frames)),
        (b"x-content-type-options", b"nosniff"),
        *fields,
    )
