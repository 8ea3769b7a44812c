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
from collections.abc import Callable, Iterable
from http import HTTPStatus
from itertools import count
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
from perdure.model.parameters import Parameters
from perdure.model.queries import Choices, Query, Want
from perdure.model.records import Record, Value
from perdure.policy.handles import changes, names, values
from perdure.policy.handles.admins import Permission
from perdure.policy.handles.values import (
    COMPUTED,
    URL,
    is_public,
    is_url,
    list_locations,
    list_values,
    write_values,
)
from perdure.policy.naming import check_bindable
from perdure.reading.resolve import Resolved
from perdure.reading.targets import spell_path
from perdure.server.apis import handle_admins, handle_codes, handle_search
from perdure.server.apis.handle_codes import AnswerForm, HandleCode
from perdure.server.common.answers import Answer, make_empty_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource import methods
from perdure.server.resource.operating import read_whole_body

PATH = "api/handles"
_LONGEST_BODY = 1 << 20  # bytes
_TRIES = 8  # if others write to the same handle
_VARIOUS = "various"
_NEW = frozenset((Permission.ADD_HANDLE,))
_GONE = frozenset((Permission.DELETE_HANDLE,))


class HandleRequest(msgspec.Struct, frozen=True):
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
    form: AnswerForm = AnswerForm()

    @property
    def identifier(self) -> Handle | Pdi:
        """The parsed handle. Raises MalformedIdentifier."""
        return names.read_handle(self.handle)


async def serve_handle(service: Service, request: Request) -> Answer:
    """Answer any method on `/api/handles/<handle>`."""
    if request.method == "OPTIONS":
        return answer_options(request)
    if request.method == "TRACE":
        return await methods.answer_trace(service, request)
    verb, allow = _VERBS.get(request.method), request.allow[TargetKind.PAGE]
    if verb is None or request.method.encode() not in allow.split(b", "):
        fields = (b"allow", allow)
        status = HTTPStatus.METHOD_NOT_ALLOWED
        return handle_codes.write_answer(HandleCode.NOT_SUPPORTED, None, fields, status=status)
    handle, shape = None, AnswerForm()
    try:
        handle = read_handle(request.target.text)
        asked = read_query(handle, request.target.question or "")
        shape = asked.form
        if not handle and request.method in ("GET", "HEAD"):
            return await handle_search.list_handles(service, request)
        return await verb(service, request, asked)
    except PerdureError as error:
        return handle_codes.answer_error(error, handle, request.method, shape)


def answer_options(request: Request) -> Answer:
    """Answer with the allowed methods, also for scripts of other sites, which may read."""
    allow = request.allow[TargetKind.PAGE]
    allowed = (b"access-control-allow-methods", allow)
    headers = (b"access-control-allow-headers", b"authorization, content-type")
    return make_empty_answer(
        HTTPStatus.OK, (b"allow", allow), handle_codes.ANYBODY, allowed, headers
    )


# reading requests
# ----------------


def read_handle(text: str) -> str:
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


def read_query(handle: str, question: str) -> HandleRequest:
    """Read the parameters from a query, or from the body of a form. Raises InvalidRequest."""
    given = Parameters(parse_qsl(question, keep_blank_values=True))
    indexes = given.list_values("index")
    return HandleRequest(
        handle=handle,
        indexes=tuple(values.read_asked_index(one) for one in indexes if one != _VARIOUS),
        various=_VARIOUS in indexes,
        types=given.list_values("type"),
        auth=_is_set(given, "auth"),
        overwrite=_is_set(given, "overwrite", otherwise=True),
        mint=_is_set(given, "mintNewSuffix"),
        form=handle_codes.read_form(
            pretty=_is_set(given, "pretty"), callback=given.get("callback")
        ),
    )


def _is_set(given: Parameters, name: str, *, otherwise: bool = False) -> bool:
    """True if a parameter is set. `?auth` equals `?auth=true`."""
    return given[name].lower() in ("", "true", "1", "yes") if name in given else otherwise


