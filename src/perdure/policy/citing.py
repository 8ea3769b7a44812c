"""The sides of a citation (section 3.5 of the PDI draft): which they are, and what they must name.

How it works: a citation `A@5=B@10=C` has the sides A, B and C, from the outside to the inside.
"""

from __future__ import annotations

from perdure.errors.citing import NotACitation, SideNotPinned
from perdure.errors.naming import PatternNotAllowed
from perdure.ids import Identifier
from perdure.ids.pdi import Pdi


def list_sides(citation: Pdi) -> list[Pdi]:
    """Return the documents of a citation, the outermost first, and last what is cited.

    >>> from perdure.ids.pdi import parse_pdi
    >>> [str(side) for side in list_sides(parse_pdi("pdi://a.us/1997/1/1/2.text.1@9=pdi://a.us/1997/1/1/1"))]
    ['pdi://a.us/1997/01/01/2.text.1', 'pdi://a.us/1997/01/01/1']
    """
    sides: list[Pdi] = []
    one = citation
    while one.citation is not None:
        sides.append(one.whole)
        one = one.citation.cited
    return [*sides, one]


def require_citation(identifier: Identifier) -> Pdi:
    """Return an identifier as a citation, both of whose sides name one version in one format.

    Raises InvalidRequest if it is not one.  # ruling: pdi-citation
    """
    if not isinstance(identifier, Pdi) or identifier.citation is None:
        raise NotACitation(identifier=str(identifier))
    for side in list_sides(identifier):
        if side.is_pattern:
            raise PatternNotAllowed(identifier=str(side.whole))
        if side.format is None or side.version is None:
            raise SideNotPinned(identifier=str(identifier), side=str(side))
    return identifier
