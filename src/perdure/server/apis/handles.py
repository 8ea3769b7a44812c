"""The Handle REST API: `/api/handles/<handle>`, as the servers of Handle.Net speak it.

How it works: the handle is the text after the path; a PDI is spelled `pdi/…`
(`perdure.policy.handles`). `perdure.server.apis.handle_requests` reads the parameters. Reading
projects the record to handle values; `perdure.server.apis.handle_writing` writes them, and
`perdure.server.apis.handle_search` lists and finds handles.

What must stay true: no answer contains a secret.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from http import HTTPStatus
from itertools import count
from typing import NamedTuple

import msgspec

from perdure.errors import NotFound, PerdureError
from perdure.errors.delegations import AnsweredElsewhere
from perdure.errors.requests import MalformedBody
from perdure.ids.handle import Handle
from perdure.ids.pdi import Pdi
from perdure.model.parameters import Parameters
from perdure.model.queries import Choices, Query, Want
from perdure.model.records import Record, Value
from perdure.policy.handles import names, values
from perdure.policy.handles.values import (
    COMPUTED,
    URL,
    ShownValue,
    is_public,
    is_url,
    list_locations,
    list_stored_values,
    list_values,
    write_public_value,
    write_values,
)
from perdure.policy.naming import check_bindable
from perdure.reading.resolved import Resolved
from perdure.reading.targets import spell_path
from perdure.server.apis import handle_admins, handle_codes, handle_search
from perdure.server.apis.handle_codes import AnswerForm, HandleCode
from perdure.server.apis.handle_requests import (
    LONGEST_BODY,
    HandleRequest,
    answer_elsewhere,
    answer_unknown,
    is_set,
    read_handle,
    read_query,
)
from perdure.server.apis.handle_writing import delete_handle, write_handle
from perdure.server.common import asking
from perdure.server.common.answers import Answer, make_empty_answer
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource import methods
from perdure.server.resource.planning import read_whole_body


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
        if request.method not in ("GET", "HEAD"):
            service.registry.delegations.require_written_here(asked.identifier)
        return await verb(service, request, asked)
    except AnsweredElsewhere:
        raise
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


# reading
# -------


async def show_handle(service: Service, request: Request, asked: HandleRequest) -> Answer:
    """Answer with the values of a handle that everyone may read, or all for its administrators."""
    identifier = asked.identifier
    resolved = _resolve_handle(service, request, identifier)
    if resolved is not None and resolved.elsewhere is not None:
        return answer_elsewhere(resolved.elsewhere, asked)
    record = resolved.holder if resolved is not None else None
    if resolved is None or record is None or record.tombstone:
        return answer_unknown(service, identifier, asked)
    shown = list_handle_values(resolved, record, request.base_url)
    if shown is None:
        return answer_unknown(service, identifier, asked)
    known = b"authorization" in request.fields
    to_admin = False
    if known and resolved.is_registered:
        who = await handle_admins.identify_actor(service, request)
        to_admin = handle_admins.may_read(service, who, identifier, list_values(record))
    selected = select_values(shown, asked.indexes, asked.types)
    fresh = 0
    if not (known or asked.auth):
        public = [one for one in selected if is_public(one)]
        fresh = _find_freshness(record, public, service.settings.fresh_seconds)
    return answer_values(asked.handle, write_values(selected, to_admin=to_admin), fresh, asked.form)


def _find_freshness(record: Record, public: Iterable[Value], fresh: int) -> int:
    """The seconds for which public values may be cached: the shortest time to live among them.

    Values that the server computes may change with the record: `fresh` seconds.
    """
    stored = {one.index for one in record.values}
    return min([one.ttl if one.index in stored else fresh for one in public], default=fresh)


class PublicValues(NamedTuple):
    """The values of a handle that everyone may read."""

    values: list[ShownValue]
    fresh: int
    """The seconds for which they may be cached."""


def find_public(record: Record, *, fresh: int) -> PublicValues | None:
    """The values that a public GET shows, if nothing but the record decides; None otherwise."""
    if record.tombstone or record.versions:
        return None
    stored = list_stored_values(record)
    public = [one for one in stored or list_values(record) if is_public(one)]
    if stored is not None:
        fresh = min([one.ttl for one in public])  # one of them states the location
    else:
        fresh = _find_freshness(record, public, fresh)
    return PublicValues([write_public_value(one) for one in public], fresh)


def answer_values(
    handle: str,
    found: list[ShownValue],
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
    sent = await read_whole_body(request, LONGEST_BODY)
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
    auth = is_set(Parameters(pairs), "auth", otherwise=asked.auth)
    return await show_handle(
        service, request, msgspec.structs.replace(asked, indexes=indexes, types=types, auth=auth)
    )


def select_values(
    shown: tuple[Value, ...], indexes: Collection[int], types: Collection[str]
) -> tuple[Value, ...]:
    """Select values by index or by type. `EMAIL.` stands for all types that begin with it."""
    if not indexes and not types:
        return shown
    return tuple(
        one
        for one in shown
        if one.index in indexes
        or any(
            one.type == kind or (kind.endswith(".") and one.type.startswith(kind)) for kind in types
        )
    )


def _resolve_handle(
    service: Service, request: Request, identifier: Handle | Pdi
) -> Resolved | None:
    """Resolve a handle. Returns None if it is unknown."""
    query = Query(
        identifier=identifier,
        want=Want.LOCATIONS,
        follow_aliases=False,
        reader=find_reader(service, request),
        accepts_elsewhere=True,
    )
    try:
        return asking.resolve_query(service, request, query)
    except AnsweredElsewhere:
        raise
    except NotFound:
        return None


def list_handle_values(resolved: Resolved, record: Record, base: str) -> tuple[Value, ...] | None:
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


_VERBS = {
    "GET": show_handle,
    "HEAD": show_handle,
    "POST": query_handle,
    "PUT": write_handle,
    "DELETE": delete_handle,
}
