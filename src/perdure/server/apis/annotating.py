"""Writing annotations over HTTP: POST mints assertions, PUT versions them, DELETE retracts them.

What must stay true: the caller has the right `assert` for the series, for each name of this
registry that an assertion is about, and made the assertion that is replaced or retracted; the
rights are checked before anything is written.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import msgspec

from perdure.errors import PerdureError
from perdure.errors.assertions import AssertionTypeUnknown, RetractionForeign
from perdure.errors.conflicts import StateNotNamed
from perdure.errors.credentials import RightMissing
from perdure.errors.limits import OperationsTooMany
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier, parse
from perdure.model.assertions import LONGEST, Assertion, read_assertion
from perdure.model.commands import Commit, Mint, Receipt
from perdure.model.queries import Reader
from perdure.model.records import Token
from perdure.reading.assertions import HeldAssertion
from perdure.server.apis import batches
from perdure.server.apis.annotation_answers import (
    find_annotation,
    make_annotation_answer,
    make_annotation_tag,
)
from perdure.server.apis.proposing import propose_annotation
from perdure.server.common import auth, problems
from perdure.server.common.answers import Answer, make_answer, make_empty_answer
from perdure.server.common.conditions import read_state_tags
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.planning import read_whole_body
from perdure.server.resource.writing import read_idempotency_key
from perdure.upkeep.asserting import (
    check_assertion,
    make_assertion_content,
    plan_assertion,
    write_retraction,
)
from perdure.upkeep.triples.nanopublications import make_annotation
from perdure.upkeep.triples.quads import TRIG

RIGHT = "assert"
_TYPES = ("application/ld+json", "application/json", batches.MEDIA_TYPE, TRIG)


async def create_annotations(service: Service, request: Request, series: str) -> Answer:
    """Answer POST to a container: mint an assertion, or one for each line of JSON Lines.

    Without the right, an assertion becomes a proposal, if the operator allows it.

    Raises Unauthenticated, Forbidden, InvalidRequest, TooLarge and the errors of `check_assertion`.
    """
    token = auth.find_bearer(service, request)
    may_propose = service.settings.assertions != "off"
    if not may_propose:
        auth.check_asserting(service, token, series, ())
    auth.check_share(service, request, token)
    kind = _read_type(request)
    if kind == batches.MEDIA_TYPE:
        auth.check_asserting(service, token, series, ())
        return await _create_lines(service, request, token, series)
    data = await _read_document(service, request, kind)
    reader = find_reader(service, request)
    try:
        auth.check_asserting(service, token, series, ())
        planned = await service.run_cutter(_plan, service, token, series, data, reader)
    except RightMissing:
        if not may_propose:
            raise
        return await propose_annotation(service, request, token, series, data)
    command = msgspec.structs.replace(planned, once=read_idempotency_key(request))
    receipt = await service.submit_command(command, token.name)
    service.metrics.count_write(RIGHT, receipt.outcome)
    held = _make_held(service, receipt, data, token)
    return make_annotation_answer(request, held, HTTPStatus.CREATED)


def _read_type(request: Request) -> str:
    """Return the media type of a body. Raises ContentNotSupported."""
    kind = strip_parameters(request.read_field(b"content-type"))
    if kind not in _TYPES:
        raise AssertionTypeUnknown(media_type=kind, known=_TYPES)
    return kind


async def _read_document(service: Service, request: Request, kind: str) -> bytes:
    """Return the annotation in a body; of a nanopublication, the one that keeps it."""
    data = await read_whole_body(request, LONGEST)
    if kind != TRIG:
        return data
    return msgspec.json.encode(await service.run_cutter(make_annotation, data))


def _plan(service: Service, token: Token, series: str, data: bytes, reader: Reader) -> Mint:
    """Check an assertion and the rights of its actor. Return the command that stores it."""
    assertion = read_assertion(data)
    auth.check_asserting_about(service, token, assertion.about)
    check_assertion(service.registry, data, reader)
    return plan_assertion(
        service.registry, assertion, data, series=series, by=token.name, bearer=token.name
    )


def _make_held(service: Service, receipt: Receipt, data: bytes, token: Token) -> HeldAssertion:
    return HeldAssertion(
        identifier=parse(receipt.identifier),
        assertion=read_assertion(data),
        data=data,
        by=token.name,
        at=auth.current_time(service),
    )


# many
# ----


async def _create_lines(service: Service, request: Request, token: Token, series: str) -> Answer:
    """Mint an assertion for each line; each has an outcome of its own."""
    lines = (await read_whole_body(request, batches.LARGEST)).splitlines()
    wanted = [line for line in lines if line.strip()]
    if len(wanted) > batches.MOST:
        raise OperationsTooMany(limit=batches.MOST)
    reader = find_reader(service, request)
    plans = await service.run_cutter(_plan_lines, service, token, series, wanted, reader)
    outcomes = await asyncio.gather(*(_store_line(service, one, token) for one in plans))
    body = b"".join(msgspec.json.encode(one) + b"\n" for one in outcomes)
    return make_answer(HTTPStatus.OK, batches.MEDIA_TYPE, body, (b"cache-control", b"no-store"))


def _plan_lines(
    service: Service, token: Token, series: str, lines: list[bytes], reader: Reader
) -> list[Mint | PerdureError]:
    plans: list[Mint | PerdureError] = []
    for line in lines:
        try:
            plans.append(_plan(service, token, series, line, reader))
        except PerdureError as error:
            plans.append(error)
    return plans


async def _store_line(
    service: Service, plan: Mint | PerdureError, token: Token
) -> dict[str, object]:
    if isinstance(plan, PerdureError):
        return _describe_refusal(plan)
    try:
        receipt = await service.submit_command(plan, token.name)
    except PerdureError as error:
        return _describe_refusal(error)
    service.metrics.count_write(RIGHT, receipt.outcome)
    return {"status": int(HTTPStatus.CREATED), "identifier": receipt.identifier}


def _describe_refusal(error: PerdureError) -> dict[str, object]:
    problem = problems.log_problem(error, "POST")
    return {"status": int(problem.status), "code": problem.code, "detail": problem.detail}


# one
# ---


async def replace_annotation(service: Service, request: Request, name: Identifier) -> Answer:
    """Answer PUT to an annotation with its next version.

    Raises Unauthenticated, Forbidden, PreconditionFailed, and the errors of `check_assertion`.
    """
    found = await _find_own(service, request, name)
    if isinstance(found, Answer):
        return found
    _, token, expect = found
    data = await _read_document(service, request, _read_type(request))
    reader = find_reader(service, request)
    await service.run_cutter(_check_replacement, service, token, data, reader)
    command = Commit(
        by=token.name,
        identifier=name,
        contents=(make_assertion_content(data),),
        expect=expect,
        once=read_idempotency_key(request),
    )
    receipt = await service.submit_command(command, token.name)
    service.metrics.count_write(RIGHT, receipt.outcome)
    return make_annotation_answer(request, _make_held(service, receipt, data, token))


def _check_replacement(service: Service, token: Token, data: bytes, reader: Reader) -> Assertion:
    assertion = check_assertion(service.registry, data, reader)
    auth.check_asserting_about(service, token, assertion.about)
    return assertion


async def delete_annotation(service: Service, request: Request, name: Identifier) -> Answer:
    """Answer DELETE of an annotation: a further assertion retracts it.

    Raises Unauthenticated, Forbidden, PreconditionFailed.
    """
    found = await _find_own(service, request, name)
    if isinstance(found, Answer):
        return found
    held, token, _ = found
    data = write_retraction(service.registry, held.identifier.resource, "")
    command = plan_assertion(
        service.registry,
        read_assertion(data),
        data,
        series=name.assigned_under,
        by=token.name,
        bearer=token.name,
        once=read_idempotency_key(request),
    )
    receipt = await service.submit_command(command, token.name)
    service.metrics.count_write(RIGHT, receipt.outcome)
    return make_empty_answer(HTTPStatus.NO_CONTENT)


async def _find_own(
    service: Service, request: Request, name: Identifier
) -> Answer | tuple[HeldAssertion, Token, int | None]:
    """Return the assertion that the caller may change, the caller, and the expected revision.

    The answer is that of a retracted one. Raises NotFound, Unauthenticated, Forbidden, or
    PreconditionFailed.
    """
    found = await find_annotation(service, request, name)
    if isinstance(found, Answer):
        return found
    token = auth.find_bearer(service, request)
    auth.check_right(service, token, RIGHT, name)
    if found.by != token.name:
        raise RetractionForeign(identifier=str(name), who=token.name, by=found.by)
    if b"if-match" not in request.fields:
        return found, token, None
    record = service.find_record(name)
    revision = record.revision if record is not None else 0
    tag = make_annotation_tag(found, request.base_url)
    if not read_state_tags(request.read_field(b"if-match")).names_strongly(tag):
        raise StateNotNamed(identifier=str(name), state=revision)
    return found, token, revision
