"""The OpenAPI 3.1 document of a table of routes, at `/openapi.json`. Pure.

How it works: routes of one pattern become one path item. Routes that also share a method become
one operation with all of their parameters, bodies and answers, and `x-operations` lists them.
Schemas of bodies are generated from the types that read them, problems from the table of statuses.

In OpenAPI a name is one percent-encoded path parameter. Fields that begin with `x-` describe what
OpenAPI has no words for: a raw `#`, the absolute form, a query that is a URI.

What must stay true: the document depends on the routes and the setting `base_url` only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import msgspec

from perdure.server.common import problems
from perdure.server.protocol.head import REFUSALS, make_title
from perdure.server.routes.model import (
    JSON,
    AnswerShape,
    Parameter,
    Route,
    Schema,
    Security,
)

_COMPONENTS = "#/components/schemas/"
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_ANY_STATUS = (*REFUSALS, HTTPStatus.NOT_FOUND, HTTPStatus.INTERNAL_SERVER_ERROR,
               HTTPStatus.SERVICE_UNAVAILABLE)  # fmt: skip
"""Statuses of problems with which any request may be answered."""

_SECURITY: dict[Security, dict[str, str]] = {
    Security.BEARER: {
        "type": "http",
        "scheme": "bearer",
        "description": "A token made by `perdure token create` or by POST /tokens.",
    },
    Security.BASIC: {
        "type": "http",
        "scheme": "basic",
        "description": "The user is the index and handle of an administrator "
        "(`300%3A21.T14999/ADMIN`), with the password; or any user, with a token as the password.",
    },
    Security.SESSION: {
        "type": "apiKey",
        "in": "cookie",
        "name": "desk",
        "description": "A session of the pages for depositors, begun by POST /sign-in. Under TLS "
        "the cookie is called `__Host-desk`. Other routes do not read it.",
    },
    Security.SIGNATURE: {
        "type": "apiKey",
        "in": "header",
        "name": "Signature",
        "description": "HTTP Message Signatures (RFC 9421) with Ed25519; `Signature-Input` lists "
        "the signed components.",
    },
}
_FIELDS: dict[int, tuple[str, ...]] = {
    HTTPStatus.UNAUTHORIZED: ("WWW-Authenticate",),
    HTTPStatus.METHOD_NOT_ALLOWED: ("Allow",),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: ("Accept", "Accept-Encoding"),
    HTTPStatus.TOO_MANY_REQUESTS: ("Retry-After", "RateLimit", "RateLimit-Policy"),
    HTTPStatus.SERVICE_UNAVAILABLE: ("Retry-After",),
}
"""Header fields of problems, besides those of every answer."""
_PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "A problem document (RFC 9457). Each field of the error is a further member.",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "format": "uri-reference"},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string"},
        "code": {"type": "string"},
    },
    "additionalProperties": True,
}
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_OPTIONAL: dict[str, Any] = {"type": ["string", "null"]}
_OWN_SCHEMAS: dict[str, Any] = {
    "Problem": _PROBLEM,
    "Receipt": {
        "type": "object",
        "required": ["outcome", "identifier", "url", "revision", "replayed"],
        "properties": {
            "outcome": {"type": "string"},
            "identifier": {"type": "string"},
            "url": {"type": "string"},
            "revision": {"type": "integer"},
            "replayed": {"type": "boolean"},
            "left_behind": _TEXTS,
        },
    },
    "Token": {
        "type": "object",
        "required": ["name", "operations", "authorities", "created"],
        "properties": {
            "name": {"type": "string"},
            "operations": _TEXTS,
            "authorities": _TEXTS,
            "first_day": _OPTIONAL,
            "last_day": _OPTIONAL,
            "created": {"type": "string"},
            "expires": _OPTIONAL,
            "revoked": _OPTIONAL,
            "token": {"type": "string", "description": "The secret of a new token."},
        },
    },
    "HandleValues": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["index", "type", "data"],
            "properties": {
                "index": {"type": "integer", "minimum": 1},
                "type": {"type": "string"},
                "data": {"type": ["string", "object"]},
                "ttl": {"type": ["integer", "string"]},
                "permissions": {"type": "string", "pattern": "^[01]{4}$"},
            },
        },
    },
    "HandleAnswer": {
        "type": "object",
        "description": "An answer of the Handle REST API, errors included.",
        "required": ["responseCode"],
        "properties": {
            "responseCode": {"type": "integer"},
            "handle": {"type": "string"},
            "message": {"type": "string"},
            "values": {"type": "array", "items": {"type": "object"}},
        },
    },
}


def describe_interface(routes: Sequence[Route], server: str) -> dict[str, Any]:
    """Describe all routes. `server` is the public address of the resolver, or `/`."""
    paths: dict[str, Any] = {}
    for pattern in dict.fromkeys(route.pattern for route in routes):
        of_pattern = [one for one in routes if one.pattern == pattern and one.kinds]
        paths[pattern] = {
            method.lower(): _describe_operation(
                method, [one for one in of_pattern if method in one.methods]
            )
            for method in dict.fromkeys(method for one in of_pattern for method in one.methods)
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "perdure",
            "summary": "A resolver and registry of persistent identifiers",
            "version": version("perdure"),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": server}],
        "paths": paths,
        "components": {
            "schemas": _OWN_SCHEMAS | _describe_types(routes),
            "responses": _describe_problems(),
            "securitySchemes": {kind.value: scheme for kind, scheme in _SECURITY.items()},
        },
        "x-problems": {
            code: {"status": status.value, "meaning": meaning}
            for code, (status, meaning) in sorted(problems.list_explanations().items())
        },
    }


# operations
# ----------


def _describe_operation(method: str, routes: list[Route]) -> dict[str, Any]:
    """Describe the operation of a route, or of all routes that share a pattern and a method."""
    first = routes[0]
    several = len(routes) > 1
    name = first.operation
    if method != first.methods[0]:
        name = f"{name}{method.capitalize()}"
    found: dict[str, Any] = {
        "operationId": name,
        "summary": "; ".join(dict.fromkeys(_write_plain(one.text) for one in routes))
        if not several
        else "One of several operations, chosen by the query",
        "parameters": [_describe_parameter(one) for one in _join_parameters(routes)],
        "responses": _describe_answers(method, routes),
    }
    bodies = [one.body for one in routes if one.body is not None]
    if bodies:
        found["requestBody"] = {
            "description": bodies[0].text if not several else "The body that the operation needs.",
            "required": all(one.required for one in bodies) and not several,
            "content": _join_content(one.content for one in bodies),
        }
    if first.security:
        open_to_all: list[dict[str, list[str]]] = [{}] if first.is_open else []
        found["security"] = open_to_all + [{one.value: []} for one in first.security]
    if several:
        found["x-operations"] = [_describe_choice(one) for one in routes]
    for one in routes:
        found |= one.extensions
    return found


def _describe_choice(route: Route) -> dict[str, Any]:
    """Describe one of the operations that share a pattern and a method."""
    described: dict[str, Any] = {
        "request": route.shown,
        "summary": _write_plain(route.text),
        "statuses": [one.status for one in route.answers],
    }
    if route.word:
        described["query"] = route.word
    if route.body is not None:
        described["body"] = _join_content([route.body.content])
    return described


def _join_parameters(routes: Iterable[Route]) -> list[Parameter]:
    found = {(one.place, one.name): one for route in routes for one in route.parameters}
    return list(found.values())


def _describe_parameter(parameter: Parameter) -> dict[str, Any]:
    schema: Schema = parameter.schema
    if parameter.repeated:
        schema = {"type": "array", "items": schema}
    found: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.place,
        "description": _write_plain(parameter.text),
        "required": parameter.required,
        "schema": schema,
    }
    if parameter.schema == {"type": "string", "enum": [""]}:
        found["allowEmptyValue"] = True
    if parameter.example is not None:
        found["example"] = parameter.example
    return found


# answers
# -------


def _describe_answers(method: str, routes: list[Route]) -> dict[str, Any]:
    """Describe all answers of an operation by status: those of its routes, then problems."""
    shapes: dict[int, list[AnswerShape]] = {}
    for one in routes:
        for answer in one.answers:
            shapes.setdefault(answer.status, []).append(answer)
    found = {
        str(status): _describe_answer(method, answers) for status, answers in sorted(shapes.items())
    }
    kinds = dict.fromkeys(kind for one in routes for kind in one.problems)
    statuses = {problems.STATUS[kind].value for kind in kinds} | {int(one) for one in _ANY_STATUS}
    if routes[0].is_of_names:
        statuses.add(HTTPStatus.GONE.value)  # the tombstone
    told = "HandleProblem" if routes[0].handle_errors else "Problem"
    if method in ("GET", "HEAD") and str(HTTPStatus.OK.value) in found:  # every one has conditions
        found.setdefault("304", {"description": "The client already has it."})
        failed = HTTPStatus.PRECONDITION_FAILED.value
        found.setdefault(str(failed), {"$ref": f"#/components/responses/Problem{failed}"})
    if any(one.body is not None for one in routes):
        statuses.add(HTTPStatus.UNSUPPORTED_MEDIA_TYPE.value)
    for status in sorted(statuses):
        found.setdefault(str(status), {"$ref": f"#/components/responses/{told}{status}"})
    return found


def _describe_answer(method: str, shapes: list[AnswerShape]) -> dict[str, Any]:
    texts = dict.fromkeys(one.text for one in shapes)
    found: dict[str, Any] = {"description": " ".join(texts)}
    content = _join_content(one.content for one in shapes)
    if content and method != "HEAD":
        found["content"] = content
    fields = dict.fromkeys(name for one in shapes for name in one.fields)
    if fields:
        found["headers"] = {name: {"schema": {"type": "string"}} for name in fields}
    return found


def _join_content(contents: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Join media types with their schemas. If a type has several schemas, any of them holds."""
    found: dict[str, list[Any]] = {}
    for content in contents:
        for kind, shape in content.items():
            schema = _refer_to(shape)
            if schema not in found.setdefault(kind, []):
                found[kind].append(schema)
    return {
        kind: _wrap_schema(schemas[0] if len(schemas) == 1 else {"anyOf": schemas})
        for kind, schemas in found.items()
    }


