"""The client of the request that is being answered, as the queues of work see it.

How it works: `Application` notes the client of each request in the context of its task, which is
the request's own. A queue finds it there, so that no function between the two has to pass it on:
work is handed in at some sixty places, many of which know nothing of requests.

A client has certainly left when its connection was reset or lost. If it has only closed its sending
side, it may still read (RFC 9112 section 9.6); a client that closed its socket completely looks the
same until something is written to it.

What must stay true: the address is that of the connection, or the one that a trusted proxy names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar

from perdure.server.protocol.asgi import Receive, Scope
from perdure.server.protocol.http import sends_no_more
from perdure.server.protocol.limits import ClientLimits, name_network


class RequestClient:
    """The client of one request."""

    __slots__ = ("_receive", "address", "has_limits", "sends_no_more")

    def __init__(
        self,
        address: str = "",
        *,
        has_limits: bool = False,
        receive: Receive | None = None,
        sends_no_more: Callable[[], bool] = lambda: False,
    ) -> None:
        self.address = address
        """Its address, of IPv6 its /64 network; empty if it is not known."""
        self.has_limits = has_limits
        self.sends_no_more = sends_no_more
        """Returns True if the client has closed its sending side, and perhaps left."""
        self._receive = receive

    @property
    def can_be_watched(self) -> bool:
        """True if it can be seen when the client leaves: not while a body is to be read."""
        return self._receive is not None

    async def wait_until_gone(self) -> None:
        """Wait until the connection is reset or lost; for ever if the server does not report it."""
        for _ in range(2):  # the empty body, unless it was read, and the departure
            if self._receive and (await self._receive())["type"] == "http.disconnect":
                return
        await asyncio.Event().wait()


_CURRENT: ContextVar[RequestClient | None] = ContextVar("perdure_client", default=None)
_UNKNOWN = RequestClient()


def note_client(scope: Scope, receive: Receive, limits: ClientLimits) -> RequestClient:
    """Note the client of a request for the task that answers it, and return it."""
    peer = scope.get("client")
    address = peer[0] if peer else ""
    client = RequestClient(
        name_network(address),
        has_limits=limits.find_client(address) is not None,
        receive=None if _has_body(scope) else receive,
        sends_no_more=lambda: sends_no_more(scope),
    )
    set_current_client(client)
    return client


def set_current_client(client: RequestClient) -> None:
    """Set the client for the running task and those that it starts."""
    _CURRENT.set(client)


def find_current_client() -> RequestClient:
    """Return the client whose request the running task answers."""
    return _CURRENT.get() or _UNKNOWN


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
