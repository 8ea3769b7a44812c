"""Verdicts on citations of sound, pictures and pages: samples, pixels, text of pages."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SERIES, Clock, Desk, copy_as_new

from perdure.errors import PartNotFound, PartOutOfRange
from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.model.verdicts import CitationReport, Verdict
from perdure.reading.citations.describing import write_fields, write_sentence
from perdure.storage.spool import make_content

RATE = 100  # samples a second
TONE = bytes(range(200)) + bytes(range(100, 250)) * 2


def make_wav(samples: bytes, rate: int = RATE) -> bytes:
    form = struct.pack("<HHIIHH", 1, 1, rate, rate, 1, 8)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


def make_au(samples: bytes) -> bytes:
    return struct.pack(">4sIIIII", b".snd", 24, len(samples), 2, RATE, 1) + samples


SOUNDS = {
    "wav": [make_wav(TONE), make_wav(bytes(300) + TONE[100:300] + bytes(100)),
            make_wav(bytes(100) + bytes([1]) + TONE[1:200]), make_wav(TONE, rate=200),
            make_wav(bytes(50) + TONE)],
    "basic": [make_au(TONE), make_au(bytes(100) + TONE)],
}  # fmt: skip


@pytest.fixture(scope="module")
def library(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(copy_as_new(pristine, tmp_path_factory.mktemp("media") / "r"), Clock())
    yield desk
    desk.registry.close()


def keep(desk: Desk, data: bytes, format: str, media_type: str) -> str:
    content = make_content(data, format=format, media_type=media_type)
    return str(desk.mint(content).identifier)


def check(desk: Desk, citation: str) -> CitationReport:
    named = parse(citation)
    assert isinstance(named, Pdi)
    return desk.registry.citations.check_citation(named)


@pytest.mark.parametrize(
    ("form", "citing", "origin", "part", "verdict"),
    [
        ("wav", 1, 3, "#sec=1,3", Verdict.VERBATIM),
        ("wav", 1, 1, "#sec=1,3", Verdict.ELSEWHERE),
        ("wav", 1, 5, "#sec=1,3", Verdict.ELSEWHERE),  # the sound ends before
        ("wav", 1, 5, "#sec=2,5", Verdict.ABSENT),
        ("wav", 2, 1, "#sec=0,2", Verdict.ALTERED),
        ("wav", 3, 0, "#sec=0,2", Verdict.ABSENT),  # another rate
        ("wav", 0, 0, "", Verdict.VERBATIM),
        ("basic", 1, 1, "", Verdict.VERBATIM),
        ("basic", 1, 0, "#sec=0,1", Verdict.ELSEWHERE),
        ("wav", 4, 0, "#sec=0,2", Verdict.ELSEWHERE),  # not at a whole second
    ],
)
def test_samples_from_an_origin_in_seconds(
    library: Desk, form: str, citing: int, origin: int, part: str, verdict: Verdict
) -> None:
    kept = [keep(library, one, form, f"audio/{form}") for one in SOUNDS[form]]
    found = check(library, f"{kept[citing]}@{origin}={kept[0]}{part}")
    assert found.verdict is verdict
    if verdict is Verdict.ALTERED:
        assert (found.kept, found.total, found.unit) == (199, 200, "sample")
    if verdict is Verdict.ELSEWHERE:
        place = {1: 3 if form == "wav" else 1}.get(citing)
        right = None if place is None else f"{kept[citing]}@{place}={kept[0]}{part}"
        assert (found.right and str(found.right), found.likeness) == (right, Verdict.VERBATIM)
        assert found.part is not None


def test_an_origin_after_the_sound_does_not_exist(library: Desk) -> None:
    kept = keep(library, SOUNDS["wav"][0], "wav", "audio/wav")
    with pytest.raises(PartOutOfRange, match="'origin 5'"):
        check(library, f"{kept}@5={kept}#sec=0,1")


def make_png(colours: dict[tuple[int, int], int], size: tuple[int, int] = (8, 6)) -> bytes:
    image = pytest.importorskip("PIL.Image").new("L", size)
    for place, colour in colours.items():
        image.putpixel(place, colour)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def encode(picture: Any, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def test_the_same_pixels_in_other_bytes(library: Desk) -> None:
    """citations.md: `verbatim` is "equal characters, pixels, samples or bytes". Pillow
    decodes the JPEG here, and libvips in perdure; both use the same library."""
    pytest.importorskip("pyvips")
    images = pytest.importorskip("PIL.Image")
    noise = images.effect_noise((32, 32), 60).convert("RGB")
    photo = encode(noise, "JPEG", quality=90)
    decoded = images.open(io.BytesIO(photo)).convert("RGB")
    jpeg = keep(library, photo, "jpeg", "image/jpeg")
    part = f"{jpeg}#rect=(8,8),(24,24)"
    for cut in (
        encode(decoded.crop((8, 8, 24, 24)), "PNG", compress_level=0),
        encode(decoded.crop((8, 8, 24, 24)), "TIFF"),
    ):
        kind = "tiff" if cut[:2] == b"II" else "png"
        citing = keep(library, cut, kind, f"image/{kind}")
        assert check(library, f"{citing}@(0,0)={part}").verdict is Verdict.VERBATIM
    again = keep(
        library, encode(decoded.crop((8, 8, 24, 24)), "JPEG", quality=30), "jpeg", "image/jpeg"
    )
    found = check(library, f"{again}@(0,0)={part}")
    assert found.verdict is Verdict.ABSENT
    assert found.total == 256
    assert f": {found.kept} of 256 pixels are equal (the comparison is exact" in write_sentence(
        found
    )
    assert "encoded again with loss" in str(write_fields(found, str)["note"])
    gray = keep(library, encode(decoded.convert("L"), "PNG"), "png", "image/png")
    found = check(library, f"{gray}@(8,8)={part}")
    assert found.verdict is Verdict.ABSENT
    assert "rgb8 in the cited part, gray8 in the citing document" in write_sentence(found)
    clear = decoded.convert("RGBA")
    name = keep(library, encode(clear, "PNG"), "png", "image/png")
    assert check(library, f"{name}@(8,8)={part}").verdict is Verdict.VERBATIM
    assert check(library, f"{jpeg}@(8,8)={name}#rect=(8,8),(24,24)").verdict is Verdict.VERBATIM
    clear.putpixel((9, 9), (*clear.getpixel((9, 9))[:3], 0))
    seen_through = keep(library, encode(clear, "PNG"), "png", "image/png")
    found = check(library, f"{seen_through}@(8,8)={part}")
    assert (found.verdict, found.kept, found.total) == (Verdict.ALTERED, 255, 256)


@pytest.mark.parametrize(
    ("origin", "frame", "verdict"),
    [
        ("(0,0)", 0, Verdict.VERBATIM),
        ("(0,0,2)", 2, Verdict.VERBATIM),
        ("(0,0)", 2, Verdict.ELSEWHERE),
        ("(3,1,1)", 2, Verdict.ELSEWHERE),
        ("(0,0,1)", None, Verdict.ABSENT),
    ],
)
@pytest.mark.parametrize("kind", ["gif", "webp", "png"])
def test_frames_of_an_animation(
    library: Desk, kind: str, origin: str, frame: int | None, verdict: Verdict
) -> None:
    """A picture is what Pillow shows of a frame; the frames are composed by perdure."""
    pytest.importorskip("pyvips")
    images = pytest.importorskip("PIL.Image")
    stills = [images.effect_noise((9, 7), 60 + shade).convert("RGB") for shade in range(4)]
    options = {"lossless": True} if kind == "webp" else {}
    shown = [one.quantize(64).convert("RGB") if kind == "gif" else one for one in stills]
    animation = encode(
        shown[0], kind.upper(), save_all=True, append_images=shown[1:3], duration=100, **options
    )
    opened = images.open(io.BytesIO(animation))
    if frame is not None:
        opened.seek(frame)
    still = stills[3] if frame is None else opened.convert("RGB")
    citing = keep(library, animation, kind, f"image/{kind}")
    cited = keep(library, encode(still, "PNG"), "png", "image/png")
    found = check(library, f"{citing}@{origin}={cited}")
    assert found.verdict is verdict
    if frame is not None:
        number = f",{frame}" if frame else ""
        assert str(found.part) == f"{citing}#rect=(0,0),(9,7){number}"
        other = check(library, f"{cited}@(2,1)={citing}#rect=(2,1),(9,7){number}")
        assert other.verdict is Verdict.VERBATIM
    if verdict is Verdict.ELSEWHERE:
        assert str(found.right) == f"{citing}@(0,0,{frame})={cited}"
        assert check(library, str(found.right)).verdict is Verdict.VERBATIM
    whole = check(library, f"{citing}@(0,0)={citing}")
    assert "only the first of the 3 frames" in str(write_fields(whole, str)["note"])


def test_pages_of_several_sizes(library: Desk) -> None:
    """rect-frame: frames are "the pages of a TIFF", each with a size of its own."""
    pytest.importorskip("pyvips")
    images = pytest.importorskip("PIL.Image")
    pages = [images.effect_noise(size, 60).convert("RGB") for size in ((8, 6), (20, 30))]
    scans = encode(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    citing = keep(library, scans, "tiff", "image/tiff")
    cut = encode(pages[1].crop((11, 20, 20, 30)), "PNG")
    cited = keep(library, cut, "png", "image/png")
    for origin in ("(0,0)", "(0,0,1)", "(19,29,1)"):
        found = check(library, f"{citing}@{origin}={cited}")
        assert (found.verdict, str(found.right)) == (
            Verdict.ELSEWHERE,
            f"{citing}@(11,20,1)={cited}",
        )
    assert check(library, str(found.right)).verdict is Verdict.VERBATIM


def test_samples_that_are_not_equal_say_that_the_comparison_is_exact(library: Desk) -> None:
    cited, louder, faster = (
        keep(library, make_wav(samples, rate), "wav", "audio/wav")
        for samples, rate in ((TONE, RATE), (bytes(255 - one for one in TONE), RATE), (TONE, 200))
    )
    found = check(library, f"{louder}@0={cited}")
    assert (found.verdict, found.total) == (Verdict.ABSENT, len(TONE))
    assert f"{found.kept} of {len(TONE)} samples are equal (the comp" in write_sentence(found)
    found = check(library, f"{faster}@0={cited}")
    assert found.verdict is Verdict.ABSENT
    assert "100 Hz with 8-bit frames in the cited part, 200 Hz with" in write_sentence(found)


@pytest.mark.parametrize(
    ("origin", "part", "verdict"),
    [
        ("(4,3)", "#rect=(1,1),(3,3)", Verdict.VERBATIM),
        ("(4,3)", "#(1,1),(3,3)", Verdict.VERBATIM),
        ("(4,3,0)", "#(1,1),(3,3)", Verdict.VERBATIM),
        ("(4,3)", "#xywh=1,1,2,2", Verdict.VERBATIM),
        ("(4,3)", "#xywh=percent:13,17,20,30", Verdict.VERBATIM),  # touches the same pixels
        ("(4,2)", "#xywh=1,1,2,2", Verdict.ELSEWHERE),
        ("(3,3)", "#(1,1),(3,3)", Verdict.ELSEWHERE),
        ("(7,5)", "#(1,1),(3,3)", Verdict.ELSEWHERE),  # the picture ends before
        ("(0,0)", "", Verdict.ALTERED),
        ("(1,1)", "", Verdict.ABSENT),
    ],
)
def test_pixels_from_an_upper_left_corner(
    library: Desk, origin: str, part: str, verdict: Verdict
) -> None:
    pytest.importorskip("pyvips")
    cited = keep(library, make_png({(1, 1): 9, (2, 2): 200}), "png", "image/png")
    citing = keep(library, make_png({(4, 3): 9, (5, 4): 200}), "png", "image/png")
    found = check(library, f"{citing}@{origin}={cited}{part}")
    assert found.verdict is verdict
    if verdict is Verdict.VERBATIM:
        assert (str(found.part), found.extent) == (f"{citing}#rect=(4,3),(6,5)", 4)
        assert write_sentence(found) == "quoted pixel for pixel"
    if verdict is Verdict.ELSEWHERE:
        assert str(found.right) == f"{citing}@(4,3)={found.cited}"
        assert str(found.part) == f"{citing}#rect=(4,3),(6,5)"
    if verdict is Verdict.ALTERED:  # two pixels here, two there
        assert (found.kept, found.total, found.unit) == (44, 48, "pixel")
    assert check(library, f"{cited}@(0,0)={cited}").verdict is Verdict.VERBATIM
    with pytest.raises(PartOutOfRange, match=r"'origin \(8,0\)'"):
        check(library, f"{citing}@(8,0)={cited}#(1,1),(3,3)")


def make_film(shades: list[int], rate: int = 5, size: int = 32) -> bytes:
    """A film whose frames have these shades of gray, stored without loss."""
    av, numpy = pytest.importorskip("av"), pytest.importorskip("numpy")
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as container:
        stream = container.add_stream("ffv1", rate=rate)
        stream.width = stream.height = size
        stream.pix_fmt = "gray"
        for shade in shades:
            picture = numpy.full((size, size), shade, numpy.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="gray")
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode(None):
            container.mux(packet)
    return file.getvalue()


SHADES = list(range(10, 20))  # two seconds
FILM = ("x-matroska", "video/x-matroska")


@pytest.mark.parametrize(
    ("citing", "origin", "part", "verdict", "counts"),
    [
        ([1] * 5 + SHADES, 1, "#sec=0,2", Verdict.VERBATIM, (0, 0)),
        ([1] * 5 + SHADES, 2, "#sec=1,2", Verdict.VERBATIM, (0, 0)),
        ([1] * 5 + SHADES, 1, "#t=0,2", Verdict.VERBATIM, (0, 0)),
        ([1] * 5 + SHADES, 1, "#t=0,9", Verdict.VERBATIM, (0, 0)),  # clipped at the end
        ([1] * 5 + SHADES, 2, "#t=1", Verdict.VERBATIM, (0, 0)),
        ([1] * 5 + SHADES, 1, "", Verdict.VERBATIM, (0, 0)),  # the complete film
        ([1] * 5 + SHADES + [1] * 5, 1, "", Verdict.VERBATIM, (0, 0)),
        ([1] * 5 + SHADES, 0, "", Verdict.ELSEWHERE, (0, 0)),
        ([1] * 5 + SHADES, 1, "#xywh=0,0,9,9", Verdict.ABSENT, (0, 0)),
        ([1] * 5 + SHADES, 1, "#crop=sec,0,2,(2,2),(9,9)", Verdict.ABSENT, (0, 0)),
        ([1] * 5 + SHADES[:7] + [1] * 3, 1, "#sec=0,2", Verdict.ALTERED, (7, 10)),
        ([1] * 5 + SHADES[:3] + [1] * 7, 1, "#sec=0,2", Verdict.ABSENT, (3, 10)),
        ([1] * 5 + SHADES, 0, "#sec=0,2", Verdict.ELSEWHERE, (0, 0)),
        ([1] * 5 + SHADES, 2, "#sec=0,2", Verdict.ELSEWHERE, (0, 0)),  # the film ends before
        ([1] * 7 + SHADES, 0, "#sec=0,2", Verdict.ELSEWHERE, (0, 0)),
        ([1] * 5 + SHADES[:9], 0, "#sec=0,2", Verdict.ABSENT, (0, 10)),  # one frame is missing
    ],
)
def test_frames_from_an_origin_in_seconds(
    library: Desk,
    citing: list[int],
    origin: int,
    part: str,
    verdict: Verdict,
    counts: tuple[int, int],
) -> None:
    cited = keep(library, make_film(SHADES), *FILM)
    name = keep(library, make_film(citing), *FILM)
    found = check(library, f"{name}@{origin}={cited}{part}")
    assert found.verdict is verdict, found
    assert (found.kept, found.total) == counts
    if verdict is Verdict.VERBATIM:
        assert (found.extent, found.unit) == (3 - origin, "second")
        assert str(found.part) == f"{name}#sec={origin},3"
    if verdict is Verdict.ALTERED:
        assert found.unit == "frame"
    if verdict is Verdict.ELSEWHERE and len(citing) == 15:
        assert str(found.right) == f"{name}@1={cited}{part}"
        assert check(library, str(found.right)).verdict is Verdict.VERBATIM
    elif verdict is Verdict.ELSEWHERE:  # no origin is a fraction of a second
        assert (found.right, str(found.part)) == (None, f"{name}#msec=1400,3400")
    with pytest.raises(PartOutOfRange, match="'origin 9'"):
        check(library, f"{name}@9={cited}{part}")


@pytest.mark.parametrize("part", ["#xywh=2,2,8,8", "#t=0,9%26xywh%3d2,2,8,8", "#track=1"])
def test_an_area_of_a_film_is_compared_with_all_of_the_picture(library: Desk, part: str) -> None:
    pictures = make_film([1] * 5 + SHADES, size=32 if "track" in part else 8)
    cited, citing = keep(library, make_film(SHADES), *FILM), keep(library, pictures, *FILM)
    found = check(library, f"{citing}@1={cited}{part}")
    assert (found.verdict, str(found.part)) == (Verdict.VERBATIM, f"{citing}#sec=1,3")


def test_frames_of_a_fraction_of_a_second(library: Desk) -> None:
    cited = keep(library, make_film(SHADES), *FILM)
    found = check(library, f"{cited}@0={cited}#msec=0,600")
    assert (found.verdict, found.extent, found.unit) == (Verdict.VERBATIM, 3, "frame")
    assert str(found.part) == f"{cited}#msec=0,600"


def test_frames_of_another_size_or_rate_are_not_quoted(library: Desk) -> None:
    cited = keep(library, make_film(SHADES), *FILM)
    for other in (make_film(SHADES, size=16), make_film(SHADES, rate=10)):
        name = keep(library, other, *FILM)
        assert check(library, f"{name}@0={cited}#sec=0,1").verdict is Verdict.ABSENT


def make_pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page."""
    pikepdf = pytest.importorskip("pikepdf")
    made = pikepdf.new()
    font = pikepdf.Dictionary(
        Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica
    )
    for text in pages:
        made.add_blank_page(page_size=(300, 100))
        page = made.pages[-1]
        page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F=font))
        shown = f"BT /F 12 Tf 10 50 Td ({text}) Tj ET".encode()
        page.Contents = made.make_stream(shown)
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("origin", "verdict", "part", "right"),
    [
        ("2", Verdict.VERBATIM, "page=2", ""),
        ("1", Verdict.ELSEWHERE, "page=2", "2"),
    ],
)
def test_a_passage_on_a_page(
    library: Desk, origin: str, verdict: Verdict, part: str, right: str
) -> None:
    pytest.importorskip("pypdfium2")
    pdf = make_pdf("The first page.", "Here the fox jumps over it.", "The end.")
    citing = keep(library, pdf, "pdf", "application/pdf")
    cited = keep(library, b"see the fox jumps", "text", "text/plain")
    found = check(library, f"{citing}@{origin}={cited}#char=4,17")
    assert (found.verdict, str(found.part)) == (verdict, f"{citing}#{part}")
    assert (str(found.right) == f"{citing}@{right}={found.cited}") is bool(right)
    assert check(library, f"{cited}@4={citing}#page=2").verdict is Verdict.ALTERED
    for view, expected in (("0,30,300,30", 1), ("0,60,300,30", 0), ("200,30,99,30", 0)):
        assert check(library, f"{citing}@1={citing}#page=1").verdict is Verdict.VERBATIM
        part = f"#page=1%26viewrect%3d{view}"
        quotes = check(library, f"{citing}@1={citing}{part}").verdict is Verdict.VERBATIM
        assert quotes == bool(expected), view
    with pytest.raises(PartNotFound):
        check(library, f"{citing}@4={cited}#char=4,17")


def test_a_document_that_is_not_held_makes_a_citation_unverifiable(library: Desk) -> None:
    kept = keep(library, b"a text", "text", "text/plain")
    elsewhere = f"pdi://{SERIES}/1997/09/01/7.text.1"
    library.register(f"pdi://{SERIES}/1997/09/01/7")
    library.bind(elsewhere, "https://a.example/x")
    for citation, side in (
        (f"{kept}@0={elsewhere}", elsewhere),
        (f"{kept}@0={elsewhere}#char=0,1", f"{elsewhere}#char=0,1"),
        (f"{elsewhere}@0={kept}", elsewhere),
    ):
        found = check(library, citation)
        assert (found.verdict, str(found.side)) == (Verdict.UNVERIFIABLE, side)
        assert "not held here" in found.reason
