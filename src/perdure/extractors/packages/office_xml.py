"""The text and links of Office Open XML: documents, workbooks, presentations (docx, xlsx, pptx).

Specification: ECMA-376 (ISO/IEC 29500), transitional and strict: part 1, sections 17 (documents),
18 (workbooks), 19 (presentations), 21.1 (text in drawings); part 3 (alternate content).

How it works: relationships lead from the package to its main part, and from there to the others.

* Document: the body; then footnotes, endnotes, comments, headers and footers. Text that was deleted
  or moved away but is still recorded is left out.
* Workbook: sheets in their order, each a line with its name and its rows, with tabs between the
  cells. A number or date is written as it is stored, because how it is shown is a style.
* Presentation: slides in their order, each with its notes, and a form feed after each.

What must stay true: it runs confined (`perdure.extractors.packages.package`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from perdure.extractors.mapped_text import TextBuilding
from perdure.extractors.packages.extractor import PackageExtractor
from perdure.extractors.packages.package import (
    Attributes,
    End,
    Handlers,
    Relationship,
    Start,
    ZipPackage,
)
from perdure.extractors.packages.paragraphs import Paragraphs
from perdure.extractors.port import ListedLink, Source

_PREFIX = "application/vnd.openxmlformats-officedocument."
DOCX = f"{_PREFIX}wordprocessingml.document"
XLSX = f"{_PREFIX}spreadsheetml.sheet"
_WORD = (
    DOCX,
    f"{_PREFIX}wordprocessingml.template",
    "application/vnd.ms-word.document.macroenabled.12",
    "application/vnd.ms-word.template.macroenabled.12",
)
_EXCEL = (
    XLSX,
    f"{_PREFIX}spreadsheetml.template",
    "application/vnd.ms-excel.sheet.macroenabled.12",
    "application/vnd.ms-excel.template.macroenabled.12",
)
_POWERPOINT = (
    f"{_PREFIX}presentationml.presentation",
    f"{_PREFIX}presentationml.slideshow",
    f"{_PREFIX}presentationml.template",
    "application/vnd.ms-powerpoint.presentation.macroenabled.12",
    "application/vnd.ms-powerpoint.slideshow.macroenabled.12",
    "application/vnd.ms-powerpoint.template.macroenabled.12",
)
_AFTER_BODY = ("footnotes", "endnotes", "comments", "header", "footer")
_TRANSITIONAL = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
_FALLBACK = "http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback"
_MATH = (f"{_TRANSITIONAL}officeDocument/2006/math t", f"{_STRICT}officeDocument/math t")


def _names(space: str, *locals: str) -> tuple[str, ...]:
    """Return the names of elements or attributes in both versions of a namespace."""
    spaces = (f"{_TRANSITIONAL}{space}/2006/", f"{_STRICT}{space}/")
    kind = "relationships" if space == "officeDocument" else "main"
    return tuple(f"{one}{kind} {local}" for one in spaces for local in locals)


_ID = _names("officeDocument", "id")
_INSTRUCTION = _names("wordprocessingml", "instr")
_HYPERLINK = re.compile(r'HYPERLINK[ (]{1,9}"([^"\n]{1,8192})"', re.IGNORECASE)
_HOW = {"hyperlink": "href", "image": "src", "audio": "src", "video": "src", "media": "src"}
"""How a document refers to the target of a relationship, by its kind."""


def read_office_xml(source: Source, package: ZipPackage, building: TextBuilding) -> None:
    """Read the text of a document. Raises Undecodable or OverBudget."""
    main = _find_main(package, source.essence)
    if source.essence in _WORD:
        _read_document(package, main, building)
    elif source.essence in _EXCEL:
        _read_workbook(package, main, building)
    else:
        _read_presentation(package, main, building)


# links
# -----


def list_office_links(source: Source, package: ZipPackage) -> Iterator[ListedLink]:
    """Yield the links of a document: relationships to what is outside it, and hyperlink fields and
    formulas (sections 17.16.5.25 and 18.17.7.149). Raises Undecodable or OverBudget.
    """
    main = _find_main(package, source.essence)
    related = package.list_relationships(main)
    notes = (
        _list_of_kind(package.list_relationships(one.member), "notesSlide")
        for one in related.values()
        if one.kind == "slide"
    )
    kinds = (*_AFTER_BODY, "worksheet", "slide")
    members = (one.member for one in related.values() if one.kind in kinds)
    for member in dict.fromkeys((main, *members, *chain.from_iterable(notes))):
        for kind, address in package.list_external(member):
            yield ListedLink(_HOW.get(kind, "data"), address)
        if source.essence in (*_WORD, *_EXCEL) and package.has_member(member):
            fields = _Fields()
            package.parse_member(member, fields.handlers)
            yield from (ListedLink("href", address) for address in fields.list_addresses())


class _Fields:
    """The instructions of fields and the formulas of cells, as they are written."""

    def __init__(self) -> None:
        self._written: list[str] = []
        self._is_inside = False
        starts: dict[str, Start] = {}
        ends: dict[str, End] = {}
        texts = (*_names("wordprocessingml", "instrText"), *_names("spreadsheetml", "f"))
        starts |= dict.fromkeys(texts, self._start_text)
        ends |= dict.fromkeys(texts, self._end_text)
        starts |= dict.fromkeys(_names("wordprocessingml", "fldSimple"), self._add_field)
        starts |= dict.fromkeys(_names("wordprocessingml", "fldChar"), self._add_border)
        ends |= dict.fromkeys(_names("spreadsheetml", "c"), lambda: self._written.append("\n"))
        self.handlers = Handlers(starts, ends, self._add_characters)

    def _start_text(self, _: Attributes) -> None:
        self._is_inside = True

    def _end_text(self) -> None:
        self._is_inside = False

    def _add_border(self, _: Attributes) -> None:
        self._written.append("\n")

    def _add_field(self, attributes: Attributes) -> None:
        stated = (attributes[name] for name in _INSTRUCTION if name in attributes)
        self._written.append(f"\n{next(stated, '')}\n")

    def _add_characters(self, text: str) -> None:
        if self._is_inside:
            self._written.append(text)

    def list_addresses(self) -> Iterator[str]:
        """Yield the addresses in hyperlinks."""
        for found in _HYPERLINK.finditer("".join(self._written)):
            yield found[1]


def _find_main(package: ZipPackage, essence: str) -> str:
    """Return the main part (ECMA-376 part 1, section 9.1.2), or the name that programs give it."""
    found = _list_of_kind(package.list_relationships(""), "officeDocument")
    if found:
        return found[0]
    if essence in _WORD:
        return "word/document.xml"
    return "xl/workbook.xml" if essence in _EXCEL else "ppt/presentation.xml"


def _list_of_kind(relationships: dict[str, Relationship], kind: str) -> list[str]:
    return [one.member for one in relationships.values() if one.kind == kind]


def _find_ids(
    package: ZipPackage, main: str, elements: tuple[str, ...]
) -> list[tuple[Attributes, str]]:
    """Return the attributes of elements of the main part, each with the member of its ID."""
    relationships = package.list_relationships(main)
    found: list[Attributes] = []
    package.parse_member(main, Handlers(dict.fromkeys(elements, found.append)))
    pairs = []
    for attributes in found:
        ids = (attributes[name] for name in _ID if name in attributes)
        related = relationships.get(next(ids, ""))
        if related is not None:
            pairs.append((attributes, related.member))
    return pairs


# documents
# ---------


def _read_document(package: ZipPackage, main: str, building: TextBuilding) -> None:
    relationships = package.list_relationships(main)
    after = (_list_of_kind(relationships, kind) for kind in _AFTER_BODY)
    for member in (main, *dict.fromkeys(chain.from_iterable(after))):
        package.parse_member(member, _handle_document(building))


def _handle_document(building: TextBuilding) -> Handlers:
    paragraphs = Paragraphs(building)
    shown = _Shown(paragraphs)
    starts: dict[str, Start] = {}
    ends: dict[str, End] = {}
    for local, sign in (("tab", "\t"), ("br", "\n"), ("cr", "\n"), ("noBreakHyphen", "\u2011")):
        starts |= dict.fromkeys(_names("wordprocessingml", local), _add(paragraphs, sign))
    # a tab of the same name is a tab stop in the properties of a paragraph
    skipped = (*_names("wordprocessingml", "del", "moveFrom", "rt", "pPr"), _FALLBACK)
    starts |= dict.fromkeys(skipped, paragraphs.start_skipping)
    ends |= dict.fromkeys(skipped, paragraphs.end_skipping)
    for name in _names("wordprocessingml", "p"):
        starts[name], ends[name] = paragraphs.start_paragraph, paragraphs.end_paragraph
    written = (*_names("wordprocessingml", "t"), *_MATH)
    starts |= dict.fromkeys(written, shown.start)
    ends |= dict.fromkeys(written, shown.end)
    return Handlers(starts, ends, shown.add_characters)


class _Shown:
    """Characters inside the elements that hold text; those between other tags are layout."""

    def __init__(self, paragraphs: Paragraphs) -> None:
        self._paragraphs = paragraphs
        self._inside = False

    def start(self, _: Attributes) -> None:
        self._inside = True

    def end(self) -> None:
        self._inside = False

    def add_characters(self, text: str) -> None:
        if self._inside:
            self._paragraphs.add_characters(text)


def _add(paragraphs: Paragraphs, sign: str) -> Start:
    return lambda _: paragraphs.add_sign(sign)


# workbooks
# ---------


def _read_workbook(package: ZipPackage, main: str, building: TextBuilding) -> None:
    strings: list[str] = []
    for member in _list_of_kind(package.list_relationships(main), "sharedStrings"):
        package.parse_member(member, _Strings(strings).handlers)
    for attributes, member in _find_ids(package, main, _names("spreadsheetml", "sheet")):
        building.add_text(f"{attributes.get('name', '')}\n")
        package.parse_member(member, _Rows(building, strings).handlers)
        building.add_text("\n")


class _Strings:
    """The strings that cells share (section 18.4), without phonetic hints."""

    def __init__(self, strings: list[str]) -> None:
        self._strings = strings
        self._pieces: list[str] = []
        self._inside = self._phonetic = False
        starts: dict[str, Start] = {}
        ends: dict[str, End] = {}
        starts |= dict.fromkeys(_names("spreadsheetml", "t"), self._start_text)
        ends |= dict.fromkeys(_names("spreadsheetml", "t"), self._end_text)
        starts |= dict.fromkeys(_names("spreadsheetml", "rPh"), self._start_phonetic)
        ends |= dict.fromkeys(_names("spreadsheetml", "rPh"), self._end_phonetic)
        ends |= dict.fromkeys(_names("spreadsheetml", "si"), self._end_string)
        self.handlers = Handlers(starts, ends, self._add_characters)

    def _start_text(self, _: Attributes) -> None:
        self._inside = not self._phonetic

    def _end_text(self) -> None:
        self._inside = False

    def _start_phonetic(self, _: Attributes) -> None:
        self._phonetic = True

    def _end_phonetic(self) -> None:
        self._phonetic = False

    def _end_string(self) -> None:
        self._strings.append("".join(self._pieces))
        self._pieces = []

    def _add_characters(self, text: str) -> None:
        if self._inside:
            self._pieces.append(text)


class _Rows:
    """The rows of a sheet (section 18.3.1)."""

    def __init__(self, building: TextBuilding, strings: list[str]) -> None:
        self._building = building
        self._strings = strings
        self._row: list[str] = []
        self._kind = ""
        self._pieces: list[str] = []
        self._inside = False
        starts: dict[str, Start] = {}
        ends: dict[str, End] = {}
        values = _names("spreadsheetml", "v", "t")
        starts |= dict.fromkeys(_names("spreadsheetml", "c"), self._start_cell)
        starts |= dict.fromkeys(values, self._start_value)
        ends |= dict.fromkeys(values, self._end_value)
        ends |= dict.fromkeys(_names("spreadsheetml", "c"), self._end_cell)
        ends |= dict.fromkeys(_names("spreadsheetml", "row"), self._end_row)
        self.handlers = Handlers(starts, ends, self._add_characters)

    def _start_cell(self, attributes: Attributes) -> None:
        self._kind = attributes.get("t", "n")

    def _start_value(self, _: Attributes) -> None:
        self._inside = True

    def _end_value(self) -> None:
        self._inside = False

    def _end_cell(self) -> None:
        value = "".join(self._pieces)
        self._pieces = []
        match self._kind:
            case "s":
                number = int(value) if value.isascii() and value.isdecimal() else -1
                value = self._strings[number] if 0 <= number < len(self._strings) else ""
            case "b":
                value = {"0": "FALSE", "1": "TRUE"}.get(value, value)
        self._row.append(value)

    def _end_row(self) -> None:
        for number, value in enumerate(self._row):
            self._building.add_text(f"\t{value}" if number else value)
        self._building.add_text("\n")
        self._row = []

    def _add_characters(self, text: str) -> None:
        if self._inside:
            self._pieces.append(text)


# presentations
# -------------


def _read_presentation(package: ZipPackage, main: str, building: TextBuilding) -> None:
    for _, slide in _find_ids(package, main, _names("presentationml", "sldId")):
        notes = _list_of_kind(package.list_relationships(slide), "notesSlide")
        for member in (slide, *notes):
            package.parse_member(member, _handle_drawing(building))
        building.add_text("\f")


def _handle_drawing(building: TextBuilding) -> Handlers:
    paragraphs = Paragraphs(building)
    shown = _Shown(paragraphs)
    starts: dict[str, Start] = dict.fromkeys(_names("drawingml", "br"), _add(paragraphs, "\n"))
    starts |= dict.fromkeys(_names("drawingml", "p"), paragraphs.start_paragraph)
    starts |= dict.fromkeys(_names("drawingml", "t"), shown.start)
    ends: dict[str, End] = dict.fromkeys(_names("drawingml", "p"), paragraphs.end_paragraph)
    ends |= dict.fromkeys(_names("drawingml", "t"), shown.end)
    starts[_FALLBACK], ends[_FALLBACK] = paragraphs.start_skipping, paragraphs.end_skipping
    return Handlers(starts, ends, shown.add_characters)


EXTRACTOR = PackageExtractor(
    (*_WORD, *_EXCEL, *_POWERPOINT), "office-xml-text-1", read_office_xml, list_office_links
)
