"""Pictures, sound, film and bytes at an origin: the same extent, cut out of the citing document.

How it works: the cited part is cut, or all of its document, and a part of the same extent is cut
out of the citing document, at the origin. A media fragment (`t=`, `xywh=`) means what it shows, as
far as that exists. Pictures have a decoded form (ruling: part-digest): if
forms and digests are equal, the verdict is `verbatim`. Otherwise, and for film, sound and bytes,
the units are compared: pixels, digests of frames, samples, bytes. All of them are also looked for
elsewhere in the document, pixels in its other frames, too. A track of sound of a film is compared
as sound, and sound with the first such track of a film.

The comparison is exact. Content that was encoded again with loss, such as a JPEG of a JPEG, has
other units, so a finding that is not equal says so (`Finding.note`), and how many units are equal.

What must stay true: nothing is decoded in this process. A part that reaches beyond the end of the
citing document is not at the origin; an origin beyond the end does not exist.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import NamedTuple

import msgspec

from perdure.errors import OverBudget, PartNotFound, PartNotSupported, PartOutOfRange
from perdure.errors.limits import ComparisonTooLong
from perdure.errors.root import count_things
from perdure.extractors.image.rectangle import FRAMES
from perdure.extractors.port import Part, Source, iterate_body
from perdure.extractors.sound.heads import read_head
from perdure.model.verdicts import Comparison, Verdict
from perdure.parts import ByteRange, Crop, Instant, Interval, Media, Rect, Selector, Units
from perdure.parts.selectors import Area, Time
from perdure.policy.quotations.units import add_alpha, compare_units, find_rectangle, find_run
from perdure.reading.citations.origins import Medium, Origin, require_place
from perdure.reading.citations.sides import (
    NOTHING,
    Finding,
    Side,
    blame,
    note_exact,
    note_forms,
)
from perdure.reading.extraction import PartExtraction

_LONGEST = 64 << 20  # bytes that are compared in memory
_ALL_SOUND = Media(time=Time(Fraction(0), None))
_MILLISECONDS = 1000
_PICTURES = frozenset(("video", "1"))  # tracks
_SOUND = ("audio",)  # tracks
_WITH_ALPHA = {
    "gray8": ("graya8", 1),
    "rgb8": ("rgba8", 1),
    "gray16le": ("graya16le", 2),
    "rgb16le": ("rgba16le", 2),
}
"""Forms of pixels, each with that of the same pixels with an alpha channel, and its bytes."""
_WHOLE_FRAME = re.compile(r"rect=\(0,0\),\(([0-9]+),([0-9]+)\)(?:,([0-9]+))?")
_MOST_FRAMES = 16  # other frames of an image that are searched
_DIGEST = 64  # bytes of the digest of a frame
_ELSEWHERE = Comparison(verdict=Verdict.ELSEWHERE, likeness=Verdict.VERBATIM)


def find_shown(parts: PartExtraction, side: Side, medium: Medium) -> Medium:
    """Return the medium of a cited part of a document of a medium: sound for such a track of a
    film. Raises PartNotFound, PartOutOfRange or SideUnreadable."""
    if (
        medium is not Medium.FILM
        or not isinstance(side.selector, Media)
        or not side.selector.tracks
    ):
        return medium
    with blame(side.identifier):
        kind = parts.outline_part(side.source, side.selector).media_type
    return Medium.SOUND if kind.startswith("audio/") else medium


def compare_media(
    parts: PartExtraction, citing: Side, origin: Origin, cited: Side, medium: Medium
) -> Finding:
    """Compare a cited part of a medium with the same extent of the citing document at an origin.

    Raises PartOutOfRange if there is no such origin, PartNotFound if there is no such part, and
    SideUnreadable.
    """
    if medium is Medium.SOUND:
        return _compare_sound(parts, citing, origin, cited)
    match origin.medium:
        case Medium.IMAGE:
            return _compare_pictures(parts, citing, origin, cited)
        case Medium.FILM:
            return _compare_film(parts, citing, origin, cited)
    return _compare_bytes(parts, citing, origin, cited)


# pictures and film
# -----------------


class _Digest(NamedTuple):
    form: str
    sha512: str


class _Units(NamedTuple):
    """Decoded units: pixels, or the digests of frames."""

    form: str
    data: bytes


def _compare_pictures(parts: PartExtraction, citing: Side, origin: Origin, cited: Side) -> Finding:
    with blame(cited.identifier):
        rect = _find_cited_rectangle(parts, cited)
        theirs = _digest_part(parts, cited.source, rect)
        note = _note_frames(parts, cited)
    left, top = origin.number, origin.top
    width, height = rect.right - rect.left, rect.bottom - rect.top
    here = Rect(left, top, left + width, top + height, origin.frame)
    with blame(citing.identifier):
        require_place(
            parts, citing.source, origin, Rect(left, top, left + 1, top + 1, origin.frame)
        )
        try:
            is_equal = _digest_part(parts, citing.source, here) == theirs
        except PartOutOfRange:
            is_equal = False
    if is_equal:
        same = Comparison(verdict=Verdict.VERBATIM, stop=width * height)
        return Finding(comparison=same, unit="pixel", part=here, extent=width * height, note=note)
    found = _find_pixels(parts, citing, here, cited, rect, origin)
    return msgspec.structs.replace(found, note=found.note or note)


def _note_frames(parts: PartExtraction, cited: Side) -> str:
    """Return what it means that a complete image with several frames is cited."""
    count = 1 if cited.selector is not None else _count_frames(parts, cited.source)
    frames = count_things(count, "frame")
    return "" if count == 1 else f"only the first of the {frames} of the cited image counts"


def _find_cited_rectangle(parts: PartExtraction, cited: Side) -> Rect:
    """Return the pixels that are cited, all of them for a complete image."""
    match cited.selector:
        case None:
            return _find_rectangle(parts, cited.source)
        case Rect() as rect:
            return rect
        case Media(time=None, area=Area(), tracks=(), id=None) as asked:
            match parts.outline_part(cited.source, asked).selector:  # clipped, in pixels
                case Media(area=Area("pixel", x, y, width, height)):
                    return Rect(x, y, x + width, y + height)
    raise PartNotSupported(media_type=cited.source.media_type, selector=str(cited.selector))


def _find_pixels(
    parts: PartExtraction, citing: Side, here: Rect, cited: Side, rect: Rect, origin: Origin
) -> Finding:
    """Look for a cited rectangle in the whole frame, and count the equal pixels at the origin."""
    width, height = rect.right - rect.left, rect.bottom - rect.top
    try:
        theirs = _read_units(parts, cited.source, rect)
        ours = _read_frame(parts, citing.source, here.frame)
    except OverBudget:  # too large to be searched
        return Finding(comparison=msgspec.structs.replace(NOTHING, is_complete=False), unit="pixel")
    ours, theirs = _add_channels(ours, theirs)
    modes = theirs.form.partition(" ")[0], ours.form.partition(" ")[0]
    comparison, note = NOTHING, note_forms("pixel", *modes)  # other colours or depth
    if modes[0] == modes[1]:
        note = note_exact("pixel")
        comparison = _compare_pixels(ours, here, theirs, width * height)
        if comparison.verdict is Verdict.VERBATIM:
            return Finding(comparison=comparison, unit="pixel", part=here, extent=width * height)
    for frame in (here.frame, *_list_other_frames(parts, citing.source, here.frame)):
        try:
            searched = ours if frame == here.frame else _read_frame(parts, citing.source, frame)
        except (OverBudget, PartOutOfRange):
            comparison = msgspec.structs.replace(comparison, is_complete=False)
            break
        corner = _find_corner(searched, theirs, width)
        if corner is not None:
            left, top = corner
            there = Rect(left, top, left + width, top + height, frame)
            moved = str(origin._replace(number=left, top=top, frame=frame))
            extent = width * height
            return Finding(
                comparison=_ELSEWHERE, unit="pixel", part=there, extent=extent, moved=moved
            )
    return _describe_altered(comparison, "pixel", here, note)


def _compare_pixels(ours: _Units, here: Rect, theirs: _Units, count: int) -> Comparison:
    """Compare a cited rectangle with the pixels of a frame at its place."""
    size = len(theirs.data) // count
    across, down = _read_size(ours)
    if here.right > across or here.bottom > down:
        return NOTHING
    row, stride = (here.right - here.left) * size, across * size
    first = here.top * stride + here.left * size
    data = b"".join(
        ours.data[at : at + row]
        for at in range(first, first + (here.bottom - here.top) * stride, stride)
    )
    return compare_units(data, theirs.data, size)


def _find_corner(frame: _Units, cited: _Units, width: int) -> tuple[int, int] | None:
    """Return the corner of a cited rectangle in a frame, or None."""
    ours, theirs = _add_channels(frame, cited)
    across, down = _read_size(ours)
    if ours.form.partition(" ")[0] != theirs.form.partition(" ")[0]:
        return None
    return find_rectangle(ours.data, across, theirs.data, width, len(ours.data) // (across * down))


def _add_channels(one: _Units, other: _Units) -> tuple[_Units, _Units]:
    """Give the pixels that have no alpha channel an opaque one, if the other ones have it."""
    return _add_channel(one, other), _add_channel(other, one)


def _add_channel(units: _Units, other: _Units) -> _Units:
    mode, _, size = units.form.partition(" ")
    wanted = _WITH_ALPHA.get(mode)
    if wanted is None or wanted[0] != other.form.partition(" ")[0]:
        return units
    across, down = _read_size(units)
    with_alpha = add_alpha(units.data, len(units.data) // (across * down), wanted[1])
    return _Units(f"{wanted[0]} {size}", with_alpha)


def _read_size(units: _Units) -> tuple[int, int]:
    """Return the width and the height of pixels."""
    across, _, down = units.form.rpartition(" ")[2].partition("x")
    return int(across), int(down)


class _Scene(NamedTuple):
    """Frames of a film that are cited, and when they are shown."""

    time: Interval
    frames: _Units
    is_clipped: bool = False
    """Whether they are all that the film has of what is cited, so that it may end there."""


def _compare_film(parts: PartExtraction, citing: Side, origin: Origin, cited: Side) -> Finding:
    with blame(cited.identifier):
        scene = _read_scene(parts, cited)
    theirs = scene.frames
    start, lasts = Fraction(origin.number), scene.time.end - scene.time.start
    here = Interval(start, start + lasts)
    with blame(citing.identifier):
        require_place(parts, citing.source, origin, Instant(start))
        part = Media(time=Time(start, here.end)) if scene.is_clipped else Crop(here)
        try:
            ours = _read_units(parts, citing.source, part)
        except PartOutOfRange:
            ours = _Units(theirs.form, b"")
    comparison, note = NOTHING, note_forms("frame", theirs.form, ours.form)
    if ours.form == theirs.form:
        comparison, note = compare_units(ours.data, theirs.data, _DIGEST), ""
    if comparison.verdict is Verdict.VERBATIM and len(ours.data) == len(theirs.data):
        return _describe_scene(comparison, here, len(theirs.data) // _DIGEST)
    with blame(citing.identifier):
        elsewhere = _find_scene(parts, citing.source, theirs, lasts)
    return elsewhere or _describe_altered(comparison, "frame", here, note)


def _read_scene(parts: PartExtraction, cited: Side) -> _Scene:
    """Read the cited frames, all of them for a complete film."""
    match cited.selector or Media():
        case Interval() as time:
            return _Scene(time, _read_units(parts, cited.source, Crop(time)))
        case Crop() as crop:
            return _Scene(crop.time, _read_units(parts, cited.source, crop))
        case Media(time=time, area=area, tracks=tracks, id=None) if set(tracks) <= _PICTURES:
            start = (time.start if time else None) or Fraction(0)
            asked = Media(time=Time(start, time.end if time else None), area=area)
            part, frames = _cut_units(parts, cited.source, asked)
            match part.selector:  # clipped
                case Units(part=Media(time=Time(end=Fraction() as end))):
                    stop = Fraction(math.floor(end * _MILLISECONDS), _MILLISECONDS)
                    return _Scene(Interval(start, stop), frames, is_clipped=True)
    raise PartNotSupported(media_type=cited.source.media_type, selector=str(cited.selector))


def _describe_scene(comparison: Comparison, there: Interval, frames: int) -> Finding:
    lasts = there.end - there.start
    if lasts.denominator == 1:
        return Finding(comparison=comparison, unit="second", part=there, extent=int(lasts))
    return Finding(comparison=comparison, unit="frame", part=there, extent=frames)


def _find_scene(
    parts: PartExtraction, source: Source, cited: _Units, lasts: Fraction
) -> Finding | None:
    """Look for the frames of a cited scene in the whole film. An origin is a whole second.

    Frames are counted, so the place is one in time if the film has one rate; it is read again
    there, to be sure.
    """
    seconds = [one.seconds for one in parts.list_extents(source) if one.seconds]
    end = Fraction(math.floor(max(seconds, default=0) * _MILLISECONDS), _MILLISECONDS)
    if not end:
        return None
    try:
        ours = _read_units(parts, source, Crop(Interval(Fraction(0), end)))
    except (OverBudget, PartOutOfRange):  # too long to be searched
        return None
    at = find_run(ours.data, cited.data, _DIGEST) if ours.form == cited.form else None
    if at is None:
        return None
    start = at / Fraction(cited.form.split()[-2])  # the frames in a second
    there = Interval(start, start + lasts)
    frames = len(cited.data) // _DIGEST
    if (start * _MILLISECONDS).denominator != 1 or not _shows(parts, source, there, cited):
        return Finding(comparison=_ELSEWHERE, unit="frame", extent=frames)
    found = _describe_scene(_ELSEWHERE, there, frames)
    moved = str(start) if start.denominator == 1 else None
    return msgspec.structs.replace(found, moved=moved)


def _shows(parts: PartExtraction, source: Source, time: Interval, cited: _Units) -> bool:
    """Return whether exactly some frames are shown in an interval of a film."""
    try:
        return _read_units(parts, source, Crop(time)) == cited
    except (OverBudget, PartOutOfRange):
        return False


def _describe_altered(comparison: Comparison, unit: str, here: Selector, note: str = "") -> Finding:
    note = note or note_exact(unit)
    if comparison.verdict is not Verdict.ALTERED:
        absent = msgspec.structs.replace(NOTHING, kept=comparison.kept, total=comparison.total)
        return Finding(comparison=absent, unit=unit, note=note)
    return Finding(comparison=comparison, unit=unit, part=here, extent=comparison.total, note=note)


def _digest_part(parts: PartExtraction, source: Source, selector: Selector) -> _Digest:
    part = parts.cut_part(source, selector)
    if part.decoded is None:
        raise ComparisonTooLong(source=source.name, most=_LONGEST)
    return _Digest(part.decoded.form, part.decoded.sha512)


def _read_units(parts: PartExtraction, source: Source, selector: Rect | Crop | Media) -> _Units:
    return _cut_units(parts, source, selector)[1]


def _cut_units(
    parts: PartExtraction, source: Source, selector: Rect | Crop | Media
) -> tuple[Part, _Units]:
    """Return the units of a part, and the part that they are after clipping."""
    part = parts.cut_part(source, Units(selector))
    if part.length is None or part.length > _LONGEST or part.decoded is None:
        raise ComparisonTooLong(source=source.name, most=_LONGEST)
    return part, _Units(part.decoded.form, b"".join(iterate_body(part.body, source)))


def _read_frame(parts: PartExtraction, source: Source, frame: int) -> _Units:
    """Read all pixels of a frame of an image."""
    return _read_units(parts, source, _find_rectangle(parts, source, frame))


def _list_other_frames(parts: PartExtraction, source: Source, frame: int) -> list[int]:
    """Return the frames of an image but one, as many as are searched."""
    others = [one for one in range(_count_frames(parts, source)) if one != frame]
    return others[:_MOST_FRAMES]


def _count_frames(parts: PartExtraction, source: Source) -> int:
    extents = parts.list_extents(source)
    counted = (one.size for one in extents if one.what == FRAMES and one.size is not None)
    return next(counted, 1)


def _find_rectangle(parts: PartExtraction, source: Source, frame: int = 0) -> Rect:
    """Return all pixels of a frame of an image."""
    found: Rect | None = None
    for extent in parts.list_extents(source):
        match = _WHOLE_FRAME.fullmatch(extent.syntax)
        if match is None or extent.what == FRAMES:
            continue
        right, bottom, number = (int(one or 0) for one in match.groups())
        if found is None or number == frame:
            found = Rect(0, 0, right, bottom, frame)
    if found is None:
        raise PartNotSupported(media_type=source.media_type, selector="rect")
    return found


# sound: the same samples
# -----------------------


class _Samples(NamedTuple):
    form: bytes
    data: bytes
    block: int
    rate: int


def _compare_sound(parts: PartExtraction, citing: Side, origin: Origin, cited: Side) -> Finding:
    with blame(cited.identifier):
        theirs = _read_samples(parts, cited.source, cited.selector or _ALL_SOUND)
    count = len(theirs.data) // theirs.block
    start = Fraction(origin.number)
    time = Time(start, start + Fraction(count, theirs.rate))
    tracks = _SOUND if origin.medium is Medium.FILM else ()
    here = _name_sound(time, tracks)
    with blame(citing.identifier):
        require_place(parts, citing.source, origin, Instant(start))
        rest = Media(time=time, tracks=tracks)  # clipped at the end of the sound
        try:
            ours = _read_samples(parts, citing.source, rest)
        except (PartNotFound, PartOutOfRange):
            if not tracks:
                raise
            return Finding(comparison=NOTHING, unit="sample")  # a film without sound there
    if ours.form != theirs.form:
        note = note_forms("sample", _describe_samples(theirs), _describe_samples(ours))
        return Finding(comparison=NOTHING, unit="sample", note=note)
    comparison = compare_units(ours.data, theirs.data, theirs.block)
    if comparison.verdict is not Verdict.VERBATIM:
        with blame(citing.identifier):
            elsewhere = _find_samples(parts, citing.source, theirs, tracks)
        if elsewhere is not None:
            return elsewhere
    if comparison.verdict is Verdict.ALTERED and len(ours.data) < len(theirs.data):
        return Finding(comparison=NOTHING, unit="sample", note=note_exact("sample"))
    if comparison.verdict is Verdict.VERBATIM:
        return Finding(comparison=comparison, unit="sample", part=here, extent=count)
    return _describe_altered(comparison, "sample", here)


def _name_sound(time: Time, tracks: tuple[str, ...]) -> Selector:
    """Return the part of a time, of a film that of its sound."""
    if tracks or time.start is None or time.end is None:
        return Media(time=time, tracks=tracks)
    return Interval(time.start, time.end)


def _find_samples(
    parts: PartExtraction, source: Source, cited: _Samples, tracks: tuple[str, ...]
) -> Finding | None:
    """Look for cited samples in the whole sound. An origin is a whole second."""
    try:
        ours = _read_samples(parts, source, Media(time=_ALL_SOUND.time, tracks=tracks))
    except OverBudget:  # too long to be searched
        return None
    at = find_run(ours.data, cited.data, cited.block)
    if at is None:
        return None
    count = len(cited.data) // cited.block
    start, end = Fraction(at, cited.rate), Fraction(at + count, cited.rate)
    is_spelled = (start * 1000).denominator == (end * 1000).denominator == 1
    return Finding(
        comparison=_ELSEWHERE,
        unit="sample",
        part=_name_sound(Time(start, end), tracks) if is_spelled else None,
        extent=count,
        moved=str(start) if start.denominator == 1 else None,
    )


def _describe_samples(one: _Samples) -> str:
    """Return the form of samples of all channels in words: `44100 Hz with 32-bit frames`."""
    return f"{one.rate} Hz with {8 * one.block}-bit frames"


def _read_samples(parts: PartExtraction, source: Source, selector: Selector) -> _Samples:
    part = parts.cut_part(source, selector)
    data = bytearray()
    for chunk in iterate_body(part.body, source):
        data += chunk
        if len(data) > _LONGEST:
            raise ComparisonTooLong(source=source.name, most=_LONGEST)
    head = read_head(bytes(data))
    if head is None:
        raise PartNotSupported(media_type=source.media_type, selector=str(selector))
    return _Samples(head.form, bytes(data[head.start : head.stop]), head.block, head.rate)


# bytes
# -----


def _compare_bytes(parts: PartExtraction, citing: Side, origin: Origin, cited: Side) -> Finding:
    selector = cited.selector or ByteRange(0, max(cited.source.length, 1))
    with blame(cited.identifier):
        theirs = (
            b""
            if not cited.source.length and cited.selector is None
            else _read_bytes(parts, cited.source, selector)
        )
    source, start = citing.source, origin.number
    if start > source.length:
        raise PartOutOfRange(
            identifier=source.name,
            selector=f"origin {start}",
            extent=count_things(source.length, "byte"),
        )
    comparison = compare_units(source.read_bytes(start, start + len(theirs)), theirs, 1, start)
    if comparison.verdict is Verdict.VERBATIM:
        return _describe_bytes(comparison, origin)
    with blame(citing.identifier):
        if source.length > _LONGEST:
            raise ComparisonTooLong(source=source.name, most=_LONGEST)
        there = source.read_bytes().find(theirs) if theirs else -1
    if there >= 0:
        stop = there + len(theirs)
        comparison = msgspec.structs.replace(_ELSEWHERE, start=there, stop=stop)
    return _describe_bytes(comparison, origin)


def _describe_bytes(comparison: Comparison, origin: Origin) -> Finding:
    if comparison.verdict is Verdict.ABSENT:
        return Finding(comparison=comparison, unit="byte")
    moved = None
    if comparison.verdict is Verdict.ELSEWHERE:
        moved = origin.spell_moved(comparison.start)
    return Finding(
        comparison=comparison,
        unit="byte",
        part=ByteRange(comparison.start, comparison.stop),
        extent=comparison.stop - comparison.start,
        moved=moved,
    )


def _read_bytes(parts: PartExtraction, source: Source, selector: Selector) -> bytes:
    part = parts.cut_part(source, selector)
    if part.length is None or part.length > _LONGEST:
        raise ComparisonTooLong(source=source.name, most=_LONGEST)
    return b"".join(iterate_body(part.body, source))
