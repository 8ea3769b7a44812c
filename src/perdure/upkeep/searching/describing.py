"""The description of a held document, for the index and for the comparison of what it finds."""

from __future__ import annotations

from contextlib import suppress

from perdure.errors import PerdureError
from perdure.extractors.inside.derived import describe_document, has_inside
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.model.about import About
from perdure.model.records import Level, Record, Representation
from perdure.policy.levels import is_resource_described
from perdure.policy.searching.described import DescribedWords, describe_words
from perdure.reading.documents import DescribeInside
from perdure.registry import Registry


def describe_held(
    registry: Registry,
    name: Identifier,
    record: Record,
    version: int,
    held: Representation,
    describe: DescribeInside = describe_document,
) -> DescribedWords:
    """Return the texts of the description of a document, as its readers see them.

    If the resource has no description, they are what the document says of itself, which
    `describe` reads unless it was read before.
    """
    level = Level(version=version, format=held.format)
    return describe_words(record, level, _read_inside(registry, name, record, held, describe))


def _read_inside(
    registry: Registry,
    name: Identifier,
    record: Record,
    held: Representation,
    describe: DescribeInside,
) -> About | None:
    if not has_inside(strip_parameters(held.media_type)) or is_resource_described(record):
        return None
    with suppress(PerdureError):  # the bytes are missing: noted where the text is read
        source = registry.documents.open_source(name, held)
        return registry.documents.read_inside(source, describe)
    return None
