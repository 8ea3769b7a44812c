"""Redirects to where a thing lies: the answer that a resolver gives most often. Pure.

How it works: 302 for whoever asks for the thing by its name: the location holds for now, and the
name goes on being the one to use, which is what 302 says. The other locations stand in Link.

What must stay true: `perdure.server.fast.path` gives the same bytes, for it calls the same
function; so nothing here may depend on the request.
"""

from __future__ import annotations

from http import HTTPStatus

from perdure.ids import Identifier
from perdure.model.queries import Redirect
from perdure.model.records import Location
from perdure.reading.targets import path_of
from perdure.server.common.answers import Answer, Fields, link, links, uri

_MOST_LINKS = 16


def redirect(
    step: Redirect, *, fresh: int, status: int = HTTPStatus.FOUND, vary: bytes = b"accept"
) -> Answer:
    """Send the reader to a location; the answer may be kept for `fresh` seconds.

    `vary` names the fields of the request that the location was chosen by.
    """
    fields: Fields = [
        (b"location", uri(step.location.uri)),
        (b"cache-control", b"public, max-age=%d" % fresh),
        (b"vary", vary),
        *links([*alternates(step.others), described_by(step.identifier)]),
        (b"content-length", b"0"),
    ]
    return Answer(status, fields)


def alternates(locations: tuple[Location, ...]) -> list[bytes]:
    """Links to other places where the same thing can be had."""
    return [
        link(one.uri, "alternate", **({"hreflang": one.language} if one.language else {}))
        for one in locations[:_MOST_LINKS]
    ]


def described_by(identifier: Identifier) -> bytes:
    """The link to what is known about an identifier: `%23` before a part, for a raw `#` is one that
    clients keep to themselves."""
    return link(f"/uri-res/N2C?{path_of(identifier)}", "describedby")
