"""Composing: a document that cites parts of others gets their text, and becomes a composite.

How it works: `compose_document` reads the elements that cite something. An empty one gets the text
of the part, under the full name of the version that it has now; a filled one is compared. Beside
each stand the identifier, the date and the digest of the part. An include of XML is replaced by its
content, as XInclude says, also within what was included. In the end, every piece is checked in the
result, as a citation is.

What must stay true: nothing is minted unless every piece is verbatim, or shows the part itself; the
depth of includes, the number of pieces and the length of the result are bounded.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import NamedTuple

from perdure.errors import PerdureError
from perdure.errors.composing import (
    CompositeEmpty,
    CompositeMalformed,
    CompositePiecesTooMany,
    CompositeTooLong,
    CompositeTypeUnknown,
    IncludeNotXml,
    IncludesTooDeep,
    IncludeUnclear,
    PieceNotHeld,
    PieceNotVerbatim,
    PieceUnnamed,
    PieceUnreadable,
    PieceUnusable,
    PieceVersionOpen,
)
from perdure.extractors.port import Source
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.model import composite_marks, composites
from perdure.model.assertions import find_identifier
from perdure.model.commands import Mint, Receipt
from perdure.model.composites import Piece
from perdure.model.queries import Choices, Fetch, Query, Reader
from perdure.model.records import LOCAL
from perdure.model.verdicts import Verdict
from perdure.reading.composites import CompositeText
from perdure.reading.targets import spell_path
from perdure.registry import Registry
from perdure.storage.spool import make_content

DEEPEST = 8
"""Includes inside each other."""
_READER = Reader(name=LOCAL)
_FORMATS = {"text/html": "html"}
_QUOTED = (Verdict.VERBATIM, Verdict.TRANSCLUDED)


class ComposedPiece(NamedTuple):
    """A piece of a composite, checked."""

    identifier: Identifier
    """With format, version and part."""
    origin: int
    """The place of its content, as the position of a citation."""
    verdict: str


class ComposedDocument(NamedTuple):
    """A composite that is not minted yet."""

    data: bytes
    media_type: str
    pieces: tuple[ComposedPiece, ...]


class _Passage(NamedTuple):
    """The part that a piece cites, as it is now."""

    identifier: Identifier
    date: str
    sha512: str
    text: str
    media_type: str


class _Edit(NamedTuple):
    start: int
    stop: int
    text: str


def compose_document(registry: Registry, data: bytes, media_type: str) -> ComposedDocument:
    """Fill in and check the pieces of a document.

    Raises CompositeMalformed, PieceUnusable or TooLarge.
    """
    if len(data) > composites.LARGEST:
        raise CompositeTooLong(limit=composites.LARGEST)
    essence = strip_parameters(media_type)
    if essence in composite_marks.HTML:
        text = _compose_html(registry, composites.decode_source(data))
    elif essence in composite_marks.XML:
        text = _compose_xml(registry, composites.decode_source(data))
    else:
        raise CompositeTypeUnknown(media_type=essence)
    made = text.encode()
    if len(made) > composites.LARGEST:
        raise CompositeTooLong(limit=composites.LARGEST)
    pieces = _check_pieces(registry, made, essence)
    if not pieces:
        raise CompositeEmpty()
    return ComposedDocument(made, essence, tuple(pieces))


def mint_composite(
    registry: Registry, composed: ComposedDocument, series: str, *, title: str = "", by: str = LOCAL
) -> Receipt:
    """Mint a composite. The registrar reads from its bytes what its pieces are from."""
    content = make_content(
        composed.data,
        format=_FORMATS.get(composed.media_type, "xml"),
        media_type=composed.media_type,
        charset="utf-8",
    )
    return registry.door.execute_command(
        Mint(
            authority=series,
            contents=(content,),
            metadata={"title": title} if title else {},
            by=by,
        )
    )


# the parts
# ---------


def _read_passage(registry: Registry, cited: str, line: int, *, with_text: bool) -> _Passage:
    """Read what a piece cites. Raises PieceUnusable."""
    try:
        # an address in `href` of an include must not contain `#`
        name = find_identifier(cited.replace("%23", "#", 1))
        if name is None:
            raise PieceUnnamed(cited=cited, line=line)
        resolved = registry.reading.resolve(Query(identifier=name, reader=_READER))
        step = resolved.require_step()
        if isinstance(step, Choices) and step.fetches:
            names = tuple(str(one.identifier) for one in step.fetches[:8])
            raise PieceVersionOpen(cited=cited, line=line, names=names)
        if not isinstance(step, Fetch):
            raise PieceNotHeld(cited=cited, line=line)
        content = registry.signed_contents.measure_content(name, None, _READER)
        text = registry.documents.read_text(resolved, step) if with_text else ""
    except PieceUnusable:
        raise
    except PerdureError as error:
        raise PieceUnreadable(cited=cited, line=line, fault=str(error)) from error
    version = resolved.known.version(int(step.identifier.version or 1))
    return _Passage(
        identifier=content.identifier,
        date=version.at[:10] if version is not None else "",
        sha512=content.sha512,
        text=text,
        media_type=step.representation.media_type,
    )


# HTML
# ----


def _compose_html(registry: Registry, text: str) -> str:
    pieces = composites.read_html(text)
    _check_count(len(pieces))
    edits: list[_Edit] = []
    for piece in pieces:
        line = composites.find_line(text, piece.tag)
        is_quote = piece.element in ("blockquote", "q")
        is_empty = is_quote and not text[piece.start : piece.stop].strip()
        found = _read_passage(registry, piece.cited, line, with_text=is_empty)
        edits += _edit_html(registry, text, piece, found, is_empty=is_empty)
    if composite_marks.HTML_MARK not in text[: composite_marks.MARKED]:
        place = _find_after_doctype(text)
        edits.append(_Edit(place, place, composite_marks.HTML_MARK + "\n"))
    return _apply_edits(text, edits)


def _edit_html(
    registry: Registry, text: str, piece: Piece, found: _Passage, *, is_empty: bool
) -> list[_Edit]:
    name = str(found.identifier)
    source = f"{name}, {found.date}, sha512:{found.sha512}"
    address = f"{registry.settings.base_url}/{spell_path(found.identifier)}"
    if piece.element not in ("blockquote", "q"):
        tag = _write_tag(piece, {"src": address, "data-source": source})
        return [_Edit(piece.tag, piece.stop, tag)]
    changed = {"cite": name}
    if piece.element == "q":
        changed["title"] = source
    if (
        is_empty
        and ("\n" in found.text or "  " in found.text)
        and "style" not in dict(piece.attributes)
    ):
        changed["style"] = "white-space: pre-wrap"
    edits = [_Edit(piece.tag, piece.start, _write_tag(piece, changed))]
    if is_empty:
        edits.append(_Edit(piece.start, piece.stop, escape(found.text, quote=False)))
    if piece.element == "blockquote":
        edits += _write_caption(text, piece, found, address)
    return edits


def _write_caption(text: str, piece: Piece, found: _Passage, address: str) -> list[_Edit]:
    """Write the source of a quotation around it, unless it is there already."""
    end = text.find(">", piece.stop) + 1 or len(text)
    if text[end:].lstrip().startswith("<figcaption"):
        return []
    name = escape(str(found.identifier))
    caption = (
        f'\n<figcaption><cite><a href="{escape(address)}">{name}</a></cite>,'
        f' <time datetime="{found.date}">{found.date}</time>,'
        f" <code>sha512:{found.sha512}</code></figcaption>\n</figure>"
    )
    return [_Edit(piece.tag, piece.tag, "<figure>\n"), _Edit(end, end, caption)]


def _write_tag(piece: Piece, changed: dict[str, str]) -> str:
    attributes = {**dict(piece.attributes), **changed}
    written = "".join(
        f" {name}" if value is None else f' {name}="{escape(value)}"'
        for name, value in attributes.items()
    )
    return f"<{piece.element}{written}>"


def _find_after_doctype(text: str) -> int:
    stripped = text.lstrip()
    if stripped[:9].lower() != "<!doctype":
        return 0
    return text.index(">") + 1 if ">" in text else 0


def _apply_edits(text: str, edits: list[_Edit]) -> str:
    """Apply edits in the order of their places; of several at one place, the earlier first."""
    made: list[str] = []
    last = 0
    for edit in sorted(edits, key=lambda one: (one.start, one.stop)):
        if edit.start < last:
            continue  # within a piece that was replaced
        made += (text[last : edit.start], edit.text)
        last = edit.stop
    return "".join((*made, text[last:]))


# XML
# ---


def _compose_xml(registry: Registry, text: str) -> str:
    filled = _fill_includes(registry, text, 0, _Budget())
    if composite_marks.XML_MARK not in filled[: composite_marks.MARKED]:
        at = filled.index("?>") + 2 if filled.startswith("<?xml ") else 0
        filled = f"{filled[:at]}\n{composite_marks.XML_MARK}{filled[at:]}"
    return filled


class _Budget:
    """Counts pieces and bytes over all depths."""

    def __init__(self) -> None:
        self.pieces = 0
        self.length = 0

    def spend(self, length: int) -> None:
        self.pieces += 1
        self.length += length
        _check_count(self.pieces)
        if self.length > composites.LARGEST:
            raise CompositeTooLong(limit=composites.LARGEST)


def _fill_includes(registry: Registry, text: str, depth: int, budget: _Budget) -> str:
    """Replace the includes of a document by their content. Raises as `compose_document`."""
    data = text.encode()
    edits: list[_Edit] = []
    for begin, end, attributes in composites.list_includes(data):
        href = attributes.get("href", "")
        line = data.count(b"\n", 0, begin) + 1
        if depth == DEEPEST:
            raise IncludesTooDeep(cited=href, line=line, limit=DEEPEST)
        if not href or "xpointer" in attributes:
            raise IncludeUnclear(cited=href, line=line)
        as_text = attributes.get("parse", "xml") == "text"
        found = _read_passage(registry, href, line, with_text=as_text)
        if as_text:
            content = escape(found.text, quote=False)
        else:
            content = _read_element(registry, found, href, line)
        budget.spend(len(content.encode()))
        if not as_text:
            content = _fill_includes(registry, content, depth + 1, budget)
        head = (
            f'<?perdure piece="{escape(str(found.identifier))}" date="{found.date}"'
            f' sha512="{found.sha512}"?>'
        )
        edits.append(_Edit(begin, end, f"{head}{content}<?perdure end?>"))
    made: list[bytes] = []
    last = 0
    for edit in edits:
        made += (data[last : edit.start], edit.text.encode())
        last = edit.stop
    return b"".join((*made, data[last:])).decode()


def _read_element(registry: Registry, found: _Passage, href: str, line: int) -> str:
    """Read the bytes of a part as XML. Raises PieceUnusable."""
    try:
        data = b"".join(registry.signed_contents.open_content(found.identifier, _READER))
        text = composites.decode_source(data)
        events = list(composites.walk_xml(text.encode()))
    except CompositeMalformed as error:
        raise IncludeNotXml(cited=href, line=line, fault=error.reason) from error
    except PerdureError as error:
        raise PieceUnreadable(cited=href, line=line, fault=str(error)) from error
    first = next(one.place for one in events if one.kind == "start")
    return text.encode()[first:].decode().rstrip()


# checking
# --------


def _check_count(count: int) -> None:
    if count > composites.MOST:
        raise CompositePiecesTooMany(limit=composites.MOST)


def _check_pieces(registry: Registry, data: bytes, essence: str) -> list[ComposedPiece]:
    """Check every piece of a composite that is not stored yet. Raises PieceNotVerbatim."""
    found: list[ComposedPiece] = []
    with _open_unstored(data, essence) as source:
        document = CompositeText.read(source, data)
        for piece in document.pieces:
            identifier = piece.identifier
            if identifier is None:
                continue
            verdict = registry.provenance.check_piece(document, piece, identifier, _READER)
            if verdict not in _QUOTED:
                raise PieceNotVerbatim(
                    cited=str(identifier),
                    line=composites.find_line(document.text, piece.tag),
                    verdict=str(verdict),
                )
            origin = composites.count_canonical(document.text, piece.start)
            found.append(ComposedPiece(identifier, origin, str(verdict)))
    return found


@contextmanager
def _open_unstored(data: bytes, essence: str) -> Iterator[Source]:
    """A document that is not stored, as a source of text."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "composite")
        path.write_bytes(data)
        yield Source(
            path=path,
            offset=0,
            length=len(data),
            media_type=essence,
            charset="utf-8",
            sha512=hashlib.sha512(data).hexdigest(),
            name="the composite",
        )
