"""Bytes held here, without ASGI: a representation by its full name, complete or one range of it.

How it works: `ReadyRepresentation` is the result of resolving a target. Its header is written once,
except for the length and the range of a partial answer; the bytes come from the page cache. If they
are not cached, or exceed 256 KiB, the plain way streams them.

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
from perdure.storage.byte_ports import Bytes, FetchNeeded


class ReadyRepresentation:
    """A representation requested by its full name, with its header for one public address."""

    def __init__(self, step: Fetch, record: Record, *, lifetime: bytes, vary: bytes) -> None:
        self._step = step
        self._modified = find_last_modified(record, step.representation)
        self._lifetime = lifetime
        self._vary = vary
        self._base = ""
        """The public address for which the header is written."""
        self._fields = b""
        """The fields that are the same for all ranges."""
        self._head = b""
        """The status line and all fields of the complete representation."""

    def write_answer(
        self, source: Bytes, base: str, asked: Span | None, *, with_body: bool
    ) -> bytes | None:
        """Write a complete response, or return None if the plain way must answer.

        `asked` is the range as in the request: it may be beyond the end.
        """
        if base != self._base or not self._head:
            self._write_head(base)
        held = self._step.representation
        head, span = self._head, (0, held.length)
        if asked is not None:
            span = (asked[0], min(asked[1], held.length))
            if span[0] >= span[1]:
                return None
            head = self._write_partial_head(span)
        if not with_body:
            return head
        try:
            body = read_at_once(source, held, span)
        except (Corrupt, FetchNeeded):
            return None
        return None if body is None else head + body

    def _write_head(self, base: str) -> None:
        step = self._step
        held = step.representation
        fields = make_validators(
            step, self._modified, base, lifetime=self._lifetime, vary=self._vary
        )
        fields += describe_bytes(step.identifier, held, digest=True)
        self._base, self._fields = base, write_fields(fields)
        whole = write_fields(make_span_fields(held, (0, held.length)))
        self._head = b"".join((STATUS_LINES[HTTPStatus.OK], self._fields, whole, b"\r\n"))

    def _write_partial_head(self, span: Span) -> bytes:
        changing = write_fields(make_span_fields(self._step.representation, span, partial=True))
        line = STATUS_LINES[HTTPStatus.PARTIAL_CONTENT]
        return b"".join((line, self._fields, changing, b"\r\n"))
