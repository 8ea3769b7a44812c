"""Lists of URIs: `text/uri-list`, plain text, HTML and JSON, for THTTP and for listings.

How it works: RFC 2169 section 3.2 and its appendix A define such lists. Clients compare the media
type with `text/uri-list` exactly, and fail on blank lines; so the type has no parameters and the
list no blank lines. The first line is a comment with the URI that the list is about.

What must stay true: one URI per line in visible ASCII, with CRLF after each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import quote as escape

import msgspec

from perdure.errors import NotAcceptable
from perdure.model.parameters import decode_names
from perdure.server import pages
from perdure.server.common.answers import Answer, escape_uri, join_links, make_answer, write_link
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.pages.trail import Trail

URI_LIST = "text/uri-list"
TYPES = (URI_LIST, "text/plain")
"""Media types in an Accept field that ask for a list instead of a redirect."""
_OFFERS = (URI_LIST, "text/plain", "text/html", "application/html", "application/json")


_PAGES = ("text/html", "application/html")


class EntryFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Title, kind, size, date and state of a name, as its reader may see them."""

    title: str = ""
    language: str = ""
    """The language of the title."""
    media_type: str = ""
    length: int | None = None
    """Bytes; None if the name has no document here that the reader may have."""
    date: str = ""
    """The day of minting, or else of the last deposit or change."""
    state: str = ""
    """As in a record, or `closed`."""


class ListEntry(msgspec.Struct, frozen=True):
    """A line of a list of URIs."""

    uri: str
    href: str | None = None
    """The URI that a page links to, if it is a different one."""
    page: str | None = None
    """The address of the landing page."""
    also: tuple[ListEntry, ...] = ()
    """Other names of the same thing."""
    facts: EntryFacts | None = None


def write_following(
    request: Request, cursor: str | None, limit: int, operand: str | None = None
) -> str | None:
    """Write the relative address of the next page, with the same question; None at the end.

    `operand` is the set as a request to a resolution service spells it.
    """
    if cursor is None:
        return None
    paging = f"cursor={escape(cursor, safe='')}&limit={limit}"
    if operand is not None:
        return f"?{operand}?{paging}"
    asked = decode_names(request.target.question or "").split("&")
    kept = [one for one in asked if one and not one.startswith(("cursor=", "limit="))]
    return "?" + "&".join((*kept, paging))


def answer_list(
    request: Request,
    about: str,
    entries: Sequence[ListEntry],
    *more: tuple[bytes, bytes],
    following: str | None = None,
    damaged: Sequence[str] = (),
    told: Mapping[str, object] = MappingProxyType({}),
    page: str = "",
    trail: Trail | None = None,
    status: HTTPStatus = HTTPStatus.OK,
    note: str = "",
    sources: Sequence[str] = (),
    template: str = "listing.html",
    shown: object = None,
) -> Answer:
    """Answer with a list in the form that the client prefers. `following` is the address of the
    next page; `damaged` are names that may belong to the list, but whose records cannot be read;
    `told` has further members for the JSON form; `page` is the address of the landing page of what
    the list is about, `trail` the way up from it, and `note` a sentence before the list, for the
    HTML form; `sources` are the addresses at which other resolvers have the rest of the list;
    `template` is that of the HTML form, which also gets `shown`.

    Raises NotAcceptable if the client accepts none of the forms, unless another `status` is given:
    then the list is an explanation, and sent all the same.
    """
    kind = choose_form(request)
    if kind is None and status is not HTTPStatus.OK:
        kind = URI_LIST
    if kind is None:
        asked = ", ".join(one.range for one in request.accept)
        raise NotAcceptable(identifier=about, asked=asked, offered=_OFFERS)
    fields = [*more, (b"vary", b"accept")]
    fields += join_links(write_link(one, "alternate") for one in sources)
    if following is not None:
        fields += join_links((b'<%s>; rel="next"' % escape_uri(following),))
    if kind in _PAGES:
        body = pages.render_page(
            request.frame,
            template,
            what=about,
            entries=show_entries(entries),
            following=following,
            damaged=damaged,
            page=page,
            trail=trail or [],
            note=note,
            sources=sources,
            shown=shown,
        )
        return pages.make_page(status, body, *fields)
    if kind == "application/json":
        document = _write_document(about, entries, following, told, sources, damaged)
        return make_answer(status, kind, msgspec.json.encode(document), *fields)
    charset = "" if kind == URI_LIST else "; charset=us-ascii"
    body = _write_lines(about, entries, sources, damaged)
    return make_answer(status, kind + charset, body, *fields)


def _write_document(
    about: str,
    entries: Sequence[ListEntry],
    following: str | None,
    told: Mapping[str, object],
    sources: Sequence[str],
    damaged: Sequence[str],
) -> dict[str, object]:
    """The list as JSON."""
    found = [one.uri for one in entries]
    document: dict[str, object] = {"about": about, "identifiers": found, "next": following}
    document |= {**_list_other_names(entries), **_list_facts(entries), **told}
    if sources:
        document |= {"complete": False, "sources": list(sources)}
    if damaged:
        document["damaged"] = list(damaged)
    return document


def choose_form(request: Request) -> str | None:
    """Return the media type of the form that the client prefers; None if it accepts none."""
    return choose_type(request.accept, _OFFERS)


def is_page(form: str | None) -> bool:
    """Return True if a form is for people."""
    return form in _PAGES


def shows_facts(form: str | None) -> bool:
    """Return True if a form has more of a name than the name itself."""
    return form in (*_PAGES, "application/json")


def show_entries(entries: Iterable[ListEntry]) -> list[tuple[object, ...]]:
    """Return entries as the template `entries.html` shows them."""
    return [
        (
            one.uri,
            one.href or one.uri,
            one.page,
            [(each.uri, each.href) for each in one.also],
            one.facts,
        )
        for one in entries
    ]


def _list_facts(entries: Sequence[ListEntry]) -> dict[str, object]:
    """The member `entries` of the JSON form: what the list says of each name."""
    if not any(one.facts for one in entries):
        return {}
    return {
        "entries": [
            {"identifier": one.uri} | (msgspec.to_builtins(one.facts) if one.facts else {})
            for one in entries
        ]
    }


def _list_other_names(entries: Sequence[ListEntry]) -> dict[str, object]:
    """The member `also` of the JSON form: the other names of each entry, if any has some."""
    also = {one.uri: [each.uri for each in one.also] for one in entries if one.also}
    return {"also": also} if also else {}


def _write_lines(
    about: str, entries: Sequence[ListEntry], sources: Sequence[str], damaged: Sequence[str]
) -> bytes:
    """The list as text/uri-list (RFC 2483 section 5)."""
    lines = [b"# " + escape_uri(about)]
    for one in entries:
        lines.append(escape_uri(one.uri))
        lines += [b"# also: " + escape_uri(each.uri) for each in one.also]
    lines += [b"# incomplete: " + escape_uri(one) for one in sources]
    lines += [b"# damaged: " + escape_uri(name) for name in damaged]
    return b"\r\n".join((*lines, b""))
