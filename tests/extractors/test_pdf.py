"""Pages of PDFs, alone, disarmed, and the same bytes each time."""

from __future__ import annotations

import hashlib
import io
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.extractors.cutting import content

from perdure.errors import OverBudget, PartNotFound, PartOutOfRange, PerdureError, Undecodable
from perdure.extractors.confined import Budget, Confined
from perdure.extractors.port import Part, Source
from perdure.parts import parse_part
from perdure.reading.extraction import PartExtraction

pikepdf = pytest.importorskip("pikepdf")

PDF = "application/pdf"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
PAPER = CORPUS / "wd-xml-link-970406.pdf"


def of_file(path: Path) -> Source:
    return Source(path=path, length=path.stat().st_size, media_type=PDF, name=path.name)


def written(pdf: Any, path: Path, **settings: Any) -> Source:
    pdf.save(path, **settings)
    return of_file(path)


def got(extraction: PartExtraction, source: Source, text: str) -> tuple[Part, bytes]:
    part = extraction.cut_part(source, parse_part(text, PDF))
    return part, content(part, source)


def three_pages() -> Any:
    """Pages that differ in what they show; their size stands in the node above them."""
    pdf = pikepdf.new()
    for text in (b"one", b"two", b"three"):
        page = pdf.add_blank_page(page_size=(300, 200))
        page.Contents = pdf.make_stream(b"BT (" + text + b") Tj ET")
        del page.obj["/MediaBox"]
    pdf.Root.Pages.MediaBox = pikepdf.Array([0, 0, 300, 200])
    return pdf


@pytest.mark.corpus
def test_a_page_of_a_real_document(extraction: PartExtraction) -> None:
    """Its content streams are those of the page, byte for byte."""
    if not PAPER.exists():
        pytest.skip(f"the corpus of real documents is not at {CORPUS}")
    source = of_file(PAPER)
    part, page = got(extraction, source, "page=3")
    assert part.media_type == PDF
    with pikepdf.open(PAPER) as whole, pikepdf.open(io.BytesIO(page)) as alone:
        assert len(alone.pages) == 1
        assert len(whole.pages) == 14
        theirs, ours = whole.pages[2], alone.pages[0]
        assert ours.Contents.read_raw_bytes() == theirs.Contents.read_raw_bytes()
        assert list(ours.mediabox) == list(theirs.mediabox)
    assert got(extraction, source, "page=3")[1] == page
    assert len(page) < source.length / 3


def test_sizes_that_stand_above_the_page(extraction: PartExtraction, tmp_path: Path) -> None:
    source = written(three_pages(), tmp_path / "three.pdf")
    _, page = got(extraction, source, "page=2")
    with pikepdf.open(io.BytesIO(page)) as alone:
        assert b"two" in alone.pages[0].Contents.read_bytes()
        assert [int(one) for one in alone.pages[0].mediabox] == [0, 0, 300, 200]


def test_pages_are_counted_from_one(extraction: PartExtraction, tmp_path: Path) -> None:
    source = written(three_pages(), tmp_path / "three.pdf")
    with pytest.raises(PartNotFound) as caught:
        got(extraction, source, "page=4")
    assert "page 1 to 3" in str(caught.value)


def test_a_rectangle_of_a_page(extraction: PartExtraction, tmp_path: Path) -> None:
    """ "viewrect: left, top, width, height … relative to the top left of the page" (RFC 8118)"""
    source = written(three_pages(), tmp_path / "three.pdf")
    _, page = got(extraction, source, "page=1&viewrect=10,20,100,50")
    with pikepdf.open(io.BytesIO(page)) as alone:
        assert [float(one) for one in alone.pages[0].cropbox] == [10, 130, 110, 180]
    _, clipped = got(extraction, source, "page=1&viewrect=250,150,100,100")
    with pikepdf.open(io.BytesIO(clipped)) as alone:
        assert [float(one) for one in alone.pages[0].cropbox] == [250, 0, 300, 50]
    with pytest.raises(PartOutOfRange):
        got(extraction, source, "page=1&viewrect=301,10,10,10")


