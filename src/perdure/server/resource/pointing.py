"""What a name points into, and at which part: whichever way that was written.

How it works: a part stands in the identifier itself (PDIs, the f-component of URNs), beside it
(`?part=`, and a `#` behind names that have none), or in a name that is not registered, as what
follows the longest beginning that is (`perdure.policy.unfolding`). All three become the same value.

What must stay true: what names a part is never taken for the name of the whole.
"""

from __future__ import annotations

from perdure.errors import NotFound
from perdure.ids import Identifier
from perdure.ids.ark import Ark
from perdure.model.queries import Fetch, Query
from perdure.parts import Selector
from perdure.policy.decide import decide
from perdure.policy.unfolding import Unfolded
from perdure.server.common.service import Service


def pointed(
    service: Service, identifier: Identifier, part: str | None = None, delimiter: str = "#"
) -> Unfolded | None:
    """The whole, and the part that is meant; None where the whole is.

    `part` stood beside the identifier, behind `delimiter`. Raises NotFound where the whole is not
    known.
    """
    meant = written(identifier, part)
    if not meant:  # a citation belongs to the whole
        known = service.record(identifier) is not None
        return None if known else service.unfolding.unfold(identifier)
    record = service.record(identifier)
    if record is None:
        raise NotFound(identifier=str(identifier))
    return Unfolded(identifier.whole, record, delimiter, meant)


def written(identifier: Identifier, part: str | None = None) -> str:
    """The text of the part: the identifier's own or, where it has none, what stood beside it."""
    own = str(identifier).removeprefix(str(identifier.whole))
    return own[1:] if own.startswith("#") else part or ""


def is_elsewhere(found: Unfolded) -> bool:
    """Whether this can be no part of bytes held here: behind an ARK, only what follows a `#` is."""
    return isinstance(found.whole, Ark) and found.delimiter in ("/", ".")


def selected(service: Service, identifier: Identifier, inside: Unfolded) -> Selector | None:
    """What is selected, by the rules of the identifier's scheme and of the media type.

    Raises MalformedPart or PartNotSupported.
    """
    registry = service.registry
    step = decide(Query(identifier=inside.whole), inside.record)
    if isinstance(step, Fetch):
        source = registry.source(step.identifier, step.representation)
        return registry.selector(identifier, source, inside.part)
    return registry.described(identifier, inside.record, "", inside.part).part
