"""A frame of video as its decoded samples, and exact rectangles of it.

How it works: a picture is rows of samples, plane by plane. In most video, two or four pixels share
a colour sample. If a rectangle begins between two such pixels, its colour samples are repeated for
each pixel (`yuv420p` becomes `yuv444p`): no sample is moved, mixed or rounded.

What must stay true: the samples of a rectangle are samples of the frame. A format whose samples
would have to be computed is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from av import VideoFrame

    Plane = np.ndarray[Any, Any]

_SHARED = {"444": (0, 0), "422": (1, 0), "440": (0, 1), "420": (1, 1), "411": (2, 0), "410": (2, 2)}
"""Powers of two: how many pixels, horizontally and vertically, share a colour sample."""
_DEPTHS = {"": 1, "9le": 2, "10le": 2, "12le": 2, "14le": 2, "16le": 2}
"""Bytes per sample, by the end of a format's name."""
_FORMS = (
    {f"yuv{s}p{d}": (*shared, w) for s, shared in _SHARED.items() for d, w in _DEPTHS.items()}
    | {f"gbrp{d}": (0, 0, w) for d, w in _DEPTHS.items()}
    | {f"gray{d}": (0, 0, w) for d, w in _DEPTHS.items()}
)
_REPACKED = {
    "nv12": "yuv420p",
    "yuyv422": "yuv422p",
    "uyvy422": "yuv422p",
    **dict.fromkeys(("rgb24", "bgr24", "rgb0", "bgr0", "0rgb", "0bgr", "pal8"), "gbrp"),
}
"""Formats that differ only in the order of the samples."""


class Picture(NamedTuple):
    """Samples of a frame."""

    form: str
    """FFmpeg's name for it: `yuv420p`, `gray`, `gbrp` …"""
    planes: tuple[Plane, ...]

    @property
    def width(self) -> int:
        return int(self.planes[0].shape[1])

    @property
    def height(self) -> int:
        return int(self.planes[0].shape[0])

    @property
    def sample_bytes(self) -> bytes:
        """All samples, plane by plane, row by row."""
        return b"".join(plane.tobytes() for plane in self.planes)

    def __str__(self) -> str:
        return f"{self.form} {self.width}x{self.height}"


def is_known_format(form: str) -> bool:
    """Return whether frames of this format can be read as pictures."""
    return form.replace("yuvj", "yuv") in _FORMS or form in _REPACKED


def read_picture(frame: VideoFrame) -> Picture:
    """Return the samples of a frame in a known format."""
    import numpy as np

    if frame.format.name in _REPACKED:
        frame = frame.reformat(format=_REPACKED[frame.format.name])
    form = frame.format.name.replace("yuvj", "yuv")
    width = _FORMS[form][2]
    planes = []
    for plane in frame.planes:
        rows = np.frombuffer(memoryview(plane), np.uint8)[: plane.height * plane.line_size]
        rows = rows.reshape(plane.height, plane.line_size)[:, : plane.width * width]
        planes.append(np.ascontiguousarray(rows).view(f"<u{width}"))
    return Picture(form, tuple(planes))


def crop_picture(whole: Picture, left: int, top: int, right: int, bottom: int) -> Picture:
    """Return the pixels with left <= x < right and top <= y < bottom, which must exist."""
    import numpy as np

    across, down, _ = _FORMS[whole.form]
    light, *colours = whole.planes
    form = whole.form
    if left % (1 << across) or top % (1 << down):
        form = f"yuv444p{form.partition('p')[2]}"
        colours = [np.repeat(np.repeat(one, 1 << down, 0), 1 << across, 1) for one in colours]
        across = down = 0
    rows = slice(top >> down, -(-bottom >> down))
    columns = slice(left >> across, -(-right >> across))
    planes = (light[top:bottom, left:right], *(one[rows, columns] for one in colours))
    return Picture(form, planes)


def make_frame(shown: Picture) -> VideoFrame:
    """Return a picture as a frame, for an encoder."""
    import numpy as np
    from av import VideoFrame

    frame = VideoFrame(shown.width, shown.height, shown.form)
    for plane, samples in zip(frame.planes, shown.planes, strict=True):
        rows = np.zeros((plane.height, plane.line_size), np.uint8)
        packed = np.ascontiguousarray(samples).view(np.uint8)
        rows[:, : packed.shape[1]] = packed
        plane.update(rows.tobytes())
    return frame
