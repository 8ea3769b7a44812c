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
import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_tz
from http import HTTPStatus
from itertools import chain, islice
from urllib.parse import unquote

import msgspec

from perdure.archives.dates import whole_second
from perdure.archives.index.ranges import Stretch, stretch, walk
from perdure.archives.port import Capture, Captures
from perdure.archives.pwid.verdict import Judgement, Verdict, at, judge, look_up, suits
from perdure.errors import NotCaptured
from perdure.errors.requests import MalformedDate, MissingUri
from perdure.reading.targets import is_escaped
from perdure.server.common import problems
from perdure.server.common.answers import Answer, Fields, empty, links, uri
from perdure.server.common.request import Request
from perdure.server.common.service import Service

LINK_FORMAT = "application/link-format"
_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
_VARY = (b"vary", b"accept-datetime")
_SCHEME = re.compile(r"(https?):/+", re.IGNORECASE)
_LINES = 500
_MOST = 1_000_000  # mementos of one TimeMap


# addresses
# ---------


def original_uri(request: Request, prefix: str) -> str:
    """The URI after the name of a page, with its query. Raises InvalidRequest.

    Proxies fold `http://` in a path into `http:/`, and some clients escape the complete URI. A URI
    without a scheme gets `http`.
    """
    text = request.target.text.removeprefix(prefix)
    if is_escaped(text):
        text = in_path(unquote(text))
    if request.target.question is not None:
        text = f"{text}?{request.target.question}"
    if not text:
        raise MissingUri()
    if _SCHEME.match(text):
        return _SCHEME.sub(r"\1://", text, count=1)
    return text if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9])", text) else f"http://{text}"


def in_path(recorded: str) -> str:
    """A recorded URI, escaped as the end of a path at this resolver.

    >>> in_path("http://a.dk/b c#d")
    'http://a.dk/b%20c%23d'
    """
    return uri(recorded).decode("ascii").replace("#", "%23")


def raw_path(capture: Capture) -> str:
    """The path of the bytes of a capture."""
    return f"/replay/{capture.time}id_/{in_path(capture.uri)}"


def replay_path(capture: Capture) -> str:
    """The path of the page of a capture on the replay origin."""
    return f"/replay/{capture.time}/{in_path(capture.uri)}"


def memento(service: Service, request: Request, capture: Capture) -> str:
    """The address of a capture as a memento."""
    replay = service.settings.replay_origin
    return f"{replay}{replay_path(capture)}" if replay else f"{request.base}{raw_path(capture)}"


def http_datetime(time: str) -> str:
    """A 14-digit time as HTTP writes it. A leap second becomes the second before it.

    >>> http_datetime("20160122112029")
    'Fri, 22 Jan 2016 11:20:29 GMT'
    """
    moment = datetime.fromisoformat(whole_second(time[:12] + min(time[12:], "59")))
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[moment.weekday()]
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    return (
        f"{day}, {moment.day:02} {months[moment.month - 1]} {moment.year:04} {moment:%H:%M:%S} GMT"
    )


def about_original(service: Service, request: Request, recorded: str) -> list[bytes]:
    """Links from a memento to its original, TimeGate and TimeMaps (section 2.2).

    The replay origin has no TimeGate and does not know the resolver's address, so its answers link
    to the original only.
    """
    place = in_path(recorded)
    link = b'<%s>; rel="original"' % uri(recorded)
    if request.base == service.settings.replay_origin:
        return [link]
    return [
        link,
        b'<%s>; rel="timegate"' % uri(f"{request.base}/timegate/{place}"),
        b'<%s>; rel="timemap"; type="%s"'
        % (uri(f"{request.base}/timemap/link/{place}"), LINK_FORMAT.encode()),
        b'<%s>; rel="timemap"; type="application/json"'
        % uri(f"{request.base}/timemap/json/{place}"),
    ]


def verdict_field(judgement: Judgement) -> tuple[bytes, bytes]:
    """`Perdure-Verdict`: an item of RFC 8941, the verdict with the distance in seconds."""
    text = judgement.verdict.token
    if judgement.verdict is Verdict.NEAREST and judgement.delta is not None:
        text += f";delta={judgement.delta}"
    if len(judgement.fits) > 1:
        text += f";fits={len(judgement.fits)}"
    return b"perdure-verdict", text.encode()


def never_captured(url: str) -> NotCaptured:
    """The error if the archive has no capture of a URL."""
    return NotCaptured(identifier=url, verdict=Verdict.ABSENT.value, offered=())


# the TimeGate
# ------------


async def timegate(service: Service, request: Request) -> Answer:
    """Redirect (302) to the memento nearest to Accept-Datetime, or the newest (section 4.5)."""
    wanted = original_uri(request, "timegate/")
    time = _accept_datetime(request.text(b"accept-datetime"))
    captures = service.registry.archive.captures
    found = await asyncio.to_thread(_around, captures, wanted, time)
    if found is None:
        problem = problems.of_error(never_captured(wanted))
        fields = (*problem.fields, _VARY, *links(about_original(service, request, wanted)))
        return problems.answer(msgspec.structs.replace(problem, fields=fields), request)
    chosen, relations = found
    told = about_original(service, request, wanted)
    for capture, names in relations.items():
        told.append(
            b'<%s>; rel="%s"; datetime="%s"'
            % (
                uri(memento(service, request, capture)),
                " ".join((*names, "memento")).encode(),
                http_datetime(capture.time).encode(),
            )
        )
    location = (b"location", uri(memento(service, request, chosen)))
    return empty(HTTPStatus.FOUND, location, _VARY, *links(told), _ANY_ORIGIN)


