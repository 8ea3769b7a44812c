"""The routes of all programming interfaces, and those of capturing and of batches themselves."""

from __future__ import annotations

from perdure import errors
from perdure.server.apis import (
    batches,
    capturing,
)
from perdure.server.routes.annotations import ANNOTATIONS
from perdure.server.routes.changes import CHANGES, MENDING
from perdure.server.routes.handles import HANDLES
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
)
from perdure.server.routes.rights import RIGHTS

CAPTURES = (
    Route(
        methods=("POST",),
        pattern="/captures",
        handler=capturing.capture_page,
        operation="capturePage",
        text="captures a page, if the operator allows it: "
        "[web archives](web-archives.md#capturing)",
        shown="POST /captures?url=<url>",
        section="pages",
        parameters=(Parameter(name="url", text="the page", schema=WORD, required=True),),
        answers=(
            AnswerShape(
                status=201,
                text="The PWID, the resources that were recorded, and those that are missing.",
                content={JSON: ENTITY},
                fields=("Location",),
            ),
        ),
        problems=(
            *REFUSED,
            errors.InvalidRequest,
            errors.NotFound,
            errors.Unavailable,
            errors.TooLarge,
            errors.OverBudget,
        ),
        security=BY_TOKEN,
        is_open=False,
        answers_every_method=True,
    ),
)


BATCHES = (
    Route(
        methods=("POST",),
        pattern="/operations",
        handler=batches.run_batch,
        operation="runBatch",
        shown="POST /operations",
        text="carries out many [operations](#batches), one per line; "
        "the answer has one line for each",
        section="writing",
        body=BodyShape(
            text="A JSON object per line: a target and, if needed, the method, the body, its type, "
            "conditions and an idempotency key.",
            content={batches.MEDIA_TYPE: TEXT},
        ),
        answers=(
            AnswerShape(
                status=200,
                text="A JSON object per line: the status and the body of each answer.",
                content={batches.MEDIA_TYPE: TEXT},
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
    ),
)

APIS = (*HANDLES, *RIGHTS, *CAPTURES, *BATCHES, *CHANGES, *MENDING, *ANNOTATIONS)
