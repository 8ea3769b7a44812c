"""The routes of the numbered changes, of the bytes that mirrors copy, and of what mends them."""

from __future__ import annotations

from perdure import errors
from perdure.server.apis import (
    changes,
    contents,
)
from perdure.server.routes.model import (
    BY_TOKEN,
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
from perdure.upkeep.mirroring import wire

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
