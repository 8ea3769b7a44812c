"""The representations of a record in a mirror, and the places of their bytes in its stored form.

What must stay true: a stored form stays as the origin wrote it, but for the places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count

import msgspec

from perdure.model.commands import Content
from perdure.model.records import Record, Representation

PLACE = re.compile(r'"segment":\d+,"offset":\d+')
PLACELESS = re.compile(r'"segment":0,"offset":0')


def list_held(record: Record) -> Iterator[tuple[int, Representation]]:
    """Yield the representations of a record in the order in which its stored form has them."""
    for version in record.versions:
        for one in version.representations:
            yield version.number, one


def find_held(record: Record | None, number: int, format: str) -> Representation | None:
    """Return a representation of a record, or None."""
    version = record.version(number) if record else None
    return version.find_representation(format) if version else None


def is_served(record: Record, number: int, held: Representation) -> bool:
    """Return True if bytes are neither withdrawn nor erased, as far as a record says."""
    return not is_withdrawn(record, number) and not held.is_erased


def is_withdrawn(record: Record, number: int) -> bool:
    """Return True if a version, or the complete resource, is withdrawn."""
    version = record.version(number)
    return bool(record.tombstone or (version and version.tombstone))


def describe_content(content: Content, held: Representation) -> Content:
    """Fetched bytes with the facts that a record has about them."""
    return msgspec.structs.replace(
        content, media_type=held.media_type, charset=held.charset, language=held.language
    )


def substitute_places(
    pattern: re.Pattern[str], text: str, places: Sequence[tuple[int, int]]
) -> str:
    """Replace the places in a stored form, in their order."""
    index = count()
    return pattern.sub(lambda _: _spell_place(places[next(index)]), text)


def _spell_place(place: tuple[int, int]) -> str:
    return f'"segment":{place[0]},"offset":{place[1]}'