def test_named_destinations(extraction: PartExtraction, tmp_path: Path) -> None:
    pdf = three_pages()
    to_second = pikepdf.Array([pdf.pages[1].obj, pikepdf.Name.Fit])
    pdf.Root.Names = pdf.make_indirect(
        pikepdf.Dictionary(
            Dests=pikepdf.Dictionary(
                Kids=[
                    pikepdf.Dictionary(
                        Names=[pikepdf.String("second"), pikepdf.Dictionary(D=to_second)]
                    )
                ]
            )
        )
    )
    pdf.Root.Dests = pikepdf.Dictionary(third=pikepdf.Array([pdf.pages[2].obj]))
    source = written(pdf, tmp_path / "named.pdf")
    assert got(extraction, source, "nameddest=second")[1] == got(extraction, source, "page=2")[1]
    part, page = got(extraction, source, "nameddest=third")
    assert str(part.selector) == "page=3"
    assert page == got(extraction, source, "page=3")[1]
    with pytest.raises(PartNotFound) as caught:
        got(extraction, source, "nameddest=fourth")
    assert "second" in str(caught.value)
    extents = {one.what: one for one in extraction.list_extents(source)}
    assert extents["pages, from 1"].size == 3
    assert set(extents["named destinations"].items) == {"second", "third"}


def test_embedded_files(extraction: PartExtraction, tmp_path: Path) -> None:
    pdf = three_pages()
    data = b"year,count\r\n1997,3\r\n"
    pdf.attachments["table.csv"] = pikepdf.AttachedFileSpec(pdf, data, mime_type="text/csv")
    source = written(pdf, tmp_path / "attached.pdf")
    part, file = got(extraction, source, "ef=table.csv")
    assert (part.media_type, file) == ("text/csv", data)
    with pytest.raises(PartNotFound):
        got(extraction, source, "ef=other.csv")


def test_nothing_acts_by_itself(extraction: PartExtraction, tmp_path: Path) -> None:
    pdf = three_pages()
    script = pikepdf.Dictionary(S=pikepdf.Name.JavaScript, JS=pikepdf.String("app.alert(1)"))
    web = pikepdf.Dictionary(S=pikepdf.Name.URI, URI=pikepdf.String("https://a.example/"))
    pdf.Root.OpenAction = script
    pdf.Root.AA = pikepdf.Dictionary(WC=script)
    page = pdf.pages[0].obj
    page.AA = pikepdf.Dictionary(O=script)
    chained = pikepdf.Dictionary(web)
    chained.Next = script
    page.Annots = pikepdf.Array(
        [
            pdf.make_indirect(
                pikepdf.Dictionary(Subtype=pikepdf.Name.Link, Rect=[0, 0, 9, 9], A=action)
            )
            for action in (script, web, chained)
        ]
    )
    page.Annots[0].AA = pikepdf.Dictionary(E=script)
    source = written(pdf, tmp_path / "armed.pdf", compress_streams=False)
    assert b"app.alert" in source.read_bytes()
    _, alone = got(extraction, source, "page=1")
    assert b"app.alert" not in alone
    assert b"JavaScript" not in alone
    assert alone.count(b"https://a.example/") == 2


def test_no_form_no_film_and_no_file_goes_along(extraction: PartExtraction, tmp_path: Path) -> None:
    """Not the scripts of a form, whose field is on the page; nor the other page of the field."""
    pdf = three_pages()
    script = pikepdf.Dictionary(S=pikepdf.Name.JavaScript, JS=pikepdf.String("app.alert(1)"))
    field = pdf.make_indirect(pikepdf.Dictionary(AA=pikepdf.Dictionary(K=script)))
    contents = {
        "Widget": {"Parent": field},
        "Link": {"PA": pikepdf.Dictionary(S=pikepdf.Name.Launch, F=pikepdf.String("a.exe"))},
        "RichMedia": {"RichMediaContent": pikepdf.String("a film")},
        "FileAttachment": {"FS": pikepdf.Dictionary(EF=pikepdf.String("a file"))},
    }
    annotations = [
        pdf.make_indirect(
            pikepdf.Dictionary(Subtype=pikepdf.Name(f"/{kind}"), Rect=[0, 0, 9, 9], **more)
        )
        for kind, more in contents.items()
    ]
    field.Kids = pikepdf.Array([annotations[0]])
    pdf.pages[0].obj.Annots = pikepdf.Array(annotations)
    pdf.Root.AcroForm = pikepdf.Dictionary(Fields=pikepdf.Array([field]))
    source = written(pdf, tmp_path / "form.pdf", compress_streams=False)
    _, alone = got(extraction, source, "page=1")
    for inside in (b"app.alert", b"a.exe", b"a film", b"a file"):
        assert inside in source.read_bytes()
        assert inside not in alone
    with pikepdf.open(io.BytesIO(alone)) as found:
        kinds = [str(one.Subtype) for one in found.pages[0].Annots]
    assert kinds == ["/Stamp", "/Link"]


# its decoded form
# ----------------


