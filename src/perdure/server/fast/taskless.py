"""Writes that need no task: they are planned at once, and their answer is called back.

How it works: the functions of the plain way plan a write without waiting: operations, descriptions
and small documents (`perdure.server.resource.changing.open_write`), and the values of handles
(`perdure.server.apis.handle_writing`). The command goes to the write door. When the receipt
arrives, the function of the plain way makes the answer from it. Single requests come here from
`perdure.server.fast.operate` and `perdure.server.fast.assign`, the lines of a batch from
`perdure.server.apis.batches`.

Everything that must wait before the write door, and everything that is refused before it, is left
to the plain way: then nothing has happened.

What must stay true: an answer from here is the plain way's; `then` is called exactly once, in a
later turn of the event loop, if a method returns True, and otherwise never.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from perdure.errors import PerdureError, PreconditionFailed
from perdure.ids.handle import Handle
from perdure.ids.pdi import Pdi
from perdure.model.commands import Answer as CommandAnswer
from perdure.model.commands import Assign, Receipt
from perdure.model.records import Token
from perdure.policy.handles import values
from perdure.reading.targets import RequestTarget
from perdure.server.apis import handle_codes
from perdure.server.apis.handle_admins import Actor
from perdure.server.apis.handle_requests import (
    PATH,
    HandleRequest,
    is_home,
    read_handle,
    read_query,
)
from perdure.server.apis.handle_writing import (
    HandleChange,
    may_delete,
    plan_deletion,
    plan_writing,
)
from perdure.server.common import problems
from perdure.server.common.answers import Answer
from perdure.server.common.cold_reads import ColdReads
from perdure.server.common.conditions import CONDITIONS
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import changing
from perdure.server.resource.planning import PlanLater, PlannedWrite, answer_receipt
from perdure.server.routes.dispatch import find_handler

Then = Callable[[Answer], None]
"""Takes the answer of a write."""
BELOW = f"{PATH}/"
"""The beginning of the paths of handles."""
_HANDLERS = (changing.answer_put, changing.answer_post)
_CONDITIONAL = CONDITIONS | {b"idempotency-key"}


class TasklessWrites:
    """Starts writes, and returns False for all that the plain way must carry out."""

    def __init__(self, service: Service, cold: ColdReads) -> None:
        self._service = service
        self._cold = cold
        self._counts = service.metrics.fast_writes

    def start_write(self, request: Request, body: bytes, then: Then) -> bool:
        """Start any write of a request whose signer is known. Its body was read."""
        if request.signer is None:
            return False
        target = request.target
        if not target.text.startswith(BELOW):
            return self.start_operation(request, body, then)
        if b"%" in request.raw or not _CONDITIONAL.isdisjoint(request.fields):
            return False
        return self.start_assignment(request.method, target, request.signer, body, then)

    @property
    def _may_start(self) -> bool:
        """True if a look-up need not wait for the disk, and the door not for an election."""
        return not self._cold.is_cold and self._service.registry.door.is_open

    # writes to identifiers
    # ---------------------

    def start_operation(self, request: Request, body: bytes, then: Then) -> bool:
        """Start a write to an identifier, of a request whose signer is known."""
        if not self._may_start:
            return False
        try:
            planned = self._plan_operation(request, body)
        except PerdureError:
            return False
        if planned is None:
            return False
        command = msgspec.structs.replace(planned.command, bearer=planned.command.by)
        self._service.registry.door.hand_in(
            command, partial(self._answer_operation, request, planned, then)
        )
        return True

    def _plan_operation(self, request: Request, body: bytes) -> PlannedWrite | None:
        """Plan a write, or return None if the plain way must. Raises what refuses the request."""
        service = self._service
        found = find_handler(request.method, request.target, request.raw)
        if found is None or found.handler not in _HANDLERS:
            return None
        request.allow = found.allow
        signer = request.signer
        if signer is None or service.limits.find_mint_wait(signer.name):
            return None  # the plain way counts the refusal
        opened = changing.open_write(service, request)
        if opened is None or isinstance(opened, Answer) or len(body) > opened.limit:
            return None
        planned = opened.plan(body)
        return None if isinstance(planned, PlanLater) else planned

    def _answer_operation(
        self, request: Request, planned: PlannedWrite, then: Then, outcome: CommandAnswer
    ) -> None:
        if isinstance(outcome, Receipt):
            self._counts.operated += 1
            answer = answer_receipt(self._service, request.base_url, planned, outcome)
        else:
            self._service.note_refusal(outcome)
            answer = problems.answer_problem(problems.log_problem(outcome, request.method), request)
        then(answer)

    # values of handles
    # -----------------

    def start_assignment(
        self, method: str, target: RequestTarget, token: Token, body: bytes, then: Then
    ) -> bool:
        """Start to create a handle, or to replace or remove its values. The target has no escape.

        `method` is PUT or DELETE. Values with secrets, whose hashing takes a while, are refused.
        """
        if not self._may_start or not (method == "DELETE" or values.is_quickly_read(body)):
            return False
        try:
            asked = read_query(read_handle(target.text), target.question or "")
            identifier = asked.identifier
            self._service.registry.delegations.require_written_here(identifier)
            change = self._plan_change(method, asked, identifier, token, body)
            command = None if change is None else change.make_first_command()
        except PerdureError:
            return False
        if change is None or command is None or isinstance(command, Answer):
            return False
        self._hand_in(command, partial(self._take_outcome, method, asked, change, then), change)
        return True

    def _plan_change(
        self,
        method: str,
        asked: HandleRequest,
        identifier: Handle | Pdi,
        token: Token,
        body: bytes,
    ) -> HandleChange | None:
        """Plan a change, or return None if the plain way must. Raises what refuses the request."""
        service = self._service
        if not is_home(service, identifier):
            return None
        who = Actor(token.name, token=token)
        if method == "PUT":
            if asked.mint:
                return None
            return plan_writing(
                service, who, asked, identifier, values.read_values(body, identifier)
            )
        if method == "DELETE" and may_delete(service, asked, identifier):
            return plan_deletion(service, who, asked, identifier)
        return None

    def _hand_in(
        self, command: Assign, then: Callable[[CommandAnswer], None], change: HandleChange
    ) -> None:
        command = msgspec.structs.replace(command, bearer=change.bearer)
        self._service.registry.door.hand_in(command, then)

    def _take_outcome(
        self,
        method: str,
        asked: HandleRequest,
        change: HandleChange,
        then: Then,
        outcome: CommandAnswer,
    ) -> None:
        """Answer a write, or plan it again if another one was faster."""
        try:
            answer = self._settle_change(method, asked, change, then, outcome)
        except PerdureError as error:
            answer = handle_codes.answer_error(error, asked.handle, method, asked.form)
        if answer is not None:
            then(answer)

    def _settle_change(
        self,
        method: str,
        asked: HandleRequest,
        change: HandleChange,
        then: Then,
        outcome: CommandAnswer,
    ) -> Answer | None:
        """Return the answer of the plain way, or None if the write was handed in again."""
        if isinstance(outcome, Receipt):
            self._counts.assigned += 1
            return change.take_receipt(outcome)
        command: Answer | Assign | None = None
        if isinstance(outcome, PreconditionFailed):
            if not change.is_unread:
                change.note_race(outcome)
            command = change.make_command()
        elif change.is_unread:  # the plain way may have found a reason in the record before
            command = change.make_command()
            command = command if isinstance(command, Answer) else None
        if command is None:
            self._service.note_refusal(outcome)
            raise outcome
        if isinstance(command, Answer):
            return command
        self._hand_in(command, partial(self._take_outcome, method, asked, change, then), change)
        return None
