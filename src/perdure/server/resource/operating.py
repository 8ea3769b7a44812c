"""POST: the operations on an identifier that do not upload its bytes.

How it works: `POST /<identifier>?<operation>` with a JSON body. The operations are `mint` (on a
series, shoulder or naming authority), `register`, `correct`, `bind`, `break`, `alias`, `withdraw`,
`erase`
and `refuse`. Each is one entry of a table: the shape of its body, and the function that makes a
command for the write door from it. msgspec checks the shape, `perdure.policy.rules` checks the
meaning.

What must stay true: the token must cover the operation in the URL, for every name of this registry
that the operation concerns; an unknown identifier gets 404 before the token is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from perdure.errors.naming import VersionBelowOne, VersionContradicted
from perdure.errors.requests import MalformedBody
from perdure.ids import Identifier
from perdure.ids.named_parts import join_part
from perdure.model.commands import (
    Alias,
    Bind,
    Break,
    Command,
    Correct,
    Erase,
    Mint,
    Refuse,
    Register,
    Withdraw,
)
from perdure.model.records import Blank, Location, Record, Token
from perdure.policy import naming, rules
from perdure.policy.handles.names import find_home_prefix
from perdure.policy.rights import covers_object, make_object
from perdure.reading.targets import read_identifier, read_question
from perdure.server.common import auth
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource.planning import OpenWrite, PlanLater, PlannedWrite
from perdure.server.resource.writing import (
    check_new,
    expect_unless_repeated,
    find_minting_kind,
    minting_authority,
    read_expected_absence,
    read_expected_revision,
    read_idempotency_key,
    refuse_write,
)
from perdure.upkeep.linkcheck.breaking import find_evidence
from perdure.upkeep.transfer.declared_types import ask_format, state_format
from perdure.upkeep.transfer.lines import LinePlace, explain_fault

_T = TypeVar("_T")


class _MintBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    uid: str | None = None
    format: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    ask: bool = False
    locations: tuple[str | LinePlace, ...] = ()
    metadata: dict[str, str] = {}
    day: str = ""


class _RegisterBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    locations: tuple[str | LinePlace, ...] = ()
    metadata: dict[str, str] = {}


class _CorrectBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    type: str | None = None
    charset: str | None = None
    language: str | None = None
    reason: str = ""
    version: int | None = None
    format: str | None = None


class _BindBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    locations: tuple[str | LinePlace, ...]


class _BreakBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    uri: str


class _AliasBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    other: str


class _WithdrawBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reason: str
    version: int | None = None
    silent: bool = False
    keep_digest: bool = False


class _EraseBody(_WithdrawBody, frozen=True, forbid_unknown_fields=True):
    blanks: tuple[Blank, ...] = ()
    part: str | None = None


class _RefuseBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int | None = None


_Body = _CorrectBody | _RefuseBody | _BindBody | _BreakBody | _AliasBody | _WithdrawBody


def _make_correct(
    by: str, identifier: Identifier, body: _CorrectBody, expect: int | None
) -> Command:
    _check_version(body.version)
    return Correct(
        by=by,
        identifier=identifier,
        media_type=body.type,
        charset=body.charset,
        language=body.language,
        reason=body.reason,
        version=body.version,
        format=body.format,
        expect=expect,
    )


def _make_bind(by: str, identifier: Identifier, body: _BindBody, expect: int | None) -> Command:
    places = _make_locations(body.locations)
    return Bind(by=by, identifier=identifier, locations=places, expect=expect)


def _make_break(by: str, identifier: Identifier, body: _BreakBody, expect: int | None) -> Command:
    return Break(by=by, identifier=identifier, uri=body.uri, expect=expect)


def _make_alias(by: str, identifier: Identifier, body: _AliasBody, expect: int | None) -> Command:
    return Alias(by=by, identifier=identifier, other=read_identifier(body.other), expect=expect)


def _make_withdraw(
    by: str, identifier: Identifier, body: _WithdrawBody, expect: int | None
) -> Command:
    _check_version(body.version)
    named, _ = naming.read_qualifiers(identifier)
    if named and body.version and named != body.version:  # a withdrawal cannot be undone
        raise VersionContradicted(version=body.version, named=named)
    return Withdraw(
        by=by,
        identifier=identifier,
        reason=body.reason,
        version=body.version,
        silent=body.silent,
        keep_digest=body.keep_digest,
        expect=expect,
    )


def _make_erase(by: str, identifier: Identifier, body: _EraseBody, expect: int | None) -> Command:
    asked = _make_withdraw(by, identifier, body, expect)
    fields = {name: getattr(asked, name) for name in asked.__struct_fields__}
    return Erase(**fields, blanks=body.blanks)


def _make_refuse(by: str, identifier: Identifier, body: _RefuseBody, expect: int | None) -> Command:
    _check_version(body.version)
    return Refuse(by=by, identifier=identifier, version=body.version, expect=expect)


_KNOWN: dict[str, tuple[type[_Body], Callable[..., Command]]] = {
    "correct": (_CorrectBody, _make_correct),
    "bind": (_BindBody, _make_bind),
    "break": (_BreakBody, _make_break),
    "alias": (_AliasBody, _make_alias),
    "withdraw": (_WithdrawBody, _make_withdraw),
    "erase": (_EraseBody, _make_erase),
    "refuse": (_RefuseBody, _make_refuse),
}
"""Operations on a registered identifier."""
_RIGHTS = {"correct": "commit", "refuse": "withdraw"}
"""The right that an operation needs, if it has another name."""

SHAPES: dict[str, type[msgspec.Struct]] = {
    "mint": _MintBody,
    "register": _RegisterBody,
    **{verb: shape for verb, (shape, _) in _KNOWN.items()},
}
"""The shape of the body of each operation."""
VERBS = tuple(SHAPES)


def open_operation(service: Service, request: Request) -> OpenWrite | Answer:
    """Check POST to an identifier, as far as its body is not needed, or refuse it."""
    verb = read_question(request.target.question, verbs=VERBS).verb
    text = request.target.text
    authority = minting_authority(text, service.registry)
    if authority is not None:
        if verb != "mint":
            advice = "POST mints a name here with ?mint"
            return refuse_write(request, "POST", find_minting_kind(text), advice)
        return _open_mint(service, request, authority)
    identifier = read_identifier(text)
    if verb == "register":
        return _open_registration(service, request, identifier)
    record = service.find_record(identifier)
    known = identifier.is_pattern and service.knows_series(identifier)
    if not known:
        rules.require_known(identifier, record)  # 404 before all else
    if record is None:
        advice = "an operation changes one name; name it, or POST to a series with ?mint"
        return refuse_write(request, "POST", TargetKind.PATTERN, advice)
    if verb not in _KNOWN:
        whole = identifier.whole is identifier
        words = ", ".join(f"?{one}" for one in (*_KNOWN, "metadata", "signatures"))
        advice = f"POST needs one of {words}"
        kind = TargetKind.IDENTIFIER if whole else TargetKind.PART
        return refuse_write(request, "POST", kind, advice)
    return _open_known(service, request, verb, identifier, record)


def _open_known(
    service: Service, request: Request, verb: str, identifier: Identifier, record: Record
) -> OpenWrite:
    """Open an operation on a registered identifier."""
    token = auth.find_bearer(service, request)
    auth.check_right(service, token, _RIGHTS.get(verb, verb), identifier)
    expect = _find_expected(request, identifier, record)
    shape, make = _KNOWN[verb]

    def plan_operation(sent: bytes) -> PlannedWrite | PlanLater:
        body = _decode_body(sent, shape)
        if isinstance(body, _EraseBody) and body.part is not None:
            return PlanLater(partial(plan_erasure, body))
        return plan_command(body)

    async def plan_erasure(body: _EraseBody) -> PlannedWrite:
        stretches = await service.run_cutter(_find_stretches, service, identifier, body)
        return plan_command(replace(body, blanks=stretches, version=stretches[0].version))

    def plan_command(body: _Body) -> PlannedWrite:
        command = make(token.name, identifier, body, expect)
        if isinstance(command, Break) and any(one.uri == command.uri for one in record.locations):
            evidence = find_evidence(service.health, identifier, record, command.uri)
            command = replace(command, evidence=evidence)
        if isinstance(command, Alias) and _is_ours(service, command.other):
            auth.check_right(service, token, verb, command.other)  # both records change
        once = read_idempotency_key(request)
        return PlannedWrite(verb, replace(command, once=once) if once else command)

    return OpenWrite(plan_operation)


def _find_stretches(
    service: Service, identifier: Identifier, body: _EraseBody
) -> tuple[Blank, ...]:
    """Find the bytes of the part to erase."""
    exact, beside = join_part(identifier, body.part)
    return service.registry.documents.find_stretches(exact, beside, body.version)


def _find_expected(request: Request, identifier: Identifier, record: Record) -> int | None:
    return expect_unless_repeated(
        request, lambda: read_expected_revision(request, str(identifier), record)
    )


def _is_ours(service: Service, identifier: Identifier) -> bool:
    """Return True if an identifier is registered here, or under a prefix of this registry."""
    settings, what = service.settings, make_object(identifier)
    return (
        any(covers_object(authority.name, what) for authority in settings.owned_authorities)
        or find_home_prefix(identifier) in settings.handle_prefixes
        or service.find_record(identifier) is not None
    )


def _open_mint(service: Service, request: Request, authority: str) -> OpenWrite:
    token = auth.find_bearer(service, request)
    auth.check_minting(service, token, authority)
    auth.check_share(service, request, token)
    check_new(request)

    def plan_mint(sent: bytes) -> PlannedWrite | PlanLater:
        body = _decode_body(sent, _MintBody)
        locations = _make_locations(body.locations)
        format = state_format(
            None if body.format is UNSET else body.format, None if body.type is UNSET else body.type
        )
        command = Mint(
            by=token.name,
            authority=authority,
            uid=body.uid,
            format=format,
            locations=locations,
            metadata=body.metadata,
            day=auth.check_retrospection(service, token, authority, body.day) if body.day else "",
            once=read_idempotency_key(request),
        )
        if body.ask and not format:
            return PlanLater(partial(ask_other, command))
        return PlannedWrite("mint", command)

    async def ask_other(command: Mint) -> PlannedWrite:
        format = await ask_format([one.uri for one in command.locations], service.settings)
        return PlannedWrite("mint", replace(command, format=format))

    return OpenWrite(plan_mint)


def _open_registration(service: Service, request: Request, identifier: Identifier) -> OpenWrite:
    token: Token = auth.find_bearer(service, request)
    auth.check_right(service, token, "register", identifier)
    record = service.find_record(identifier)
    if record is None:
        check_new(request)
        expect = read_expected_absence(request)
    else:
        expect = _find_expected(request, identifier, record)

    def plan_registration(sent: bytes) -> PlannedWrite:
        body = _decode_body(sent, _RegisterBody)
        command = Register(
            by=token.name,
            identifier=identifier,
            locations=_make_locations(body.locations),
            metadata=body.metadata,
            expect=expect,
            once=read_idempotency_key(request),
        )
        return PlannedWrite("register", command)

    return OpenWrite(plan_registration)


# bodies
# ------


def _decode_body(body: bytes, shape: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body or b"{}", type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedBody(fault=explain_fault(error), manual="docs/reference/http.md") from error


def _make_locations(places: tuple[str | LinePlace, ...]) -> tuple[Location, ...]:
    return tuple(Location(uri=one) if isinstance(one, str) else one.as_location() for one in places)


def _check_version(version: int | None) -> None:
    """Raise InvalidRequest if the version is less than 1: 0 does not mean "no version"."""
    if version is not None and version < 1:
        raise VersionBelowOne(version=version)
