"""IIIF manifests: the pictures, sounds and films of a document, for viewers of other programs.

Specification: IIIF Presentation API 3.0. A composite, a conjunction, or one picture, sound or film
has a manifest, and so has a part of these. It has a canvas for each piece that can be seen or
heard, in their order. The id of a canvas is the address of the citation that names this appearance
of the part. The metadata list all pieces, texts and withdrawn ones too, each with its source, date,
digest and verdict.

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
from perdure.reading.resolved import Resolved
from perdure.reading.targets import append_question, spell_part_path, spell_path

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
    path: str
    """Its address, after that of the resolver."""
    media_type: str
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

    def make_manifest(
        self, resolved: Resolved, step: Fetch, base: str, title: str, reader: Reader
    ) -> dict[str, Any]:
        """Return the manifest of a document or a part, with addresses at the resolver `base`.

        Raises ManifestEmpty if nothing in it can be seen or heard, or as the part is cut.
        """
        name, path = step.identifier.whole, spell_path(step.identifier.whole)
        if resolved.inside is not None:
            path = spell_part_path(name, resolved.inside.part)
            part = self._show_part(resolved, step, path)
            pieces, found = [], iter([part])
        else:
            pieces = self._provenance.read_pieces(step, reader) or [_report_held(step, name)]
            found = (self._find_shown(piece, reader) for piece in pieces)
        shown = [one for one in found if one is not None]
        if not shown:
            raise ManifestEmpty(identifier=str(resolved.identifier))
        address = f"{base}/{path}"
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
            source = self._documents.open_source(step.identifier, step.representation)
            selector = None
            if resolved.inside is not None:
                selector = self._documents.find_selector(
                    resolved.identifier, source, resolved.part_beside
                )
            return self._measure_shown(report, spell_path(report.identifier), source, selector)
        except PerdureError:  # it cannot be decoded here
            return None

    def _show_part(self, resolved: Resolved, step: Fetch, path: str) -> _Shown | None:
        """Return the part that was asked for, with its size. Raises the errors of cutting it."""
        source = self._documents.open_source(step.identifier, step.representation)
        selector = self._documents.find_selector(resolved.identifier, source, resolved.part_beside)
        report = _report_held(step, resolved.identifier)
        return self._measure_shown(report, path, source, selector)

    def _measure_shown(
        self, report: PieceReport, path: str, source: Source, selector: Selector | None
    ) -> _Shown | None:
        """Return a piece with its size. The size of a track is measured on the part itself."""
        if selector is None or isinstance(selector, Rect | Interval | Crop):
            kind = _find_kind(source.media_type)
            size = self._measure(source, kind, selector) if kind else None
            media_type = report.media_type
        else:
            with self._parts.open_part(source, selector) as (part, within):
                media_type = part.media_type
                kind = _find_kind(media_type)
                size = self._measure(within, kind, None) if kind else None
        return None if size is None else _Shown(report, path, media_type, kind or "", size)

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


def _find_kind(media_type: str) -> str | None:
    return _KINDS.get(media_type.partition("/")[0])


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


def _report_held(step: Fetch, identifier: Identifier) -> PieceReport:
    """A document that is a picture, a sound or a film itself, or a part of it, as a piece."""
    held = step.representation
    return PieceReport(
        identifier=identifier,
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
    report, path, media_type, kind, size = shown
    source = f"{base}/{path}"
    canvas = f"{base}/{spell_path(_name_appearance(name, report))}" if report.element else source
    body: dict[str, Any] = {
        "id": append_question(source, "bytes"),
        "type": kind,
        "format": strip_parameters(media_type),
        **size.describe(),
    }
    if kind == "Image" and path == spell_path(report.identifier.whole):
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
    return parse(f"{name}@{report.origin}={report.identifier}")


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
