"""PUT: uploaded bytes, and the identifier that they get  # ruling: http-put

How it works: the order of the checks is the order of the code. An unknown identifier gets 404
first, because names are not secret. Then the token is checked, before a byte of the body is read (a
client that sent `Expect: 100-continue` is spared the upload). Then the bytes pass through a spool,
which checks their type, length and digests. The result goes to the write door as one command.

What must stay true: memory is bounded whatever is sent; an upload that is cut off, or that does not
match its digests, leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Set
from functools import lru_cache, partial
from http import HTTPStatus

import msgspec

from perdure import formats
from perdure.errors import (
    Incomplete,
    NoSuchVersion,
    NotAcceptable,
    NotFound,
    PerdureError,
    PreconditionFailed,
    UnknownAuthority,
)
from perdure.errors.conflicts import AlreadyExists, NewNameHasNoState, StateNotNamed
from perdure.errors.contents import OneLanguageNeeded
from perdure.errors.limits import UploadTooLarge
from perdure.errors.requests import BodyEncoded, BytesPartial, MalformedKey, TrailerNotRead
from perdure.formats import OCTETS, MediaType, detect
from perdure.formats.detect import Sampler
from perdure.formats.essence import strip_parameters
from perdure.ids import Authority, Identifier, load_schemes, parse
from perdure.model import assertions
from perdure.model.assertions import read_assertion
from perdure.model.commands import Commit, Content, Mint, Outcome, Receipt
from perdure.model.description_checks import LANGUAGE
from perdure.model.queries import LOCAL_READER, Query
from perdure.model.records import Record, Token
from perdure.policy import naming, rules
from perdure.reading.targets import Question, read_identifier, read_question, spell_path, spell_uri
from perdure.registry import Registry
from perdure.server.common import auth, digests, problems
from perdure.server.common.answers import Answer, escape_uri, make_answer
from perdure.server.common.conditions import make_etag, read_entity_tags
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.settings import Settings
from perdure.storage.spool import Spool

LARGE = 32 * 1024  # bytes; hashing more at once would delay other requests
_KEY = re.compile(r"[ -~]{1,255}", re.ASCII)
_STATUS = {Outcome.CREATED: HTTPStatus.CREATED, Outcome.PROPOSED: HTTPStatus.ACCEPTED}
_NO_REVISION = 0
"""No record has this revision, so a command that expects it is refused unless it is a repeat."""
_REVISION = re.compile(r"r([0-9]{1,18})(?:-.*)?", re.ASCII)
_SPELLED_ALIKE = re.compile("pdi://[^#?]*+")
_ASSERTION = strip_parameters(assertions.MEDIA_TYPE)
_UNTOLD = "application/x-www-form-urlencoded"  # the type that curl sends for any --data


async def put_bytes(service: Service, request: Request) -> Answer:
    """Answer PUT to an identifier."""
    question = read_question(request.target.question, verbs=("metadata",))
    authority = minting_authority(request.target.text, service.registry)
    if authority is not None:
        if question != Question():
            kind = find_minting_kind(request.target.text)
            return refuse_write(request, "PUT", kind, "PUT mints a name without a query; remove it")
        token = auth.find_bearer(service, request)
        auth.check_minting(service, token, authority)
        auth.check_share(service, request, token)
        check_new(request)
        content = await _read_content(service, request, None)
        await _check_asserting(service, token, authority, content)
        return await _mint_name(service, request, token, authority, content)
    identifier = read_identifier(request.target.text)
    record = find_existing(service, identifier)
    if record is None:
        return refuse_write(request, "PUT", TargetKind.PATTERN, _find_advice(service, identifier))
    if question != Question():
        advice = "a part or a view has no versions: to add one to the name, remove the query"
        return refuse_write(request, "PUT", TargetKind.IDENTIFIER, advice)
    token = auth.find_bearer(service, request)
    auth.check_right(service, token, "commit", identifier)
    expect = expect_unless_repeated(request, lambda: _find_expected(request, identifier, record))
    content = await _read_content(service, request, naming.read_qualifiers(identifier)[1])
    await _check_asserting(service, token, identifier.assigned_under, content)
    return await _commit_version(service, request, token, identifier, record, content, expect)


def minting_authority(text: str, registry: Registry) -> str | None:
    """Return the authority that a request asks a new name from, or None if it gives a name.

    `pdi://<series>/`, `ark:<shoulder>` or `URN:<naming authority>::`. Raises UnknownAuthority if
    this registry does not mint under the series or naming authority.
    """
    for scheme in load_schemes().values():
        minting = scheme.minting
        name = minting.requested_authority(text) if minting is not None else None
        if minting is None or name is None:
            continue
        wanted, settings = Authority(scheme.name, name), registry.settings
        if wanted not in settings.owned_authorities:
            settings = registry.learn_authorities()
        if wanted in settings.owned_authorities:
            return name
        if minting.asks_only:
            raise UnknownAuthority(authority=name, known=getattr(settings, minting.setting))
    return None


def find_minting_kind(text: str) -> TargetKind:
    """Return the kind of a target that mints names: the names of a series can also be listed."""
    return TargetKind.SERIES if text[:4].lower() in ("pdi:", "urn:") else TargetKind.AUTHORITY


def refuse_write(request: Request, method: str, kind: TargetKind, advice: str) -> Answer:
    """Answer a write that this target does not take in this form, with the `Allow` of OPTIONS."""
    return problems.answer_problem(
        problems.not_allowed(method, request.allow[kind], advice), request
    )


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


def find_existing(service: Service, identifier: Identifier) -> Record | None:
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


# carrying out
# ------------


async def _check_asserting(
    service: Service, token: Token, authority: str, content: Content
) -> None:
    """Raise Forbidden if a document is an assertion, and the token may not assert it."""
    if strip_parameters(content.media_type) != _ASSERTION or content.data is None:
        return
    try:
        assertion = await service.run_cutter(read_assertion, content.data)
    except PerdureError:  # another document in JSON-LD
        return
    auth.check_asserting(service, token, authority, assertion.about)


async def _mint_name(
    service: Service, request: Request, token: Token, authority: str, content: Content
) -> Answer:
    command = Mint(
        by=token.name, authority=authority, contents=(content,), once=read_idempotency_key(request)
    )
    receipt = await service.submit_command(command, token.name)
    service.metrics.count_write("mint", receipt.outcome)
    return make_receipt_answer(request.base_url, receipt)


async def _commit_version(
    service: Service,
    request: Request,
    token: Token,
    identifier: Identifier,
    record: Record,
    content: Content,
    expect: int | None,
) -> Answer:
    number, _ = naming.read_qualifiers(identifier)
    command = Commit(
        by=token.name,
        identifier=identifier,
        contents=(content,),
        version=rules.choose_version(record, number, (content,)),
        expect=expect,
        once=read_idempotency_key(request),
    )
    receipt = await service.submit_command(command, token.name)
    service.metrics.count_write("commit", receipt.outcome)
    return make_receipt_answer(request.base_url, receipt)


def make_receipt_answer(base: str, receipt: Receipt) -> Answer:
    """Answer 201 with the address and the name of the new resource; 202 if a second person must
    request the same; 200 if nothing was created.

    `base` is the public address of this resolver.
    """
    path, named = _spell_for_answer(receipt.identifier)
    url = f"{base}/{path}"
    body = msgspec.json.encode(
        {
            "outcome": receipt.outcome,
            "identifier": receipt.identifier,
            "url": url,
            "revision": receipt.revision,
            "replayed": receipt.replayed,
        }
        | receipt.remarks
    )
    return make_answer(
        _STATUS.get(receipt.outcome, HTTPStatus.OK),
        "application/json",
        body,
        (b"location", escape_uri(url)),
        (b"content-location", escape_uri(named)),
        (b"cache-control", b"no-store"),
    )


def _spell_for_answer(name: str) -> tuple[str, str]:
    """Return an identifier in the forms of `spell_path` and `spell_uri`."""
    if _SPELLED_ALIKE.fullmatch(name):  # without the cost of parsing it
        return name, name
    identifier = parse(name)
    return spell_path(identifier), spell_uri(identifier)


# conditions
# ----------


def read_idempotency_key(request: Request) -> str | None:
    """Return the idempotency key, a structured string or plain text. Raises InvalidRequest."""
    field = request.read_field(b"idempotency-key")
    if not field:
        return None
    if len(field) > 1 and field[0] == field[-1] == '"':
        field = field[1:-1]
    if not _KEY.fullmatch(field):
        raise MalformedKey(key=field)
    return field


def expect_unless_repeated(request: Request, expected: Callable[[], int | None]) -> int | None:
    """Return the revision that a condition expects.

    Raises PreconditionFailed, unless this request may repeat the very one that changed the record:
    only the write door knows whether its key was used.
    """
    try:
        return expected()
    except PreconditionFailed:
        if read_idempotency_key(request) is None:
            raise
        return _NO_REVISION


def check_new(request: Request) -> None:
    """Raise PreconditionFailed if a condition expects a state of a resource that does not exist yet
    (RFC 9110 section 13.1.1)."""
    if b"if-match" in request.fields:
        raise NewNameHasNoState(identifier=request.target.text)


def read_expected_absence(request: Request) -> int | None:
    """Return the revision to expect if `If-None-Match: *` asks that the resource not exist."""
    asked = read_entity_tags(request.read_field(b"if-none-match"))
    return _NO_REVISION if asked.any else None


def _find_expected(request: Request, identifier: Identifier, record: Record) -> int | None:
    """Return the revision that must still be current when the command is carried out.

    Raises PreconditionFailed if a condition of the request does not hold now.
    """
    number, format = naming.read_qualifiers(identifier)
    version = record.version(number) if number is not None else None
    absent = number is not None and not (version and version.find_representation(str(format)))
    return read_expected_revision(request, str(identifier), record, absent=absent)


def read_expected_revision(
    request: Request, name: str, record: Record, *, absent: bool = False
) -> int | None:
    """Return the expected revision of any write. `If-Match` is `"r7"`, or an entity tag of the
    record or of its bytes.

    `absent`: the record exists, but the bytes to write do not.
    """
    expect = None
    if b"if-match" in request.fields:
        asked = read_entity_tags(request.read_field(b"if-match"))
        if not asked.any:
            if not _names_current(asked.strong, record):
                raise StateNotNamed(identifier=name, state=record.revision)
            expect = record.revision
    if b"if-none-match" in request.fields:  # the order is that of RFC 9110 section 13.2.2
        asked = read_entity_tags(request.read_field(b"if-none-match"))
        if asked.any:
            if not absent:
                raise AlreadyExists(identifier=name, state=record.revision)
            expect = record.revision
        elif _names_current(asked.strong | asked.weak, record):
            raise AlreadyExists(identifier=name, state=record.revision)
    return expect


def _names_current(tags: Set[str], record: Record) -> bool:
    """Return True if one of these entity tags is that of the current record or its newest bytes."""
    newest = record.newest
    current = {make_etag(one).decode()[1:-1] for one in (newest.representations if newest else ())}
    revisions = map(_REVISION.fullmatch, tags)
    return not current.isdisjoint(tags) or any(
        found is not None and int(found[1]) == record.revision for found in revisions
    )


# the bytes
# ---------


async def _read_content(service: Service, request: Request, named: str | None) -> Content:
    """Read the body of a request, as content of the named or declared format."""
    declared = read_declared_type(request.read_field(b"content-type"))
    language = read_declared_language(request.read_field(b"content-language"))
    announced = _read_length(request, service.settings)
    promised = read_promised_digests(request)
    sampler = None if declared is not None and not needs_look(declared) else Sampler()
    with service.registry.spool() as spool:
        await _fill_spool(request, spool, sampler, announced)
        for algorithm, digest in promised:
            spool.expect_digest(algorithm, digest)
        service.metrics.count_upload(spool.length)
        said = declared
        if said is None and named is not None:
            said = formats.find_media_type(named) or OCTETS
        kind = _choose_stated_type(said, spool)
        if kind is None:  # detection compares many rules and codings, which takes up to 20 ms
            sample = sampler.take_sample() if sampler else spool.head
            detected = await service.run_cutter(
                partial(detect.detect_type, language=language), sample
            )
            kind = detect.resolve_type(said, detected)
        format, media_type = spell_type(kind)
        finish = partial(
            spool.finish_content,
            format=_check_agreed_format(format, named),
            media_type=media_type,
            charset=kind.charset,
            language=language,
            stated=_list_stated(declared, language),
        )
        return await asyncio.to_thread(finish) if spool.length > LARGE else finish()


def _list_stated(declared: MediaType | None, language: str | None) -> tuple[str, ...]:
    """List the facts that the fields of a request state."""
    charset = declared.charset if declared is not None else None
    facts = {"media_type": declared, "charset": charset, "language": language}
    return tuple(name for name, value in facts.items() if value is not None)


@lru_cache(maxsize=1024)
def spell_type(kind: MediaType) -> tuple[str, str]:
    """Return the format of a media type, and its text without the charset."""
    return formats.make_token(kind), str(kind.with_charset(None))


async def _fill_spool(
    request: Request, spool: Spool, sampler: Sampler | None, announced: int | None
) -> None:
    more = True
    while more:
        message = await request.receive()
        if message["type"] != "http.request":
            raise Incomplete(expected=announced or spool.length + 1, received=spool.length)
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


def refuse_coding(request: Request) -> None:
    """Raise ContentNotSupported if the body has a content coding."""
    coding = request.read_field(b"content-encoding")
    if coding.lower() not in ("", "identity"):
        raise BodyEncoded(coding=coding)


def read_promised_digests(request: Request) -> list[tuple[str, bytes]]:
    """Return the digests that `Content-Digest` and `Repr-Digest` promise.

    Raises InvalidRequest, also if a digest is announced as a trailer: perdure does not read
    trailers, and never ignores a promise.
    """
    if read_announced_length(request) is None:  # chunked: nothing else has trailers
        for name in request.read_field(b"trailer").lower().split(","):
            if name.strip() in ("content-digest", "repr-digest"):
                raise TrailerNotRead(trailer=name.strip())
    return digests.read_promised(request)


def read_announced_length(request: Request) -> int | None:
    """Return Content-Length in bytes, or None if the body is chunked."""
    field = request.read_field(b"content-length")
    return int(field.lstrip("0") or "0") if field.isdigit() else None  # int() counts the zeros


def read_declared_language(field: str) -> str | None:
    """Return the language of Content-Language. Raises InvalidRequest if there are several."""
    if not field:
        return None
    if not LANGUAGE.fullmatch(field):
        raise OneLanguageNeeded(tag=field)
    return field


# type and format
# ---------------


def read_declared_type(field: str) -> MediaType | None:
    """Return the media type of Content-Type, or None if the sender did not choose one."""
    declared = _read_type(field) if field else None
    return None if declared is None or declared.essence == _UNTOLD else declared


@lru_cache(maxsize=256)
def _read_type(field: str) -> MediaType:
    return MediaType.parse(field)


def needs_look(kind: MediaType) -> bool:
    """Return True if the charset must be detected from the bytes."""
    return kind.major == "text" and kind.charset is None


def _choose_stated_type(said: MediaType | None, spool: Spool) -> MediaType | None:
    """The media type to store as declared or named, or None if the bytes must be looked at."""
    if said is not None and not needs_look(said):
        return said
    if said is not None and spool.length <= len(spool.head) and spool.head.isascii():
        return said.with_charset("us-ascii")  # ASCII needs no detection
    return None


def _check_agreed_format(format: str, named: str | None) -> str:
    """Return the format, which must agree with the name. Raises InvalidRequest."""
    if named and formats.find_media_type(named) is None and format == formats.make_token(OCTETS):
        return named  # a private format, in no registry of media types
    rules.check_format_named(named, [format])
    return format
