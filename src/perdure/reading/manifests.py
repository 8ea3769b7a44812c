"""IIIF manifests: the pictures, sounds and films of a document, for viewers of other programs.

Specification: IIIF Presentation API 3.0. A composite, a conjunction, or one picture, sound or film
has a manifest. It has a canvas for each piece that can be seen or heard, in their order. The id of
a canvas is the address of the citation that names this appearance of the part. The metadata list
all pieces, texts and withdrawn ones too, each with its source, date, digest and verdict.

What must stay true: a manifest shows nothing that the reader may not read. Sizes are those of the
parts as they are cut, never guessed: a piece without a known size has no canvas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from perdure.errors import PerdureError
from perdure.errors.composing import ManifestEmpty
from perdure.extractors.port import Extent, Source, iterate_body
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier, parse
from perdure.model.queries import Fetch, Query, Reader
from perdure.parts import Crop, Information, Interval, Rect, Selector
from perdure.reading.composites import PieceReport, Provenance
from perdure.reading.documents import Documents
from perdure.reading.extraction import PartExtraction
from perdure.reading.resolve import ReadDoor
from perdure.reading.targets import append_question, spell_path

CONTEXT = "http://iiif.io/api/presentation/3/context.json"
MEDIA_TYPE = f'application/ld+json;profile="{CONTEXT}"'
_KINDS = {"image": "Image", "audio": "Sound", "video": "Video"}
_GONE = ("gone", "closed")
_PIXELS = re.compile(r"\((\d+),(\d+)\)$", re.ASCII)
_ANNOTATIONS = "application/ld+json"


class CanvasSize(NamedTuple):
    """The extent of a picture, a sound or a film; None for what it does not have."""

    width: int | None = None
    """Pixels."""
    height: int | None = None
    duration: float | None = None
    """Seconds."""

    def describe(self) -> dict[str, Any]:
        """Return the members of a canvas or of a body."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class _Shown(NamedTuple):
    """A piece that can be seen or heard."""

    report: PieceReport
    kind: str
    size: CanvasSize


class Manifests:
    """The manifests of the documents of a registry."""

    def __init__(
        self, door: ReadDoor, documents: Documents, parts: PartExtraction, provenance: Provenance
    ) -> None:
        self._door = door
        self._documents = documents
        self._parts = parts
        self._provenance = provenance

    def make_manifest(self, step: Fetch, base: str, title: str, reader: Reader) -> dict[str, Any]:
        """Return the manifest of a document, with addresses at the resolver `base`.

        Raises ManifestEmpty if nothing in it can be seen or heard.
        """
        name = step.identifier.whole
        pieces = self._provenance.read_pieces(step, reader) or [_report_whole(step)]
        found = (self._find_shown(piece, reader) for piece in pieces)
        shown = [one for one in found if one is not None]
        if not shown:
            raise ManifestEmpty(identifier=str(name))
        address = f"{base}/{spell_path(name)}"
        manifest = append_question(address, "manifest")
        described = [one for one in pieces if one.element]
        return {
            "@context": CONTEXT,
            "id": manifest,
            "type": "Manifest",
            "label": {"none": [title or str(name)]},
            **({"metadata": list(_describe_pieces(described, base))} if described else {}),
            "homepage": [
                {
                    "id": append_question(address, "landing"),
                    "type": "Text",
                    "label": {"en": ["Landing page"]},
                    "format": "text/html",
                }
            ],
            "seeAlso": [
                {
                    "id": append_question(address, "provenance"),
                    "type": "Dataset",
                    "label": {"en": ["Provenance"]},
                    "format": _ANNOTATIONS,
                }
            ],
            "items": [
                _make_canvas(one, number, manifest, name, base)
                for number, one in enumerate(shown, 1)
            ],
        }

    def _find_shown(self, report: PieceReport, reader: Reader) -> _Shown | None:
        """Return a piece with its size; None if it cannot be seen or heard, or not measured."""
        if report.verdict in _GONE:
            return None
        try:
            query = Query(identifier=report.identifier, reader=reader)
            resolved = self._door.resolve(query)
            step = resolved.require_step()
            if not isinstance(step, Fetch):
                return None
            kind = _KINDS.get(step.representation.media_type.partition("/")[0])
            if kind is None:
                return None
            source = self._documents.open_source(step.identifier, step.representation)
            selector = None
            if resolved.inside is not None:
                selector = self._documents.find_selector(
                    resolved.identifier, source, resolved.part_beside
                )
            size = self._measure(source, kind, selector)
        except PerdureError:  # it cannot be decoded here
            return None
        return None if size is None else _Shown(report, kind, size)

    def _measure(self, source: Source, kind: str, selector: Selector | None) -> CanvasSize | None:
        if kind == "Image" and selector is None:
            part = self._parts.cut_part(source, Information())
            known = msgspec.json.decode(b"".join(iterate_body(part.body, source)))
            return CanvasSize(known["width"], known["height"])
        match selector:
            case Rect():
                self._parts.outline_part(source, selector)
                return _measure_box(selector)
            case None | Interval() | Crop():
                whole = _read_extents(self._parts.list_extents(source))
            case _:
                return None
        time = selector.time if isinstance(selector, Crop) else selector
        if time is not None:
            self._parts.outline_part(source, selector or time)
            whole = whole._replace(duration=float(time.end - time.start))
        if isinstance(selector, Crop) and selector.rect is not None:
            box = _measure_box(selector.rect)
            whole = whole._replace(width=box.width, height=box.height)
        return whole if whole.duration else None


