"""The routes of web captures: the CDX server, Memento and replay."""

from __future__ import annotations

from perdure import errors
from perdure.model.matches import MATCHES
from perdure.server.apis import capture_calendar, cdx, memento, replay
from perdure.server.resource import pwid_queries
from perdure.server.routes.model import (
    ANYTHING,
    JSON,
    TEXT,
    WORD,
    AnswerShape,
    Parameter,
    Route,
    Schema,
)

_GET = ("GET", "HEAD")
_PLAIN = "text/plain"
_TIME: Schema = {"type": "string", "pattern": "^([0-9]{4,14})?$"}
_COUNT: Schema = {"type": "string", "pattern": "^[1-9][0-9]{0,5}$"}
_NUMBER: Schema = {"type": "string", "pattern": "^[0-9]{0,9}$"}
_BLOCKS: Schema = {"type": "string", "pattern": "^([1-9]|[1-4][0-9]|50)?$"}
_FLAG: Schema = {"type": "string", "enum": ["true", "false"]}
_ENTITY: Schema = {"type": "object", "additionalProperties": True}

_ORIGINAL = Parameter(
    name="uri",
    place="path",
    text="the archived URI, escaped or as it is, with its query",
    schema=WORD,
    required=True,
    example="http%3A%2F%2Fwww.dr.dk%2F",
)

