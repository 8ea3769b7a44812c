"""Queries in SPARQL over HTTP, if the setting `sparql` is on.

    GET  /sparql?query=<query>
    GET  /sparql?query=<query>&default-graph-uri=<name>&named-graph-uri=<name>
    POST /sparql                 the query as the body, or as a field of a form

Specification: SPARQL 1.1 Protocol, query operations. Updates are not defined.

How it works: each query is evaluated by `perdure sparql` in a process of its own, with limits on
time, memory and the length of the answer, a few at a time. The answer is what everyone may read.

What must stay true: a query writes nothing, reaches no other server, and cannot hold up the server.
Pages of any origin may ask.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from perdure.errors import NotAcceptable
from perdure.errors.requests import MissingParameter
from perdure.errors.triples import QueryMalformed, QueryTooSlow
from perdure.formats.essence import strip_parameters
from perdure.model.parameters import Parameters, read_parameters
from perdure.server.common import problems
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.planning import read_whole_body
from perdure.upkeep.children import CommandOutcome, ask_command
from perdure.upkeep.triples.querying import FORMS, LONGEST, ResultForm, check_query

PATH = "sparql"
QUERY, FORM = "application/sparql-query", "application/x-www-form-urlencoded"
GRAPHS = {"default-graph-uri": "--default-graph", "named-graph-uri": "--named-graph"}
SECONDS = 10
"""Time that a query may take."""
_GRACE = 5  # seconds to start the process, and to bring the index up to date
_MOST = 16 << 20  # bytes of an answer
_MANUAL = "docs/reference/triples.md"
_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
_NAMED = {"application/json": "json", "application/xml": "xml"}
"""Types that clients name instead of those of the results of SPARQL."""


async def answer_sparql(service: Service, request: Request) -> Answer:
    """Answer GET, HEAD or POST of `/sparql`.

    Raises InvalidRequest, NotAcceptable, TooLarge.
    """
    if service.settings.sparql != "on":
        return problems.answer_problem(problems.no_such_page(request.target.text), request)
    query, dataset = await _read_query(request)
    check_query(query)
    forms = _choose_forms(request)
    words = [word for form in forms for word in ("--form", form.name)]
    with await service.queues.querying.take_turn():
        outcome = await ask_command(
            service.registry.root,
            *(
                PATH,
                "--public",
                "--with-type",
                "--json",
                "--file",
                "-",
                "--seconds",
                str(SECONDS),
                *words,
                *dataset,
            ),
            given=query.encode(),
            seconds=SECONDS + _GRACE,
            most=_MOST,
        )
    if outcome is None or outcome.code < 0:
        raise QueryTooSlow(seconds=SECONDS)
    if outcome.code:
        raise QueryMalformed(fault=_read_fault(outcome))
    kind, _, answer = outcome.output.partition(b"\n")
    fields = ((b"cache-control", b"no-cache"), (b"vary", b"accept"), _ANY_ORIGIN)
    return make_answer(HTTPStatus.OK, kind.decode(), answer, *fields)


async def _read_query(request: Request) -> tuple[str, list[str]]:
    """Return the query of a request, and the options that name its graphs.

    They are in the address if the body is the query (SPARQL 1.1 Protocol, section 2.1).
    """
    given = read_parameters(request.target.question or "")
    if request.method == "POST":
        body = await read_whole_body(request, 4 * LONGEST)
        text = body.decode("utf-8", "replace")
        if strip_parameters(request.read_field(b"content-type")) == QUERY:
            return text, _list_graphs(given)
        given = read_parameters(text)
    query = given.get("query", "")
    if not query:
        raise MissingParameter(request="query", parameter="query", manual=_MANUAL)
    return query, _list_graphs(given)


def _list_graphs(given: Parameters) -> list[str]:
    """Return the options of the command for the graphs that a request names (section 2.1.4)."""
    named = ((option, one) for name, option in GRAPHS.items() for one in given.list_values(name))
    return [f"{option}={one}" for option, one in named]


def _choose_forms(request: Request) -> list[ResultForm]:
    """Return the forms that a client accepts, one for tables and one for triples.

    Raises NotAcceptable.
    """
    found: list[ResultForm] = []
    for is_table in (True, False):
        fitting = {one.media_type: one for one in FORMS if one.is_table == is_table}
        known = {one.name: one for one in fitting.values()}
        offered = (*fitting, *(kind for kind, name in _NAMED.items() if name in known))
        kind = choose_type(request.accept, offered)
        if kind is not None:
            found.append(fitting.get(kind) or known[_NAMED[kind]])
    if not found:
        asked = ", ".join(one.range for one in request.accept)
        offered = tuple(one.media_type for one in FORMS)
        raise NotAcceptable(identifier=PATH, asked=asked, offered=offered)
    return found


def _read_fault(outcome: CommandOutcome) -> str:
    """Return what the process said about its failure."""
    try:
        told = msgspec.json.decode(outcome.said.splitlines()[-1])
        return str(told.get("fault") or told.get("detail") or told)
    except (msgspec.DecodeError, IndexError, AttributeError):
        return "it could not be evaluated"
