"""The plain upload, minted inside the protocol class: a small document, put into a series.

How it works: a client that deposits many documents repeats the same header, and sends each body in
one piece with it. The meaning of such a header (token, media type, public address) is cached for
the complete header. Then each document is only hashed, the token is checked, and a command goes to
the write door. The function of the plain way makes the answer from the receipt; if two names differ
only in their numbers, the answer for one is reused for the other with the name replaced.

Everything else goes the plain way: conditions, keys, promised digests, types that must be detected,
series that are not minted here, invalid tokens, and all errors except those that only the write
door can find.

What must stay true: an answer from here is the same, byte for byte, as the plain way's; no secret
is remembered, because a header is stored only as its digest.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

import msgspec

from perdure.errors import PerdureError
from perdure.model.commands import Answer, Mint, Receipt
from perdure.model.records import Token
from perdure.server.common import auth, problems
from perdure.server.common.answers import write_answer
from perdure.server.common.service import Service
from perdure.server.fast.bearer import read_plain_bearer
from perdure.server.fast.headers import find_public_base
from perdure.server.fast.requests import make_request
from perdure.server.fast.writer_headers import RepeatedHeaders
from perdure.server.protocol.head import split_fields
from perdure.server.resource.writing import (
    LARGE,
    make_receipt_answer,
    minting_authority,
    needs_look,
    read_declared_language,
    read_declared_type,
    spell_type,
)
from perdure.storage.spool import make_content
from perdure.writing.content_targets import may_assert

Send = Callable[[bytes], None]

_SERIES = b"/pdi://"
_MOST_GIVEN = 1024
_SECOND = timedelta(seconds=1)


class UsualUpload(msgspec.Struct, frozen=True):
    """The meaning of a header that asks only for minting."""

    digest: str
    """The digest of the token."""
    base: str
    """The public address of this resolver."""
    format: str
    media_type: str
    charset: str | None
    language: str | None


class _MintingRight(NamedTuple):
    """A right to mint in a series, valid for one second unless a token changes."""

    token: Token
    digest: str
    series: str
    generation: int
    begin: datetime
    end: datetime


class _AnswerTemplate(NamedTuple):
    """An answer, and the name in it."""

    name: bytes
    answer: bytes


class FastMint:
    """Takes plain uploads, and returns False for all others.

    See `perdure.server.protocol.http.FastWrite`.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        settings = service.settings
        self._series: dict[bytes, str] = {}
        """Targets that mint, by the function of the plain way, and their series."""
        self._longest = min(LARGE, settings.largest_upload)
        self._headers = RepeatedHeaders(self._judge_header)
        self._allowed_last: _MintingRight | None = None
        self._given: dict[tuple[bytes, str, str, int], _AnswerTemplate] = {}
        self._counts = service.metrics.fast_writes

    def __call__(self, target: bytes, fields: bytes, body: bytes, send: Send) -> bool:
        service = self._service
        series = self._series.get(target) or self._find_series(target)
        door = service.registry.door
        if series is None or len(body) > self._longest or not door.is_open:
            return False
        if self._is_minted_elsewhere(series):
            return False
        usual = self._headers.judge_fields(fields)
        if usual is None or may_assert(usual.media_type, body):  # that needs another right
            return False
        token = self._find_token(usual.digest, series)
        if token is None or service.limits.find_mint_wait(token.name):
            return False
        self._counts.received += len(body)
        document = make_content(
            body,
            format=usual.format,
            media_type=usual.media_type,
            charset=usual.charset,
            language=usual.language,
        )
        command = Mint(by=token.name, bearer=token.name, authority=series, contents=(document,))
        door.hand_in(command, partial(self._send_answer, target, fields, usual, send))
        return True

    def _find_series(self, target: bytes) -> str | None:
        """Return the series in which a target mints, or None if the plain way must decide."""
        if not (target.startswith(_SERIES) and target.endswith(b"/") and target.isascii()):
            return None
        text = target[1:].decode("ascii")
        try:
            series = minting_authority(text, self._service.registry)
        except PerdureError:
            return None
        if series is None or text != f"pdi://{series}/":  # another spelling
            return None
        self._series[target] = series
        return series

    def _is_minted_elsewhere(self, series: str) -> bool:
        """Return True if another resolver assigns the names of today; the plain way says which."""
        delegations = self._service.registry.delegations
        if not delegations.load_index().has_writers:
            return False
        return delegations.find_minting(series) is not None

    def _find_token(self, digest: str, series: str) -> Token | None:
        """Return the token if it may mint in this series. Checked once a second, or on a change."""
        service = self._service
        generation, moment = service.bearers.generation, service.registry.clock()
        last = self._allowed_last
        if (
            last is not None
            and last.digest == digest
            and last.series == series
            and last.generation == generation
            and last.begin <= moment < last.end
        ):
            return last.token
        try:
            token = auth.find_known_token(service, digest)
            auth.check_minting(service, token, series)
        except PerdureError:
            return None
        begin = moment.replace(microsecond=0)
        self._allowed_last = _MintingRight(
            token, digest, series, generation, begin, begin + _SECOND
        )
        return token

    def _judge_header(self, found: dict[bytes, bytes]) -> UsualUpload | None:
        """Return the meaning of a header, or None if the plain way must decide."""
        settings = self._service.settings
        base = find_public_base(found, settings.base_url)
        digest = read_plain_bearer(found, settings.content_origin)
        if base is None or digest is None:
            return None
        text = {name: value.decode("latin-1") for name, value in found.items()}
        try:
            kind = read_declared_type(text.get(b"content-type", ""))
            language = read_declared_language(text.get(b"content-language", ""))
        except PerdureError:
            return None
        if kind is None or needs_look(kind):
            return None
        format, media_type = spell_type(kind)
        return UsualUpload(digest, base, format, media_type, kind.charset, language)

    def _send_answer(
        self, target: bytes, fields: bytes, usual: UsualUpload, send: Send, outcome: Answer
    ) -> None:
        if isinstance(outcome, Receipt):
            self._counts.minted += 1
            send(self._write_answer(target, usual, outcome))
            return
        self._service.note_refusal(outcome)
        request = make_request(
            b"PUT", target, split_fields(fields), self._service.settings.base_url
        )
        answer = problems.answer_problem(problems.log_problem(outcome, request.method), request)
        send(write_answer(answer))

    def _write_answer(self, target: bytes, usual: UsualUpload, receipt: Receipt) -> bytes:
        """Write the answer for a document that was minted with the next number of a series."""
        name = receipt.identifier.encode("ascii")
        like = (target, usual.base, usual.format, len(name))
        given = self._given.get(like)
        if given is not None:
            return given.answer.replace(given.name, name)
        answer = write_answer(make_receipt_answer(usual.base, receipt))
        if len(self._given) >= _MOST_GIVEN:
            self._given.clear()
        self._given[like] = _AnswerTemplate(name, answer)
        return answer