ARCHIVED = (
    Route(
        methods=_GET,
        pattern="/pwid",
        handler=pwid_queries.answer_pwid_query,
        operation="resolvePwidQuery",
        text="the PWID of your own archive with this time, coverage and item "
        "(PWID draft-04, section 5)",
        shown="/pwid?time=<time>&coverage=<coverage>&item=<uri>",
        section="pages",
        parameters=(
            Parameter(
                name="time",
                text="the time of archiving, such as `2016-01-22T11:20:29Z`",
                schema=WORD,
                required=True,
            ),
            Parameter(
                name="coverage",
                text="`part`, `page`, `site` … as in a PWID",
                schema=WORD,
                required=True,
            ),
            Parameter(
                name="item",
                text="the archived URI, escaped, or as it is if it is the last parameter",
                schema=WORD,
                required=True,
            ),
        ),
        answers=(AnswerShape(status=200, text="As the PWID.", content={ANYTHING: None}),),
        problems=(
            errors.NotCaptured,
            errors.CaptureWithdrawn,
            errors.UnknownArchive,
            errors.ArchiveClosed,
            errors.InvalidRequest,
        ),
    ),
    Route(
        methods=_GET,
        pattern="/cdx",
        handler=cdx.list_captures,
        operation="listCaptures",
        text="captures of a URL, as a CDX server lists them: "
        "[web archives](web-archives.md#cdx-server)",
        shown="/cdx?url=<url>",
        section="pages",
        parameters=(
            Parameter(
                name="url",
                text="the URL; `*.dr.dk` means the domain, `http://dr.dk/a*` a prefix",
                schema=WORD,
                required=True,
            ),
            Parameter(
                name="matchType",
                text="how captures match the URL",
                schema={"type": "string", "enum": list(MATCHES)},
            ),
            Parameter(name="from", text="the first time, 4 to 14 digits", schema=_TIME),
            Parameter(name="to", text="the last time, included", schema=_TIME),
            Parameter(
                name="closest", text="a time: captures nearest to it come first", schema=_TIME
            ),
            Parameter(name="sort", text="`reverse`: the newest first"),
            Parameter(name="limit", text="the largest number of captures", schema=_COUNT),
            Parameter(name="filter", text="`[!][=|~]field:text`; up to eight", repeated=True),
            Parameter(name="fl", text="names of fields, separated by commas; also `fields`"),
            Parameter(
                name="output",
                text="the format of the answer",
                schema={"type": "string", "enum": ["cdxj", "json", "text"]},
            ),
            Parameter(
                name="collapse",
                text="`digest` or `timestamp:8`: the first of adjacent captures that agree in it",
            ),
            Parameter(name="page", text="the number of a page, from 0", schema=_NUMBER),
            Parameter(name="pageSize", text="blocks of 3000 captures per page", schema=_BLOCKS),
            Parameter(name="showNumPages", text="the number of pages", schema=_FLAG),
            Parameter(
                name="resolveRevisits", text="the places of the payloads of revisits", schema=_FLAG
            ),
            Parameter(
                name="showResumeKey", text="a key from which the next query continues", schema=_FLAG
            ),
            Parameter(name="resumeKey", text="the key from `showResumeKey`"),
        ),
        answers=(
            AnswerShape(
                status=200,
                text="One capture per line; with `showNumPages` an object.",
                content={"text/x-cdxj": TEXT, "text/x-ndjson": TEXT, _PLAIN: TEXT, JSON: _ENTITY},
            ),
        ),
        problems=(errors.InvalidRequest, errors.NotCaptured, errors.OverBudget),
    ),
    Route(
        methods=_GET,
        pattern="/timegate/{uri}",
        handler=memento.find_memento,
        operation="findMemento",
        text="the capture nearest to `Accept-Datetime` (Memento): "
        "[web archives](web-archives.md#memento)",
        section="pages",
        parameters=(
            _ORIGINAL,
            Parameter(
                name="Accept-Datetime", place="header", text="the time, as an HTTP date (RFC 7089)"
            ),
        ),
        answers=(AnswerShape(status=302, text="The capture.", fields=("Location", "Link")),),
        problems=(errors.InvalidRequest, errors.NotCaptured),
    ),
    Route(
        methods=_GET,
        pattern="/timemap/{form}/{uri}",
        handler=capture_calendar.list_captures,
        operation="listMementos",
        text="all captures, in the format `link` or `json` (Memento), or as a page (`html`)",
        section="pages",
        parameters=(
            Parameter(
                name="form",
                place="path",
                text="the format of the answer",
                schema={"type": "string", "enum": ["link", "json", "html"]},
                required=True,
            ),
            _ORIGINAL,
        ),
        answers=(
            AnswerShape(
                status=200,
                text="The captures.",
                content={memento.LINK_FORMAT: TEXT, JSON: _ENTITY, "text/html": None},
            ),
        ),
        problems=(errors.InvalidRequest, errors.NotCaptured),
    ),
    Route(
        methods=_GET,
        pattern="/replay/{time}/{uri}",
        handler=replay.replay_capture,
        operation="replayCapture",
        text="bytes of captures (`<time>id_`), or pages on the replay origin: "
        "[web archives](web-archives.md#replay)",
        section="pages",
        parameters=(
            Parameter(
                name="time",
                place="path",
                text="4 to 14 digits; a suffix `id_` asks for the bytes, a further suffix "
                "`~<digest>` for the capture with this digest; `bar_` for a page that shows it "
                "below a bar; `*`, or a year before `*`, for a calendar of the captures",
                schema={
                    "type": "string",
                    "pattern": "^([0-9]{4})?[*]$|^[0-9]{14}bar_$|"
                    "^[0-9]{4,14}(id_(~[a-z0-9-]{1,16}:[A-Za-z0-9+=_-]{16,128})?)?$",
                },
                required=True,
                example="20160122112029id_",
            ),
            _ORIGINAL,
        ),
        answers=(
            AnswerShape(status=200, text="The archived resource.", content={ANYTHING: None}),
            AnswerShape(status=206, text="Ranges of it.", content={ANYTHING: None}),
            AnswerShape(status=302, text="The nearest capture, or the replay origin."),
            AnswerShape(status=304, text="The client already has it."),
        ),
        problems=(
            errors.NotCaptured,
            errors.CaptureWithdrawn,
            errors.OriginalMissing,
            errors.ArchiveClosed,
            errors.InvalidRequest,
        ),
    ),
)
