"""Templates of pages and feeds, in this directory.

How it works: Jinja with escaping always on. Text that people read is marked in the templates, and
translated into the language of the `frame` (`perdure.server.pages.languages`). A marked text is
written by us, so it may contain markup; the values in it are escaped. Words that come from the
server's code are values like others: `{{ word | translate }}` looks them up.

What must stay true: a template gets only values, never markup; a text in `_()` is a constant.
"""

from __future__ import annotations

from functools import cache

import jinja2
from jinja2.runtime import Context

from perdure.server.pages.compiled import keep_compiled
from perdure.server.pages.languages import load_catalogue, write_number
from perdure.server.pages.trail import label_steps


@jinja2.pass_context
def _translate_text(context: Context, text: str) -> str:
    return load_catalogue(context["frame"].language).gettext(text)


@jinja2.pass_context
def _translate_count(context: Context, one: str, many: str, count: int) -> str:
    return load_catalogue(context["frame"].language).ngettext(one, many, count)


@jinja2.pass_context
def _translate_word(context: Context, word: object) -> str:
    """Translate a value, if the catalogue has it."""
    text = str(word)
    return load_catalogue(context["frame"].language).gettext(text) if text else ""


@cache
def _load_environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("perdure.server", "pages"),
        extensions=("jinja2.ext.i18n",),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=keep_compiled(__file__),
    )
    environment.install_gettext_callables(  # type: ignore[attr-defined]
        _translate_text, _translate_count, newstyle=True
    )
    environment.filters |= {
        "label_steps": label_steps,
        "number": write_number,
        "translate": _translate_word,
    }
    return environment


def load_templates() -> None:
    """Load all templates, and compile those without bytecode of an earlier start.

    Modules, and what Python compiled of them, are beside them.
    """
    environment = _load_environment()
    for name in environment.list_templates(extensions=("html", "css", "js", "xml")):
        environment.get_template(name)


def render_template(name: str, **values: object) -> bytes:
    """Render a template as UTF-8."""
    return _load_environment().get_template(name).render(values).encode()
