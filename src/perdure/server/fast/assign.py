"""The plain write to a handle, carried out inside the protocol class: its values, or their removal.

How it works: a client that creates many handles repeats the same header, and sends each body in one
piece with it. The token of such a header is cached for the complete header.
`perdure.server.fast.taskless` does the rest.

Everything else goes the plain way: callers with passwords, secrets, whose hashing takes a while,
escaped names, and every answer that needs no command, errors included.

What must stay true: an answer from here is the same, byte for byte, as the plain way's; no secret
is remembered, because a header is stored only as its digest.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.errors import PerdureError
from perdure.reading.targets import read_target
from perdure.server.common import auth
from perdure.server.common.answers import Answer, write_answer
from perdure.server.common.service import Service
from perdure.server.fast import taskless
from perdure.server.fast.bearer import read_plain_bearer
from perdure.server.fast.taskless import TasklessWrites
from perdure.server.fast.writer_headers import RepeatedHeaders

Send = Callable[[bytes], None]

BELOW = f"/{taskless.BELOW}".encode()
"""The beginning of the targets of handles."""


class FastAssign:
    """Takes plain writes below `BELOW`, and returns False for all others.

    See `perdure.server.protocol.http.FastWrite`.
    """

    def __init__(self, service: Service, writes: TasklessWrites) -> None:
        self._service = service
        self._writes = writes
        self._headers = RepeatedHeaders(self._find_digest)

    def __call__(
        self, method: bytes, target: bytes, fields: bytes, body: bytes, send: Send
    ) -> bool:
        if b"%" in target:
            return False
        digest = self._headers.judge_fields(fields)
        if digest is None:
            return False
        try:
            token = auth.find_known_token(self._service, digest)
            found = read_target(target)
        except PerdureError:
            return False

        def send_answer(answer: Answer) -> None:
            send(write_answer(answer))

        return self._writes.start_assignment(method.decode(), found, token, body, send_answer)

    def _find_digest(self, found: dict[bytes, bytes]) -> str | None:
        """Return the digest of the token, or None if the plain way must decide."""
        return read_plain_bearer(found, self._service.settings.content_origin)
