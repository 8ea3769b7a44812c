"""The text of OpenDocument and Office Open XML, and packages that attack their reader."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest
from tests.extractors.cutting import source
from tests.extractors.packages import ODF, OOXML, write_odf, write_ooxml, write_zip

from perdure.errors import OverBudget, PartNotSupported
from perdure.errors.damage import (
    DecoderFailed,
    DoctypeRefused,
    MemberDamaged,
    MemberMissing,
    PackageEncrypted,
    TextAbsent,
)
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.packages import office_xml, opendocument
from perdure.extractors.packages.extractor import PackageExtractor
from perdure.formats.detect import detect_type
from perdure.parts import Octets
from perdure.reading.extraction import PartExtraction, load_extractors

ODT, ODS, ODP = f"{ODF}text", f"{ODF}spreadsheet", f"{ODF}presentation"
DOCX, XLSX = f"{OOXML}wordprocessingml.document", f"{OOXML}spreadsheetml.sheet"
PPTX = f"{OOXML}presentationml.presentation"


def read(place: Path, data: bytes, media_type: str) -> str:
    document = source(place, data, media_type)
    extractor = opendocument.EXTRACTOR if ODF in media_type else office_xml.EXTRACTOR
    return extractor.open_text(document, extractor.map_text(document)).text


def read_odt(place: Path, body: str, **more: str) -> str:
    return read(place, write_odf("text", body, **more), ODT)


# OpenDocument
# ------------


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<text:h>Head</text:h><text:p>One</text:p><text:p/>", "Head\nOne\n\n"),
        # part 3, section 6.1.2: white space is one space, and none at the ends
        ("<text:p>  a \n\t b  <text:span> c </text:span> </text:p>", "a b c\n"),
        ("<text:p>a<text:s/><text:s text:c='3'/>b<text:tab/>c<text:line-break/>d</text:p>",
         "a    b\tc\nd\n"),
        ("<text:p><text:s text:c='2'/>a </text:p>", "  a\n"),
        ("<text:p>a<text:s text:c='999999999999'/>b<text:s text:c='x'/></text:p>", "a b \n"),
        # notes and text boxes follow their paragraph
        (("<text:p>a<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>n"
         "</text:p></text:note-body></text:note> b</text:p><text:p>c</text:p>"), "a b\nn\nc\n"),
        (("<text:p>a<draw:text-box><text:p>x<draw:text-box><text:p>y</text:p></draw:text-box>z"
         "</text:p></draw:text-box>b</text:p>"), "ab\nxz\ny\n"),
        ("<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:p>a</text:p>",
         "a\n"),
        ("<text:p>日<text:ruby-text>hi</text:ruby-text>本</text:p>", "日本\n"),
        ("<text:list><text:list-item><text:p>a &lt; &#98;</text:p></text:list-item></text:list>",
         "a < b\n"),
        ("<text:sequence-decls/>not in a paragraph<text:p>a<!-- b --><?c d?></text:p>", "a\n"),
    ],
)  # fmt: skip
def test_the_text_of_an_opendocument_is_its_paragraphs(
    tmp_path: Path, body: str, text: str
) -> None:
    assert read_odt(tmp_path, body) == text


def test_headers_and_footers_come_last(tmp_path: Path) -> None:
    styles = (
        "<office:document-styles SPACES><text:p>no</text:p><style:header><text:p>top</text:p>"
        "</style:header><style:footer><text:p>bottom</text:p></style:footer>"
        "</office:document-styles>"
    )
    assert read_odt(tmp_path, "<text:p>a</text:p>", styles=styles) == "a\ntop\nbottom\n"


def test_the_rows_of_a_sheet_are_lines(tmp_path: Path) -> None:
    body = (
        "<table:table table:name='One'><table:table-row><table:table-cell><text:p>a</text:p>"
        "<text:p>b</text:p></table:table-cell><table:table-cell/><table:table-cell><text:p>c"
        "</text:p></table:table-cell><table:table-cell table:number-columns-repeated='1000'/>"
        "</table:table-row></table:table><table:table table:name='Two'/>"
    )
    assert read(tmp_path, write_odf("spreadsheet", body), ODS) == "One\na\nb\t\tc\n\nTwo\n\n"


def test_a_page_of_a_presentation_ends_with_a_form_feed(tmp_path: Path) -> None:
    body = (
        "<draw:page><text:p>a</text:p><presentation:notes><text:p>n</text:p></presentation:notes>"
        "</draw:page><draw:page><text:p>b</text:p></draw:page>"
    )
    assert read(tmp_path, write_odf("presentation", body), ODP) == "a\nn\n\fb\n\f"


# Office Open XML
# ---------------


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<w:p><w:r><w:t>One </w:t></w:r><w:r>\n<w:t>two</w:t></w:r></w:p><w:p/>", "One two\n\n"),
        (("<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t>"
         "<w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r></w:p>"), "a\tb\nc\u2011d\n"),
        (("<w:p><w:del><w:r><w:delText>x</w:delText><w:tab/></w:r></w:del><w:moveFrom><w:r><w:t>y"
         "</w:t></w:r></w:moveFrom><w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>"), "new\n"),
        ("<w:p><w:r><w:instrText>PAGE</w:instrText><w:t>3</w:t></w:r></w:p>", "3\n"),
        (("<w:p><w:r><w:t>a</w:t><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>box"
         "</w:t></w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>"
         "box</w:t></w:r></w:p></w:txbxContent></mc:Fallback></mc:AlternateContent><w:t>b</w:t>"
         "</w:r></w:p>"), "ab\nbox\n"),
        (("<w:p><w:r><w:ruby><w:rt><w:r><w:t>hi</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>日</w:t>"
         "</w:r></w:rubyBase></w:ruby></w:r></w:p>"), "日\n"),
        ("<w:p><m:oMath><m:r><m:t>x=1</m:t></m:r></m:oMath></w:p>", "x=1\n"),
        ("<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a &amp; b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
         "a & b\n"),
    ],
)  # fmt: skip
def test_the_text_of_a_docx_is_its_paragraphs(
    tmp_path: Path, body: str, text: str, *, strict: bool
) -> None:
    main = f"<w:document @W @M @MC ><w:body>{body}</w:body></w:document>"
    data = write_ooxml("word/document.xml", {"word/document.xml": main}, strict=strict)
    assert read(tmp_path, data, DOCX) == text


def test_notes_comments_and_margins_follow_the_body(tmp_path: Path) -> None:
    def write(text: str) -> str:
        return f"<w:x @W ><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:x>"

    parts = {
        "word/main.xml": write("body"),
        "word/h.xml": write("header"),
        "word/f.xml": write("note"),
        "word/c.xml": write("comment"),
        "word/_rels/main.xml.rels": "header=r1=h.xml header=r2=h.xml comments=r3=../word/c.xml "
        "footnotes=r4=/word/f.xml image=r5=i.png",
    }
    text = read(tmp_path, write_ooxml("word/main.xml", parts), DOCX)
    assert text == "body\nnote\ncomment\nheader\n"


@pytest.mark.parametrize("strict", [False, True])
def test_the_rows_of_a_workbook_are_lines(tmp_path: Path, *, strict: bool) -> None:
    parts = {
        "xl/workbook.xml": "<workbook @S @R ><sheets><sheet name='B' r:id='r2'/>"
        "<sheet name='A &amp; Z' r:id='r1'/><sheet name='lost' r:id='r9'/></sheets></workbook>",
        "xl/_rels/workbook.xml.rels": "worksheet=r1=s/1.xml worksheet=r2=s/2.xml "
        "sharedStrings=r3=strings.xml",
        "xl/strings.xml": "<sst @S ><si><t>one</t></si><si><r><t>t</t></r><r><t>wo</t></r>"
        "<rPh><t>no</t></rPh></si></sst>",
        "xl/s/1.xml": "<worksheet @S ><sheetData><row><c t='s'><v>1</v></c><c><v>1.5</v></c>"
        "<c t='b'><v>1</v></c><c t='s'><v>7</v></c><c t='s'><v>-1</v></c></row><row/>"
        "</sheetData></worksheet>",
        "xl/s/2.xml": "<worksheet @S ><sheetData><row><c t='s'><v>0</v></c>"
        "<c t='inlineStr'><is><t>in </t><t>line</t></is></c><c t='str'><f>no</f><v>yes</v></c>"
        "</row></sheetData></worksheet>",
    }
    data = write_ooxml("xl/workbook.xml", parts, strict=strict)
    assert read(tmp_path, data, XLSX) == ("B\none\tin line\tyes\n\nA & Z\ntwo\t1.5\tTRUE\t\t\n\n\n")


@pytest.mark.parametrize("strict", [False, True])
def test_slides_are_in_order_with_their_notes(tmp_path: Path, *, strict: bool) -> None:
    def write(text: str) -> str:
        return (
            f"<p:sld @P @A ><a:p><a:r>\n<a:t>{text}</a:t></a:r><a:br/><a:r><a:t>2</a:t></a:r>"
            "</a:p></p:sld>"
        )

    parts = {
        "ppt/presentation.xml": "<p:presentation @P @R ><p:sldIdLst><p:sldId id='1' r:id='r2'/>"
        "<p:sldId id='2' r:id='r1'/></p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": "slide=r1=slides/1.xml slide=r2=slides/2.xml",
        "ppt/slides/1.xml": write("first made"),
        "ppt/slides/2.xml": write("first shown"),
        "ppt/slides/_rels/2.xml.rels": "notesSlide=r1=../notes/1.xml",
        "ppt/notes/1.xml": write("note"),
    }
    data = write_ooxml("ppt/presentation.xml", parts, strict=strict)
    assert read(tmp_path, data, PPTX) == "first shown\n2\nnote\n2\n\ffirst made\n2\n\f"


# every package
# -------------


def test_a_passage_is_in_the_complete_document(tmp_path: Path) -> None:
    document = source(tmp_path, write_odf("text", "<text:p>One fox</text:p>"), ODT)
    extractor = opendocument.EXTRACTOR
    text = extractor.open_text(document, extractor.map_text(document))
    assert text.list_passages(4, 7) == ((4, 7, None),)
    assert text.list_passages(4, 7, finest=True) == ((4, 7, None),)
    extraction = PartExtraction()
    assert text.locate_part(extraction.cut_part(document, Octets(0, 9))) is None
    with pytest.raises(PartNotSupported):
        extractor.extract_part(document, Octets(0, 9), NoIndexes())


def test_the_text_is_read_in_a_confined_process(extraction: PartExtraction, tmp_path: Path) -> None:
    data = write_odf("text", "<text:p>One fox</text:p>")
    assert str(detect_type(data).media_type) == ODT
    text = extraction.read_text(source(tmp_path, data, ODT))
    assert text is not None
    assert text.text == "One fox\n"


def test_a_document_type_declaration_is_refused(tmp_path: Path) -> None:
    """Nothing expands, and nothing external is read."""
    bomb = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 20))
    for inside in (bomb, '<!ENTITY a19 SYSTEM "file:///etc/passwd">', ""):
        content = f'<!DOCTYPE a [<!ENTITY a0 "b">{inside}]><a>&a19;</a>'
        data = write_zip({"mimetype": ODT, "content.xml": content})
        with pytest.raises(DoctypeRefused, match=r"content\.xml"):
            read(tmp_path, data, ODT)


def test_a_member_that_expands_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.extractors.packages.package.MOST", 1 << 20)
    body = "<text:p>" + " " * (1 << 20) + "</text:p>"
    with pytest.raises(OverBudget, match="decompressed"):
        read_odt(tmp_path, body)


def test_a_text_that_is_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A string that many cells share is short in the package and long in the text."""
    monkeypatch.setattr("perdure.extractors.mapped_text.LARGEST", 1 << 20)
    parts = {
        "xl/workbook.xml": "<workbook @S @R ><sheets><sheet name='A' r:id='r1'/></sheets>"
        "</workbook>",
        "xl/_rels/workbook.xml.rels": "worksheet=r1=1.xml sharedStrings=r2=s.xml",
        "xl/s.xml": f"<sst @S ><si><t>{'x' * (1 << 16)}</t></si></sst>",
        "xl/1.xml": "<worksheet @S ><row>" + "<c t='s'><v>0</v></c>" * 100 + "</row></worksheet>",
    }
    with pytest.raises(OverBudget):
        read(tmp_path, write_ooxml("xl/workbook.xml", parts), XLSX)


