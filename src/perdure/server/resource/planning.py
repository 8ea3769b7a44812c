"""Writes that were checked as far as possible before their body, and what is left to do.

How it works: an `OpenWrite` needs nothing but the body. Its `plan` makes a command of the body, or
returns a `PlanLater` if that takes a while: another server is asked, or a thread decodes. So there
is one plan for every write, and two ways to carry it out: `carry_out` waits for the body and for
the receipt, and `perdure.server.fast.operate` calls the same functions without a task.

What must stay true: nothing is decided while waiting; `plan` and `answer_receipt` do not depend on
the way by which the request came.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from msgspec.structs import replace

from perdure.errors import DigestMismatch, Incomplete
from perdure.errors.limits import BodyTooLarge
from perdure.model.commands import Command, Receipt
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.writing import (
    make_receipt_answer,
    read_announced_length,
    read_promised_digests,
    refuse_coding,
)

LONGEST_BODY = 1 << 20  # bytes


class PlannedWrite(NamedTuple):
    """A command for the write door, and what its answer needs besides the receipt."""

    verb: str
    """The operation, as the metrics count it."""
    command: Command
    dropped: tuple[str, ...] = ()
    """The members of a metadata record that a description cannot have."""


class PlanLater(NamedTuple):
    """A write whose command needs work for which the event loop must not wait."""

    finish: Callable[[], Awaitable[PlannedWrite]]


class OpenWrite(NamedTuple):
    """A write whose request was checked, except for its body."""

    plan: Callable[[bytes], PlannedWrite | PlanLater]
    """Makes the command of the complete body. Raises InvalidRequest, and what rights raise."""
    limit: int = LONGEST_BODY
    """The most bytes of the body."""


async def carry_out(service: Service, request: Request, opened: OpenWrite) -> Answer:
    """Read the body of an open write, submit its command, and answer with the receipt."""
    planned = opened.plan(await read_whole_body(request, opened.limit))
    if isinstance(planned, PlanLater):
        planned = await planned.finish()
    receipt = await service.submit_command(planned.command, planned.command.by)
    return answer_receipt(service, request.base_url, planned, receipt)


def answer_receipt(service: Service, base: str, planned: PlannedWrite, receipt: Receipt) -> Answer:
    """Count a write, and answer it. `base` is the public address of this resolver."""
    service.metrics.count_write(planned.verb, receipt.outcome)
    if planned.dropped:
        receipt = replace(receipt, dropped=planned.dropped)
    return make_receipt_answer(base, receipt)


async def read_whole_body(request: Request, limit: int = LONGEST_BODY) -> bytes:
    """Read the complete body. Raises ContentNotSupported if it is encoded, TooLarge,
    DigestMismatch, or Incomplete, because a truncated body may still be valid JSON, or empty if
    every member is optional."""
    refuse_coding(request)
    found = bytearray()
    more = True
    while more:
        message = await request.receive()
        if message["type"] != "http.request":
            raise Incomplete(expected=read_announced_length(request), received=len(found))
        found += message["body"]
        more = message["more_body"]
        if len(found) > limit:
            raise BodyTooLarge(limit=limit)
    for algorithm, promised in read_promised_digests(request):
        received = hashlib.new(algorithm.replace("-", ""), found).digest()
        if received != promised:
            raise DigestMismatch(algorithm=algorithm, promised=promised.hex(), found=received.hex())
    return bytes(found)