# reading
# -------


async def show_handle(service: Service, request: Request, asked: HandleRequest) -> Answer:
    """Answer with the values of a handle that everyone may read, or all for its administrators."""
    identifier = asked.identifier
    resolved = _resolve_handle(service, identifier)
    record = resolved.holder if resolved is not None else None
    if resolved is None or record is None or record.tombstone:
        return _answer_unknown(service, identifier, asked)
    shown = _list_values(resolved, record, request.base_url)
    if shown is None:
        return _answer_unknown(service, identifier, asked)
    known = b"authorization" in request.fields
    to_admin = False
    if known and resolved.is_registered:
        who = await handle_admins.identify_actor(service, request)
        to_admin = handle_admins.may_read(service, who, identifier, list_values(record))
    selected = _select_values(shown, asked)
    found = write_values(selected, to_admin=to_admin)
    fresh = 0
    if not (known or asked.auth):
        fresh = _find_freshness(record, selected, service.settings.fresh_seconds)
    return _write_values(asked.handle, found, fresh, asked.form)


def _find_freshness(record: Record, shown: Iterable[Value], fresh: int) -> int:
    """The seconds for which an answer may be cached: the shortest time to live of its values.

    Values that the server computes may change with the record: `fresh` seconds.
    """
    stored = {one.index for one in record.values}
    times = (one.ttl if one.index in stored else fresh for one in shown if is_public(one))
    return min(times, default=fresh)


def answer_public(handle: str, record: Record, *, fresh: int) -> Answer | None:
    """The answer to a public GET for all values of a handle.

    Returns None if the record alone does not suffice to write it.
    """
    if record.tombstone or record.versions:
        return None
    shown = list_values(record)
    found = write_values(shown, to_admin=False)
    return _write_values(handle, found, _find_freshness(record, shown, fresh))


def _write_values(
    handle: str,
    found: list[dict[str, Any]],
    fresh: int,
    form: AnswerForm = handle_codes.PLAIN,
) -> Answer:
    """Answer with values. `fresh` is the number of seconds for which it may be cached.

    If the client may see none of them, the code says so, as that of Handle.Net does.
    """
    code = HandleCode.SUCCESS if found else HandleCode.VALUES_NOT_FOUND
    age = b"public, max-age=%d" % fresh if fresh else b"no-store"
    field = (b"cache-control", age)
    return handle_codes.write_answer(
        code, handle, field, form=form, status=HTTPStatus.OK, values=found
    )


