"""Documents in the pages of others: oEmbed, and the page that an embedding shows.

    GET /oembed?url=<address>&format=json|xml&maxwidth=<n>&maxheight=<n>
    GET /embed?url=<address>

Specification: oEmbed 1.0 (https://oembed.com/).

How it works: `url` is the address of a name, as its landing page has it, with or without a part. A
picture is of the type `photo`, in one of the sizes of the IIIF Image API; a film is a `video`, and
anything else is `rich`: an `iframe` with `/embed`, which shows a picture, a player or a passage and
links the landing page.

What must stay true: what was withdrawn is not found, and what this reader may not read is refused
as everywhere. The page has no script, is sandboxed, and loads only files of this server.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import quote as escape
from urllib.parse import urlsplit

import msgspec
from markupsafe import Markup

from perdure.errors import MalformedIdentifier, NotFound, UnknownScheme
from perdure.errors.requests import MissingParameter, UnknownEmbedFormat
from perdure.formats.xml_characters import replace_not_xml
from perdure.metadata.xml_text import DECLARATION, escape_text
from perdure.model.parameters import read_number
from perdure.model.queries import Fetch
from perdure.policy.showing import find_withdrawal
from perdure.reading.pasted import read_pasted
from perdure.reading.resolved import Resolved
from perdure.reading.targets import (
    append_question,
    read_name,
    read_question,
    read_target,
    spell_name_path,
)
from perdure.server import pages
from perdure.server.apis import iiif
from perdure.server.common import asking
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import playing, previews
from perdure.server.resource.previews.pages import PagePreview
from perdure.server.resource.previews.picture import PicturePreview
from perdure.server.resource.previews.text import TextPreview

FORMATS = {"json": "application/json", "xml": "text/xml; charset=utf-8"}
OEMBED, EMBED = "oembed", "embed"
_USUAL = {"photo": (1024, 1024), "video": (640, 480), "rich": (640, 360)}
"""Width and height in pixels, by type."""
_MOST = 10_000  # pixels
_SHOWN = 600  # characters of a text
_AROUND = 120  # characters before and after a passage


class EmbeddedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document or a part as an embedding shows it."""

    path: str
    """The path of the name, without the first slash."""
    page: str
    """The complete address of the landing page."""
    title: str
    authors: tuple[str, ...]
    identifier: str
    picture: str = ""
    """The path of a picture, or an empty string."""
    sizes: tuple[tuple[str, int, int], ...] = ()
    """Paths of the picture in other sizes, with width and height in pixels; the smallest first."""
    player: playing.Player | None = None
    before: str = ""
    passage: str = ""
    after: str = ""


