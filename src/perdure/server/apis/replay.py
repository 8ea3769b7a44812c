"""Archived responses over HTTP: their bytes on any origin, pages on an origin of their own.

    GET /replay/<time>id_/<uri>     the bytes of the capture of exactly this second and URI
    GET /replay/<time>id_~<digest>/<uri>    of several such captures, the one with this digest
    GET /replay/*/<uri>             a redirect to the calendar of the captures
    GET /replay/1997*/<uri>         the calendar of a year
    GET /replay/<time>bar_/<uri>    a page that shows the capture in a frame, below a bar
    GET /replay/<time>/<uri>        on the content origin: the page, its links kept in the archive

How it works: archived pages were written by strangers, for another origin and another time. So
pages are shown on the content origin only, a host that serves nothing else but documents without
anything active (`?view`): no cookie, no token, no page of ours. There every archived page is in a
sandbox without scripts, its addresses are rewritten to the content origin, and its
Content-Security-Policy blocks every other source. The time and URI of a page that is shown are
always those of a capture; if only a nearby capture exists, the request is redirected to it.
On all other origins only the bytes are sent, and a browser saves anything that
it would otherwise run.

A short list names the archived header fields that keep their names. All others get the prefix
`X-Archive-Orig-`, so that none has an effect.

What must stay true: no answer sets a cookie. Nothing is fetched. No archived document is shown on
an origin that serves anything else. docs/decisions/replay-origin.md
"""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus

import msgspec

from perdure.archives.capture import pages, references
from perdure.archives.capture.references import Address
from perdure.archives.choosing import choose_capture, prefer_intact
from perdure.archives.files import heads
from perdure.archives.opening import REDIRECTS, OpenedCapture, open_capture
from perdure.archives.port import ArchivedRecord
from perdure.archives.pwid.comparing import compare_fits
from perdure.archives.pwid.verdict import (
    CaptureVerdict,
    Judgement,
    interpret_uri_at,
    is_same_uri,
    judge_evidence,
    look_up_evidence,
)
from perdure.archives.readable import ReadableArchive
from perdure.errors import quote
from perdure.errors.captures import MalformedDigest, MalformedTime, UnknownModifier
from perdure.formats.essence import strip_parameters
from perdure.model.timestamps import find_span
from perdure.server.apis import capture_calendar, memento, memento_addresses, replay_bar
from perdure.server.common import asking, payloads, problems
from perdure.server.common.answers import Answer, Fields, escape_uri, join_links, make_empty_answer
from perdure.server.common.problems import Problem
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind

_PATH = re.compile(rf"replay/([0-9]{{4,14}})(id_(?:~({memento_addresses.DIGEST}))?)?/")
_ALL = re.compile(r"replay/\*/.")
_YEAR = re.compile(r"replay/([0-9]{4})\*/(?=.)")
_BAR = re.compile(r"replay/([0-9]{14})(bar_)()/(?=.)")
_SHAPE = re.compile(r"replay/([0-9]*)([^/]*)/.")
_TIME_LENGTHS = range(4, 15)
_FIELD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_UNPRINTABLE = re.compile("[^ -~]")
_KEPT = frozenset(("content-type", "content-language", "last-modified"))
_MOST_FIELDS = 64
_LONGEST_VALUE = 1024
_BODILESS = frozenset((204, 205, 206, 304))
_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
_BINARY = "application/octet-stream"

# Media types that a browser shows without running anything in them.
_PASSIVE = re.compile(
    r"text/(?:plain|csv)|application/(?:json|octet-stream)|audio/.+|video/.+|image/(?!svg).+"
)


def read_media_type(archived: OpenedCapture) -> str:
    """The media type as it was recorded, with its parameters."""
    said = next((value for name, value in archived.headers if name.lower() == "content-type"), "")
    return _make_printable(said or archived.capture.media_type or _BINARY)


def is_content_origin(service: Service, request: Request) -> bool:
    """True if a request was sent to the origin that shows archived pages."""
    origin = service.settings.content_origin
    if not origin:
        return False
    host = request.fields.get(b"host", b"").decode("latin-1").lower()
    return host == origin.partition("://")[2]


