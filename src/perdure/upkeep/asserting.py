"""Storing and retracting assertions: what the commands and the server do.

How it works: `store_assertion` reads an assertion, checks that the names of this registry that it
is about exist, and mints it as a document; the registrar reads from its bytes which names these
are. `retract_assertion` stores a further assertion about one.

What must stay true: an assertion is stored byte for byte, and nothing of a refused one is kept. The
records of the names that it is about do not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from perdure.errors import NotFound, PerdureError, UnknownAuthority
from perdure.errors.assertions import AssertionMalformed, RetractionForeign
from perdure.errors.cutting import PartElsewhere
from perdure.ids import Identifier
from perdure.ids.name_set import make_set
from perdure.model.assertions import MEDIA_TYPE, Assertion, read_assertion, write_assertion
from perdure.model.commands import Content, Mint, Receipt
from perdure.model.conjunctions import is_conjunction, list_conjuncts, write_conjunction
from perdure.model.queries import LOCAL_READER, Fetch, Query, Reader
from perdure.model.records import LOCAL
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.storage.spool import make_content
from perdure.upkeep.signing import choose_series

FORMAT = "jsonld"
_TOGETHER = 200  # assertions in one durable step


def store_assertion(
    registry: Registry,
    data: bytes,
    *,
    series: str = "",
    by: str = LOCAL,
    once: str | None = None,
    reader: Reader = LOCAL_READER,
) -> Receipt:
    """Store an assertion. `series` is its own; if it is empty, that of its first target or else the
    first one of the registry.

    Raises the errors of `check_assertion`.
    """
    assertion = check_assertion(registry, data, reader)
    return registry.door.execute_command(
        plan_assertion(registry, assertion, data, series=series, by=by, once=once)
    )


def conjoin_parts(
    registry: Registry,
    parts: Sequence[Identifier],
    *,
    body: str = "",
    series: str = "",
    by: str = LOCAL,
) -> Receipt:
    """Mint an identifier for several parts together, whose document says which they are.

    Each part has a format and a version. `body` says what they have in common. Raises
    ConjunctionMalformed, and the errors of `check_assertion`.
    """
    created = format_timestamp(registry.clock())
    data = write_conjunction(tuple(map(str, parts)), body=body, created=created)
    return store_assertion(registry, data, series=series, by=by)


class StoredLine(NamedTuple):
    """The outcome of a line: a receipt, or the error for which it was refused."""

    number: int
    receipt: Receipt | None
    error: PerdureError | None


def store_assertions(
    registry: Registry, lines: Iterable[bytes], *, series: str = "", by: str = LOCAL
) -> Iterator[StoredLine]:
    """Store assertions, one per line, many in one durable step. A refused one stops no other."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    while batch := list(islice(numbered, _TOGETHER)):
        plans: dict[int, Mint | PerdureError] = {}
        for number, line in batch:
            try:
                said = check_assertion(registry, line)
                plans[number] = plan_assertion(registry, said, line, series=series, by=by)
            except PerdureError as error:
                plans[number] = error
        planned = [(number, one) for number, one in plans.items() if isinstance(one, Mint)]
        answers = registry.door.execute_commands([one for _, one in planned])
        outcome = plans | dict(zip((number for number, _ in planned), answers, strict=True))
        for number, one in outcome.items():
            yield StoredLine(
                number,
                one if isinstance(one, Receipt) else None,
                one if isinstance(one, PerdureError) else None,
            )


def check_assertion(registry: Registry, data: bytes, reader: Reader = LOCAL_READER) -> Assertion:
    """Read an assertion to store.

    Raises the errors of `read_assertion`, ConjunctionMalformed, and the errors of reading a target
    of this registry, such as NotFound or PartOutOfRange.
    """
    assertion = read_assertion(data)
    list_conjuncts(assertion)
    for target in assertion.about:
        check_known(registry, target, reader)
    return assertion


