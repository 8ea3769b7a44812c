"""Parts and text of subtitles (WebVTT, SubRip): `t=10,20` cuts the cues that are shown then.

Specification: Media Fragments URI 1.0 section 4.2.1. The media fragment of subtitles is their cues
in the interval, so that the same part fits the film and its subtitles. `id=` is the name of a cue.

How it works: the cues of a part are slices of the stored file. Their times do not change. A part of
WebVTT keeps the head of the file with its styles and regions, and so is a file of its own.

What must stay true: the text of a cue is in the part of its times.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from perdure.errors import PartNotFound, PartNotSupported, PartOutOfRange
from perdure.errors.damage import SubtitlesUnsigned, TextInvalid
from perdure.errors.root import count_things
from perdure.extractors.mapped_text import MappedText, TextBuilding
from perdure.extractors.plain_text import check_size
from perdure.extractors.port import Extent, Indexes, Part, Source, Span
from perdure.extractors.text.coding import Coding, find_coding
from perdure.extractors.text.cues import (
    SUBRIP,
    WEBVTT,
    Cue,
    has_signature,
    list_cues,
    read_cue_text,
)
from perdure.parts import Media, Selector
from perdure.parts.selectors import Time

_SECOND = 1000  # milliseconds
_SHOWN = 100  # names of cues in a list


class SubtitleExtractor:
    """Cues of subtitles."""

    media_types = (WEBVTT, SUBRIP)
    selectors = (Media,)
    confined = False
    install = None
    lengthy_from = 1 << 20  # bytes
    text_index = "subtitle-text-1"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        if not isinstance(selector, Media) or selector.area or selector.tracks:
            raise _make_unsupported(source, selector)
        if (selector.time is None) == (selector.id is None):
            raise _make_unsupported(source, selector)
        file = _read_file(source)
        if selector.id is not None:
            chosen = [at for at, cue in enumerate(file.cues) if cue.name == selector.id][:1]
            extent = count_things(len(file.cues), "cue")
        else:
            selector, chosen = _choose_cues(file, selector)
            extent = "no cue that is shown then"
        if not chosen:
            raise PartNotFound(identifier=source.name, selector=str(selector), extent=extent)
        return _make_part(file, selector, chosen)

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        file = _read_file(source)
        if not file.cues:
            return ()
        seconds = -(-file.end // _SECOND)
        names = tuple(cue.name for cue in file.cues if cue.name)
        found = [Extent(syntax=f"t=0,{min(seconds, 10)}", what="seconds", size=seconds)]
        if names:
            named = Media(id=names[0])
            shown = names[:_SHOWN]
            found.append(Extent(syntax=str(named), what="cues", size=len(file.cues), items=shown))
        return tuple(found)

    def map_text(self, source: Source) -> bytes:
        file = _read_file(source)
        building = TextBuilding(source)
        for cue, stored in zip(file.cues, file.locate_cues(), strict=True):
            text = read_cue_text(file.text, cue, source.essence)
            if text:
                group = int(cue.start >= cue.stop)  # a cue that is never shown is in no interval
                building.add_unit(text, group=group, first=cue.start, last=cue.stop, stored=stored)
                building.add_separator()
        return building.build_index()

    def open_text(self, source: Source, index: bytes | memoryview) -> MappedText:
        return MappedText(source, index, _spell_times)


def _spell_times(start: int, stop: int) -> Selector | None:
    """Return the part of an interval in milliseconds. A cue that is never shown has none."""
    if start >= stop:
        return None
    return Media(Time(Fraction(start, _SECOND), Fraction(stop, _SECOND)))


class _File(NamedTuple):
    """Subtitles as they are stored."""

    source: Source
    coding: Coding
    text: str
    cues: list[Cue]

    @property
    def end(self) -> int:
        """The end of the last cue that is shown, in milliseconds."""
        return max((cue.stop for cue in self.cues), default=0)

    def locate_cues(self) -> list[Span]:
        """Return the stored bytes of each cue."""
        codec, at, byte = self.coding.codec, 0, self.coding.start
        places = []
        for cue in self.cues:
            start = byte + len(self.text[at : cue.first].encode(codec))
            byte = start + len(self.text[cue.first : cue.last].encode(codec))
            at = cue.last
            places.append(Span(start, byte))
        return places


def _read_file(source: Source) -> _File:
    """Read subtitles. Raises Undecodable, OverBudget, or PartNotSupported if the charset has shifts
    or is unknown.
    """
    check_size(source)
    coding = find_coding(source)
    if coding.kind == "shifted":
        raise PartNotSupported(
            media_type=f"{source.essence}; charset={coding.codec}",
            selector="cue",
            offered=("char range", "line range", "byte range"),
        )
    try:
        text = source.read_bytes(coding.start).decode(coding.codec)
    except UnicodeDecodeError as error:
        at = coding.start + error.start
        raise TextInvalid(**source.subject, at=at, fault=error.reason) from None
    if source.essence == WEBVTT and not has_signature(text):
        raise SubtitlesUnsigned(**source.subject)
    return _File(source, coding, text, list_cues(text, source.essence))


def _choose_cues(file: _File, selector: Media) -> tuple[Media, list[int]]:
    """Return the interval as far as the subtitles last, and the numbers of the cues that are shown
    during it.
    """
    time = selector.time or Time(None, None)
    last = Fraction(file.end, _SECOND)
    start, end = time.start or Fraction(0), last if time.end is None else min(time.end, last)
    if start >= end:
        extent = f"cues until {float(last):.3f} seconds"
        raise PartOutOfRange(identifier=file.source.name, selector=str(selector), extent=extent)
    chosen = [
        at
        for at, cue in enumerate(file.cues)
        if cue.start < end * _SECOND and max(cue.stop, cue.start + 1) > start * _SECOND
    ]
    return Media(Time(start, end)), chosen


def _make_part(file: _File, selector: Media, chosen: list[int]) -> Part:
    """Return cues as a file of their own. Cues that are neighbours are one slice."""
    places = file.locate_cues()
    slices: list[Span] = []
    before = None
    for number in chosen:
        if before == number - 1:
            slices[-1] = Span(slices[-1].start, places[number].stop)
        else:
            slices.append(places[number])
        before = number
    gap = file.coding.lf * 2
    body: list[bytes | Span] = [piece for one in slices for piece in (one, gap)]
    if file.source.essence == WEBVTT:
        head = Span(file.coding.start, places[0].start)
        slices, body = [head, *slices], [head, *body]
    return Part(
        selector=selector,
        media_type=file.source.media_type,
        charset=file.coding.label,
        body=tuple(body),
        slices=tuple(slices),
        facts={"cues": str(len(chosen))},
    )


def _make_unsupported(source: Source, selector: Selector) -> PartNotSupported:
    return PartNotSupported(
        media_type=source.media_type, selector=str(selector), offered=("t=", "id=")
    )


EXTRACTOR = SubtitleExtractor()