def test_elements_may_be_nested_very_deep(tmp_path: Path) -> None:
    depth = 20_000
    body = "<text:p>a" * depth + "</text:p>" * depth
    assert read_odt(tmp_path, body) == "a\n" * depth


def test_an_encrypted_package_says_so(tmp_path: Path) -> None:
    manifest = (
        "<manifest:manifest SPACES><manifest:file-entry><manifest:encryption-data/>"
        "</manifest:file-entry></manifest:manifest>"
    )
    with pytest.raises(PackageEncrypted):
        read_odt(tmp_path, "", manifest=manifest)
    data = bytearray(write_odf("text", "<text:p>a</text:p>"))
    at = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    data[at + 8] |= 1  # the flags of content.xml in the central directory
    with pytest.raises(PackageEncrypted):
        read(tmp_path, bytes(data), ODT)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"PK\x03\x04 and nothing", DecoderFailed),
        (b"", DecoderFailed),
        (write_zip({"mimetype": ODT}), MemberMissing),
        (write_zip({"mimetype": ODT, "content.xml": "<a>"}), MemberDamaged),
        (write_zip({"mimetype": ODT, "content.xml": "<a/>"}, zipfile.ZIP_LZMA), MemberDamaged),
        (write_zip({"mimetype": ODT, "content.xml": "<a/>"}), TextAbsent),
        # the name before a member differs from that in the directory
        (write_odf("text", "").replace(b"content.xml", b"c0ntent.xml", 1), MemberDamaged),
    ],
)
def test_a_damaged_package_says_so(tmp_path: Path, data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        read(tmp_path, data, ODT)


def test_a_member_with_a_wrong_checksum_is_damaged(tmp_path: Path) -> None:
    data = bytearray(write_zip({"mimetype": ODT, "content.xml": "<a/>"}, zipfile.ZIP_STORED))
    data[data.index(b"<a/>") + 1] = ord("b")
    with pytest.raises(MemberDamaged, match="CRC"):
        read(tmp_path, bytes(data), ODT)


def test_a_member_that_begins_before_the_package_is_damaged(tmp_path: Path) -> None:
    """The directory is said to begin 1 MiB further behind, so members begin before the file."""
    data = bytearray(write_zip({"mimetype": ODT, "content.xml": "<a/>"}))
    struct.pack_into("<I", data, data.rindex(b"PK\x05\x06") + 16, 1 << 20)
    with pytest.raises(MemberDamaged, match="before the file"):
        read(tmp_path, bytes(data), ODT)


def test_every_media_type_has_one_reader() -> None:
    seen: set[str] = set()
    for plugin in load_extractors():
        if isinstance(plugin.value, PackageExtractor):
            assert seen.isdisjoint(plugin.value.media_types)
            seen |= set(plugin.value.media_types)
    assert {ODT, ODS, ODP, DOCX, XLSX, PPTX} <= seen
