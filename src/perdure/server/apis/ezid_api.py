"""EZID's API, version 2: `/shoulder`, `/id`, `/login`, `/logout`, `/status`.

How it works: clients of EZID work with this address. Requests and answers are ANVL in UTF-8
(`perdure.metadata.anvl`), and the first line says whether it succeeded. The elements of an
identifier are those of EZID's downloads (`perdure.upkeep.exchange.ezid`), so an import, an export
and this API show the same. Minting on an ARK shoulder is that of this registry; on a shoulder of
DOIs a random name is made.

What must stay true: every write needs a token that covers it; an identifier that is public is never
reserved again, and none is deleted unless its prefix is set aside for tests.

Specification: EZID API Documentation, version 2 (https://ezid.cdlib.org/doc/apidoc.html).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import msgspec

from perdure.errors import (
    ContentNotSupported,
    Forbidden,
    MalformedIdentifier,
    NotFound,
    PerdureError,
    StorageFailed,
    Unauthenticated,
    Unavailable,
)
from perdure.errors.delegations import AnsweredElsewhere
from perdure.errors.exchanging import (
    ElementReserved,
    NameDeletedNever,
    NameExists,
    OptionUnknown,
    PrefixOfOthers,
    StatusUnknown,
    StatusUnreachable,
)
from perdure.errors.requests import MalformedBody
from perdure.ids import Identifier, parse
from perdure.ids.ark import read_shoulder
from perdure.metadata import anvl
from perdure.model.commands import Assign, Mint
from perdure.model.records import Record, Token
from perdure.policy.handles import changes, names
from perdure.policy.naming import check_bindable
from perdure.server.apis import accounts, whole_records
from perdure.server.apis.handle_requests import is_home
from perdure.server.common import auth
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.problems import list_supported
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource.planning import read_whole_body
from perdure.upkeep.exchange import ezid, provenance
from perdure.upkeep.exchange.port import ExportedRecord

_LONGEST_BODY = 1 << 20  # bytes
_TEXT = "text/plain; charset=utf-8"
_NOT_STORED = (b"cache-control", b"no-store")
_CHALLENGE = (b"www-authenticate", b'Basic realm="EZID"')
_OURS = frozenset(("_created", "_updated", "_shadowedby", "_shadows"))
"""Elements that the server sets itself."""
_SETTABLE = frozenset(
    ("_owner", "_ownergroup", "_coowners", "_target", "_profile", "_status", "_export",
     "_datacenter", "_crossref")
)  # fmt: skip
_TRIES = 8
_LONGEST_CUT = 64  # characters that `prefix_match` cuts off
_SUBSYSTEMS = ("binder", "datacite", "search")


# Answers
# -------


async def serve_identifier(service: Service, request: Request) -> Answer:
    """Answer any method on `/id/<identifier>`."""
    try:
        text = unquote(request.target.text.partition("/")[2])
        match request.method:
            case "GET" | "HEAD":
                return _show_identifier(service, request, text)
            case "PUT":
                _require_written_here(service, text)
                return await _create_identifier(service, request, text)
            case "POST":
                _require_written_here(service, text)
                return await _update_identifier(service, request, text)
            case "DELETE":
                _require_written_here(service, text)
                return await _delete_identifier(service, request, text)
        allow = (b"allow", request.allow[TargetKind.PAGE])
        return _answer("error: method not allowed", HTTPStatus.METHOD_NOT_ALLOWED, allow)
    except PerdureError as error:
        return answer_error(error)


async def mint_identifier(service: Service, request: Request) -> Answer:
    """Answer `POST /shoulder/<shoulder>`."""
    try:
        shoulder = unquote(request.target.text.partition("/")[2])
        _require_written_here(service, f"{shoulder}0")
        token = accounts.find_account(service, request)
        elements = await _read_elements(request)
        _check_options(request)
        name = await _mint(service, request, token, shoulder, elements)
        return _answer(f"success: {ezid.spell_identifier(str(name))}", HTTPStatus.CREATED)
    except PerdureError as error:
        return answer_error(error)


async def log_in(service: Service, request: Request) -> Answer:
    """Answer with a session."""
    try:
        token = accounts.find_account(service, request)
    except PerdureError as error:
        return answer_error(error)
    secure = "; Secure" if request.scope["scheme"] == "https" else ""
    cookie = (
        f"{accounts.COOKIE}={accounts.make_session(service, token)}; Path=/; HttpOnly; "
        f"SameSite=Strict; Max-Age={accounts.LASTING}{secure}"
    )
    field = (b"set-cookie", cookie.encode())
    return _answer("success: session cookie returned", HTTPStatus.OK, field)


async def log_out(_: Service, __: Request) -> Answer:
    """Answer so that the client forgets its session."""
    cookie = f"{accounts.COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
    words = "success: authentication credentials flushed"
    return _answer(words, HTTPStatus.OK, (b"set-cookie", cookie.encode()))


async def show_status(_: Service, request: Request) -> Answer:
    """Answer that the server is up, and its subsystems if they are named."""
    try:
        given = _check_options(request, "subsystems", "detailed")
    except PerdureError as error:
        return answer_error(error)
    asked = given.get("subsystems", "")
    listed = _SUBSYSTEMS if asked == "*" else tuple(filter(None, map(str.strip, asked.split(","))))
    if not set(listed).issubset(_SUBSYSTEMS):
        return _answer("error: bad request - no such subsystem", HTTPStatus.BAD_REQUEST)
    body = "".join(anvl.write_element(one, "up") for one in listed)
    return _answer("success: EZID is up", HTTPStatus.OK, body=body)


def _answer(
    status_line: str, status: HTTPStatus, *fields: tuple[bytes, bytes], body: str = ""
) -> Answer:
    word, _, rest = status_line.partition(": ")
    text = anvl.write_element(word, rest) + body
    data = (text if body else text.rstrip("\n")).encode("utf-8", "replace")
    return make_answer(status, _TEXT, data, _NOT_STORED, *fields)


def answer_error(error: PerdureError) -> Answer:
    """Answer an error in the words of EZID. Raises AnsweredElsewhere, which is no answer."""
    if isinstance(error, AnsweredElsewhere):
        raise error
    if isinstance(error, Unauthenticated):
        return _answer("error: unauthorized", HTTPStatus.UNAUTHORIZED, _CHALLENGE)
    if isinstance(error, Forbidden):
        return _answer("error: forbidden", HTTPStatus.FORBIDDEN)
    if isinstance(error, NameDeletedNever):
        return _answer("error: method not allowed", HTTPStatus.METHOD_NOT_ALLOWED)
    if isinstance(error, StorageFailed):
        return _answer("error: internal server error", HTTPStatus.INTERNAL_SERVER_ERROR)
    if isinstance(error, Unavailable):
        words = "error: concurrency limit exceeded"
        return _answer(words, HTTPStatus.SERVICE_UNAVAILABLE)
    if isinstance(error, ContentNotSupported):
        words, fields = f"error: bad request - {error}", list_supported(error)
        return _answer(words, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, *fields)
    if isinstance(error, NotFound):
        return _answer("error: bad request - no such identifier", HTTPStatus.BAD_REQUEST)
    if isinstance(error, NameExists):
        return _answer("error: bad request - identifier already exists", HTTPStatus.BAD_REQUEST)
    return _answer(f"error: bad request - {error}", HTTPStatus.BAD_REQUEST)


# Requests
# --------


async def _read_elements(request: Request) -> dict[str, str]:
    """Read the elements of a request. Raises InvalidRequest, TooLarge."""
    body = await read_whole_body(request, _LONGEST_BODY)
    try:
        elements = anvl.read_elements(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise MalformedBody(fault=str(error)) from None
    for name in elements:
        if name.startswith("_") and name not in _SETTABLE:
            raise ElementReserved(element=name)
    return elements


def _check_options(request: Request, *known: str) -> dict[str, str]:
    """Return the parameters of a request. Raises OptionUnknown."""
    given = dict(request.parameters)
    for name in given:
        if name not in known:
            raise OptionUnknown(option=name, known=known)
    return given


def _require_written_here(service: Service, text: str) -> None:
    """Raise AnsweredElsewhere if another resolver assigns a name, also to strangers."""
    with suppress(MalformedIdentifier):  # the caller says what is wrong with it
        name = parse(ezid.name_identifier(text))
        service.registry.delegations.require_written_here(name)


def _read_name(text: str) -> Identifier:
    """Read the identifier of a request. Raises MalformedIdentifier."""
    return check_bindable(parse(ezid.name_identifier(text)))


# Reading
# -------


def _show_identifier(service: Service, request: Request, text: str) -> Answer:
    given = _check_options(request, "prefix_match")
    asked = _read_asked(text)
    exported = _find_exported(service, request, asked, longest=given.get("prefix_match") == "yes")
    shown = ezid.spell_identifier(str(exported.identifier.resource))
    wanted = ezid.spell_identifier(str(asked))
    line = f"success: {shown}" + (f" in_lieu_of {wanted}" if shown != wanted else "")
    body = anvl.write_elements(show_elements(exported))
    return _answer(line, HTTPStatus.OK, body=body)


def _read_asked(text: str) -> Identifier:
    """Read the identifier that a client asks for, which may name a part or a version of a record.

    Raises MalformedIdentifier or PatternNotAllowed.
    """
    asked = parse(ezid.name_identifier(text))
    return asked if asked.whole is not asked else check_bindable(asked)


def _find_exported(
    service: Service, request: Request, asked: Identifier, *, longest: bool
) -> ExportedRecord:
    """Find the record that answers for an identifier, such as that of which it is an alias.

    With `longest`, it may be that of the longest identifier with which the asked one begins.
    """
    text, elsewhere = str(asked), None
    for cut in range(min(_LONGEST_CUT, len(text)) if longest else 1):
        try:
            name = parse(text[: len(text) - cut])
            return whole_records.find_exported(service, request, name, request.base_url)
        except AnsweredElsewhere as error:
            elsewhere = elsewhere or error
        except (MalformedIdentifier, NotFound):
            continue
    raise elsewhere or NotFound(identifier=text)


def show_elements(exported: ExportedRecord) -> dict[str, str]:
    """List the elements of an identifier, with the times in seconds, as the API shows them."""
    elements = ezid.list_elements(exported)
    record = exported.record
    for name in (provenance.CREATED, provenance.UPDATED):
        if not provenance.read_moment(elements.get(name, "")):
            elements[name] = str(provenance.count_seconds(record.at))
    elements.setdefault(provenance.OWNER, record.by)
    elements.setdefault("_profile", "erc")
    elements.setdefault("_export", "yes")
    return elements


# Writing
# -------


async def _create_identifier(service: Service, request: Request, text: str) -> Answer:
    token = accounts.find_account(service, request)
    identifier = _read_name(text)
    given = _check_options(request, "update_if_exists")
    auth.check_right(service, token, "register", identifier)
    if not is_home(service, identifier):
        raise PrefixOfOthers(prefix=names.find_home_prefix(identifier))
    elements = await _read_elements(request)
    exists = service.find_record(identifier) is not None
    if exists and given.get("update_if_exists") == "yes":
        return await _write(service, request, token, identifier, elements, new=False)
    return await _write(service, request, token, identifier, elements, new=True)


async def _update_identifier(service: Service, request: Request, text: str) -> Answer:
    token = accounts.find_account(service, request)
    identifier = _read_name(text)
    _check_options(request)
    if service.find_record(identifier) is None:
        raise NotFound(identifier=str(identifier))
    auth.check_right(service, token, "bind", identifier)
    elements = await _read_elements(request)
    return await _write(service, request, token, identifier, elements, new=False)


async def _write(
    service: Service,
    request: Request,
    token: Token,
    identifier: Identifier,
    elements: dict[str, str],
    *,
    new: bool,
) -> Answer:
    """Write the elements of an identifier, and answer."""
    described = await asyncio.to_thread(_describe, elements)
    now = auth.current_time(service)

    def plan_write(record: Record | None) -> dict[str, Any]:
        if new and record is not None:
            raise NameExists(identifier=str(identifier))
        if not new and record is None:
            raise NotFound(identifier=str(identifier))
        own = f"{request.base_url}/id/{ezid.spell_identifier(str(identifier))}"
        line = plan_elements(record, elements, own=own, owner=token.name, now=now)
        attached = [one for one in line.pop("attached", ()) if one["format"] not in described]
        return line | _join_attached(record, attached, described)

    await whole_records.change_record(service, token, identifier, plan_write)
    status = HTTPStatus.CREATED if new else HTTPStatus.OK
    return _answer(f"success: {ezid.spell_identifier(str(identifier))}", status)


def _describe(elements: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Read the records in elements, which takes milliseconds: by format, the fields of a line.

    Raises InvalidMetadata: a new record must be valid.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, read in ezid.READERS:
        text = elements.get(name, "").strip()
        if text.startswith("<"):
            data = text.encode()
            about = msgspec.to_builtins(read(data))
            attached = {"format": name, "media_type": "application/xml", "content": data}
            found[name] = {"about": about, "attached": attached}
    return found


def _join_attached(
    record: Record | None, attached: list[Any], described: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the fields of a line that the records in a request change."""
    if not described:
        return {}
    kept = [] if record is None else [msgspec.to_builtins(one) for one in record.attached]
    others = [one for one in (*kept, *attached) if one["format"] not in described]
    (*_, last) = described.values()
    new = [one["attached"] for one in described.values()]
    return {"about": last["about"], "attached": [*others, *new]}


