"""Intervals and tracks of MP4 and QuickTime films: a new table of contents over the old bytes.

How it works: frames stay as they were encoded, beginning with one that can be decoded first. The
part's edit list tells the player which of them to show: exactly those with a presentation time in
[start, end) (ruling: time-range), each as long after the beginning of the part as it was shown
after `start`. Sound begins at its exact sample in the same way. A new table of contents comes
first. The media after it are spans of the source, so nothing is decoded or copied, and the first
byte is sent before the last one is located.

A decoder needs the frames before the first one shown, up to some seconds. They are in the part, and
its fact `pre-roll` states their duration: a player that ignores edit lists shows them.

What must stay true: spans are within the source, and together are no longer than it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

from perdure.errors import PartNotFound, PartNotSupported, PartOutOfRange
from perdure.errors.limits import PiecesTooMany
from perdure.errors.root import count_seconds
from perdure.extractors import lasting
from perdure.extractors.film import boxes, movie
from perdure.extractors.film.boxes import BadBox
from perdure.extractors.film.movie import Edit, Movie
from perdure.extractors.film.movie import FilmTrack as FilmTrack
from perdure.extractors.film.sample_table import (
    SamplePiece,
    build_layout_box,
    build_place_box,
)
from perdure.extractors.port import Extent, Indexes, Part, Source, Span
from perdure.parts import Interval, Media, Selector, Track
from perdure.parts.selectors import Time

_MP4 = ("video/mp4", "video/x-m4v", "application/mp4")
"""Media types whose files are `audio/mp4` if they have sound and no pictures (RFC 4337, 2)."""
_PRE_ROLL = Fraction(1, 5)  # seconds of sound that let its decoder settle
_MOST_PIECES = 500_000
_FINEST_UNIT = (1 << 31) - 1
_NOTHING = -1


class Mp4Extractor:
    """Intervals of films."""

    media_types = ("video/mp4", "video/quicktime", "video/x-m4v", "application/mp4")
    selectors = (Interval,)
    confined = False
    install = None

    def can_cut(self, source: Source) -> bool:
        with _report_bad_boxes(source):
            return not movie.is_fragmented(source)

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        return cut_film(source, selector)

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        film = _read_if_cuttable(source)
        if film is None:
            return ()
        return lasting.list_time_extents(film.duration)


class TrackExtractor:
    """Complete tracks of films and of sound, by number."""

    media_types = (*Mp4Extractor.media_types, "audio/mp4", "audio/x-m4a")
    selectors = (Track,)
    confined = False
    install = None

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        return cut_film(source, selector)

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        film = _read_if_cuttable(source)
        if film is None:
            return ()
        found = tuple(map(str, film.tracks))
        return (Extent(syntax="ffp(track_ID=1)", what="tracks", size=len(found), items=found),)


class _Strip(NamedTuple):
    """An interval of a part in which a track is shown."""

    start: Fraction
    """Seconds after the beginning of the part."""
    begins: int
    length: int
    """The track's own times, in its unit."""


class _Share(NamedTuple):
    """The share of a track in a part: the samples [first, last), and when they are shown."""

    track: FilmTrack
    first: int
    last: int
    strips: tuple[_Strip, ...]

    @property
    def base_time(self) -> int:
        """The track's time that is zero in the part."""
        return self.track.table.find_decoding_time(self.first)

    @property
    def frame_shift(self) -> int:
        """The delay that keeps every frame from being shown before it is decoded."""
        return max(-self.track.table.find_least_offset(self.first, self.last), 0)

    @property
    def pre_roll(self) -> Fraction:
        """Seconds that are decoded before the first frame that is shown."""
        return Fraction(max(self.strips[0].begins - self.base_time, 0), self.track.unit)


