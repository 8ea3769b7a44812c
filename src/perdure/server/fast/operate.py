"""The plain operation on an identifier, carried out inside the protocol class.

How it works: a client sends `POST /<identifier>?<operation>`, or a description by PUT, in one piece
with its body. The header is judged as for the other plain writes
(`perdure.server.fast.writer_headers`). Then the function of the plain way
(`perdure.server.resource.changing.open_write`) checks the request and makes the command of its
body, without waiting for anything, and the command goes to the write door. The function of the
plain way makes the answer from the receipt.

Everything else goes the plain way: promised digests, signed requests, operations for which a thread
or another server must be asked, and all errors except those that only the write door can find.

What must stay true: an answer from here is the same, byte for byte, as the plain way's; no request
is carried out as if it had another method; no secret is remembered, because a header is stored
only as its digest, and its fields without the secret.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from perdure.errors import PerdureError
from perdure.model.commands import Answer as Outcome
from perdure.model.commands import Receipt
from perdure.server.common import auth, problems
from perdure.server.common.answers import Answer, write_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.fast.bearer import read_plain_bearer
from perdure.server.fast.headers import find_public_base
from perdure.server.fast.requests import make_request
from perdure.server.fast.writer_headers import RepeatedHeaders
from perdure.server.protocol.head import Headers
from perdure.server.resource import changing
from perdure.server.resource.planning import PlanLater, PlannedWrite, answer_receipt
from perdure.server.routes.dispatch import find_handler

Send = Callable[[bytes], None]
_LONGEST = 4096  # bytes of a header whose fields are remembered
_HANDLERS = (changing.answer_put, changing.answer_post)


class _OperatingHeader(msgspec.Struct, frozen=True):
    """The meaning of a header that asks only for an operation."""

    digest: str
    """The digest of the token."""
    base: str
    """The public address of this resolver."""
    fields: Headers
    """The fields, except the secret."""


class FastOperate:
    """Takes plain operations, and returns False for all other requests.

    See `perdure.server.protocol.http.FastWrite`.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._headers = RepeatedHeaders(self._judge_header)
        self._counts = service.metrics.fast_writes

    def __call__(
        self, method: bytes, target: bytes, fields: bytes, body: bytes, send: Send
    ) -> bool:
        if b":" not in target and b"/" not in target[1:]:  # a page
            return False
        usual = self._headers.judge_fields(fields) if len(fields) <= _LONGEST else None
        if usual is None or not self._service.registry.door.is_open:
            return False
        request = make_request(method, target, usual.fields, usual.base)
        try:
            planned = self._plan_write(request, usual.digest, body)
        except PerdureError:
            return False
        if planned is None:
            return False
        command = msgspec.structs.replace(planned.command, bearer=planned.command.by)
        then = partial(self._send_answer, request, planned, send)
        self._service.registry.door.hand_in(command, then)
        return True

    def _plan_write(self, request: Request, digest: str, body: bytes) -> PlannedWrite | None:
        """Plan a write, or return None if the plain way must. Raises what refuses the request."""
        service = self._service
        found = find_handler(request.method, request.target, request.raw)
        if found is None or found.handler not in _HANDLERS:
            return None
        request.allow = found.allow
        # An unknown token has no rights, but an unknown name is reported before it.
        request.signer = auth.find_known_token(service, digest)
        opened = changing.open_write(service, request)
        if opened is None or isinstance(opened, Answer) or len(body) > opened.limit:
            return None
        planned = opened.plan(body)
        return None if isinstance(planned, PlanLater) else planned

    def _judge_header(self, found: dict[bytes, bytes]) -> _OperatingHeader | None:
        """Return the meaning of a header, or None if the plain way must decide."""
        settings = self._service.settings
        base = find_public_base(found, settings.base_url)
        digest = read_plain_bearer(found, settings.replay_origin, conditional=True)
        if base is None or digest is None:
            return None
        kept = [field for field in found.items() if field[0] != b"authorization"]
        return _OperatingHeader(digest, base, kept)

    def _send_answer(
        self, request: Request, planned: PlannedWrite, send: Send, outcome: Outcome
    ) -> None:
        if isinstance(outcome, Receipt):
            self._counts.operated += 1
            answer = answer_receipt(self._service, request.base_url, planned, outcome)
        else:
            self._service.note_refusal(outcome)
            answer = problems.answer_problem(problems.log_problem(outcome, request.method), request)
        send(write_answer(answer))
