r"""Subtitles in a film (Matroska, WebM, MP4 …): a track of them as WebVTT, the text of a film.

Specification: Matroska, section 14 (codec mappings of subtitles); ISO/IEC 14496-30 and 3GPP TS
26.245 for MP4; WebVTT (W3C Candidate Recommendation) for the output.

How it works: a packet of the track is a cue. SubRip, WebVTT, SSA and timed text become WebVTT,
because a cue needs its times to be read. Bold, italic and underlined text stays so; other styles
and positions are left out. Times are those of the film, as for subtitles in files of their own
(`perdure.extractors.text.subtitles`). The text of a film is its first track of subtitles, and a
passage leads to the interval of its cues.

>>> write_payload("subrip", b"<font color=red>Tom</font> & <i>Jerry</i> <3")
'Tom &amp; <i>Jerry</i> &lt;3'
>>> write_payload("ssa", b"0,0,Default,,0,0,0,,{\\an8}Hello,\\N{\\i1}world{\\i0}")
'Hello,\n<i>world</i>'

What must stay true: the code runs confined. Pictures of text (PGS, VobSub) are not read. The text
of a cue is in the part of its times.
"""

from __future__ import annotations

import html
import re
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from perdure.errors import PartNotFound, PartNotSupported, PartOutOfRange
from perdure.errors.cutting import CodingNotSupported
from perdure.errors.damage import TextAbsent
from perdure.extractors import container
from perdure.extractors.film import mp4
from perdure.extractors.film.footage import FILMS, OTHERS, Footage, choose_demuxer
from perdure.extractors.mapped_text import MappedText, TextBuilding
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.extractors.text.cues import WEBVTT
from perdure.parts import Media, Selector
from perdure.parts.selectors import Time

_SECOND = 1000  # milliseconds
_LAST_CUE = 5 * _SECOND  # how long a cue is shown that has no end, and no other cue after it
_MOST_TRACKS = 256
_MOST_CUES = 100_000
_KEPT_TAG = re.compile(r"&lt;(/?[biu])&gt;", re.IGNORECASE)
_SUBRIP_STYLE = re.compile(r"</?font(?![a-z0-9])[^>]*>|</?s>|\{\\[^}]*\}", re.IGNORECASE)
_SSA_STYLE = re.compile(r"\{[^}]*\}")
_SSA_TAG = re.compile(r"\{\\([biu])([01])\}")
_SSA_FIELDS = 8  # before the text, in Matroska
_EMPTY_LINES = re.compile(r"\n[ \t]*(?=\n)")
_TAG = re.compile("<[^>]*>?")


class FilmCue(NamedTuple):
    """A cue, with its times in milliseconds."""

    start: int
    stop: int
    payload: str
    """As it is written in WebVTT."""


def write_payload(codec: str, data: bytes) -> str:
    """Return the text of a packet, as it is written in a cue of WebVTT.

    >>> write_payload("mov_text", b"\\0\\x05a < b\\0\\0\\0\\x08style")
    'a &lt; b'
    """
    return _TEXTS[codec](data)


def _write_plain(text: str) -> str:
    text = html.escape(text.replace("\r\n", "\n").replace("\r", "\n"), quote=False)
    return _EMPTY_LINES.sub("", text).strip("\n")  # an empty line would end the cue


def _write_subrip(data: bytes) -> str:
    text = _SUBRIP_STYLE.sub("", data.decode("utf-8", "replace"))
    return _restore_tags(_write_plain(text))


def _restore_tags(text: str) -> str:
    return _KEPT_TAG.sub(lambda found: f"<{found[1].lower()}>", text)


def _write_ssa(data: bytes) -> str:
    fields = data.decode("utf-8", "replace").split(",", _SSA_FIELDS)
    text = fields[-1] if len(fields) > _SSA_FIELDS else ""
    text = _SSA_TAG.sub(lambda found: f"<{'' if found[2] == '1' else '/'}{found[1]}>", text)
    text = _SSA_STYLE.sub("", text).replace(r"\h", "\u00a0")
    return _restore_tags(_write_plain(text.replace(r"\N", "\n").replace(r"\n", "\n")))


def _write_timed_text(data: bytes) -> str:
    (length,) = struct.unpack_from(">H", data.ljust(2, b"\0"))
    text = data[2 : 2 + length]
    coding = "utf-16" if text[:2] in (b"\xfe\xff", b"\xff\xfe") else "utf-8"
    return _write_plain(text.decode(coding, "replace"))


def _write_webvtt(data: bytes) -> str:
    return _EMPTY_LINES.sub("", data.decode("utf-8", "replace").replace("\r", "")).strip("\n")


_TEXTS: dict[str, Callable[[bytes], str]] = {
    "subrip": _write_subrip,
    "srt": _write_subrip,  # the same, under the name of another decoder
    "text": lambda data: _write_plain(data.decode("utf-8", "replace")),
    "ass": _write_ssa,
    "ssa": _write_ssa,
    "mov_text": _write_timed_text,
    "webvtt": _write_webvtt,
}


