"""Metadata of a resource in the formats of others, and citations of it.

How it works: `described` puts together what can be said of a resource; `write` says it in a
format, `read` takes what a record in a format says, `perdure.metadata.citing` cites it. A format is
one file with a `Format` in it, which is an entry point in the group `perdure.metadata`.

    write(described(identifier, record, url), "datacite")

What must stay true: what `write` gives is valid in its format, whatever was said; what `read`
gives has passed `perdure.model.about.checked`. Libraries are imported when a format needs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from perdure.errors.describing import FormatNotRead, UnknownMetadataFormat
from perdure.ids import Identifier
from perdure.metadata import cmdi
from perdure.metadata.port import LARGEST, Described, Format, wrong
from perdure.model.about import About, Text, of_pairs
from perdure.model.records import Record, Representation, Version
from perdure.parts import Selector
from perdure.parts.media_types import strip_parameters
from perdure.plugins import load_plugins
from perdure.policy import naming

__all__ = ["GROUP", "LARGEST", "Described", "Format", "adopted", "by_media_type", "described",
           "find", "guess", "load_formats", "read", "with_part", "write"]  # fmt: skip

GROUP = "perdure.metadata"
_DERIVED = "Derived: read out of the document itself ({}), said by nobody."


@cache
def load_formats() -> dict[str, Format]:
    """All installed formats by their names in `?metadata=`, in the order in which lists show them.

    A format of another package that cannot be loaded, or that claims a name or a media type of
    another format, is logged and left out.
    """
    found = [plugin.value for plugin in load_plugins(GROUP, Format, _list_claims)]
    found.sort(key=lambda format: (format.place, format.name))
    return {format.name: format for format in found}


def _list_claims(format: Format) -> Iterator[tuple[str, str]]:
    names = (format.name, *format.aliases)
    if not all(name and name == name.lower() for name in names) or not format.media_types:
        raise ValueError(f"{format.name!r} needs lower-case names and a media type")
    if cmdi.NAME in names:
        raise ValueError(f"{cmdi.NAME!r} is the name of records that are attached")
    yield from (("name", name) for name in names)
    yield from (("media type", media_type) for media_type in format.media_types)


def find(name: str) -> Format:
    """The format of this name. Raises InvalidRequest."""
    lowered = name.lower()
    found = load_formats().get(lowered) or next(
        (one for one in load_formats().values() if lowered in one.aliases), None
    )
    if found is None:
        raise UnknownMetadataFormat(text=name, known=tuple(load_formats()))
    return found


def by_media_type(media_type: str) -> Format | None:
    """The format that a media type says; None for one that says none of ours."""
    essence = strip_parameters(media_type)
    return next((one for one in load_formats().values() if essence in one.media_types), None)


def guess(data: bytes) -> str:
    """The format that a record looks like, `cmdi` among them. Raises InvalidMetadata."""
    signatures = {one.name: one.signature for one in load_formats().values() if one.signature}
    signatures[cmdi.NAME] = cmdi.SIGNATURE
    matching = (name for name, signature in signatures.items() if signature.matches(data))
    found = min(matching, key=lambda name: signatures[name].generality, default=None)
    if found is None:
        known = ", ".join(load_formats())
        raise wrong("metadata", f"the format cannot be told: say which of {known}")
    return found


def write(what: Described, format: str) -> bytes:
    """A record in a format, as it is sent. Raises InvalidRequest for a format that is unknown."""
    return find(format).write(what)


def read(data: bytes, format: str) -> About:
    """What a record in a format says.

    Raises InvalidMetadata with line and reason, TooLarge, or InvalidRequest for a format that
    cannot be read and for what no description may hold.
    """
    found = find(format)
    if found.read is None:
        readable = tuple(one.name for one in load_formats().values() if one.read is not None)
        raise FormatNotRead(format=format, read=readable)
    return found.read(data)


def described(
    identifier: Identifier, record: Record, url: str, derived: About | None = None
) -> Described:
    """A resource as its formats need it. `url` is the actionable form of the identifier.

    What was described by nobody is what plain names and values say of it, else `derived`.
    """
    about = record.about or of_pairs(record.metadata)
    if derived is not None and about == About():
        mark = Text(value=_DERIVED.format(derived.derived), kind="TechnicalInfo", language="en")
        about = msgspec.structs.replace(derived, descriptions=(*derived.descriptions, mark))
    version, held = _held(identifier, record)
    return Described(
        identifier=identifier,
        about=about,
        url=url,
        at=_begin(record),
        media_type=held.media_type if held else "",
        length=held.length if held else None,
        sha512=held.sha512 if held else "",
        version=version.number if version and len(record.versions) > 1 else None,
    )


def adopted(about: About, identifier: Identifier, url: str) -> About:
    """A description that was read, as one of this resource: its own names need not be said."""
    bare = str(identifier).partition(":")[2]
    own = {str(identifier), identifier.urn, url} | (
        {bare} if identifier.kind == "handle" else set()
    )
    codes = tuple(one for one in about.codes if one.value not in own)
    return msgspec.structs.replace(about, codes=codes)


def _held(identifier: Identifier, record: Record) -> tuple[Version | None, Representation | None]:
    """The version and the representation that an identifier means, where it means just one."""
    number, format = naming.wanted(identifier)
    version = record.version(number) if number is not None else record.newest
    if version is None:
        return None, None
    if format is not None:
        return version, version.find(format)
    return version, version.representations[0] if len(version.representations) == 1 else None


def _begin(record: Record) -> str:
    """When there was something first; of a revised record without bytes, when it was revised."""
    return record.versions[0].at if record.versions else record.at


def with_part(what: Described, part: Selector | None) -> Described:
    """The same resource, of which a part is meant: type, size and digest are those of the whole."""
    if part is None:
        return what
    return msgspec.structs.replace(what, part=part, media_type="", length=None, sha512="")
