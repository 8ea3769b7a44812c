"""Where parts wait for their turn: each kind with its own, and what is cut at once with none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.extractors.cutting import cut, source

from perdure.errors import PartNotSupported
from perdure.extraction import Extraction
from perdure.parts import parse

LARGE = 2 << 20
XPATH = '{"type": "XPathSelector", "value": "//a"}'
REFINED = f'{{"type": "DataPositionSelector", "start": 0, "end": 9, "refinedBy": {XPATH}}}'
END = '{"type": "DataPositionSelector", "start": 9, "end": 10}'
RANGE = f'{{"type": "RangeSelector", "startSelector": {XPATH}, "endSelector": {END}}}'


@pytest.fixture(scope="module")
def extraction() -> Iterator[Extraction]:
    extraction = Extraction()
    yield extraction
    extraction.close()


@pytest.mark.parametrize(
    ("media_type", "part", "length", "module"),
    [
        ("text/plain", "line=1,2", LARGE, None),
        ("text/html", "intro", 100, None),
        ("text/html", "intro", LARGE, "markup"),
        ("text/csv", "row=2", 100, None),
        ("text/csv", "row=2", LARGE, "table"),
        ("text/xml", "xpointer(//a[1])", 100, "xpath"),
        ("image/png", "xywh=0,0,1,1", 100, "image"),
        ("audio/wav", "t=0,1", LARGE, None),
        ("audio/mpeg", "t=0,1", 100, "audio"),
        ("video/webm", "t=0,1", 100, "video"),
        ("application/pdf", "page=1", 100, "pdf"),
        ("text/xml", "bogus(1)xpointer(//a[1])", 100, "xpath"),
        ("text/xml", REFINED, 100, "within"),
        ("text/xml", RANGE, 100, "xpath"),
    ],
)
def test_where_a_part_waits(
    extraction: Extraction,
    tmp_path: Path,
    media_type: str,
    part: str,
    length: int,
    module: str | None,
) -> None:
    it = source(tmp_path, bytes(length), media_type)
    place = extraction.place(it, parse(part, media_type))
    assert place.partition(":")[0].removeprefix("perdure.extractors.") == (module or "")


@pytest.mark.parametrize(
    "media_type", ["text/html", "text/sgml", "application/sgml", "text/xml", "image/svg+xml"]
)
def test_ids_that_are_listed_are_parts(
    extraction: Extraction, tmp_path: Path, media_type: str
) -> None:
    element = b'<p id="z" xml:id="z">one</p>'
    document = source(tmp_path, b"<d>" + element + b"</d>", media_type, "us-ascii")
    (listed,) = (one.items for one in extraction.extents(document) if one.syntax == "ID")
    assert [cut(extraction, document, parse(one, media_type)) for one in listed] == [element]


def test_a_refusal_names_what_can_be_written(extraction: Extraction, tmp_path: Path) -> None:
    it = source(tmp_path, b"RIFF", "audio/wav")
    with pytest.raises(PartNotSupported) as caught:
        extraction.extract(it, parse("ffp(track_ID=1)", "audio/wav"))
    offered = ("id=", "mp(/~time())", "offset()", "t=", "track=", "xywh=")
    assert caught.value.offered == offered
