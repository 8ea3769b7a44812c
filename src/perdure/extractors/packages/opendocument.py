"""The text of OpenDocument, and its links: texts, spreadsheets, presentations and drawings.

Specification: OpenDocument 1.3 (ISO/IEC 26300), part 2 section 2 (packages) and part 3 (schema):
sections 5.1 (paragraphs), 6.1 (white space), 6.3 (notes), 9.1 (tables), 10.2 (pages).

How it works: `content.xml` is read in its order. A note, a comment and a text box follow the
paragraph to which they belong. A page of a presentation or drawing ends with a form feed. The rows
of a spreadsheet are lines with tabs between the cells, after a line with the name of the sheet.
Headers and footers of a text come last. Text that was deleted but is still recorded is left out.

What must stay true: it runs confined (`perdure.extractors.packages.package`).
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.errors.damage import PackageEncrypted
from perdure.extractors.mapped_text import TextBuilding
from perdure.extractors.packages.extractor import PackageExtractor
from perdure.extractors.packages.package import Attributes, End, Handlers, Start, ZipPackage
from perdure.extractors.packages.paragraphs import Paragraphs
from perdure.extractors.port import ListedLink, Source

_KINDS = ("text", "spreadsheet", "presentation", "graphics")
_PREFIX = "application/vnd.oasis.opendocument."
MEDIA_TYPES = (
    *(f"{_PREFIX}{kind}{template}" for kind in _KINDS for template in ("", "-template")),
    f"{_PREFIX}text-master",
)
_CONTENT = "content.xml"
_STYLES = "styles.xml"
_MANIFEST = "META-INF/manifest.xml"
_MOST_SPACES = 1024  # of one element; a line that is set with more is made of something else
_HREF = "http://www.w3.org/1999/xlink href"
_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"


def _name(space: str, local: str) -> str:
    return f"{_OASIS}{space}:1.0 {local}"


_PARAGRAPHS = (_name("text", "p"), _name("text", "h"))
_SKIPPED = (
    _name("text", "tracked-changes"),
    _name("text", "note-citation"),
    _name("text", "ruby-text"),
)
_MARGINS = tuple(
    _name("style", local)
    for local in (
        "header", "header-left", "header-first", "footer", "footer-left", "footer-first"
    )
)  # fmt: skip


def read_opendocument(source: Source, package: ZipPackage, building: TextBuilding) -> None:
    """Read the text of a document. Raises Undecodable or OverBudget."""
    _refuse_encryption(source, package)
    if source.essence.startswith(f"{_PREFIX}spreadsheet"):
        package.parse_member(_CONTENT, _read_sheets(building))
        return
    package.parse_member(_CONTENT, _read_content(building))
    if source.essence.startswith(f"{_PREFIX}text") and package.has_member(_STYLES):
        package.parse_member(_STYLES, _read_margins(building))


def list_opendocument_links(source: Source, package: ZipPackage) -> Iterator[ListedLink]:
    """Yield the links of a document: all `xlink:href`. Raises Undecodable or OverBudget."""
    _refuse_encryption(source, package)
    found: list[ListedLink] = []

    def add_link(attributes: Attributes) -> None:
        address = attributes.get(_HREF, "")
        if ":" in address:
            found.append(ListedLink("xlink", address))

    for member in (_CONTENT, _STYLES):
        if package.has_member(member):
            package.parse_member(member, Handlers(_EveryElement(add_link)))
            yield from found
            found.clear()


class _EveryElement(dict[str, Start]):
    """One handler for all elements."""

    def __init__(self, start: Start) -> None:
        super().__init__()
        self._start = start

    def get(self, name: str, default: object = None) -> Start:
        return self._start


def _refuse_encryption(source: Source, package: ZipPackage) -> None:
    """Raise PackageEncrypted if a member is encrypted (part 2, section 3.4)."""

    def refuse(_: Attributes) -> None:
        raise PackageEncrypted(**source.subject)

    if package.has_member(_MANIFEST):
        package.parse_member(_MANIFEST, Handlers({_name("manifest", "encryption-data"): refuse}))


def _handle_paragraphs(paragraphs: Paragraphs) -> tuple[dict[str, Start], dict[str, End]]:
    """Return the handlers of paragraphs and of what may be in them."""

    def add(sign: str) -> Start:
        return lambda _: paragraphs.add_sign(sign)

    def add_spaces(attributes: Attributes) -> None:
        count = attributes.get(_name("text", "c"), "1")
        known = count.isascii() and count.isdecimal() and len(count) <= len(str(_MOST_SPACES))
        paragraphs.add_sign(" " * min(int(count) if known else 1, _MOST_SPACES))

    starts: dict[str, Start] = {
        _name("text", "s"): add_spaces,
        _name("text", "tab"): add("\t"),
        _name("text", "line-break"): add("\n"),
    }
    starts |= dict.fromkeys(_PARAGRAPHS, paragraphs.start_paragraph)
    ends: dict[str, End] = dict.fromkeys(_PARAGRAPHS, paragraphs.end_paragraph)
    starts |= dict.fromkeys(_SKIPPED, paragraphs.start_skipping)
    ends |= dict.fromkeys(_SKIPPED, paragraphs.end_skipping)
    return starts, ends


def _read_content(building: TextBuilding) -> Handlers:
    paragraphs = Paragraphs(building, collapsing=True)
    starts, ends = _handle_paragraphs(paragraphs)
    ends[_name("drawing", "page")] = lambda: building.add_text("\f")
    return Handlers(starts, ends, paragraphs.add_characters)


def _read_margins(building: TextBuilding) -> Handlers:
    """Return handlers that read only the headers and footers."""
    paragraphs = Paragraphs(building, collapsing=True)
    starts, ends = _handle_paragraphs(paragraphs)
    inside = 0

    def enter(_: Attributes) -> None:
        nonlocal inside
        inside += 1

    def leave() -> None:
        nonlocal inside
        inside -= 1

    def guard_start(start: Start) -> Start:
        return lambda attributes: start(attributes) if inside else None

    def guard_end(end: End) -> End:
        return lambda: end() if inside else None

    guarded: dict[str, Start] = {name: guard_start(start) for name, start in starts.items()}
    guarded |= dict.fromkeys(_MARGINS, enter)
    closing: dict[str, End] = {name: guard_end(end) for name, end in ends.items()}
    closing |= dict.fromkeys(_MARGINS, leave)
    return Handlers(guarded, closing, paragraphs.add_characters)


def _read_sheets(building: TextBuilding) -> Handlers:
    paragraphs = _Cells(building, collapsing=True)
    starts, ends = _handle_paragraphs(paragraphs)

    def start_sheet(attributes: Attributes) -> None:
        building.add_text(f"{attributes.get(_name('table', 'name'), '')}\n")

    starts[_name("table", "table")] = start_sheet
    ends[_name("table", "table-cell")] = paragraphs.end_cell
    ends[_name("table", "table-row")] = paragraphs.end_row
    ends[_name("table", "table")] = lambda: building.add_text("\n")
    return Handlers(starts, ends, paragraphs.add_characters)


class _Cells(Paragraphs):
    """The paragraphs of a spreadsheet: one cell after the other, in rows."""

    _row: list[str]
    _cell: list[str]

    def __init__(self, building: TextBuilding, *, collapsing: bool) -> None:
        super().__init__(building, collapsing=collapsing)
        self._row, self._cell = [], []

    def write_line(self, text: str) -> None:
        self._cell.append(text)

    def end_cell(self) -> None:
        self._row.append("\n".join(self._cell))
        self._cell = []

    def end_row(self) -> None:
        self.building.add_text("\t".join(self._row).rstrip("\t") + "\n")
        self._row = []


EXTRACTOR = PackageExtractor(
    MEDIA_TYPES, "opendocument-text-1", read_opendocument, list_opendocument_links
)
