"""Redirects to a location of a resource: the most frequent answer of a resolver. Pure.

How it works: a request for the resource by its name gets 302. The location is valid for now, and
clients should go on using the name, which is the meaning of 302. The Link field has the other
locations.

What must stay true: `perdure.server.fast.path` sends the same bytes because it calls the same
function; so nothing here may depend on the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from perdure.ids import Identifier
from perdure.model.queries import Redirect
from perdure.model.records import Location
from perdure.reading.targets import append_question, spell_path
from perdure.server.common.answers import Answer, Fields, escape_uri, join_links, write_link

_MOST_LINKS = 16
_LINKSET = "application/linkset+json"


def make_redirect(
    step: Redirect,
    *,
    fresh: int,
    base: str,
    status: int = HTTPStatus.FOUND,
    vary: bytes = b"accept",
    path: str | None = None,
    has_linkset: bool = True,
) -> Answer:
    """Redirect the reader to a location; the answer may be cached for `fresh` seconds, or for the
    time to live of the value of a handle that states the location.

    `base` is the setting `base_url`, so the name that a reader should cite is a reference relative
    to this server if there is none (RFC 8574, RFC 8288 section 3.1). `path` is the path of the
    name, if it has a part beside it. `vary` names the request fields that the choice of the
    location depends on. A name of which only the location is known has no link set.
    """
    name = f"{base}/{spell_path(step.identifier) if path is None else path}"
    links = [*link_alternates(step.others), write_link(name, "cite-as")]
    if has_linkset:
        links.append(write_link(append_question(name, "linkset"), "linkset", type=_LINKSET))
    fields: Fields = [
        (b"location", escape_uri(step.location.uri)),
        (b"cache-control", b"public, max-age=%d" % (fresh if step.ttl is None else step.ttl)),
        (b"vary", vary),
        *join_links([*links, link_description(step.identifier)]),
        (b"content-length", b"0"),
    ]
    return Answer(status, fields)


def redirect_onward(there: str, *, fresh: int) -> Answer:
    """Redirect the reader to another name of this resolver; may be cached for `fresh` seconds."""
    fields = [
        (b"location", escape_uri(there)),
        (b"cache-control", b"public, max-age=%d" % fresh),
        (b"content-length", b"0"),
    ]
    return Answer(HTTPStatus.FOUND, fields)


def link_alternates(locations: Sequence[Location]) -> list[bytes]:
    """Link to other locations of the same resource."""
    return [
        write_link(one.uri, "alternate", hreflang=one.language)
        if one.language
        else b'<%s>; rel="alternate"' % escape_uri(one.uri)
        for one in locations[:_MOST_LINKS]
    ]


def link_description(identifier: Identifier) -> bytes:
    """Link to the record of an identifier. A part follows `%23`, because clients do not send what
    follows a raw `#`."""
    return write_link(f"/uri-res/N2C?{spell_path(identifier)}", "describedby")
