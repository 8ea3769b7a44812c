"""A route: a frozen value with methods, a pattern and a handler, and a description for clients.

How it works: a pattern is a path as OpenAPI writes it, with variables in braces. The segments
before the first variable are its lead (`api/handles`). A pattern that ends in a variable or in a
slash covers every path below its lead. `{name}` alone is the pattern of identifiers.

Descriptions are Markdown, as docs/reference/http.md shows them. Schemas are JSON Schema 2020-12.
A body names the type that reads it, and the schema is generated from that type.

What must stay true: a route decides nothing. This module imports no handler.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.errors import Forbidden, Unauthenticated
from perdure.server.common.target_kinds import TargetKind

if TYPE_CHECKING:
    from perdure.errors import PerdureError
    from perdure.server.common.answers import Answer
    from perdure.server.common.request import Request
    from perdure.server.common.service import Service

    Handler = Callable[[Service, Request], Awaitable[Answer]]
else:
    Handler = Callable[..., Awaitable[Any]]
    PerdureError = Exception

Schema = Mapping[str, Any]
TEXT: Schema = {"type": "string"}
WORD: Schema = {"type": "string", "minLength": 1}
"""A query parameter without a value: `?info`, which equals `?info=`."""
BARE: Schema = {"type": "string", "enum": [""]}
ENTITY: Schema = {"type": "object", "additionalProperties": True}
JSON = "application/json"
ANYTHING = "*/*"
REFUSED = (Unauthenticated, Forbidden)
"""The problems of every request that needs a right."""
_WRITING = frozenset(("PUT", "POST", "DELETE"))
NAMES = "/{name}"
"""The pattern of identifiers."""


class Security(enum.StrEnum):
    """A way for a client to authenticate."""

    BEARER = "bearer"
    SIGNATURE = "signature"
    BASIC = "basic"
    SESSION = "session"


BY_TOKEN = (Security.BEARER, Security.SIGNATURE)


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a route, optional unless `required`. Those in the path are required."""

    name: str
    text: str
    place: str = "query"
    schema: Schema = msgspec.field(default_factory=lambda: TEXT)
    required: bool = False
    shown: str = ""
    """Its spelling in the tables of the reference, if that is not its name."""
    repeated: bool = False
    example: str | None = None
    listed: bool = True
    """True if the tables of the reference have a row for it."""


class BodyShape(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a request: one of these media types, each with a schema or a type."""

    text: str
    content: Mapping[str, Schema | type[msgspec.Struct]]
    required: bool = True


class AnswerShape(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a route that is not an error."""

    status: int
    text: str
    content: Mapping[str, Schema | type[msgspec.Struct] | None] = {}
    fields: tuple[str, ...] = ()
    """Header fields that it carries in addition to those of every answer."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Methods on a pattern, the handler that answers them, and their description for clients."""

    methods: tuple[str, ...]
    pattern: str
    handler: Handler
    operation: str
    """Its name in OpenAPI. Routes of one pattern and method share one operation."""
    text: str
    """Its description in the reference."""
    shown: str = ""
    """Spelling of the request in the reference, if that is not the pattern."""
    word: str = ""
    """The word in the query that chooses this route among those of its pattern and method."""
    parameters: tuple[Parameter, ...] = ()
    body: BodyShape | None = None
    answers: tuple[AnswerShape, ...] = ()
    problems: tuple[type[PerdureError], ...] = ()
    """Errors that it can answer with, in addition to those of every route."""
    security: tuple[Security, ...] = ()
    is_open: bool = True
    """True if a client gets an answer without authentication, too."""
    only_reads: bool = False
    """True if it writes nothing, although it needs a right: then a mirror answers it, too."""
    section: str = ""
    """The table of docs/reference/http.md that lists it, or an empty string."""
    kinds: tuple[TargetKind, ...] = (TargetKind.PAGE,)
    """The kinds of targets that allow it. Without any, the method is known and never allowed."""
    answers_every_method: bool = False
    """True if the handler also answers methods that have no route."""
    is_common: bool = False
    """True if every page has this route, so that the map shows it once."""
    handle_errors: bool = False
    """True if errors have the form of the Handle API."""
    extensions: Mapping[str, Any] = {}
    """Facts that OpenAPI has no words for, by names that begin with `x-`."""

    @property
    def lead(self) -> str:
        """The segments before the first variable, without slashes at the ends.

        >>> def no(service, request): ...
        >>> given = Route(methods=("GET",), pattern="/api/handles/{handle}", handler=no,
        ...               operation="x", text="")
        >>> given.lead, given.covers_below
        ('api/handles', True)
        """
        return self.pattern.partition("{")[0].strip("/")

    @property
    def covers_below(self) -> bool:
        """True if its pattern covers every path below its lead."""
        return bool(self.lead) and self.pattern[-1] in "/}"

    @property
    def written_methods(self) -> frozenset[str]:
        """The methods with which clients write."""
        is_writing = not (self.is_open or self.only_reads)
        return _WRITING.intersection(self.methods) if is_writing else frozenset()

    @property
    def is_of_names(self) -> bool:
        """True if it is a route of identifiers."""
        return self.pattern == NAMES
