"""Citations over HTTP: the verdict as a page, JSON, an annotation, links, text, and the bytes.

How it works: the read door has resolved both sides, and the checker of citations finds the verdict
(`perdure.reading.citations`). `?info`, `?landing` and every type that describes answer 200 whatever
the verdict is, so that a misquotation can be asserted about. The bytes are those of the citing
document at the origin, or of the cited part where an element embeds it; for every other verdict
they do not exist (404), and if the verdict is unknown, the cited part may help (303).

What must stay true: a verdict is computed for the request; its answer may be cached as long as any
other that can change.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import http_sf
import msgspec
from http_sf.types import BareItemType

from perdure import metadata
from perdure.errors import NotAcceptable
from perdure.ids import Identifier
from perdure.model.collection import MEDIA_TYPE as COLLECTION
from perdure.model.queries import Fetch, Query
from perdure.model.verdicts import CitationReport, Verdict
from perdure.reading.citations.citing import RECORDS
from perdure.reading.citations.describing import (
    find_passage,
    make_refusal,
    require_quotation,
    write_annotation,
    write_fields,
)
from perdure.reading.resolved import Resolved
from perdure.reading.targets import Question, append_question, spell_path
from perdure.server import pages
from perdure.server.common import lists
from perdure.server.common.answers import (
    Answer,
    Fields,
    escape_uri,
    join_links,
    make_answer,
    make_empty_answer,
    write_link,
)
from perdure.server.common.negotiate import choose_type, names_first, rate_named
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import find_page
from perdure.server.resource import held, parts, plain_text, signposting
from perdure.server.resource.metadata import (
    BIBLIOGRAPHY,
    choose_format,
    choose_language,
    list_types,
    read_parameters,
)

JSON, JSON_LD = "application/json", "application/ld+json"
_PROFILE = f'{JSON_LD}; profile="http://www.w3.org/ns/anno.jsonld"'
_DESCRIBING = (JSON, "text/html", JSON_LD, *signposting.TYPES)


async def answer_citation(
    service: Service, request: Request, resolved: Resolved, question: Question
) -> Answer:
    """Answer a question about a citation.

    Raises PartNotFound or PartOutOfRange for a place or a part that does not exist, and
    CitationUnresolved for a question that is not one about a citation.
    """
    if question.cite is not None:
        language = question.locale or choose_language(request)
        return await _cite(service, request, resolved, question.cite or "apa", language)
    if question.metadata is not None:
        return await _give_metadata(service, request, resolved, question.metadata)
    if question.quote is not None:
        resolved.require_no_citation()
    match question.verb:
        case "info":
            return await answer_verdict(service, request, resolved)
        case "landing":
            return await answer_verdict(service, request, resolved, "text/html")
        case "linkset":
            kind = choose_type(request.accept, signposting.TYPES) or signposting.JSON
            return await answer_verdict(service, request, resolved, kind)
        case "bytes":
            return await answer_bytes(service, request, resolved)
        case "text":
            return await _answer_text(service, request, resolved)
        case "locations":
            address = _make_address(request)(resolved.asked)
            return lists.answer_list(request, str(resolved.asked), [lists.ListEntry(address)])
        case "members":
            raise NotAcceptable(
                identifier=str(resolved.asked), asked=COLLECTION, offered=("no collection",)
            )
        case "":
            return await _negotiate(service, request, resolved)
    resolved.require_no_citation()
    raise AssertionError(question.verb)  # the line before raises


async def _negotiate(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer in the form that Accept names: a description, a reference, or else the bytes."""
    shows_pages = service.settings.pages != "never"
    if names_first(request.accept, "text/html", before=_DESCRIBING[2:]) and shows_pages:
        return await answer_verdict(service, request, resolved, "text/html")
    offered = dict.fromkeys((*_DESCRIBING, *list_types()))
    rated = {kind: rate_named(request.accept, (kind,)) for kind in offered}
    best = max(rated, key=rated.__getitem__)
    if not rated[best] or best == "text/html":
        return await answer_bytes(service, request, resolved)
    if best == BIBLIOGRAPHY:
        style, locale = read_parameters(request.accept)
        language = locale or choose_language(request)
        return await _cite(service, request, resolved, style, language)
    if best not in _DESCRIBING:
        return await _give_metadata(service, request, resolved, choose_format(request.accept))
    return await answer_verdict(service, request, resolved, best)


async def answer_verdict(
    service: Service, request: Request, resolved: Resolved, kind: str | None = None
) -> Answer:
    """Answer with the report on a citation, in a media type or in the one that Accept prefers."""
    report = await service.check_citation(resolved)
    address = _make_address(request)
    kind = kind or choose_type(request.accept, _DESCRIBING) or JSON
    fields = [*_describe(service, report), *_link(request, report)]
    if kind == "text/html":
        return _show_page(request, report, fields)
    if kind in signposting.TYPES:
        rows = _list_links(request, report)
        is_json = kind == signposting.JSON
        body = signposting.write_json(rows) if is_json else signposting.write_text(rows)
        return make_answer(HTTPStatus.OK, kind, body, *fields)
    if kind == JSON_LD:
        told = json.dumps(write_annotation(report, address), ensure_ascii=False)
        return make_answer(HTTPStatus.OK, _PROFILE, told.encode(), *fields)
    body = msgspec.json.encode(write_fields(report, address))
    return make_answer(HTTPStatus.OK, JSON, body, *fields)


