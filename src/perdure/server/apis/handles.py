"""The Handle REST API: `/api/handles/<handle>`, as the servers of Handle.Net speak it.

How it works: the handle is the text after the path; a PDI is spelled `pdi/…`
(`perdure.policy.handles`). Reading projects the record to handle values. Writing merges the current
values with those that were sent, checks the permissions that the difference needs
(`perdure.server.apis.handle_admins`), and submits the new list to the write door with the revision
on which it is based. If another request was faster, the merge is repeated.
`perdure.server.apis.handle_search` lists and finds handles.

What must stay true: no answer contains a secret. An issued name can be deleted only under prefixes
that the operator has set aside for tests (ruling: http-405, pdi-version).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec

from perdure.errors import (
    MalformedIdentifier,
    NotFound,
    PerdureError,
    PreconditionFailed,
)
from perdure.errors.requests import MalformedBody
from perdure.ids.handle import Handle
from perdure.ids.pdi import Pdi
from perdure.model.commands import Assign, Outcome, Receipt
from perdure.model.queries import Choices, Query, Want
from perdure.model.records import Record, Value
from perdure.policy.handles import changes, names, values
from perdure.policy.handles.admins import Permission
from perdure.policy.handles.values import COMPUTED, URL, is_url, values_of, written
from perdure.policy.naming import bindable
from perdure.reading.resolve import Resolved
from perdure.reading.targets import path_of
from perdure.server.apis import handle_admins, handle_codes, handle_search
from perdure.server.apis.handle_codes import Code, Form
from perdure.server.common.answers import Answer, empty
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource import methods
from perdure.server.resource.operating import whole_body

PATH = "api/handles"
_LONGEST_BODY = 1 << 20  # bytes
_TRIES = 8  # if others write to the same handle
_VARIOUS = "various"
_NEW = frozenset((Permission.ADD_HANDLE,))
_GONE = frozenset((Permission.DELETE_HANDLE,))


class Asked(msgspec.Struct, frozen=True):
    """The parameters of a request about a handle, from its query or its body."""

    handle: str
    """As it was written."""
    indexes: tuple[int, ...] = ()
    various: bool = False
    """True if each value is written to its own index (`index=various`)."""
    types: tuple[str, ...] = ()
    auth: bool = False
    """True if the answer must be authoritative. Ours always is; this one is not cached either."""
    overwrite: bool = True
    mint: bool = False
    form: Form = Form()

    @property
    def identifier(self) -> Handle | Pdi:
        """The parsed handle. Raises MalformedIdentifier."""
        return names.read(self.handle)


async def answer(service: Service, request: Request) -> Answer:
    """Answer any method on `/api/handles/<handle>`."""
    if request.method == "OPTIONS":
        return options(request)
    if request.method == "TRACE":
        return await methods.trace(service, request)
    verb, allow = _VERBS.get(request.method), request.allow[TargetKind.PAGE]
    if verb is None or request.method.encode() not in allow.split(b", "):
        fields = (b"allow", allow)
        status = HTTPStatus.METHOD_NOT_ALLOWED
        return handle_codes.answer(Code.NOT_SUPPORTED, None, fields, status=status)
    handle, shape = None, Form()
    try:
        handle = handle_of(request.target.text)
        asked = read_asked(handle, request.target.question or "")
        shape = asked.form
        if not handle and request.method in ("GET", "HEAD"):
            return await handle_search.listing(service, request)
        return await verb(service, request, asked)
    except PerdureError as error:
        return handle_codes.of_error(error, handle, request.method, shape)


def options(request: Request) -> Answer:
    """Answer with the allowed methods, also for scripts of other sites, which may read."""
    allow = request.allow[TargetKind.PAGE]
    allowed = (b"access-control-allow-methods", allow)
    headers = (b"access-control-allow-headers", b"authorization, content-type")
    return empty(HTTPStatus.OK, (b"allow", allow), handle_codes.ANYBODY, allowed, headers)


# reading requests
# ----------------


def handle_of(text: str) -> str:
    """The handle in a path, decoded. A PDI is not decoded, because its escapes belong to it.

    Raises MalformedIdentifier.
    """
    handle = text.removeprefix(PATH).removeprefix("/")
    if names.is_pdi(handle):
        return handle
    try:
        return unquote_to_bytes(handle).decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedIdentifier(
            text=handle, at=0, expected="escaped UTF-8", rule="RFC 3986 section 2.5"
        ) from error


def read_asked(handle: str, question: str) -> Asked:
    """Read the parameters from a query, or from the body of a form. Raises InvalidRequest."""
    pairs = parse_qsl(question, keep_blank_values=True)
    given = dict(pairs)
    indexes = [value for name, value in pairs if name == "index"]
    return Asked(
        handle=handle,
        indexes=tuple(values.number(one) for one in indexes if one != _VARIOUS),
        various=_VARIOUS in indexes,
        types=tuple(value for name, value in pairs if name == "type"),
        auth=_is_set(given, "auth"),
        overwrite=_is_set(given, "overwrite", otherwise=True),
        mint=_is_set(given, "mintNewSuffix"),
        form=handle_codes.form(pretty=_is_set(given, "pretty"), callback=given.get("callback")),
    )


def _is_set(given: dict[str, str], name: str, *, otherwise: bool = False) -> bool:
    """True if a parameter is set. `?auth` equals `?auth=true`."""
    return given[name].lower() in ("", "true", "1", "yes") if name in given else otherwise


# reading
# -------


async def get(service: Service, request: Request, asked: Asked) -> Answer:
    """Answer with the values of a handle that everyone may read, or all for its administrators."""
    identifier = asked.identifier
    resolved = _resolve(service, identifier)
    record = resolved.holder if resolved is not None else None
    if resolved is None or record is None or record.tombstone:
        return _unknown(service, identifier, asked)
    shown = _shown(resolved, record, request.base)
    if shown is None:
        return _unknown(service, identifier, asked)
    known = b"authorization" in request.fields
    to_admin = False
    if known and resolved.is_registered:
        who = await handle_admins.actor(service, request)
        to_admin = handle_admins.may_read(service, who, identifier, values_of(record))
    found = written(_chosen(shown, asked), to_admin=to_admin)
    code = Code.SUCCESS if found or not (asked.indexes or asked.types) else Code.VALUES_NOT_FOUND
    fresh = 0 if known or asked.auth else service.settings.fresh_seconds
    return _told(asked.handle, found, fresh, code, asked.form)


def public(handle: str, record: Record, *, fresh: int) -> Answer | None:
    """The answer to a public GET for all values of a handle.

    Returns None if the record alone does not suffice to write it.
    """
    if record.tombstone or record.versions:
        return None
    return _told(handle, written(values_of(record), to_admin=False), fresh)


def _told(
    handle: str,
    found: list[dict[str, Any]],
    fresh: int,
    code: Code = Code.SUCCESS,
    form: Form = handle_codes.PLAIN,
) -> Answer:
    """Answer with values. `fresh` is the number of seconds for which it may be cached."""
    age = b"public, max-age=%d" % fresh if fresh else b"no-store"
    field = (b"cache-control", age)
    return handle_codes.answer(code, handle, field, form=form, status=HTTPStatus.OK, values=found)


async def post(service: Service, request: Request, asked: Asked) -> Answer:
    """Answer like GET, with the parameters in a body: a form or a JSON object."""
    sent = await whole_body(request, _LONGEST_BODY)
    if sent.lstrip()[:1] != b"{":
        return await get(service, request, read_asked(asked.handle, sent.decode("latin-1")))
    try:
        given = msgspec.json.decode(sent, type=dict[str, object])
    except msgspec.MsgspecError as error:
        raise MalformedBody(fault=str(error)) from error
    pairs = [
        (name, str(one).lower() if isinstance(one, bool) else str(one))
        for name, value in given.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    indexes = tuple(values.number(value) for name, value in pairs if name == "index")
    types = tuple(value for name, value in pairs if name == "type")
    auth = _is_set(dict(pairs), "auth", otherwise=asked.auth)
    return await get(
        service, request, msgspec.structs.replace(asked, indexes=indexes, types=types, auth=auth)
    )


def _chosen(shown: tuple[Value, ...], asked: Asked) -> tuple[Value, ...]:
    """Select values by index or by type. `EMAIL.` stands for all types that begin with it."""
    if not asked.indexes and not asked.types:
        return shown
    return tuple(
        one
        for one in shown
        if one.index in asked.indexes
        or any(
            one.type == kind or (kind.endswith(".") and one.type.startswith(kind))
            for kind in asked.types
        )
    )


def _resolve(service: Service, identifier: Handle | Pdi) -> Resolved | None:
    """Resolve a handle. Returns None if it is unknown."""
    try:
        return service.reading.resolve(Query(identifier=identifier, want=Want.LOCATIONS))
    except NotFound:
        return None


def _shown(resolved: Resolved, record: Record, base: str) -> tuple[Value, ...] | None:
    """The values of a handle, among them those that describe bytes held here.

    The values of a part come from a template; None if the template makes none. Raises
    NoSuchVersion or NotAcceptable.
    """
    identifier = resolved.identifier
    if resolved.inside is not None and names.home(resolved.asked):
        return resolved.make_values()
    own = values_of(record)
    if not record.versions and names.home(identifier):
        return own
    bindable(resolved.asked)
    step = resolved.step
    if not isinstance(step, Choices):
        raise NotFound(identifier=str(identifier))
    places = {one.uri for one in step.locations}
    shown = [one for one in own if not is_url(one) or one.data in places]
    if step.fetches:
        first = step.fetches[0]
        held = first.representation
        at = record.at
        address = f"{base}/{path_of(first.identifier)}"
        told = ((URL, address), ("CHECKSUM", f"sha512:{held.sha512}"), ("TYPE", held.media_type))
        shown += [
            Value(index=COMPUTED + number, type=kind, data=data, at=at)
            for number, (kind, data) in enumerate(told)
        ]
    return tuple(shown)


def _unknown(service: Service, identifier: Handle | Pdi, asked: Asked) -> Answer:
    if not _is_home(service, identifier):
        return _not_home(asked)
    return handle_codes.answer(Code.NOT_FOUND, asked.handle, form=asked.form)


def _is_home(service: Service, identifier: Handle | Pdi) -> bool:
    prefix = names.home(identifier)
    return not prefix or prefix in service.settings.handle_prefixes


def _not_home(asked: Asked) -> Answer:
    message = "That prefix doesn't live here"
    return handle_codes.answer(Code.NOT_HOME, asked.handle, form=asked.form, message=message)


# writing
# -------


async def put(service: Service, request: Request, asked: Asked) -> Answer:
    """Create a handle, or replace its values; with `?index`, only some of them."""
    who = await handle_admins.actor(service, request)
    if asked.mint:
        asked = msgspec.structs.replace(
            asked, handle=f"{asked.handle}{uuid.uuid4()}", overwrite=False
        )
    identifier = asked.identifier
    if not _is_home(service, identifier):
        return _not_home(asked)
    sent = await asyncio.to_thread(
        values.read, await whole_body(request, _LONGEST_BODY)
    )  # hashing secrets takes a while
    some = bool(asked.indexes) or asked.various
    if some and not asked.various and {one.index for one in sent} != set(asked.indexes):
        message = "the indexes in the query differ from those of the values in the body"
        return handle_codes.answer(
            Code.PROTOCOL_ERROR, asked.handle, form=asked.form, message=message
        )

    def plan(record: Record | None) -> Answer | Assign:
        if some and record is None:
            return _unknown(service, identifier, asked)
        current = () if record is None else values_of(record)
        there = {one.index for one in current} & {one.index for one in sent}
        if not asked.overwrite and (record is not None if not some else there):
            code = Code.VALUE_EXISTS if some else Code.ALREADY_EXISTS
            return handle_codes.answer(code, asked.handle, form=asked.form)
        after = changes.put(current, sent, whole=not some)
        if record is None:
            handle_admins.check(service, who, "register", identifier, (), _NEW)
        else:
            needed = handle_admins.needed_for(current, after)
            handle_admins.check(service, who, "bind", identifier, current, needed)
        return Assign(by=who.name, identifier=identifier, values=after)

    done = await _carry_out(service, identifier, plan)
    if isinstance(done, Answer):
        return done
    made = done.outcome is Outcome.CREATED and not asked.overwrite
    status = HTTPStatus.CREATED if made else HTTPStatus.OK
    return handle_codes.answer(Code.SUCCESS, asked.handle, form=asked.form, status=status)


async def delete(service: Service, request: Request, asked: Asked) -> Answer:
    """Remove values, or the complete handle if its prefix allows it  # ruling: http-405"""
    identifier = asked.identifier
    if not _is_home(service, identifier):
        return _not_home(asked)
    mutable = changes.is_mutable(names.home(identifier), service.settings.mutable_prefixes)
    if not asked.indexes and not mutable:
        message = "identifiers with this prefix are never deleted; withdraw it instead"
        allow = (b"allow", request.allow[TargetKind.PAGE])
        status = HTTPStatus.METHOD_NOT_ALLOWED
        return handle_codes.answer(
            Code.NOT_SUPPORTED, asked.handle, allow, form=asked.form, status=status, message=message
        )
    who = await handle_admins.actor(service, request)

    def plan(record: Record | None) -> Answer | Assign:
        if record is None:
            return _unknown(service, identifier, asked)
        current = values_of(record)
        if not asked.indexes:
            handle_admins.check(service, who, "withdraw", identifier, current, _GONE)
            return Assign(by=who.name, identifier=identifier, values=None)
        if not {one.index for one in current}.issuperset(asked.indexes):
            return handle_codes.answer(Code.VALUES_NOT_FOUND, asked.handle, form=asked.form)
        after = changes.without(current, frozenset(asked.indexes))
        needed = handle_admins.needed_for(current, after)
        handle_admins.check(service, who, "bind", identifier, current, needed)
        return Assign(by=who.name, identifier=identifier, values=after)

    done = await _carry_out(service, identifier, plan)
    if isinstance(done, Answer):
        return done
    return handle_codes.answer(Code.SUCCESS, asked.handle, form=asked.form)


async def _carry_out(
    service: Service,
    identifier: Handle | Pdi,
    plan: Callable[[Record | None], Answer | Assign],
) -> Answer | Receipt:
    """Plan for the current record and carry out the plan, again if the record changed meanwhile.

    A deleted handle is planned for like an unknown one. Raises PreconditionFailed if the record
    keeps changing.
    """
    tries = 0
    while True:
        record = service.record(identifier)
        revision = 0 if record is None else record.revision
        known = None if record is not None and changes.is_deleted(record) else record
        planned = plan(known)
        if isinstance(planned, Answer):
            return planned
        command = msgspec.structs.replace(planned, expect=revision)
        try:
            receipt = await service.registry.door.submit(command)
        except PreconditionFailed:
            tries += 1
            if tries == _TRIES:
                raise
            continue
        service.metrics.written("assign", receipt.outcome)
        return receipt


_VERBS = {"GET": get, "HEAD": get, "POST": post, "PUT": put, "DELETE": delete}
