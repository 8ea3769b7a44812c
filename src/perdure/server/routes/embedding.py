"""The routes of documents in the pages of others."""

from __future__ import annotations

from perdure import errors
from perdure.errors.requests import UnknownEmbedFormat
from perdure.server.resource import embedding
from perdure.server.routes.model import TEXT, WORD, AnswerShape, Parameter, Route, Schema

_PIXELS: Schema = {"type": "integer", "minimum": 1, "maximum": 10_000}
_URL = Parameter(
    name="url",
    text="the address of a name here, with or without a part",
    schema=WORD,
    required=True,
    listed=False,
)
_REFUSED = (
    errors.NotFound,
    errors.NoSuchVersion,
    errors.PartNotFound,
    errors.PartNotSupported,
    errors.PartOutOfRange,
    errors.NotAcceptable,
    errors.InvalidRequest,
    errors.Unauthenticated,
    errors.Forbidden,
    errors.LegallyUnavailable,
)
_OEMBED: Schema = {
    "type": "object",
    "required": ["type", "version", "width", "height"],
    "properties": {
        "type": {"type": "string", "enum": ["photo", "video", "rich"]},
        "version": {"type": "string", "enum": ["1.0"]},
        "width": _PIXELS,
        "height": _PIXELS,
    },
}

EMBEDDING = (
    Route(
        methods=("GET", "HEAD"),
        pattern=f"/{embedding.OEMBED}",
        handler=embedding.answer_oembed,
        operation="describeEmbedding",
        text="how to [embed](landing-pages.md#use) a name in a page (oEmbed 1.0), as JSON or XML",
        shown="/oembed?url=<address>",
        section="pages",
        parameters=(
            _URL,
            Parameter(
                name="format",
                text="the format of the answer",
                schema={"type": "string", "enum": list(embedding.FORMATS)},
            ),
            Parameter(name="maxwidth", text="the largest width in pixels", schema=_PIXELS),
            Parameter(name="maxheight", text="the largest height in pixels", schema=_PIXELS),
        ),
        answers=(
            AnswerShape(
                status=200,
                text="The description.",
                content={"application/json": _OEMBED, "text/xml": TEXT},
            ),
        ),
        problems=(*_REFUSED, UnknownEmbedFormat),
    ),
    Route(
        methods=("GET", "HEAD"),
        pattern=f"/{embedding.EMBED}",
        handler=embedding.show_embedded,
        operation="showEmbedded",
        text="the page that an embedding shows: a passage, a picture or a player, with a link",
        shown="/embed?url=<address>",
        section="pages",
        parameters=(_URL,),
        answers=(AnswerShape(status=200, text="A page.", content={"text/html": None}),),
        problems=_REFUSED,
    ),
)
