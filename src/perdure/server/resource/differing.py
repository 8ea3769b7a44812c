"""The difference of two versions over HTTP: a page, JSON, or as `diff -u` writes it."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from perdure.model.queries import Gone
from perdure.reading.resolved import Resolved
from perdure.reading.version_differences import compare_versions
from perdure.server import pages
from perdure.server.common import asking, problems
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import find_page, make_trail

_FORMS = ("text/plain", "application/json", "text/html")


async def show_difference(
    service: Service, request: Request, resolved: Resolved, numbers: tuple[int, int]
) -> Answer:
    """Answer with the difference of two versions. Raises what `compare_versions` raises."""
    registry = service.registry
    found = await service.run_cutter(
        compare_versions,
        registry.reading,
        registry.documents,
        registry.parts,
        resolved,
        numbers,
    )
    if isinstance(found, Gone):
        return problems.answer_problem(problems.make_gone_problem(found), request)
    fields = (
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"vary", b"accept"),
    )
    match choose_type(request.accept, _FORMS):
        case "text/html":
            whole = resolved.whole
            body = pages.render_page(
                request.frame,
                "difference.html",
                trail=[*make_trail(whole), (str(whole), find_page(whole))],
                found=found,
                path=f"/{asking.spell_resolved(resolved)}",
            )
            return pages.make_page(HTTPStatus.OK, body, *fields)
        case "application/json":
            body = msgspec.json.encode(found)
            return make_answer(HTTPStatus.OK, "application/json", body, *fields)
    body = found.write_unified().encode()
    return make_answer(HTTPStatus.OK, "text/plain; charset=utf-8", body, *fields)