def _accept_datetime(text: str) -> str:
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


def _around(
    captures: Captures, wanted: str, time: str
) -> tuple[Capture, dict[Capture, list[str]]] | None:
    """The capture nearest to a time, and the relations of it and its neighbours (section 2.2.1)."""
    question = at(wanted, time)
    evidence = look_up(captures, question)
    judgement = judge(question, evidence, nearest=True)
    if judgement.capture is None:
        return None
    chosen = judgement.capture
    whole = stretch(wanted, "exact")
    after = _first(captures, Stretch(f"{whole.low}{chosen.time}~", whole.high))
    before = _first(captures, Stretch(whole.low, f"{whole.low}{chosen.time}"), backwards=True)
    relations: dict[Capture, list[str]] = {}
    for name, one in (
        ("first", chosen if before is None else _first(captures, whole)),
        ("prev", before),
        ("", chosen),
        ("next", after),
        ("last", chosen if after is None else _first(captures, whole, backwards=True)),
    ):
        if one is not None:
            relations.setdefault(one, []).extend(filter(None, [name]))
    return chosen, relations


def _first(captures: Captures, found: Stretch, *, backwards: bool = False) -> Capture | None:
    """The first or the last capture in a stretch that has content."""
    some = islice(walk(captures, found, backwards=backwards, batch=8), 1000)
    return next((one for one in some if suits("part", one)), None)


# TimeMaps
# --------


async def timemap(service: Service, request: Request) -> Answer:
    """List all mementos of a URI as links or as JSON, oldest first. Raises NotCaptured."""
    form, _, _ = request.target.text.removeprefix("timemap/").partition("/")
    if form not in ("link", "json"):
        return problems.answer(problems.no_such_page(request.target.text), request)
    wanted = original_uri(request, f"timemap/{form}/")
    captures = service.registry.archive.captures
    whole = stretch(wanted, "exact")
    first, last = await asyncio.to_thread(
        lambda: (_first(captures, whole), _first(captures, whole, backwards=True))
    )
    if first is None or last is None:
        raise never_captured(wanted)
    write = _as_links if form == "link" else _as_json
    pieces = write(service, request, wanted, _mementos(captures, whole), first, last)
    begun = await asyncio.to_thread(_gathered, pieces)
    media_type = LINK_FORMAT if form == "link" else "application/json"
    fields: Fields = [(b"content-type", media_type.encode()), _ANY_ORIGIN]
    return Answer(HTTPStatus.OK, fields, stream=_stream(begun, pieces))


def _mementos(captures: Captures, whole: Stretch) -> Iterator[Capture]:
    """The captures that have content, each address once."""
    last = ("", "")
    for one in islice(walk(captures, whole), _MOST):
        if suits("part", one) and (one.time, one.uri) != last:
            last = (one.time, one.uri)
            yield one


def _gathered(pieces: Iterator[str]) -> bytes:
    return "".join(islice(pieces, _LINES)).encode()


async def _stream(begun: bytes, pieces: Iterator[str]) -> AsyncIterator[bytes]:
    while begun:
        yield begun
        begun = await asyncio.to_thread(_gathered, pieces)


def _as_links(
    service: Service,
    request: Request,
    wanted: str,
    found: Iterator[Capture],
    first: Capture,
    last: Capture,
) -> Iterator[str]:
    place = in_path(wanted)
    yield f'<{uri(wanted).decode()}>; rel="original",\n'
    yield f'<{request.base}/timegate/{place}>; rel="timegate",\n'
    yield (
        f'<{request.base}/timemap/link/{place}>; rel="self"; type="{LINK_FORMAT}"; '
        f'from="{http_datetime(first.time)}"; until="{http_datetime(last.time)}"'
    )
    for one in found:
        names = [name for name, end in (("first", first), ("last", last)) if one == end]
        relation = " ".join((*names, "memento"))
        address = uri(memento(service, request, one)).decode()
        yield f',\n<{address}>; rel="{relation}"; datetime="{http_datetime(one.time)}"'
    yield "\n"


def _as_json(
    service: Service,
    request: Request,
    wanted: str,
    found: Iterator[Capture],
    first: Capture,
    last: Capture,
) -> Iterator[str]:
    def entry(one: Capture) -> str:
        address = uri(memento(service, request, one)).decode()
        return _json({"datetime": whole_second(one.time), "uri": address})

    place = in_path(wanted)
    about = {
        "original_uri": wanted,
        "self": f"{request.base}/timemap/json/{place}",
        "timegate_uri": f"{request.base}/timegate/{place}",
        "timemap_uri": {
            f"{form}_format": f"{request.base}/timemap/{form}/{place}" for form in ("link", "json")
        },
    }
    yield _json(about)[:-1]
    yield f',"mementos":{{"first":{entry(first)},"last":{entry(last)},"list":['
    yield from (
        part
        for number, one in enumerate(found)
        for part in chain([","] if number else [], [entry(one)])
    )
    yield "]}}\n"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
