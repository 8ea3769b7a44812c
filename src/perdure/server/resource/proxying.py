"""Requests that are passed on to the resolver of a delegated name, and its answers passed back.

How it works: methods, statuses and bodies pass through whole (section 3.8.3 of the draft), bodies
while they arrive. Fields that belong to one connection stay behind; so do credentials and cookies,
both ways. `Via` names this resolver, so that a loop is noticed. A THTTP resolver is asked by its
services (section 3.8.4): GET becomes N2R, HEAD becomes N2C without its body, and any other method
is 405.

The bytes of a name with format and version never change. If the resolver promises their digest
(RFC 9530), they are hashed while they pass, and the last 64 KiB are held back until the digest
agrees; only then are they kept for the next reader (`perdure.server.common.proxy_cache`). If it
does not, a short document is answered by 502, and a long one is cut off, so that it never looks
complete.

What must stay true: only resolvers that a delegation names are asked, at addresses that were
checked; a document that comes from there is shown under the same restrictions as deposited ones.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from http import HTTPStatus

from perdure.errors import InvalidRequest, PerdureError
from perdure.errors.delegations import (
    ResolverContradicted,
    ResolverTimedOut,
    ResolverUnreachable,
)
from perdure.fetching.exchange import Unreachable
from perdure.fetching.streaming import REPEATABLE, StreamedResponse
from perdure.formats.essence import strip_parameters
from perdure.model.delegations import HeldDelegation, Resolver
from perdure.policy.naming import read_qualifiers
from perdure.reading.targets import read_identifier
from perdure.server.common import elsewhere, problems
from perdure.server.common.answers import Answer, Fields, FileSpan
from perdure.server.common.proxy_cache import DocumentWriter, KeptDocument, KeptFile, ProxyCache
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.held import confine_type
from perdure.server.resource.kept import (
    describe_kept,
    make_range_fields,
    name_way,
    state_cache,
    write_token,
)

HELD_BACK = 64 << 10
"""Bytes of a document that are sent only after its digest was compared."""
_OF_CONNECTION = frozenset(
    ("connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
     "proxy-authentication-info", "te", "trailer", "transfer-encoding", "upgrade")
)  # fmt: skip
"""Fields that belong to one connection (RFC 9110 section 7.6.1)."""
_NOT_SENT = _OF_CONNECTION | {
    "host", "authorization", "cookie", "expect", "via", "perdure-via", "max-forwards", "forwarded",
    "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip", "signature",
    "signature-input",
}  # fmt: skip
_NOT_PASSED = _OF_CONNECTION | {
    "set-cookie", "set-cookie2", "www-authenticate", "strict-transport-security", "alt-svc",
    "clear-site-data", "public-key-pins", "service-worker-allowed", "content-security-policy",
    "content-security-policy-report-only", "x-content-type-options", "date", "server", "refresh",
    "nel", "report-to", "reporting-endpoints", "speculation-rules", "accept-ch", "critical-ch",
    "permissions-policy", "authentication-info",
}  # fmt: skip
_DESCRIBING = ("content-type", "content-language", "content-disposition", "content-location",
               "etag", "last-modified", "link", "repr-digest")  # fmt: skip
"""The fields of an answer that are kept with a document."""
_SHA512 = re.compile(r"(?:^|[\s,])sha-512=:([A-Za-z0-9+/]{86}==):")
_ONE_RANGE = re.compile(r"bytes=([0-9]{1,15})-([0-9]{1,15})?")
_PIECE = 256 << 10
_ERROR_TYPES = {
    "time": "connection_timeout",
    "name": "dns_error",
    "tls": "tls_protocol_error",
    "protocol": "http_protocol_error",
    "forbidden": "destination_ip_prohibited",
}
"""The error types of Proxy-Status (RFC 9209 section 2.3) for the causes."""


async def proxy_request(service: Service, request: Request, held: HeldDelegation) -> Answer:
    """Ask the resolvers of a delegation, and pass the answer of the first that answers on.

    Raises ResolverUnreachable, ResolverTimedOut or ResolverContradicted.
    """
    if passes_to_writer(request):
        places = elsewhere.list_places(held, request)
        return elsewhere.make_redirection(places, fresh=0, is_write=True)
    name = _find_lasting_name(request)
    cache = service.proxy_cache
    file = cache.open_document(name) if name and cache.is_on else None
    if file is not None:
        now = cache.clock()
        rest = cache.find_rest(file.document, now)
        if rest is not None and file.is_in_place(now):
            return _answer_kept(service, request, file, rest)
    known = None if file is None else file.document
    last: PerdureError | None = None
    for resolver in held.delegation.resolvers:
        if resolver.kind == "thttp" and request.method not in ("GET", "HEAD"):
            return problems.answer_problem(
                problems.not_allowed(request.method, b"GET, HEAD"), request
            )
        url = elsewhere.find_place(resolver, elsewhere.strip_origin(request.raw), request.method)
        if url is None:
            continue
        try:
            lasts = bool(name) and request.method == "GET"
            response = await _ask(service, request, resolver, url, lasts=lasts)
        except (ResolverUnreachable, ResolverTimedOut) as failure:
            last = failure
            if request.method not in REPEATABLE or _has_body(request):
                break
            continue
        if resolver.kind == "thttp" and request.method == "HEAD":
            response.close()
        return _pass_answer(service, request, response, cache, name, known)
    if last is not None:
        raise last
    return problems.answer_problem(problems.not_allowed(request.method, b"GET, HEAD"), request)


def passes_to_writer(request: Request) -> bool:
    """Return True if a write has credentials, which are never passed on: its sender must go."""
    return request.method not in REPEATABLE and b"authorization" in request.fields


def write_failure(service: Service, failure: PerdureError) -> Fields:
    """Say which resolver failed, and how (RFC 9209)."""
    me = _find_own_name(service)
    cause = getattr(failure, "cause", "")
    kind = _ERROR_TYPES.get(cause, "connection_terminated") if cause else "http_response_incomplete"
    return [(b"proxy-status", f"{write_token(me)}; error={kind}".encode())]


# asking
# ------


async def _ask(
    service: Service, request: Request, resolver: Resolver, url: str, *, lasts: bool
) -> StreamedResponse:
    method = request.method
    if resolver.kind == "thttp" and method == "HEAD":
        method = "GET"  # of N2C, whose body is dropped
    try:
        return await service.relay.open_response(
            url,
            method=method,
            headers=tuple(_list_sent(service, request, lasts=lasts)),
            body=_read_body(request) if _has_body(request) else None,
        )
    except Unreachable as failure:
        kind = ResolverTimedOut if failure.cause == "time" else ResolverUnreachable
        raise kind(url=url, fault=failure.fault, cause=failure.cause) from failure
    except InvalidRequest as failure:  # an address that must not be asked
        raise ResolverUnreachable(url=url, fault=str(failure), cause="forbidden") from failure


def _list_sent(service: Service, request: Request, *, lasts: bool) -> Iterable[tuple[str, str]]:
    """List the fields that are sent on: all but those of a connection, and of a person."""
    me = _find_own_name(service)
    named = {one.strip().lower() for one in request.read_field(b"connection").split(",")}
    for name, value in request.scope["headers"]:
        text = name.decode("latin-1")
        if text not in _NOT_SENT and text not in named:
            if lasts and text in ("accept-encoding", "range", "if-range"):
                continue
            yield text, value.decode("latin-1")
    if lasts:
        yield "accept-encoding", "identity"
        yield "want-repr-digest", "sha-512=9"
    via = [request.read_field(b"via"), f"{request.version} {me}"]
    yield "Via", ", ".join(filter(None, via))
    passed = [request.read_field(elsewhere.OWN_FIELD), me]
    yield "Perdure-Via", ", ".join(filter(None, passed))
    left = request.read_field(b"max-forwards").strip()
    if request.method in ("TRACE", "OPTIONS") and left.isdigit():
        yield "Max-Forwards", str(max(0, int(left[:9]) - 1))


def _has_body(request: Request) -> bool:
    length = request.read_field(b"content-length")
    return b"transfer-encoding" in request.fields or length not in ("", "0")


async def _read_body(request: Request) -> AsyncIterator[bytes]:
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            raise ConnectionResetError("the client went away")
        yield message["body"]
        if not message["more_body"]:
            return


def _find_lasting_name(request: Request) -> str | None:
    """Return the name with format and version whose bytes are requested whole, or None."""
    if request.method not in ("GET", "HEAD") or request.target.question is not None:
        return None
    with suppress(PerdureError):
        name = read_identifier(request.target.text)
        version, format = read_qualifiers(name)
        if version is not None and format is not None and name.whole == name:
            return str(name)
    return None


# answering
# ---------


def _pass_answer(
    service: Service,
    request: Request,
    response: StreamedResponse,
    cache: ProxyCache,
    name: str | None,
    known: KeptDocument | None,
) -> Answer:
    """Pass an answer on, and keep its document if it lasts and its digest agrees."""
    passed = _list_passed(response)
    kind = response.find_header("content-type") or "application/octet-stream"
    me = _find_own_name(service)
    state = f"fwd=uri-miss; fwd-status={response.status}"
    way = state_cache(me, state)
    fields: Fields = [
        *passed,
        *confine_type(strip_parameters(kind)),
        name_way(me),
        way,
        (b"vary", b"prefer"),
    ]
    if request.method == "HEAD":
        response.close()
        return Answer(response.status, fields)
    promised = _read_promise(response)
    lasts = name is not None and response.status == HTTPStatus.OK and promised is not None
    coding = response.find_header("content-encoding")
    if name is None or promised is None or not lasts or coding not in (None, "identity"):
        return Answer(response.status, fields, stream=_stream(response))
    if known is not None and known.sha512 != promised:
        response.close()
        raise ResolverContradicted(
            url=response.url, identifier=name, promised=known.sha512, found=promised
        )
    described = tuple(
        (one.decode("latin-1"), value.decode("latin-1"))
        for one, value in passed
        if one.decode("latin-1") in _DESCRIBING
    )
    length = response.find_header("content-length")
    writer = cache.begin_document(int(length) if length and length.isdigit() else None)
    kept = KeptDocument(
        name=name, url=response.url, sha512=promised, length=0, fields=described, at=cache.clock()
    )
    if writer is not None:
        fields[fields.index(way)] = state_cache(me, f"{state}; stored")
    return Answer(response.status, fields, stream=_stream_checked(response, kept, writer))


async def _stream(response: StreamedResponse) -> AsyncIterator[bytes]:
    try:
        async for piece in response.read_pieces():
            yield piece
    except Unreachable as failure:
        kind = ResolverTimedOut if failure.cause == "time" else ResolverUnreachable
        raise kind(url=response.url, fault=failure.fault, cause=failure.cause) from failure
    finally:
        response.close()


async def _stream_checked(
    response: StreamedResponse, kept: KeptDocument, writer: DocumentWriter | None
) -> AsyncIterator[bytes]:
    """Yield a document, its end only after its digest was found to be the promised one."""
    digest, length = hashlib.sha512(), 0
    waiting: deque[bytes] = deque()
    held_back = 0
    try:
        async for piece in _stream(response):
            digest.update(piece)
            length += len(piece)
            if writer is not None:
                writer.write(piece)
            waiting.append(piece)
            held_back += len(piece)
            while held_back - len(waiting[0]) >= HELD_BACK:
                held_back -= len(waiting[0])
                yield waiting.popleft()
        if digest.hexdigest() != kept.sha512:
            raise ResolverContradicted(
                url=response.url,
                identifier=kept.name,
                promised=kept.sha512,
                found=digest.hexdigest(),
            )
        if writer is not None:
            writer.keep(_with_length(kept, length))
            writer = None
        yield b"".join(waiting)
    finally:
        if writer is not None:
            writer.give_up()
        response.close()


def _with_length(kept: KeptDocument, length: int) -> KeptDocument:
    return KeptDocument(
        name=kept.name,
        url=kept.url,
        sha512=kept.sha512,
        length=length,
        fields=kept.fields,
        at=kept.at,
    )


def _answer_kept(service: Service, request: Request, file: KeptFile, rest: int) -> Answer:
    """Answer with a document that was kept, or with one range of it."""
    kept = file.document
    fields = describe_kept(kept, _find_own_name(service), rest)
    tag = dict(kept.fields).get("etag", "")
    if tag and request.read_field(b"if-none-match").strip() in (tag, "*"):
        short = [one for one in fields if not one[0].startswith(b"content-")]
        return Answer(HTTPStatus.NOT_MODIFIED, short)
    start, stop, status = 0, kept.length, HTTPStatus.OK
    asked = _ONE_RANGE.fullmatch(request.read_field(b"range").strip())
    is_head = request.method == "HEAD"  # a range is for GET alone (RFC 9110 section 14.2)
    if asked and not is_head and b"if-range" not in request.fields and int(asked[1]) < kept.length:
        start = int(asked[1])
        stop = min(kept.length, int(asked[2]) + 1) if asked[2] else kept.length
        if start < stop:
            status = HTTPStatus.PARTIAL_CONTENT
        else:
            start, stop = 0, kept.length
    partial = status == HTTPStatus.PARTIAL_CONTENT
    fields += make_range_fields(kept, (start, stop), partial=partial)
    if is_head:
        return Answer(status, fields)
    span = FileSpan(file, start, stop - start)
    return Answer(status, fields, stream=_read_file(file, start, stop), file=span)


async def _read_file(file: KeptFile, start: int, stop: int) -> AsyncIterator[bytes]:
    while start < stop:
        piece = file.read(min(_PIECE, stop - start), start)
        if not piece:
            raise OSError("a kept document became shorter")
        start += len(piece)
        yield piece


def _list_passed(response: StreamedResponse) -> Fields:
    """List the fields that are passed back: all but those of a connection, and of a site."""
    named = (response.find_header("connection") or "").split(",")
    behind = _NOT_PASSED | {one.strip().lower() for one in named}
    return [
        (name.lower().encode("latin-1"), _clean_field(value))
        for name, value in response.headers
        if name.lower() not in behind
    ]


def _clean_field(value: str) -> bytes:
    return "".join(one if one == "\t" or " " <= one != "\x7f" else " " for one in value).encode(
        "latin-1", "replace"
    )


def _find_own_name(service: Service) -> str:
    return elsewhere.find_pseudonym(service.settings.base_url, str(service.registry.root))


def _read_promise(response: StreamedResponse) -> str | None:
    """Return the SHA-512 that the resolver promises for the document, in hexadecimal."""
    found = _SHA512.search(response.find_header("repr-digest") or "")
    return base64.b64decode(found[1]).hex() if found else None
