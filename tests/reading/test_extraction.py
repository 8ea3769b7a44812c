"""Where parts wait for their turn: each kind with its own, and what is cut at once with none; and
which extractor of several cuts them."""

from __future__ import annotations

import io
import json
import struct
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.extractors.cutting import content, cut, source

from perdure.errors import MissingLibrary, PartNotSupported, PartOutOfRange, PerdureError
from perdure.extractors.plain_text import list_breaks
from perdure.extractors.port import Extent, Indexes, Part, Source, Span
from perdure.parts import ByteRange, Selector, parse_part
from perdure.plugins.points import PluginPoint
from perdure.reading.extraction import GROUP, PartExtraction, load_extractors

LARGE = 2 << 20
XPATH = '{"type": "XPathSelector", "value": "//a"}'
REFINED = f'{{"type": "DataPositionSelector", "start": 0, "end": 9, "refinedBy": {XPATH}}}'
END = '{"type": "DataPositionSelector", "start": 9, "end": 10}'
RANGE = f'{{"type": "RangeSelector", "startSelector": {XPATH}, "endSelector": {END}}}'


@pytest.fixture(scope="module")
def extraction() -> Iterator[PartExtraction]:
    extraction = PartExtraction()
    yield extraction
    extraction.close()


@pytest.mark.parametrize(
    ("media_type", "part", "length", "module"),
    [
        ("text/plain", "line=1,2", LARGE, None),
        ("text/html", "intro", 100, None),
        ("text/html", "intro", LARGE, "tagged"),
        ("text/csv", "row=2", 100, None),
        ("text/csv", "row=2", LARGE, "table"),
        ("text/xml", "xpointer(//a[1])", 100, "xpath"),
        ("image/png", "xywh=0,0,1,1", 100, "rectangle"),
        ("audio/wav", "t=0,1", LARGE, None),
        ("audio/mpeg", "t=0,1", 100, "audio"),
        ("video/webm", "t=0,1", 100, "video"),
        ("application/pdf", "page=1", 100, "parts"),
        ("text/xml", "bogus(1)xpointer(//a[1])", 100, "xpath"),
        ("text/xml", REFINED, 100, "within"),
        ("text/xml", RANGE, 100, "xpath"),
    ],
)
def test_where_a_part_waits(
    extraction: PartExtraction,
    tmp_path: Path,
    media_type: str,
    part: str,
    length: int,
    module: str | None,
) -> None:
    it = source(tmp_path, bytes(length), media_type)
    place = extraction.find_place(it, parse_part(part, media_type))
    assert place.partition(":")[0].rpartition(".")[2] == (module or "")


@pytest.mark.parametrize(
    "media_type", ["text/html", "text/sgml", "application/sgml", "text/xml", "image/svg+xml"]
)
def test_ids_that_are_listed_are_parts(
    extraction: PartExtraction, tmp_path: Path, media_type: str
) -> None:
    element = b'<p id="z" xml:id="z">one</p>'
    document = source(tmp_path, b"<d>" + element + b"</d>", media_type, "us-ascii")
    (listed,) = (one.items for one in extraction.list_extents(document) if one.syntax == "ID")
    assert [cut(extraction, document, parse_part(one, media_type)) for one in listed] == [element]


def test_what_nobody_decodes_has_octets_all_the_same(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    """WAV with ADPCM is not cut by samples, nor CSV in UTF-7 by rows."""
    adpcm = struct.pack("<HHIIHH", 0x11, 1, 8000, 4055, 256, 4)
    chunks = b"fmt " + struct.pack("<I", len(adpcm)) + adpcm + b"data" + struct.pack("<I", 256)
    wav = b"RIFF" + struct.pack("<I", 4 + len(chunks) + 256) + b"WAVE" + chunks + bytes(256)
    (octets,) = extraction.list_extents(source(tmp_path, wav, "audio/wav"))
    assert (octets.syntax, octets.size) == ("byte=0,100", len(wav))
    table = source(tmp_path, b"a,b\r\n", "text/csv", "utf-7")
    assert {"char=0,5", "byte=0,5"} <= {one.syntax for one in extraction.list_extents(table)}


def test_what_is_not_installed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "perdure.reading.extraction.load_extractors", lambda: load_extractors(_points("BARE"))
    )
    extraction = PartExtraction()
    with pytest.raises(MissingLibrary, match=r"pip install 'perdure\[media\]'"):
        extraction.list_extents(source(tmp_path, b"x", "text/plain"))
    extraction.close()