def _wrap_schema(schema: Any) -> dict[str, Any]:
    return {"schema": schema} if schema else {}


def _refer_to(shape: Schema | type[msgspec.Struct] | None) -> Any:
    """A schema, or a reference to the schema that is generated from a type."""
    if isinstance(shape, type):
        return {"$ref": f"{_COMPONENTS}{_name_type(shape.__name__)}"}
    return shape


def _describe_problems() -> dict[str, Any]:
    """Describe a response for each status of problems, in our form and in the Handle API's."""
    codes: dict[int, list[str]] = {}
    for code, (kind, meaning) in sorted(problems.list_explanations().items()):
        meant = " ".join(meaning.split("\n\n")[0].split())
        codes.setdefault(kind.value, []).append(f"`{code}`: {meant}")
    problem = {problems.JSON: {"schema": {"$ref": f"{_COMPONENTS}Problem"}}}
    handle = {JSON: {"schema": {"$ref": f"{_COMPONENTS}HandleAnswer"}}}
    found: dict[str, Any] = {}
    for status, meanings in sorted(codes.items()):
        text = "\n".join(
            (make_title(HTTPStatus(status).phrase), "", *(f"- {one}" for one in meanings))
        )
        fields = _problem_fields(status)
        found[f"Problem{status}"] = {
            "description": text,
            "content": {**problem, "text/html": {}},
            **fields,
        }
        found[f"HandleProblem{status}"] = {
            "description": text,
            "content": {**handle, **problem, "application/javascript": {}},
            **fields,
        }
    return found


def _problem_fields(status: int) -> dict[str, Any]:
    names = _FIELDS.get(status, ())
    return {"headers": {one: {"schema": {"type": "string"}} for one in names}} if names else {}


# types
# -----


def _describe_types(routes: Iterable[Route]) -> dict[str, Any]:
    """Generate schemas of the types that read bodies, and of the types to which they refer."""
    types = dict.fromkeys(
        shape
        for route in routes
        if route.body is not None
        for shape in route.body.content.values()
        if isinstance(shape, type)
    )
    _, found = msgspec.json.schema_components(types, ref_template=f"{_COMPONENTS}{{name}}")
    text = msgspec.json.encode(found).decode().replace(f'"{_COMPONENTS}_', f'"{_COMPONENTS}')
    named: dict[str, Any] = msgspec.json.decode(text)
    return {_name_type(name): schema for name, schema in named.items()}


def _name_type(name: str) -> str:
    return name.lstrip("_")


def _write_plain(text: str) -> str:
    """A description without the links of the reference, which do not work from the document."""
    return _LINK.sub(r"\1", text)
