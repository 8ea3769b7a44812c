"""perdure's own format: a description as JSON, without loss.

Specification: docs/reference/metadata.md; the members are those of `perdure.model.about.About`.
"""

from __future__ import annotations

import msgspec

from perdure.errors.limits import MetadataTooLarge
from perdure.errors.records import quote_parser
from perdure.metadata.port import LARGEST, DescribedResource, Format, Signature
from perdure.model.about import About
from perdure.model.description_checks import check_description
from perdure.model.plain_words import spell_degrees
from perdure.model.unknown_members import list_unknown

_NAME = "json"


def write_record(described: DescribedResource) -> bytes:
    """Write the description, without its empty members."""
    return msgspec.json.format(msgspec.json.encode(described.about), indent=2) + b"\n"


def read_record(data: bytes) -> About:
    """Read a description. Raises InvalidMetadata or TooLarge."""
    if len(data) > LARGEST:
        raise MetadataTooLarge(format=_NAME, limit=LARGEST)
    try:
        members = spell_degrees(msgspec.json.decode(data))
        return check_description(msgspec.convert(members, About))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise quote_parser(_NAME, "msgspec", error) from None


def list_unread(data: bytes) -> tuple[str, ...]:
    """List the members of a record, or of a merge patch, that no description has.

    >>> list_unread(b'{"titel": "T", "titles": [{"value": "T", "lang": "de"}]}')
    ('titel', 'titles.lang')
    """
    return list_unknown(msgspec.json.decode(data), About)


FORMAT = Format(
    name=_NAME,
    title="perdure's own JSON",
    media_types=("application/vnd.perdure.about+json",),
    write=write_record,
    read=read_record,
    list_unread=list_unread,
    signature=Signature(opening=(b"{", b"["), generality=2),
    place=80,
)