async def replay_capture(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of anything below `/replay/`."""
    path = _PATH.match(request.target.text)
    if _ALL.match(request.target.text) and not is_content_origin(service, request):
        uri = memento_addresses.escape_for_path(
            memento_addresses.read_original_uri(request, "replay/*/")
        )
        return make_empty_answer(
            HTTPStatus.FOUND, (b"location", escape_uri(f"/timemap/html/{uri}"))
        )
    if not is_content_origin(service, request):
        if year := _YEAR.match(request.target.text):
            wanted = memento_addresses.read_original_uri(request, year[0])
            return await capture_calendar.show_year(service, request, wanted, year[1])
        if bar := _BAR.match(request.target.text):
            return await _show_framed(service, request, bar[0], bar[1])
    if path is None:
        _refuse_malformed(request.target.text)
        return problems.answer_problem(problems.no_such_page(request.target.text), request)
    memento.require_open(service)
    sent = memento_addresses.read_original_uri(request, path[0])
    raw = path[2] is not None
    if not raw and not is_content_origin(service, request):
        return _redirect_to_origin(service, request, path[1], sent)
    archive = asking.read_archive(service, request)
    judgement, archived = await asyncio.to_thread(_open_exact, archive, sent, path, raw=raw)
    capture = judgement.capture
    if capture is None or (raw and judgement.verdict is not CaptureVerdict.EXACT):
        return problems.answer_problem(
            _describe_absence(service, request, sent, judgement), request
        )
    if archived is None:
        location = (b"location", escape_uri(memento_addresses.write_replay_path(capture)))
        return make_empty_answer(
            HTTPStatus.FOUND, location, memento.write_verdict(judgement), _ANY_ORIGIN
        )
    if raw:
        return await _answer_raw(service, request, archived, judgement)
    return await _show_page(service, request, archived, judgement)


def _refuse_malformed(text: str) -> None:
    """Raise InvalidRequest if a path has the shape of a replay path, with the part to repair."""
    shape = _SHAPE.match(text)
    if shape is None:
        return
    time, modifier = shape.groups()
    if len(time) not in _TIME_LENGTHS:
        raise MalformedTime(parameter="time", text=time + modifier)
    bytes_asked, mark, digest = modifier.partition("~")
    if bytes_asked == "id_" and mark:
        raise MalformedDigest(text=digest)
    raise UnknownModifier(text=modifier)


async def serve_content_origin(service: Service, request: Request) -> Answer:
    """Answer a request to the content origin, which serves replay and `?view`, and nothing else."""
    if request.method not in ("GET", "HEAD"):
        allow = request.allow[TargetKind.PAGE]
        return problems.answer_problem(problems.not_allowed(request.method, allow), request)
    if not request.target.text.startswith("replay/"):
        return problems.answer_problem(problems.no_such_page(request.target.text[:64]), request)
    return await replay_capture(service, request)


async def _show_framed(service: Service, request: Request, beginning: str, time: str) -> Answer:
    """Answer with a page of ours that has a capture in a frame without any permission."""
    memento.require_open(service)
    sent = memento_addresses.read_original_uri(request, beginning)
    path = _PATH.match(f"replay/{time}/")
    if not service.settings.content_origin or path is None:
        return _redirect_to_origin(service, request, time, sent)
    archive = asking.read_archive(service, request)
    judgement, archived = await asyncio.to_thread(_open_exact, archive, sent, path, raw=False)
    capture = judgement.capture
    if capture is None:
        return problems.answer_problem(
            _describe_absence(service, request, sent, judgement), request
        )
    if archived is None:
        location = (b"location", escape_uri(memento_addresses.write_framed_path(capture)))
        return make_empty_answer(HTTPStatus.FOUND, location, memento.write_verdict(judgement))
    return await asyncio.to_thread(replay_bar.answer_bar, service, request, archive, archived)


def _redirect_to_origin(service: Service, request: Request, time: str, sent: str) -> Answer:
    """Redirect to the replay origin, or answer 404 if none is configured."""
    origin = service.settings.content_origin
    if origin:
        target = f"{origin}/replay/{time}/{memento_addresses.escape_for_path(sent)}"
        return make_empty_answer(HTTPStatus.FOUND, (b"location", escape_uri(target)))
    return problems.answer_problem(
        Problem(
            status=HTTPStatus.NOT_FOUND,
            code="no-replay",
            detail="this resolver does not show archived pages, because the setting content_origin "
            f"is empty; get the bytes from /replay/{time}id_/…",
        ),
        request,
    )


def _describe_absence(
    service: Service, request: Request, sent: str, judgement: Judgement
) -> Problem:
    verdict, near = _judge_refusal(judgement), judgement.capture
    problem = problems.make_problem(memento.make_not_captured(sent))
    if near is not None:
        raw = memento_addresses.write_raw_path(near)
        problem = msgspec.structs.replace(
            problem,
            detail=f"{verdict.value}: the nearest is {quote(near.uri)} of {near.date}, at {raw}",
            members=problem.members
            | {"offered": [{"uri": near.uri, "date": near.date, "raw": raw}]},
        )
    fields = (
        memento.write_verdict(msgspec.structs.replace(judgement, verdict=verdict)),
        *join_links(memento.link_original(service, request, sent)),
        _ANY_ORIGIN,
    )
    members = problem.members | {"verdict": verdict.value}
    return msgspec.structs.replace(problem, members=members, fields=fields)


def _judge_refusal(judgement: Judgement) -> CaptureVerdict:
    """The verdict of a request for which only an exact capture will do."""
    return (
        CaptureVerdict.ABSENT if judgement.verdict is CaptureVerdict.NEAREST else judgement.verdict
    )


# finding
# -------


def _open_exact(
    archive: ReadableArchive, sent: str, path: re.Match[str], *, raw: bool
) -> tuple[Judgement, OpenedCapture | None]:
    """The capture that a path names and, if it is exact, its open payload.

    Raises CaptureWithdrawn, Forbidden, Unauthenticated, OriginalMissing, Corrupt or Unavailable.
    """
    span = find_span(path[1])
    for text in _list_readings(sent):
        archive.require_served(text, text, *span)
    judgement = _find_capture(archive, sent, path[1], raw=raw, any_method=path[3] is not None)
    if path[3] is not None:
        judgement = _choose_by_digest(archive, judgement, path[3])
    capture = judgement.capture
    if capture is None or judgement.verdict is not CaptureVerdict.EXACT:
        if capture is None or raw:
            archive.explain_absence(sent, sent, *span)
        return judgement, None
    if not raw and capture.time != path[1]:
        return judgement, None
    return judgement, open_capture(archive.captures, archive.files, capture)


def _list_readings(sent: str) -> tuple[str, ...]:
    """The URIs that a path can mean, the most literal first.

    `%23` may be a `#` of the URI, and clients append a `?` without a query.
    """
    return tuple(dict.fromkeys((sent, sent.replace("%23", "#"), sent.removesuffix("?"))))


def _find_capture(
    archive: ReadableArchive, sent: str, time: str, *, raw: bool, any_method: bool
) -> Judgement:
    """The capture that a replay path names. `sent` is its URI as the path spells it.

    A page is shown with a capture that can be used; the bytes are those of the exact capture. With
    `any_method`, they can be the answer to another request than GET.
    """
    captures, files = archive.captures, archive.files
    first, last = find_span(time)
    found: Judgement | None = None
    for text in _list_readings(sent):
        wanted = msgspec.structs.replace(
            interpret_uri_at(text, first), last=last, any_method=any_method
        )
        evidence = look_up_evidence(captures, wanted)
        for one in evidence.within:
            if memento_addresses.escape_for_path(one.uri) == sent and not is_same_uri(
                text, one.uri
            ):
                wanted = msgspec.structs.replace(wanted, uri=one.uri)
        judgement = (
            prefer_intact(files, judge_evidence(wanted, evidence, nearest=True))
            if raw
            else choose_capture(captures, files, wanted)
        )
        if judgement.verdict is CaptureVerdict.EXACT:
            return judgement
        found = found if found and found.capture else judgement
    assert found is not None  # noqa: S101  (there is at least one text)
    return found


def is_digest(text: str) -> bool:
    """True if a text is a digest by which a request can choose one of several captures."""
    return re.fullmatch(memento_addresses.DIGEST, text) is not None


def _choose_by_digest(archive: ReadableArchive, judgement: Judgement, digest: str) -> Judgement:
    """The fitting capture with this digest. The verdict is ABSENT if none has it."""
    known = compare_fits(archive.files, judgement).fits
    capture = next((one for one in known if one.digest == digest), None)
    if capture is None:
        return Judgement(verdict=CaptureVerdict.ABSENT)
    return msgspec.structs.replace(judgement, capture=capture)


# answering
# ---------


def list_fields(
    service: Service, request: Request, archived: OpenedCapture, *more: bytes
) -> Fields:
    """The header fields of an answer with the archived bytes, on any origin.

    `more` are further links.
    """
    kind = read_media_type(archived)
    fields: Fields = [
        (b"content-type", kind.encode()),
        *_copy_fields(archived),
        *_list_memento_fields(service, request, archived, *more),
        (b"content-security-policy", b"sandbox; default-src 'none'"),
    ]
    if not _PASSIVE.fullmatch(strip_parameters(kind)):
        fields.append((b"content-disposition", b"attachment"))
    return fields


async def _answer_raw(
    service: Service, request: Request, archived: OpenedCapture, judgement: Judgement
) -> Answer:
    fields = list_fields(service, request, archived)
    fields.append(memento.write_verdict(judgement))
    status = _choose_status(archived)
    if status in REDIRECTS:
        target = _find_redirect(archived)
        if target is None:
            status = HTTPStatus.OK
        else:
            path = f"/replay/{archived.capture.time}id_/{memento_addresses.escape_for_path(target)}"
            fields.append((b"location", escape_uri(path)))
    return await payloads.answer_payload(request, status, fields, archived)


async def _show_page(
    service: Service, request: Request, archived: OpenedCapture, judgement: Judgement
) -> Answer:
    kind = read_media_type(archived)
    if kind.lower().startswith("multipart/"):  # a browser would show pages in it unchanged
        kind = _BINARY
    fields: Fields = [
        (b"content-type", kind.encode()),
        *_copy_fields(archived),
        *_list_memento_fields(service, request, archived),
        (b"content-security-policy", _write_policy(service.settings.content_origin)),
        memento.write_verdict(judgement),
    ]
    time = archived.capture.time

    def rewrite_address(address: Address) -> str:
        """The address within the archive, or `about:blank` if it is not an address of the Web."""
        if address.uri.startswith(("http://", "https://")):
            bare, mark, fragment = address.uri.partition("#")
            return f"/replay/{time}/{memento_addresses.escape_for_path(bare)}{mark}{fragment}"
        return address.uri if address.uri.startswith(("data:", "mailto:")) else "about:blank"

    status = _choose_status(archived)
    if status in REDIRECTS:
        target = _find_redirect(archived)
        archived.record.close()
        if target is None:
            return Answer(HTTPStatus.OK, [*fields, (b"content-length", b"0")])
        fields.append((b"location", escape_uri(rewrite_address(Address(target, "link")))))
        return Answer(status, [*fields, (b"content-length", b"0")])
    css = pages.is_css(kind)
    if not css and not pages.is_html(kind):
        return await payloads.answer_payload(request, status, fields, archived)
    begun = await asyncio.to_thread(_read_document, archived.record)
    if begun is None:  # too large to rewrite: its links then lead nowhere
        return await payloads.answer_payload(request, status, fields, archived)
    archived.record.close()
    change = references.replace_in_css if css else references.replace_in_html
    charset = heads.find_charset(kind)
    body = await service.run_cutter(change, begun, archived.capture.uri, rewrite_address, charset)
    return Answer(status, [*fields, (b"content-length", b"%d" % len(body))], body)


def _write_policy(origin: str) -> bytes:
    """A policy under which nothing runs, and nothing is loaded from or sent to other origins."""
    return (
        f"sandbox; default-src {origin}; script-src 'none'; object-src 'none'; connect-src 'none'; "
        f"style-src {origin} 'unsafe-inline'; img-src {origin} data:; media-src {origin} data:; "
        f"font-src {origin} data:; base-uri 'none'; form-action {origin}"
    ).encode("ascii")


def _list_memento_fields(
    service: Service, request: Request, archived: OpenedCapture, *more: bytes
) -> Fields:
    capture = archived.capture
    this = b'<%s>; rel="memento"; datetime="%s"' % (
        escape_uri(memento_addresses.write_memento_uri(service, request, capture)),
        memento.format_http_datetime(capture.time).encode(),
    )
    return [
        (b"memento-datetime", memento.format_http_datetime(capture.time).encode()),
        *join_links([*memento.link_original(service, request, capture.uri), this, *more]),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-dns-prefetch-control", b"off"),
        (b"x-robots-tag", b"noindex, nofollow"),
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        _ANY_ORIGIN,
    ]


def _copy_fields(archived: OpenedCapture) -> Fields:
    """The archived header fields, with a prefix unless they are on the list."""
    found: Fields = []
    for name, value in archived.headers[:_MOST_FIELDS]:
        low = name.lower()
        if low == "content-type" or not _FIELD_NAME.fullmatch(name):
            continue
        kept = low in _KEPT
        written = low if kept else f"x-archive-orig-{low}"
        found.append((written.encode(), _make_printable(value).encode()))
    return found


def _make_printable(value: str) -> str:
    """An untrusted header value, cut and reduced to visible ASCII."""
    return _UNPRINTABLE.sub("?", value[:_LONGEST_VALUE].strip())


def _choose_status(archived: OpenedCapture) -> int:
    """The archived status if it can be sent again, otherwise 200."""
    status = archived.status
    if status is None or status < 200 or status in _BODILESS or status == 407:
        return HTTPStatus.OK
    known = any(status == one for one in HTTPStatus)
    if 300 <= status < 400 and status not in REDIRECTS:
        return HTTPStatus.OK
    return status if known else HTTPStatus.OK


def _find_redirect(archived: OpenedCapture) -> str | None:
    """The target of an archived redirect, or None if it is not on the Web or is itself."""
    said = next((value for name, value in archived.headers if name.lower() == "location"), "")
    target = references.resolve_address(archived.capture.uri, said) if said else None
    if not target or not target.startswith(("http://", "https://")):
        return None
    return None if is_same_uri(target.partition("#")[0], archived.capture.uri) else target


def _read_document(record: ArchivedRecord) -> bytes | None:
    """The payload, or None if it is too large to hold in memory."""
    begun = bytearray()
    for piece in record.read_payload():
        begun += piece
        if len(begun) > pages.LARGEST_DOCUMENT:
            return None
    return bytes(begun)
