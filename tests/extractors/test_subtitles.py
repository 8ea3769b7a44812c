"""The cues of subtitles: their text, their parts by time, and FFmpeg as an independent reader."""

from __future__ import annotations

import io
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.extractors.cutting import content, source

from perdure.errors import PartNotFound, PartNotSupported, PartOutOfRange, Undecodable
from perdure.errors.damage import SubtitlesUnsigned, TextAbsent, TextInvalid
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.mapped_text import MappedText
from perdure.extractors.port import Source
from perdure.extractors.text.cues import SUBRIP, WEBVTT, list_cues, read_cue_text
from perdure.extractors.text.subtitles import EXTRACTOR
from perdure.formats.detect import detect_type
from perdure.parts import Media, parse_part
from perdure.parts.selectors import Time
from perdure.reading.extraction import PartExtraction

VTT = """WEBVTT - a film

STYLE
::cue(b) { color: red }

NOTE a remark

intro
00:00:01.000 --> 00:00:02.500 line:0
<v Mary>Good <b>morning</b>,
J&uuml;rgen &amp; all

00:03.000 --> 00:04.000
Two speak

00:03.500 --> 00:05.250
at <00:04.000>once

99:59:59.999 --> 99:59:59.999
never shown
"""
SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Hello</i>,
{\\an8}a < b & c

2
00:00:03,000 --> 00:00:04,000 X1:1 X2:2 Y1:3 Y2:4
before

after an empty line

