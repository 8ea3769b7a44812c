"""Removing withdrawn and erased records from indexes at once, and not at the next search.

How it works: the indexes of words, of citations, of members, of triples and of passages follow the
changes, beside the commit, and may be far behind. The process that carries out a withdrawal
therefore indexes this one record again, out of its turn, before it answers: what is withdrawn has
no rows. If another process brings an index up to date just then, that process does the same,
because it goes on to the last change.

What must stay true: an index that does not exist is not made; the call can be repeated. Only if
numpy is not installed where the withdrawal is carried out, the fingerprints of passages stay until
the next `perdure index`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perdure.registry import Registry

_WAIT = 5.0  # seconds


def forget_withdrawn(registry: Registry) -> None:
    """Let a registry that may write remove what its indexes keep of withdrawn records."""
    registry.forget_record = partial(forget_record, registry)


def forget_record(registry: Registry, key: str) -> None:
    """Index a record again that was withdrawn. Raises OSError or StorageFailed."""
    from perdure.upkeep import quotations  # few processes withdraw anything
    from perdure.upkeep.citations import citation_index
    from perdure.upkeep.collection import membership_index as memberships
    from perdure.upkeep.indexing import has_passages
    from perdure.upkeep.triples import updating as triples

    _forget_words(registry, key)
    if (registry.root / citation_index.FILE).exists():
        citations = citation_index.CitationIndex(registry)
        try:
            with citations.hold_lock():
                citations.index_keys((key,), registry.records)
        finally:
            citations.close()
    memberships.forget_record(registry, key)
    triples.forget_record(registry, key)
    if (registry.root / quotations.FILE).exists() and has_passages():
        from perdure.upkeep.quotations.passage_index import PassageIndex

        passages = PassageIndex(registry)
        try:
            with passages.hold_lock():
                passages.index_keys((key,), registry.records)
        finally:
            passages.close()


def forget_captures(registry: Registry) -> None:
    """Remove what the index of words keeps of captures that were taken down.

    Raises OSError or StorageFailed.
    """
    _forget_words(registry)


def _forget_words(registry: Registry, *keys: str) -> None:
    """Index records again that were withdrawn, and delete the captures that were taken down."""
    from perdure.upkeep.searching import indexing, updating

    if not (registry.root / indexing.FILE).exists():
        return
    with updating.hold_lock(registry.root / updating.LOCK, _WAIT) as is_held:
        if is_held:
            words = indexing.WordIndex(registry)
            try:
                words.index_keys(keys, registry.records)
                words.delete_taken_down()
                words.purge()
            finally:
                words.close()
