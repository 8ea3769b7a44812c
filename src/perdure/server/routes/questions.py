"""The parameters of GET for identifiers: the name, the questions in its query, and the choices.

What must stay true: every word and name that `perdure.reading.targets.read_question` knows is
listed here once.
"""

from __future__ import annotations

from perdure.reading.places import NUMBERS
from perdure.server.routes.model import (
    BARE,
    WORD,
    Parameter,
)

NAME = Parameter(
    name="name",
    place="path",
    text="An identifier of any scheme, completely percent-encoded (`pdi%3A%2F%2F…`) or as it is "
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
        text="the record, without a redirect; for a part, with its "
        "[selector](parts.md#the-description-of-a-part). `?` and `??` are inflections of ARKs and "
        "differ only for ARKs",
    ),
    Parameter(
        name="bytes",
        schema=BARE,
        shown="?bytes",
        text="the resource itself for every client, never a page or a record about it",
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
        text="all [locations](links.md), best first; in JSON with all their fields and their "
        "health",
    ),
    Parameter(
        name="region",
        shown="?region=<word>",
        text="the resource, from a location that serves this region of the world",
    ),
    Parameter(
        name="history",
        schema=BARE,
        shown="?history",
        text="all revisions of the record, with what each changed; for browsers "
        "[a page](landing-pages.md#history)",
    ),
    Parameter(
        name="signatures",
        schema=BARE,
        shown="?signatures",
        text="the [signatures](signatures.md) of it, of its versions, formats and parts, or of a "
        "set and everything in it, page by page; each with its verdict",
    ),
    Parameter(
        name="assertions",
        schema=BARE,
        shown="?assertions",
        text="a page of the [assertions](assertions.md) about it, its versions, formats and parts, "
        "about parts that overlap it, its whole, and sets that it belongs to",
    ),
    Parameter(
        name="form",
        shown="?assertions&form=array",
        text="the annotations as a plain JSON array, without the page around them",
    ),
    Parameter(
        name="by",
        shown="?assertions&by=<name>&motivation=<word>&scope=<scope>&standing",
        text="only assertions of this actor, with this motivation, of this "
        "[scope](assertions.md#the-scope-of-an-assertion), that were not retracted",
    ),
    Parameter(name="motivation", text="a motivation of assertions", listed=False),
    Parameter(name="scope", text="a scope of assertions", repeated=True, listed=False),
    Parameter(name="standing", schema=BARE, text="without retracted assertions", listed=False),
    Parameter(
        name="provenance",
        schema=BARE,
        shown="?provenance",
        text="the pieces of a [composite](composites.md), each with its source, digest, verdict "
        "and signatures, and the composites that contain it",
    ),
    Parameter(
        name="manifest",
        schema=BARE,
        shown="?manifest",
        text="the [IIIF manifest](composites.md#iiif-manifests) of a composite, a conjunction, a "
        "picture, a sound, a film, or a part of these (Presentation API 3.0)",
    ),
    Parameter(
        name="citedby",
        schema=BARE,
        shown="?citedby",
        text="the documents held here that [refer to it](citations.md#who-cites-what), or to any "
        "name of a series, an interval or a pattern; the newest first, page by page",
    ),
    Parameter(
        name="cites",
        schema=BARE,
        shown="?cites",
        text="the names that it [refers to](citations.md#who-cites-what), page by page",
    ),
    Parameter(
        name="kind",
        shown="?citedby&kind=<kind>",
        text="only citations of this [kind](citations.md#who-cites-what): `declared`, "
        "`declared:href`, `claimed` …; may be repeated",
        repeated=True,
    ),
    Parameter(
        name="since",
        shown="?citedby&since=<day>&until=<day>",
        text="only citations in documents deposited on these days, such as `2026-11-21`",
    ),
    Parameter(
        name="until", text="the last day on which citing documents were deposited", listed=False
    ),
    Parameter(
        name="quotes",
        schema=BARE,
        shown="?quotes",
        text="the [passages](citations.md#quotations-that-nothing-declares) that it has in common "
        "with other documents held here",
    ),
    Parameter(
        name="members",
        schema=BARE,
        shown="?members",
        text="the members of a [collection](collections.md), page by page",
    ),
    Parameter(
        name="play",
        schema=BARE,
        shown="?play",
        text="for sound and film held here: a [rendition](parts.md#renditions) that browsers play, "
        "of the document or of a part; never the thing itself",
    ),
    Parameter(
        name="view",
        schema=BARE,
        shown="?view",
        text="for HTML held here: the document [without anything active]"
        "(landing-pages.md#html-in-a-frame), as its landing page shows it; never the thing itself",
    ),
    Parameter(
        name="text",
        schema=BARE,
        shown="?text",
        text="the [plain text](parts.md#plain-text) of a document held here, of a part of it, or "
        "of a capture, as UTF-8; an error if it has none",
    ),
    Parameter(
        name="metadata",
        shown="?metadata`, `?metadata=<format>",
        text="its description, in [a metadata format](metadata.md)",
    ),
    Parameter(
        name="level",
        shown="?metadata&level=own",
        text="only [the description of this name itself](metadata.md#levels), not what it inherits "
        "from the resource, its version or its format: the description that a merge patch changes. "
        "In perdure's own JSON, unless you name a format",
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
        text="a part, as with a raw `#…` or `%23…`. If the part cannot be cut, the answer is an "
        "error, never the complete document",
    ),
    Parameter(
        name="t",
        shown="?t=<time>",
        text="a part by its time, as Annodex writes it: `?t=15.0/30.0`",
    ),
    Parameter(
        name="quote",
        shown="?quote=<text>",
        text="for a text held here: 303 to the landing page of exactly this passage (`&before=`, "
        "`&after=` if it occurs more than once); 300 with a list of several passages",
    ),
    Parameter(
        name="point",
        shown="?point=<start>,<stop>`, `?point=rect=…`, `ms=…`, `page=…`, `rows=…`, `tag=…",
        text="the identifier of the part at [this place](landing-pages.md#pointing) of what the "
        "landing page shows: characters of the plain text, pixels, milliseconds, a page, rows, an "
        "element of HTML; as JSON, or for browsers, 303 to the landing page of that part",
    ),
    *(
        Parameter(name=name, text="a number of a place, as forms send it", listed=False)
        for name in NUMBERS
    ),
    Parameter(
        name="preview",
        shown="?preview=<word>",
        text="a [picture](landing-pages.md#previews) of a document held here, or of a part of it: "
        "`peaks`, `frames`, `frame-<n>`, `page-<n>`; never the thing itself",
    ),
    Parameter(
        name="diff",
        shown="?diff=<version>,<version>",
        text="the [difference](landing-pages.md#differences-of-versions) of two versions held "
        "here: a page, JSON, or as `diff -u` writes it",
    ),
    Parameter(
        name="at",
        text="the character, frame, page or row at which the preview on a page begins",
        listed=False,
    ),
    Parameter(name="before", text="the text before the passage", listed=False),
    Parameter(name="after", text="the text after the passage", listed=False),
    Parameter(
        name="urlappend",
        shown="?urlappend=<text>",
        text="appends a text to the address of a redirect; for parts of resources held elsewhere "
        "see [templates](templates.md)",
    ),
    Parameter(
        name="nearest",
        schema=BARE,
        shown="?nearest",
        text="for a PWID: accepts a capture near to the one that it names; see "
        "[web archives](web-archives.md#resolving-a-pwid)",
    ),
    Parameter(
        name="noredirect",
        schema=BARE,
        shown="?noredirect",
        text="the record, as with `?info`; the word of the proxies of the Handle System",
    ),
    Parameter(
        name="ignore_aliases",
        schema=BARE,
        shown="?ignore_aliases",
        text="for a handle: does not follow its HS_ALIAS value",
    ),
    Parameter(
        name="auth", schema=BARE, text="accepted; every answer is authoritative", listed=False
    ),
    Parameter(
        name="index",
        shown="?index=<n>&type=<type>",
        text="for a handle: redirects only to a location in one of these values, by its index or "
        "its type; otherwise the record",
        repeated=True,
    ),
    Parameter(name="type", text="a type of values of a handle", repeated=True, listed=False),
    Parameter(
        name="locatt",
        shown="?locatt=<attribute>:<text>",
        text="for a handle with a `10320/loc` value: redirects to a location with this attribute, "
        "such as `id:1`, if there is one",
        repeated=True,
    ),
    Parameter(
        name="cursor",
        shown="?cursor=<cursor>&limit=<n>",
        text="a page of a listing; `next` of the previous page has the cursor, any other is 400",
    ),
    Parameter(
        name="limit",
        schema={"type": "string", "pattern": "^[1-9][0-9]{0,8}$"},
        text="identifiers or citations per page of a listing",
        listed=False,
    ),
)
CHOICE = (
    Parameter(name="Accept", place="header", text="chooses the format, or asks for the record"),
    Parameter(name="Accept-Language", place="header", text="chooses the language"),
    Parameter(
        name="Sec-Fetch-Dest",
        place="header",
        text="`iframe` for a page that another page shows",
        listed=False,
    ),
    Parameter(name="Range", place="header", text="asks for a range of the bytes (RFC 9110)"),
    Parameter(name="If-None-Match", place="header", text="the entity tag that the client has"),
    Parameter(name="If-Match", place="header", text="the entity tag that the answer must have"),
    Parameter(
        name="If-Modified-Since", place="header", text="the time of the state that the client has"
    ),
    Parameter(
        name="If-Unmodified-Since", place="header", text="a time after which nothing has changed"
    ),
    Parameter(
        name="If-Range",
        place="header",
        text="the entity tag or the time for which `Range` is meant; for any other, the answer is "
        "complete",
    ),
    Parameter(
        name="Want-Repr-Digest", place="header", text="the digest that the client wants (RFC 9530)"
    ),
)
