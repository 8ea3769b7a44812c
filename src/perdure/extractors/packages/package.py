"""A ZIP package of XML documents, read within limits.

Specification: ISO/IEC 21320-1 (the ZIP files of documents: stored or deflated, not encrypted), and
Open Packaging Conventions (ECMA-376 part 2) for relationships.

How it works: Python's `zipfile` reads the members, and expat parses them piece by piece, without a
tree. A document type declaration is refused, so no entity is ever declared: nothing expands, and
nothing external is read. A budget counts the bytes of all members together as they are
decompressed, whatever the directory of the package says.

What must stay true: it runs confined. The name of a member is only ever looked up in the package,
never in the file system. No element is nested too deep, because nothing here is recursive.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import unquote
from xml.parsers import expat

from perdure.errors import PerdureError
from perdure.errors.damage import (
    DoctypeRefused,
    MemberDamaged,
    MemberMissing,
    PackageEncrypted,
)
from perdure.errors.limits import PackageTooLong
from perdure.extractors.port import CHUNK, Source
from perdure.formats.zip_faults import ZIP_FAULTS

MOST = 256 << 20
"""Bytes of members that are decompressed for one text."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1  # bit 0 of the flags of a member
_RELATIONSHIP = "http://schemas.openxmlformats.org/package/2006/relationships Relationship"

Attributes = Mapping[str, str]
Start = Callable[[Attributes], None]
End = Callable[[], None]


class Handlers(NamedTuple):
    """The functions for the tags of elements and for the text between them.

    Names are those of expat: namespace, space, local name.
    """

    starts: Mapping[str, Start]
    ends: Mapping[str, End] = {}
    text: Callable[[str], None] | None = None


class Relationship(NamedTuple):
    """A relationship of a part to another (ECMA-376 part 2, section 9.3)."""

    kind: str
    """The last segment of its type: `officeDocument`, `footnotes`."""
    member: str


class ZipPackage:
    """An open package."""

    def __init__(self, source: Source, archive: zipfile.ZipFile) -> None:
        self._source = source
        self._archive = archive
        self._left = MOST

    def has_member(self, name: str) -> bool:
        """Return True if the package has a member of this name."""
        return name in self._archive.NameToInfo

    def read_member(self, name: str) -> bytes:
        """Return a member. Raises Undecodable or OverBudget."""
        return b"".join(self._list_chunks(name))

    def parse_member(self, name: str, handlers: Handlers) -> None:
        """Parse an XML document. Raises Undecodable or OverBudget, and what the handlers raise."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        starts, ends = handlers.starts, handlers.ends

        def start_element(element: str, attributes: Attributes) -> None:
            if (start := starts.get(element)) is not None:
                start(attributes)

        def end_element(element: str) -> None:
            if (end := ends.get(element)) is not None:
                end()

        def refuse_doctype(*_: object) -> None:
            raise DoctypeRefused(**self._source.subject, member=name)

        parser.StartElementHandler = start_element
        if ends:
            parser.EndElementHandler = end_element
        parser.CharacterDataHandler = handlers.text
        parser.StartDoctypeDeclHandler = refuse_doctype
        try:
            for chunk in self._list_chunks(name):
                parser.Parse(chunk, False)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise self.blame_member(name, error) from None

    def list_relationships(self, name: str) -> dict[str, Relationship]:
        """Return the relationships of a part to other parts by ID. `""` is the package itself."""
        folder = posixpath.dirname(name)
        found: dict[str, Relationship] = {}

        def add_relationship(attributes: Attributes) -> None:
            if attributes.get("TargetMode") != "External":
                kind = attributes.get("Type", "").rpartition("/")[2]
                target = resolve_member(folder, attributes.get("Target", ""))
                found[attributes.get("Id", "")] = Relationship(kind, target)

        place = _find_relationships(name)
        if self.has_member(place):
            self.parse_member(place, Handlers({_RELATIONSHIP: add_relationship}))
        return found

    def list_external(self, name: str) -> list[tuple[str, str]]:
        """Return kind and address of the relationships of a part to what is outside the package."""
        found: list[tuple[str, str]] = []

        def add_relationship(attributes: Attributes) -> None:
            if attributes.get("TargetMode") == "External":
                kind = attributes.get("Type", "").rpartition("/")[2]
                found.append((kind, attributes.get("Target", "")))

        place = _find_relationships(name)
        if self.has_member(place):
            self.parse_member(place, Handlers({_RELATIONSHIP: add_relationship}))
        return found

    def blame_member(self, name: str, fault: object) -> MemberDamaged:
        """Return the error that a member is damaged."""
        return MemberDamaged(**self._source.subject, member=name, fault=str(fault))

    def _list_chunks(self, name: str) -> Iterator[bytes]:
        info = self._archive.NameToInfo.get(name)
        if info is None:
            raise MemberMissing(**self._source.subject, member=name)
        if info.flag_bits & _ENCRYPTED:
            raise PackageEncrypted(**self._source.subject)
        if info.compress_type not in _METHODS:
            raise self.blame_member(name, "it is neither stored nor deflated")
        if info.header_offset < 0:
            raise self.blame_member(name, "it begins before the file")
        try:
            with self._archive.open(info) as file:
                while chunk := file.read(CHUNK):
                    self._left -= len(chunk)
                    if self._left < 0:
                        raise PackageTooLong(source=self._source.name, most=MOST)
                    yield chunk
        except PerdureError:  # some of them are ValueErrors, too
            raise
        except ZIP_FAULTS as error:
            raise self.blame_member(name, error) from None


def _find_relationships(name: str) -> str:
    """Return the member with the relationships of a part."""
    folder, file = posixpath.split(name)
    return posixpath.join(folder, "_rels", f"{file}.rels")


def resolve_member(folder: str, target: str) -> str:
    """Return the name of the member to which a relative reference in a folder leads.

    >>> resolve_member("ppt/slides", "../notes/n%201.xml#a"), resolve_member("word", "/x.xml")
    ('ppt/notes/n 1.xml', 'x.xml')
    """
    path = unquote(target.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", folder, path)).lstrip("/")


@contextmanager
def open_package(source: Source) -> Iterator[ZipPackage]:
    """Open a package. Raises Undecodable if it is not a ZIP file."""
    with source.open_file() as file:
        try:
            archive = zipfile.ZipFile(file)
        except (*ZIP_FAULTS, OSError) as error:
            raise source.quote_decoder("zipfile", error) from None
        with archive:
            yield ZipPackage(source, archive)
