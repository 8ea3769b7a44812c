"""Answers requests of the native Handle protocol from the registry.

How it works: a resolution is the same question as a GET of `/api/handles/…`, and the functions of
that interface list the values. Answers that no reading rule decided are kept, by the octets of the
request, until the next change, or for a minute.

What must stay true: only values that everyone may read are written; a message that is itself an
answer is never answered, so that two servers cannot answer each other.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from perdure.errors import MalformedIdentifier, NotFound, PerdureError
from perdure.errors.delegations import AnsweredElsewhere
from perdure.model.queries import Query, Reader, Want
from perdure.model.records import Value
from perdure.policy.handles import names
from perdure.policy.handles.values import is_shown
from perdure.registry import Registry
from perdure.server.apis import handle_codes
from perdure.server.apis.handle_codes import HandleCode
from perdure.server.apis.handles import list_handle_values, select_values
from perdure.server.native import value_bytes, wire
from perdure.server.native.site import ServerKey
from perdure.server.native.wire import Envelope, EnvelopeFlag, Flag, Header, MalformedMessage

_MOST_KEPT = 20_000
_LONGEST_KEPT = 8192  # octets
_KEPT_SECONDS = 60
_SIGNED_SECONDS = 12 * 3600
"""Seconds for which a signed answer is valid."""


class NativeAnswer(NamedTuple):
    """An answer without its envelope."""

    message: bytes
    is_signed: bool = False
    keeps_open: bool = False


class Answerer:
    """Answers the requests of one process. For one thread."""

    def __init__(
        self,
        registry: Registry,
        site: dict[str, Any],
        key: ServerKey | None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._registry = registry
        self._serial = int(site["serialNumber"])
        self._site = value_bytes.write_site(site)
        self._key = key
        self._clock = clock
        self._generation = registry.records.open_counter()
        self._state = (-1, 0)
        """The count of changes and the minute of the kept answers: delegations have a first day."""
        self._kept: dict[tuple[bool, bytes], NativeAnswer] = {}
        """By what decides an answer: whether the client knows SHA-256, and the request."""

    def close(self) -> None:
        self._generation.close()

    def answer(self, envelope: Envelope, message: bytes, address: str) -> NativeAnswer | None:
        """Answer a message without its envelope, from a client with an address.

        Return None if it must not be answered. Raises MalformedMessage if it is not even a header.
        """
        state = (self._generation.change_count, int(self._clock()) // _KEPT_SECONDS)
        if state != self._state:
            self._kept.clear()
            self._state = state
        asked = (envelope.knows_sha256, message)
        kept = self._kept.get(asked)
        if kept is not None:
            return kept
        header, body = wire.read_header(message)
        if header.code:
            return None
        may_keep = True
        if envelope.flags & (EnvelopeFlag.COMPRESSED | EnvelopeFlag.ENCRYPTED):
            code, said = HandleCode.PROTOCOL_ERROR, b"this server reads plain messages only"
        else:
            code, said, may_keep = self._answer_body(header, body, address)
        if code != HandleCode.SUCCESS:
            said = wire.write_text(said)
        made = self._write(envelope, header, message, code, said)
        is_short = len(message) + len(made.message) <= _LONGEST_KEPT
        if may_keep and is_short and not made.is_signed:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[asked] = made
        return made

    def _answer_body(
        self, header: Header, body: bytes, address: str
    ) -> tuple[HandleCode, bytes, bool]:
        """Return the code, the body or the message of an error, and whether it may be kept."""
        if header.opcode == wire.Opcode.SITE_INFO:
            return HandleCode.SUCCESS, self._site, True
        if header.opcode != wire.Opcode.RESOLUTION:
            return HandleCode.NOT_SUPPORTED, b"this interface is read-only", True
        try:
            asked = wire.read_resolution(body)
        except MalformedMessage as error:
            return HandleCode.PROTOCOL_ERROR, str(error).encode(), True
        try:
            values, may_keep = self._find_values(asked, address)
        except MalformedIdentifier as error:
            return HandleCode.INVALID_HANDLE, error.problem().encode(), True
        except PerdureError as error:
            code = handle_codes.find_code(error)
            # no client can authenticate here, so none must try to
            is_closed = code == HandleCode.AUTHENTICATION_NEEDED
            return HandleCode.FORBIDDEN if is_closed else code, b"", False
        if isinstance(values, HandleCode):
            return values, b"", may_keep
        if not values:
            return HandleCode.VALUES_NOT_FOUND, b"", may_keep
        written = wire.write_resolution(asked.handle, list(map(value_bytes.write_value, values)))
        return HandleCode.SUCCESS, written, may_keep

    def _find_values(
        self, asked: wire.ResolutionRequest, address: str
    ) -> tuple[list[Value] | HandleCode, bool]:
        """Return the public values, or a code, and whether the answer is that of every reader."""
        identifier = names.read_handle(asked.handle)
        query = Query(
            identifier=identifier,
            want=Want.LOCATIONS,
            follow_aliases=False,
            reader=Reader(address=address),
            accepts_elsewhere=True,
        )
        prefix = names.find_home_prefix(identifier)
        is_home = not prefix or prefix in self._registry.settings.handle_prefixes
        unknown = HandleCode.NOT_FOUND if is_home else HandleCode.NOT_HOME
        try:
            resolved = self._registry.reading.resolve(query)
        except AnsweredElsewhere:
            return HandleCode.NOT_HOME, False
        except NotFound:
            return unknown, not self._registry.reading.rules.refresh()
        may_keep = resolved.guard is None
        record = resolved.holder
        if resolved.elsewhere is not None:
            return HandleCode.NOT_HOME, may_keep
        if record is None or record.tombstone:
            return unknown, may_keep
        listed = list_handle_values(resolved, record, self._registry.settings.base_url)
        if listed is None:
            return unknown, may_keep
        chosen = select_values(listed, asked.indexes, asked.types)
        return [one for one in chosen if is_shown(one, to_admin=False)], may_keep

    # writing
    # -------

    def _write(
        self, envelope: Envelope, asked: Header, request: bytes, code: int, body: bytes
    ) -> NativeAnswer:
        """Write an answer: with the digest of the request, and signed, if the client asks so."""
        certified = bool(asked.flags & Flag.CERTIFY)
        if certified and self._key is None:
            code, body = HandleCode.ERROR, wire.write_text("this server has no key to sign with")
        flags, expires = 0, 0
        newer = envelope.knows_sha256
        if asked.flags & Flag.DIGEST:
            flags |= Flag.DIGEST
            body = _digest_request(request[: wire.HEADER + asked.length], newer=newer) + body
        keeps_open = bool(asked.flags & Flag.KEEP_OPEN)
        if not certified or self._key is None:
            head = wire.write_header(asked, code, flags, self._serial, expires, len(body))
            return NativeAnswer(head + body + wire.NO_CREDENTIAL, keeps_open=keeps_open)
        flags |= Flag.CERTIFY
        expires = int(self._clock()) + _SIGNED_SECONDS
        signed = wire.write_header(asked, code, flags, self._serial, expires, len(body)) + body
        hash, named = ("sha256", "SHA-256") if newer else ("sha1", "SHA-1")
        credential = wire.write_credential(named, self._key.sign(signed, hash))
        return NativeAnswer(signed + credential, is_signed=True, keeps_open=keeps_open)


def _digest_request(request: bytes, *, newer: bool) -> bytes:
    """Return the digest of a request, after the number of its algorithm (section 2.2.3)."""
    if newer:
        return b"\x03" + hashlib.sha256(request).digest()
    return b"\x02" + hashlib.sha1(request).digest()  # noqa: S324  (older clients know no other)
