"""Batches: many operations in one request, each with an outcome of its own.

How it works: `POST /operations` takes JSON Lines. Each line states a request as it could be sent
alone: a target, a body and, if needed, conditions or an idempotency key. It is answered as a
request of the same client, so that every check and every answer is that of the request alone: most
are started without a task (`perdure.server.fast.taskless`), the dispatcher answers the others.
Lines that concern different names are carried out together, and so share one flush of the disk. A
line that concerns a name of an earlier line waits for that line. The answer has one line for each
operation, in the same order.

What must stay true: an operation fails alone; it sees what the earlier lines have done; the rights
of the client are checked for each operation.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any, Literal

import msgspec

from perdure.errors import MalformedIdentifier, PerdureError, UnknownScheme
from perdure.errors.limits import OperationsTooMany
from perdure.errors.requests import FieldNotForBatch, MalformedBody, OperationNotBatched
from perdure.ids import Identifier, find_scheme
from perdure.model.records import Token
from perdure.policy.handles.names import read_handle as parse_handle
from perdure.reading.targets import RequestTarget, read_identifier, read_target
from perdure.server.apis.handle_requests import PATH, read_handle
from perdure.server.common import auth, problems
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.conditions import CONDITIONS
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.protocol.http import EXTENSION
from perdure.server.resource.planning import read_whole_body
from perdure.upkeep.transfer.lines import explain_fault

MEDIA_TYPE = "application/jsonl"
MOST = 1000
"""The most operations of a request."""
LARGEST = 8 << 20
"""The most bytes of a request."""
_TOGETHER = 64  # operations; then other clients have their turn
_TARGET = re.compile(r"[!-~]{1,8192}", re.ASCII)
_BELOW = f"{PATH}/"
_MANUAL = "docs/reference/http.md"
_NOT_STORED = (b"cache-control", b"no-store")


class BatchedOperation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a batch: a request that could be sent alone."""

    target: str
    """Its target, such as `/hdl:21.T14999/7?bind`."""
    method: Literal["POST", "PUT", "DELETE"] = "POST"
    body: msgspec.Raw = msgspec.Raw(b"")
    """Its JSON."""
    type: str = "application/json"
    """The media type of the body."""
    if_match: str = ""
    if_none_match: str = ""
    idempotency_key: str = ""


class BatchedOutcome(msgspec.Struct, frozen=True):
    """A line of the answer."""

    status: int
    """The HTTP status that the request would have had alone."""
    body: msgspec.Raw
    """The JSON of its answer: a receipt, a problem document, or an answer of the Handle API."""


async def run_batch(service: Service, request: Request) -> Answer:
    """Answer POST to `/operations`. Raises Unauthenticated, InvalidRequest, TooLarge."""
    signer = auth.find_bearer(service, request)
    for name in sorted(CONDITIONS | {b"idempotency-key"}):
        if name in request.fields:
            raise FieldNotForBatch(field=name.decode())
    lines = (await read_whole_body(request, LARGEST)).splitlines()
    wanted = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if len(wanted) > MOST:
        raise OperationsTooMany(limit=MOST)
    answers: list[Answer] = []
    for run in _split_runs(wanted):
        answers += await _carry_out(request, signer, run)
    body = b"".join(map(_write_outcome, answers))
    return make_answer(HTTPStatus.OK, MEDIA_TYPE, body, _NOT_STORED)


_Line = tuple[BatchedOperation, RequestTarget] | PerdureError
"""An operation with its target, or the error for which it is refused."""


def _split_runs(lines: Iterable[tuple[int, bytes]]) -> Iterator[list[_Line]]:
    """Read lines, and yield runs of operations on different names, to be carried out together."""
    run: list[_Line] = []
    concerned: set[str] = set()
    for number, line in lines:
        operation = _read_line(number, line)
        names = set() if isinstance(operation, PerdureError) else _list_names(*operation)
        if len(run) == _TOGETHER or not concerned.isdisjoint(names):
            yield run
            run, concerned = [], set()
        run.append(operation)
        concerned |= names
    if run:
        yield run


