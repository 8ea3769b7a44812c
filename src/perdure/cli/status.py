"""The state of a registry on one screen: `status`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import click

from perdure.cli.command import PerdureCommand, here
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.upkeep.milestones import Milestone
    from perdure.upkeep.status import RegistryStatus

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_HOUR, _DAY = 3600, 86400
_MOST_SERIES = 10
_FEW = 2  # days or hours: from here on the larger unit is used


@click.command(cls=PerdureCommand)
def status() -> None:
    """Show what the registry holds, when it was last backed up and verified, and what is amiss.

    Reads all records, but no bytes. /metrics shows the figures that cost less.
    """
    from perdure.upkeep.status import measure_registry

    with here().open_registry() as registry:
        found = measure_registry(registry)
    here().print_answer(found, "\n".join(f"{name:10}{text}" for name, text in _write_lines(found)))


def _write_lines(found: RegistryStatus) -> Iterator[tuple[str, str]]:
    holdings = found.holdings
    yield "registry", f"{here().root.resolve()}, last change {holdings.head or 'not numbered yet'}"
    copy = f"a copy, which writes nothing until 'perdure promote': {'; '.join(holdings.signs)}"
    yield "state", copy if holdings.signs else "the registry itself, no copy"
    for series in found.series[:_MOST_SERIES]:
        yield "series", f"{series}, {'minted here' if series in found.minted else 'resolved here'}"
    if len(found.series) > _MOST_SERIES:
        yield (
            "series",
            f"{len(found.series) - _MOST_SERIES:,} more; see 'perdure list --authorities'",
        )
    for series in found.closed:
        yield "numbers", f"none of {series} today, see 'perdure promote --help'"
    yield "names", f"{found.names:,}, {found.withdrawn:,} of them withdrawn"
    if found.damaged:
        damaged = count_things(found.damaged, "record", grouped=True)
        yield "damaged", f"{damaged} cannot be read; run 'perdure verify'"
    yield "documents", f"{found.documents:,}"
    segments = count_things(holdings.segments, "segment", grouped=True)
    yield "bytes", f"{_write_size(holdings.bytes)} in {segments}"
    yield "captures", f"{found.captures:,} in {found.archive_files:,} archive files"
    if found.outdated_files:
        outdated = count_things(found.outdated_files, "archive file", grouped=True)
        yield "outdated", f"index entries of {outdated}; run 'perdure archive reindex'"
    yield "backup", _write_milestone(holdings.backup, found.at)
    yield "verified", _write_milestone(holdings.verification, found.at)
    share = holdings.disk_free / max(holdings.disk_size, 1)
    size = f"{_write_size(holdings.disk_free)} of {_write_size(holdings.disk_size)}"
    yield "disk free", f"{size}, {share:.0%}"


def _write_milestone(done: Milestone | None, now: str) -> str:
    if done is None:
        return "never"
    age = datetime.fromisoformat(now) - datetime.fromisoformat(done.at)
    target = (
        f", to {done.target}"
        if done.target
        else f", {count_things(done.problems, 'problem', grouped=True)}"
    )
    return f"{_write_age(int(age.total_seconds()))} ago ({done.at}){target}"


def _write_age(seconds: int) -> str:
    """Write a duration in its largest unit.

    >>> _write_age(90), _write_age(7300), _write_age(200_000)
    ('1 minute', '2 hours', '2 days')
    """
    if seconds >= _FEW * _DAY:
        return count_things(seconds // _DAY, "day")
    if seconds >= _FEW * _HOUR:
        return count_things(seconds // _HOUR, "hour")
    return count_things(max(seconds, 0) // 60, "minute")


def _write_size(size: float) -> str:
    """Write a number of bytes with a decimal prefix.

    >>> _write_size(999), _write_size(12_300_000)
    ('999 bytes', '12.3 MB')
    """
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size /= 1000
        unit += 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size:.0f} {_UNITS[0]}"
