"""The pages for people: templates, and the header fields that every page gets.

How it works: Jinja with escaping always on; the templates are in this directory. All style is in
one template, and the Content-Security-Policy names its digest, so that nothing else, above all no
script, can have an effect on a page.

What must stay true: a template gets only values, never markup.
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
def _write_policy() -> bytes:
    style = _load_environment().get_template("style.css").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ).encode()


def load_templates() -> None:
    """Compile all templates."""
    environment = _load_environment()
    for name in environment.list_templates():
        environment.get_template(name)


def render_template(name: str, **values: object) -> bytes:
    """Render a template as UTF-8."""
    return _load_environment().get_template(name).render(values).encode()


def make_page(status: int, body: bytes, *fields: tuple[bytes, bytes]) -> Answer:
    """Make an answer with a page as its body."""
    return make_answer(
        status,
        HTML,
        body,
        (b"content-security-policy", _write_policy()),
        (b"x-content-type-options", b"nosniff"),
        *fields,
    )
