"""PUT: uploaded bytes, and the identifier that they get  # ruling: http-put

How it works: the order of the checks is the order of the code. An unknown identifier gets 404
first, because names are not secret. Then the token is checked, before a byte of the body is read (a
client that sent `Expect: 100-continue` is spared the upload). Then the bytes pass through a spool,
which checks their type, length and digests. The result goes to the write door as one command. A
small document that arrived in one piece with its header needs no spool, and no task if its type
need not be detected (`open_small`).

What must stay true: memory is bounded whatever is sent; an upload that is cut off, or that does not
match its digests, leaves nothing behind; `open_small` refuses nothing that `put_bytes` accepts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from perdure import formats
from perdure.errors import Incomplete, NoSuchVersion, NotAcceptable, NotFound
from perdure.errors.limits import UploadTooLarge
from perdure.errors.requests import BytesPartial
from perdure.formats import OCTETS, MediaType, detect
from perdure.formats.detect import Sampler
from perdure.ids import Identifier, parse
from perdure.model.commands import Commit, Content, Mint
from perdure.model.queries import LOCAL_READER, Query
from perdure.model.records import Record, Token
from perdure.policy import naming, rules
from perdure.reading.targets import Question, read_identifier, read_question, spell_path
from perdure.server.common import auth
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource.planning import OpenWrite, PlanLater, PlannedWrite, answer_receipt
from perdure.server.resource.writing import (
    LARGE,
    check_new,
    expect_unless_repeated,
    find_minting_kind,
    minting_authority,
    needs_look,
    read_announced_length,
    read_declared_language,
    read_declared_type,
    read_expected_revision,
    read_idempotency_key,
    read_promised_digests,
    refuse_coding,
    refuse_write,
    spell_type,
)
from perdure.settings import Settings
from perdure.storage.spool import Spool, make_content
from perdure.writing.content_targets import may_assert


class _OpenUpload(NamedTuple):
    """An upload that was checked, except for its bytes."""

    token: Token
    authority: str
    """The authority that assigns, or assigned, the name of the document."""
    format: str | None
    """The format that the name states."""
    plan: Callable[[Content], PlannedWrite]


async def put_bytes(service: Service, request: Request) -> Answer:
    """Answer PUT to an identifier."""
    opened = _open_upload(service, request)
    if isinstance(opened, Answer):
        return opened
    content = await _read_content(service, request, opened.format)
    await auth.check_contents(service, opened.token, opened.authority, (content,))
    planned = opened.plan(content)
    receipt = await service.submit_command(planned.command, opened.token.name)
    return answer_receipt(service, request.base_url, planned, receipt)


def open_small(service: Service, request: Request) -> OpenWrite | Answer:
    """Check PUT of a small document in the same way, without waiting."""
    opened = _open_upload(service, request)
    if isinstance(opened, Answer):
        return opened
    facts = _read_facts(request, opened.format)
    _read_length(request, service.settings)

    async def refuse_waiting() -> PlannedWrite:
        raise RuntimeError("an upload that must wait is read by put_bytes")

    def plan_upload(body: bytes) -> PlannedWrite | PlanLater:
        kind = _choose_stated_type(facts.said, body)
        if kind is None or may_assert(kind.essence, body):  # something must be detected or checked
            return PlanLater(refuse_waiting)
        format, media_type = spell_type(kind)
        content = make_content(
            body,
            format=_check_agreed_format(format, opened.format),
            media_type=media_type,
            charset=kind.charset,
            language=facts.language,
            stated=facts.stated,
        )
        planned = opened.plan(content)
        service.metrics.count_upload(len(body))
        return planned

    return OpenWrite(plan_upload, min(LARGE, service.settings.largest_upload))


def _open_upload(service: Service, request: Request) -> _OpenUpload | Answer:
    """Check PUT of bytes, as far as they are not needed, or refuse it."""
    question = read_question(request.target.question, verbs=("metadata",))
    authority = minting_authority(request.target.text, service.registry)
    if authority is not None:
        if question != Question():
            kind = find_minting_kind(request.target.text)
            return refuse_write(request, "PUT", kind, "PUT mints a name without a query; remove it")
        return _open_minting(service, request, authority)
    identifier = read_identifier(request.target.text)
    record = _find_existing(service, identifier)
    if record is None:
        return refuse_write(request, "PUT", TargetKind.PATTERN, _find_advice(service, identifier))
    if question != Question():
        advice = "a part or a view has no versions: to add one to the name, remove the query"
        return refuse_write(request, "PUT", TargetKind.IDENTIFIER, advice)
    return _open_commit(service, request, identifier, record)


def _open_minting(service: Service, request: Request, authority: str) -> _OpenUpload:
    token = auth.find_bearer(service, request)
    auth.check_minting(service, token, authority)
    auth.check_share(service, request, token)
    check_new(request)

    def plan_mint(content: Content) -> PlannedWrite:
        once = read_idempotency_key(request)
        command = Mint(by=token.name, authority=authority, contents=(content,), once=once)
        return PlannedWrite("mint", command)

    return _OpenUpload(token, authority, None, plan_mint)


def _open_commit(
    service: Service, request: Request, identifier: Identifier, record: Record
) -> _OpenUpload:
    token = auth.find_bearer(service, request)
    auth.check_right(service, token, "commit", identifier)
    expect = expect_unless_repeated(request, lambda: _find_expected(request, identifier, record))
    number, format = naming.read_qualifiers(identifier)

    def plan_commit(content: Content) -> PlannedWrite:
        command = Commit(
            by=token.name,
            identifier=identifier,
            contents=(content,),
            version=rules.choose_version(record, number, (content,)),
            expect=expect,
            once=read_idempotency_key(request),
        )
        return PlannedWrite("commit", command)

    return _OpenUpload(token, identifier.assigned_under, format, plan_commit)


def _find_advice(service: Service, identifier: Identifier) -> str:
    """Say how to write instead of writing to a pattern, a part or a citation."""
    if identifier.is_interval and identifier.assigned_under in service.settings.series:
        return (
            f"PUT mints at the series, under the date of today: "
            f"PUT /{spell_path(parse(identifier.authority_beginning))}"
        )
    if identifier.is_pattern:
        return "a pattern names many resources; name one of them"
    return "bytes are bound to a whole document; remove the part"


def _find_existing(service: Service, identifier: Identifier) -> Record | None:
    """Return the record to write to, or None for a pattern or a part, which cannot be written.

    Raises NotFound, or NoSuchVersion if the version neither exists nor is the next one.
    """
    if identifier.is_pattern:
        if not service.knows_series(identifier):
            raise NotFound(identifier=str(identifier))
        return None
    resolved = service.reading.resolve(Query(reader=LOCAL_READER, identifier=identifier.whole))
    if not resolved.is_registered:
        raise NotFound(identifier=str(identifier))
    try:
        resolved.require_step()
    except NoSuchVersion as error:
        if error.version != max(error.versions, default=0) + 1:
            raise
    except NotAcceptable:
        pass  # the write adds a format
    return resolved.record if identifier.whole is identifier else None


def _find_expected(request: Request, identifier: Identifier, record: Record) -> int | None:
    """Return the revision that must still be current when the command is carried out.

    Raises PreconditionFailed if a condition of the request does not hold now.
    """
    number, format = naming.read_qualifiers(identifier)
    version = record.version(number) if number is not None else None
    absent = number is not None and not (version and version.find_representation(str(format)))
    return read_expected_revision(request, str(identifier), record, absent=absent)


# the bytes
# ---------


class _StatedFacts(NamedTuple):
    """The facts about a document that its name and the fields of its request state."""

    declared: MediaType | None
    said: MediaType | None
    """The media type that is declared or, if none is, that of the format in the name."""
    language: str | None

    @property
    def stated(self) -> tuple[str, ...]:
        """The names of the facts that the fields state."""
        charset = self.declared.charset if self.declared is not None else None
        facts = {"media_type": self.declared, "charset": charset, "language": self.language}
        return tuple(name for name, value in facts.items() if value is not None)


def _read_facts(request: Request, named: str | None) -> _StatedFacts:
    """Read what a request states. `named` is the format in the name. Raises InvalidRequest."""
    declared = read_declared_type(request.read_field(b"content-type"))
    language = read_declared_language(request.read_field(b"content-language"))
    said = declared
    if said is None and named is not None:
        said = formats.find_media_type(named) or OCTETS
    return _StatedFacts(declared, said, language)


async def _read_content(service: Service, request: Request, named: str | None) -> Content:
    """Read the body of a request, as content of the named or declared format."""
    facts = _read_facts(request, named)
    declared = facts.declared
    announced = _read_length(request, service.settings)
    promised = read_promised_digests(request)
    sampler = None if declared is not None and not needs_look(declared) else Sampler()
    with service.registry.spool() as spool:
        await fill_spool(request, spool, sampler, announced)
        for algorithm, digest in promised:
            spool.expect_digest(algorithm, digest)
        service.metrics.count_upload(spool.length)
        kind = _choose_spooled_type(facts.said, spool)
        if kind is None:  # detection compares many rules and codings, which takes up to 20 ms
            sample = sampler.take_sample() if sampler else spool.head
            detected = await service.run_cutter(
                partial(detect.detect_type, language=facts.language), sample
            )
            kind = detect.resolve_type(facts.said, detected)
        format, media_type = spell_type(kind)
        finish = partial(
            spool.finish_content,
            format=_check_agreed_format(format, named),
            media_type=media_type,
            charset=kind.charset,
            language=facts.language,
            stated=facts.stated,
        )
        return await asyncio.to_thread(finish) if spool.length > LARGE else finish()


async def fill_spool(
    request: Request, spool: Spool, sampler: Sampler | None, announced: int | None
) -> None:
    """Read the body of a request into a spool. Raises Incomplete, TooLarge, StorageFailed."""
    more = True
    while more:
        message = await request.receive()
        if message["type"] != "http.request":
            raise Incomplete(expected=announced, received=spool.length)
        piece, more = message["body"], message["more_body"]
        if len(piece) > LARGE:
            await asyncio.to_thread(_take_piece, spool, sampler, piece)
        elif piece:
            _take_piece(spool, sampler, piece)
    if announced is not None:
        spool.expect_length(announced)


def _take_piece(spool: Spool, sampler: Sampler | None, piece: bytes) -> None:
    spool.write(piece)
    if sampler is not None:
        sampler.feed(piece)


def _read_length(request: Request, settings: Settings) -> int | None:
    """Return the announced length in bytes.

    Raises TooLarge, and InvalidRequest if the body is a part or is encoded.
    """
    refuse_coding(request)
    if span := request.read_field(b"content-range"):
        raise BytesPartial(range=span)
    length = read_announced_length(request)
    if length is not None and length > settings.largest_upload:
        raise UploadTooLarge(limit=settings.largest_upload)
    return length


def _choose_spooled_type(said: MediaType | None, spool: Spool) -> MediaType | None:
    """The media type as declared or named, or None if the bytes must be looked at."""
    if said is not None and not needs_look(said):
        return said
    if spool.length <= len(spool.head):
        return _choose_stated_type(said, spool.head)
    return None


def _choose_stated_type(said: MediaType | None, body: bytes) -> MediaType | None:
    """Do the same for a complete document."""
    if said is not None and not needs_look(said):
        return said
    if said is not None and body.isascii():
        return said.with_charset("us-ascii")  # ASCII needs no detection
    return None


def _check_agreed_format(format: str, named: str | None) -> str:
    """Return the format, which must agree with the name. Raises InvalidRequest."""
    if named and formats.find_media_type(named) is None and format == formats.make_token(OCTETS):
        return named  # a private format, in no registry of media types
    rules.check_format_named(named, [format])
    return format
