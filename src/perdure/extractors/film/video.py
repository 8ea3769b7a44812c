"""Parts of video that must be decoded: a rectangle of an interval, a frame, and intervals of
containers without edit lists and of fragmented films.

How it works: frames are decoded (`perdure.extractors.film.footage`), cropped (`picture`) and
written without loss (`matroska`). For a long part, the extractor first makes sure that its end
exists, and then sends it while it is decoded. A short part is returned with the digest of its
frames (ruling: part-digest). Intervals of MP4 and QuickTime are cut without decoding
(`perdure.extractors.film.mp4`).

What must stay true: the code runs confined. A part has all its frames, or is an error.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec import structs

from perdure.errors import PartNotSupported, PartOutOfRange, Undecodable
from perdure.errors.damage import FilmTruncated
from perdure.errors.root import count_seconds
from perdure.extractors import lasting
from perdure.extractors.container import EXTRA
from perdure.extractors.film import captions, mp4, soundtrack
from perdure.extractors.film.footage import (
    FILMS,
    OTHERS,
    FilmSound,
    Footage,
    Shot,
    list_tracks,
    open_footage,
)
from perdure.extractors.film.matroska import MatroskaWriter
from perdure.extractors.film.picture import crop_picture, make_frame
from perdure.extractors.port import Decoded, Extent, Indexes, Part, Source, Stream
from perdure.parts import (
    Crop,
    Instant,
    Interval,
    Media,
    PartSelector,
    Rect,
    Selector,
    Units,
)
from perdure.parts.selectors import Area, Time

_AT_ONCE = 16 << 20  # bytes of pixels that are decoded before the first is sent


class VideoExtractor:
    """Frames and rectangles of video, decoded and stored without loss."""

    confined = True
    install = f"perdure[{EXTRA}]"

    def __init__(
        self, media_types: tuple[str, ...], selectors: tuple[type[PartSelector], ...]
    ) -> None:
        self.media_types = media_types
        self.selectors = selectors

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        if isinstance(selector, Media) and selector.area is None and _keeps_frames(source):
            return mp4.cut_film(source, selector)
        if isinstance(selector, Units):
            return _digest_frames(source, selector)
        with open_footage(source, selector) as footage:
            if isinstance(selector, Instant):
                return _cut_frame(footage, selector)
            if isinstance(selector, Media) and footage.alone is not None:
                return _cut_track(footage, selector)
            return _cut_part(footage, _resolve_scene(footage, selector))

    def outline_part(self, source: Source, selector: Selector) -> Part | None:
        if not isinstance(selector, (Interval, Crop)):  # the others are clipped or single frames
            return None
        with open_footage(source, selector) as footage:
            scene = _resolve_scene(footage, selector)
            if scene.end is None or not footage.reaches_time(scene.end):
                raise _explain_missing(footage, scene)
        return Part(selector=selector, media_type="video/x-matroska", body=Stream(iter(())))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        with open_footage(source, "sec") as footage:
            lasts = footage.find_duration()
            times = lasting.list_time_extents(lasts)
            if not times:
                return ()
            width, height = footage.width, footage.height
            crop = Crop(lasting.select_first_second(lasts), Rect(0, 0, width, height))
            pixels = Extent(syntax=str(crop), what=f"pixels, {width} x {height}")
            tracks = list_tracks(footage)
        if _keeps_frames(source):
            return (pixels,)
        if len(tracks) > 1:
            times += (Extent(syntax="track=1", what="tracks", size=len(tracks), items=tracks),)
        return (pixels, *times)


def _keeps_frames(source: Source) -> bool:
    """Return whether another extractor cuts intervals without decoding."""
    return source.essence in FILMS and mp4.EXTRACTOR.can_cut(source)


class _Scene(NamedTuple):
    """The frames and the area of a film that a selector addresses."""

    selector: Selector
    start: Fraction
    end: Fraction | None
    """None for the end of the film."""
    strict: bool
    """Whether all of it must exist."""
    box: tuple[int, int, int, int] | None = None


def _resolve_scene(footage: Footage, selector: Selector) -> _Scene:
    match selector:
        case Interval(start=start, end=end):
            scene = _Scene(selector, start, end, strict=True)
        case Crop(time=Interval(start=start, end=end), rect=None):
            scene = _Scene(selector, start, end, strict=True)
        case Crop(time=Interval(start=start, end=end), rect=Rect() as rect):
            box = (rect.left, rect.top, rect.right, rect.bottom)
            if rect.right > footage.width or rect.bottom > footage.height or rect.frame:
                raise _make_out_of_range(footage, selector)  # ruling: part-range
            scene = _Scene(selector, start, end, strict=True, box=box)
        case Media(time=time, area=area, id=None):  # `open_footage` has chosen its tracks
            begin = (time.start if time else None) or Fraction(0)
            place = _clip_area(area, footage.width, footage.height) if area else None
            scene = _Scene(selector, begin, time.end if time else None, strict=False, box=place)
        case _:
            raise PartNotSupported(
                media_type=footage.source.media_type,
                selector=str(selector),
                offered=("time intervals", "crop"),
            )
    left, top, right, bottom = scene.box or (0, 0, 1, 1)
    if left >= right or top >= bottom or (scene.end is not None and scene.start >= scene.end):
        raise _make_out_of_range(footage, selector)
    return scene


def _clip_area(area: Area, width: int, height: int) -> tuple[int, int, int, int]:
    """Return the pixels that an area touches, as far as they exist (Media Fragments 1.0, 4.2.2)."""
    right, bottom = area.x + area.width, area.y + area.height
    if area.unit == "pixel":
        return area.x, area.y, min(right, width), min(bottom, height)
    across = (area.x * width // 100, min(-(-right * width // 100), width))
    down = (area.y * height // 100, min(-(-bottom * height // 100), height))
    return across[0], down[0], across[1], down[1]


def _cut_part(footage: Footage, scene: _Scene) -> Part:
    taken: list[Shot | FilmSound] = []
    digest = hashlib.sha512()
    frames = size = 0
    for one in _cut_scene(footage, scene):
        taken.append(one)
        if isinstance(one, FilmSound):
            size += one.rows.nbytes
            continue
        raw = one.picture.sample_bytes
        digest.update(raw)
        frames += 1
        size += len(raw)
        if size > _AT_ONCE:
            return _stream_part(footage.source, scene)
    shots = [one for one in taken if isinstance(one, Shot)]
    ends = max((shot.time + shot.length for shot in shots), default=Fraction(0))
    if not shots or (scene.strict and not _is_reached(footage, scene, ends)):
        raise _explain_missing(footage, scene)
    writer = MatroskaWriter(footage, scene.start, _compute_length(scene, ends))
    return Part(
        selector=_clip_selector(scene, ends),
        media_type="video/x-matroska",
        body=(b"".join(writer.write_shots(taken)),),
        decoded=Decoded(form=f"{shots[0].picture} {frames} frames", sha512=digest.hexdigest()),
    )


def _digest_frames(source: Source, selector: Units) -> Part:
    """Return the digest of each frame of a scene, one after the other."""
    with open_footage(source, selector.part) as footage:
        scene = _resolve_scene(footage, selector.part)
        shots = (one for one in _cut_scene(footage, scene) if isinstance(one, Shot))
        digests, form, ends = list[bytes](), "", Fraction(0)
        for shot in shots:
            digests.append(hashlib.sha512(shot.picture.sample_bytes).digest())
            form = f"{shot.picture} {footage.frame_rate} Hz"
            ends = max(ends, shot.time + shot.length)
        if not digests or (scene.strict and not _is_reached(footage, scene, ends)):
            raise _explain_missing(footage, scene)
    data = b"".join(digests)
    return Part(
        selector=structs.replace(selector, part=_clip_selector(scene, ends)),
        media_type="application/octet-stream",
        body=(data,),
        decoded=Decoded(form=form, sha512=hashlib.sha512(data).hexdigest()),
    )


def _is_reached(footage: Footage, scene: _Scene, ends: Fraction) -> bool:
    if scene.end is None or ends >= scene.end:
        return True
    with open_footage(footage.source, scene.selector) as again:
        return again.reaches_time(scene.end)


def _compute_length(scene: _Scene, ends: Fraction | None) -> Fraction | None:
    """Return the duration in seconds of a scene in a film that ends at `ends`, or None
    if unknown.
    """
    if scene.end is not None and (scene.strict or (ends is not None and scene.end <= ends)):
        return scene.end - scene.start
    return None if ends is None else ends - scene.start


def _clip_selector(scene: _Scene, ends: Fraction) -> Selector:
    """Return the selector after clipping."""
    if not isinstance(scene.selector, Media):
        return scene.selector
    time = scene.selector.time
    if time is not None:
        time = Time(scene.start, ends if scene.end is None else min(scene.end, ends))
    area = None
    if scene.box is not None:
        left, top, right, bottom = scene.box
        area = Area("pixel", left, top, right - left, bottom - top)
    return Media(time=time, area=area, tracks=scene.selector.tracks)


def _stream_part(source: Source, scene: _Scene) -> Part:
    """Return a part that is decoded again while it is sent."""
    if scene.strict and scene.end is not None:
        with open_footage(source, scene.selector) as footage:
            if not footage.reaches_time(scene.end):
                raise _explain_missing(footage, scene)
    selector = scene.selector
    return Part(
        selector=selector, media_type="video/x-matroska", body=Stream(_send_scene(source, scene))
    )


def _send_scene(source: Source, scene: _Scene) -> Iterator[bytes]:
    with open_footage(source, scene.selector) as footage:
        writer = MatroskaWriter(
            footage, scene.start, _compute_length(scene, footage.stated_duration)
        )
        yield from writer.write_shots(_cut_scene(footage, scene))


def _cut_scene(footage: Footage, scene: _Scene) -> Iterator[Shot | FilmSound]:
    """Yield the frames of a scene, cropped to its rectangle, and its sound."""
    for one in footage.decode_interval(scene.start, scene.end):
        if isinstance(one, Shot) and scene.box is not None:
            yield one._replace(picture=crop_picture(one.picture, *scene.box))
        else:
            yield one


def _cut_track(footage: Footage, selector: Media) -> Part:
    """Return a track of sound or of subtitles alone."""
    if selector.area is not None or selector.id is not None:
        raise PartNotSupported(
            media_type=footage.source.media_type,
            selector=str(selector),
            offered=("time intervals", "tracks"),
        )
    if footage.audio is not None:
        return soundtrack.cut_sound(footage, selector)
    return captions.cut_captions(footage, selector)


def _cut_frame(footage: Footage, selector: Instant) -> Part:
    """Return the frame that is shown at a moment, as a PNG."""
    shot = footage.find_frame(selector.at)
    if shot is None:
        raise _make_out_of_range(footage, selector)
    from av import CodecContext

    coloured: Any = make_frame(shot.picture)
    coloured.color_range = footage.video.codec_context.color_range
    coloured.colorspace = footage.video.codec_context.colorspace
    frame = coloured.reformat(format="rgb24")
    encoder: Any = CodecContext.create("png", "w")
    encoder.width, encoder.height, encoder.pix_fmt = frame.width, frame.height, "rgb24"
    encoder.time_base = Fraction(1, 1000)
    packets = [*encoder.encode(frame), *encoder.encode(None)]
    raw = frame.to_ndarray().tobytes()
    return Part(
        selector=selector,
        media_type="image/png",
        body=(b"".join(map(bytes, packets)),),
        decoded=Decoded(
            form=f"rgb8 {frame.width}x{frame.height}", sha512=hashlib.sha512(raw).hexdigest()
        ),
    )


def _explain_missing(footage: Footage, scene: _Scene) -> PartOutOfRange | Undecodable:
    """Return the error for missing frames: they never existed, or the film is truncated."""
    promised = math.floor(footage.stated_duration or 0)
    if scene.end is not None and scene.start < scene.end <= promised:
        return FilmTruncated(**footage.source.subject)
    return _make_out_of_range(footage, scene.selector)


def _make_out_of_range(footage: Footage, selector: Selector) -> PartOutOfRange:
    with open_footage(footage.source, selector) as again:
        seconds = count_seconds(round(float(again.find_duration()), 3))
    return PartOutOfRange(
        identifier=footage.source.name,
        selector=str(selector),
        extent=f"{footage.width} x {footage.height} pixels and {seconds}",
    )


EXTRACTOR = VideoExtractor(OTHERS, (Interval, Media, Instant, Crop, Units))
FILM = VideoExtractor(FILMS, (Interval, Media, Instant, Crop, Units))
