"""The parameters of an identifier's GET: the name, the questions in its query, and the choices.

What must stay true: every word and name that `perdure.reading.targets.read_question` knows stands
here once.
"""

from __future__ import annotations

from perdure.server.routes.model import (
    BARE,
    WORD,
    Parameter,
)

NAME = Parameter(
    name="name",
    place="path",
    text="An identifier of any scheme, percent-encoded as a whole (`pdi%3A%2F%2F…`) or as it is "
    "(`pdi://…`).",
    schema=WORD,
    required=True,
    example="pdi%3A%2F%2Foma.eop.gov.us%2F1997%2F09%2F01%2F1",
)

QUESTIONS = (
    Parameter(
        name="info",
        schema=BARE,
        shown="?info`, `?`, `??",
        text="the record, without redirect (the latter two are ARK's inflections, told apart for "
        "ARKs); of a part with its [selector](parts.md#what-is-said-of-a-part)",
    ),
    Parameter(
        name="landing",
        schema=BARE,
        shown="?landing",
        text="its [landing page](landing-pages.md)",
    ),
    Parameter(name="linkset", schema=BARE, shown="?linkset", text="all its links (RFC 9264)"),
    Parameter(
        name="locations",
        schema=BARE,
        shown="?locations",
        text="all [locations](links.md), best first; as JSON with all their fields and their "
        "health",
    ),
    Parameter(
        name="region",
        shown="?region=<word>",
        text="the thing, from a location that serves this part of the world",
    ),
    Parameter(name="history", schema=BARE, shown="?history", text="all revisions of the record"),
    Parameter(
        name="members",
        schema=BARE,
        shown="?members",
        text="of a [collection](collections.md): its members, page by page",
    ),
    Parameter(
        name="metadata",
        shown="?metadata`, `?metadata=<format>",
        text="its description, in [a format of metadata](metadata.md)",
    ),
    Parameter(
        name="cite",
        shown="?cite`, `?cite=<style>&locale=<tag>",
        text="its [citation](metadata.md)",
    ),
    Parameter(name="locale", text="the language of the citation", listed=False),
    Parameter(
        name="part",
        schema=WORD,
        shown="?part=<specifier>",
        text="a part; so is a raw `#…` or `%23…`. If no part can be cut, the answer is an error, "
        "never the whole document",
    ),
    Parameter(
        name="t",
        shown="?t=<time>",
        text="a part by its time, as Annodex writes it: `?t=15.0/30.0`",
    ),
    Parameter(
        name="quote",
        shown="?quote=<text>",
        text="of a text held here: 303 to the landing page of exactly that passage (`&before=`, "
        "`&after=` if it occurs more than once)",
    ),
    Parameter(name="before", text="the text before the passage", listed=False),
    Parameter(name="after", text="the text behind the passage", listed=False),
    Parameter(
        name="urlappend",
        shown="?urlappend=<text>",
        text="puts a text behind the address of a redirect; see [templates](templates.md) for "
        "parts of what lies elsewhere",
    ),
    Parameter(
        name="nearest",
        schema=BARE,
        shown="?nearest",
        text="of a PWID: a capture near to the one that it names will do; see "
        "[web archives](web-archives.md#resolving-a-pwid)",
    ),
    Parameter(
        name="cursor",
        shown="?cursor=<cursor>&limit=<n>",
        text="a page of a listing; `next` of the page before says the cursor, any other is 400",
    ),
    Parameter(
        name="limit",
        schema={"type": "string", "pattern": "^[1-9][0-9]{0,8}$"},
        text="identifiers on a page of a listing",
        listed=False,
    ),
)
CHOICE = (
    Parameter(name="Accept", place="header", text="chooses the format, or asks for the record"),
    Parameter(name="Accept-Language", place="header", text="chooses the language"),
    Parameter(name="Range", place="header", text="asks for a part of the bytes (RFC 9110)"),
    Parameter(name="If-None-Match", place="header", text="the entity tag that the client has"),
    Parameter(
        name="Want-Repr-Digest", place="header", text="the digest that the client wants (RFC 9530)"
    ),
)