async def answer_oembed(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/oembed`.

    Raises NotFound for names that are unknown or withdrawn, UnknownEmbedFormat (501),
    InvalidRequest, and the errors of reading rules.
    """
    given = request.parameters
    form = given.get("format") or "json"
    if form not in FORMATS:
        raise UnknownEmbedFormat(text=form, known=tuple(FORMATS))
    limits = [
        read_number(name, given[name], 1, _MOST) if given.get(name) else _MOST
        for name in ("maxwidth", "maxheight")
    ]
    resolved = _resolve_address(service, request)
    if find_withdrawal(resolved.identifier, resolved.known) is not None:
        raise NotFound(identifier=str(resolved.identifier))
    shown = await _read_document(service, request, resolved)
    members = _describe_embedding(request, shown, limits[0], limits[1])
    members["cache_age"] = service.settings.fresh_seconds
    body = msgspec.json.encode(members) if form == "json" else _write_xml(members)
    return make_answer(
        HTTPStatus.OK,
        FORMATS[form],
        body,
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"access-control-allow-origin", b"*"),
        (b"x-content-type-options", b"nosniff"),
    )


async def show_embedded(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/embed`. Raises as `answer_oembed`, but shows what was withdrawn."""
    resolved = _resolve_address(service, request)
    gone = find_withdrawal(resolved.identifier, resolved.known) is not None
    shown = None if gone else await _read_document(service, request, resolved)
    address = urlsplit(service.settings.base_url or request.base_url)
    origin = f"{address.scheme}://{address.netloc}"
    body = pages.render_page(
        msgspec.structs.replace(request.frame, is_inner=True),
        "embedded.html",
        shown=shown,
        identifier=str(resolved.identifier),
        page=f"{request.base_url}/{asking.spell_resolved(resolved)}",
    )
    policy = (
        "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
        f"style-src {origin}; img-src {origin}; media-src {origin}; base-uri 'none'; "
        "form-action 'none'; frame-ancestors *"
    )
    return make_answer(
        HTTPStatus.GONE if gone else HTTPStatus.OK,
        pages.HTML,
        body,
        (b"content-security-policy", policy.encode()),
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"vary", b"accept-language, cookie"),
    )


def link_embedding(base: str, path: str) -> dict[str, str]:
    """The addresses of a name in oEmbed, and of the page to embed, by their formats.

    >>> link_embedding("https://a.example", "hdl:1/x?part=t=5")["embed"]
    'https://a.example/embed?url=https%3A%2F%2Fa.example%2Fhdl%3A1%2Fx%3Fpart%3Dt%3D5'
    """
    url = escape(f"{base}/{path}", safe="")
    links = {form: f"{base}/{OEMBED}?url={url}&format={form}" for form in FORMATS}
    return links | {EMBED: f"{base}/{EMBED}?url={url}"}


# what an address leads to
# ------------------------


def _resolve_address(service: Service, request: Request) -> Resolved:
    """Resolve the name in `url`. Raises NotFound for addresses of anything else."""
    url = request.parameters.get("url", "").strip()
    if not url:
        raise MissingParameter(
            request=request.target.text, parameter="url", manual="docs/reference/landing-pages.md"
        )
    try:
        name = read_pasted(url, read_name, lambda: (request.base_url,))
    except (MalformedIdentifier, UnknownScheme) as error:
        raise NotFound(identifier=url) from error
    target = read_target(b"/" + spell_name_path(name).encode())
    question = read_question(target.question)
    resolved = asking.resolve_name(service, request, target.text, question=question)
    if resolved.names is not None or resolved.is_citation or resolved.pwid is not None:
        raise NotFound(identifier=url)
    resolved.require_known()
    return resolved


async def _read_document(
    service: Service, request: Request, resolved: Resolved
) -> EmbeddedDocument:
    """Read what is shown. Raises the errors of reading rules, and of cutting a part."""
    path = asking.spell_resolved(resolved)
    url = f"{request.base_url}/{path}"
    step = resolved.choose(accept=())
    describe = service.registry.documents.describe_resolved
    what = await service.run_cutter(describe, resolved, url)
    preview = await previews.read_preview(service, resolved, 0)
    shown = EmbeddedDocument(
        path=path,
        page=append_question(url, "landing"),
        title=what.about.title or str(resolved.identifier),
        authors=tuple(one.display_name for one in what.about.creators),
        identifier=str(resolved.identifier) if resolved.part_beside is None else path,
        player=playing.find_player(service, resolved),
    )
    is_part = resolved.inside is not None
    change = msgspec.structs.replace
    match preview:
        case PicturePreview(drawing=None, address=address):
            return change(shown, picture=address)
        case PicturePreview() if is_part:
            return change(shown, picture=append_question(f"/{path}", "bytes"))
        case PicturePreview(drawing=drawing) if isinstance(step, Fetch) and drawing is not None:
            return change(shown, picture=drawing.picture, sizes=_list_sizes(preview))
        case PagePreview():
            return change(shown, picture=preview.drawing.picture)
        case TextPreview():
            return _show_text(shown, preview)
    return shown


def _list_sizes(preview: PicturePreview) -> tuple[tuple[str, int, int], ...]:
    drawing = preview.drawing
    if drawing is None:
        return ()
    heights = dict(iiif.list_sizes(drawing.width, drawing.height))
    return tuple((path, width, heights[width]) for path, width in drawing.pictures)


def _show_text(shown: EmbeddedDocument, preview: TextPreview) -> EmbeddedDocument:
    """Show a passage with its surroundings, or the beginning of a text."""
    if not preview.mark:
        rest = "…" if len(preview.before) > _SHOWN else ""
        return msgspec.structs.replace(shown, before=preview.before[:_SHOWN] + rest)
    return msgspec.structs.replace(
        shown,
        before=preview.before[-_AROUND:],
        passage=preview.marked[:_SHOWN],
        after=preview.behind[:_AROUND],
    )


# oEmbed
# ------


def _describe_embedding(
    request: Request, shown: EmbeddedDocument, width: int, height: int
) -> dict[str, Any]:
    """The members of an answer (section 2.3.4), at most as large as asked."""
    base, frame = request.base_url, request.frame
    members: dict[str, Any] = {
        "version": "1.0",
        "title": shown.title,
        "provider_name": frame.institution or "perdure",
        "provider_url": frame.institution_url or f"{base}/",
    }
    if shown.authors:
        members["author_name"] = "; ".join(shown.authors)
    most = tuple(map(min, _USUAL["photo"], (width, height)))
    fitting = [one for one in shown.sizes if one[1] <= most[0] and one[2] <= most[1]]
    if fitting:
        path, across, down = fitting[-1]
        return {"type": "photo", "url": f"{base}{path}", "width": across, "height": down} | members
    kind = "video" if shown.player is not None and shown.player.is_film else "rich"
    across, down = map(min, _USUAL[kind], (width, height))
    links = link_embedding(base, shown.path)
    html = write_frame(links[EMBED], shown.title, across, down)
    return {"type": kind, "html": html, "width": across, "height": down} | members


def write_frame(address: str, title: str, width: int = 640, height: int = 360) -> str:
    """Write the element that embeds a document in a page."""
    template = Markup(
        '<iframe src="{}" title="{}" width="{}" height="{}" loading="lazy" '
        'sandbox="allow-popups allow-popups-to-escape-sandbox" style="border: 0"></iframe>'
    )
    return str(template.format(address, title, width, height))


def _write_xml(members: dict[str, Any]) -> bytes:
    inner = "".join(
        f"  <{name}>{escape_text(replace_not_xml(str(value)))}</{name}>\n"
        for name, value in members.items()
    )
    return f"{DECLARATION}<oembed>\n{inner}</oembed>\n".encode()
