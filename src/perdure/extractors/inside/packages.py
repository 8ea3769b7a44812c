"""Properties inside packages and XML: Office (OOXML), OpenDocument, EPUB, and XMP packets.

Specifications: ECMA-376 part 2 section 11 (core properties), ODF 1.3 part 3 section 4.3
(`meta.xml`), EPUB 3.3 section 5.5 (Dublin Core in the package document), ISO 16684-1 (XMP).

How it works: expat collects the texts of elements by their names, without a tree. A document type
declaration is refused, so no entity expands and nothing external is read.

What must stay true: it runs confined (`perdure.extractors.inside.derived`); no more than `_LARGEST`
bytes of a member are decompressed.
"""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
from collections.abc import Iterator
from xml.parsers import expat

from perdure.formats.zip_faults import ZIP_FAULTS

Pairs = dict[str, str]

_LARGEST = 1 << 20  # bytes of a member
_MOST_TEXTS = 2000
_DC = "http://purl.org/dc/elements/1.1/ "
_CORE = "http://schemas.openxmlformats.org/package/2006/metadata/core-properties "
_TERMS = "http://purl.org/dc/terms/ "
_META = "urn:oasis:names:tc:opendocument:xmlns:meta:1.0 "
_XMP = "http://ns.adobe.com/xap/1.0/ "
_PHOTOSHOP = "http://ns.adobe.com/photoshop/1.0/ "
_NAMES = {
    f"{_DC}title": "title", f"{_DC}creator": "creator", f"{_DC}subject": "keywords",
    f"{_DC}description": "description", f"{_DC}publisher": "publisher", f"{_DC}rights": "rights",
    f"{_DC}language": "language", f"{_DC}date": "date",
    f"{_CORE}keywords": "keywords", f"{_TERMS}created": "date",
    f"{_META}initial-creator": "creator", f"{_META}creation-date": "date",
    f"{_META}keyword": "keywords", f"{_XMP}CreateDate": "date",
    f"{_PHOTOSHOP}DateCreated": "date",
}  # fmt: skip
_PACKET = re.compile(rb"<(?:x:xmpmeta|rdf:RDF)\b.*?</(?:x:xmpmeta|rdf:RDF)>", re.DOTALL)
_DATE = re.compile("[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?", re.ASCII)


def read_office(data: bytes) -> Pairs:
    """Read the core properties of an Office document."""
    return _read_member(data, "docProps/core.xml")


def read_opendocument(data: bytes) -> Pairs:
    """Read the metadata of an OpenDocument package. The initial creator is the author."""
    return _read_member(data, "meta.xml")


def read_epub(data: bytes) -> Pairs:
    """Read the Dublin Core of the package document."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [one for one in archive.namelist() if one.endswith(".opf")]
    except ZIP_FAULTS:
        return {}
    return _read_member(data, names[0]) if names else {}


def read_xmp(data: bytes) -> Pairs:
    """Read the first XMP packet that stands uncompressed in the bytes."""
    found = _PACKET.search(data)
    return collect_pairs(found[0]) if found and len(found[0]) <= _LARGEST else {}


def _read_member(data: bytes, name: str) -> Pairs:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(name) as member:
            text = member.read(_LARGEST)
    except (KeyError, *ZIP_FAULTS):
        return {}
    return collect_pairs(text)


def collect_pairs(text: bytes) -> Pairs:
    """Collect the known names and values of an XML document, as far as it is well-formed."""
    found: Pairs = {}
    for name, value in _list_texts(text):
        known = _NAMES.get(name)
        if known is None or not value:
            continue
        if known == "date":
            date = _DATE.match(value)
            if date:
                found.setdefault("date", date[0])
        elif known in ("keywords", "creator") and known in found:
            joint = "; " if known == "creator" else ", "
            if value not in found[known].split(joint):
                found[known] += joint + value
        else:
            found.setdefault(known, value)
    return found


def _list_texts(text: bytes) -> Iterator[tuple[str, str]]:
    """Yield the texts of known elements and attributes, with their names."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    texts: list[tuple[str, str]] = []
    above: list[str] = []

    def start_element(name: str, attributes: dict[str, str]) -> None:
        above.append(name if name in _NAMES else (above[-1] if above else ""))
        texts.extend((key, value.strip()) for key, value in attributes.items() if key in _NAMES)

    def end_element(_: str) -> None:
        above.pop()

    def add_text(piece: str) -> None:
        if above and above[-1] in _NAMES and piece.strip() and len(texts) < _MOST_TEXTS:
            texts.append((above[-1], piece.strip()))

    def refuse_doctype(*_: object) -> None:
        raise ValueError("a document type declaration")

    parser.StartElementHandler = start_element
    parser.EndElementHandler = end_element
    parser.CharacterDataHandler = add_text
    parser.StartDoctypeDeclHandler = refuse_doctype
    with contextlib.suppress(expat.ExpatError, ValueError):  # the elements before the fault count
        parser.Parse(text, True)
    yield from texts
