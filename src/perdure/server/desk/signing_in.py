"""Signing in to the desk: a token, once, for the cookie of a session.

    GET  /sign-in     the form
    POST /sign-in     begins a session
    POST /sign-out    ends it

How it works: the cookie has the identity of a session (`perdure.server.common.desk_sessions`). Only
the pages of the desk read it, and no other route: a request to the API that a browser sends has no
right that its user did not give it. Every POST of the desk names its origin, which must be ours
(`Origin`, or `Sec-Fetch-Site` if it is missing); the cookie is not sent across sites either.

What must stay true: the token is in the body of one request, and in nothing else: no address, no
page, no log. The cookie is `HttpOnly` and `SameSite=Strict`; under TLS it is `Secure`, and its
prefix `__Host-` keeps other hosts of the domain from setting it.
"""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from urllib.parse import parse_qsl, quote

from perdure.errors import PerdureError, Unauthenticated
from perdure.errors.credentials import CredentialMalformed, OriginForeign, SessionEnded
from perdure.errors.requests import MalformedBody
from perdure.model.parameters import Parameters
from perdure.model.records import Token
from perdure.policy import rights, tokens
from perdure.server import pages
from perdure.server.common import auth
from perdure.server.common.answers import Answer, escape_uri, make_empty_answer
from perdure.server.common.desk_sessions import LONGEST
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.planning import read_whole_body

SIGN_IN = "/sign-in"
DESK = "/deposit"
_MOST_FIELDS = 500
_LONGEST_FORM = 64 << 10  # bytes
_NOT_STORED = (b"cache-control", b"no-store")
_PLACES = re.compile(r"/[A-Za-z0-9][A-Za-z0-9/_-]*(?:\?[!-~]*)?")
"""A place of ours to which signing in leads: no other host, and no name of a scheme."""


def read_form(body: bytes) -> Parameters:
    """Read a form (`application/x-www-form-urlencoded`). Fields that are not UTF-8 are replaced."""
    text = body.decode("ascii", "replace")
    try:
        return Parameters(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise MalformedBody(body="the form", fault=str(error)) from error


async def read_posted_form(request: Request) -> Parameters:
    """Read the form of a POST from one of our own pages. Raises OriginForeign, TooLarge."""
    check_origin(request)
    return read_form(await read_whole_body(request, _LONGEST_FORM))


def check_origin(request: Request) -> None:
    """Raise OriginForeign unless one of our own pages sent a request."""
    origin = request.read_field(b"origin")
    if origin:
        if origin.rstrip("/").lower() == request.base_url.lower():
            return
        raise OriginForeign(origin=origin[:200], expected=request.base_url)
    if request.read_field(b"sec-fetch-site") == "same-origin":
        return
    raise OriginForeign(origin="", expected=request.base_url)


def find_depositor(service: Service, request: Request) -> Token:
    """Return the token of the session. Raises SessionEnded, or Unauthenticated."""
    identity = _read_cookie(request)
    if not identity:
        raise SessionEnded()
    token = service.desk_sessions.find_token(identity, service.bearers.find_token)
    for one in service.bearers.trace_chain(token):
        rights.check_valid(one, auth.current_time(service))
    return token


async def require_depositor(service: Service, request: Request) -> Token | Answer:
    """Return the token of the session, or the answer that leads to the form.

    Raises Unauthenticated for a POST, whose fields a redirect would lose.
    """
    try:
        return await asyncio.to_thread(find_depositor, service, request)
    except Unauthenticated:
        if request.method == "POST":
            raise
        there = f"{SIGN_IN}?to={quote('/' + request.target.text, safe='')}"
        if request.target.question:
            there += quote(f"?{request.target.question}", safe="")
        return make_empty_answer(
            HTTPStatus.SEE_OTHER, (b"location", escape_uri(there)), _NOT_STORED
        )


async def sign_in(service: Service, request: Request) -> Answer:
    """Show the form, or begin a session."""
    asked = Parameters(parse_qsl(request.target.question or ""))
    if request.method != "POST":
        return _show_form(request, _choose_place(asked.get("to") or ""))
    form = await read_posted_form(request)
    place = _choose_place(form.get("to") or "")
    secret = (form.get("token") or "").strip()
    try:
        if not tokens.is_token(secret):
            raise CredentialMalformed()
        token = auth.find_known_token(service, tokens.digest_secret(secret))
        for one in service.bearers.trace_chain(token):
            rights.check_valid(one, auth.current_time(service))
    except PerdureError as error:
        return _show_form(request, place, error)
    service.desk_sessions.end_session(_read_cookie(request))
    identity = await asyncio.to_thread(service.desk_sessions.begin_session, token)
    return make_empty_answer(
        HTTPStatus.SEE_OTHER,
        (b"location", escape_uri(place)),
        (b"set-cookie", _write_cookie(request, identity, LONGEST)),
        _NOT_STORED,
    )


async def sign_out(service: Service, request: Request) -> Answer:
    """End the session."""
    await read_posted_form(request)
    await asyncio.to_thread(service.desk_sessions.end_session, _read_cookie(request))
    return make_empty_answer(
        HTTPStatus.SEE_OTHER,
        (b"location", b"/sign-in"),
        (b"set-cookie", _write_cookie(request, "", 0)),
        (b"clear-site-data", b'"cache"'),
        _NOT_STORED,
    )


def _show_form(request: Request, place: str, error: PerdureError | None = None) -> Answer:
    status = HTTPStatus.FORBIDDEN if error else HTTPStatus.OK
    body = pages.render_page(
        request.frame, "sign_in.html", place=place, error=str(error) if error else ""
    )
    return pages.make_page(status, body, _NOT_STORED, has_writes=True)


def _choose_place(asked: str) -> str:
    """Return the place to which signing in leads: one of ours, whatever was asked.

    >>> _choose_place("/deposit?of=pdi:x"), _choose_place("//evil.example/"), _choose_place("")
    ('/deposit?of=pdi:x', '/deposit', '/deposit')
    """
    return asked if _PLACES.fullmatch(asked) else DESK


def _name_cookie(request: Request) -> str:
    return "__Host-desk" if _is_secure(request) else "desk"


def _is_secure(request: Request) -> bool:
    return request.base_url.startswith("https://")


def _read_cookie(request: Request) -> str:
    found = re.search(
        rf"(?:^|;\s*){re.escape(_name_cookie(request))}=([A-Za-z0-9_-]{{43}})(?:;|$)",
        request.read_field(b"cookie")[:8192],
    )
    return found[1] if found else ""


def _write_cookie(request: Request, identity: str, seconds: int) -> bytes:
    secure = "; Secure" if _is_secure(request) else ""
    return (
        f"{_name_cookie(request)}={identity}; Max-Age={seconds}; Path=/; HttpOnly; "
        f"SameSite=Strict{secure}"
    ).encode("ascii")
