"""GET and HEAD of an identifier: the thing, a way to it, a part of it, or what is known about it.

How it works: the target becomes an identifier and a question, `perdure.policy.decide` says what to
do, and what it says is carried out here. Whoever puts JSON or XML before all else in Accept is
asking for the record, unless the thing itself is to be had as that.

What must stay true: a request for a part is never answered with the whole document.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from perdure.errors import NotAcceptable, NotFound
from perdure.formats import media_type
from perdure.ids import Identifier
from perdure.ids.ark import Ark
from perdure.ids.pdi import Pdi
from perdure.ids.pwid import Pwid
from perdure.model.queries import Choices, Description, Fetch, Gone, Query, Redirect, Step, Want
from perdure.model.records import Record
from perdure.policy import templates
from perdure.policy.decide import decide, depends_on_reader
from perdure.policy.naming import wanted
from perdure.policy.revisions import changes
from perdure.reading.targets import Question, named, path_of, read_question
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
from perdure.server.resource.pointing import is_elsewhere, pointed, selected


async def get(service: Service, request: Request) -> Answer:
    """The answer to GET or HEAD of what is no page."""
    question = read_question(request.target.question)
    identifier, part = named(request.target.text, service.knows, question.part)
    if question.part is None:
        question = msgspec.structs.replace(question, part=part, delimiter="#")
    try:
        return await _asked(service, request, identifier, question)
    except NotFound:
        onward = _by_alias(service, request, identifier)
        if onward is None:
            raise
        return onward


def _by_alias(service: Service, request: Request, identifier: Identifier) -> Answer | None:
    """The way to what a name without a record of its own is an alias of, with the same question.

    None where it is nobody's alias, or that of several.
    """
    meant = service.resolver.meant(identifier)
    if meant is None:
        return None
    asked = request.target.question
    there = f"{request.base}/{path_of(meant)}" + ("" if asked is None else f"?{asked}")
    fields = [
        (b"location", uri(there)),
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"content-length", b"0"),
    ]
    return Answer(HTTPStatus.FOUND, fields)


async def _asked(
    service: Service, request: Request, identifier: Identifier, question: Question
) -> Answer:
    if isinstance(identifier, Pdi) and identifier.is_pattern:
        return await listing(service, request, identifier, question)
    if question.part is None and not service.knows(identifier):
        inside = service.unfolding.unfold(identifier)
        if inside is not None and not is_elsewhere(inside):
            identifier = inside.whole
            question = msgspec.structs.replace(
                question, part=inside.part, delimiter=inside.delimiter
            )
    if metadata.asked(question):
        return await metadata.answer(service, request, identifier, question)
    if isinstance(identifier, Pwid) and service.record(identifier) is None:
        return await pwids.answer(service, request, identifier, question)
    if question.quote is not None:
        return await quoting.answer(service, request, identifier, question)
    match question.verb:
        case "info":
            for_record = prefers(request.accept, TYPES)
            if isinstance(identifier, Ark) and question.inflection and not for_record:
                return landing.erc(service, request, identifier, full=question.inflection == "??")
            if landing.wanted(request):
                return await landing.answer(service, request, identifier)
            return await description(service, request, identifier, question.part)
        case "landing":
            return await landing.answer(service, request, identifier)
        case "linkset":
            return await landing.linkset(service, request, identifier)
        case "locations":
            return locations(service, request, identifier, part=question.part)
        case "history":
            return history(service, request, identifier)
        case "members":
            return await members.listing(service, request, identifier, question)
    return await resource(
        service,
        request,
        identifier,
        question.part,
        question.append,
        question.region,
        delimiter=question.delimiter,
    )


async def resource(
    service: Service,
    request: Request,
    identifier: Identifier,
    part: str | None = None,
    append: str | None = None,
    region: str | None = None,
    *,
    delimiter: str = "?part=",
) -> Answer:
    """The thing that an identifier names, by way of a redirect where it lies elsewhere.

    `part` is what was asked for of a thing whose identifier has no way to say so itself, written
    behind `delimiter`, `append` what is to stand behind the address that it leads to, `region`
    where the reader is.
    """
    if isinstance(identifier, Pdi) and identifier.citation is not None:
        return await description(service, request, identifier)
    if isinstance(identifier, Pwid) and service.record(identifier) is None:
        return await pwids.answer(service, request, identifier)
    if metadata.wishes(request.accept):
        record = service.record(identifier)
        found = await metadata.negotiated(service, request, identifier, record, part)
        if found is not None:
            return found
    if identifier.whole is not identifier or part is not None:
        return await parts.part(service, request, identifier, part, delimiter)
    if wanted(identifier)[1] is None and prefers(request.accept, signposting.TYPES):
        return await landing.linkset(service, request, identifier)
    record = service.record(identifier)
    if record is None and (unfolded := service.unfolding.unfold(identifier)) is not None:
        return await parts.unfolded(service, request, identifier, unfolded)
    query = asking.query(service, request, identifier, region=region)
    try:
        step = _step(request, query, record)
    except NotAcceptable as error:
        if not members.suits(request, identifier, error.offered):
            raise
        return await members.listing(service, request, identifier, Question())
    given = (step.representation.media_type,) if isinstance(step, Fetch) else ()
    if members.suits(request, identifier, given):
        return await members.listing(service, request, identifier, Question())
    if append and isinstance(step, Redirect):
        step = step.to(templates.appended(step.location.uri, append))
    return carry_out(service, request, identifier, step, record)


def _step(request: Request, query: Query, record: Record | None) -> Step:
    """What to do, with the wish for the record itself taken into account."""
    identifier = query.identifier
    for_record = prefers(request.accept, TYPES)
    try:
        step = decide(query, record)
    except NotAcceptable:
        if not for_record or record is None:
            raise
        return Description(identifier=identifier, record=record)
    if for_record and record is not None and _differs(request, identifier, step):
        return Description(identifier=identifier, record=record)
    return step


def _differs(request: Request, identifier: Identifier, step: Step) -> bool:
    """Whether what would be given is of another media type than the one asked for first."""
    if isinstance(step, Fetch):
        named = wanted(identifier)[1] is not None  # then nothing is negotiated
        kind: str | None = step.representation.media_type
        return not named and _essence(kind) not in leading(request.accept)
    if isinstance(step, Redirect):
        known = media_type(step.location.format) if step.location.format else None
        return known is None or known.essence not in leading(request.accept)
    return False


def _essence(kind: str | None) -> str:
    return (kind or "").partition(";")[0].strip().lower()


def carry_out(
    service: Service,
    request: Request,
    identifier: Identifier,
    step: Step,
    record: Record | None,
    *,
    status: int = HTTPStatus.FOUND,
) -> Answer:
    """The answer that a step is. `status` is that of a redirect."""
    fresh = service.settings.fresh_seconds
    match step:
        case Fetch():
            return held.answer(
                request,
                service.registry.segments,
                step,
                record or Record(),
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
            return locations(service, request, identifier)


async def description(
    service: Service, request: Request, identifier: Identifier, part: str | None = None
) -> Answer:
    """What is known about an identifier, or about a part of it. Raises NotFound."""
    inside = pointed(service, identifier, part)
    if inside is None:
        query = Query(identifier=identifier, want=Want.DESCRIPTION)
        record = service.record(identifier)
        return carry_out(service, request, identifier, decide(query, record), record)
    if is_elsewhere(inside):
        raise NotFound(identifier=str(identifier))
    whole = identifier if identifier.whole == inside.whole else inside.whole
    selector = selected(service, identifier, inside)
    fresh = service.settings.fresh_seconds
    return describe(request, whole, inside.record, fresh=fresh, selector=selector)


def history(service: Service, request: Request, identifier: Identifier) -> Answer:
    """All revisions of the record as JSON, the oldest first, with what each of them changed.

    Who made them is told to those only who administer the identifier.
    """
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
