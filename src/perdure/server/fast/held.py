"""Bytes held here, without ASGI: a representation by its full name, complete or one range of it.

How it works: `ReadyRepresentation` is the result of resolving a target. Its header is written once,
except for the length and the range, which change; the bytes come from the page cache. If they are
not cached, or exceed 256 KiB, the plain way streams them.

What must stay true: an answer from here is the same, byte for byte, as the plain way's.
"""

from __future__ import annotations

from http import HTTPStatus

from perdure.errors import Corrupt
from perdure.model.queries import Fetch
from perdure.model.records import Record
from perdure.server.common.answers import STATUS_LINES, write_fields
from perdure.server.common.bodies import read_at_once
from perdure.server.common.conditions import Span, find_last_modified
from perdure.server.resource.held import describe_bytes, make_span_fields, make_validators
from perdure.storage.ports import Bytes


class ReadyRepresentation:
    """A representation requested by its full name, with its header for one public address."""

    def __init__(self, step: Fetch, record: Record, *, lifetime: bytes, vary: bytes) -> None:
        self._step = step
        self._modified = find_last_modified(record, step.representation)
        self._lifetime = lifetime
        self._vary = vary
        self._base = ""
        self._same = b""
        """The fields that do not change, for this public address."""

    def write_answer(
        self, source: Bytes, base: str, asked: Span | None, *, with_body: bool
    ) -> bytes | None:
        """Write a complete response, or return None if the plain way must answer.

        `asked` is the range as in the request: it may be beyond the end.
        """
        held = self._step.representation
        span = (0, held.length)
        if asked is not None:
            span = (asked[0], min(asked[1], held.length))
            if span[0] >= span[1]:
                return None
        body = b""
        if with_body:
            try:
                found = read_at_once(source, held, span)
            except Corrupt:
                return None
            if found is None:
                return None
            body = found
        if base != self._base or not self._same:
            self._base, self._same = base, self._write_header(base)
        status = HTTPStatus.OK if asked is None else HTTPStatus.PARTIAL_CONTENT
        changing = write_fields(make_span_fields(held, span, partial=asked is not None))
        return b"".join((STATUS_LINES[status], self._same, changing, b"\r\n", body))

    def _write_header(self, base: str) -> bytes:
        step = self._step
        fields = make_validators(
            step, self._modified, base, lifetime=self._lifetime, vary=self._vary
        )
        fields += describe_bytes(step.identifier, step.representation, digest=True)
        return write_fields(fields)
