"""The plain write to a handle, carried out inside the protocol class: new values for one handle.

How it works: a client that creates many handles repeats the same header, and sends each body in one
piece with it. The token of such a header is cached for the complete header. Everything else is done
by the functions of the plain way (`perdure.server.apis.handle_writing`), which need not wait before
the command goes to the write door: the request is read, planned and checked at once.

Everything else goes the plain way: callers with passwords, secrets, whose hashing takes a while,
escaped names, and every answer that needs no command, errors included.

What must stay true: an answer from here is the same, byte for byte, as the plain way's; no secret
is remembered, because a header is stored only as its digest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from perdure.errors import PerdureError, PreconditionFailed
from perdure.model.commands import Answer as Outcome
from perdure.model.commands import Assign, Receipt
from perdure.policy.handles import values
from perdure.reading.targets import read_target
from perdure.server.apis import handle_codes
from perdure.server.apis.handle_admins import Actor
from perdure.server.apis.handle_requests import (
    PATH,
    HandleRequest,
    is_home,
    read_handle,
    read_query,
)
from perdure.server.apis.handle_writing import HandleChange, plan_writing
from perdure.server.common import auth
from perdure.server.common.answers import Answer, write_answer
from perdure.server.common.service import Service
from perdure.server.fast.bearer import read_plain_bearer
from perdure.server.fast.writer_headers import RepeatedHeaders

Send = Callable[[bytes], None]

BELOW = f"/{PATH}/".encode()
"""The beginning of the targets of handles."""


class FastAssign:
    """Takes plain writes below `BELOW`, and returns False for all others.

    See `perdure.server.protocol.http.FastWrite`.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._headers = RepeatedHeaders(self._find_digest)
        self._counts = service.metrics.fast_writes

    def __call__(self, target: bytes, fields: bytes, body: bytes, send: Send) -> bool:
        if b"%" in target or not values.is_quickly_read(body):
            return False
        digest = self._headers.judge_fields(fields)
        if digest is None or not self._service.registry.door.is_open:
            return False
        try:
            found = read_target(target)
            asked = read_query(read_handle(found.text), found.question or "")
            identifier = asked.identifier
            if asked.mint or not is_home(self._service, identifier):
                return False
            token = auth.find_known_token(self._service, digest)
            sent = values.read_values(body, identifier)
            who = Actor(token.name, token=token)
            change = plan_writing(self._service, who, asked, identifier, sent)
            command = change.make_command()
        except PerdureError:
            return False
        if isinstance(command, Answer):
            return False
        self._hand_in(command, partial(self._take_outcome, asked, change, send), change.bearer)
        return True

    def _find_digest(self, found: dict[bytes, bytes]) -> str | None:
        """Return the digest of the token, or None if the plain way must decide."""
        return read_plain_bearer(found, self._service.settings.replay_origin)

    def _hand_in(self, command: Assign, then: Callable[[Outcome], None], bearer: str) -> None:
        command = msgspec.structs.replace(command, bearer=bearer)
        self._service.registry.door.hand_in(command, then)

    def _take_outcome(
        self, asked: HandleRequest, change: HandleChange, send: Send, outcome: Outcome
    ) -> None:
        """Answer a write, or plan it again if another one was faster."""
        try:
            answer = self._settle_change(asked, change, send, outcome)
        except PerdureError as error:
            answer = handle_codes.answer_error(error, asked.handle, "PUT", asked.form)
        if answer is not None:
            send(write_answer(answer))

    def _settle_change(
        self, asked: HandleRequest, change: HandleChange, send: Send, outcome: Outcome
    ) -> Answer | None:
        """Return the answer of the plain way, or None if the write was handed in again."""
        if isinstance(outcome, Receipt):
            self._counts.assigned += 1
            return change.take_receipt(outcome)
        if not isinstance(outcome, PreconditionFailed):
            self._service.note_refusal(outcome)
            raise outcome
        change.note_race(outcome)
        command = change.make_command()
        if isinstance(command, Answer):
            return command
        self._hand_in(command, partial(self._take_outcome, asked, change, send), change.bearer)
        return None
