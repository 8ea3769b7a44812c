"""GET and HEAD of an identifier: the resource, a redirect to it, a part of it, or its record.

How it works: the target becomes a name and a question, the read door (`perdure.reading.resolve`)
decides what to do, and this module does it. A client that prefers JSON or XML in Accept asks for
the record, unless the resource itself has that type.

What must stay true: a request for a part is never answered with the complete document.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from perdure.errors import NotAcceptable, NotFound
from perdure.formats import media_type
from perdure.ids import Identifier, scheme_of
from perdure.model.queries import Choices, Description, Fetch, Gone, Redirect, Step
from perdure.model.records import Record
from perdure.parts.media_types import strip_parameters
from perdure.policy import templates
from perdure.policy.naming import wanted
from perdure.policy.preference import depends_on_reader
from perdure.policy.revisions import changes
from perdure.reading.resolve import Resolved
from perdure.reading.targets import Question, part_path, path_of, read_question
from perdure.server.apis import pwids
from perdure.server.common import asking, auth, problems
from perdure.server.common.answers import Answer, plain, uri
from perdure.server.common.negotiate import leading, prefers
from perdure.server.common.redirects import redirect
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import held, landing, members, metadata, parts, quoting, signposting
from perdure.server.resource.describing import TYPES, describe, public
from perdure.server.resource.listings import listing
from perdure.server.resource.locating import locations


async def get(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of a name."""
    question = read_question(request.target.question)
    resolved = asking.resolve(
        service, request, request.target.text, part=question.part, region=question.region
    )
    if resolved.is_pattern:
        return await listing(service, request, resolved.asked, question)
    if resolved.via is not None:
        return _follow_alias(service, request, resolved)
    return await _answer(service, request, resolved, question)


