"""The plain text of each format, beside a reader that people use for it, in MB of text a second.

How it works: a document of each format is made from the same paragraphs, about a megabyte of text.
Ours is all that a confined process does for it: the text with its map and checks. The other only
joins the text: `lxml` from a complete tree for XML and HTML, `email` for mail, FFmpeg's demuxer for
subtitles (which leaves the tags in), warcio with lxml for web archives. The process and the index
cost the same for every format and are left out on both sides.
"""

from __future__ import annotations

import io
import random
import sys
import tempfile
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from xml.sax.saxutils import escape

import av
from lxml import etree, html
from warcio import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from benchmarks.measure import Ratio, compare, show
from perdure.extractors import warc_text
from perdure.extractors.mail import text as mail
from perdure.extractors.packages import epub, office_xml, opendocument
from perdure.extractors.plain_text import TextMapper
from perdure.extractors.port import Source
from perdure.extractors.text import subtitles
from perdure.extractors.text.cues import SUBRIP

_PARAGRAPHS = 4_000
_ROUNDS = 7
_WORDS = [
    "archive",
    "record",
    "river",
    "mountain",
    "letter",
    "window",
    "morning",
    "council",
    "number",
    "against",
]
_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
    'full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def run() -> list[Ratio]:
    choose = random.Random(2646)
    paragraphs = [
        " ".join(choose.choices(_WORDS, k=choose.randint(20, 60))) + " & so on."
        for _ in range(_PARAGRAPHS)
    ]
    return [
        _compare("SubRip", subtitles.EXTRACTOR, *_make_subrip(paragraphs), 0.2),
        _compare("mail", mail.EXTRACTOR, *_make_mail(paragraphs), 0.2),
        _compare("OpenDocument text", opendocument.EXTRACTOR, *_make_odt(paragraphs), 0.2),
        _compare("Office Open XML text", office_xml.EXTRACTOR, *_make_docx(paragraphs), 0.5),
        _compare("Office Open XML workbook", office_xml.EXTRACTOR, *_make_xlsx(paragraphs), 0.5),
        _compare("EPUB", epub.EXTRACTOR, *_make_epub(paragraphs), 0.2),
        _compare("WARC", warc_text.EXTRACTOR, *_make_warc(paragraphs), 0.2),
    ]


def _compare(
    name: str,
    extractor: TextMapper,
    media_type: str,
    data: bytes,
    other: Callable[[bytes], str],
    target: float,
) -> Ratio:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        source = Source(
            path=Path(file.name), length=len(data), media_type=media_type, charset="utf-8"
        )
        text = extractor.open_text(source, extractor.map_text(source)).text
        return compare(
            f"text of {name}",
            lambda: extractor.map_text(source),
            lambda: other(data),
            work=len(text.encode()),
            unit="bytes/s",
            target=target,
            rounds=_ROUNDS,
        )


_Made = tuple[str, bytes, Callable[[bytes], str]]


def _make_subrip(paragraphs: list[str]) -> _Made:
    cues = (
        f"{n + 1}\n{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02},000 --> "
        f"{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02},900\n<i>{text}</i>\n"
        for n, text in enumerate(paragraphs)
    )

    def read(data: bytes) -> str:
        with av.open(io.BytesIO(data), "r", format="srt") as container:
            return "\n".join(bytes(packet).decode() for packet in container.demux())

    return SUBRIP, "\n".join(cues).encode(), read


def _make_mail(paragraphs: list[str]) -> _Made:
    message = EmailMessage()
    message["Subject"] = "All of it"
    message.set_content("\n".join(paragraphs) + "\n\u00fc\n", cte="quoted-printable")

    def read(data: bytes) -> str:
        body = message_from_bytes(data, policy=default).get_body(("plain",))
        return "" if body is None else str(body.get_content())

    return "message/rfc822", message.as_bytes(), read


