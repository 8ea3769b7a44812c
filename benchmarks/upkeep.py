"""Checking and copying a registry of redirects, against the plain ways to do both.

How it works: `verify` lets the store find the records that have bytes; the plain way reads each
record. `backup` copies the bytes of the registry file; the plain way is SQLite's own backup.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks import fixture
from benchmarks.loading import import_lines
from benchmarks.measure import Ratio, compare
from perdure.registry import Registry
from perdure.storage.sqlite import copies
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.records import SqliteRecords
from perdure.upkeep.audit import verify_digests
from perdure.upkeep.transfer.backup import back_up

_COUNT = min(1_000_000, fixture.COUNT)
_ROUNDS = 5


def run() -> list[Ratio]:
    registry, source = fixture.OUT / "upkeep", fixture.OUT / "upkeep.jsonl"
    fixture.OUT.mkdir(exist_ok=True)
    with source.open("w") as file:
        file.writelines(line for line, _ in zip(fixture.lines(), range(_COUNT), strict=False))
    import_lines(registry, source)
    source.unlink()
    try:
        return [*_verify(registry), *_back_up(registry)]
    finally:
        shutil.rmtree(registry)


def _verify(root: Path) -> Iterator[Ratio]:
    with Registry(root) as registry:

        def verify(*, bytes_only: bool) -> None:
            for found in verify_digests(registry.records, registry.bytes, bytes_only=bytes_only):
                raise AssertionError(found)

        row = compare(
            "verify, names without bytes / each read",
            lambda: verify(bytes_only=True),
            lambda: verify(bytes_only=False),
            work=_COUNT,
            unit="names/s",
            target=10,
            rounds=_ROUNDS,
        )
    yield row
    wanted = 5_000_000
    name = "verify, names without bytes / target"
    yield Ratio(name, row.ours, wanted, row.unit, row.ours / wanted, target=1.0)


def _back_up(root: Path) -> Iterator[Ratio]:
    target, pages = fixture.OUT / "upkeep-copy", fixture.OUT / "upkeep.sqlite"
    with Registry(root) as registry:

        def back_up_again() -> None:
            for _ in back_up(root, target, registry.store, registry.open_bytes):
                pass

        def copy_pages() -> None:
            pages.unlink(missing_ok=True)
            with closing(SqliteRecords(root)) as records:
                for _ in copies.copy_pages(records.connection, pages, 4096):
                    pass

        try:
            yield compare(
                "backup, once more / SQLite's own",
                back_up_again,
                copy_pages,
                work=(root / FILE).stat().st_size // 2**20,
                unit="MB/s",
                target=3,
                rounds=_ROUNDS,
            )
        finally:
            shutil.rmtree(target, ignore_errors=True)
            pages.unlink(missing_ok=True)