def cut_film(source: Source, selector: Selector) -> Part:
    """Cut a part of a film. Raises PartNotFound, PartOutOfRange, PartNotSupported, OverBudget or
    Undecodable.
    """
    with _report_bad_boxes(source):
        film = movie.read_movie(source)
        start, end, chosen = _resolve_selector(source, selector, film)
        shares = [share for track in chosen if (share := _choose_samples(track, start, end))]
        kinds = {share.track.handler for share in shares}
        if not shares or (movie.VIDEO not in kinds and any(map(_is_video, chosen))):
            raise _make_out_of_range(source, selector, film)
        places = _locate_samples(source, shares)
        head = _build_head(film, shares, places, math.lcm(start.denominator, end.denominator))
    if isinstance(selector, Media) and selector.time:
        selector = Media(time=Time(start, end), tracks=selector.tracks)
    spans = tuple(_merge_pieces(piece for _, piece in places))
    rolled = max(share.pre_roll for share in shares)
    shown_before = (
        f"{float(rolled):.3f} seconds, which players with support for edit lists do not show"
    )
    return Part(
        selector=selector,
        media_type="audio/mp4"
        if kinds == {movie.SOUND} and source.essence in _MP4
        else source.essence,
        body=(head, *spans),
        slices=spans,
        facts={"pre-roll": shown_before} if rolled else {},
    )


def _read_if_cuttable(source: Source) -> Movie | None:
    """Read a film. None if it cannot be cut, for example because it is in fragments."""
    try:
        with _report_bad_boxes(source):
            return movie.read_movie(source)
    except PartNotSupported:
        return None


@contextmanager
def _report_bad_boxes(source: Source) -> Iterator[None]:
    try:
        yield
    except BadBox as error:
        raise error.explain(source) from None
    except (struct.error, OverflowError, IndexError) as error:
        raise source.quote_decoder("Python", error) from None


# choosing
# --------


def _resolve_selector(
    source: Source, selector: Selector, film: Movie
) -> tuple[Fraction, Fraction, Sequence[FilmTrack]]:
    """Return the start, end and tracks of a part."""
    start, end = Fraction(0), film.duration
    tracks: Sequence[FilmTrack] = film.tracks
    match selector:
        case Interval():
            start, end = selector.start, selector.end
            if start >= end or end > film.duration:  # ruling: part-range
                raise _make_out_of_range(source, selector, film)
        case Media(time=time, area=None, tracks=names, id=None):
            if time:
                start = time.start or start
                end = end if time.end is None else min(time.end, end)
            if names:
                tracks = _find_tracks(source, selector, film, names)
        case Track(kind="track_ID", value=value):
            tracks = _find_tracks(source, selector, film, (value,))
        case _:
            raise PartNotSupported(
                media_type=source.media_type,
                selector=str(selector),
                offered=("time intervals", "track numbers"),
            )
    return start, end, tracks


def _find_tracks(
    source: Source, selector: Selector, film: Movie, names: tuple[str, ...]
) -> Sequence[FilmTrack]:
    """Return the tracks with these numbers, names or kinds."""
    found = [
        track
        for track in film.tracks
        if not {str(track.number), track.name, track.kind}.isdisjoint(names)
    ]
    if not found:
        known = ", ".join(map(str, film.tracks))
        raise PartNotFound(identifier=source.name, selector=str(selector), extent=f"tracks {known}")
    return found


def _is_video(track: FilmTrack) -> bool:
    return track.handler == movie.VIDEO


def _choose_samples(track: FilmTrack, start: Fraction, end: Fraction) -> _Share | None:
    """Return the share of a track in [start, end), with the samples that a decoder needs for it."""
    strips: list[_Strip] = []
    borders: list[int] = []
    for edit in track.edits:
        first, last = _find_track_time(track, edit, start), _find_track_time(track, edit, end)
        if first >= last:
            continue
        if _is_video(track):
            shown = track.table.find_shown_frames(first, last)
            if shown is None:
                continue
            first = shown.begins
            borders += (track.table.find_decodable(shown), shown.last)
        else:
            borders += (_find_run_in(track, first), track.table.find_first_since(last))
        shown_at = edit.start + Fraction(first - edit.media, track.unit) - start
        strips.append(_Strip(shown_at, first, last - first))
    if not strips or min(borders) >= max(borders):
        return None
    return _Share(track, min(borders), max(borders), tuple(strips))


