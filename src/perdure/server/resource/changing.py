"""PUT and POST to an identifier: bytes, a description, or an operation.

How it works: a query with `metadata` describes the identifier, by PUT or POST, if the token may
`describe`. POST with `signatures` attaches a signature (`perdure.server.resource.signing`). Any
other PUT uploads bytes (`perdure.server.resource.uploading`), and any other POST is an operation
(`perdure.server.resource.operating`).

What must stay true: invalid metadata changes nothing; a merge patch is applied by the write door,
so that two of them lose nothing.
"""

from __future__ import annotations

from functools import cache, partial

import msgspec

from perdure import metadata
from perdure.errors.describing import UnknownMetadataType
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.ids.named_parts import Name
from perdure.metadata import cmdi
from perdure.metadata.port import LARGEST
from perdure.model.about import Attachment
from perdure.model.commands import Describe
from perdure.model.parameters import decode_names
from perdure.model.records import Level, Record, Token
from perdure.policy.levels import find_own, pin_part, read_described
from perdure.policy.rules import require_known
from perdure.reading.targets import (
    Question,
    read_name,
    read_question,
    spell_part_path,
    spell_path,
)
from perdure.server.common import asking, auth, elsewhere
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import operating, signing, uploading, writing
from perdure.server.resource.metadata import map_types
from perdure.server.resource.planning import OpenWrite, PlanLater, PlannedWrite, carry_out

MERGE_PATCH = "application/merge-patch+json"
"""A change of single members of the description (RFC 7396)."""
_AT_ONCE = 4 * 1024  # bytes of JSON; decoding more would delay other requests


async def answer_put(service: Service, request: Request) -> Answer:
    """Answer PUT: with `?metadata` it describes the identifier, otherwise it uploads bytes."""
    elsewhere.require_written_here(service, request)
    if _is_description(request):
        return await _take_description(service, request)
    return await uploading.put_bytes(service, request)


async def answer_post(service: Service, request: Request) -> Answer:
    """Answer POST: with `?metadata` it describes the identifier, otherwise it is an operation."""
    elsewhere.require_written_here(service, request)
    if _is_description(request):
        return await _take_description(service, request)
    if _asks(request, signing.WORD):
        return await signing.attach_signature(service, request)
    opened = operating.open_operation(service, request)
    return opened if isinstance(opened, Answer) else await carry_out(service, request, opened)


def open_write(service: Service, request: Request) -> OpenWrite | Answer | None:
    """Check PUT or POST in the same way, without waiting.

    Returns None if the plain way must answer: a part must be cut before, or a signature must be
    judged.
    """
    elsewhere.require_written_here(service, request)
    if _is_description(request):
        described = _check_description(service, request)
        return None if described.level.part else _open_description(service, request, described)
    if request.method == "PUT":
        return uploading.open_small(service, request)
    if _asks(request, signing.WORD):
        return None
    return operating.open_operation(service, request)


def _is_description(request: Request) -> bool:
    return _asks(request, "metadata")


def _asks(request: Request, word: str) -> bool:
    pieces = decode_names(request.target.question or "").split("&")
    return any(one.partition("=")[0] == word for one in pieces)


# descriptions
# ------------


class _Described(msgspec.Struct, frozen=True):
    """A request that may describe a resource or a level of it."""

    question: Question
    named: Name
    level: Level
    record: Record
    token: Token

    @property
    def identifier(self) -> Identifier:
        return self.named.identifier


async def _take_description(service: Service, request: Request) -> Answer:
    """Store a description in a format, or an attached record.

    Raises NotFound, Unauthenticated, Forbidden, PreconditionFailed, TooLarge, InvalidMetadata
    with line and reason, InvalidRequest if perdure cannot read the format.
    """
    described = _check_description(service, request)
    if described.level.part:
        await _require_part(service, request, described.named)
    return await carry_out(service, request, _open_description(service, request, described))


