"""One HTTP request as handlers see it: a value made in one pass over the header.

How it works: the ASGI scope is read once. Values that few handlers need (preferences, the public
address) are computed on demand. The body is not read here; `perdure.server.resource.uploading`
streams it.

What must stay true: nothing from a request goes into an answer unless a function here or in
`perdure.server.common.answers` has checked or escaped it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, NoReturn

import msgspec

from perdure.model.parameters import Parameters, read_parameters
from perdure.model.queries import Preference
from perdure.model.records import Token
from perdure.reading.targets import RequestTarget, read_target
from perdure.server.common.answers import Answer
from perdure.server.common.negotiate import read_preferences
from perdure.server.common.target_kinds import TargetKind
from perdure.server.pages.framing import PageFrame
from perdure.server.pages.languages import choose_language, read_chosen_language
from perdure.server.protocol.asgi import Receive, Scope
from perdure.server.protocol.head import join_fields
from perdure.server.protocol.http import get_raw_target

StartWrite = Callable[["Request", bytes, Callable[[Answer], None]], bool]
"""Starts a write with its body, and later calls back with the answer."""

# RFC 9110 section 7.2: uri-host [ ":" port ]; registered names as in the DNS
HOST = re.compile(rb"(?:[0-9A-Za-z._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")


async def _refuse_other(_: Request) -> NoReturn:
    raise RuntimeError("this request did not come through the dispatcher")


def _start_nothing(_request: Request, _body: bytes, _then: Callable[[Answer], None]) -> bool:
    return False


class Request:
    """A request. Names in `fields` are in lower case; values of a repeated field are joined."""

    def __init__(self, scope: Scope, receive: Receive, base_url: str) -> None:
        self.method: str = scope["method"]
        self.version: str = scope["http_version"]
        self.raw = get_raw_target(scope)
        self.target: RequestTarget = read_target(self.raw)
        self.receive = receive
        self.signer: Token | None = None
        """The token whose key signed this request, or None if it is not signed."""
        self.is_governed = False
        """True if the answer depends on reading rules: no cache may store it."""
        self.coding = ""
        """The coding in which the client is sent text; set by the application, for whole answers
        only: an answer inside of another one has none."""
        self.allow: Mapping[TargetKind, bytes] = {}
        """The methods that the target allows, by its kind; set by the dispatcher."""
        self.answer_other: Callable[[Request], Awaitable[Answer]] = _refuse_other
        """Answers another request as the server would; set by the dispatcher."""
        self.start_other: StartWrite = _start_nothing
        """Starts another write, whose signer is known, if it need not wait before the write door.
        Returns False if `answer_other` must answer; set by the dispatcher."""
        self.fields = join_fields(scope["headers"])
        self.common_frame = PageFrame()
        """What every page shows around its content; set by the application."""
        self._scope = scope
        self._base_url = base_url

    @property
    def scope(self) -> Mapping[str, Any]:
        return self._scope

    def read_field(self, name: bytes) -> str:
        """Return a field as text, or an empty string if it is missing."""
        return self.fields.get(name, b"").decode("latin-1")

    @cached_property
    def parameters(self) -> Parameters:
        """The parameters of the query. Raises TooManyParameters."""
        return read_parameters(self.target.question or "")

    @cached_property
    def accept(self) -> tuple[Preference, ...]:
        return read_preferences(self.read_field(b"accept"))

    @cached_property
    def languages(self) -> tuple[Preference, ...]:
        return read_preferences(self.read_field(b"accept-language"))

    @cached_property
    def frame(self) -> PageFrame:
        """The frame of pages for this reader, in the reader's language."""
        chosen = read_chosen_language(self.read_field(b"cookie"))
        return msgspec.structs.replace(
            self.common_frame,
            is_inner=self.fields.get(b"sec-fetch-dest") == b"iframe",
            language=choose_language(self.languages, chosen),
            address=self.raw.decode("ascii"),
        )

    @cached_property
    def base_url(self) -> str:
        """The public address of this resolver, without a slash at the end.

        The operator's setting, or else the Host field of the request if it looks like an address.
        """
        if self._base_url:
            return self._base_url
        host = self.fields.get(b"host", b"")
        if not HOST.fullmatch(host):
            host = self._server_address()
        return f"{self._scope['scheme']}://{host.decode('ascii')}"

    def _server_address(self) -> bytes:
        name, port = self._scope.get("server") or ("localhost", 80)
        return f"[{name}]:{port}".encode() if ":" in name else f"{name}:{port}".encode()