def test_a_refusal_names_what_can_be_written(extraction: PartExtraction, tmp_path: Path) -> None:
    it = source(tmp_path, b"RIFF", "audio/wav")
    with pytest.raises(PartNotSupported) as caught:
        extraction.cut_part(it, parse_part("ffp(track_ID=1)", "audio/wav"))
    offered = ("id=", "mp(/~time())", "offset()", "t=", "track=", "xywh=")
    assert caught.value.offered == offered


@pytest.mark.parametrize(
    "part",
    [
        "offset(5,5000)",
        "offset(10,)",
        '{"type": "DataPositionSelector", "start": 0, "end": 11}',
        '{"type": "DataPositionSelector", "start": 4, "end": 4}',
        '{"type": "TextPositionSelector", "start": 0, "end": 11}',
        '{"type": "TextPositionSelector", "start": 4, "end": 4}',
    ],
)
def test_positions_beyond_the_resource_are_an_error(  # ruling: part-range
    extraction: PartExtraction, tmp_path: Path, part: str
) -> None:
    """Only RFC 5147, RFC 7111, Media Fragments and IIIF clip what they name to what there is."""
    it = source(tmp_path, b"0123456789", "text/plain", "us-ascii")
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(it, parse_part(part, it.media_type))


@pytest.mark.parametrize("part", ["offset(4,10)", "offset(4,)"])
def test_octets_up_to_the_end(extraction: PartExtraction, tmp_path: Path, part: str) -> None:
    it = source(tmp_path, b"0123456789", "text/plain", "us-ascii")
    assert cut(extraction, it, parse_part(part, it.media_type)) == b"456789"


# a part of a part
# ----------------


def refined(outer: dict[str, Any], inner: dict[str, Any]) -> str:
    return json.dumps(outer | {"refinedBy": inner})


