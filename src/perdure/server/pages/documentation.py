"""The documentation of the running version: `/docs`.

    GET /docs                      its pages, by their kind
    GET /docs/reference/http       a page
    GET /docs/reference/http.md    the same page, as it was written

How it works: the wheel has the Markdown files of the release; a source tree has them in `docs/`.
markdown-it-py reads CommonMark with tables, and raw HTML stays text. Links between pages lead to
the rendered pages, and headings get the anchors that GitHub would give them, so that one link works
in both places.

What must stay true: only files of the documentation are read; a page is rendered once a process.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from perdure.server import pages
from perdure.server.common import problems
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service

LEAD = "docs"
_PLACES = (Path(__file__).parents[2] / "documentation", Path(__file__).parents[4] / "docs")
"""Where the wheel has the files, and where a source tree has them."""
_KINDS = ("tutorial", "how-to", "reference", "explanation", "decisions")
_DAY = (b"cache-control", b"public, max-age=3600")
_MARKDOWN = "text/markdown; charset=utf-8"
_NOT_IN_ANCHOR = re.compile(r"[^\w -]")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the documentation."""

    path: str
    """Such as `reference/http`."""
    title: str
    text: str
    """As it was written, in Markdown."""

    @property
    def kind(self) -> str:
        return self.path.partition("/")[0]


@cache
def list_documents() -> Mapping[str, Document]:
    """All pages of the documentation by their paths; empty if it was not installed."""
    place = next(filter(Path.is_dir, _PLACES), None)
    found: dict[str, Document] = {}
    for kind in _KINDS if place else ():
        for file in sorted((place / kind).glob("*.md") if place else ()):
            text = file.read_text("utf-8")
            path = f"{kind}/{file.stem}"
            title = text.partition("\n")[0].removeprefix("# ").replace("`", "")
            found[path] = Document(path=path, title=title, text=text)
    return MappingProxyType(found)


async def show_documentation(_service: Service, request: Request) -> Answer:
    """Answer with the list of pages, with a page, or with its source."""
    asked = request.target.text.partition("/")[2]
    documents = list_documents()
    if not asked:
        body = pages.render_page(
            request.frame,
            "docs_list.html",
            kinds=[
                (kind, [one for one in documents.values() if one.kind == kind]) for kind in _KINDS
            ],
        )
        return pages.make_page(HTTPStatus.OK, body, _DAY)
    path = asked.removesuffix(".md")
    found = documents.get(path)
    if found is None:
        return problems.answer_problem(problems.no_such_page(request.target.text), request)
    if asked != path:
        return make_answer(HTTPStatus.OK, _MARKDOWN, found.text.encode(), _DAY)
    body = pages.render_page(
        request.frame,
        "docs_page.html",
        title=found.title,
        path=path,
        content=render_document(path),
        trail=[("/docs", "/docs")],
    )
    return pages.make_page(HTTPStatus.OK, body, _DAY)


@lru_cache(maxsize=256)
def render_document(path: str) -> Markup:
    """Render a page as HTML. Raises KeyError if there is no such page."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(_COMMENT.sub("", list_documents()[path].text))
    taken: set[str] = set()
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _make_anchor(tokens[at + 1].content, taken))
        for child in token.children or ():
            if child.type == "link_open":
                _lead_within(child, path)
    # The text is that of this release, and its raw HTML was escaped.
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704


def _make_anchor(heading: str, taken: set[str]) -> str:
    """Make the anchor of a heading, as GitHub does.

    >>> _make_anchor("GET and HEAD", set()), _make_anchor("`perdure mint`", set())
    ('get-and-head', 'perdure-mint')
    """
    plain = _NOT_IN_ANCHOR.sub("", heading.lower()).replace(" ", "-")
    anchor, number = plain, 0
    while anchor in taken:
        number += 1
        anchor = f"{plain}-{number}"
    taken.add(anchor)
    return anchor


def _lead_within(link: Token, path: str) -> None:
    """Let a link between files lead to the rendered page, and one to another file to nothing."""
    target = str(link.attrGet("href") or "")
    if "://" in target or target.startswith(("#", "mailto:")):
        return
    file, mark, anchor = target.partition("#")
    there = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)).removesuffix(".md")
    if there in list_documents():
        link.attrSet("href", f"/{LEAD}/{there}{mark}{anchor}")
    else:
        link.attrs.pop("href", None)  # a file of the source tree
