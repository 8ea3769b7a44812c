"""Opening the index of triples, which follows the changes of a registry."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

from perdure.registry import Registry
from perdure.upkeep.indexing import reporting_failures
from perdure.upkeep.triples.library import has_pyoxigraph, load_pyoxigraph
from perdure.upkeep.triples.triple_index import FILE, TripleIndex


@contextlib.contextmanager
def open_triples(registry: Registry) -> Iterator[TripleIndex]:
    """Open the index of triples as it is. Raises MissingLibrary or FollowerFailed."""
    load_pyoxigraph()
    with (
        reporting_failures("the index of triples"),
        contextlib.closing(TripleIndex(registry)) as index,
    ):
        yield index


def forget_record(registry: Registry, key: str) -> None:
    """Remove the triples of a record that was withdrawn; without the library, remove all triples.

    Raises OSError or StorageFailed.
    """
    file = registry.root / FILE
    if not file.exists():
        return
    if not has_pyoxigraph():  # they can be made again
        shutil.rmtree(file.with_suffix(""), ignore_errors=True)
        for one in file.parent.glob(f"{file.name}*"):
            one.unlink()
        return
    with contextlib.closing(TripleIndex(registry)) as index:
        index.purge_key(key)


def is_wanted(registry: Registry) -> bool:
    """Return True if the triples are kept: queries over HTTP are on, or one was asked before."""
    used = registry.settings.sparql == "on" or (registry.root / FILE).exists()
    return used and has_pyoxigraph()
