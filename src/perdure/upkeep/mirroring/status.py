"""The state of a mirror in words and figures, for `status`, `/readyz` and `/metrics`.

What must stay true: nothing is asked of the origin, and nothing is written.
"""

from __future__ import annotations

import time

import msgspec

from perdure.model.changes import parse_mark
from perdure.model.mirroring import Contradiction
from perdure.registry import Registry
from perdure.storage.mirrored_captures import MirroredCaptures, load_captures
from perdure.storage.origin import Acceptance, find_origin, load_state
from perdure.upkeep.mirroring.following import count_behind


class MirrorStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a mirror."""

    origin: str
    scopes: tuple[str, ...]
    sources: tuple[str, ...]
    verdict: str
    """`new`, `following`, `unreachable` or `stopped`."""
    fault: str
    at: str | None
    """The last change of the mirror."""
    origin_head: str
    """The last change that its origin told of."""
    behind: int | None
    """Changes that the origin has more; None if that is unknown."""
    lag: float | None
    """Seconds since the mirror last had everything; None if it never had."""
    missing: int
    """Documents whose bytes the origin could not give yet."""
    captures: MirroredCaptures | None
    """How far it has the archive files; None if they are not mirrored."""
    contradiction: Contradiction | None
    evidence: tuple[Contradiction, ...]
    accepted: tuple[Acceptance, ...]


def measure_mirror(registry: Registry) -> MirrorStatus | None:
    """Return how far a mirror is, or None if the registry is none. Raises Corrupt."""
    origin = find_origin(registry.root)
    if origin is None:
        return None
    head, state = registry.head(), load_state(registry.root)
    told = parse_mark(state.origin_head, current=0) if state else None
    behind = count_behind(told, head)
    now = time.time()
    lag = max(now - state.caught_up, 0.0) if state and state.caught_up else None
    return MirrorStatus(
        origin=origin.url,
        scopes=origin.scopes,
        sources=origin.sources,
        verdict=state.verdict if state else "new",
        fault=state.fault if state else "",
        at=str(head.mark) if head else None,
        origin_head=state.origin_head if state else "",
        behind=max(behind, 0) if behind is not None else None,
        lag=lag,
        missing=state.missing if state else 0,
        captures=load_captures(registry.root) if origin.captures else None,
        contradiction=state.contradiction if state else None,
        evidence=state.evidence if state else (),
        accepted=origin.accepted,
    )
