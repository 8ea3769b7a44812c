"""The routes of identifiers: questions about a name, and changes to it.

How it works: an identifier is one path parameter, `/{name}`, escaped or as it is. The words of the
query choose the answer. Several routes may share a method: they differ in their word, and their
handler chooses among them, because only the identifier's scheme knows where its query begins
(`perdure.reading.targets`). `kinds` lists the kinds of targets, such as a part, a pattern or a
series, that allow a route.

What must stay true: `Allow` comes from `kinds`  # rulings: http-405, http-put
"""

from __future__ import annotations

from perdure import errors
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource import changing, methods, operating, reading
from perdure.server.routes.model import (
    ANYTHING,
    BARE,
    JSON,
    NAMES,
    TEXT,
    AnswerShape,
    BodyShape,
    Parameter,
    Route,
    Security,
)
from perdure.server.routes.questions import CHOICE, NAME, QUESTIONS

_READ_KINDS = (
    TargetKind.IDENTIFIER,
    TargetKind.PART,
    TargetKind.PATTERN,
    TargetKind.SERIES,
)
_ALL_KINDS = (*_READ_KINDS, TargetKind.AUTHORITY)
_WRITE_KINDS = (TargetKind.IDENTIFIER, TargetKind.SERIES, TargetKind.AUTHORITY)
_TOKEN = (Security.BEARER, Security.SIGNATURE)

# asking
# ------

_READING = Route(
    methods=("GET", "HEAD"),
    pattern=NAMES,
    handler=reading.answer_get,
    operation="resolve",
    text="the resource, a redirect to it, a part of it, or its record",
    shown="/<identifier>",
    kinds=_READ_KINDS,
    parameters=(NAME, *QUESTIONS, *CHOICE),
    answers=(
        AnswerShape(
            status=200,
            text="The bytes, a part, a listing, the record, or the answer to the query.",
            content={ANYTHING: None},
            fields=("Content-Location", "ETag", "Repr-Digest", "Link", "Perdure-Part"),
        ),
        AnswerShape(status=206, text="Ranges of the bytes.", content={ANYTHING: None}),
        AnswerShape(status=300, text="Several versions have the part.", content={ANYTHING: None}),
        AnswerShape(status=302, text="The best location, or the name of which this is an alias."),
        AnswerShape(status=303, text="The landing page of the passage."),
        AnswerShape(status=304, text="The client already has it."),
    ),
    problems=(
        errors.MalformedIdentifier,
        errors.UnknownScheme,
        errors.MalformedPart,
        errors.InvalidRequest,
        errors.NotFound,
        errors.NotAcceptable,
        errors.PartOutOfRange,
        errors.PartCheckFailed,
        errors.PartNotSupported,
        errors.MissingLibrary,
        errors.Undecodable,
        errors.OverBudget,
        errors.ArchiveClosed,
        errors.LegallyUnavailable,
        errors.Unauthenticated,
        errors.Forbidden,
    ),
    security=(Security.BEARER,),
    extensions={
        "x-spellings": [
            {
                "form": "GET pdi://… HTTP/1.1",
                "description": "The absolute form: the request target is the identifier.",
            },
            {
                "form": "/pdi://…#<part>",
                "description": "A raw # in the request target begins a part. Most clients do not "
                "send it.",
            },
            {
                "form": "/pdi://…%23<part>",
                "description": "The same with the # escaped. It equals ?part=<part>.",
            },
            {
                "form": "/ark:…?, /ark:…??",
                "description": "The inflections of ARKs: an empty query, and the query ?.",
            },
            {
                "form": "/pwid:…, /urn:pwid:…",
                "description": "The query of a PWID that is not completely escaped begins at the "
                "last ? if one of the words above follows it. Everything else belongs to the "
                "archived address.",
            },
        ],
        "x-unknown-parameters": "A name=value that is not listed is ignored. An unknown word "
        "without a value is 400.",
    },
)

# writing
# -------