def _measure_box(rect: Rect) -> CanvasSize:
    return CanvasSize(rect.right - rect.left, rect.bottom - rect.top)


def _read_extents(extents: Iterable[Extent]) -> CanvasSize:
    """Return the size of a sound or a film, as its extents tell it."""
    found = CanvasSize()
    for one in extents:
        if one.seconds:
            found = found._replace(duration=one.seconds)
        corner = _PIXELS.search(one.syntax)
        if corner is not None:
            found = found._replace(width=int(corner[1]), height=int(corner[2]))
    return found


def _report_whole(step: Fetch) -> PieceReport:
    """A document that is a picture, a sound or a film itself, as a piece of itself."""
    held = step.representation
    return PieceReport(
        identifier=step.identifier.whole,
        element="",
        origin=0,
        place="",
        verdict="verbatim",
        media_type=held.media_type,
        sha512=held.sha512,
        length=held.length,
    )


# writing
# -------


def _make_canvas(
    shown: _Shown, number: int, manifest: str, name: Identifier, base: str
) -> dict[str, Any]:
    report, kind, size = shown
    canvas = f"{base}/{spell_path(_name_appearance(name, report))}"
    source = f"{base}/{spell_path(report.identifier)}"
    body: dict[str, Any] = {
        "id": append_question(source, "bytes"),
        "type": kind,
        "format": strip_parameters(report.media_type),
        **size.describe(),
    }
    if kind == "Image" and report.identifier.fragment is None:
        body |= _use_image_service(report.identifier, base)
    return {
        "id": canvas,
        "type": "Canvas",
        "label": {"none": [str(report.identifier)]},
        **size.describe(),
        "items": [
            {
                "id": f"{manifest}#page-{number}",
                "type": "AnnotationPage",
                "items": [
                    {
                        "id": f"{manifest}#painting-{number}",
                        "type": "Annotation",
                        "motivation": "painting",
                        "body": body,
                        "target": canvas,
                    }
                ],
            }
        ],
    }


def _name_appearance(name: Identifier, report: PieceReport) -> Identifier:
    """Return the citation that names a part as it appears in a document."""
    return parse(f"{name}@{report.origin}={report.identifier}") if report.element else name


def _use_image_service(name: Identifier, base: str) -> dict[str, Any]:
    """Show a complete picture by the IIIF Image API, so that it can be enlarged."""
    service = f"{base}/iiif/3/{quote(spell_path(name), safe='')}"
    return {
        "id": f"{service}/full/max/0/default.jpg",
        "format": "image/jpeg",
        "service": [{"id": service, "type": "ImageService3", "profile": "level2"}],
    }


def _describe_pieces(pieces: Iterable[PieceReport], base: str) -> Iterator[dict[str, Any]]:
    """Yield the source of each piece, as pairs of a label and a value for people."""
    for number, one in enumerate(pieces, 1):
        name = escape(str(one.identifier))
        address = escape(f"{base}/{spell_path(one.identifier)}")
        words = [f'<a href="{address}">{name}</a>', one.verdict, one.date]
        if one.tombstone is not None:
            words.append(f"withdrawn {one.tombstone.at[:10]}")
        if one.sha512:
            words.append(f"sha512:{one.sha512}")
        text = ", ".join(word for word in words if word)
        yield {
            "label": {"en": [f"Piece {number} ({one.element})"]},
            "value": {"none": [f"<span>{text}</span>"]},
        }
