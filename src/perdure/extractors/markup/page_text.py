"""The text of a page inside another format (a mail, a book), in lines as people read it.

How it works: the tags are those of `perdure.extractors.markup.tags`, and the text between them is
the text content (`perdure.extractors.markup.text_content`). It begins a new line where an element
other than inline text begins or ends. White space is one space, as in a browser. Positions in this
text are not those of Web Annotation, because the page has no name of its own to which they could
refer. So no map is made, and this is several times as fast as the text content with its map.

What must stay true: everything is pure and takes time in proportion to the page.
"""

from __future__ import annotations

import html
import re

from perdure.errors.limits import TagsTooMany
from perdure.extractors.markup.tags import HTML, MOST_TAGS, read_text_between, scan_tags
from perdure.extractors.markup.text_content import INLINE, UNREAD, VERBATIM

_CLOSED = re.compile(r"<([A-Za-z][A-Za-z0-9]*)(\s[^<>]*)?/>")
# HTML section 13.1.2
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
_SPACES = re.compile("  +")
_NAME = re.compile(rb"<(/?)([^\s/>]*)")
_BREAK = "\0"  # between lines


def read_page_text(page: str, name: str = "", *, xhtml: bool = False) -> str:
    """Return the lines of a page, without empty ones. `name` is that of the document, for messages.

    Raises OverBudget if it has too many tags.
    """
    if xhtml:
        page = _CLOSED.sub(_open_and_close, page)
    data = page.replace(_BREAK, "\ufffd").removeprefix("\ufeff").encode("utf-8", "replace")
    tags = scan_tags(data, HTML)
    if len(tags.starts) == MOST_TAGS:
        raise TagsTooMany(source=name, most=MOST_TAGS)
    pieces: list[str] = []
    at, element = 0, b""
    for start, stop in zip(tags.starts, tags.stops, strict=True):
        if at < start and element not in UNREAD:
            pieces.append(_read_between(data, at, start, element))
        found = _NAME.match(data, start)
        closing, written = found.groups() if found else (b"", b"")
        tag = written.lower()
        if tag not in INLINE:
            pieces.append(_BREAK)
        at, element = stop, b"" if closing else tag
    if at < len(data) and element not in UNREAD:
        pieces.append(_read_between(data, at, len(data), element))
    lines = (line.strip(" ") for line in collapse_space("".join(pieces)).split(_BREAK))
    return "\n".join(filter(None, lines))


def read_page_title(page: str) -> str:
    """Return the title of a page in one line; empty if it has none.

    >>> read_page_title("<html><TITLE>A &amp; B</TITLE><p>text")
    'A & B'
    """
    data = page.replace(_BREAK, "\ufffd").encode("utf-8", "replace")
    tags = scan_tags(data, HTML)
    at = None
    for start, stop in zip(tags.starts, tags.stops, strict=True):
        if at is not None:
            return collapse_space(_decode(data[at:start])).strip(" ")
        found = _NAME.match(data, start)
        if found is not None and (found[1], found[2].lower()) == (b"", b"title"):
            at = stop
    return ""


def collapse_space(text: str) -> str:
    """Replace each run of white space of HTML and XML by one space.

    >>> collapse_space("a\\n\\t b\\xa0 c")
    'a b\\xa0 c'
    """
    for space in "\t\n\f\r":
        text = text.replace(space, " ")
    return _SPACES.sub(" ", text)


def _read_between(data: bytes, start: int, stop: int, element: bytes) -> str:
    """Return the text between two tags, the first of which begins `element`."""
    written = data[start:stop]
    if b"<" not in written or element in VERBATIM:
        return _decode(written)
    return "".join(  # between comments, declarations and CDATA sections
        str(data[piece.start : piece.stop], "utf-8", "replace")
        if piece.verbatim
        else _decode(data[piece.start : piece.stop])
        for piece in read_text_between(data, start, stop, HTML)
    )


def _decode(written: bytes) -> str:
    """Return text with its character references replaced."""
    text = written.decode("utf-8", "replace")
    return html.unescape(text).replace(_BREAK, "\ufffd") if "&" in text else text


def _open_and_close(found: re.Match[str]) -> str:
    """Return the tags of an empty element of XHTML as HTML reads them."""
    if found[1].lower() in _VOID:
        return found[0]
    return f"<{found[1]}{found[2] or ''}></{found[1]}>"
