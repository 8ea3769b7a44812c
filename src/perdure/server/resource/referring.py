"""Answers about names that are unknown here, but that other resolvers may know.

How it works: the read door found the resolvers (`Resolved.elsewhere`). If readers choose, the
answer is 300 with a list of them; it has no Location field, so that no client is sent to one of
them unasked. If readers are redirected, the address of the name there is the Location.

What must stay true: the answer never claims that the name exists; it says nothing about the name
that this resolver would have to know (no `cite-as`, no link set, no description).
"""

from __future__ import annotations

from http import HTTPStatus

from perdure.model.queries import Elsewhere, Redirect, Want
from perdure.reading.resolved import Resolved
from perdure.server.common import lists
from perdure.server.common.answers import Answer, escape_uri, join_links, write_link
from perdure.server.common.redirects import link_alternates
from perdure.server.common.request import Request
from perdure.server.common.service import Service


def answer_elsewhere(
    service: Service,
    request: Request,
    resolved: Resolved,
    elsewhere: Elsewhere,
    *,
    status: HTTPStatus = HTTPStatus.FOUND,
) -> Answer:
    """Redirect to the other resolver, or list the resolvers that may know the name.

    `status` is the status of a redirect.
    """
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    step = elsewhere.answer(Want.LOCATION)
    if isinstance(step, Redirect):
        fields = [
            (b"location", escape_uri(step.location.uri)),
            fresh,
            *join_links(link_alternates(step.others)),
            (b"content-length", b"0"),
        ]
        return Answer(status, fields)
    links = join_links(
        write_link(one.address, "alternate", title=one.name) for one in elsewhere.resolvers
    )
    told = {
        "resolvers": [
            {"name": one.name, "address": one.address, "official": one.is_official}
            for one in elsewhere.resolvers
        ],
    }
    entries = [lists.ListEntry(one.address) for one in elsewhere.resolvers]
    about = str(resolved.asked)
    return lists.answer_list(
        request,
        about,
        entries,
        fresh,
        *links,
        told=told,
        status=HTTPStatus.MULTIPLE_CHOICES,
        note=f"{about} is not registered here. These resolvers may know it:",
    )
