"""The table of contents of an MP4 or QuickTime film: its tracks and their edit lists.

Specification: ISO/IEC 14496-12, section 8; Apple, QuickTime File Format (2012), for the
differences.

How it works: the complete `moov` box is read and parsed, two levels at a time. Each track has an
edit list, which states which times of the track are shown when. A track without one is shown from
its beginning. Boxes that are as valid for a part as for the whole are kept unchanged.

What must stay true: nothing is read except `ftyp` and `moov`, of at most 64 MiB. Media in other
files are never looked for.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import NamedTuple

import msgspec

from perdure.errors import PartNotSupported
from perdure.errors.cutting import FilmForm, FilmFormNotSupported
from perdure.errors.limits import EditsTooMany, MovieHeaderTooLong, TracksTooMany
from perdure.extractors.film.boxes import (
    BadBox,
    index_boxes,
    iterate_boxes,
    read_outer_boxes,
    require_box,
    unpack_fields,
)
from perdure.extractors.film.sample_table import SampleTable, read_common_size
from perdure.extractors.port import Source

_LONGEST = 64 << 20  # bytes of a table of contents
_LONGEST_TYPE = 4096  # bytes of a list of brands
_MOST_TRACKS = 64
_MOST_EDITS = 10_000
VIDEO, SOUND = b"vide", b"soun"
TEXTS = (b"text", b"sbtl", b"subt", b"clcp")
_KINDS = {VIDEO: "video", SOUND: "audio"} | dict.fromkeys(TEXTS, "subtitles")
"""Handlers of the tracks that a part keeps. Others, such as chapters, describe the whole film."""

_VERSION = struct.Struct(">B")
_TIMES = (struct.Struct(">4x8xII"), struct.Struct(">4x16xIQ"))
_TRACK = (struct.Struct(">4x8xI4xI"), struct.Struct(">4x16xI4xQ"))
_HANDLER = slice(8, 12)
_HANDLER_NAME = 24
_CODEC = slice(12, 16)
_EDIT_COUNT = struct.Struct(">4xI")
_EDITS = (struct.Struct(">IiI"), struct.Struct(">QqI"))
NORMAL_RATE = 1 << 16
_SOUND = struct.Struct(">4xI8xH6xHH")
_PACKED_SOUND = struct.Struct(">36xI4xI")  # of version 1: samples per packet, bytes per frame
_WIDTHS = {
    int.from_bytes(codec): width
    for codec, width in (
        *((b"ulaw", 1), (b"alaw", 1), (b"in24", 3)),
        *((b"in32", 4), (b"fl32", 4), (b"fl64", 8)),
    )
}
_UNCOMPRESSED = _WIDTHS.keys() | {
    int.from_bytes(codec) for codec in (b"raw ", b"NONE", b"twos", b"sowt")
}


class Edit(NamedTuple):
    """An interval in which a track is shown, in seconds."""

    start: Fraction
    length: Fraction
    media: int
    """The track's own time at which the interval begins, in the track's unit."""

    @property
    def end(self) -> Fraction:
        return self.start + self.length


class FilmTrack(NamedTuple):
    """A track, with the boxes that a part of it keeps."""

    number: int
    handler: bytes
    name: str
    unit: int
    """Units of its times per second."""
    edits: tuple[Edit, ...]
    table: SampleTable
    header: memoryview
    media_header: memoryview
    media: tuple[tuple[bytes, memoryview], ...]
    """Boxes of the media except its header and its information."""
    information: tuple[tuple[bytes, memoryview], ...]
    """Boxes of the information except references and samples."""
    descriptions: memoryview
    codec: str

    @property
    def kind(self) -> str:
        """`video`, `audio` or `subtitles`."""
        return _KINDS[self.handler]

    @property
    def end(self) -> Fraction:
        """The time at which it ends, in seconds."""
        return max((edit.end for edit in self.edits), default=Fraction(0))

    def __str__(self) -> str:
        return f"{self.number} ({self.kind}, {self.codec})"


class Movie(NamedTuple):
    """A film, with the boxes that a part of it keeps."""

    brands: memoryview | None
    header: memoryview
    unit: int
    tracks: tuple[FilmTrack, ...]

    @property
    def duration(self) -> Fraction:
        """Seconds until the last track ends."""
        return max((track.end for track in self.tracks), default=Fraction(0))


def is_fragmented(source: Source) -> bool:
    """Return whether the film lists its samples in fragments (section 8.8). Raises BadBox."""
    for kind, span in read_outer_boxes(source):
        if kind == b"moof":
            return True
        if kind == b"moov":
            contents = msgspec.structs.replace(
                source, offset=source.offset + span.start, length=span.length
            )
            return any(kind == b"mvex" for kind, _ in read_outer_boxes(contents))
    return False


def read_movie(source: Source) -> Movie:
    """Read a film. Raises BadBox, PartNotSupported or OverBudget."""
    brands: memoryview | None = None
    for kind, span in read_outer_boxes(source):
        if kind == b"ftyp":
            brands = memoryview(
                source.read_bytes(span.start, min(span.stop, span.start + _LONGEST_TYPE))
            )
        elif kind == b"moof":
            raise _make_unsupported(source, "fragments")
        elif kind == b"moov":
            if span.length > _LONGEST:
                raise MovieHeaderTooLong(source=source.name, most=_LONGEST)
            return _parse_movie(
                source, brands, memoryview(source.read_bytes(span.start, span.stop))
            )
    raise BadBox("contents-missing")


def _parse_movie(source: Source, brands: memoryview | None, content: memoryview) -> Movie:
    boxes = index_boxes(content)
    refused: tuple[tuple[bytes, FilmForm], ...] = (
        (b"mvex", "fragments"),
        (b"cmov", "compressed-contents"),
    )
    for kind, form in refused:
        if kind in boxes:
            raise _make_unsupported(source, form)
    header = require_box(boxes, b"mvhd")
    unit, _ = unpack_fields(_choose_form(header, _TIMES), header)
    if not unit:
        raise BadBox("unit-missing")
    contents = [track for kind, track in iterate_boxes(content) if kind == b"trak"]
    if len(contents) > _MOST_TRACKS:
        raise TracksTooMany(source=source.name, most=_MOST_TRACKS)
    tracks = [_parse_track(source, index_boxes(track), unit) for track in contents]
    return Movie(brands, header, unit, tuple(track for track in tracks if track))


def _parse_track(
    source: Source, boxes: dict[bytes, memoryview], movie_unit: int
) -> FilmTrack | None:
    header = require_box(boxes, b"tkhd")
    number, _ = unpack_fields(_choose_form(header, _TRACK), header)
    media = require_box(boxes, b"mdia")
    in_media = index_boxes(media)
    handler = require_box(in_media, b"hdlr")[_HANDLER].tobytes()
    if handler not in _KINDS:
        return None
    media_header = require_box(in_media, b"mdhd")
    unit, _ = unpack_fields(_choose_form(media_header, _TIMES), media_header)
    if not unit:
        raise BadBox("unit-missing", track=number)
    information = require_box(in_media, b"minf")
    in_information = index_boxes(information)
    _check_references(in_information)
    in_table = index_boxes(require_box(in_information, b"stbl"))
    if b"stz2" in in_table:
        raise _make_unsupported(source, "packed-sizes")
    descriptions = require_box(in_table, b"stsd")
    one_size = read_common_size(in_table)
    least = (
        _find_sample_size(source, descriptions, one_size) if handler == SOUND and one_size else 0
    )
    table = SampleTable(in_table, least)
    return FilmTrack(
        number=number,
        handler=handler,
        name=_parse_name(in_media[b"hdlr"]),
        unit=unit,
        edits=_parse_edits(
            source, index_boxes(boxes.get(b"edts", memoryview(b""))), table, unit, movie_unit
        ),
        table=table,
        header=header,
        media_header=media_header,
        media=tuple(one for one in iterate_boxes(media) if one[0] not in (b"mdhd", b"minf")),
        information=tuple(
            one for one in iterate_boxes(information) if one[0] not in (b"dinf", b"stbl")
        ),
        descriptions=descriptions,
        codec=descriptions[_CODEC].tobytes().decode("latin-1").strip(),
    )


def _parse_edits(
    source: Source,
    boxes: dict[bytes, memoryview],
    table: SampleTable,
    unit: int,
    movie_unit: int,
) -> tuple[Edit, ...]:
    """Parse the edit list of a track (section 8.6.6), without the intervals in which nothing is
    shown.
    """
    content = boxes.get(b"elst")
    whole = Fraction(table.shown_until, unit)
    if content is None:
        return (Edit(Fraction(0), whole, 0),)
    form = _choose_form(content, _EDITS)
    (count,) = unpack_fields(_EDIT_COUNT, content)
    if count > _MOST_EDITS:
        raise EditsTooMany(source=source.name, most=_MOST_EDITS)
    found: list[Edit] = []
    at = Fraction(0)
    for number in range(count):
        length, media, rate = unpack_fields(form, content, _EDIT_COUNT.size + number * form.size)
        seconds = Fraction(length, movie_unit)
        if media >= 0:
            if rate != NORMAL_RATE:
                raise _make_unsupported(source, "still-frames")
            left = max(whole - Fraction(media, unit), Fraction(0))
            seconds = min(seconds, left) if length else left  # zero: to the end of the track
            found.append(Edit(at, seconds, media))
        at += seconds
    return tuple(found)


def _check_references(information: dict[bytes, memoryview]) -> None:
    """Refuse media in other files (section 8.7.2)."""
    references = index_boxes(information.get(b"dinf", memoryview(b""))).get(b"dref")
    if references is None:
        return
    for _, reference in iterate_boxes(references[_EDIT_COUNT.size :]):
        if not reference[:4].tobytes().endswith(b"\1"):
            raise BadBox("media-elsewhere")


def _find_sample_size(source: Source, descriptions: memoryview, said: int) -> int:
    """Return the size of uncompressed sound samples. QuickTime may state one byte instead."""
    codec, version, channels, bits = unpack_fields(_SOUND, descriptions, _EDIT_COUNT.size)
    if version == 1:
        per_packet, size = unpack_fields(_PACKED_SOUND, descriptions, _EDIT_COUNT.size)
        if per_packet > 1:
            raise _make_unsupported(source, "sound-packets")
        return size
    if version > 1 and said == 1:
        raise _make_unsupported(source, "sound-sizes")
    return _WIDTHS.get(codec, bits // 8) * channels if codec in _UNCOMPRESSED else said


def _parse_name(handler: memoryview) -> str:
    """Return the name of a track: it ends with a zero, or in QuickTime begins with its length."""
    name = handler[_HANDLER_NAME:].tobytes()
    if name and name[0] == len(name) - 1:
        name = name[1:]
    return name.partition(b"\0")[0].decode(errors="replace")


def _choose_form(content: memoryview, forms: tuple[struct.Struct, struct.Struct]) -> struct.Struct:
    (version,) = unpack_fields(_VERSION, content)
    if version > 1:
        raise BadBox("box-version", found=version)
    return forms[version]


def _make_unsupported(source: Source, form: FilmForm) -> PartNotSupported:
    return FilmFormNotSupported(
        media_type=source.media_type,
        form=form,
        selector="an interval",
        offered=("byte range", "cropped interval"),
    )
