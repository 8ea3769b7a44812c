"""Bytes for mirrors and from them: `/contents`, for tokens with the right `mirror`.

    POST /contents                                   bytes, or proofs that they are here
    PUT  /contents?key=<key>&version=1&format=text   bytes that are damaged here

How it works: a request names representations, one per line (`perdure.upkeep.mirroring.wire`). The
answer streams their bytes in the same order, many in one piece, because a mirror asks for thousands
of short documents. With a nonce, only a proof is sent that the bytes are here.

A mirror can also send bytes that are damaged here. They are taken only if they have the promised
digest and the bytes here do not.

What must stay true: what was withdrawn or erased is not sent, and no proof of it is given; bytes
that end early cut off the answer, so that it never looks complete.
# ruling: tombstone-silence
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from http import HTTPStatus

import msgspec

from perdure.errors import Corrupt
from perdure.errors.limits import OperationsTooMany
from perdure.errors.mirroring import ContentsNotMended, ContentsUnnamed, NonceMalformed
from perdure.errors.requests import MalformedBody
from perdure.ids.keys import spell_key
from perdure.model.commands import Content
from perdure.model.parameters import read_number
from perdure.model.records import Record, Representation
from perdure.server.common import mirrors
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.planning import read_whole_body
from perdure.server.resource.uploading import fill_spool
from perdure.storage.byte_ports import CHUNK, Bytes
from perdure.storage.spool import discard_content, read_content
from perdure.upkeep.mirroring import wire
from perdure.upkeep.mirroring.comparing import is_sound
from perdure.upkeep.mirroring.wire import ContentHead, ContentQuestion

MOST = 1000
"""The most representations of a request."""
_LARGEST = 1 << 20
_NONCE = re.compile(r"(?:[0-9a-f]{2}){16,64}")
_MANUAL = "docs/reference/mirrors.md"
_MOST_VERSIONS = 10**9
_PRIVATE = (b"cache-control", b"no-store")


async def send_contents(service: Service, request: Request) -> Answer:
    """Answer POST to `/contents`. Raises Unauthenticated, Forbidden, InvalidRequest, TooLarge."""
    mirror = mirrors.check_mirror(service, request)
    try:
        questions = wire.read_questions(await read_whole_body(request, _LARGEST))
    except wire.WireMalformed as error:
        raise MalformedBody(body="the body", fault=str(error), manual=_MANUAL) from error
    if not questions:
        raise ContentsUnnamed()
    if len(questions) > MOST:
        raise OperationsTooMany(limit=MOST)
    for one in questions:
        if one.nonce and not _NONCE.fullmatch(one.nonce):
            raise NonceMalformed(nonce=one.nonce)
    pieces = _join_pieces(_Sender(service, mirror).send_all(questions))
    fields = [(b"content-type", wire.MEDIA_TYPE.encode()), _PRIVATE]
    return Answer(HTTPStatus.OK, fields, stream=_stream_pieces(pieces))


async def mend_contents(service: Service, request: Request) -> Answer:
    """Answer PUT to `/contents`.

    Raises Unauthenticated, Forbidden, InvalidRequest, NotFound if nothing is held there, and
    DigestMismatch if the body does not have the promised digest.
    """
    mirror = mirrors.check_mirror(service, request)
    asked = request.parameters
    version = read_number("version", asked.get("version", ""), 1, _MOST_VERSIONS)
    question = ContentQuestion(asked.get("key", ""), version, asked.get("format", ""))
    held = await asyncio.to_thread(_Sender(service, mirror).find_held, question)
    if isinstance(held, str):
        raise ContentsNotMended(identifier=spell_key(question.key), fault=held)
    with service.registry.spool(limit=held.length) as spool:
        await fill_spool(request, spool, None, None)
        spool.expect_length(held.length)
        spool.expect_digest("sha-512", bytes.fromhex(held.sha512))
        content = spool.finish_content(format=held.format, media_type=held.media_type)
    is_mended = await asyncio.to_thread(_mend, service, held, content)
    body = msgspec.json.encode({"mended": is_mended})
    return make_answer(HTTPStatus.OK, "application/json", body, _PRIVATE)


def _mend(service: Service, held: Representation, content: Content) -> bool:
    incoming = service.registry.incoming
    try:
        if is_sound(service.registry.bytes, held):
            return False
        service.registry.bytes.mend_bytes(held, read_content(incoming, content))
    finally:
        discard_content(incoming, content)
    return True


async def _stream_pieces(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


def _join_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield pieces of at least `CHUNK` bytes, as far as there are so many."""
    waiting: list[bytes] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= CHUNK:
            yield b"".join(waiting)
            waiting, length = [], 0
    if waiting:
        yield b"".join(waiting)


class _Sender:
    """Sends bytes to one mirror."""

    def __init__(self, service: Service, mirror: mirrors.MirrorRights) -> None:
        self._records = service.registry.records
        self._bytes: Bytes = service.registry.bytes
        self._mirror = mirror

    def send_all(self, questions: Sequence[ContentQuestion]) -> Iterator[bytes]:
        for one in questions:
            yield from self._send_one(one)

    def _send_one(self, question: ContentQuestion) -> Iterator[bytes]:
        asked = (question.key, question.version, question.format)
        held = self.find_held(question)
        if isinstance(held, str):
            yield wire.write_head(ContentHead(*asked, missing=held))
        elif question.nonce:
            yield wire.write_head(self._prove(question, held))
        else:
            try:
                pieces = self._bytes.read_chunks(held)
                first = next(pieces, b"")
            except Corrupt:
                yield wire.write_head(ContentHead(*asked, missing="damaged"))
                return
            yield wire.write_head(ContentHead(*asked, length=held.length)) + first
            yield from pieces

    def find_held(self, question: ContentQuestion) -> Representation | str:
        """The representation, or why it is not sent."""
        try:
            record = self._records.find_record(question.key)
        except Corrupt:
            return "damaged"
        if record is None:
            return "unknown"
        if not self._mirror.may_mirror(question.key, record):
            return "forbidden"
        return _select_held(record, question.version, question.format)

    def _prove(self, question: ContentQuestion, held: Representation) -> ContentHead:
        digest = hashlib.sha256(bytes.fromhex(question.nonce))
        asked = (question.key, question.version, question.format)
        try:
            for piece in self._bytes.read_chunks(held):
                digest.update(piece)
        except Corrupt:
            return ContentHead(*asked, missing="damaged")
        return ContentHead(*asked, proof=digest.hexdigest())


def _select_held(record: Record, number: int, format: str) -> Representation | str:
    version = record.version(number)
    held = version.find_representation(format) if version else None
    if version is None or held is None:
        return "unknown"
    if held.erased:
        return "erased"
    return "withdrawn" if record.tombstone or version.tombstone else held
