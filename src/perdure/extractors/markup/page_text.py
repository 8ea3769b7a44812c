"""The text of a page inside another format (a mail, a book), in lines as people read it.

How it works: the text content of the page (`perdure.extractors.markup.text_content`) begins a new
line where an element other than inline text begins or ends. White space is one space, as in a
browser. Positions in this text are not those of Web Annotation, because the page has no name of its
own to which they could refer.

What must stay true: it runs confined, because the page is written to a temporary file.
"""

from __future__ import annotations

import re
import tempfile
from itertools import pairwise
from pathlib import Path

from perdure.extractors.indexes import NoIndexes
from perdure.extractors.markup.tagged import Markup
from perdure.extractors.markup.text_content import read_text_content
from perdure.extractors.port import Source

_CLOSED = re.compile(r"<([A-Za-z][A-Za-z0-9]*)(\s[^<>]*)?/>")
# HTML section 13.1.2
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
_SPACE = re.compile("[ \t\n\f\r]+")


def read_page_text(page: str, name: str = "", *, xhtml: bool = False) -> str:
    """Return the lines of a page, without empty ones. `name` is that of the document, for messages.

    Raises OverBudget.
    """
    if xhtml:
        page = _CLOSED.sub(_open_and_close, page)
    data = page.encode("utf-8", "replace")
    with tempfile.NamedTemporaryFile(prefix="perdure-page-") as file:
        file.write(data)
        file.flush()
        source = Source(
            path=Path(file.name),
            length=len(data),
            media_type="text/html",
            charset="utf-8",
            name=name,
        )
        content = read_text_content(Markup(source, "text", NoIndexes()))
    places = sorted({0, *content.blocks, len(content.text)})
    pieces = (content.text[start:stop] for start, stop in pairwise(places))
    lines = (_SPACE.sub(" ", piece).strip(" ") for piece in pieces)
    return "\n".join(filter(None, lines))


def _open_and_close(found: re.Match[str]) -> str:
    """Return the tags of an empty element of XHTML as HTML reads them."""
    if found[1].lower() in _VOID:
        return found[0]
    return f"<{found[1]}{found[2] or ''}></{found[1]}>"
