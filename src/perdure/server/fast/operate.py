"""The plain write to an identifier, carried out inside the protocol class.

How it works: a client sends `POST /<identifier>?<operation>`, or a description or the bytes of a
small document by PUT, in one piece with its body. The header is judged as for the other plain
writes (`perdure.server.fast.writer_headers`). `perdure.server.fast.taskless` does the rest.

Everything else goes the plain way: promised digests, signed requests, types that must be detected,
operations for which a thread or another server must be asked, and all errors except those that only
the write door can find.

What must stay true: an answer from here is the same, byte for byte, as the plain way's; no request
is carried out as if it had another method; no secret is remembered, because a header is stored
only as its digest, and its fields without the secret.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.errors import PerdureError
from perdure.server.common import auth
from perdure.server.common.answers import Answer, write_answer
from perdure.server.common.service import Service
from perdure.server.fast.bearer import read_plain_bearer
from perdure.server.fast.headers import find_public_base
from perdure.server.fast.requests import make_request
from perdure.server.fast.taskless import TasklessWrites
from perdure.server.fast.writer_headers import RepeatedHeaders
from perdure.server.protocol.head import Headers

Send = Callable[[bytes], None]
_LONGEST = 4096  # bytes of a header whose fields are remembered


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

    def __init__(self, service: Service, writes: TasklessWrites) -> None:
        self._service = service
        self._writes = writes
        self._headers = RepeatedHeaders(self._judge_header)

    def __call__(
        self, method: bytes, target: bytes, fields: bytes, body: bytes, send: Send
    ) -> bool:
        if b":" not in target and b"/" not in target[1:]:  # a page
            return False
        usual = self._headers.judge_fields(fields) if len(fields) <= _LONGEST else None
        if usual is None:
            return False
        request = make_request(method, target, usual.fields, usual.base)
        try:
            # An unknown token has no rights, but an unknown name is reported before it.
            request.signer = auth.find_known_token(self._service, usual.digest)
        except PerdureError:
            return False

        def send_answer(answer: Answer) -> None:
            send(write_answer(answer))

        return self._writes.start_operation(request, body, send_answer)

    def _judge_header(self, found: dict[bytes, bytes]) -> _OperatingHeader | None:
        """Return the meaning of a header, or None if the plain way must decide."""
        settings = self._service.settings
        base = find_public_base(found, settings.base_url)
        digest = read_plain_bearer(found, settings.content_origin, conditional=True)
        if base is None or digest is None:
            return None
        kept = [field for field in found.items() if field[0] != b"authorization"]
        return _OperatingHeader(digest, base, kept)