def plan_assertion(
    registry: Registry,
    assertion: Assertion,
    data: bytes,
    *,
    series: str = "",
    by: str = LOCAL,
    bearer: str = "",
    once: str | None = None,
) -> Mint:
    """Return the command that stores an assertion. Raises UnknownAuthority."""
    return Mint(
        authority=series or _choose_series(registry, assertion),
        contents=(make_assertion_content(data),),
        metadata={"title": _write_title(assertion)},
        by=by,
        bearer=bearer,
        once=once,
    )


def _write_title(assertion: Assertion) -> str:
    kind = "Conjunction of" if is_conjunction(assertion) else "Assertion about"
    first, *others = assertion.targets
    return f"{kind} {first.iri}" + (f" and {len(others)} more" if others else "")


def _choose_series(registry: Registry, assertion: Assertion) -> str:
    """The series in which an assertion is minted. Raises UnknownAuthority."""
    if assertion.about:
        return choose_series(registry, assertion.about[0])
    owned = registry.settings.series
    if not owned:
        raise UnknownAuthority(authority="", known=())
    return owned[0]


def make_assertion_content(data: bytes) -> Content:
    """The document of an assertion, ready for a command."""
    return make_content(data, format=FORMAT, media_type=MEDIA_TYPE, charset="utf-8")


def write_retraction(registry: Registry, name: Identifier, reason: str) -> bytes:
    """Write the assertion that retracts another one."""
    created = format_timestamp(registry.clock())
    return write_assertion((str(name),), ("retracts",), body=reason, created=created)


def retract_assertion(
    registry: Registry, name: Identifier, reason: str = "", *, by: str = LOCAL
) -> Receipt:
    """Retract an assertion by a further one, which says why.

    Raises NotFound, AssertionMalformed if the name is not that of an assertion, or
    RetractionForeign if another actor made it.
    """
    registry.reading.resolve(Query(identifier=name, reader=LOCAL_READER))
    check_retraction(registry, name, by)
    return store_assertion(registry, write_retraction(registry, name, reason), by=by)


def check_retraction(registry: Registry, name: Identifier, by: str) -> None:
    """Raise an error unless a name is that of an assertion, and its actor is `by`."""
    held = registry.assertions.find_assertion(name.resource, LOCAL_READER)
    if held is None:
        raise AssertionMalformed(place="target", expected="the name of an assertion to retract")
    if held.by != by:
        raise RetractionForeign(identifier=str(name), who=by, by=held.by)


def check_known(registry: Registry, target: Identifier, reader: Reader = LOCAL_READER) -> None:
    """Raise an error if a name belongs to this registry, and names nothing that is known.

    A citation names something if it has a verdict: its sides, its origin and its part exist.
    """
    if target.is_citation:
        if is_kept_here(registry, target.whole):
            registry.citations.check_citation(target, reader)  # whatever its verdict is
        return
    if not is_kept_here(registry, target):
        return
    if target.is_pattern:
        registry.listings.require_known(make_set(target))
        return
    resolved = registry.reading.resolve(Query(identifier=target, reader=reader))
    try:
        step = resolved.require_step()
    except PartElsewhere:
        return
    if isinstance(step, Fetch) and resolved.inside is not None:
        registry.documents.select_part(resolved)


def resolve_subject(
    registry: Registry, name: Identifier, reader: Reader = LOCAL_READER
) -> Identifier:
    """Return the name whose assertions are meant: that of which a name is an alias, or itself.

    Raises an error if a name belongs to this registry, and names nothing that is known.
    """
    if name.is_pattern or name.is_citation:
        check_known(registry, name, reader)
        return name
    try:
        resolved = registry.reading.resolve(Query(identifier=name, reader=reader))
    except NotFound:
        if name.assigned_under in registry.settings.series:
            raise
        return name
    if resolved.record is not None:
        resolved.require_known()
    return resolved.identifier


def is_kept_here(registry: Registry, name: Identifier) -> bool:
    """Return whether a name belongs to a series of this registry, or is known to it."""
    if name.assigned_under in registry.settings.series:
        return True
    return not name.is_pattern and registry.listings.find_record(name.whole) is not None
