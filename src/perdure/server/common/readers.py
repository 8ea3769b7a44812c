"""The reader of a request: the address, heeding trusted proxies, and the rights of the token.

How it works: the address is that of the connection or, if this is a proxy in `trusted_proxies`, the
last one in `X-Forwarded-For` that is not such a proxy. A reading rule may admit the bearer of a
token; a token that is unknown or malformed gives no rights, and the reader is anonymous.

What must stay true: the text of a request never gives an address or a name that was not checked.
"""

from __future__ import annotations

from contextlib import suppress

from perdure.errors import Unauthenticated
from perdure.model.queries import Reader
from perdure.model.records import Token
from perdure.server.common import auth
from perdure.server.common.request import Request
from perdure.server.common.service import Service


def find_reader(service: Service, request: Request) -> Reader:
    """Return the reader of a request."""
    address = _find_address(service, request)
    if request.signer is None and b"authorization" not in request.fields:
        return Reader(address=address)
    with suppress(Unauthenticated):
        token = auth.find_bearer(service, request)
        return make_reader(service, request, token)
    return Reader(address=address)


def make_reader(service: Service, request: Request, token: Token) -> Reader:
    """Return the reader with the rights of a token, such as that of a session."""
    return Reader(
        name=token.name,
        tokens=tuple(service.bearers.trace_chain(token)),
        address=_find_address(service, request),
    )


def _find_address(service: Service, request: Request) -> str:
    peer = request.scope.get("client")
    forwarded = request.read_field(b"x-forwarded-for")
    return service.limits.find_address(peer[0], forwarded) if peer else ""