async def query_handle(service: Service, request: Request, asked: HandleRequest) -> Answer:
    """Answer like GET, with the parameters in a body: a form or a JSON object."""
    sent = await read_whole_body(request, _LONGEST_BODY)
    if sent.lstrip()[:1] != b"{":
        return await show_handle(service, request, read_query(asked.handle, sent.decode("latin-1")))
    try:
        given = msgspec.json.decode(sent, type=dict[str, object])
    except msgspec.MsgspecError as error:
        raise MalformedBody(fault=str(error)) from error
    pairs = [
        (name, str(one).lower() if isinstance(one, bool) else str(one))
        for name, value in given.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    indexes = tuple(values.read_asked_index(value) for name, value in pairs if name == "index")
    types = tuple(value for name, value in pairs if name == "type")
    auth = _is_set(Parameters(pairs), "auth", otherwise=asked.auth)
    return await show_handle(
        service, request, msgspec.structs.replace(asked, indexes=indexes, types=types, auth=auth)
    )


def _select_values(shown: tuple[Value, ...], asked: HandleRequest) -> tuple[Value, ...]:
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


def _resolve_handle(service: Service, identifier: Handle | Pdi) -> Resolved | None:
    """Resolve a handle. Returns None if it is unknown."""
    try:
        return service.reading.resolve(
            Query(identifier=identifier, want=Want.LOCATIONS, follow_aliases=False)
        )
    except NotFound:
        return None


def _list_values(resolved: Resolved, record: Record, base: str) -> tuple[Value, ...] | None:
    """The values of a handle, among them those that describe bytes held here.

    The values of a part come from a template; None if the template makes none. Raises
    NoSuchVersion or NotAcceptable.
    """
    identifier = resolved.identifier
    if resolved.inside is not None and names.find_home_prefix(resolved.asked):
        return resolved.make_values()
    own = list_values(record)
    if not record.versions and names.find_home_prefix(identifier):
        return own
    check_bindable(resolved.asked)
    step = resolved.step
    if not isinstance(step, Choices):
        raise NotFound(identifier=str(identifier))
    places = {one.uri for one in step.locations}
    shown = [
        one
        for one in own
        if not (is_url(one) and is_public(one))
        or {location.uri for location in list_locations(one)} <= places
    ]
    if step.fetches:
        first = step.fetches[0]
        held = first.representation
        at = record.at
        address = f"{base}/{spell_path(first.identifier)}"
        told = ((URL, address), ("CHECKSUM", f"sha512:{held.sha512}"), ("TYPE", held.media_type))
        taken = {one.index for one in own}
        free = (index for index in count(COMPUTED) if index not in taken)
        shown += [Value(index=next(free), type=kind, data=data, at=at) for kind, data in told]
    return tuple(shown)


def _answer_unknown(service: Service, identifier: Handle | Pdi, asked: HandleRequest) -> Answer:
    if not _is_home(service, identifier):
        return _answer_not_home(asked)
    return handle_codes.write_answer(HandleCode.NOT_FOUND, asked.handle, form=asked.form)


def _is_home(service: Service, identifier: Handle | Pdi) -> bool:
    prefix = names.find_home_prefix(identifier)
    return not prefix or prefix in service.settings.handle_prefixes


def _answer_not_home(asked: HandleRequest) -> Answer:
    message = "That prefix doesn't live here"
    return handle_codes.write_answer(
        HandleCode.NOT_HOME, asked.handle, form=asked.form, message=message
    )


# writing
# -------


async def write_handle(service: Service, request: Request, asked: HandleRequest) -> Answer:
    """Create a handle, or replace its values; with `?index`, only some of them."""
    who = await handle_admins.identify_actor(service, request)
    if asked.mint:
        asked = msgspec.structs.replace(
            asked, handle=f"{asked.handle}{uuid.uuid4()}", overwrite=False
        )
    identifier = asked.identifier
    if not _is_home(service, identifier):
        return _answer_not_home(asked)
    body = await read_whole_body(request, _LONGEST_BODY)
    named = None if asked.mint else identifier
    if values.is_quickly_read(body):
        sent = values.read_values(body, named)
    else:  # to hash secrets takes a while
        sent = await asyncio.to_thread(values.read_values, body, named)
    some = bool(asked.indexes) or asked.various
    if some and not asked.various and {one.index for one in sent} != set(asked.indexes):
        message = "the indexes in the query differ from those of the values in the body"
        return handle_codes.write_answer(
            HandleCode.PROTOCOL_ERROR, asked.handle, form=asked.form, message=message
        )

    def plan_write(record: Record | None) -> Answer | Assign:
        if some and record is None:
            return _answer_unknown(service, identifier, asked)
        current = () if record is None else list_values(record)
        there = {one.index for one in current} & {one.index for one in sent}
        if not asked.overwrite and (record is not None if not some else there):
            code = HandleCode.VALUE_EXISTS if some else HandleCode.ALREADY_EXISTS
            return handle_codes.write_answer(code, asked.handle, form=asked.form)
        after = changes.put_values(current, sent, whole=not some, granted_by=who.granted_by)
        if record is None:
            handle_admins.check_permission(service, who, "register", identifier, (), _NEW)
        else:
            needed = handle_admins.list_needed(current, after)
            handle_admins.check_permission(service, who, "bind", identifier, current, needed)
        return Assign(by=who.name, identifier=identifier, values=after)

    done = await _carry_out_plan(service, identifier, plan_write, who.bearer)
    if isinstance(done, Answer):
        return done
    made = done.outcome is Outcome.CREATED and not asked.overwrite
    status = HTTPStatus.CREATED if made else HTTPStatus.OK
    message = _explain_unlocated(sent)
    return handle_codes.write_answer(
        HandleCode.SUCCESS, asked.handle, form=asked.form, status=status, message=message
    )


def _explain_unlocated(sent: tuple[Value, ...]) -> str:
    """Name the public `URL` values to which readers cannot be redirected; empty if there are none.

    The values are stored as they were sent.
    """
    odd = [one for one in sent if is_url(one) and is_public(one) and not list_locations(one)]
    places = ", ".join(f"index {one.index}" for one in odd)
    return f"readers are not redirected to the URL at {places}: no browser opens it" if odd else ""


async def delete_handle(service: Service, request: Request, asked: HandleRequest) -> Answer:
    """Remove values, or the complete handle if its prefix allows it  # ruling: http-405"""
    identifier = asked.identifier
    if not _is_home(service, identifier):
        return _answer_not_home(asked)
    mutable = changes.is_mutable(
        names.find_home_prefix(identifier), service.settings.mutable_prefixes
    )
    if not asked.indexes and not mutable:
        message = "identifiers with this prefix are never deleted; withdraw it instead"
        allow = (b"allow", request.allow[TargetKind.PAGE])
        status = HTTPStatus.METHOD_NOT_ALLOWED
        return handle_codes.write_answer(
            HandleCode.NOT_SUPPORTED,
            asked.handle,
            allow,
            form=asked.form,
            status=status,
            message=message,
        )
    who = await handle_admins.identify_actor(service, request)

    def plan_deletion(record: Record | None) -> Answer | Assign:
        if record is None:
            return _answer_unknown(service, identifier, asked)
        current = list_values(record)
        if not asked.indexes:
            handle_admins.check_permission(service, who, "withdraw", identifier, current, _GONE)
            return Assign(by=who.name, identifier=identifier, values=None)
        if not {one.index for one in current}.issuperset(asked.indexes):
            return handle_codes.write_answer(
                HandleCode.VALUES_NOT_FOUND, asked.handle, form=asked.form
            )
        after = changes.remove_values(current, frozenset(asked.indexes))
        needed = handle_admins.list_needed(current, after)
        handle_admins.check_permission(service, who, "bind", identifier, current, needed)
        return Assign(by=who.name, identifier=identifier, values=after)

    done = await _carry_out_plan(service, identifier, plan_deletion, who.bearer)
    if isinstance(done, Answer):
        return done
    return handle_codes.write_answer(HandleCode.SUCCESS, asked.handle, form=asked.form)


async def _carry_out_plan(
    service: Service,
    identifier: Handle | Pdi,
    plan: Callable[[Record | None], Answer | Assign],
    bearer: str,
) -> Answer | Receipt:
    """Plan for the current record and carry out the plan, again if the record changed meanwhile.

    A deleted handle is planned for like an unknown one. Raises PreconditionFailed if the record
    keeps changing.
    """
    tries = 0
    while True:
        record = service.find_record(identifier)
        revision = 0 if record is None else record.revision
        known = None if record is not None and changes.is_deleted(record) else record
        planned = plan(known)
        if isinstance(planned, Answer):
            return planned
        command = msgspec.structs.replace(planned, expect=revision)
        try:
            receipt = await service.submit_command(command, bearer)
        except PreconditionFailed:
            tries += 1
            if tries == _TRIES:
                raise
            continue
        service.metrics.count_write("assign", receipt.outcome)
        return receipt


_VERBS = {
    "GET": show_handle,
    "HEAD": show_handle,
    "POST": query_handle,
    "PUT": write_handle,
    "DELETE": delete_handle,
}
