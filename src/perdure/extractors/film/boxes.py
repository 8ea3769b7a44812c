"""Boxes of ISO base media files (MP4, QuickTime): reading them within bounds, and writing them.

Specification: ISO/IEC 14496-12, section 4.2. A box has a size, a name of four bytes, and content:
other boxes, or fields. Size 1 means that the real size follows in 64 bits; size 0 means that the
box extends to the end of the file.

What must stay true: no box reaches beyond the one around it, and a search for boxes always ends; a
violation raises BadBox. Nothing here recurses: the caller decides how deep to read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from perdure.errors.damage import FilmDamaged, FilmFault
from perdure.extractors.port import Source, Span

_HEAD = struct.Struct(">I4s")
_LONG = struct.Struct(">Q")
_SHORTEST = _HEAD.size
_LONGEST_HEAD = _HEAD.size + _LONG.size
_MOST = 10_000  # boxes at one level
_LONGEST = 0xFFFFFFFF  # bytes of a box whose size has 32 bits
_NAME = re.compile("[ -~\xa9]{4}")


class BadBox(ValueError):
    """An invalid box. Its fields are those of `FilmDamaged`."""

    def __init__(
        self,
        fault: FilmFault,
        *,
        box: str = "",
        track: int | None = None,
        expected: int | None = None,
        found: int | None = None,
    ) -> None:
        super().__init__(fault)
        self.fault = fault
        self.box = box
        self.track = track
        self.expected = expected
        self.found = found

    def explain(self, source: Source) -> FilmDamaged:
        """Return the error that a film has this box."""
        return FilmDamaged(
            **source.subject,
            fault=self.fault,
            box=self.box,
            track=self.track,
            expected=self.expected,
            found=self.found,
        )


class MovieBox(NamedTuple):
    """A box and the place of its content."""

    kind: bytes
    content: Span


def read_outer_boxes(source: Source) -> Iterator[MovieBox]:
    """Yield the boxes of a file in order, reading only their headers."""
    at = 0
    for _ in range(_MOST):
        if at >= source.length:
            return
        head = source.read_bytes(at, at + _LONGEST_HEAD)
        box = _parse_box(head, at, source.length)
        yield box
        at = box.content.stop
    raise BadBox("boxes-too-many", expected=_MOST)


def index_boxes(content: memoryview) -> dict[bytes, memoryview]:
    """Return the boxes in the content of a box, by name; if several have one name, the first."""
    found: dict[bytes, memoryview] = {}
    for kind, box in iterate_boxes(content):
        found.setdefault(kind, box)
    return found


def iterate_boxes(content: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the boxes in the content of a box, with their contents."""
    at = 0
    for _ in range(_MOST):
        if len(content) - at < _SHORTEST:  # QuickTime ends some lists with four zero bytes
            return
        box = _parse_box(bytes(content[at : at + _LONGEST_HEAD]), at, len(content))
        yield box.kind, content[box.content.start : box.content.stop]
        at = box.content.stop
    raise BadBox("boxes-too-many", expected=_MOST)


def _parse_box(head: bytes, at: int, end: int) -> MovieBox:
    if len(head) < _HEAD.size:
        raise BadBox("box-cut-off")
    size, kind = _HEAD.unpack_from(head)
    length = _HEAD.size
    if size == 1:
        if len(head) < _LONGEST_HEAD:
            raise BadBox("box-cut-off")
        size, length = _LONG.unpack_from(head, _HEAD.size)[0], _LONGEST_HEAD
    elif size == 0:
        size = end - at
    if size < length:
        raise BadBox("box-too-small", box=_describe_kind(kind))
    if at + size > end:
        raise BadBox("box-too-large", box=_describe_kind(kind), expected=size, found=end - at)
    return MovieBox(kind, Span(at + length, at + size))


def _describe_kind(kind: bytes) -> str:
    """Return the name of a box for a message, or nothing if it is not a valid name."""
    name = kind.decode("latin-1")
    return name if _NAME.fullmatch(name) else ""


def require_box(boxes: dict[bytes, memoryview], kind: bytes) -> memoryview:
    """Return the box of this name. Raises BadBox if it does not exist."""
    found = boxes.get(kind)
    if found is None:
        raise BadBox("box-missing", box=_describe_kind(kind))
    return found


def unpack_fields(form: struct.Struct, content: memoryview, at: int = 0) -> tuple[int, ...]:
    """Return the numbers in a box. Raises BadBox if the box is too short for them."""
    if len(content) < at + form.size:
        raise BadBox("box-too-short")
    return form.unpack_from(content, at)


# writing
# -------


def build_box(kind: bytes, *contents: bytes | memoryview) -> bytes:
    """Return a box with these contents."""
    return b"".join((build_head(kind, sum(map(len, contents))), *contents))


def build_head(kind: bytes, length: int) -> bytes:
    """Return the header of a box with `length` bytes of content."""
    if length + _HEAD.size <= _LONGEST:
        return _HEAD.pack(length + _HEAD.size, kind)
    return _HEAD.pack(1, kind) + _LONG.pack(length + _LONGEST_HEAD)


def build_full_box(kind: bytes, version: int, flags: int, *contents: bytes | memoryview) -> bytes:
    """Return a box that begins with its version and flags (section 4.2.2)."""
    return build_box(kind, struct.pack(">I", version << 24 | flags), *contents)