_CONDITIONS = (
    Parameter(
        name="If-Match",
        place="header",
        text='an entity tag of the newest bytes, or `"r7"` for the seventh revision',
    ),
    Parameter(name="If-None-Match", place="header", text="`*`: only if nothing exists yet"),
    Parameter(
        name="Idempotency-Key",
        place="header",
        text="makes it safe to repeat the request for thirty days",
    ),
    Parameter(
        name="Content-Digest", place="header", text="a digest of the body, checked (RFC 9530)"
    ),
    Parameter(
        name="Repr-Digest", place="header", text="a digest of the document, checked (RFC 9530)"
    ),
)
_LANGUAGE = Parameter(
    name="Content-Language", place="header", text="the language of the document, one tag (BCP 47)"
)
_REFUSED = (
    errors.MalformedIdentifier,
    errors.UnknownScheme,
    errors.MalformedPart,
    errors.InvalidRequest,
    errors.NotFound,
    errors.Unauthenticated,
    errors.Forbidden,
    errors.Conflict,
    errors.PreconditionFailed,
    errors.DigestMismatch,
    errors.Incomplete,
    errors.TooLarge,
    errors.NotAcceptable,
    errors.StorageFailed,
)
_RECEIPT = {JSON: {"$ref": "#/components/schemas/Receipt"}}
_MADE = AnswerShape(
    status=201, text="Created.", content=_RECEIPT, fields=("Location", "Content-Location")
)
_DONE = AnswerShape(
    status=200,
    text="Done, or nothing had to be done.",
    content=_RECEIPT,
    fields=("Location", "Content-Location"),
)
_PROPOSED = AnswerShape(
    status=202,
    text="Proposed. A second person must make the same request, or refuse it.",
    content=_RECEIPT,
    fields=("Location", "Content-Location"),
)
_DOCUMENT = BodyShape(
    text="The document. `Content-Type` gives its media type; otherwise it is detected.",
    content={ANYTHING: {}},
)


def _make_write(
    method: str,
    shown: str,
    text: str,
    *answers: AnswerShape,
    word: str = "",
    body: BodyShape | None = None,
    problems: tuple[type[errors.PerdureError], ...] = (),
) -> Route:
    """A route that writes. Its body is a document, or the type that the word of a POST needs."""
    if body is None:
        shape = operating.SHAPES.get(word)
        body = _DOCUMENT if shape is None else BodyShape(text=text, content={JSON: shape})
    bare = Parameter(
        name=word, text=text, schema=TEXT if word == "metadata" else BARE, listed=False
    )
    return Route(
        methods=(method,),
        pattern=NAMES,
        handler=changing.answer_put if method == "PUT" else changing.answer_post,
        operation="store" if method == "PUT" else "change",
        text=text,
        shown=shown,
        word=word,
        section="writing",
        kinds=_WRITE_KINDS,
        parameters=(
            NAME,
            *([bare] if word else []),
            *_CONDITIONS,
            *([_LANGUAGE] if body is _DOCUMENT else []),
        ),
        body=body,
        answers=answers,
        problems=(*_REFUSED, *problems),
        security=_TOKEN,
        is_open=False,
    )


