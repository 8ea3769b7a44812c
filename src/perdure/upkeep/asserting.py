"""Storing and retracting assertions.

How it works: `store_assertion` reads an assertion, checks that the names of this registry that it
is about exist, and mints it as a document whose record has them as targets. `retract_assertion`
stores a further assertion about one.

What must stay true: an assertion is stored byte for byte, and nothing of a refused one is kept. The
records of the names that it is about do not change.
"""

from __future__ import annotations

from perdure.errors import NotFound
from perdure.errors.assertions import AssertionMalformed
from perdure.ids import Identifier
from perdure.model.assertions import MEDIA_TYPE, read_assertion, write_assertion
from perdure.model.commands import Mint, Receipt
from perdure.model.records import LOCAL
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.storage.spool import make_content
from perdure.upkeep.signing import choose_series

FORMAT = "jsonld"


def store_assertion(
    registry: Registry, data: bytes, *, series: str = "", by: str = LOCAL, once: str | None = None
) -> Receipt:
    """Store an assertion. `series` is its own; if it is empty, that of its first target or else the
    first one of the registry.

    Raises the errors of `read_assertion`, AssertionMalformed if it is about no identifier, and
    NotFound if a target of a series of this registry does not exist.
    """
    about = read_assertion(data).about
    if not about:
        expected = "an identifier, at least one: addresses alone cannot be found again"
        raise AssertionMalformed(place="target", expected=expected)
    for target in about:
        _check_target(registry, target)
    content = make_content(data, format=FORMAT, media_type=MEDIA_TYPE, charset="utf-8")
    return registry.door.execute_command(
        Mint(
            authority=series or choose_series(registry, about[0]),
            contents=(content,),
            targets=about,
            metadata={"title": f"Assertion about {about[0]}"},
            by=by,
            once=once,
        )
    )


def retract_assertion(
    registry: Registry, name: Identifier, reason: str = "", *, by: str = LOCAL
) -> Receipt:
    """Retract an assertion by a further one, which says why. Raises NotFound."""
    created = format_timestamp(registry.clock())
    data = write_assertion((str(name),), ("retracts",), body=reason, created=created)
    return store_assertion(registry, data, by=by)


def _check_target(registry: Registry, target: Identifier) -> None:
    """Raise NotFound if a target belongs to a series of this registry, and does not exist."""
    if target.is_interval or target.is_pattern or target.is_citation:
        return
    if target.assigned_under not in registry.settings.series:
        return
    if registry.listings.find_record(target.whole) is None:
        raise NotFound(identifier=str(target))