def _follow_alias(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Redirect from an alias to the name that it refers to, with the same question."""
    asked, path = request.target.question, path_of(resolved.whole)
    if resolved.part is not None and resolved.query.delimiter == "#":
        path = part_path(resolved.whole, resolved.part)
    there = f"{request.base}/{path}" + ("" if asked is None else f"?{asked}")
    fields = [
        (b"location", uri(there)),
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"content-length", b"0"),
    ]
    return Answer(HTTPStatus.FOUND, fields)


async def _answer(
    service: Service, request: Request, resolved: Resolved, question: Question
) -> Answer:
    if metadata.asked(question):
        return await metadata.answer(service, request, resolved, question)
    if resolved.pwid is not None:
        return await pwids.answer(service, request, resolved.pwid, question)
    if question.quote is not None:
        return await quoting.answer(service, request, resolved, question)
    match question.verb:
        case "info":
            for_record = prefers(request.accept, TYPES)
            inflected = question.inflection and scheme_of(resolved.asked).has_inflections
            if inflected and not for_record:
                return landing.erc(service, request, resolved, full=question.inflection == "??")
            if landing.wanted(request):
                return await landing.answer(service, request, resolved)
            return description(service, request, resolved)
        case "landing":
            return await landing.answer(service, request, resolved)
        case "linkset":
            return await landing.linkset(service, request, resolved)
        case "locations":
            return locations(service, request, resolved)
        case "history":
            return history(service, request, resolved)
        case "members":
            return await members.listing(service, request, resolved, question)
    return await resource(service, request, resolved, question.append)


async def resource(
    service: Service, request: Request, resolved: Resolved, append: str | None = None
) -> Answer:
    """Answer with the resource that a name leads to, or redirect to its location.

    `append` is text to append to the address of such a redirect.
    """
    identifier = resolved.identifier
    if identifier.is_citation:
        return description(service, request, resolved)
    if resolved.pwid is not None:
        return await pwids.answer(service, request, resolved.pwid)
    if metadata.wishes(request.accept):
        found = await metadata.negotiated(service, request, resolved)
        if found is not None:
            return found
    if resolved.inside is not None:
        return await parts.part(service, request, resolved)
    if wanted(identifier)[1] is None and prefers(request.accept, signposting.TYPES):
        return await landing.linkset(service, request, resolved)
    try:
        step = _step(request, resolved)
    except NotAcceptable as error:
        if not members.suits(request, identifier, error.offered):
            raise
        return await members.listing(service, request, resolved, Question())
    given = (step.representation.media_type,) if isinstance(step, Fetch) else ()
    if members.suits(request, identifier, given):
        return await members.listing(service, request, resolved, Question())
    if append and isinstance(step, Redirect):
        step = step.to(templates.appended(step.location.uri, append))
    return carry_out(service, request, resolved, step)


def _step(request: Request, resolved: Resolved) -> Step:
    """Choose what to do, and the record itself if the client prefers it."""
    identifier, record = resolved.identifier, resolved.record
    for_record = prefers(request.accept, TYPES)
    try:
        step = resolved.step
    except NotAcceptable:
        if not for_record or record is None:
            raise
        return Description(identifier=identifier, record=record)
    if for_record and record is not None and _differs(request, identifier, step):
        return Description(identifier=identifier, record=record)
    return step


def _differs(request: Request, identifier: Identifier, step: Step) -> bool:
    """Return True if the answer would not have the media type that the client prefers."""
    if isinstance(step, Fetch):
        named = wanted(identifier)[1] is not None  # then there is no negotiation
        kind: str | None = step.representation.media_type
        return not named and _essence(kind) not in leading(request.accept)
    if isinstance(step, Redirect):
        known = media_type(step.location.format) if step.location.format else None
        return known is None or known.essence not in leading(request.accept)
    return False


def _essence(kind: str | None) -> str:
    return strip_parameters(kind or "")


def carry_out(
    service: Service,
    request: Request,
    resolved: Resolved,
    step: Step,
    *,
    status: int = HTTPStatus.FOUND,
) -> Answer:
    """Make the answer of a step. `status` is the status of a redirect."""
    identifier = resolved.identifier
    fresh = service.settings.fresh_seconds
    match step:
        case Fetch():
            return held.answer(
                request,
                service.registry.segments,
                step,
                resolved.record or Record(),
                fresh=fresh,
                chosen=wanted(identifier)[1] is None,
            )
        case Redirect():
            chosen = depends_on_reader((step.location, *step.others))
            vary = asking.varies(service) if chosen else b"accept"
            return redirect(step, fresh=fresh, status=status, vary=vary)
        case Description():
            return describe(request, identifier, step.record, fresh=fresh)
        case Gone():
            return problems.answer(problems.of_tombstone(step), request)
        case Choices():
            return locations(service, request, resolved)


def description(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer with the record of a name or of a part. Raises NotFound."""
    record, fresh = resolved.known, service.settings.fresh_seconds
    selector = None if resolved.inside is None else service.registry.select_part(resolved)
    return describe(request, resolved.identifier, record, fresh=fresh, selector=selector)


def history(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer with all revisions of the record as JSON, the oldest first, with their changes.

    Only administrators of the identifier see the authors of the revisions.
    """
    identifier = resolved.identifier
    past = service.registry.records.history(identifier.key)
    if not past:
        raise NotFound(identifier=str(identifier))
    full = b"authorization" in request.fields
    if full:
        auth.check(service, auth.bearer(service, request), "administer", identifier)
    revisions: list[dict[str, object]] = []
    before: dict[str, object] = {}
    for record in past:
        shown = public(record, identifier.whole, request.base)
        actor = {"by": record.by} if full else {}
        revisions.append(shown | actor | {"changes": changes(before, shown)})
        before = shown
    fresh = b"no-store" if full else b"public, max-age=%d" % service.settings.fresh_seconds
    body = msgspec.json.encode({"identifier": str(identifier.whole), "revisions": revisions})
    fields = ((b"cache-control", fresh), (b"vary", b"authorization"))
    return plain(HTTPStatus.OK, "application/json", body, *fields)
