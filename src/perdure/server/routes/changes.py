"""The routes of the numbered changes, of the bytes that mirrors copy, and of what mends them."""

from __future__ import annotations

from perdure import errors
from perdure.server.apis import (
    archive_files,
    changes,
    contents,
)
from perdure.server.routes.model import (
    BY_TOKEN,
    ENTITY,
    JSON,
    REFUSED,
    TEXT,
    WORD,
    AnswerShape,
    BodyShape,
    Parameter,
    Route,
    Security,
)
from perdure.upkeep.mirroring import archive_wire, wire

CHANGES = (
    Route(
        methods=("GET", "HEAD"),
        pattern="/changes",
        handler=changes.list_changes,
        operation="listChanges",
        text="[numbered changes](changes.md), one row per line. `full` asks for full rows and "
        "needs a token with the right `mirror`; `Prefer: wait=30` waits for the next change",
        shown="/changes?since=<mark>&limit=<n>",
        section="pages",
        parameters=(
            Parameter(
                name="since",
                text="the last change that the client has: `1042`, `3.1042`",
                schema={"type": "string", "pattern": "^([0-9]{1,9}[.])?[0-9]{1,18}$"},
            ),
            Parameter(
                name="have",
                text="the last change that a mirror has on its disk, if it asks ahead of it",
                schema={"type": "string", "pattern": "^([0-9]{1,9}[.])?[0-9]{1,18}$"},
            ),
            Parameter(
                name="limit",
                text="the largest number of rows",
                schema={"type": "integer", "minimum": 1, "maximum": changes.MOST},
            ),
            Parameter(
                name="full",
                text="full rows; `full=stored` without the lines that `perdure import` reads",
            ),
            Parameter(
                name="Prefer",
                place="header",
                text="`wait=30`: the seconds to wait if there is no row yet",
                listed=False,
            ),
        ),
        answers=(AnswerShape(status=200, text="The rows.", content={changes.MEDIA_TYPE: TEXT}),),
        problems=(errors.InvalidRequest, errors.Conflict, *REFUSED),
        security=(Security.BEARER,),
    ),
    Route(
        methods=("GET", "HEAD"),
        pattern=archive_wire.PATH,
        handler=archive_files.send_archive,
        operation="mirrorArchive",
        text="the archive files and the takedowns of captures for [mirrors](mirrors.md#captures), "
        "or bytes of one file; needs a token with the right `mirror` for everything",
        shown="/archive-files?name=<name>&start=<offset>&length=<n>",
        section="pages",
        parameters=(
            Parameter(
                name="name",
                text="the name of an archive file whose bytes are wanted",
                schema={"type": "string", "minLength": 1},
            ),
            Parameter(
                name="start",
                text="the first byte",
                schema={"type": "integer", "minimum": 0, "maximum": archive_files.LARGEST},
            ),
            Parameter(
                name="length",
                text="the largest number of bytes",
                schema={"type": "integer", "minimum": 1, "maximum": archive_files.LARGEST},
            ),
            Parameter(
                name="Prefer",
                place="header",
                text="`wait=30`: the seconds to wait for another listing than `If-None-Match` says",
                listed=False,
            ),
        ),
        answers=(
            AnswerShape(
                status=200,
                text="The listing, or the bytes.",
                content={JSON: ENTITY, archive_wire.MEDIA_TYPE: {}},
            ),
            AnswerShape(status=304, text="The listing is the same."),
        ),
        problems=(errors.InvalidRequest, errors.NotFound, errors.Unavailable, *REFUSED),
        security=BY_TOKEN,
        is_open=False,
    ),
    Route(
        methods=("POST",),
        pattern=wire.CONTENTS,
        handler=contents.send_contents,
        operation="sendContents",
        text="bytes for [mirrors](mirrors.md#contents), or proofs that they are here; needs a "
        "token with the right `mirror`",
        shown="POST /contents",
        section="pages",
        body=BodyShape(
            text="A JSON object per line: the key of a record, a version and a format.",
            content={changes.MEDIA_TYPE: TEXT},
        ),
        answers=(
            AnswerShape(
                status=200,
                text="For each, a line of JSON, and then as many bytes as it says.",
                content={wire.MEDIA_TYPE: TEXT},
            ),
        ),
        problems=(
            *REFUSED,
            errors.InvalidRequest,
            errors.TooLarge,
            errors.DigestMismatch,
            errors.Incomplete,
            errors.ContentNotSupported,
        ),
        security=BY_TOKEN,
        is_open=False,
        only_reads=True,
    ),
)


MENDING = (
    Route(
        methods=("PUT",),
        pattern=wire.CONTENTS,
        handler=contents.mend_contents,
        operation="mendContents",
        text="bytes that are damaged here, from a [mirror](mirrors.md#contents) that has them; "
        "needs a token with the right `mirror`",
        shown="PUT /contents?key=<key>&version=<n>&format=<token>",
        section="pages",
        parameters=(
            Parameter(name="key", text="the key of the record", schema=WORD, required=True),
            Parameter(
                name="version",
                text="the version",
                schema={"type": "integer", "minimum": 1, "maximum": 10**9},
                required=True,
            ),
            Parameter(name="format", text="the format", schema=WORD, required=True),
        ),
        body=BodyShape(text="The bytes.", content={"application/octet-stream": {}}),
        answers=(
            AnswerShape(
                status=200,
                text="Whether the bytes here were damaged, and are mended.",
                content={
                    JSON: {
                        "type": "object",
                        "required": ["mended"],
                        "properties": {"mended": {"type": "boolean"}},
                    }
                },
            ),
        ),
        problems=(
            *REFUSED,
            errors.NotFound,
            errors.InvalidRequest,
            errors.TooLarge,
            errors.DigestMismatch,
            errors.Incomplete,
            errors.ContentNotSupported,
        ),
        security=BY_TOKEN,
        is_open=False,
        only_reads=True,
    ),
)
