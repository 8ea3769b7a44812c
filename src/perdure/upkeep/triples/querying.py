"""Answers to questions in SPARQL about the assertions of a registry.

Specifications: SPARQL 1.1 Query Language, SPARQL 1.1 Protocol, the result formats of SPARQL.

How it works: pyoxigraph evaluates the query over all graphs, each of which is one assertion, or
over those that the query or the request names (`perdure.upkeep.triples.datasets`). If the registry
has reading rules, only the graphs of assertions that the reader may read are there. A query that
can run long runs in a process of its own (`perdure.server.apis.triples`).

What must stay true: a query writes nothing, and reaches nothing outside the store. SERVICE, which
sends queries to other servers, is refused before the query is read: nothing that looks like it is
evaluated.
"""

from __future__ import annotations

import csv
import io
import re
from typing import Any, NamedTuple

from perdure.errors.triples import (
    GraphsTooMany,
    QueryMalformed,
    ServiceRefused,
    SparqlTooLong,
)
from perdure.ids import parse
from perdure.model.queries import Reader
from perdure.model.records import LOCAL
from perdure.registry import Registry
from perdure.upkeep.triples.datasets import USUAL, Dataset, has_dataset
from perdure.upkeep.triples.library import load_pyoxigraph
from perdure.upkeep.triples.triple_index import TripleIndex

