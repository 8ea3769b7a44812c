"""The text of EPUB: its documents in reading order."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.extractors.cutting import source
from tests.extractors.packages import write_zip

from perdure.errors import OverBudget, PerdureError
from perdure.errors.damage import (
    DoctypeRefused,
    MemberDamaged,
    MemberMissing,
    PackageEncrypted,
    TextAbsent,
)
from perdure.extractors.packages.epub import EXTRACTOR, MEDIA_TYPE
from perdure.formats.detect import detect_type
from perdure.reading.extraction import PartExtraction

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>'
    '<rootfile full-path="other.pdf" media-type="application/pdf"/></rootfiles></container>'
)
OPF = (
    '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
    '<item id="one" href="text/one.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="two" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="cover" href="cover.svg" media-type="image/svg+xml"/></manifest><spine>'
    '<itemref idref="cover"/><itemref idref="two"/><itemref idref="one" linear="no"/>'
    '<itemref idref="none"/><itemref idref="two"/></spine></package>'
)
ONE = (
    '<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE html PUBLIC '
    '"-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">'
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js"/></head>'
    "<body><p>Am&nbsp;Anfang w<i>a</i>r</p><p>J\xfcrgen</p></body></html>"
).encode("latin-1")
TWO = "<html><body><h1>Two\n  words</h1><p>a<br/>b &lt; c</p><![CDATA[]]></body></html>"
MEMBERS: dict[str, str | bytes] = {
    "mimetype": MEDIA_TYPE,
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": OPF,
    "OEBPS/text/one.xhtml": ONE,
    "OEBPS/text/two b.xhtml": TWO.encode("utf-16"),
    "OEBPS/nav.xhtml": "<html><body>not read</body></html>",
}


def read(place: Path, members: dict[str, str | bytes]) -> str:
    document = source(place, write_zip(members), MEDIA_TYPE)
    return EXTRACTOR.open_text(document, EXTRACTOR.map_text(document)).text


def test_the_documents_of_the_spine_are_read_in_their_order(tmp_path: Path) -> None:
    text = read(tmp_path, dict(MEMBERS))
    assert text == "Two words\na\nb < c\n\fAm\xa0Anfang war\nJürgen\n\f"


def test_a_book_is_detected_and_read_in_a_confined_process(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    data = write_zip(dict(MEMBERS))
    assert str(detect_type(data).media_type) == MEDIA_TYPE
    text = extraction.read_text(source(tmp_path, data, MEDIA_TYPE))
    assert text is not None
    assert text.list_passages(0, 3) == ((0, 3, None),)


@pytest.mark.parametrize(
    ("name", "data", "error"),
    [
        ("META-INF/container.xml", None, MemberMissing),
        ("META-INF/container.xml", "<a/>", MemberMissing),
        ("META-INF/container.xml", f"<!DOCTYPE a>{CONTAINER}", DoctypeRefused),
        ("OEBPS/book.opf", None, MemberMissing),
        ("OEBPS/book.opf", "<a", MemberDamaged),
        ("OEBPS/book.opf", "<a/>", TextAbsent),
        ("OEBPS/text/one.xhtml", None, MemberMissing),
    ],
)
def test_a_damaged_book_says_so(
    tmp_path: Path, name: str, data: str | None, error: type[PerdureError]
) -> None:
    members: dict[str, str | bytes] = {**MEMBERS, name: data or ""}
    if data is None:
        del members[name]
    with pytest.raises(error):
        read(tmp_path, members)


@pytest.mark.parametrize(("uri", "refused"), [("OEBPS/text/one.xhtml", True), ("a.ttf", False)])
def test_a_document_may_not_be_encrypted_but_a_font_may(
    tmp_path: Path, uri: str, *, refused: bool
) -> None:
    encryption = (
        '<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>'
        f'<enc:CipherData><enc:CipherReference URI="{uri}"/></enc:CipherData></enc:EncryptedData>'
        "</encryption>"
    )
    members: dict[str, str | bytes] = {**MEMBERS, "META-INF/encryption.xml": encryption}
    if refused:
        with pytest.raises(PackageEncrypted):
            read(tmp_path, members)
    else:
        assert read(tmp_path, members)


def test_entities_of_a_page_do_not_expand(tmp_path: Path) -> None:
    page = '<!DOCTYPE a [<!ENTITY b "bbb"><!ENTITY c SYSTEM "/etc/passwd">]><p>a &b; &c;</p>'
    text = read(tmp_path, {**MEMBERS, "OEBPS/text/one.xhtml": page})
    assert "a &b; &c;" in text
    assert "root:" not in text


def test_a_book_that_expands_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.extractors.packages.package.MOST", 1 << 20)
    with pytest.raises(OverBudget, match="decompressed"):
        read(tmp_path, {**MEMBERS, "OEBPS/text/one.xhtml": " " * (1 << 20)})