3
00:00:06,000 --> 00:00:07,000
The end
"""


def times(text: str) -> Any:
    return parse_part(text, WEBVTT)


def read(place: Path, text: str, media_type: str, charset: str | None = "utf-8") -> MappedText:
    document = source(place, text.encode(charset or "utf-8"), media_type, charset)
    return EXTRACTOR.open_text(document, EXTRACTOR.map_text(document))


def read_part(document: Source, place: Path, selector: Any) -> str:
    part = EXTRACTOR.extract_part(document, selector, NoIndexes())
    cut = source(place, content(part, document), part.media_type, part.charset)
    return EXTRACTOR.open_text(cut, EXTRACTOR.map_text(cut)).text


def test_the_text_of_webvtt_is_what_is_shown(tmp_path: Path) -> None:
    text = read(tmp_path, VTT, WEBVTT, None)
    assert text.text == (
        "Good morning,\nJürgen & all\nTwo speak\nat once\nnever shown\n"
    )  # fmt: skip


def test_the_text_of_subrip_is_what_is_shown(tmp_path: Path) -> None:
    text = read(tmp_path, SRT, SUBRIP)
    assert text.text == "Hello,\na < b & c\nbefore\n\nafter an empty line\nThe end\n"


def test_a_passage_leads_to_the_times_of_its_cues(tmp_path: Path) -> None:
    text = read(tmp_path, VTT, WEBVTT)
    start, stop = text.text.index("all"), text.text.index("once") + 4
    (passage,) = text.list_passages(start, stop)
    assert passage == (start, stop, times("t=1,5.25"))
    finest = text.list_passages(start, stop, finest=True)
    assert [str(one.selector) for one in finest] == ["t=1,2.5", "t=3,4", "t=3.5,5.25"]
    at = text.text.index("never")
    assert text.list_passages(at, at + 5) == ((at, at + 5, None),)


@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "iso-8859-1"])
@pytest.mark.parametrize(("written", "media_type"), [(VTT, WEBVTT), (SRT, SUBRIP)])
def test_every_range_is_in_the_part_that_it_leads_to(
    tmp_path: Path, written: str, media_type: str, charset: str
) -> None:
    """The part of a passage, read as a text of its own, contains the passage."""
    if media_type == WEBVTT and charset != "utf-8":
        pytest.skip("WebVTT is always UTF-8")
    written = written.replace("\n", "\r\n")
    document = source(tmp_path, written.encode(charset), media_type, charset)
    text = EXTRACTOR.open_text(document, EXTRACTOR.map_text(document))
    chosen = random.Random(1)
    for _ in range(60):
        start = chosen.randrange(len(text.text) - 1)
        stop = chosen.randrange(start + 1, len(text.text))
        passages = text.list_passages(start, stop)
        covered = {place for one in passages for place in range(one.start, one.stop)}
        assert {text.text[place] for place in {*range(start, stop)} - covered} <= {"\n"}
        for begin, end, selector in passages:
            if selector is None:
                continue
            stretch = text.text[begin:end]
            assert stretch in read_part(document, tmp_path, selector)
            part = EXTRACTOR.extract_part(document, selector, NoIndexes())
            place = text.locate_part(part)
            assert place is not None
            assert stretch in text.text[place.start : place.stop]


def test_a_part_of_webvtt_is_webvtt_with_its_styles(tmp_path: Path) -> None:
    document = source(tmp_path, VTT.encode(), WEBVTT)
    part = EXTRACTOR.extract_part(document, times("t=3.2,90"), NoIndexes())
    assert part.selector == times("t=3.2,90")
    written = content(part, document).decode()
    assert written.startswith("WEBVTT - a film\n\nSTYLE\n")
    assert "Mary" not in written
    assert written.endswith(
        "00:03.000 --> 00:04.000\nTwo speak\n\n00:03.500 --> 00:05.250\nat <00:04.000>once\n\n"
    )
    assert part.facts == {"cues": "2"}


def test_cues_that_are_not_neighbours_are_several_slices(tmp_path: Path) -> None:
    srt = (
        "1\n00:00:01,000 --> 00:00:09,000\nlong\n\n2\n00:00:02,000 --> 00:00:03,000\nshort\n\n"
        "3\n00:00:05,000 --> 00:00:06,000\nlate\n"
    )
    document = source(tmp_path, srt.encode(), SUBRIP)
    assert read_part(document, tmp_path, times("t=4,10")) == "long\nlate\n"
    part = EXTRACTOR.extract_part(document, times("t=4,10"), NoIndexes())
    assert part.selector == times("t=4,9")
    assert len(part.slices) == 2


def test_a_cue_has_a_name(tmp_path: Path) -> None:
    document = source(tmp_path, VTT.encode(), WEBVTT)
    assert read_part(document, tmp_path, times("id=intro")) == "Good morning,\nJürgen & all\n"
    with pytest.raises(PartNotFound, match="4 cues"):
        EXTRACTOR.extract_part(document, times("id=none"), NoIndexes())


def test_what_is_not_shown_is_not_found(tmp_path: Path) -> None:
    document = source(tmp_path, SRT.encode(), SUBRIP)
    with pytest.raises(PartNotFound, match="no cue"):
        EXTRACTOR.extract_part(document, times("t=4.5,5"), NoIndexes())
    with pytest.raises(PartOutOfRange, match=r"until 7\.000 seconds"):
        EXTRACTOR.extract_part(document, times("t=7,8"), NoIndexes())


@pytest.mark.parametrize("part", ["xywh=0,0,5,5", "track=1", "t=1,2&xywh=0,0,5,5", "t=1,2&id=a"])
def test_subtitles_have_times_and_names_only(tmp_path: Path, part: str) -> None:
    with pytest.raises(PartNotSupported, match="t=, id="):
        EXTRACTOR.extract_part(source(tmp_path, SRT.encode(), SUBRIP), times(part), NoIndexes())


def test_the_extents_are_times_and_names(tmp_path: Path) -> None:
    found = EXTRACTOR.list_extents(source(tmp_path, SRT.encode(), SUBRIP), NoIndexes())
    assert [(one.syntax, one.size) for one in found] == [("t=0,7", 7), ("id=1", 3)]
    assert found[1].items == ("1", "2", "3")


@pytest.mark.parametrize(
    ("data", "media_type", "charset", "error"),
    [
        (b"WEBVTTX\n", WEBVTT, None, SubtitlesUnsigned),
        (b"WEBVTT\n\n\xff", WEBVTT, None, TextInvalid),
        (b"WEBVTT\n\n", WEBVTT, None, TextAbsent),
        (b"no cue", SUBRIP, None, TextAbsent),
        (b"", SUBRIP, None, TextAbsent),
        ("1".encode("iso2022_jp"), SUBRIP, "iso-2022-jp", PartNotSupported),
    ],
)
def test_bytes_without_cues_say_so(
    tmp_path: Path, data: bytes, media_type: str, charset: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        EXTRACTOR.map_text(source(tmp_path, data, media_type, charset))


def test_the_text_is_read_in_a_confined_process(extraction: PartExtraction, tmp_path: Path) -> None:
    text = extraction.read_text(source(tmp_path, SRT.encode(), SUBRIP))
    assert text is not None
    assert text.text.endswith("The end\n")
    with pytest.raises(Undecodable):
        extraction.read_text(source(tmp_path, b"WEBVTTX", WEBVTT))


@pytest.mark.parametrize("name", [None, "film.srt", "film.txt"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_subrip_is_detected(name: str | None, mark: str) -> None:
    found = str(detect_type((mark + SRT).encode(), name=name).media_type)
    assert found == ("text/plain" if name == "film.txt" else SUBRIP)


_LINES = st.text("ab <>&-:{}\\\n0123456789", max_size=30).filter(lambda line: "-->" not in line)


@given(st.text("1 0:>-.,<\n\rab", max_size=200), st.sampled_from([WEBVTT, SUBRIP]))
def test_cues_are_in_order_and_do_not_overlap(text: str, essence: str) -> None:
    """What must stay true: units are in order and do not overlap."""
    at = 0
    for cue in list_cues(text, essence):
        assert at <= cue.first <= cue.begin <= cue.last <= len(text)
        at = cue.last
        read_cue_text(text, cue, essence)


def _read_with_ffmpeg(data: bytes, form: str) -> list[tuple[Fraction, Fraction, str]]:
    av = pytest.importorskip("av")
    with av.open(io.BytesIO(data), format=form) as container:
        return [
            (
                packet.pts * packet.time_base,
                packet.duration * packet.time_base,
                bytes(packet).decode().strip(),
            )
            for packet in container.demux()
            if packet.size
        ]


@pytest.mark.parametrize(
    ("form", "written", "media_type"),
    [("srt", SRT, SUBRIP), ("webvtt", VTT.partition("\n99:")[0], WEBVTT)],
)
def test_ffmpeg_reads_the_same_cues(form: str, written: str, media_type: str) -> None:
    theirs = _read_with_ffmpeg(written.encode(), form)
    ours = [
        (
            Fraction(cue.start, 1000),
            Fraction(cue.stop - cue.start, 1000),
            written[cue.begin : cue.last].strip().replace("\n\n", "\n"),  # FFmpeg drops them
        )
        for cue in list_cues(written, media_type)
    ]
    assert ours == theirs


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 10**5), _LINES), min_size=1))
def test_a_part_has_the_cues_that_are_shown_then(cues: list[tuple[int, int, str]]) -> None:
    written = "WEBVTT\n\n" + "\n".join(
        f"{clock(start)} --> {clock(start + length)}\nx{' '.join(text.split())}\n"
        for start, length, text in cues
    )
    found = list_cues(written, WEBVTT)
    assert [(one.start, one.stop - one.start) for one in found] == [one[:2] for one in cues]


def clock(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{rest:03}"


def test_a_time_is_an_exact_part() -> None:
    assert times("t=1,2.5") == Media(Time(Fraction(1), Fraction(5, 2)))