def plan_elements(
    record: Record | None,
    sent: dict[str, str],
    *,
    own: str,
    owner: str,
    now: str,
) -> dict[str, Any]:
    """Make the line that gives an identifier the elements that were sent, beside its present ones.

    `own` is the address that a public identifier has if none was sent. Raises InvalidRequest.
    """
    pairs = dict(record.metadata) if record is not None else {provenance.CREATED: now}
    before = provenance.find_status(record) if record is not None else ""
    after = sent.get(provenance.STATUS, before or provenance.PUBLIC)
    _check_status(before, after)
    target = sent.get(provenance.TARGET, provenance.find_target(record) if record else "") or own
    provenance.read_target(target)
    for name, value in sent.items():
        if value and name not in (provenance.STATUS, provenance.TARGET):
            pairs[name] = value
        elif not value:
            pairs.pop(name, None)
    for name, _ in ezid.READERS:
        if pairs.get(name, "").lstrip().startswith("<"):
            del pairs[name]
    pairs.setdefault(provenance.OWNER, owner)
    pairs[provenance.UPDATED] = now
    pairs.pop(provenance.TARGET, None)
    pairs.pop(provenance.STATUS, None)
    line: dict[str, Any] = {"locations": []}
    if after != provenance.PUBLIC:
        pairs[provenance.STATUS] = after
    provenance.place_target(line, pairs, target, after)
    return line | {"metadata": pairs}