def rich_page() -> Any:
    """A page with shared, nested and oddly named things, and a photograph that stays packed."""
    pdf = three_pages()
    page = pdf.pages[1]
    page.MediaBox = pikepdf.Array([0, 0, 300, 200])
    font = pdf.make_indirect(
        pikepdf.Dictionary(Type=pikepdf.Name.Font, Size=pikepdf.Object.parse(b"1.50"))
    )
    font.Self = font
    photo = pdf.make_stream(b"\xff\xd8photo", Filter=pikepdf.Name.DCTDecode)
    page.Resources = pikepdf.Dictionary({"/F#1": font, "/F2": font, "/Im": photo})
    page.obj.Note = pikepdf.String("a\nb")
    page.obj.List = pikepdf.Array(
        [True, None, 0, pikepdf.Object.parse(b"-.0"), pikepdf.Name("/A B")]
    )
    return pdf


def test_the_decoded_form_of_a_page(extraction: PartExtraction, tmp_path: Path) -> None:
    """ "PDF pages have a canonical decoded form … whose digest is given"  # ruling: part-digest

    Written here by hand, from the grammar in `perdure.extractors.pdf.objects`.
    """
    part, _ = got(extraction, written(rich_page(), tmp_path / "rich.pdf"), "page=2")
    form = (
        b"0 0 obj << /Contents 1 0 R /List [ true null 0 0 /A#20B ] /MediaBox [ 0 0 300 200 ] "
        b"/Note <610a62> /Resources << /F#231 2 0 R /F2 2 0 R /Im 3 0 R >> /Type /Page >> endobj "
        b"1 0 obj << >> stream BT (two) Tj ET endstream endobj "
        b"2 0 obj << /Self 2 0 R /Size 1.5 /Type /Font >> endobj "
        b"3 0 obj << /Filter /DCTDecode >> stream \xff\xd8photo endstream endobj "
    )
    assert part.decoded
    assert part.decoded.form == "pdf 300x200 4 objects"
    assert part.decoded.sha512 == hashlib.sha512(form).hexdigest()