def _find_track_time(track: FilmTrack, edit: Edit, moment: Fraction) -> int:
    """Return the first time of the track that is shown at this moment or later, within an edit."""
    within = min(max(moment - edit.start, Fraction(0)), edit.length)
    return edit.media + math.ceil(within * track.unit)


def _find_run_in(track: FilmTrack, first: int) -> int:
    """Return the sample from which sound or text must be decoded."""
    if track.handler == movie.SOUND and not track.table.has_equal_sizes:
        first = max(first - math.ceil(_PRE_ROLL * track.unit), 0)
    return max(track.table.find_first_since(first + 1) - 1, 0)


def _locate_samples(source: Source, shares: Sequence[_Share]) -> list[tuple[int, SamplePiece]]:
    """Return the places of all samples in the order of the file; each piece has the number of its
    share.
    """
    places = [
        (number, piece)
        for number, share in enumerate(shares)
        for piece in islice(
            share.track.table.list_pieces(share.first, share.last), _MOST_PIECES + 1
        )
    ]
    if len(places) > _MOST_PIECES:
        raise PiecesTooMany(source=source.name, most=_MOST_PIECES)
    if places and max([start + length for _, (start, length, _, _) in places]) > source.length:
        raise BadBox("frames-missing")
    if sum([piece.length for _, piece in places]) > source.length:
        raise BadBox("frames-overlap")
    places.sort(key=lambda place: place[1].start)
    return places


def _merge_pieces(pieces: Iterable[SamplePiece]) -> Iterator[Span]:
    """Yield spans of the source, as few as possible."""
    begin = end = 0
    for start, length, _, _ in pieces:
        if start != end:
            if end > begin:
                yield Span(begin, end)
            begin = start
        end = start + length
    if end > begin:
        yield Span(begin, end)


# writing
# -------


def _build_head(
    film: Movie, shares: Sequence[_Share], places: Sequence[tuple[int, SamplePiece]], unit: int
) -> bytes:
    """Build everything that precedes the media."""
    unit = math.lcm(unit, film.unit, *(share.track.unit for share in shares))
    if unit > _FINEST_UNIT:
        unit = film.unit
    brands = boxes.build_box(b"ftyp", film.brands) if film.brands else b""
    media = boxes.build_head(b"mdat", sum(piece.length for _, piece in places))
    drafts = [_draft_track(share, unit) for share in shares]
    header = _change_duration(b"mvhd", film.header, max(draft.length for draft in drafts), unit)
    moved = _move_pieces(places, len(shares))
    contents = b""
    while True:  # the table before the media states where they begin, so its own length matters
        start = len(brands) + len(contents) + len(media)
        tracks = (
            draft.build_track(its_places, start)
            for draft, its_places in zip(drafts, moved, strict=True)
        )
        again = boxes.build_box(b"moov", header, *tracks)
        if len(again) == len(contents):
            return brands + again + media
        contents = again


class _MovedPieces(NamedTuple):
    """The pieces of a share in the part."""

    layout: bytes
    """The box with the number of samples in each."""
    starts: list[int]
    """Their places after the beginning of the media."""


def _move_pieces(places: Sequence[tuple[int, SamplePiece]], shares: int) -> list[_MovedPieces]:
    """Return the pieces of each share at their new places in the part."""
    starts: list[list[int]] = [[] for _ in range(shares)]
    pieces: list[list[SamplePiece]] = [[] for _ in range(shares)]
    start = 0
    for number, piece in places:
        starts[number].append(start)
        pieces[number].append(piece)
        start += piece.length
    return list(map(_MovedPieces, map(build_layout_box, pieces), starts))


