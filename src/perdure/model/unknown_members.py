"""The members of a JSON object that its type does not have.

How it works: types are inspected once. Decoding ignores unknown members of stored types, since a
later release may have written them. Where a person wrote the object, such a member is usually a
misspelt one, and must not be lost without a word.

>>> from perdure.model.about import About
>>> list_unknown({"titel": "T", "titles": [{"value": "T", "lang": "de"}]}, About)
('titel', 'titles.lang')
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import inspect


def list_unknown(value: Any, kind: type) -> tuple[str, ...]:
    """List the paths of members that a type does not have, each once, in their order."""
    return tuple(dict.fromkeys(_walk_unknown(value, _inspect_type(kind), "")))


@cache
def _inspect_type(kind: type) -> inspect.Type:
    return inspect.type_info(kind)


def _walk_unknown(value: Any, kind: inspect.Type, before: str) -> Iterator[str]:
    match kind:
        case inspect.UnionType(types=kinds):
            for one in kinds:
                yield from _walk_unknown(value, one, before)
        case inspect.VarTupleType(item_type=item) if isinstance(value, list):
            for one in value:
                yield from _walk_unknown(one, item, before)
        case inspect.StructType(fields=fields) if isinstance(value, dict):
            known = {one.encode_name: one.type for one in fields}
            for name, inner in value.items():
                if name in known:
                    yield from _walk_unknown(inner, known[name], f"{before}{name}.")
                else:
                    yield f"{before}{name}"
