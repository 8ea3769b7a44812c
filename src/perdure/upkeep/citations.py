"""The check of the places that a citation names (section 3.5 of the PDI draft).

How it works: the read door says whether the citing and the cited document are known, and refuses
the rest, because places in documents are not resolved yet. Here the position in the citing document
and the part of the cited one are looked for, so that an error tells which of them does not exist.

What must stay true: it decodes documents, so a server runs it beside its event loop.
"""

from __future__ import annotations

import re

from perdure.errors import PerdureError
from perdure.errors.cutting import CitationUnresolved
from perdure.ids import Identifier, parse
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_defaults import find_default_scheme
from perdure.model.queries import LOCAL_READER, Fetch, Query
from perdure.reading.resolve import Resolved
from perdure.registry import Registry

_NUMBER = re.compile("0*([1-9][0-9]*)", re.ASCII)
_POINT = re.compile(r"\(0*([1-9][0-9]*),0*([1-9][0-9]*)\)", re.ASCII)


def resolve_or_explain(registry: Registry, query: Query) -> Resolved:
    """Resolve a query; if it is refused because it is a citation, say which place is missing.

    Raises the errors of `ReadDoor.resolve`, and PartNotFound or PartOutOfRange for a citation.
    """
    try:
        return registry.reading.resolve(query)
    except CitationUnresolved as error:
        raise explain_refusal(registry, error) from None


def explain_refusal(registry: Registry, error: CitationUnresolved) -> PerdureError:
    """Return the error of a citation: the given one, unless one of its places does not exist."""
    try:
        citation = parse(error.selector)
        while isinstance(citation, Pdi) and citation.citation is not None:
            _check_place(registry, _name_up_to(citation.whole, citation.citation.origin))
            citation = citation.citation.cited
        _check_place(registry, citation)
    except PerdureError as precise:
        return precise
    return error


def _name_up_to(whole: Pdi, origin: str) -> Identifier:
    """The part of a document before a position; the document if its positions have no order."""
    scheme = find_default_scheme(whole.format or "")
    number, point = _NUMBER.fullmatch(origin), _POINT.fullmatch(origin)
    if number and scheme in ("char", "sec"):
        return whole.with_part(f"{scheme}=0,{number[1]}") or whole
    if point and scheme == "rect":
        return whole.with_part(f"rect=(0,0),({point[1]},{point[2]})") or whole
    return whole


def _check_place(registry: Registry, identifier: Identifier) -> None:
    """Raise PartNotFound or PartOutOfRange if the part is not in the document that is held."""
    resolved = registry.reading.resolve(Query(reader=LOCAL_READER, identifier=identifier))
    if resolved.inside is None or not isinstance(step := resolved.step, Fetch):
        return
    source = registry.documents.open_source(step.identifier, step.representation)
    selector = registry.documents.find_selector(resolved.identifier, source, resolved.part_beside)
    registry.parts.outline_part(source, selector)