class _Draft(NamedTuple):
    """The boxes of a track in the part, without the places of its samples."""

    length: int
    """Its duration, in the film's unit."""
    headers: bytes
    media: bytes
    information: bytes
    table: bytes

    def build_track(self, pieces: _MovedPieces, start: int) -> bytes:
        """Build the track, if the media begin at `start`."""
        placed = build_place_box(pieces.starts, start)
        table = boxes.build_box(b"stbl", self.table, pieces.layout, placed)
        information = boxes.build_box(b"minf", self.information, table)
        return boxes.build_box(
            b"trak", self.headers, boxes.build_box(b"mdia", self.media, information)
        )


def _draft_track(share: _Share, unit: int) -> _Draft:
    track = share.track
    length, edits = _build_edit_list(share, unit)
    reference = boxes.build_full_box(b"url ", 0, 1)  # in this file
    references = boxes.build_full_box(b"dref", 0, 0, struct.pack(">I", 1), reference)
    duration = track.table.find_decoding_time(share.last) - share.base_time
    return _Draft(
        length=length,
        headers=_change_duration(b"tkhd", track.header, length, None) + edits,
        media=_change_duration(b"mdhd", track.media_header, duration, track.unit)
        + b"".join(boxes.build_box(kind, content) for kind, content in track.media),
        information=b"".join(boxes.build_box(kind, content) for kind, content in track.information)
        + boxes.build_box(b"dinf", references),
        table=boxes.build_box(b"stsd", track.descriptions)
        + b"".join(track.table.build_cut_boxes(share.first, share.last, share.frame_shift)),
    )


def _build_edit_list(share: _Share, unit: int) -> tuple[int, bytes]:
    """Return the duration of the track in the film's unit, and the box with its edit list."""
    rows: list[tuple[int, int]] = []
    at = 0
    for strip in share.strips:
        start = round(strip.start * unit)
        stop = round((strip.start + Fraction(strip.length, share.track.unit)) * unit)
        if start > at:
            rows.append((start - at, _NOTHING))
        rows.append((stop - start, strip.begins - share.base_time + share.frame_shift))
        at = stop
    long = any(length >> 32 or time >> 31 > 0 for length, time in rows)
    form = struct.Struct(">QqI" if long else ">IiI")
    packed = b"".join(form.pack(length, time, movie.NORMAL_RATE) for length, time in rows)
    listed = boxes.build_full_box(b"elst", int(long), 0, struct.pack(">I", len(rows)), packed)
    return at, boxes.build_box(b"edts", listed)


def _change_duration(kind: bytes, content: memoryview, duration: int, unit: int | None) -> bytes:
    """Return a header (`mvhd`, `tkhd`, `mdhd`) with another duration, and with another unit if
    given.
    """
    width = 8 if content[0] else 4
    between = 4 if unit else 8  # the unit; or the number of the track, and four bytes more
    times = 4 + 2 * width
    kept = struct.pack(">I", unit) if unit else bytes(content[times : times + between])
    made = [int.from_bytes(content[at : at + width]) for at in (4, 4 + width)]
    version = int(width == 8 or duration >= 0xFFFFFFFF)
    code = "Q" if version else "I"
    flags = int.from_bytes(content[1:4])
    return boxes.build_full_box(
        kind,
        version,
        flags,
        struct.pack(f">2{code}", *made),
        kept,
        struct.pack(f">{code}", duration),
        content[times + between + width :],
    )


def _make_out_of_range(source: Source, selector: Selector, film: Movie) -> PartOutOfRange:
    return PartOutOfRange(
        identifier=source.name,
        selector=str(selector),
        extent=count_seconds(float(film.duration)),
    )


EXTRACTOR = Mp4Extractor()
TRACKS = TrackExtractor()
