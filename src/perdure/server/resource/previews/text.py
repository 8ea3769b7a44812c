"""Texts: the plain text of a document, or a window of a long one, to select words in."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from perdure.extractors.markup.rendition import EXTRACTOR, is_installed
from perdure.extractors.port import Source
from perdure.parts import Selector
from perdure.reading.extraction import PartExtraction
from perdure.reading.targets import append_question
from perdure.reading.text_places import TextWindow, read_window
from perdure.server.resource import viewing
from perdure.server.resource.previews.port import ShownDocument

_PLAIN = "text/plain"
_SHOWN = frozenset((_PLAIN, "text/html", "application/xhtml+xml"))
"""Other media types take too long, or have no passages."""
_LARGEST = 1 << 20  # bytes of a document whose text must be made for a page
_WINDOW = 20_000  # characters


class TextPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a document on its landing page, or a window of it."""

    template: ClassVar[str] = "landing/text.html"
    start: int
    stop: int
    length: int
    before: str
    """The text before the part, or the complete window."""
    mark: bool
    """True if a part is marked."""
    marked: str
    behind: str
    is_stored: bool
    """False if the document has a form that the text leaves out."""
    point_url: str
    """The address to which the positions of a selection are appended."""
    view_url: str
    """The address of the document without anything active, or an empty string."""
    view_origin: str
    """The origin of that address, or an empty string for our own."""
    earlier: str
    later: str
    """The addresses of the neighbouring windows, or empty strings."""


def suits_type(essence: str) -> bool:
    return essence in _SHOWN


async def make_preview(shown: ShownDocument) -> TextPreview | None:
    source, at = shown.source, shown.at
    is_stored = source.essence == _PLAIN
    if not is_stored and source.length > _LARGEST:
        return None

    def read(parts: PartExtraction, source: Source, part: Selector | None) -> TextWindow | None:
        return read_window(parts, source, at, _WINDOW, part)

    found = await shown.service.read_text(read, source, shown.part)
    return None if found is None else _show_window(shown, found, is_stored=is_stored)


def _find_view(shown: ShownDocument) -> str:
    """Return the address of the document in a frame, with the part marked; empty if it has none."""
    if shown.source.essence not in EXTRACTOR.media_types or not is_installed():
        return ""
    origin = viewing.find_view_origin(shown.service.settings)
    address = origin + append_question(shown.page_path, "view")
    return f"{address}#part" if shown.part is not None else address


def _show_window(shown: ShownDocument, found: TextWindow, *, is_stored: bool) -> TextPreview:
    page = shown.ask("landing")
    mark = found.mark or (found.stop, found.stop)
    first, last = (min(max(one, found.start), found.stop) - found.start for one in mark)
    return TextPreview(
        start=found.start,
        stop=found.stop,
        length=found.length,
        before=found.text[:first],
        mark=found.mark is not None,
        marked=found.text[first:last],
        behind=found.text[last:],
        is_stored=is_stored,
        point_url=shown.ask("point="),
        view_url=_find_view(shown),
        view_origin=viewing.find_view_origin(shown.service.settings),
        earlier=f"{page}&at={max(0, found.start - _WINDOW)}" if found.start else "",
        later=f"{page}&at={found.stop}" if found.stop < found.length else "",
    )
