"""The state of a registry in figures: what it holds, what it may do, when it was last kept safe.

How it works: `measure_holdings` reads only what costs the same for every size of registry, so that
`/metrics` can ask it at each scrape. `measure_registry` also counts names and documents, which
reads all records.

What must stay true: nothing is written.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import msgspec

from perdure.model.timestamps import format_timestamp
from perdure.reading.scanning import DamagedRecord, ScannedRecord, scan_readable
from perdure.registry import Registry
from perdure.storage import handover
from perdure.upkeep.milestones import Milestone, load_milestones

_PAGE = 1000


class Holdings(msgspec.Struct, frozen=True, kw_only=True):
    """Figures that cost little to read."""

    bytes: int
    """Length of all segments."""
    segments: int
    disk_free: int
    disk_size: int
    """Of the file system of the registry, in bytes."""
    head: str | None
    """Mark of the last change, such as `2.1042`. None if changes have no numbers yet."""
    epoch: int
    signs: tuple[str, ...]
    """Why this directory looks like a copy, which writes nothing. Empty if it is the registry."""
    backup: Milestone | None
    verification: Milestone | None


class RegistryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of a registry."""

    at: str
    names: int
    documents: int
    """Number of representations that are held."""
    withdrawn: int
    """Number of names that were withdrawn completely."""
    damaged: int
    """Number of records that cannot be read."""
    captures: int
    archive_files: int
    outdated_files: int
    """Archive files that an earlier release indexed, see `perdure archive reindex`."""
    series: tuple[str, ...]
    """Series that are resolved here, at most 1000, sorted.  # ruling: series-resolved"""
    minted: tuple[str, ...]
    """The series among them that are minted here."""
    closed: tuple[str, ...]
    """Series in which no number of today is given out."""
    holdings: Holdings


def measure_holdings(registry: Registry) -> Holdings:
    """Read the figures that cost little. Raises Corrupt or Unavailable."""
    segments = registry.records.list_segments()
    head = registry.head()
    disk = shutil.disk_usage(registry.root)
    last = load_milestones(registry.root)
    return Holdings(
        bytes=sum(length for _, length, _ in segments),
        segments=len(segments),
        disk_free=disk.free,
        disk_size=disk.total,
        head=str(head.mark) if head else None,
        epoch=head.epoch if head else 0,
        signs=tuple(registry.fence.list_signs()),
        backup=last.backup,
        verification=last.verification,
    )


def _scan_all(registry: Registry) -> Iterator[ScannedRecord | DamagedRecord]:
    low: str | None = ""
    while low is not None:
        page = scan_readable(registry.records, low, None, limit=_PAGE)
        yield from page.rows
        low = page.following


def measure_registry(registry: Registry) -> RegistryStatus:
    """Read all figures. Raises Corrupt or Unavailable."""
    now = format_timestamp(registry.clock())
    today = now[:10].replace("-", "/")
    days = handover.load_handover(registry.root)
    names = documents = withdrawn = damaged = 0
    for one in _scan_all(registry):
        names += 1
        if isinstance(one, DamagedRecord):
            damaged += 1
            continue
        documents += sum(len(version.representations) for version in one.record.versions)
        withdrawn += one.record.tombstone is not None
    files = registry.archive.list_files() if (registry.root / "captures").exists() else []
    return RegistryStatus(
        at=now,
        names=names,
        documents=documents,
        withdrawn=withdrawn,
        damaged=damaged,
        captures=sum(one.captures for one in files),
        archive_files=len(files),
        outdated_files=sum(one.is_outdated for one in files),
        series=registry.listings.list_series(registry.settings.series),
        minted=tuple(registry.settings.series),
        closed=tuple(one for one in registry.settings.series if days.is_closed(one, today)),
        holdings=measure_holdings(registry),
    )
