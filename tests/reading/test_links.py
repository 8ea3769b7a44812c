"""Links that documents declare: every way to refer, and what is none.

Expected values come from the specifications of the formats (HTML, JATS 1.3, TEI P5, XInclude 1.1,
XLink 1.1, CommonMark 0.31) and from the draft of PDIs; positions from counting in another way.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.archives.warcs import Warc
from tests.extractors.packages import ODF, OOXML, write_odf, write_ooxml, write_zip

from perdure.errors.limits import PlainTextTooLong
from perdure.extractors.markup.tag_walk import TagWalk
from perdure.extractors.markup.tags import HTML, SGML, XML, Rule
from perdure.extractors.port import Source
from perdure.ids import parse, urls
from perdure.reading.extraction import PartExtraction
from perdure.reading.links import declared, written
from perdure.reading.links.declared import DeclaredLink, list_links
from perdure.reading.links.markup import find_marked
from perdure.reading.links.written import (
    choose_candidates,
    find_places,
    find_written,
    read_address,
    read_bare_doi,
    read_places,
)

NAME = "pdi://oma.eop.gov.us/1997/09/01/1.text.1"
PART = f"{NAME}#char=0,47"
DOI = "doi:10.1000/182"
_DOCX = "wordprocessingml.document"


def read(
    place: Path, data: bytes, media_type: str = "text/plain", charset: str | None = "utf-8"
) -> list[DeclaredLink]:
    (place / "document").write_bytes(data)
    source = Source(
        path=place / "document", length=len(data), media_type=media_type, charset=charset
    )
    parts = PartExtraction()
    try:
        return list_links(parts, source, ("https://id.example",))
    finally:
        parts.close()


def list_pairs(found: list[DeclaredLink]) -> list[tuple[str, str]]:
    return [(one.how, str(one.target)) for one in found]


def list_texts(text: str) -> list[str]:
    return [str(one.identifier) for one in find_written(text.encode(), ("https://id.example",))]


# plain text
# ----------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"See {NAME}.", [NAME]),
        (f"({NAME}), <{DOI}>; [{DOI}]: “{NAME}”", [NAME, DOI, DOI, NAME]),
        ("URN:PDI://OMA.eop.gov.us/1997/9/1/1.text.1", [NAME]),
        ("at https://doi.org/10.1000/182.", [DOI]),
        ("DOI: 10.1000/182, doi 10.1000/182", [DOI, DOI]),
        (
            "https://dx.doi.org/10.1002/(SICI)1097-4679(199709)",
            ["doi:10.1002/(sici)1097-4679(199709)"],
        ),
        (f"http://any.example/{NAME}%23char=0,47 and", [PART]),
        (f"https://id.example/{NAME}?part=char=0,47&info", [PART]),
        ("https://id.example/hdl:1839/abc?info", ["hdl:1839/abc"]),
        ("ark:/12345/x6 or https://n2t.net/ark:/12345/x6", ["ark:12345/x6", "ark:12345/x6"]),
        ("urn:isbn:0451450523!", ["urn:isbn:0451450523"]),
        (
            "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk",
            ["pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"],
        ),
        (
            f"pdi://oma.eop.gov.us/1997/09/01/2.text.1@24={PART}.",
            [f"pdi://oma.eop.gov.us/1997/09/01/2.text.1@24={PART}"],
        ),
        ("doing 10.1000/182, mydoi:10.1000/182, https://example.org/doi:10.1000/182", []),
        ("pdi: is a scheme, urn: too, doi: 11.5, http:// https:///x", []),
        ("pdi://oma.eop.gov.us/1997/02/30/1 has no such day", []),
    ],
)
def test_identifiers_of_every_scheme_are_found_in_text(text: str, found: list[str]) -> None:
    assert list_texts(text) == found


@given(st.binary(max_size=300))
def test_any_bytes_can_be_searched(data: bytes) -> None:
    """ "What cannot be parsed is no identifier": nothing raises, and what is found is in order."""
    last = 0
    for one in find_written(data + b" doi:10.1000/182", is_escaped=True):
        assert last <= one.start < one.stop <= len(data) + 16
        last = one.stop


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["\n", "\r\n", "\r"]))
def test_the_origin_of_a_link_counts_characters_of_the_canonical_text(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str, line_break: str
) -> None:
    """ "every CRLF, lone LF or lone CR is one line break counted as two" (text-positions)."""
    written = f"{before}{line_break}{NAME} {line_break}{after}"
    found = read(tmp_path_factory.mktemp("text"), written.encode("utf-8", "replace"))
    canonical = re.sub("\r\n|\r|\n", "\r\n", written.encode("utf-8", "replace").decode())
    link = next(one for one in found if one.target == parse(NAME))
    assert link.origin is not None
    assert canonical[link.origin : link.origin + link.extent] == NAME


def test_a_text_in_another_charset_has_the_same_origins(tmp_path: Path) -> None:
    written = f"Ä«ö» {NAME} Ω"
    expected = [DeclaredLink("text", parse(NAME), 5, len(NAME))]
    for charset in ("utf-8", "utf-16-le", "iso-8859-7", "utf-8-sig"):
        data = written.encode(charset, "replace")
        stated = "utf-8" if charset == "utf-8-sig" else charset
        assert read(tmp_path, data, charset=stated) == expected, charset


def test_a_long_text_is_read_in_stretches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = "".join(f"line {number} é {NAME}\r\n" for number in range(500))
    whole = read(tmp_path, written.encode())
    assert len(whole) == 500
    monkeypatch.setattr(declared, "LARGEST", 100)
    monkeypatch.setattr(declared, "_STRETCH", 1001)
    assert read(tmp_path, written.encode()) == whole
    with pytest.raises(PlainTextTooLong):
        read(tmp_path, written.encode(), "text/html")


def test_a_document_has_a_bounded_number_of_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declared, "MOST_LINKS", 3)
    assert len(read(tmp_path, f"{DOI} ".encode() * 10)) == 3


# markup
# ------

PAGE = f"""<!DOCTYPE html><title>x</title>
<!-- {NAME} --><script>"{NAME}"</script><base href="https://id.example/">
<blockquote cite="{NAME}">words</blockquote><a href='/{NAME}?part=char=0,47'/>x</a>
<img src="https://id.example/{NAME}"><object data={NAME} data-of="{DOI}">
<meta content="a {DOI}, {NAME}"><p>{DOI}&lt; &amp; https://id.example/{NAME}?part=char=0,47&amp;x</p>
"""


def test_each_attribute_of_html_says_how_it_refers(tmp_path: Path) -> None:
    assert list_pairs(read(tmp_path, PAGE.encode(), "text/html")) == [
        ("cite", NAME),
        ("href", PART),
        ("src", NAME),
        ("data", NAME),
        ("data", DOI),
        ("data", DOI),
        ("data", NAME),
        ("text", DOI),
        ("text", PART),
    ]


def test_an_identifier_outside_attributes_hides_none_in_them(tmp_path: Path) -> None:
    """Nor does one in an attribute hide those of the next ones, or of the text."""
    page = f"""<doi.a href="{NAME}" title={DOI}>{DOI}</doi.a> {DOI} <i cite='{NAME}'>"""
    assert list_pairs(read(tmp_path, page.encode(), "text/html")) == [
        ("href", NAME),
        ("data", DOI),
        ("text", DOI),
        ("text", DOI),
        ("cite", NAME),
    ]


def test_the_origin_in_markup_is_a_character_of_the_source(tmp_path: Path) -> None:
    page = f'<p>é</p>\n<q cite="{NAME}">'
    (link,) = read(tmp_path, page.encode(), "text/html")
    assert link.origin == page.replace("\n", "\r\n").index(NAME)


JATS = f"""<?xml version="1.0"?><!DOCTYPE article [<!ENTITY e SYSTEM "{NAME}">]>
<article xmlns:xlink="http://www.w3.org/1999/xlink"><body><p>
<ext-link ext-link-type="uri" xlink:href="{NAME}">here</ext-link>
<ext-link ext-link-type="doi" xlink:href="10.1000/182">there</ext-link>
<pub-id pub-id-type="doi">10.1000/182</pub-id>
<object-id pub-id-type="ark">ark:/12345/x6</object-id> and {NAME}</p></body></article>"""
TEI = f"""<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>
<ref target="{NAME} #local {DOI}"/><seg corresp="{PART}"/><idno type="DOI">10.1000/182</idno>
<!-- {NAME} --><note><![CDATA[{DOI}]]></note></body></text></TEI>"""
INCLUDING = f"""<doc xmlns:xi="http://www.w3.org/2001/XInclude" xmlns:l="http://www.w3.org/1999/xlink"
 xmlns:p="{NAME}"><xi:include href="{NAME}"/><see xlink:href="{DOI}"/><e any='{NAME}' src='{DOI}'/>