def _check_status(before: str, after: str) -> None:
    """Raise InvalidRequest if a status is unknown, or cannot follow the one before."""
    word, known = after.partition("|")[0].strip(), ezid.STATUSES
    if word not in known:
        raise StatusUnknown(state=after, known=known)
    if word == provenance.RESERVED and before not in ("", provenance.RESERVED):
        raise StatusUnreachable(before=before, after=after)
    if word == provenance.UNAVAILABLE and before in ("", provenance.RESERVED):
        raise StatusUnreachable(before=before or "nothing", after=after)


async def _mint(
    service: Service, request: Request, token: Token, shoulder: str, elements: dict[str, str]
) -> Identifier:
    """Mint a name on a shoulder, and give it its elements."""
    described = await asyncio.to_thread(_describe, elements)
    now = auth.current_time(service)
    if not shoulder.lower().startswith("ark:"):
        return await _mint_random(service, request, token, shoulder, elements)
    try:
        authority = read_shoulder(shoulder)
    except ValueError as error:
        raise MalformedBody(fault=str(error)) from None
    auth.check_minting(service, token, authority)
    auth.check_share(service, request, token)
    command = Mint(by=token.name, authority=authority)
    receipt = await service.submit_command(command, token.name)
    service.metrics.count_write("mint", receipt.outcome)
    name = parse(receipt.identifier)

    def plan_new(record: Record | None) -> dict[str, Any]:
        own = f"{request.base_url}/id/{ezid.spell_identifier(str(name))}"
        made = plan_elements(None, elements, own=own, owner=token.name, now=now)
        return made | _join_attached(record, [], described)

    await whole_records.change_record(service, token, name, plan_new)
    return name


