"""The provenance of a composite over HTTP (`?provenance`): a page, or annotations in JSON-LD; the
first pieces for its landing page; and its IIIF manifest (`?manifest`).

What must stay true: each piece is compared when it is asked for, with the rights of the reader.
"""

from __future__ import annotations

from http import HTTPStatus
from itertools import islice
from typing import Any

import msgspec

from perdure.errors import PerdureError
from perdure.errors.composing import ManifestEmpty
from perdure.ids import Identifier
from perdure.model.assertions import CONJOINS, CONTEXT, MEDIA_TYPE
from perdure.model.queries import Fetch, Gone, Reader
from perdure.reading.composites import CONJUNCT, PieceReport, describe_piece
from perdure.reading.manifests import MEDIA_TYPE as MANIFEST_TYPE
from perdure.reading.resolved import Resolved
from perdure.reading.targets import append_question, spell_path
from perdure.server import pages
from perdure.server.common import asking, problems
from perdure.server.common.answers import Answer, Fields, make_answer
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import find_page, make_trail

_HTML, _JSON = "text/html", "application/ld+json"
_QUOTES = "http://purl.org/spar/cito/includesQuotationFrom"
"""The motivation of an annotation that says where a piece is from."""
_MOST_COMPOSITES = 100
_MOST_SHOWN = 20  # pieces on the landing page; `?provenance` has all
_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
_WITH_REGISTRY = [CONTEXT, {"registry": None, "containedIn": None}]


async def show_provenance(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer with the pieces of a document, and the composites that contain it.

    Raises NotFound, NoSuchVersion, NotAcceptable.
    """
    step = resolved.choose(whole=True)
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    resolved.require_known()
    reader = resolved.query.reader
    found, contained = await service.run_cutter(_read_all, service, resolved, step, reader)
    for one in (*(report.identifier for report in found), *contained):
        asking.find_guard(service, request, one)
    fresh = b"public, max-age=%d" % service.settings.fresh_seconds
    fields: Fields = [(b"cache-control", fresh), (b"vary", b"accept")]
    name = step.identifier if isinstance(step, Fetch) else resolved.identifier
    if choose_type(request.accept, (_JSON, "application/json", _HTML)) == _HTML:
        return _make_page(request, name, found, contained, fields)
    body = _write_annotations(request.base_url, name, found, contained)
    return make_answer(HTTPStatus.OK, MEDIA_TYPE, msgspec.json.encode(body), *fields)


async def read_shown(
    service: Service, request: Request, resolved: Resolved
) -> list[dict[str, object]]:
    """Return the first pieces of a composite for its landing page, each compared with its source.

    Return no pieces for a part, for what was withdrawn, and for a document that has none.
    """
    record = resolved.record
    if resolved.inside is not None or record is None or not record.targets:
        return []
    try:
        step = resolved.require_usual_step()
    except PerdureError:  # the page says which versions and formats there are
        return []
    if not isinstance(step, Fetch):
        return []
    walk, reader = service.registry.provenance.walk_pieces, resolved.query.reader
    found = await service.run_cutter(lambda: list(islice(walk(step, reader), _MOST_SHOWN)))
    for report in found:
        asking.find_guard(service, request, report.identifier)
    return [_show_piece(request, report) for report in found]


async def show_manifest(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer with the IIIF manifest of a document or a part. Pages of any origin may read it.

    Raises NotFound, NoSuchVersion, NotAcceptable, or the errors of cutting the part.
    """
    step = resolved.choose()
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    if not isinstance(step, Fetch):
        raise ManifestEmpty(identifier=str(resolved.identifier))
    made = await service.run_cutter(_make_manifest, service, request, resolved, step)
    fresh = b"public, max-age=%d" % service.settings.fresh_seconds
    fields: Fields = [(b"cache-control", fresh), _ANY_ORIGIN]
    return make_answer(HTTPStatus.OK, MANIFEST_TYPE, msgspec.json.encode(made), *fields)


def _make_manifest(
    service: Service, request: Request, resolved: Resolved, step: Fetch
) -> dict[str, Any]:
    registry, reader = service.registry, resolved.query.reader
    title = registry.documents.describe_resolved(resolved, request.base_url).about.title
    if resolved.inside is None:
        for report in registry.provenance.read_pieces(step, reader):
            asking.find_guard(service, request, report.identifier)
    return registry.manifests.make_manifest(resolved, step, request.base_url, title, reader)


def _read_all(
    service: Service, resolved: Resolved, step: object, reader: Reader
) -> tuple[list[PieceReport], list[Identifier]]:
    provenance = service.registry.provenance
    found = provenance.read_pieces(step, reader) if isinstance(step, Fetch) else []
    composites = provenance.walk_composites(resolved.identifier, reader)
    return found, list(islice(composites, _MOST_COMPOSITES))


def _write_annotations(
    base: str, name: Identifier, found: list[PieceReport], contained: list[Identifier]
) -> dict[str, Any]:
    address = append_question(f"{base}/{spell_path(name)}", "provenance")
    return {
        "@context": _WITH_REGISTRY,
        "id": address,
        "type": "AnnotationPage",
        "items": [
            {
                "id": f"{address}#{number}",
                "type": "Annotation",
                "motivation": CONJOINS if report.element == CONJUNCT else _QUOTES,
                "target": str(name.with_part(report.place) or name),
                "body": str(report.identifier),
                "registry": describe_piece(report),
            }
            for number, report in enumerate(found, 1)
        ],
        "containedIn": [str(one) for one in contained],
    }


def _show_piece(request: Request, report: PieceReport) -> dict[str, object]:
    url = f"{request.base_url}/{spell_path(report.identifier)}"
    return describe_piece(report) | {"href": url}


def _make_page(
    request: Request,
    name: Identifier,
    found: list[PieceReport],
    contained: list[Identifier],
    fields: Fields,
) -> Answer:
    body = pages.render_page(
        request.frame,
        "provenance.html",
        trail=[*make_trail(name.whole), (str(name), find_page(name))],
        document=str(name),
        is_conjunction=any(report.element == CONJUNCT for report in found),
        pieces=[_show_piece(request, report) for report in found],
        contained=[(str(one), f"{request.base_url}/{spell_path(one)}") for one in contained],
    )
    return pages.make_page(HTTPStatus.OK, body, *fields)
