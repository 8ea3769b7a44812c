"""The frame of the pages for people who signed in: who it is, and which pages there are.

What must stay true: a page of the desk is never stored, and names its origin when a form of it is
sent (`perdure.server.desk.signing_in.check_origin`). A page in the menu checks the rights itself.
"""

from __future__ import annotations

from http import HTTPStatus

from perdure.model.records import Token
from perdure.server import pages
from perdure.server.common.answers import Answer, escape_uri, make_empty_answer
from perdure.server.common.request import Request

_NOT_STORED = (b"cache-control", b"no-store")
_PAGES = (
    ("Deposit", "/deposit", ("mint", "commit")),
    ("Proposals", "/desk/proposals", ("withdraw", "erase", "assert")),
    ("Tokens", "/desk/tokens", ("delegate", "administer")),
    ("Operation", "/operator", ("administer",)),
)
"""The pages, with the rights of which each needs one."""


def list_desk_pages(token: Token) -> list[tuple[str, str]]:
    """Return the pages that are of use to a token, as labels in English and addresses.

    >>> list_desk_pages(Token(name="x", digest="", operations=("mint",), authorities=("*",)))
    [('Deposit', '/deposit')]
    """
    return [(label, href) for label, href, some in _PAGES if {*some} & {*token.operations}]


def show_desk_page(
    request: Request,
    token: Token,
    template: str,
    *fields: tuple[bytes, bytes],
    status: HTTPStatus = HTTPStatus.OK,
    **values: object,
) -> Answer:
    """Answer with a page of the desk."""
    body = pages.render_page(
        request.frame, template, token=token.name, menu=list_desk_pages(token), **values
    )
    return pages.make_page(status, body, _NOT_STORED, *fields, has_writes=True)


def lead_to(place: str) -> Answer:
    """Answer a form with the page that follows."""
    return make_empty_answer(HTTPStatus.SEE_OTHER, (b"location", escape_uri(place)), _NOT_STORED)