_METADATA = BodyShape(
    text="The description, in a metadata format.",
    content={ANYTHING: {}},
)
_METADATA_CHANGE = BodyShape(
    text="The description, in a metadata format, which replaces the earlier one; or the members "
    "to change, as a JSON Merge Patch (RFC 7396).",
    content={
        ANYTHING: {},
        changing.MERGE_PATCH: {"type": "object", "description": "Members; `null` removes one."},
    },
)
_SIGNATURE = BodyShape(
    text="The statement, an empty line, and the signature.", content={"text/plain": TEXT}
)
_NOT_FOUND = "answers 404"
_STORING = (
    _make_write(
        "PUT",
        "PUT /pdi://<series>/",
        "mints a PDI with today's date, the next serial and version 1",
        _MADE,
    ),
    _make_write(
        "PUT",
        "PUT /<known PDI>",
        "commits the next version; 200 if the bytes are the same",
        _MADE,
        _DONE,
    ),
    _make_write(
        "PUT",
        "PUT /<known PDI with a version and a new format>",
        "adds the format",
        _MADE,
    ),
    _make_write("PUT", "PUT /<unknown PDI>", _NOT_FOUND),
    _make_write(
        "PUT",
        "PUT /<identifier>?metadata",
        "sets its description, in [a metadata format](metadata.md)",
        _DONE,
        word="metadata",
        body=_METADATA,
        problems=(errors.InvalidMetadata,),
    ),
)
_CHANGING = (
    _make_write(
        "POST",
        "POST /<authority>?mint",
        'mints without bytes: `{"uid", "format" or "type", "locations", "ask", "metadata", '
        '"day"}`. With '
        "neither format nor type, the name is reserved without a format, unless `ask` is true: "
        "then the server of the first location is asked for its type (HEAD). The authority is "
        "written as `pdi://<series>/`, `ark:<shoulder>` or, for URNs of 1993, "
        "`URN:<naming authority>::` (`/URN:IANA:42117::?mint`). A past `day` (`1997/09/01`) needs "
        "the right `retrospect`, too",
        _MADE,
        word="mint",
    ),
    _make_write(
        "POST",
        "POST /<identifier>?register",
        'registers an identifier that was issued elsewhere or earlier: `{"locations", '
        '"metadata"}`. In a series that is minted here, it refuses future dates and numbers of '
        "today that were not issued yet",
        _MADE,
        _DONE,
        word="register",
    ),
    _make_write(
        "POST",
        "POST /<identifier>?correct",
        'corrects the reading of its bytes: `{"type", "charset", "language", "reason", "version", '
        '"format"}`; the bytes and their name stay. Needs the right `commit`',
        _DONE,
        word="correct",
    ),
    _make_write(
        "POST",
        "POST /<identifier>?bind",
        'adds or replaces locations: `{"locations": ["https://…" or {"uri", "version", "format", '
        '"sha512", …}]}`',
        _MADE,
        _DONE,
        word="bind",
    ),
    _make_write(
        "POST",
        "POST /<identifier>?break",
        'removes a location: `{"uri"}`',
        _DONE,
        word="break",
    ),
    _make_write(
        "POST",
        "POST /<identifier>?alias",
        'declares that both names name the same resource: `{"other"}`; if that is a name of this '
        "registry, the token must also cover it",
        _MADE,
        _DONE,
        word="alias",
    ),
    _make_write(
        "POST",
        "POST /<identifier>?metadata",
        "sets its description, in [a metadata format](metadata.md); with `Content-Type: "
        "application/merge-patch+json`, changes single members (RFC 7396)",
        _DONE,
        word="metadata",
        body=_METADATA_CHANGE,
        problems=(errors.InvalidMetadata,),
    ),
    _make_write(
        "POST",
        "POST /<identifier>?signatures",
        "attaches a [signature](signatures.md) of it, or of a version, format or part of it: a "
        "signed statement; needs the right `assert`",
        _MADE,
        _DONE,
        word="signatures",
        body=_SIGNATURE,
    ),
    _make_write(
        "POST",
        "POST /<identifier>?withdraw",
        'stops serving its bytes: `{"reason", "version", "silent", "keep_digest"}`; 202 if a '
        "second person must make the same request",
        _DONE,
        _PROPOSED,
        word="withdraw",
    ),
    _make_write(
        "POST",
        "POST /<identifier>?erase",
        'withdraws it and overwrites its bytes: `{"reason", "version", "part", "silent", '
        '"keep_digest"}`; 202 if a second person must make the same request',
        _DONE,
        _PROPOSED,
        word="erase",
    ),
    _make_write(
        "POST",
        "POST /<identifier>?refuse",
        'refuses a proposed withdrawal or erasure: `{"version"}`; needs the right `withdraw`',
        _DONE,
        word="refuse",
    ),
)

# methods
# -------

SHARED = (
    Route(
        methods=("OPTIONS",),
        pattern=NAMES,
        handler=methods.answer_options,
        operation="askMethods",
        text="the allowed methods, in `Allow`",
        shown="OPTIONS /<identifier>",
        kinds=_ALL_KINDS,
        parameters=(NAME,),
        answers=(AnswerShape(status=204, text="The methods.", fields=("Allow",)),),
        problems=(errors.MalformedIdentifier, errors.UnknownScheme, errors.NotFound),
    ),
    Route(
        methods=("TRACE",),
        pattern=NAMES,
        handler=methods.answer_trace,
        operation="echoRequest",
        text="the request as it arrived, without credentials",
        shown="TRACE /<identifier>",
        kinds=_ALL_KINDS,
        parameters=(NAME,),
        answers=(AnswerShape(status=200, text="The request.", content={"message/http": TEXT}),),
        problems=(errors.MalformedIdentifier, errors.UnknownScheme, errors.NotFound),
    ),
)
"""The methods that every page and every identifier answers."""
_DELETION = Route(
    methods=("DELETE",),
    pattern=NAMES,
    handler=methods.refuse_delete,
    operation="delete",
    text="not defined for persistent identifiers: 405",
    shown="DELETE /<identifier>",
    section="writing",
    kinds=(),
)

NAME_ROUTES = (_READING, *SHARED, *_STORING, *_CHANGING, _DELETION)
