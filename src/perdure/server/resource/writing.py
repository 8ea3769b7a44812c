"""The common steps of all writes: the written name, conditions, keys, digests, types, receipts.

How it works: the functions read one thing each from a request, and refuse it if that is malformed.
`perdure.server.resource.uploading` calls them for bytes, `perdure.server.resource.operating` for
operations, and `perdure.server.resource.changing` for descriptions.

What must stay true: nothing here waits, or depends on the way by which a request came.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from functools import lru_cache
from http import HTTPStatus

import msgspec

from perdure import formats
from perdure.errors import (
    PreconditionFailed,
    UnknownAuthority,
)
from perdure.errors.conflicts import AlreadyExists, NewNameHasNoState, StateNotNamed
from perdure.errors.contents import OneLanguageNeeded
from perdure.errors.requests import BodyEncoded, MalformedKey, TrailerNotRead
from perdure.formats import MediaType
from perdure.ids import Authority, load_schemes, parse
from perdure.model.commands import Outcome, Receipt
from perdure.model.description_checks import LANGUAGE
from perdure.model.records import Record
from perdure.reading.targets import spell_path, spell_uri
from perdure.registry import Registry
from perdure.server.common import digests, problems
from perdure.server.common.answers import Answer, escape_uri, make_answer
from perdure.server.common.conditions import make_etag, read_state_tags
from perdure.server.common.request import Request
from perdure.server.common.target_kinds import TargetKind

LARGE = 32 * 1024  # bytes; hashing more at once would delay other requests
_KEY = re.compile(r"[ -~]{1,255}", re.ASCII)
_STATUS = {Outcome.CREATED: HTTPStatus.CREATED, Outcome.PROPOSED: HTTPStatus.ACCEPTED}
_NO_REVISION = 0
"""No record has this revision, so a command that expects it is refused unless it is a repeat."""
_REVISION = re.compile(r"r([0-9]{1,18})(?:-.*)?", re.ASCII)
_SPELLED_ALIKE = re.compile("pdi://[^#?]*+")
_UNTOLD = "application/x-www-form-urlencoded"  # the type that curl sends for any --data


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
    asked = read_state_tags(request.read_field(b"if-none-match"))
    return _NO_REVISION if asked.any else None


def read_expected_revision(
    request: Request, name: str, record: Record, *, absent: bool = False
) -> int | None:
    """Return the expected revision of any write. `If-Match` is `"r7"`, or an entity tag of the
    record or of its bytes.

    `absent`: the record exists, but the bytes to write do not.
    """
    expect = None
    if b"if-match" in request.fields:
        asked = read_state_tags(request.read_field(b"if-match"))
        if not asked.any:
            if not _names_current(asked.strong, record):
                raise StateNotNamed(identifier=name, state=record.revision)
            expect = record.revision
    if b"if-none-match" in request.fields:  # the order is that of RFC 9110 section 13.2.2
        asked = read_state_tags(request.read_field(b"if-none-match"))
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


@lru_cache(maxsize=1024)
def spell_type(kind: MediaType) -> tuple[str, str]:
    """Return the format of a media type, and its text without the charset."""
    return formats.make_token(kind), str(kind.with_charset(None))
