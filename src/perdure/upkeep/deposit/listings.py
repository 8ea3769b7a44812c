"""Directories that describe themselves: BagIt, METS and EAD.

How it works: a bag lists digests of its payload, a METS document its files with labels, an EAD
finding aid the digital objects of its components with titles and dates. All become a `Listing`:
what it is about, and what it says of each file. XML is read by expat without a tree; entities are
not declared, and nothing external is read.

Specifications: RFC 8493 (BagIt), METS 1.12, EAD 2002 and EAD3.

What must stay true: a listing adds only to files that exist below its own directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote_to_bytes
from xml.parsers import expat

from perdure.upkeep.deposit.dates import read_date
from perdure.upkeep.deposit.spelling import leads_outside

LARGEST = 64 << 20
"""Bytes of a listing that is read."""
BAGIT = b"bagit.txt"
_MANIFEST = re.compile(rb"manifest-(sha512|sha256|sha1|md5)\.txt")
_LINE = re.compile(rb"([0-9a-fA-F]{32,128})[ \t]+\*?(.+)")
_CHECKSUMS = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-512": "sha512"}
_STRONGER = ("sha512", "sha256", "sha1", "md5")


class ListedFile(NamedTuple):
    """The statements of a listing about one file."""

    title: str = ""
    date: str = ""
    media_type: str = ""
    algorithm: str = ""
    digest: str = ""


@dataclass(slots=True)
class Listing:
    """The statements of a listing about a directory."""

    kind: str
    """`BagIt`, `METS` or `EAD`."""
    title: str = ""
    creator: str = ""
    date: str = ""
    files: dict[bytes, ListedFile] = field(default_factory=dict)
    """By the path below the directory of the listing."""
    has_all: bool = False
    """Every file below the directory belongs to it, not only those that are listed."""
    problems: list[str] = field(default_factory=list)
    elsewhere: dict[bytes, None] = field(default_factory=dict)
    """References to files that are not below the directory, as they are written."""


# BagIt
# -----


def read_bag(files: dict[bytes, bytes]) -> Listing:
    """Read the tag files of a bag, by their names."""
    found = Listing("BagIt", has_all=True)
    information = dict(_read_tags(files.get(b"bag-info.txt", b"")))
    found.title = information.get("external-identifier", "") or information.get("title", "")
    found.title = information.get("external-description", "") or found.title
    found.creator = information.get("source-organization", "")
    found.date = read_date(information.get("bagging-date", "")) or ""
    for algorithm in _STRONGER:
        manifest = files.get(f"manifest-{algorithm}.txt".encode(), b"")
        for line in manifest.splitlines():
            listed = _LINE.fullmatch(line.strip())
            if listed is None:
                continue
            path = listed[2].replace(b"%0A", b"\n").replace(b"%0D", b"\r").replace(b"%25", b"%")
            path = path.removeprefix(b"./")
            if leads_outside(path):
                found.elsewhere[path] = None
            else:
                one = ListedFile(algorithm=algorithm, digest=listed[1].decode().lower())
                found.files.setdefault(path, one)
    if files.get(b"fetch.txt"):
        found.problems.append("fetch.txt names files elsewhere, which are not fetched")
    return found


def is_tag_file(name: bytes) -> bool:
    """Return True if a file of this name, beside bagit.txt, is read with the bag."""
    tags = (BAGIT, b"bag-info.txt", b"fetch.txt")
    return name in tags or _MANIFEST.fullmatch(name) is not None


def _read_tags(data: bytes) -> Iterator[tuple[str, str]]:
    last = ""
    value: list[str] = []
    for line in data.decode("utf-8", "replace").splitlines():
        if line[:1] in " \t" and last:
            value.append(line.strip())
            continue
        if last:
            yield last, " ".join(value)
        name, colon, rest = line.partition(":")
        last, value = (name.strip().lower(), [rest.strip()]) if colon else ("", [])
    if last:
        yield last, " ".join(value)


# METS and EAD
# ------------

_XLINK = "http://www.w3.org/1999/xlink "
_INLINE = frozenset(("emph", "title", "lb", "persname", "corpname", "geogname", "date"))
"""Elements inside the text of a title (EAD)."""
_TITLES = ("http://purl.org/dc/elements/1.1/ title", "http://www.loc.gov/mods/v3 title")


def looks_like_listing(head: bytes) -> bool:
    """Return True if an XML file begins like METS or EAD."""
    start = head[:4096]
    return b"<ead" in start or b":mets" in start or b"<mets" in start


def read_xml_listing(data: bytes) -> Listing | None:
    """Read a METS or EAD document; None if it is neither, or not well-formed."""
    reader = _XmlReader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start_element
    parser.EndElementHandler = reader.end_element
    parser.CharacterDataHandler = reader.add_text
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError):
        return None
    return reader.listing


def _refuse_entity(*_: object) -> None:
    raise ValueError("an entity is declared")


class _XmlReader:
    """Collects what a METS or EAD document says, element by element."""

    def __init__(self) -> None:
        self.listing: Listing | None = None
        self._open: list[str] = []
        self._text: list[str] = []
        self._types: list[tuple[str, str, str]] = []
        self._labels: dict[str, str] = {}
        self._paths: dict[str, bytes] = {}
        self._divisions: list[str] = []
        self._components: list[dict[str, str]] = []

    def start_element(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        if not self._open:
            kind = {"mets": "METS", "ead": "EAD"}.get(local)
            if kind is None:
                raise ValueError("neither METS nor EAD")
            self.listing = Listing(kind, title=attributes.get("LABEL", ""))
        self._open.append(local)
        if local not in _INLINE:
            self._text = []
        if self.listing is not None and self.listing.kind == "METS":
            self._start_mets(local, attributes)
        else:
            self._start_ead(local, attributes)

    def add_text(self, piece: str) -> None:
        self._text.append(piece)

    def end_element(self, name: str) -> None:
        local = name.rpartition(" ")[2]
        text = " ".join("".join(self._text).split())
        self._open.pop()
        if self.listing is None:
            return
        if self.listing.kind == "METS":
            if name in _TITLES and text and not self.listing.title:
                self.listing.title = text
            if local == "div":
                self._divisions.pop()
            elif local == "mets":
                self._end_mets()
        else:
            self._end_ead(local, text)
        if local not in _INLINE:
            self._text = []

    def _read_reference(self, href: str) -> bytes:
        """The path of a reference; empty, and noted, if it leads elsewhere."""
        path = _read_href(href)
        if href and not path and self.listing is not None:
            self.listing.elsewhere[href.encode("utf-8", "replace")] = None
        return path

    # METS

    def _start_mets(self, local: str, attributes: dict[str, str]) -> None:
        if local == "file":
            kind = attributes.get("MIMETYPE", "")
            algorithm = _CHECKSUMS.get(attributes.get("CHECKSUMTYPE", "").upper(), "")
            self._types.append((kind, algorithm, attributes.get("CHECKSUM", "").lower()))
            self._open[-1] = f"file {attributes.get('ID', '')}"
        elif local == "FLocat" and self.listing is not None and self._types:
            path = self._read_reference(attributes.get(f"{_XLINK}href", ""))
            kind, algorithm, digest = self._types[-1]
            if path:
                identifier = next(
                    (one[5:] for one in reversed(self._open) if one.startswith("file ")), ""
                )
                self._paths[identifier] = path
                one = ListedFile("", "", kind, algorithm if digest else "", digest)
                self.listing.files.setdefault(path, one)
        elif local == "div":
            self._divisions.append(attributes.get("LABEL", ""))
        elif local == "fptr":
            label = next((one for one in reversed(self._divisions) if one), "")
            self._labels.setdefault(attributes.get("FILEID", ""), label)

    def _end_mets(self) -> None:
        if self.listing is None:
            return
        for identifier, label in self._labels.items():
            path = self._paths.get(identifier)
            if path is not None and label:
                self.listing.files[path] = self.listing.files[path]._replace(title=label)

    # EAD

    def _start_ead(self, local: str, attributes: dict[str, str]) -> None:
        if local == "c" or re.fullmatch("c[01][0-9]", local) or local == "archdesc":
            self._components.append({})
        elif local in ("dao", "daoloc") and self._components:
            href = attributes.get("href") or attributes.get(f"{_XLINK}href", "")
            path = self._read_reference(href)
            if path:
                self._components[-1].setdefault("paths", "")
                self._components[-1]["paths"] += path.decode("latin-1") + "\0"
        elif local == "unitdate" and self._components:
            normal = attributes.get("normal", attributes.get("standarddate", ""))
            self._components[-1].setdefault("normal", normal)

    def _end_ead(self, local: str, text: str) -> None:
        if self.listing is None:
            return
        if local == "titleproper" and not self.listing.title:
            self.listing.title = text
        if not self._components:
            return
        here = self._components[-1]
        if local == "unittitle":
            here.setdefault("title", text)
        elif local == "unitdate":
            here.setdefault("date", text)
        elif local == "c" or re.fullmatch("c[01][0-9]", local) or local == "archdesc":
            self._components.pop()
            date = read_date(here.get("normal", "")) or read_date(here.get("date", "")) or ""
            if local == "archdesc" and here.get("title"):
                self.listing.title = here["title"]
            for path in here.get("paths", "").split("\0"):
                if path:
                    one = ListedFile(here.get("title", ""), date)
                    self.listing.files.setdefault(path.encode("latin-1"), one)


def _read_href(href: str) -> bytes:
    """The path of a reference to a file beside the listing; empty if it leads elsewhere."""
    if href.startswith("file:///") or ":" in href.partition("/")[0]:
        return b""
    path = unquote_to_bytes(href.removeprefix("./").partition("#")[0])
    return b"" if leads_outside(path) else path
