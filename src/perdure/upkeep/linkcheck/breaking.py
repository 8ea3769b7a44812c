"""Breaking the bindings to locations whose content has changed.

"If the URI changes, the indirect binding MUST be broken, and the original machine representation
associated directly with the PDI" (section 3.6.2). How it works: after a run, every record that is
bound to a location with the verdict `drift` and promised other content gets a `Break` with the
evidence: the digest before and after, the time and the answer. It stays in the record. If the
original bytes are not held here, their promise stays, too: nothing else can take their place.
# ruling: drift

What must stay true: a record is broken only as it was when its promise was compared; a location
without a digest or a size promised nothing, and is never broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from perdure.errors import PerdureError
from perdure.ids import Identifier
from perdure.model.commands import Break
from perdure.model.records import Location, LocationDrift, Record
from perdure.policy.binding import find_location
from perdure.policy.naming import identify_record
from perdure.registry import Registry
from perdure.upkeep.linkcheck.health import Health
from perdure.upkeep.linkcheck.verdict import LinkFinding, LinkVerdict

ACTOR = "check-links"
"""The author of such a change."""


class DriftOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A binding to a location whose content has changed."""

    identifier: str
    uri: str
    is_held: bool
    """True if the original bytes are held here."""
    problem: PerdureError | None = None
    """The reason why the binding could not be broken."""


def break_drifted(registry: Registry, findings: Iterable[LinkFinding]) -> Iterator[DriftOutcome]:
    """Break every binding that promised other content than was found, and yield each."""
    for finding in findings:
        if finding.verdict is not LinkVerdict.DRIFT:
            continue
        for key in registry.records.find_referring(f"location:{finding.uri}"):
            while (record := registry.records.find_record(key)) is not None:
                drift = next(list_drifts(record, finding), None)
                if drift is None:
                    break
                outcome = _break_binding(registry, identify_record(key, record), record, drift)
                yield outcome
                if outcome.problem is not None:
                    break


def find_evidence(
    health: Health, identifier: Identifier, record: Record, uri: str
) -> LocationDrift | None:
    """Return the evidence of the last link check that a location changed, or None.

    A person who breaks the binding needs no other reason. Raises InvalidRequest if the identifier
    is not bound to the location.
    """
    location = find_location(identifier, record, uri)
    finding = health.read_findings((uri,)).get(uri)
    if finding is None or finding.verdict is not LinkVerdict.DRIFT:
        return None
    drift = _compare(location, finding)
    return drift if drift.is_proven else None


def list_drifts(record: Record, finding: LinkFinding) -> Iterator[LocationDrift]:
    """Yield the evidence for each location of a record that the finding contradicts."""
    for location in record.locations:
        if location.uri == finding.uri and record.tombstone is None:
            drift = _compare(location, finding)
            if drift.is_proven:
                yield drift


def _compare(location: Location, finding: LinkFinding) -> LocationDrift:
    return LocationDrift(
        uri=location.uri,
        version=location.version,
        format=location.format,
        sha512=location.sha512,
        size=location.size,
        found_sha512=finding.sha512,
        found_size=finding.size,
        status=finding.status,
        at=finding.checked,
    )


def _break_binding(
    registry: Registry, identifier: Identifier, record: Record, drift: LocationDrift
) -> DriftOutcome:
    held = {one.sha512 for version in record.versions for one in version.representations}
    command = Break(
        by=ACTOR, identifier=identifier, uri=drift.uri, evidence=drift, expect=record.revision
    )
    problem = None
    try:
        registry.door.execute_command(command)
    except PerdureError as error:
        problem = error
    return DriftOutcome(
        identifier=str(identifier),
        uri=drift.uri,
        is_held=drift.sha512 in held,
        problem=problem,
    )
