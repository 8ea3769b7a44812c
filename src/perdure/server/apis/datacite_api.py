"""DataCite's REST API: `/dois`, as far as DOIs are made, changed and read.

How it works: clients of DataCite work with this address. Requests and answers are JSON:API. The
attributes of a DOI are read and written by `perdure.metadata.datacite_json`;
`perdure.upkeep.exchange.datacite` makes a line of an import from them, so that a dump of an
account, an export and this API show the same. A draft is a reserved name; the events `register` and
`publish` bind its address, `hide` leaves it bound.

What must stay true: every write needs a token that covers it; readers without a token do not see
drafts; a DOI that was registered is never a draft again.

Specification: DataCite REST API Guide, "Create DOIs", "Update DOIs", "DOI states".
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import msgspec

from perdure.errors import (
    Conflict,
    ContentNotSupported,
    Forbidden,
    MalformedIdentifier,
    NotFound,
    PerdureError,
    StorageFailed,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from perdure.errors.delegations import AnsweredElsewhere
from perdure.errors.exchanging import (
    EventUnknown,
    NameDeletedNever,
    NameExists,
    PrefixOfOthers,
    RecordNotObject,
    RecordWithoutName,
    StateIncomplete,
)
from perdure.errors.requests import MalformedBody
from perdure.ids import Identifier, parse
from perdure.metadata.datacite_json import write_attributes
from perdure.model.records import Record, Token
from perdure.policy.handles import names
from perdure.policy.naming import check_bindable
from perdure.reading.described import describe_resource
from perdure.server.apis import accounts, datacite_lists, ezid_api, whole_records
from perdure.server.apis.handle_requests import is_home
from perdure.server.common import auth
from perdure.server.common.answers import Answer, make_answer, make_empty_answer
from perdure.server.common.problems import list_supported
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource.planning import read_whole_body
from perdure.upkeep.exchange import datacite, provenance
from perdure.upkeep.exchange.port import ExportedRecord

MEDIA_TYPE = "application/vnd.api+json"
_LONGEST_BODY = 2 << 20  # bytes
_NOT_STORED = (b"cache-control", b"no-store")
_CHALLENGE = (b"www-authenticate", b'Basic realm="DataCite"')
_EVENTS = {"publish": "findable", "register": "registered", "hide": "registered"}
_CONTROL = frozenset(("event", "prefix", "suffix", "doi", "state", "created", "updated",
                      "registered", "published", "url"))  # fmt: skip
"""Attributes that are not part of the description."""
_NEEDED = {
    "titles": "titles", "creators": "creators", "publisher": "publisher",
    "year": "publicationYear", "resource_type": "types.resourceTypeGeneral",
}  # fmt: skip
"""Members of a description that a registered DOI must have, and their names in JSON."""
_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
_TRIES = 8


async def serve_dois(service: Service, request: Request) -> Answer:
    """Answer any method on `/dois` and `/dois/<doi>`."""
    try:
        doi = unquote(request.target.text.partition("/")[2])
        match request.method, bool(doi):
            case (("GET" | "HEAD"), True):
                return _show_doi(service, request, doi)
            case (("GET" | "HEAD"), False):
                return _answer(HTTPStatus.OK, await datacite_lists.list_dois(service, request))
            case "POST", False:
                return await _create_doi(service, request)
            case (("PUT" | "PATCH"), True):
                _require_written_here(service, doi)
                return await _update_doi(service, request, doi)
            case "DELETE", True:
                _require_written_here(service, doi)
                return await _delete_doi(service, request, doi)
        allow = (b"allow", request.allow[TargetKind.PAGE])
        return _refuse(HTTPStatus.METHOD_NOT_ALLOWED, "the method is not allowed here", allow)
    except PerdureError as error:
        return answer_error(error)


# Answers
# -------


def _answer(status: HTTPStatus, members: dict[str, Any], *fields: tuple[bytes, bytes]) -> Answer:
    data = msgspec.json.encode(members)
    return make_answer(status, f"{MEDIA_TYPE}; charset=utf-8", data, _NOT_STORED, *fields)


def _refuse(
    status: HTTPStatus, title: str, *fields: tuple[bytes, bytes], source: str = ""
) -> Answer:
    error = {"status": str(status.value), "title": title} | ({"source": source} if source else {})
    return _answer(status, {"errors": [error]}, *fields)


def answer_error(error: PerdureError) -> Answer:
    """Answer an error in the words of DataCite. Raises AnsweredElsewhere, which is no answer."""
    if isinstance(error, AnsweredElsewhere):
        raise error
    if isinstance(error, Unauthenticated):
        return _refuse(HTTPStatus.UNAUTHORIZED, "Bad credentials.", _CHALLENGE)
    if isinstance(error, Forbidden):
        words = "You are not authorized to access this resource."
        return _refuse(HTTPStatus.FORBIDDEN, words)
    if isinstance(error, NotFound):
        words = "The resource you are looking for doesn't exist."
        return _refuse(HTTPStatus.NOT_FOUND, words)
    if isinstance(error, NameDeletedNever):
        return _refuse(HTTPStatus.METHOD_NOT_ALLOWED, str(error))
    if isinstance(error, NameExists):
        words = "This DOI has already been taken"
        return _refuse(HTTPStatus.UNPROCESSABLE_ENTITY, words, source="doi")
    if isinstance(error, MalformedBody | RecordNotObject):
        return _refuse(HTTPStatus.BAD_REQUEST, str(error))
    if isinstance(error, ContentNotSupported):
        fields = list_supported(error)
        return _refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, str(error), *fields)
    if isinstance(error, TooLarge):
        return _refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error))
    if isinstance(error, StorageFailed):
        return _refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "The registry cannot be written.")
    if isinstance(error, Unavailable):
        return _refuse(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
    if isinstance(error, Conflict):
        return _refuse(HTTPStatus.CONFLICT, str(error))
    return _refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))


# Reading
# -------


def _read_doi(text: str) -> Identifier:
    """Read the DOI of a request. Raises MalformedIdentifier."""
    bare = text.removeprefix("doi:").removeprefix("https://doi.org/")
    return check_bindable(parse(f"doi:{bare}"))


def _require_written_here(service: Service, text: str) -> None:
    """Raise AnsweredElsewhere if another resolver assigns a DOI, also to strangers."""
    with suppress(MalformedIdentifier):  # the caller says what is wrong with it
        service.registry.delegations.require_written_here(_read_doi(text))


def _show_doi(service: Service, request: Request, text: str) -> Answer:
    try:
        identifier = _read_doi(text)
    except MalformedIdentifier:
        raise NotFound(identifier=text) from None
    exported = whole_records.find_exported(service, request, identifier, request.base_url)
    shown = datacite.write_doi(exported)
    if shown["attributes"]["state"] == datacite.DRAFT and not accounts.has_account(request):
        raise NotFound(identifier=str(identifier))
    if shown["attributes"]["state"] == datacite.DRAFT:
        accounts.find_account(service, request)
    return _answer(HTTPStatus.OK, {"data": shown})


# Writing
# -------


async def _read_attributes(request: Request) -> dict[str, Any]:
    """Read the attributes in a request. Raises InvalidRequest."""
    body = await read_whole_body(request, _LONGEST_BODY)
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise MalformedBody(fault=str(error)) from None
    attributes = datacite.find_attributes(value)
    event = attributes.get("event")
    if event is not None and event not in _EVENTS:
        raise EventUnknown(text=str(event), known=tuple(_EVENTS))
    return attributes


async def _create_doi(service: Service, request: Request) -> Answer:
    if service.registry.delegations.load_index().has_writers:
        sent = await _read_attributes(request)  # a writer there may have no account here
        _require_written_here(service, str(sent.get("doi") or f"{sent.get('prefix')}/0"))
        token = accounts.find_account(service, request)
    else:
        token = accounts.find_account(service, request)
        sent = await _read_attributes(request)
    doi = str(sent.get("doi") or "")
    if doi:
        await _write(service, request, token, _read_doi(doi), sent, new=True)
        return _answer_written(service, request, _read_doi(doi), HTTPStatus.CREATED)
    prefix = str(sent.get("prefix") or "")
    if not prefix:
        raise RecordWithoutName(places=("doi", "prefix"))
    for _ in range(_TRIES):
        suffix = "".join(secrets.choice(_BASE32) for _ in range(8))
        name = _read_doi(f"{prefix}/{suffix[:4]}-{suffix[4:]}")
        try:
            await _write(service, request, token, name, sent, new=True)
        except NameExists:
            continue
        return _answer_written(service, request, name, HTTPStatus.CREATED)
    raise NameExists(identifier=prefix)


async def _update_doi(service: Service, request: Request, text: str) -> Answer:
    """Change a DOI. An unknown one is created, as DataCite does."""
    token = accounts.find_account(service, request)
    identifier = _read_doi(text)
    sent = await _read_attributes(request)
    new = service.find_record(identifier) is None
    await _write(service, request, token, identifier, sent, new=new)
    status = HTTPStatus.CREATED if new else HTTPStatus.OK
    return _answer_written(service, request, identifier, status)


def _answer_written(
    service: Service, request: Request, identifier: Identifier, status: HTTPStatus
) -> Answer:
    record = service.find_record(identifier)
    if record is None:  # a prefix for tests, and another client has deleted it
        raise NotFound(identifier=str(identifier))
    line = whole_records.make_line(identifier, record)
    shown = datacite.write_doi(ExportedRecord(identifier, record, line, request.base_url))
    return _answer(status, {"data": shown})


async def _write(
    service: Service,
    request: Request,
    token: Token,
    identifier: Identifier,
    sent: dict[str, Any],
    *,
    new: bool,
) -> None:
    """Give a DOI the attributes that were sent, beside its present ones."""
    auth.check_right(service, token, "register" if new else "bind", identifier)
    if not is_home(service, identifier):
        raise PrefixOfOthers(prefix=names.find_home_prefix(identifier))
    now = auth.current_time(service)

    def plan_write(record: Record | None) -> dict[str, Any]:
        if new and record is not None:
            raise NameExists(identifier=str(identifier))
        return plan_attributes(identifier, record, sent, request.base_url, token.name, now)

    # to read a description takes milliseconds, which no other request must wait for
    await asyncio.to_thread(plan_write, service.find_record(identifier))
    await whole_records.change_record(service, token, identifier, plan_write)


def plan_attributes(
    identifier: Identifier,
    record: Record | None,
    sent: dict[str, Any],
    base: str,
    owner: str,
    now: str,
) -> dict[str, Any]:
    """Make the line that gives a DOI the attributes that were sent. Raises InvalidRequest."""
    doi = str(identifier.resource).removeprefix("doi:")
    pairs = dict(record.metadata) if record is not None else {provenance.CREATED: now}
    described: dict[str, Any] = {}
    if record is not None:
        about = describe_resource(identifier, record, base).about
        described = write_attributes(about, doi)
    given = {name: value for name, value in sent.items() if name not in _CONTROL}
    described |= given
    if "xml" not in given:
        described.pop("xml", None)
    about = datacite.read_description(described | {"doi": doi})
    before = _find_state(record)
    after = _EVENTS.get(str(sent.get("event")), before)
    if before != datacite.DRAFT and after == datacite.DRAFT:
        after = before
    target = str(sent.get("url") or (provenance.find_target(record) if record else ""))
    _check_complete(after, target, about)
    pairs |= {provenance.STATUS: after, provenance.UPDATED: now}
    pairs.setdefault(provenance.OWNER, owner)
    if after != datacite.DRAFT:
        pairs.setdefault("_registered", now)
    if after == "findable":
        pairs.setdefault("_published", now)
    pairs.pop(provenance.TARGET, None)
    line: dict[str, Any] = {"locations": []}
    status = provenance.RESERVED if after == datacite.DRAFT else provenance.PUBLIC
    provenance.place_target(line, pairs, target, status)
    attached = {
        "format": datacite.JSON,
        "media_type": datacite.JSON_TYPE,
        "content": msgspec.json.encode(
            {"id": doi, "type": "dois", "attributes": {"doi": doi} | described}
        ),
    }
    kept = [] if record is None else [msgspec.to_builtins(one) for one in record.attached]
    others = [one for one in kept if one["format"] != datacite.JSON]
    return line | {
        "metadata": pairs,
        "about": msgspec.to_builtins(about),
        "attached": [*others, attached],
    }


def _find_state(record: Record | None) -> str:
    if record is None or provenance.find_status(record) == provenance.RESERVED:
        return datacite.DRAFT
    state = record.metadata.get(provenance.STATUS, "")
    return state if state in datacite.STATES[1:] else "findable"


def _check_complete(state: str, target: str, about: Any) -> None:
    """Raise StateIncomplete if a registered DOI lacks an address or a member that it must have."""
    if state == datacite.DRAFT:
        return
    missing = [name for member, name in _NEEDED.items() if not getattr(about, member)]
    if not target:
        missing.insert(0, "url")
    if missing:
        raise StateIncomplete(members=tuple(missing))


async def _delete_doi(service: Service, request: Request, text: str) -> Answer:
    """Delete a draft, if the operator allows it for its prefix  # ruling: http-405"""
    token = accounts.find_account(service, request)
    identifier = _read_doi(text)
    record = service.find_record(identifier)
    if record is None or record.tombstone is not None:
        raise NotFound(identifier=str(identifier))
    auth.check_right(service, token, "bind", identifier)
    if _find_state(record) != datacite.DRAFT:
        raise NameDeletedNever(identifier=str(identifier))
    await ezid_api.delete_name(service, token, identifier)
    return make_empty_answer(HTTPStatus.NO_CONTENT)
