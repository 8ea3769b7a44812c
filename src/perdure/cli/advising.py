"""Look-ups for the advice that `mint` gives: the same bytes, bytes within others, names.

What must stay true: the look-ups are cheap, however much the registry holds. They cost one query
for each file and address, and search at most `_MOST_SEARCHED` bytes of documents that were minted
in the same series on the same day.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from perdure.ids import pdi
from perdure.ids.pdi import Pdi
from perdure.model.commands import Content
from perdure.model.records import Representation
from perdure.model.timestamps import format_timestamp
from perdure.policy.advice import (
    AddressFragment,
    Advice,
    ExistingName,
    Slice,
    find_names,
    list_advice,
)
from perdure.policy.naming import qualify_identifier
from perdure.registry import Registry

_MOST_SEARCHED = 64 << 20  # bytes
_MOST_DOCUMENTS = 256
_LONGEST_SLICE = 1 << 20  # bytes


def collect_advice(
    registry: Registry,
    authority: str,
    contents: Sequence[Content],
    *,
    files: Sequence[str] = (),
    locations: Sequence[str] = (),
    metadata: Mapping[str, str] | None = None,
) -> tuple[Advice, ...]:
    """Return the advice on a mint that is about to happen."""
    same = [str(one) for held in contents for one in registry.listings.find_same_bytes(held.sha512)]
    slices: list[Slice] = []
    if not same:
        slices = [one for held in contents for one in _find_slices(registry, authority, held)]
    return list_advice(
        same=same,
        slices=slices,
        fragments=_find_fragments(registry, locations),
        names=_find_names(files, locations, metadata or {}),
    )


def _find_slices(registry: Registry, authority: str, content: Content) -> Iterator[Slice]:
    data = content.data
    if data is None or not data or len(data) > _LONGEST_SLICE:
        return
    searched = 0
    for name, held in _walk_today(registry, authority):
        searched += held.length
        if searched > _MOST_SEARCHED:
            return
        if held.length <= len(data):
            continue
        at = registry.documents.open_source(name, held).read_bytes().find(data)
        if at >= 0:
            yield Slice(str(name), at, at + len(data))
            return


def _walk_today(registry: Registry, authority: str) -> Iterator[tuple[Pdi, Representation]]:
    if authority not in registry.settings.series:
        return
    day = format_timestamp(registry.clock())[:10].replace("-", "/")
    page = registry.listings.list_page(
        pdi.parse_pdi(f"pdi://{authority}/{day}/"), limit=_MOST_DOCUMENTS
    )
    for one in islice(page.records, _MOST_DOCUMENTS):
        name, record = one.identifier, one.record
        for version in () if record.tombstone else record.versions:
            for held in version.representations if not version.tombstone else ():
                exact = qualify_identifier(name, version.number, held.format)
                if isinstance(exact, Pdi):
                    yield exact, held


def _find_fragments(registry: Registry, locations: Sequence[str]) -> Iterator[AddressFragment]:
    for location in locations:
        whole, mark, fragment = location.partition("#")
        if mark and fragment:
            for one in registry.listings.find_bound(whole):
                yield AddressFragment(str(one), fragment)


def _find_names(
    files: Sequence[str], locations: Sequence[str], metadata: Mapping[str, str]
) -> Iterator[ExistingName]:
    for name, value in metadata.items():
        yield from find_names(value, about=name)
    for file in files:
        if file != "-":
            yield from find_names(Path(file).name)
    for location in locations:
        yield from find_names(location)