</doc>"""


@pytest.mark.parametrize(
    ("document", "found"),
    [
        (
            JATS,
            [
                ("jats", NAME),
                ("jats", DOI),
                ("jats", DOI),
                ("jats", "ark:12345/x6"),
                ("text", NAME),
            ],
        ),
        (TEI, [("tei", NAME), ("tei", DOI), ("tei", PART), ("tei", DOI), ("text", DOI)]),
        (INCLUDING, [("xinclude", NAME), ("xlink", DOI), ("data", NAME), ("src", DOI)]),
    ],
)
def test_each_vocabulary_of_xml_is_read(
    tmp_path: Path, document: str, found: list[tuple[str, str]]
) -> None:
    assert list_pairs(read(tmp_path, document.encode(), "application/xml")) == found


def test_bombs_and_broken_markup_are_only_text(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY a "' + "&b;" * 1000 + f'"><!ENTITY b "{NAME}">]><a>&a;</a>'
    assert read(tmp_path, bomb.encode(), "text/xml") == []
    for end in range(0, len(PAGE), 7):
        read(tmp_path, PAGE[:end].encode(), "text/html")
        read(tmp_path, JATS[:end].encode(), "text/xml")


def test_a_bare_doi_is_read_only_as_one() -> None:
    assert str(read_bare_doi(" 10.1000/182 ")) == DOI
    assert read_bare_doi("11.1000/182") is None


MARKDOWN = f"""[text]({NAME}) and <{DOI}>, plain {NAME}.
![picture](</{NAME}>)

