"""Where parts wait for their turn: each kind with its own, and what is cut at once with none; and
which extractor of several cuts them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from tests.extractors.cutting import content, source

from perdure.errors import BadSettings
from perdure.extraction import GROUP, Extraction, registered
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.parts import ByteRange, Selector, parse

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


class _Cutter:
    """Cuts octets of text/plain, and no others."""

    media_types = ("text/plain",)
    selectors = (ByteRange,)
    confined = False
    install = None

    def extract(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        return Part(selector=selector, media_type="x/y", body=(type(self).__name__.encode(),))

    def extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()


class _Choosy(_Cutter):
    """One that cuts short documents only."""

    def cuts(self, source: Source) -> bool:
        return source.length < 10


CUTTER, CHOOSY = _Cutter(), _Choosy()


def _points(*names: str) -> list[EntryPoint]:
    return [EntryPoint(name, f"{__name__}:{name}", GROUP) for name in names]


def test_two_of_the_same_rank_are_a_mistake() -> None:
    with pytest.raises(BadSettings, match="both cut ByteRange"):
        registered([*_points("CUTTER"), EntryPoint("again", f"{__name__}:_Cutter", GROUP)])


@pytest.mark.parametrize("names", [("CUTTER", "CHOOSY"), ("CHOOSY", "CUTTER")])
def test_one_that_cuts_some_documents_leaves_others_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, str]
) -> None:
    both = registered(_points(*names))
    monkeypatch.setattr("perdure.extraction.registered", lambda: both)
    extraction = Extraction()
    for data, cut_by in ((b"short", b"_Choosy"), (b"rather long", b"_Cutter")):
        it = source(tmp_path, data, "text/plain")
        assert content(extraction.extract(it, ByteRange(0, 1)), it) == cut_by
    extraction.close()
