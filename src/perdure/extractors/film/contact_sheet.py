"""A contact sheet of a film: 24 small frames at equal distances in time, as one JPEG.

How it works: the frames are those in the middle of 24 stretches of equal length. In films with an
index, the extractor seeks to each of them; others are decoded from the start, up to a bound of
pixels, and later frames stay gray.

What must stay true: the code runs confined.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.errors import PartNotSupported
from perdure.extractors.container import EXTRA
from perdure.extractors.film.footage import FILMS, OTHERS, Footage, Shot, open_footage
from perdure.extractors.film.picture import make_frame
from perdure.extractors.measures import Measures
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.parts import Selector, View

if TYPE_CHECKING:
    import numpy as np

COLUMNS, ROWS = 6, 4
_WIDEST, _HIGHEST = 160, 120  # pixels of a frame
_GRAY = 128
_MOST_PIXELS = 1 << 31  # of all frames that are decoded: some ten seconds of work
_MICROSECOND = Fraction(1, 1_000_000)


class ContactSheetExtractor:
    """The contact sheet of a film, its size and its duration."""

    media_types = (*FILMS, *OTHERS)
    selectors = (View,)
    confined = True
    install = f"perdure[{EXTRA}]"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        if selector not in (View("measures"), View("frames")):
            raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        with open_footage(source, selector) as footage:
            seconds = footage.find_duration()
            known = Measures(width=footage.width, height=footage.height, seconds=float(seconds))
        if selector == View("measures"):
            body = msgspec.json.encode(known)
            return Part(selector=selector, media_type="application/json", body=(body,))
        with open_footage(source, selector) as footage:  # its duration was its first question
            body = _encode_jpeg(_draw_sheet(footage, seconds))
        return Part(selector=selector, media_type="image/jpeg", body=(body,))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()  # no fragment can name a contact sheet


def _draw_sheet(footage: Footage, seconds: Fraction) -> np.ndarray[Any, Any]:
    import numpy as np

    scale = min(Fraction(_WIDEST, footage.width), Fraction(_HIGHEST, footage.height))
    width, height = (max(int(side * scale) & ~1, 2) for side in (footage.width, footage.height))
    sheet = np.full((height * ROWS, width * COLUMNS, 3), _GRAY, np.uint8)
    moments = [
        seconds * (2 * number + 1) / (2 * COLUMNS * ROWS) for number in range(COLUMNS * ROWS)
    ]
    for number, shot in _find_shots(footage, moments):
        frame: Any = make_frame(shot.picture)
        frame.color_range = footage.video.codec_context.color_range
        small = frame.reformat(width=width, height=height, format="rgb24").to_ndarray()
        row, column = divmod(number, COLUMNS)
        sheet[row * height : (row + 1) * height, column * width : (column + 1) * width] = small
    return sheet


def _find_shots(footage: Footage, moments: list[Fraction]) -> Iterator[tuple[int, Shot]]:
    """Yield the number of each moment with the frame that is shown then."""
    pixels = footage.width * footage.height
    if footage.is_indexed:
        for number, moment in enumerate(moments):
            shot = footage.find_frame(moment)
            if shot is not None:
                yield number, shot
        return
    number, last = 0, None
    for count, one in enumerate(footage.decode_interval(Fraction(0), None)):
        if not isinstance(one, Shot):
            continue
        while last is not None and number < len(moments) and moments[number] < one.time:
            yield number, last
            number += 1
        last = one
        if number == len(moments) or count * pixels > _MOST_PIXELS:
            return
    if last is not None:
        yield from ((left, last) for left in range(number, len(moments)))


def _encode_jpeg(sheet: np.ndarray[Any, Any]) -> bytes:
    from av import CodecContext, VideoFrame

    height, width, _ = sheet.shape
    context: Any = CodecContext.create("mjpeg", "w")
    context.width, context.height, context.pix_fmt = width, height, "yuvj420p"
    context.time_base, context.thread_count = _MICROSECOND, 1
    context.options = {"qmin": "4", "qmax": "4", "flags": "+bitexact"}
    frame = VideoFrame.from_ndarray(sheet, format="rgb24").reformat(format="yuvj420p")
    return b"".join(bytes(one) for frame_ in (frame, None) for one in context.encode(frame_))


EXTRACTOR = ContactSheetExtractor()
