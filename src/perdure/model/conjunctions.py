"""Conjunctions: identifiers for several parts together, such as two sentences of one letter. Pure.

Specification: PDI draft, section 3.2.3: "Conjunctive fragments SHOULD be handled by creating a new
PDI and asserting that it is the conjunction of some fragments. In this way, the set is explicitly
represented".

How it works: a conjunction is an assertion with the motivation `conjoins` and one target, a
collection of Activity Streams, whose items are the parts: the context of Web Annotation has words
for both. Its identifier names the parts together, and its document says which they are:

    {"@context": "http://www.w3.org/ns/anno.jsonld", "type": "Annotation",
     "motivation": "http://www.w3.org/ns/prov#hadMember",
     "target": {"type": "as:Collection", "items": ["pdi://…/1.text.1#char=0,9", "pdi://…#char=20,31"]}}

What must stay true: a conjunction has at least two parts, none twice, each of one version of one
format, so it never changes. An assertion about a conjunction says nothing about each of its parts.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.errors.assertions import ConjunctionMalformed
from perdure.ids import Identifier
from perdure.model.assertions import CONJOINS, Assertion, AssertionTarget, write_assertion

FEWEST = 2
_COLLECTION = "as:Collection"


def write_conjunction(
    parts: tuple[str, ...], *, body: str = "", creator: str = "", created: str = ""
) -> bytes:
    """Write the conjunction of some parts, as `perdure.model.assertions.write_assertion`."""
    return write_assertion(
        parts, (CONJOINS,), body=body, creator=creator, created=created, group=_COLLECTION
    )


def is_conjunction(assertion: Assertion) -> bool:
    """Return whether an assertion says that it is the conjunction of its targets."""
    target = assertion.document.get("target")
    is_set = isinstance(target, dict) and target.get("type") == _COLLECTION
    return is_set and CONJOINS in assertion.motivations


def list_conjuncts(assertion: Assertion) -> tuple[Identifier, ...]:
    """Return the parts of a conjunction, in its order; none if it is another assertion.

    Raises ConjunctionMalformed.
    """
    if not is_conjunction(assertion):
        return ()
    parts = tuple(_read_conjuncts(assertion.targets))
    if len(parts) < FEWEST:
        raise ConjunctionMalformed(part="", expected=f"must have at least {FEWEST} parts")
    return parts


def _read_conjuncts(targets: tuple[AssertionTarget, ...]) -> Iterator[Identifier]:
    known: set[Identifier] = set()
    for target in targets:
        name = target.identifier
        if name is None or name.fragment is None or name.is_citation:
            raise ConjunctionMalformed(part=target.iri, expected="is not the identifier of a part")
        if name.is_pattern or name.format is None or name.version is None:
            raise ConjunctionMalformed(part=target.iri, expected="must name a format and a version")
        if name in known:
            raise ConjunctionMalformed(part=target.iri, expected="is listed twice")
        known.add(name)
        yield name