[ref]: {DOI} "title"
"""


def test_links_of_markdown_are_told_from_its_text(tmp_path: Path) -> None:
    assert list_pairs(read(tmp_path, MARKDOWN.encode(), "text/markdown")) == [
        ("markdown", NAME),
        ("markdown", DOI),
        ("text", NAME),
        ("markdown", NAME),
        ("markdown", DOI),
    ]


# PDF
# ---


def make_pdf(path: Path, *addresses: str) -> bytes:
    pikepdf = pytest.importorskip("pikepdf")
    pdf = pikepdf.new()
    for address in addresses:
        page = pdf.add_blank_page()
        link = pikepdf.Dictionary(
            Type=pikepdf.Name.Annot,
            Subtype=pikepdf.Name.Link,
            Rect=[0, 0, 9, 9],
            A=pikepdf.Dictionary(S=pikepdf.Name.URI, URI=pikepdf.String(address)),
        )
        page.obj["/Annots"] = pdf.make_indirect([link, pikepdf.Dictionary()])
    pdf.save(path)
    return path.read_bytes()


def test_the_links_of_a_pdf_have_their_pages(tmp_path: Path) -> None:
    data = make_pdf(tmp_path / "a.pdf", f"https://id.example/{PART}", "https://else.example/", DOI)
    found = read(tmp_path, data, "application/pdf", None)
    assert found == [
        DeclaredLink("pdf", parse(PART), 1, 0),
        DeclaredLink("pdf", parse(DOI), 3, 0),
    ]


_BITS = ("doi ", "DOI.", "doi:", "PDI:", "urn:", "http://", "HTTPS://", "http:/", "x", ":", "h")
_MORE = (" ", "pwid:", "Pwid", "ark:/1", "hdl:", "info:", "Ä", "\x1aoi:", "d/i ", "\x10di:", "\n")


@given(st.lists(st.sampled_from(_BITS + _MORE), max_size=60))
def test_a_long_text_has_the_places_of_a_short_one(bits: list[str]) -> None:
    """The fast way is equal to the plain one, wherever the text begins and ends."""
    pytest.importorskip("numpy")
    short = "".join(bits).encode()
    padding = b" " * written._LONG
    assert find_places(short + padding) == find_places(short)
    places = [place - len(padding) for place in find_places(padding + short)]
    assert places == find_places(short)


_WRITTEN = (*_BITS, *_MORE, DOI, f"https://doi.org/{DOI[4:]}", "http://a.example/?doi:10.1/x", "1")


@given(st.lists(st.sampled_from(_WRITTEN), max_size=20), st.integers(0), st.integers(0))
def test_a_stretch_of_a_text_is_read_as_a_text_of_its_own(
    bits: list[str], start: int, stop: int
) -> None:
    whole = "".join(bits).encode()
    start, stop = sorted((start % (len(whole) + 1), stop % (len(whole) + 1)))
    found = read_places(whole, find_places(whole), start, stop)
    moved = [(one.identifier, one.start - start, one.stop - start) for one in found]
    assert moved == [tuple(one) for one in find_written(whole[start:stop])]


def test_other_addresses_are_no_candidates() -> None:
    text = (
        f"http://a.example/x HTTPS://doi.org/10.1000/182 {DOI} https://id.example/{NAME}".encode()
    )
    found = [
        text[at : at + 12]
        for at in choose_candidates(text, find_places(text), ("https://id.example",))
    ]
    assert found == [
        b"HTTPS://doi.",
        b"doi:10.1000/",
        b"https://id.e",
        b"pdi://oma.eo",
    ]


# the fast way beside the plain one
# ---------------------------------

_VALUES = (
    DOI, "DOI:10.1000/A", NAME, f"/{NAME}", f"https://id.example/{NAME}%23char=1,2", "hdl:1839/x",
    "https://doi.org/10.1000/182", "https://doi.org/10.1000/182.", "https://doi.org/about",
    f"https://doi.org/{NAME}", "https://doi.org/doi:10.1000/182", "https://n2t.net/ark:/12345/x",
    "https://a.example/ark:/12345/x", "https://a.example/", "10.1000/182", f"{DOI}&amp;x {DOI}",
    f"see {DOI}, {NAME}", f"<!-- {DOI}", f"{DOI}>", "http://nbn-resolving.org/urn:nbn:de:1-2",
)  # fmt: skip
_TAGS = (
    '<a href="{}">', "<a href='{}'>", "<a href={}>", '<A HREF="{}" />', '<a x="1" y href="{}" z>',
    '<a  href="{}">', '<a\nhref="{}">', '<a x="{}"href="{}">', '<a href="{}" title="{}"', "{}",
    '</a href="{}">', '<script src="{}">', '<script-x src="{}">', "</script>", "<!-- ", " -->",
    '<title a="{}">', "</title>", "<![CDATA[ ", "]]>", '<xi:include href="{}"/>', "<", '"', "'",
    ">", '<pub-id pub-id-type="doi">{}</pub-id>', '<ext-link xlink:href="{}">', "é", "\r\n",
    "<article>", '<ref target="{}">', "<tei>", '<p xmlns:a="{}">', '<a="{}">', '<i a =" b" c="{}">',
)  # fmt: skip
_markup = st.lists(
    st.tuples(st.sampled_from(_TAGS), st.sampled_from(_VALUES), st.sampled_from(_VALUES)),
    max_size=12,
)


@given(_markup, st.sampled_from([HTML, XML, SGML]))
def test_tags_in_the_usual_spelling_are_read_as_all_others(
    pieces: list[tuple[str, str, str]], rule: Rule
) -> None:
    """The identifiers, their places and spellings are those that are found without `enter_value`
    and `read_plain_address`.
    """
    data = "".join(tag.format(*values) for tag, *values in pieces).encode()
    found = find_marked(data, rule, ("https://id.example",))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TagWalk, "enter_value", lambda *_: None)
        patch.setattr(urls, "read_plain_address", lambda *_: None)
        plain = find_marked(data, rule, ("https://id.example",))
    assert found == plain
    assert [one.identifier.written for one in found] == [one.identifier.written for one in plain]


# packages and archives
# ---------------------


def test_the_hyperlinks_of_a_document(tmp_path: Path) -> None:
    """Relationships to what is outside (ECMA-376 part 2, 9.3), and fields (part 1, 17.16.5.25)"""
    main = (
        "<w:document @W ><w:body><w:p>"
        '<w:hyperlink r:id="r1" @R ><w:r><w:t>there</w:t></w:r></w:hyperlink>'
        "<w:fldSimple w:instr='HYPERLINK \"hdl:1839/x\"'><w:r><w:t>x</w:t></w:r></w:fldSimple>"
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> HYPERLINK "doi:10.1000'
        '</w:instrText></w:r><w:r><w:instrText>/182" </w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r></w:p></w:body></w:document>'
    )
    parts = {
        "word/document.xml": main,
        "word/_rels/document.xml.rels": f"hyperlink=r1=https://id.example/{PART} "
        f"image=r2={NAME} hyperlink=r3=https://else.example/ footnotes=r4=footnotes.xml",
        "word/footnotes.xml": "<w:footnotes @W ></w:footnotes>",
        "word/_rels/footnotes.xml.rels": f"hyperlink=r1={DOI}",
    }
    found = read(tmp_path, write_ooxml("word/document.xml", parts), f"{OOXML}{_DOCX}", None)
    assert list_pairs(found) == [
        ("href", PART),
        ("src", NAME),
        ("href", "hdl:1839/x"),
        ("href", DOI),
        ("href", DOI),
    ]
    assert {(one.origin, one.extent) for one in found} == {(0, 0)}


def test_the_hyperlinks_of_a_workbook_and_a_presentation(tmp_path: Path) -> None:
    sheet = '<worksheet @S ><sheetData><row><c><f>HYPERLINK("hdl:1839/x","X")</f></c></row>'
    sheets = '<sheets><sheet name="a" r:id="r1" @R /></sheets>'
    parts = {
        "xl/workbook.xml": f"<workbook @S >{sheets}</workbook>",
        "xl/_rels/workbook.xml.rels": "worksheet=r1=sheet1.xml",
        "xl/sheet1.xml": f"{sheet}</sheetData></worksheet>",
        "xl/_rels/sheet1.xml.rels": f"hyperlink=r1={NAME}",
    }
    data = write_ooxml("xl/workbook.xml", parts)
    found = read(tmp_path, data, f"{OOXML}spreadsheetml.sheet", None)
    assert list_pairs(found) == [("href", NAME), ("href", "hdl:1839/x")]
    slide = "<p:sld @P @A ></p:sld>"
    parts = {
        "ppt/presentation.xml": '<p:presentation @P ><p:sldId r:id="r1" @R /></p:presentation>',
        "ppt/_rels/presentation.xml.rels": "slide=r1=slide1.xml",
        "ppt/slide1.xml": slide,
        "ppt/_rels/slide1.xml.rels": f"hyperlink=r1={DOI} notesSlide=r2=notes1.xml",
        "ppt/notes1.xml": "<p:notes @P ></p:notes>",
        "ppt/_rels/notes1.xml.rels": f"hyperlink=r1={NAME}",
    }
    data = write_ooxml("ppt/presentation.xml", parts)
    found = read(tmp_path, data, f"{OOXML}presentationml.presentation", None)
    assert list_pairs(found) == [("href", DOI), ("href", NAME)]


def test_the_links_of_an_open_document(tmp_path: Path) -> None:
    """`xlink:href` (OpenDocument 1.3 part 3, section 19.917)"""
    link = 'xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href'
    body = f'<text:p>at <text:a {link}="https://id.example/{PART}">home</text:a></text:p>'
    image = f'<draw:image {link}="Pictures/1.png"/><draw:image {link}="{NAME}"/>'
    found = read(tmp_path, write_odf("text", body + image), f"{ODF}text", None)
    assert list_pairs(found) == [("xlink", PART), ("xlink", NAME)]


def test_the_links_of_a_book(tmp_path: Path) -> None:
    page = (
        f'<html xmlns="http://www.w3.org/1999/xhtml"><body><!-- <a href="{DOI}"/> -->'
        f'<q cite="{NAME}">x</q><a href="doi:10.1000/1&amp;2">y</a><img src="{PART}"/>'
        '<a href="chapter2.xhtml">z</a></body></html>'
    )
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:'
        'container"><rootfiles><rootfile full-path="a.opf" media-type='
        '"application/oebps-package+xml"/></rootfiles></container>',
        "a.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" '
        'href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine>'
        '<itemref idref="a"/></spine></package>',
        "a.xhtml": page,
    }
    found = read(tmp_path, write_zip(members), "application/epub+zip", None)
    assert list_pairs(found) == [
        ("cite", NAME),
        ("href", "doi:10.1000/1&2"),
        ("src", PART),
    ]


def test_the_links_of_captured_pages(tmp_path: Path) -> None:
    pytest.importorskip("fastwarc")
    page = f'<blockquote cite="{PART}">x</blockquote><script>"{DOI}"</script> {NAME}'
    warc = Warc(tmp_path / "a.warc.gz")
    warc.response("http://a.example/", "2014-01-26T20:06:24Z", page.encode())
    warc.response("http://a.example/b", "2014-01-26T20:06:24Z", f'<a href="{DOI}">'.encode())
    data = warc.finish().read_bytes()
    found = read(tmp_path, data, "application/warc", None)
    assert list_pairs(found) == [("cite", PART), ("href", DOI), ("text", NAME)]


@pytest.mark.parametrize(
    "written", ["10.1000/182", "10.1000/pdi:3%23x", "10.1000/a?part=b", "10.1000/pdi:3?part=c"]
)
def test_a_doi_after_its_label_is_read_as_in_an_address(written: str) -> None:
    (found,) = find_written(f"See DOI {written}, again".encode())
    assert found.identifier == read_address(f"doi:{written}")


_LABELS = [b"doi", b"DOI", b".", b" ", b":", b"\n", b"10.1000/1", b"x"]


@given(st.lists(st.sampled_from(_LABELS), max_size=30))
def test_a_label_without_a_colon_is_found_where_it_is_read(pieces: list[bytes]) -> None:
    """ "`doi 10.1000/182` and `DOI: 10.1000/182` are read, too": with a dot, blanks, a colon."""
    text = b"".join(pieces)
    label = re.compile(rb"doi\.?(?:\s*:\s*|\s{1,2})(?=10\.[0-9]{4,9}/)", re.IGNORECASE)
    is_apart = {at for at in range(len(text)) if text[at + 3 : at + 4] in (b" ", b".")}
    expected = {one.start() for one in label.finditer(text)} & is_apart
    assert {at for at in find_places(text) if at in is_apart} == expected
