"""Errors about assertions as triples: queries in SPARQL, and nanopublications."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import count_things, quote
from perdure.errors.stored import TooLarge

PAGE = "docs/reference/triples.md"


class QueryMalformed(InvalidRequest):
    """A query is not a query of SPARQL 1.1, or cannot be evaluated."""

    fault: str
    what = "the query"
    rule = PAGE

    @property
    def reason(self) -> str:
        return self.fault


class SparqlTooLong(TooLarge):
    """A query is too long."""

    what = "the query"
    unit = "characters"


class ServiceRefused(InvalidRequest):
    """A query would send queries to other servers."""

    what = "the query"
    rule = PAGE
    reason = "SERVICE would send queries to other servers, and is never carried out; leave it out"


class QueryTooSlow(InvalidRequest):
    """A query took too long, or its answer was too large."""

    seconds: int
    what = "the query"
    rule = PAGE

    @property
    def reason(self) -> str:
        return (
            f"it took more than {count_things(self.seconds, 'second')}, or more memory than a "
            "query may take; ask for less, for example with LIMIT"
        )


class GraphsTooMany(TooLarge):
    """A registry with reading rules has too many assertions to check each for one query."""

    what = "the set of assertions whose rights must be checked"
    unit = "assertions"


class AssertionNotTriples(InvalidRequest):
    """JSON-LD gives an assertion no triples without fetching something."""

    identifier: str
    fault: str
    rule = PAGE

    @property
    def what(self) -> str:
        return f"the assertion {quote(self.identifier)}"

    @property
    def reason(self) -> str:
        return self.fault


# nanopublications
# ----------------


class NanopublicationMalformed(InvalidRequest):
    """A document is not a nanopublication. Abstract: each reason has a class."""

    what = "the nanopublication"
    rule = PAGE


class NanopublicationNotTrig(NanopublicationMalformed):
    """A nanopublication cannot be read as TriG."""

    fault: str

    @property
    def reason(self) -> str:
        return f"it is not TriG: {self.fault}"


class NanopublicationHeads(NanopublicationMalformed):
    """A document has no nanopublication, or several."""

    count: int

    @property
    def reason(self) -> str:
        return f"it must have one subject of the type np:Nanopublication, and has {self.count}"


class NanopublicationGraph(NanopublicationMalformed):
    """A nanopublication lacks one of its graphs, or has it twice."""

    name: str
    """The property that leads to it, such as `hasAssertion`."""

    @property
    def reason(self) -> str:
        return f"it must have one graph to which np:{self.name} leads, with triples in it"


class NanopublicationUnnamed(NanopublicationMalformed):
    """The assertion of a nanopublication is about nothing that can be found here."""

    reason = "its assertion names no identifier that perdure reads"


class NanopublicationTooLong(TooLarge):
    """A nanopublication is too long."""

    what = "the nanopublication"
    unit = "bytes"
