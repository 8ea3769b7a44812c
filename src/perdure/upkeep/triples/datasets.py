"""The dataset of a query in SPARQL: whether the query, or the request around it, names graphs.

Specifications: SPARQL 1.1 Query Language, section 13.2; SPARQL 1.1 Protocol, section 2.1.4.

How it works: the usual dataset of perdure has all graphs, and their union as its default graph. A
query with FROM or FROM NAMED states its own, which the library builds from the store, but only if
it does not use the union. So the query is cut into the tokens of the grammar (section 19.8),
as far as is needed to tell the word FROM from the same letters in texts, addresses and comments.

What must stay true: a query that names graphs is never answered from others.
"""

from __future__ import annotations

import re

import msgspec

_TOKEN = re.compile(
    r"""
      (?P<skipped>
        \#[^\n\r]*
        | <[^<>"{}|^`\x00-\x20]*>
        | \"{3}(?:\"{0,2}(?:[^"\\]|\\.))*\"{3}
        | '{3}(?:'{0,2}(?:[^'\\]|\\.))*'{3}
        | "(?:[^"\\\n\r]|\\.)*"
        | '(?:[^'\\\n\r]|\\.)*'
        | [?$@]\w+
      )
      | (?P<prefix>(?:\w[\w.-]*)?):(?:[\w.:%-]|\\.)*
      | (?P<word>\w+)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLAUSE = re.compile("(?:ask|construct)?from(?:named)?")
"""The library needs no space around the word."""


class Dataset(msgspec.Struct, frozen=True):
    """The graphs that a request names (`default-graph-uri`, `named-graph-uri`).

    They count instead of those that its query names.
    """

    default: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def is_stated(self) -> bool:
        return bool(self.default or self.named)


USUAL = Dataset()


def has_dataset(query: str) -> bool:
    """Return True if a query has FROM or FROM NAMED. A query that is malformed may have either.

    >>> has_dataset("SELECT * FROM <pdi://a.us/1997/09/01/1.jsonld.1> { ?s ?p ?o }")
    True
    >>> has_dataset("SELECT ?from { ?from ?p 'FROM <a:b>' } # FROM <a:b>")
    False
    """
    declared: set[str] = set()
    last = ""
    for found in _TOKEN.finditer(query):
        word, prefix = (found["word"] or "").lower(), found["prefix"]
        if _CLAUSE.fullmatch(word):
            return True
        if prefix is not None and last == "prefix":
            declared.add(prefix)
        elif prefix and prefix not in declared and _CLAUSE.fullmatch(prefix.lower()):
            return True
        if found["skipped"] is None or not found[0].startswith("#"):
            last = word
    return False