def _zip(members: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def _join_tree(member: str, tag: str) -> Callable[[bytes], str]:
    """Return a reader that joins the text of elements in a tree of a member."""

    def read(data: bytes) -> str:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            root = etree.fromstring(archive.read(member))
        return "\n".join("".join(map(str, one.itertext())) for one in root.iter(tag))

    return read


def _make_odt(paragraphs: list[str]) -> _Made:
    body = "".join(f"<t:p>{escape(one)}<t:span> end</t:span></t:p>" for one in paragraphs)
    content = (
        f'<o:document-content xmlns:o="{_OASIS}office:1.0" xmlns:t="{_OASIS}text:1.0"><o:body>'
        f"<o:text>{body}</o:text></o:body></o:document-content>"
    )
    data = _zip({"mimetype": opendocument.MEDIA_TYPES[0], "content.xml": content})
    return opendocument.MEDIA_TYPES[0], data, _join_tree("content.xml", f"{{{_OASIS}text:1.0}}p")


def _make_docx(paragraphs: list[str]) -> _Made:
    body = "".join(
        f"<w:p><w:pPr/><w:r><w:rPr/><w:t>{escape(one)}</w:t></w:r><w:r><w:t> end</w:t></w:r></w:p>"
        for one in paragraphs
    )
    main = f'<w:document xmlns:w="{_MAIN}"><w:body>{body}</w:body></w:document>'
    data = _zip({"word/document.xml": main})
    return office_xml.DOCX, data, _join_tree("word/document.xml", f"{{{_MAIN}}}p")


def _make_xlsx(paragraphs: list[str]) -> _Made:
    rows = "".join(
        f'<row><c t="inlineStr"><is><t>{escape(one)}</t></is></c><c><v>{n}</v></c></row>'
        for n, one in enumerate(paragraphs)
    )
    related = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="a" Type="{_RELATED}/worksheet" Target="s.xml"/></Relationships>'
    )
    book = (
        f'<workbook xmlns="{_SHEET}" xmlns:r="{_RELATED}"><sheets><sheet name="A" r:id="a"/>'
        "</sheets></workbook>"
    )
    sheet = f'<worksheet xmlns="{_SHEET}"><sheetData>{rows}</sheetData></worksheet>'
    data = _zip({"xl/workbook.xml": book, "xl/_rels/workbook.xml.rels": related, "xl/s.xml": sheet})
    return office_xml.XLSX, data, _join_tree("xl/s.xml", f"{{{_SHEET}}}c")


def _make_page(paragraphs: list[str]) -> str:
    body = "".join(f"<p class='a'>{escape(one)} <b>end</b></p>\n" for one in paragraphs)
    return f"<html><head><title>All</title></head><body>{body}</body></html>"


def _join_page(page: bytes) -> str:
    return "".join(map(str, html.document_fromstring(page).itertext()))


def _make_epub(paragraphs: list[str]) -> _Made:
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" '
        'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine>'
        "</package>"
    )
    members = {"META-INF/container.xml": _CONTAINER, "a.opf": opf}

    def read(data: bytes) -> str:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _join_page(archive.read("a.xhtml"))

    return epub.MEDIA_TYPE, _zip({**members, "a.xhtml": _make_page(paragraphs)}), read


def _make_warc(paragraphs: list[str]) -> _Made:
    file = io.BytesIO()
    writer = WARCWriter(file, gzip=True)
    for start in range(0, len(paragraphs), 100):
        page = _make_page(paragraphs[start : start + 100]).encode()
        fields = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], "HTTP/1.1")
        record = writer.create_warc_record(
            f"https://a.example/{start}", "response", payload=io.BytesIO(page), http_headers=fields
        )
        writer.write_record(record)

    def read(data: bytes) -> str:
        return "\n".join(
            _join_page(record.content_stream().read())
            for record in ArchiveIterator(io.BytesIO(data))
            if record.rec_type == "response"
        )

    return warc_text.MEDIA_TYPE, file.getvalue(), read


if __name__ == "__main__":
    sys.exit(0 if show(run()) else 1)