LONGEST = 65_536
"""Characters of a query."""
MOST_GRAPHS = 20_000
"""Assertions whose rights are checked for one query."""
_SERVICE = re.compile("service", re.IGNORECASE)
_SILENT = re.compile("silent", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_SERVER = re.compile(r"[<?$]|[\w.-]{0,64}:")
"""The beginning of a variable, an IRI or a prefixed name."""
_MOST_WORDS = 20
"""Occurrences of the word in one query that are looked at."""
_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


class ResultForm(NamedTuple):
    """A form of answers."""

    name: str
    media_type: str
    is_table: bool
    """For SELECT and ASK; otherwise for CONSTRUCT and DESCRIBE."""
    library_name: str


FORMS = (
    ResultForm("json", "application/sparql-results+json", is_table=True, library_name="JSON"),
    ResultForm("xml", "application/sparql-results+xml", is_table=True, library_name="XML"),
    ResultForm("csv", "text/csv", is_table=True, library_name="CSV"),
    ResultForm("tsv", "text/tab-separated-values", is_table=True, library_name="TSV"),
    ResultForm("turtle", "text/turtle", is_table=False, library_name="TURTLE"),
    ResultForm("ntriples", "application/n-triples", is_table=False, library_name="N_TRIPLES"),
    ResultForm("jsonld", "application/ld+json", is_table=False, library_name="JSON_LD"),
)


def check_query(query: str) -> None:
    """Raise SparqlTooLong, or ServiceRefused if a query may leave the store."""
    if len(query) > LONGEST:
        raise SparqlTooLong(limit=LONGEST)
    for text in (query, _ESCAPED.sub(_unescape, query)):
        if _may_leave(text):
            raise ServiceRefused()


def _may_leave(query: str) -> bool:
    """Return True if the word SERVICE is anywhere before what may be the name of a server.

    It need not be a keyword there: a query is not taken apart here, so that no other way of reading
    it makes a difference.
    """
    for number, found in enumerate(_SERVICE.finditer(query)):
        at = _skip_space(query, found.end())
        if silent := _SILENT.match(query, at):
            at = _skip_space(query, silent.end())
        if number == _MOST_WORDS or _SERVER.match(query, at):
            return True
    return False


def _skip_space(query: str, at: int) -> int:
    """Return the place after white space and comments."""
    while True:
        space = _SPACE.match(query, at)
        at = space.end() if space else at
        if not query.startswith("#", at):
            return at
        ends = [end for end in (query.find("\n", at), query.find("\r", at)) if end >= 0]
        at = min(ends, default=len(query))


def _unescape(found: re.Match[str]) -> str:
    """Return the character of an escape, which may be anywhere in a query (section 19.2)."""
    number = int(found[1] or found[2], 16)
    return chr(number) if number < 0x110000 else ""


def answer_query(
    registry: Registry,
    index: TripleIndex,
    query: str,
    reader: Reader,
    forms: tuple[str, ...] = (),
    dataset: Dataset = USUAL,
) -> tuple[ResultForm, bytes]:
    """Answer a query in the first of some forms that fits it; by default JSON or Turtle.

    The graphs of `dataset` count instead of those that the query names. Raises QueryMalformed,
    SparqlTooLong, ServiceRefused or GraphsTooMany.
    """
    check_query(query)
    ox = load_pyoxigraph()
    with index.open_store() as store:
        try:
            found = _evaluate_query(store, query, _list_open(registry, index, reader), dataset)
            is_table = not isinstance(found, ox.QueryTriples)
            form = _choose_form(forms, is_table=is_table)
            if form.name == "csv" and isinstance(found, ox.QuerySolutions):
                return form, _write_csv(found)
            kinds = ox.QueryResultsFormat if is_table else ox.RdfFormat
            return form, bytes(found.serialize(format=getattr(kinds, form.library_name)))
        except (SyntaxError, ValueError, OSError, RuntimeError) as error:
            raise QueryMalformed(fault=_shorten(str(error))) from None


def _write_csv(found: Any) -> bytes:
    """Write solutions as CSV (SPARQL 1.1 Query Results CSV, section 3).

    pyoxigraph leaves IRIs with commas, which most parts have, without quotation marks.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\r\n")
    rows.writerow([one.value for one in found.variables])
    for solution in found:
        rows.writerow([_spell_value(one) for one in solution])
    return text.getvalue().encode()


def _spell_value(term: Any) -> str:
    if term is None:
        return ""
    return str(getattr(term, "value", term)) if not str(term).startswith("_:") else str(term)


def _choose_form(names: tuple[str, ...], *, is_table: bool) -> ResultForm:
    fitting = [one for one in FORMS if one.is_table == is_table]
    wanted = [one for name in names for one in fitting if one.name == name]
    return (wanted or fitting)[0]


def _list_open(registry: Registry, index: TripleIndex, reader: Reader) -> list[str] | None:
    """Return the graphs that a reader may read; None for all, if there are no reading rules."""
    if reader.name == LOCAL or not registry.records.find_last_rule():
        return None
    graphs: list[str] = []
    for number, name in enumerate(index.list_names()):
        if number == MOST_GRAPHS:
            raise GraphsTooMany(limit=MOST_GRAPHS)
        if registry.assertions.find_assertion(parse(name), reader) is not None:
            graphs.append(name)
    return graphs


def _evaluate_query(store: Any, query: str, readable: list[str] | None, dataset: Dataset) -> Any:
    """Evaluate a query over the graphs that it or a request names, as far as they are readable."""
    make = load_pyoxigraph().NamedNode
    if dataset.is_stated:
        known = None if readable is None else frozenset(readable)
        default, named = (
            [make(one) for one in names if known is None or one in known]
            for names in (dataset.default, dataset.named)
        )
        return store.query(query, default_graph=default, named_graphs=named)
    if has_dataset(query):
        return (store if readable is None else _copy_graphs(store, readable)).query(query)
    if readable is None:
        return store.query(query, use_default_graph_as_union=True)
    graphs = list(map(make, readable))
    return store.query(query, default_graph=graphs, named_graphs=graphs)


def _copy_graphs(store: Any, names: list[str]) -> Any:
    """Return a store in memory that has only some graphs."""
    ox = load_pyoxigraph()
    some = ox.Store()
    for name in names:
        some.extend(store.quads_for_pattern(None, None, None, ox.NamedNode(name)))
    return some


def _shorten(text: str) -> str:
    return " ".join(text.split())[:300]