def _read_line(number: int, line: bytes) -> _Line:
    """Read a line, or return the error for which it is refused."""
    try:
        operation = msgspec.json.decode(line, type=BatchedOperation)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return MalformedBody(body=f"line {number}", fault=explain_fault(error), manual=_MANUAL)
    refusal = OperationNotBatched(method=operation.method, target=operation.target)
    if not _TARGET.fullmatch(operation.target):
        return refusal
    target = read_target(operation.target.encode("ascii"))
    of_handle = target.text.startswith(_BELOW)
    if (operation.method == "POST") == of_handle or not (of_handle or find_scheme(target.text)):
        return refusal
    return operation, target


def _list_names(operation: BatchedOperation, target: RequestTarget) -> set[str]:
    """The keys of the names that an operation concerns, as far as they can be read."""
    found: set[str] = set()
    with suppress(MalformedIdentifier, UnknownScheme):
        if target.text.startswith(_BELOW):
            found.add(_find_key(parse_handle(read_handle(target.text))))
            return found
        identifier = read_identifier(target.text)
        if not identifier.is_pattern:  # a pattern mints a name that no other line can know
            found.add(_find_key(identifier))
        other = _read_other(operation.body)
        if other:
            found.add(_find_key(read_identifier(other)))
    return found


def _find_key(identifier: Identifier) -> str:
    return identifier.equal_key or identifier.key


class _OtherName(msgspec.Struct, frozen=True):
    """The member of a body that names a second record."""

    other: Any = ""


def _read_other(body: msgspec.Raw) -> str:
    """Return the other name of an alias, or an empty text."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        other = msgspec.json.decode(body, type=_OtherName).other
        return other if isinstance(other, str) else ""
    return ""


async def _carry_out(batch: Request, signer: Token, run: Sequence[_Line]) -> list[Answer]:
    """Carry out lines together. The answer to each is that of its request alone."""
    answers: dict[int, Answer] = {}
    slow: dict[int, Request] = {}
    started = 0
    all_answered = asyncio.get_running_loop().create_future()

    def take_answer(at: int, answer: Answer) -> None:
        nonlocal started
        answers[at] = answer
        started -= 1
        if not started and not all_answered.done():
            all_answered.set_result(None)

    for at, line in enumerate(run):
        if isinstance(line, PerdureError):
            answers[at] = _refuse_line(batch, line)
            continue
        request = _make_request(batch, line[0])
        request.signer = signer
        if batch.start_other(request, bytes(line[0].body), partial(take_answer, at)):
            started += 1
        else:
            slow[at] = _make_request(batch, line[0])
    found = await asyncio.gather(*map(batch.answer_other, slow.values()))
    if started:
        await all_answered
    answers.update(zip(slow, found, strict=True))
    return [answers[at] for at in range(len(run))]


def _refuse_line(batch: Request, error: PerdureError) -> Answer:
    request = _make_request(batch, BatchedOperation(target=f"/{batch.target.text}"))
    return problems.answer_problem(problems.log_problem(error, "POST"), request)


def _write_outcome(answer: Answer) -> bytes:
    """Write a line of the answer."""
    kind = dict(answer.fields).get(b"content-type", b"")
    body = b"null"
    if kind.startswith((b"application/json", b"application/problem+json")):
        body = msgspec.json.format(answer.body, indent=-1)  # one line
    return msgspec.json.encode(BatchedOutcome(answer.status, msgspec.Raw(body))) + b"\n"


def _make_request(batch: Request, operation: BatchedOperation) -> Request:
    """Make the request that a line states, from the client that sent the batch."""
    body = bytes(operation.body)
    stated = {
        b"host": batch.fields.get(b"host", b""),
        b"authorization": batch.fields.get(b"authorization", b""),
        b"content-type": operation.type.encode(),
        b"content-length": b"%d" % len(body),
        b"if-match": operation.if_match.encode(),
        b"if-none-match": operation.if_none_match.encode(),
        b"idempotency-key": operation.idempotency_key.encode(),
    }
    target = operation.target.encode("ascii")
    scope = {
        **batch.scope,
        "method": operation.method,
        "headers": [field for field in stated.items() if field[1]],
        "extensions": {EXTENSION: {"raw": target}},
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    made = Request(scope, receive, batch.base_url)
    made.signer = batch.signer
    return made
