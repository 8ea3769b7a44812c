"""Making the public record of an identifier from the record that the public may see.

What must stay true: the record came through the read door for the public reader; values of a handle
that are not for everyone are left out.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.ids import Identifier
from perdure.model.public_records import (
    NamedText,
    PublicCorrection,
    PublicEnding,
    PublicErasure,
    PublicFormat,
    PublicRecord,
    PublicValue,
    PublicVersion,
)
from perdure.model.records import Correction, Record, Representation, Tombstone, Value, Version
from perdure.policy.handles.values import is_public
from perdure.policy.naming import qualify_identifier

Locate = Callable[[Identifier], str]
"""Returns the address at which an identifier is resolved."""


def make_public_record(identifier: Identifier, record: Record, locate: Locate) -> PublicRecord:
    """Make the public record of a resource from what the read door shows to the public."""
    name = identifier.resource
    return PublicRecord(
        identifier=str(name),
        url=locate(name),
        at=record.at,
        minted=record.minted,
        aliases=record.aliases,
        targets=record.targets,
        versions=tuple(_show_version(name, one, locate) for one in record.versions),
        locations=record.locations,
        broken=_show_ending(record.broken),
        drifts=record.drifted,
        values=tuple(_show_value(one) for one in record.values if is_public(one)),
        pairs=tuple(NamedText(name=key, value=value) for key, value in record.metadata.items()),
        about=record.about,
        attachments=record.attached,
        descriptions=record.narrower,
    )


def _show_version(name: Identifier, version: Version, locate: Locate) -> PublicVersion:
    return PublicVersion(
        number=version.number,
        at=version.at,
        formats=tuple(_show_format(name, version, one, locate) for one in version.representations),
        withdrawn=_show_ending(version.tombstone),
        broken=_show_ending(version.broken),
    )


def _show_format(
    name: Identifier, version: Version, held: Representation, locate: Locate
) -> PublicFormat:
    is_served = version.tombstone is None and not held.is_erased
    return PublicFormat(
        url=locate(qualify_identifier(name, version.number, held.format)) if is_served else "",
        format=held.format,
        media_type=held.media_type,
        charset=held.charset,
        language=held.language,
        length=held.length if held.is_shown else None,
        sha512=held.sha512,
        at=held.at or version.at,
        corrections=tuple(map(_show_correction, held.corrections)),
        erased=held.erased,
        erasures=tuple(PublicErasure(start=one.start, end=one.end) for one in held.blanks),
        original=held.original,
    )


def _show_correction(one: Correction) -> PublicCorrection:
    return PublicCorrection(before=one.before, after=one.after, at=one.at, reason=one.reason)


def _show_ending(one: Tombstone | None) -> PublicEnding | None:
    return None if one is None else PublicEnding(reason=one.reason, at=one.at)


def _show_value(one: Value) -> PublicValue:
    fields = {name: getattr(one, name) for name in PublicValue.__struct_fields__}
    return PublicValue(**fields)