async def _mint_random(
    service: Service, request: Request, token: Token, shoulder: str, elements: dict[str, str]
) -> Identifier:
    """Make a name that is not taken on a shoulder of handles or DOIs."""
    for _ in range(_TRIES):
        name = check_bindable(whole_records.invent_name(ezid.name_identifier(shoulder)))
        auth.check_right(service, token, "register", name)
        if not is_home(service, name):
            raise PrefixOfOthers(prefix=names.find_home_prefix(name))
        auth.check_share(service, request, token)
        try:
            await _write(service, request, token, name, elements, new=True)
        except NameExists:
            continue
        return name
    raise NameExists(identifier=shoulder)


async def _delete_identifier(service: Service, request: Request, text: str) -> Answer:
    """Delete an identifier, if the operator allows it for its prefix  # ruling: http-405"""
    token = accounts.find_account(service, request)
    identifier = _read_name(text)
    record = service.find_record(identifier)
    if record is None or changes.is_deleted(record):
        raise NotFound(identifier=str(identifier))
    auth.check_right(service, token, "bind", identifier)
    await delete_name(service, token, identifier)
    return _answer(f"success: {ezid.spell_identifier(str(identifier))}", HTTPStatus.OK)


async def delete_name(service: Service, token: Token, identifier: Identifier) -> None:
    """Delete a name, if its prefix is set aside for tests. Raises NameDeletedNever."""
    prefix = names.find_home_prefix(identifier)
    if not prefix or not changes.is_mutable(prefix, service.settings.mutable_prefixes):
        raise NameDeletedNever(identifier=str(identifier))
    await service.submit_command(Assign(by=token.name, identifier=identifier), token.name)
