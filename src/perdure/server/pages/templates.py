"""Templates of pages and feeds, in this directory.

How it works: Jinja with escaping always on.

What must stay true: a template gets only values, never markup.
"""

from __future__ import annotations

from functools import cache

import jinja2


@cache
def _load_environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("perdure.server", "pages"),
        extensions=("jinja2.ext.i18n",),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.install_null_translations(newstyle=True)  # type: ignore[attr-defined]
    return environment


def load_templates() -> None:
    """Compile all templates. Modules, and what Python compiled of them, are beside them."""
    environment = _load_environment()
    for name in environment.list_templates(extensions=("html", "css", "js", "xml")):
        environment.get_template(name)


def render_template(name: str, **values: object) -> bytes:
    """Render a template as UTF-8."""
    return _load_environment().get_template(name).render(values).encode()