def _check_description(service: Service, request: Request) -> _Described:
    """Check the name and the right of a request that describes."""
    question = read_question(request.target.question, verbs=("metadata",))
    named = read_name(request.target.text, question.part)
    resource, level = read_described(named.identifier, named.part)
    record = require_known(named.identifier, service.find_record(resource))
    token = auth.find_bearer(service, request)
    auth.check_right(service, token, "describe", resource)
    return _Described(question, named, level, record, token)


def _open_description(service: Service, request: Request, described: _Described) -> OpenWrite:
    identifier, record, part = described.identifier, described.record, described.named.part
    expect = writing.expect_unless_repeated(
        request, lambda: writing.read_expected_revision(request, str(identifier), record)
    )
    merges = strip_parameters(request.read_field(b"content-type")) == MERGE_PATCH
    question = described.question
    name = question.metadata or "json" if merges else _read_declared_format(request, question)
    path = spell_path(identifier) if part is None else spell_part_path(identifier, part)
    url = f"{request.base_url}/{path}"

    def plan_description(data: bytes) -> PlannedWrite | PlanLater:
        if name.lower() == "json" and len(data) <= _AT_ONCE:
            return complete_plan(make_command(data), metadata.list_unread(data, name))
        return PlanLater(partial(plan_aside, data))

    async def plan_aside(data: bytes) -> PlannedWrite:
        # a merge patch is only checked for being one, at once
        command = make_command(data) if merges else await service.run_cutter(make_command, data)
        dropped: tuple[str, ...] = ()
        if name.lower() != cmdi.NAME:
            dropped = await service.run_cutter(metadata.list_unread, data, name)
        return complete_plan(command, dropped)

    def make_command(data: bytes) -> Describe:
        if merges:
            return Describe(identifier=identifier, patch=metadata.read_merge_patch(data, name))
        own = find_own(record, pin_part(identifier, record, described.level)).attached
        return _make_command(identifier, own, name, data, url)

    def complete_plan(command: Describe, dropped: tuple[str, ...]) -> PlannedWrite:
        command = msgspec.structs.replace(
            command,
            part=part,
            by=described.token.name,
            expect=expect,
            once=writing.read_idempotency_key(request),
        )
        return PlannedWrite("describe", command, dropped)

    return OpenWrite(plan_description, LARGEST)


@cache
def _map_readable_types() -> dict[str, str]:
    """Map each media type that a description can be sent in to its format.

    Plain JSON is perdure's own.
    """
    formats = metadata.load_formats().values()
    readable = {one.name for one in formats if one.read is not None} | {cmdi.NAME}
    known = {kind: name for kind, name in map_types().items() if name in readable}
    return known | ({"application/json": "json"} if "json" in readable else {})


def _read_declared_format(request: Request, question: Question) -> str:
    """Return the format of the body: from the address, or else from Content-Type."""
    if question.metadata:
        return question.metadata
    kind = request.read_field(b"content-type")
    name = _map_readable_types().get(strip_parameters(kind))
    if name is None:
        raise UnknownMetadataType(text=kind, known=(*_map_readable_types(), MERGE_PATCH))
    return name


async def _require_part(service: Service, request: Request, named: Name) -> None:
    """Raise the errors of cutting a part, unless it exists.  # ruling: part-exists"""
    query = asking.make_query(service, request, named.identifier)
    query = msgspec.structs.replace(query, part=named.part)
    resolved = asking.resolve_query(service, request, query)
    await service.run_cutter(service.registry.documents.select_part, resolved)


def _make_command(
    identifier: Identifier, own: tuple[Attachment, ...], name: str, data: bytes, url: str
) -> Describe:
    if name.lower() == cmdi.NAME:
        return Describe(identifier=identifier, attached=cmdi.replace_attachment(own, data))
    about = metadata.adopt_description(metadata.read_record(data, name), identifier, url)
    return Describe(identifier=identifier, about=about)