def test_the_decoded_form_is_that_of_the_page_and_not_of_the_file(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    """Whoever wrote the file, and however, and also of the part itself."""
    settings: list[dict[str, Any]] = [
        {"compress_streams": False, "object_stream_mode": pikepdf.ObjectStreamMode.disable},
        {"compress_streams": True, "object_stream_mode": pikepdf.ObjectStreamMode.generate},
        {"linearize": True},
        {"qdf": True},
    ]
    parts = []
    for number, how in enumerate(settings):
        source = written(rich_page(), tmp_path / f"{number}.pdf", **how)
        parts.append(got(extraction, source, "page=2"))
    again = tmp_path / "again.pdf"
    again.write_bytes(parts[0][1])
    parts.append(got(extraction, of_file(again), "page=1"))
    assert len({part.decoded for part, _ in parts}) == 1
    assert len({page for _, page in parts}) > 1
    other, _ = got(extraction, source, "page=1")
    assert other.decoded not in {part.decoded for part, _ in parts}


def test_a_page_of_no_size_has_a_decoded_form(extraction: PartExtraction, tmp_path: Path) -> None:
    pdf = three_pages()
    pdf.pages[1].obj.CropBox = pikepdf.Array([0, pikepdf.Name.Wide, 9])
    part, _ = got(extraction, written(pdf, tmp_path / "sizeless.pdf"), "page=2")
    assert part.decoded
    assert re.fullmatch("pdf [0-9]+ objects", part.decoded.form)


@pytest.mark.parametrize(
    ("filters", "packed"),
    [
        ("/ASCIIHexDecode", b"42542045 54>"),
        ("/RunLengthDecode", b"\x04BT ET\x80"),
        ("[/ASCIIHexDecode /FlateDecode]", zlib.compress(b"BT ET").hex().encode() + b">"),
    ],
)
def test_lossless_packing_makes_no_difference(
    extraction: PartExtraction, tmp_path: Path, filters: str, packed: bytes
) -> None:
    forms = set()
    for number, (data, how) in enumerate(((packed, filters), (b"BT ET", None))):
        pdf = pikepdf.new()
        page = pdf.add_blank_page()
        page.Contents = pdf.make_stream(data)
        if how:
            page.Contents.Filter = pikepdf.Object.parse(how.encode())
        name = tmp_path / f"{number}.pdf"
        source = written(pdf, name, stream_decode_level=pikepdf.StreamDecodeLevel.none)
        forms.add(got(extraction, source, "page=1")[0].decoded)
    assert len(forms) == 1
    assert None not in forms


# what others send
# ----------------


def bomb() -> Any:
    pdf = pikepdf.new()
    page = pdf.add_blank_page()
    packed = zlib.compress(b"0 0 m " * (10 << 20), 9)
    page.Contents = pdf.make_stream(packed, Filter=pikepdf.Name.FlateDecode)
    return pdf


def test_a_bomb_is_copied_and_not_opened(extraction: PartExtraction, tmp_path: Path) -> None:
    """0.1 MB that inflate to 60 MB."""
    source = written(bomb(), tmp_path / "bomb.pdf", compress_streams=False)
    assert source.length < 1 << 20
    _, page = got(extraction, source, "page=1")
    assert len(page) < 1 << 20


def test_a_larger_bomb_has_no_decoded_form(extraction: PartExtraction, tmp_path: Path) -> None:
    """0.3 MB that inflate to 300 MB: less than a second, and no more memory than there is."""
    inflating = zlib.compressobj(9)
    packed = b"".join(inflating.compress(bytes(1 << 20)) for _ in range(300)) + inflating.flush()
    pdf = bomb()
    pdf.pages[0].Contents = pdf.make_stream(packed, Filter=pikepdf.Name.FlateDecode)
    part, page = got(extraction, written(pdf, tmp_path / "large.pdf"), "page=1")
    assert part.decoded is None
    assert len(page) < 1 << 20


@pytest.mark.parametrize("data", [b"", b"<html><body>", b"%PDF-1.7\n", b"\0" * 1000])
def test_what_is_no_pdf(extraction: PartExtraction, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.pdf"
    path.write_bytes(data)
    with pytest.raises(Undecodable):
        got(extraction, of_file(path), "page=2")


def test_a_truncated_document(extraction: PartExtraction, tmp_path: Path) -> None:
    """Its table of contents stands at the end: what is left of it is found, and said to be."""
    source = written(three_pages(), tmp_path / "whole.pdf")
    half = tmp_path / "half.pdf"
    half.write_bytes(source.read_bytes(0, source.length - 60))
    part, page = got(extraction, of_file(half), "page=2")
    assert "mended" in part.facts
    assert page == got(extraction, source, "page=2")[1]
    half.write_bytes(source.read_bytes(0, 300))
    with pytest.raises((Undecodable, PartNotFound)):
        got(extraction, of_file(half), "page=2")


def test_encrypted(extraction: PartExtraction, tmp_path: Path) -> None:
    settings = {"encryption": pikepdf.Encryption(owner="o", user="secret")}
    source = written(three_pages(), tmp_path / "locked.pdf", **settings)
    with pytest.raises(Undecodable) as caught:
        got(extraction, source, "page=1")
    assert "password" in str(caught.value)


def test_an_embedded_bomb(tmp_path: Path) -> None:
    """It takes more memory than the worker has; the next part gets another worker."""
    extraction = PartExtraction(confined=Confined(most=1, budget=Budget(memory=256 << 20)))
    pdf = three_pages()
    pdf.attachments["bomb"] = pikepdf.AttachedFileSpec(pdf, b"x" * 9)
    inflating = zlib.compressobj(9)
    packed = b"".join(inflating.compress(bytes(1 << 24)) for _ in range(20)) + inflating.flush()
    stream = pdf.attachments["bomb"].obj.EF.F
    stream.write(packed, filter=pikepdf.Name.FlateDecode)
    source = written(pdf, tmp_path / "embedded.pdf", compress_streams=False)
    with pytest.raises((OverBudget, Undecodable)):
        got(extraction, source, "ef=bomb")
    assert got(extraction, source, "page=1")[1]
    extraction.close()


def test_a_cycle_of_names(extraction: PartExtraction, tmp_path: Path) -> None:
    pdf = three_pages()
    node = pdf.make_indirect(pikepdf.Dictionary())
    node.Kids = pikepdf.Array([node])
    pdf.Root.Names = pikepdf.Dictionary(Dests=node)
    source = written(pdf, tmp_path / "cycle.pdf")
    with pytest.raises(PerdureError):
        got(extraction, source, "nameddest=x")


def test_in_a_larger_file(extraction: PartExtraction, tmp_path: Path) -> None:
    whole = tmp_path / "whole.pdf"
    data = written(three_pages(), whole).read_bytes()
    path = tmp_path / "segment.warc"
    path.write_bytes(b"WARC/1.1\r\n" + data + b"\r\n\r\n")
    source = Source(path=path, offset=10, length=len(data), media_type=PDF, name="x")
    assert got(extraction, source, "page=2")[1] == got(extraction, of_file(whole), "page=2")[1]
