"""Memento (RFC 7089): a TimeGate and TimeMaps over the captures that are held here.

    GET /timegate/<uri>         302 to the capture nearest to Accept-Datetime
    GET /timemap/link/<uri>     all captures, as links (section 5)
    GET /timemap/json/<uri>     the same as JSON, in the shape that aggregators use

How it works: the original URI, with its query, follows the name of the page. Captures of all
spellings of a URI are its mementos, as in other archives; the address of each memento has the
spelling that was recorded. If replay is on, that address is a page on the replay origin, otherwise
the bytes.

What must stay true: a TimeMap is streamed, however many captures there are. No part of a request
reaches a header field except through `uri`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_tz
from http import HTTPStatus
from itertools import chain, islice

import msgspec

from perdure.archives.choosing import choose_capture
from perdure.archives.dates import format_second
from perdure.archives.index.ranges import IndexRange, make_range, walk_range
from perdure.archives.port import Capture, Captures
from perdure.archives.pwid.verdict import (
    CaptureVerdict,
    Judgement,
    interpret_uri_at,
    suits_coverage,
)
from perdure.archives.readable import ReadableArchive
from perdure.errors import ArchiveClosed, NotCaptured
from perdure.errors.requests import MalformedDate
from perdure.policy.capture_subjects import FIRST, LAST
from perdure.server.apis.memento_addresses import (
    escape_for_path,
    read_original_uri,
    write_memento_uri,
)
from perdure.server.common import asking, problems
from perdure.server.common.answers import (
    Answer,
    Fields,
    escape_uri,
    join_links,
    make_empty_answer,
    write_link,
)
from perdure.server.common.request import Request
from perdure.server.common.service import Service

LINK_FORMAT = "application/link-format"
_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
_VARY = (b"vary", b"accept-datetime")
_LINES = 500
_MOST = 1_000_000  # mementos of one TimeMap
_FORMS = ("link", "json")
_ALL_TIME = (FIRST, LAST)


_PATHS = ("timegate/", "timemap/", "replay/")


class _SpelledName(bytes):
    """The name of a header field that uvicorn, which lower-cases all names, sends as spelled."""

    def lower(self) -> bytes:
        return self


_CAPITALISED = {
    name.lower(): _SpelledName(name)
    for name in (b"Link", b"Location", b"Memento-Datetime", b"Vary")
}


def capitalise_names(answer: Answer, request: Request) -> None:
    """Spell the names of the fields of Memento as RFC 7089 does, in an answer that has them.

    The case of a name means nothing (RFC 9110 section 5.1), but the validator of Memento's authors
    compares it.
    """
    if request.target.text.startswith(_PATHS) or any(
        name == b"memento-datetime" for name, _ in answer.fields
    ):
        answer.fields = [(_CAPITALISED.get(name, name), value) for name, value in answer.fields]


def format_http_datetime(time: str) -> str:
    """A 14-digit time as HTTP writes it. A leap second becomes the second before it.

    >>> format_http_datetime("20160122112029")
    'Fri, 22 Jan 2016 11:20:29 GMT'
    """
    moment = datetime.fromisoformat(format_second(time[:12] + min(time[12:], "59")))
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[moment.weekday()]
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    return (
        f"{day}, {moment.day:02} {months[moment.month - 1]} {moment.year:04} {moment:%H:%M:%S} GMT"
    )


def link_original(service: Service, request: Request, recorded: str) -> list[bytes]:
    """Links from a memento to its original, TimeGate and TimeMaps (section 2.2).

    The replay origin has no TimeGate and does not know the resolver's address, so its answers link
    to the original only.
    """
    link = write_link(recorded, "original")
    if request.base_url == service.settings.content_origin:
        return [link]
    return [
        link,
        *(
            write_link(there, rel, **({"type": kind} if kind else {}))
            for rel, there, kind in list_timemaps(request, recorded)
        ),
    ]


def list_timemaps(request: Request, recorded: str) -> list[tuple[str, str, str]]:
    """List relation, address and media type of the TimeGate and the TimeMaps of a URI."""
    base, place = request.base_url, escape_for_path(recorded)
    return [
        ("timegate", f"{base}/timegate/{place}", ""),
        ("timemap", f"{base}/timemap/link/{place}", LINK_FORMAT),
        ("timemap", f"{base}/timemap/json/{place}", "application/json"),
    ]


def write_verdict(judgement: Judgement) -> tuple[bytes, bytes]:
    """`Perdure-Verdict`: an item of RFC 9651, the verdict with the distance in seconds, and
    whether the URI differs."""
    text = judgement.verdict.token
    if judgement.verdict is CaptureVerdict.NEAREST and judgement.delta is not None:
        text += f";delta={judgement.delta}"
        text += ";other-uri" if judgement.other_uri else ""
    if len(judgement.fits) > 1:
        text += f";fits={len(judgement.fits)}"
    return b"perdure-verdict", text.encode()


def make_not_captured(url: str) -> NotCaptured:
    """The error if the archive has no capture of a URL."""
    return NotCaptured(identifier=url, verdict=CaptureVerdict.ABSENT.value, offered=())


def require_open(service: Service) -> None:
    """Raise ArchiveClosed if the captures of this registry are not open to the public.

    If closed archives are answered as if they did not exist, it raises NotCaptured.
    """
    if service.serves_captures():
        return
    if service.settings.closed_archives == "404":
        raise make_not_captured(service.settings.archive_id)
    raise ArchiveClosed(archive=service.settings.archive_id)


def has_captures(service: Service, request: Request, text: str) -> bool:
    """Return whether a text is the address of a page that was captured here, open to the public."""
    if not text.startswith(("http://", "https://")) or not service.serves_captures():
        return False
    archive = asking.read_archive(service, request)
    return find_first(archive.captures, make_range(text, "exact")) is not None


# the TimeGate
# ------------


async def find_memento(service: Service, request: Request) -> Answer:
    """Redirect (302) to the memento nearest to Accept-Datetime, or the newest (section 4.5)."""
    require_open(service)
    wanted = read_original_uri(request, "timegate/")
    time = _read_accept_datetime(request.read_field(b"accept-datetime"))
    archive = asking.read_archive(service, request)
    found = await asyncio.to_thread(_relate_captures, archive, wanted, time)
    if found is None:
        archive.explain_absence(wanted, wanted, *_ALL_TIME)
        problem = problems.make_problem(make_not_captured(wanted))
        fields = (*problem.fields, _VARY, *join_links(link_original(service, request, wanted)))
        return problems.answer_problem(msgspec.structs.replace(problem, fields=fields), request)
    chosen, relations = found
    told = link_original(service, request, wanted)
    for capture, names in relations.items():
        told.append(
            b'<%s>; rel="%s"; datetime="%s"'
            % (
                escape_uri(write_memento_uri(service, request, capture)),
                " ".join((*names, "memento")).encode(),
                format_http_datetime(capture.time).encode(),
            )
        )
    location = (b"location", escape_uri(write_memento_uri(service, request, chosen)))
    return make_empty_answer(HTTPStatus.FOUND, location, _VARY, *join_links(told), _ANY_ORIGIN)


def _read_accept_datetime(text: str) -> str:
    """The requested time in 14 digits, or the last possible time if the field is empty.

    Raises InvalidRequest if it is not a date of RFC 1123: "the server MUST return 400".
    """
    if not text:
        return "99991231235959"
    parsed = parsedate_tz(text) if len(text) <= 64 else None
    try:
        if parsed is None or not text.rstrip().endswith("GMT"):
            raise ValueError(text)
        return datetime(*parsed[:6], tzinfo=UTC).strftime("%Y%m%d%H%M%S").rjust(14, "0")
    except ValueError:
        raise MalformedDate(field="Accept-Datetime", text=text) from None


def _relate_captures(
    archive: ReadableArchive, wanted: str, time: str
) -> tuple[Capture, dict[Capture, list[str]]] | None:
    """The capture nearest to a time, and the relations of it and its neighbours (section 2.2.1)."""
    captures = archive.captures
    judgement = choose_capture(captures, archive.files, interpret_uri_at(wanted, time))
    if judgement.capture is None:
        return None
    chosen = judgement.capture
    whole = make_range(wanted, "exact")
    after = find_first(captures, IndexRange(f"{whole.low}{chosen.time}~", whole.high))
    before = find_first(
        captures, IndexRange(whole.low, f"{whole.low}{chosen.time}"), backwards=True
    )
    relations: dict[Capture, list[str]] = {}
    for name, one in (
        ("first", chosen if before is None else find_first(captures, whole)),
        ("prev", before),
        ("", chosen),
        ("next", after),
        ("last", chosen if after is None else find_first(captures, whole, backwards=True)),
    ):
        if one is not None:
            relations.setdefault(one, []).extend(filter(None, [name]))
    return chosen, relations


def find_first(captures: Captures, found: IndexRange, *, backwards: bool = False) -> Capture | None:
    """The first or the last capture in a stretch that has content."""
    some = islice(walk_range(captures, found, backwards=backwards, batch=8), 1000)
    return next((one for one in some if suits_coverage("part", one)), None)


# TimeMaps
# --------


def find_ends(service: Service, request: Request, wanted: str) -> tuple[Captures, Capture, Capture]:
    """Return the captures that the reader may read, and the first and the last one of a URI.

    Raises NotCaptured, ArchiveClosed, and the error of the rule that closes the captures.
    """
    require_open(service)
    archive = asking.read_archive(service, request, is_list=True)
    whole = make_range(wanted, "exact")
    first = find_first(archive.captures, whole)
    last = find_first(archive.captures, whole, backwards=True)
    if first is None or last is None:
        archive.explain_absence(wanted, wanted, *_ALL_TIME)
        raise make_not_captured(wanted)
    return archive.captures, first, last


async def list_mementos(service: Service, request: Request) -> Answer:
    """List all mementos of a URI as links or as JSON, oldest first. Raises NotCaptured."""
    form, _, _ = request.target.text.removeprefix("timemap/").partition("/")
    if form not in _FORMS:
        return problems.answer_problem(problems.no_such_page(request.target.text), request)
    wanted = read_original_uri(request, f"timemap/{form}/")
    captures, first, last = await asyncio.to_thread(find_ends, service, request, wanted)
    whole = make_range(wanted, "exact")
    write = _write_links if form == "link" else _write_json
    pieces = write(service, request, wanted, select_mementos(captures, whole), first, last)
    begun = await asyncio.to_thread(_join_pieces, pieces)
    media_type = LINK_FORMAT if form == "link" else "application/json"
    fields: Fields = [(b"content-type", media_type.encode()), _ANY_ORIGIN]
    return Answer(HTTPStatus.OK, fields, stream=_stream_pieces(begun, pieces))


def select_mementos(captures: Captures, whole: IndexRange) -> Iterator[Capture]:
    """The captures that have content, each address once."""
    last = ("", "")
    for one in islice(walk_range(captures, whole), _MOST):
        if suits_coverage("part", one) and (one.time, one.uri) != last:
            last = (one.time, one.uri)
            yield one


def _join_pieces(pieces: Iterator[str]) -> bytes:
    return "".join(islice(pieces, _LINES)).encode()


async def _stream_pieces(begun: bytes, pieces: Iterator[str]) -> AsyncIterator[bytes]:
    while begun:
        yield begun
        begun = await asyncio.to_thread(_join_pieces, pieces)


def _write_links(
    service: Service,
    request: Request,
    wanted: str,
    found: Iterator[Capture],
    first: Capture,
    last: Capture,
) -> Iterator[str]:
    place = escape_for_path(wanted)
    yield f'<{escape_uri(wanted).decode()}>; rel="original",\n'
    yield f'<{request.base_url}/timegate/{place}>; rel="timegate",\n'
    yield (
        f'<{request.base_url}/timemap/link/{place}>; rel="self"; type="{LINK_FORMAT}"; '
        f'from="{format_http_datetime(first.time)}"; until="{format_http_datetime(last.time)}"'
    )
    for one in found:
        names = [name for name, end in (("first", first), ("last", last)) if one == end]
        relation = " ".join((*names, "memento"))
        address = escape_uri(write_memento_uri(service, request, one)).decode()
        yield f',\n<{address}>; rel="{relation}"; datetime="{format_http_datetime(one.time)}"'
    yield "\n"


def _write_json(
    service: Service,
    request: Request,
    wanted: str,
    found: Iterator[Capture],
    first: Capture,
    last: Capture,
) -> Iterator[str]:
    def write_entry(one: Capture) -> str:
        address = escape_uri(write_memento_uri(service, request, one)).decode()
        return _encode_json({"datetime": format_second(one.time), "uri": address})

    place = escape_for_path(wanted)
    about = {
        "original_uri": wanted,
        "self": f"{request.base_url}/timemap/json/{place}",
        "timegate_uri": f"{request.base_url}/timegate/{place}",
        "timemap_uri": {
            f"{form}_format": f"{request.base_url}/timemap/{form}/{place}"
            for form in ("link", "json")
        },
    }
    yield _encode_json(about)[:-1]
    yield f',"mementos":{{"first":{write_entry(first)},"last":{write_entry(last)},"list":['
    yield from (
        part
        for number, one in enumerate(found)
        for part in chain([","] if number else [], [write_entry(one)])
    )
    yield "]}}\n"


def _encode_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