def cut_captions(footage: Footage, selector: Media) -> Part:
    """Cut the only track of a part, as WebVTT.

    Raises PartNotFound or PartOutOfRange if no cue is shown then, PartNotSupported for pictures of
    text, OverBudget, or Undecodable.
    """
    source, stream = footage.source, footage.alone
    codec = _find_codec(stream)
    if codec not in _TEXTS:
        raise CodingNotSupported(media_type=source.media_type, coding=codec, selector=str(selector))
    cues = list(_read_cues(footage.demux_alone(), codec))
    ends = Fraction(max((cue.stop for cue in cues), default=0), _SECOND)
    if selector.time is not None:
        end = selector.time.end
        start, stop = selector.time.start or Fraction(0), ends if end is None else min(end, ends)
        if start >= stop:
            extent = f"cues until {float(ends):.3f} seconds"
            raise PartOutOfRange(identifier=source.name, selector=str(selector), extent=extent)
        selector = Media(time=Time(start, stop), tracks=selector.tracks)
        cues = [cue for cue in cues if cue.start < stop * _SECOND and cue.stop > start * _SECOND]
    if not cues:
        extent = "no cue that is shown then"
        raise PartNotFound(identifier=source.name, selector=str(selector), extent=extent)
    return Part(
        selector=selector,
        media_type=WEBVTT,
        charset="utf-8",
        body=(_write_file(cues).encode(),),
        facts={"cues": str(len(cues))},
    )


def _write_file(cues: list[FilmCue]) -> str:
    blocks = (
        f"{_write_time(cue.start)} --> {_write_time(cue.stop)}\n{cue.payload}\n" for cue in cues
    )
    return "\n".join(("WEBVTT\n", *blocks))


def _write_time(moment: int) -> str:
    seconds, rest = divmod(moment, _SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}.{rest:03}"


def _find_codec(stream: Any) -> str | None:
    return None if stream.codec_context is None else str(stream.codec_context.name)


def _read_cues(packets: Iterator[Any], codec: str) -> Iterator[FilmCue]:
    """Yield the cues that have a text. A cue without an end is shown until the next one begins."""
    waiting: FilmCue | None = None
    for number, packet in enumerate(packets):
        if number > _MOST_CUES or packet.pts is None:
            continue
        base = Fraction(packet.time_base)
        start = max(round(packet.pts * base * _SECOND), 0)
        if waiting is not None:
            yield waiting._replace(stop=max(start, waiting.start + 1))
            waiting = None
        payload = write_payload(codec, bytes(packet))
        if not payload:
            continue
        stop = round((packet.pts + (packet.duration or 0)) * base * _SECOND)
        if stop > start:
            yield FilmCue(start, stop, payload)
        else:
            waiting = FilmCue(start, start + _LAST_CUE, payload)
    if waiting is not None:
        yield waiting


class FilmTextExtractor:
    """The text of films: their first track of subtitles."""

    media_types = (*FILMS, *OTHERS)
    selectors = ()
    confined = True
    install = f"perdure[{container.EXTRA}]"
    text_index = "film-text-1"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        raise PartNotSupported(
            media_type=source.media_type, selector=str(selector), offered=("tracks",)
        )

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()  # the parts of films are those of other extractors

    def map_text(self, source: Source) -> bytes:
        building = TextBuilding(source)
        with container.open_container(source, choose_demuxer(source), "the text") as opened:
            streams = [one for one in opened.streams.subtitles if _find_codec(one) in _TEXTS]
            if not streams:
                raise TextAbsent(**source.subject)
            stream = streams[0]
            track = _number_track(source, stream)
            packets = (packet for packet in opened.demux(stream) if packet.size)
            for cue in _read_cues(packets, str(_find_codec(stream))):
                text = html.unescape(_TAG.sub("", cue.payload))
                first, last = (time * _MOST_TRACKS + track for time in (cue.start, cue.stop))
                building.add_unit(text, first=first, last=last)
                building.add_separator()
        return building.build_index()

    def open_text(self, source: Source, index: bytes | memoryview) -> MappedText:
        return MappedText(source, index, _spell_times)


def _number_track(source: Source, stream: Any) -> int:
    """Return the number by which parts of this film name a track; 0 if it is too large."""
    keeps = source.essence in FILMS and mp4.EXTRACTOR.can_cut(source)
    number = int(stream.id if keeps else stream.index + 1)
    return number if 0 < number < _MOST_TRACKS else 0


def _spell_times(first: int, last: int) -> Selector | None:
    """Return the part of cues; the numbers are milliseconds and the track."""
    start, track = divmod(first, _MOST_TRACKS)
    if not track:
        return None
    time = Time(Fraction(start, _SECOND), Fraction(last // _MOST_TRACKS, _SECOND))
    return Media(time=time, tracks=(str(track),))


EXTRACTOR = FilmTextExtractor()
