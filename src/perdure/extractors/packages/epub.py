"""The text of EPUB, and its links: the documents of a book in reading order.

Specification: EPUB 3.3 (W3C Recommendation), sections 4.2.6.3.1 (container.xml), 4.2.6.3.2
(encryption.xml), 5.6 (manifest), 5.7 (spine); EPUB 2.0.1 has the same files.

How it works: the container leads to the package document, whose spine lists the documents of the
book in order. Each XHTML document is its text (`perdure.extractors.markup.page_text`), with a form
feed after it. Members outside the spine (a table of contents for programs, styles) are not read.
Fonts may be encrypted; a document of the spine may not.

What must stay true: it runs confined (`perdure.extractors.packages.package`).
"""

from __future__ import annotations

import codecs
import posixpath
from collections.abc import Iterator

from perdure.errors.damage import MemberMissing, PackageEncrypted
from perdure.extractors.mapped_text import TextBuilding
from perdure.extractors.markup.page_links import list_page_links
from perdure.extractors.markup.page_text import read_page_text
from perdure.extractors.packages.extractor import PackageExtractor
from perdure.extractors.packages.package import (
    Attributes,
    Handlers,
    ZipPackage,
    resolve_member,
)
from perdure.extractors.port import ListedLink, Source
from perdure.formats import decode_unlabelled, find_declared_charset, find_python_codec

MEDIA_TYPE = "application/epub+zip"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_ROOTFILE = "urn:oasis:names:tc:opendocument:xmlns:container rootfile"
_CIPHER = "http://www.w3.org/2001/04/xmlenc# CipherReference"
_ITEM = "http://www.idpf.org/2007/opf item"
_ITEM_REFERENCE = "http://www.idpf.org/2007/opf itemref"
_PACKAGE_TYPE = "application/oebps-package+xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_HEAD = 1024  # bytes with the declaration of an encoding
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"),
          (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


def read_epub(source: Source, package: ZipPackage, building: TextBuilding) -> None:
    """Read the text of a book. Raises Undecodable or OverBudget."""
    encrypted = _list_encrypted(package)
    for member in _list_documents(source, package):
        if member in encrypted:
            raise PackageEncrypted(**source.subject)
        page = _decode_page(package.read_member(member))
        building.add_text(f"{read_page_text(page, source.name, xhtml=True)}\n\f")


def list_epub_links(source: Source, package: ZipPackage) -> Iterator[ListedLink]:
    """Yield the links of the documents of a book. Raises Undecodable or OverBudget."""
    encrypted = _list_encrypted(package)
    for member in _list_documents(source, package):
        if member not in encrypted:
            page = _decode_page(package.read_member(member))
            for how, address in list_page_links(page, xhtml=True):
                yield ListedLink(how, address)


def _list_encrypted(package: ZipPackage) -> set[str]:
    """Return the members that are encrypted. Their names begin at the root of the package."""
    found: set[str] = set()

    def add_member(attributes: Attributes) -> None:
        found.add(resolve_member("", attributes.get("URI", "")))

    if package.has_member(_ENCRYPTION):
        package.parse_member(_ENCRYPTION, Handlers({_CIPHER: add_member}))
    return found


def _list_documents(source: Source, package: ZipPackage) -> list[str]:
    """Return the pages of the spine in order, each once."""
    main: list[str] = []

    def add_root(attributes: Attributes) -> None:
        if attributes.get("media-type") == _PACKAGE_TYPE:
            main.append(resolve_member("", attributes.get("full-path", "")))

    package.parse_member(_CONTAINER, Handlers({_ROOTFILE: add_root}))
    if not main:
        raise MemberMissing(**source.subject, member="package document")
    folder = posixpath.dirname(main[0])
    items: dict[str, str] = {}
    spine: list[str] = []

    def add_item(attributes: Attributes) -> None:
        if attributes.get("media-type", "").lower() in _PAGES:
            items[attributes.get("id", "")] = resolve_member(folder, attributes.get("href", ""))

    def add_reference(attributes: Attributes) -> None:
        spine.append(attributes.get("idref", ""))

    package.parse_member(main[0], Handlers({_ITEM: add_item, _ITEM_REFERENCE: add_reference}))
    return [items[name] for name in dict.fromkeys(spine) if name in items]


def _decode_page(data: bytes) -> str:
    """Return the characters of a page: UTF-8 or UTF-16, or as its XML declaration says."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return data.decode(codec, "replace")
    declared = find_declared_charset(data[:_HEAD])
    stated = find_python_codec(declared) if declared else None
    try:
        return data.decode(stated or "utf-8")
    except (UnicodeDecodeError, LookupError):
        return decode_unlabelled(data)


EXTRACTOR = PackageExtractor((MEDIA_TYPE,), "epub-text-1", read_epub, list_epub_links)