def test_the_slices_of_a_part_of_a_part_are_those_of_the_source(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    data = "<d><s>é<p>one</p></s><s>é<p>two</p></s></d>".encode()
    it = source(tmp_path, data, "application/xml", "utf-8")
    second = {"type": "XPathSelector", "value": "/d/s[2]"}
    paragraph = {"type": "CssSelector", "value": "p"}
    selector = parse_part(refined(second, paragraph), it.media_type)
    assert cut(extraction, it, selector) == b"<p>two</p>"
    start = data.index(b"<p>two")
    assert extraction.cut_part(it, selector).slices == (Span(start, start + 10),)


def test_the_samples_of_an_interval_of_an_interval(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    path = tmp_path / "made.wav"
    samples = bytes(index * 7 % 256 for index in range(2 * 8000 * 4))
    with wave.open(str(path), "wb") as made:
        made.setparams((1, 2, 8000, 0, "NONE", ""))
        made.writeframes(samples)
    data = path.read_bytes()
    it = source(tmp_path, data, "audio/wav")
    outer, inner = ({"type": "FragmentSelector", "value": text} for text in ("t=1,3", "t=0.5,1"))
    part = extraction.cut_part(it, parse_part(refined(outer, inner), it.media_type))
    with wave.open(io.BytesIO(content(part, it))) as read:
        found = read.readframes(8000)
    (span,) = part.slices  # from 1.5 to 2 seconds, of 16,000 bytes each
    assert found == samples[24000:32000] == data[span.start : span.stop]


def test_bytes_that_are_not_stored_are_no_slices(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    """A part of WAV has a header of its own."""
    path = tmp_path / "made.wav"
    with wave.open(str(path), "wb") as made:
        made.setparams((1, 2, 8000, 0, "NONE", ""))
        made.writeframes(bytes(64000))
    it = source(tmp_path, path.read_bytes(), "audio/wav")
    outer = {"type": "FragmentSelector", "value": "t=1,3"}
    inner = {"type": "DataPositionSelector", "start": 0, "end": 60}
    part = extraction.cut_part(it, parse_part(refined(outer, inner), it.media_type))
    assert content(part, it)[:4] == b"RIFF"
    assert part.slices == ()


class _Cutter:
    """Cuts octets of text/plain, and no others."""

    media_types = ("text/plain",)
    selectors = (ByteRange,)
    confined = False
    install = None

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        return Part(selector=selector, media_type="x/y", body=(type(self).__name__.encode(),))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()


class _Choosy(_Cutter):
    """One that cuts short documents only."""

    def can_cut(self, source: Source) -> bool:
        return source.length < 10


class _Bare(_Cutter):
    """One whose library is not installed."""

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        raise MissingLibrary(task="cutting 'byte'", extra="media", library="av")


CUTTER, CUTTER2, CHOOSY, BARE = _Cutter(), _Cutter(), _Choosy(), _Bare()


def _points(*names: str) -> list[PluginPoint]:
    return [PluginPoint(name, f"{__name__}:{name}", GROUP) for name in names]


def test_of_two_with_the_same_rank_the_second_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    again = PluginPoint("again", f"{__name__}:CUTTER2", GROUP)
    used = [one.place for one in load_extractors([*_points("CUTTER"), again])]
    assert used == [f"{__name__}:CUTTER"]
    assert "ByteRange out of text/plain always is claimed by" in caplog.text
    assert "CUTTER2 of an unknown package: this plug-in is not used" in caplog.text


@pytest.mark.parametrize("names", [("CUTTER", "CHOOSY"), ("CHOOSY", "CUTTER")])
def test_one_that_cuts_some_documents_leaves_others_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, str]
) -> None:
    both = load_extractors(_points(*names))
    monkeypatch.setattr("perdure.reading.extraction.load_extractors", lambda: both)
    extraction = PartExtraction()
    for data, cut_by in ((b"short", b"_Choosy"), (b"rather long", b"_Cutter")):
        it = source(tmp_path, data, "text/plain")
        assert content(extraction.cut_part(it, ByteRange(0, 1)), it) == cut_by
    extraction.close()


@pytest.mark.parametrize(
    ("data", "media_type", "charset"),
    [
        (b"one\r\ntwo\rthree\n", "text/plain", None),
        ("Grüße\r\n".encode("latin-1"), "text/plain", None),
        ("\ufeff漢字\n".encode(), "text/plain", None),
        ("a\r\nb".encode("utf-16"), "text/plain", "utf-16"),
        ("日本".encode("iso2022_jp"), "text/plain", "iso-2022-jp"),
        (b"<title>T</title><p>a &amp; b", "text/html", None),
        (b"a,b\n1,2\n", "text/csv", None),
        (b'{"a": "b"}', "application/json", None),
        (b"", "text/plain", None),
    ],
)
def test_characters_alone_are_those_of_the_text_with_its_map(
    extraction: PartExtraction, tmp_path: Path, data: bytes, media_type: str, charset: str | None
) -> None:
    given = source(tmp_path, data, media_type, charset)
    text = extraction.read_text(given)
    assert text is not None
    found = extraction.read_characters(given)
    assert found is not None
    assert (found.text, [*found.breaks]) == (text.text, [*list_breaks(text)])


def test_characters_alone_have_the_same_errors(extraction: PartExtraction, tmp_path: Path) -> None:
    for data, charset in ((b"ab\xff\xfe", "utf-8"), (b"a", "x-unknown")):
        given = source(tmp_path, data, "text/plain", charset)
        said = []
        for read in (extraction.read_text, extraction.read_characters):
            with pytest.raises(PerdureError) as raised:
                read(given)
            said.append(str(raised.value))
        assert said[0] == said[1]
    octets = source(tmp_path, b"\0\1", "application/octet-stream")
    assert extraction.read_characters(octets) is None
