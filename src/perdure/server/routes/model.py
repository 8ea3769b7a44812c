"""What a route is: a frozen value that names a method, a pattern and a handler, and describes both.

How it works: a pattern is a path as OpenAPI writes one, with variables in braces. The segments in
front of the first variable are its lead (`api/handles`). A pattern that ends in a variable or in a
slash covers every path below its lead. `{name}` alone is the pattern of identifiers.

Descriptions are Markdown, as docs/reference/http.md shows them. Schemas are JSON Schema 2020-12;
a body names the type that reads it, and the schema is made from that type.

What must stay true: a route decides nothing. Nothing here imports a handler.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

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
"""A parameter of a query that has no value: `?info`, which equals `?info=`."""
BARE: Schema = {"type": "string", "enum": [""]}
JSON = "application/json"
ANYTHING = "*/*"
NAMES = "/{name}"
"""The pattern of identifiers."""


class Security(enum.StrEnum):
    """How a client shows who it is."""

    BEARER = "bearer"
    SIGNATURE = "signature"
    BASIC = "basic"


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a route. All that are not in the path are optional unless `required`."""

    name: str
    text: str
    place: str = "query"
    schema: Schema = msgspec.field(default_factory=lambda: TEXT)
    required: bool = False
    shown: str = ""
    """How the tables of the reference write it; empty: as its name."""
    repeated: bool = False
    example: str | None = None
    listed: bool = True
    """Whether the tables of the reference have a row for it."""


class BodyShape(msgspec.Struct, frozen=True, kw_only=True):
    """What a request carries: one of these media types, each with a schema or a type."""

    text: str
    content: Mapping[str, Schema | type[msgspec.Struct]]
    required: bool = True


class AnswerShape(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a route that is not an error."""

    status: int
    text: str
    content: Mapping[str, Schema | type[msgspec.Struct] | None] = {}
    fields: tuple[str, ...] = ()
    """Header fields that it carries besides those of every answer."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A method on a pattern, the handler that answers it, and what a client must know of it."""

    methods: tuple[str, ...]
    pattern: str
    handler: Handler
    operation: str
    """Its name in OpenAPI. Routes of one pattern and method share one operation."""
    text: str
    """What it does, in the words of the reference."""
    shown: str = ""
    """How the reference writes the request; empty: as the pattern has it."""
    word: str = ""
    """The word of the query that chooses this route among those of its pattern and method."""
    parameters: tuple[Parameter, ...] = ()
    body: BodyShape | None = None
    answers: tuple[AnswerShape, ...] = ()
    problems: tuple[type[PerdureError], ...] = ()
    """Errors that it answers with, besides those of every route."""
    security: tuple[Security, ...] = ()
    is_open: bool = True
    """Whether a client that does not show who it is gets an answer, too."""
    section: str = ""
    """The table of docs/reference/http.md that it stands in; empty: none."""
    kinds: tuple[TargetKind, ...] = (TargetKind.PAGE,)
    """What may be named by its target. Without any, the method is known and never allowed."""
    answers_every_method: bool = False
    """Whether the handler answers methods that have no route, too."""
    is_common: bool = False
    """Whether every page has this route, so that the map shows it once."""
    handle_errors: bool = False
    """Whether errors are told as the Handle API tells them."""
    extensions: Mapping[str, Any] = {}
    """What OpenAPI cannot say, by names that begin with `x-`."""

    @property
    def lead(self) -> str:
        """The segments in front of the first variable, without slashes at the ends.

        >>> def no(service, request): ...
        >>> given = Route(methods=("GET",), pattern="/api/handles/{handle}", handler=no,
        ...               operation="x", text="")
        >>> given.lead, given.covers_below
        ('api/handles', True)
        """
        return self.pattern.partition("{")[0].strip("/")

    @property
    def covers_below(self) -> bool:
        """Whether its pattern covers every path below its lead."""
        return bool(self.lead) and self.pattern[-1] in "/}"

    @property
    def is_of_names(self) -> bool:
        """Whether it is a route of identifiers."""
        return self.pattern == NAMES
