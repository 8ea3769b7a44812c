"""Pages of a PDF as pictures, with the places of their lines.

How it works: PDFium (pypdfium2) draws a page as PNG, at 108 dots per inch or less if the page is
large. It is built without scripts and opens no other file. The lines are those of the plain text
(`perdure.extractors.pdf.text`).

A page is shown turned as it says, but the rectangles of RFC 8118 count on the page as stored. The
measures have the matrices between both.

What must stay true: the code runs confined. A picture never has more pixels than the limit.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import sqrt
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.errors import PartNotFound, PartNotSupported
from perdure.extractors.measures import Measures, StoredGrid
from perdure.extractors.pdf.opening import EXTRA, open_document
from perdure.extractors.pdf.text import list_lines
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.parts import Selector, View

if TYPE_CHECKING:
    import pypdfium2

_SCALE = 1.5  # pixels for a unit of 1/72 inch
_MOST_PIXELS = 2_000_000
_MOST_LINES = 2_000
_PNG = b"\x89PNG\r\n\x1a\n"
_RGB8 = (8, 2, 0, 0, 0)  # the rest of IHDR (PNG, section 11.2.1)


class PictureExtractor:
    """Pictures and measures of the pages of a PDF."""

    media_types = ("application/pdf",)
    selectors = (View,)
    confined = True
    install = f"perdure[{EXTRA}]"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        if not isinstance(selector, View) or selector.what not in ("measures", "page"):
            raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        number = selector.number
        with _open_page(source, selector, number) as (document, page):
            if selector.what == "measures":
                body = msgspec.json.encode(_measure_page(source, document, page, number))
                return Part(selector=selector, media_type="application/json", body=(body,))
            return Part(selector=selector, media_type="image/png", body=(_draw_page(page),))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()  # no fragment can name a picture of a page


@contextmanager
def _open_page(
    source: Source, selector: Selector, number: int
) -> Iterator[tuple[pypdfium2.PdfDocument, Any]]:
    """Open a page, counted from 1. Raises Undecodable, PartNotFound or MissingLibrary."""
    with open_document(source, selector) as document:
        if not 1 <= number <= len(document):
            extent = f"page 1 to {len(document)}"
            raise PartNotFound(identifier=source.name, selector=str(selector), extent=extent)
        page = document[number - 1]
        yield document, page
        page.close()


def _measure_page(
    source: Source, document: pypdfium2.PdfDocument, page: Any, number: int
) -> Measures:
    left, bottom, right, top = page.get_cropbox()
    width, height, turn = abs(right - left), abs(top - bottom), page.get_rotation()
    matrix = {
        90: (0, -1, 1, 0, 0, height),
        180: (-1, 0, 0, -1, width, height),
        270: (0, 1, -1, 0, width, 0),
    }.get(turn)
    shown = (height, width) if turn in (90, 270) else (width, height)
    lines = list_lines(source, document, number)[:_MOST_LINES]
    return Measures(
        width=shown[0],
        height=shown[1],
        stored=None if matrix is None else StoredGrid(width, height, matrix, _invert_turn(matrix)),
        count=len(document),
        lines=tuple(lines),
    )


def _invert_turn(
    matrix: tuple[float, float, float, float, float, float],
) -> tuple[float, float, float, float, float, float]:
    """Invert a turn or reflection: the inverse of its first part is the transpose."""
    a, b, c, d, e, f = matrix
    return (a, c, b, d, -(a * e + b * f), -(c * e + d * f))


def _draw_page(page: Any) -> bytes:
    width, height = page.get_size()
    scale = min(_SCALE, sqrt(_MOST_PIXELS / max(width * height, 1)))
    bitmap = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False)
    rows, stride, pixels = bitmap.height, bitmap.stride, bytes(bitmap.buffer)
    line = bitmap.width * bitmap.n_channels
    data = b"".join(b"\0" + pixels[at * stride : at * stride + line] for at in range(rows))
    head = struct.pack(">II5B", bitmap.width, rows, *_RGB8)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(data, 6)), (b"IEND", b""))
    return _PNG + b"".join(_write_chunk(*one) for one in chunks)


def _write_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


EXTRACTOR = PictureExtractor()