async def answer_bytes(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer with the passage, or with the part that is embedded there.

    Raises CitationNotFound, and CitationUnverifiable if no page can help either.
    """
    report = await service.check_citation(resolved)
    if report.verdict is Verdict.UNVERIFIABLE:
        return _lead_to_cited(request, resolved, report, _describe(service, report))
    shown = _resolve_passage(service, resolved, report)
    step = shown.step
    if shown.inside is None and isinstance(step, Fetch):
        answer = held.answer_representation(
            request,
            service.registry.bytes,
            step,
            shown.known,
            lifetime=b"",
            vary=b"accept",
        )
    else:
        answer = await parts.answer_part(service, request, shown)
    return _add_fields(service, request, report, answer)


async def _answer_text(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer with the plain text of the passage. Raises as `answer_bytes`."""
    report = await service.check_citation(resolved)
    shown = _resolve_passage(service, resolved, report)
    answer = await plain_text.answer_text(service, request, shown)
    return _add_fields(service, request, report, answer)


def _resolve_passage(service: Service, resolved: Resolved, report: CitationReport) -> Resolved:
    """Resolve the passage that is quoted. Raises CitationNotFound or CitationUnverifiable."""
    query = Query(identifier=find_passage(report), reader=resolved.query.reader)
    return service.reading.resolve(query, resolved.records_read)


def _add_fields(
    service: Service, request: Request, report: CitationReport, answer: Answer
) -> Answer:
    ours = [*_describe(service, report), *_link(request, report)]
    replaced = {name for name, _ in ours}
    answer.fields = [one for one in answer.fields if one[0] not in replaced] + ours
    return answer


def _lead_to_cited(
    request: Request, resolved: Resolved, report: CitationReport, fields: Fields
) -> Answer:
    """Redirect (303) to the page of the cited part if it is held here; else raise the error."""
    cited = report.cited
    while cited.cited is not None:
        cited = cited.cited
    if report.side == report.cited or not isinstance(resolved.sides[-1], Fetch):
        raise make_refusal(report)
    there = append_question(f"{request.base_url}/{spell_path(cited)}", "landing")
    return make_empty_answer(HTTPStatus.SEE_OTHER, (b"location", escape_uri(there)), *fields)


async def _give_metadata(
    service: Service, request: Request, resolved: Resolved, name: str
) -> Answer:
    """Answer with a record about the passage, which says what it cites; or with records of both
    documents in a format of bibliographies."""
    if name.lower() in RECORDS:
        return await _cite(service, request, resolved, name, choose_language(request))
    report = await service.check_citation(resolved)
    citer, address = service.registry.quotation_citer, _make_address(request)
    what = await service.run_cutter(citer.describe_quotation, resolved, report, address)
    form = metadata.find_format(name or choose_format(request.accept) or "datacite")
    body = await service.run_cutter(form.write, what)
    kind = form.media_types[0] + ("; charset=utf-8" if form.is_text else "")
    answer = make_answer(HTTPStatus.OK, kind, body)
    return _add_fields(service, request, report, answer)


async def _cite(
    service: Service, request: Request, resolved: Resolved, style: str, locale: str
) -> Answer:
    """Answer with a reference to the cited part, and to the document in which it is quoted."""
    report = await service.check_citation(resolved)
    require_quotation(report)
    text = await service.run_cutter(
        service.registry.quotation_citer.cite_quotation,
        resolved,
        report,
        style,
        locale,
        _make_address(request),
    )
    return make_answer(
        HTTPStatus.OK,
        f"{BIBLIOGRAPHY}; charset=utf-8",
        f"{text}\n".encode(),
        *_describe(service, report),
        *_link(request, report),
    )


# header fields and the page
# --------------------------


def _make_address(request: Request) -> Callable[[Identifier], str]:
    return lambda identifier: f"{request.base_url}/{spell_path(identifier)}"


def _describe(service: Service, report: CitationReport) -> Fields:
    """Make the field `Citation: verdict=verbatim, extent=14` (RFC 9651), and those of the cache."""
    known: dict[str, BareItemType] = {"verdict": http_sf.Token(report.verdict.value)}
    if report.extent:
        known["extent"] = report.extent
    if report.right is not None:
        known["right"] = report.right.path
    items: Any = {name: (one, {}) for name, one in known.items()}
    return [
        (b"citation", http_sf.ser(items).encode("ascii")),
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"vary", b"accept"),
    ]


def _list_links(request: Request, report: CitationReport) -> tuple[signposting.Signpost, ...]:
    address = _make_address(request)
    here = address(report.citation)
    rows = [
        ("cite-as", here, ""),
        ("collection", address(report.citing), ""),
        ("via", address(report.cited), ""),
        ("describedby", append_question(here, "info"), JSON),
        ("linkset", append_question(here, "linkset"), signposting.JSON),
    ]
    if report.part is not None:
        rows.append(("item", address(report.part), ""))
    return tuple(
        signposting.Signpost(anchor=here, rel=rel, href=href, type=kind) for rel, href, kind in rows
    )


def _link(request: Request, report: CitationReport) -> Fields:
    return join_links(
        write_link(one.href, one.rel, **({"type": one.type} if one.type else {}))
        for one in _list_links(request, report)
    )


def _show_page(request: Request, report: CitationReport, fields: Fields) -> Answer:
    """Answer with both passages in their context, and the differences."""
    body = pages.render_page(
        request.frame,
        "citation.html",
        told=write_fields(report, lambda one: f"/{spell_path(one)}"),
        trail=[],
        citing_page=find_page(report.citing),
        cited_page=append_question(f"/{spell_path(report.cited)}", "landing"),
        part_page=report.part and append_question(f"/{spell_path(report.part)}", "landing"),
        cite_as=_make_address(request)(report.citation),
        annotation=append_question(f"/{spell_path(report.citation)}", "info"),
        is_quotation=report.verdict.is_quotation,
    )
    return pages.make_page(HTTPStatus.OK, body, *fields)
