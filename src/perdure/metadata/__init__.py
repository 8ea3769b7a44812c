"""Metadata of a resource in standard formats, and citations of it.

How it works: `write_record` writes a `DescribedResource` in a format, `read_record` reads a record
in a format, and `perdure.metadata.citing` cites the resource. `perdure.reading.described` makes
the `DescribedResource`. Each format is one file with a `Format` in it, which is an entry point in
the group `perdure.metadata`.

    write_record(describe_resource(identifier, record, url), "datacite")

What must stay true: `write_record` returns a valid record of its format for every description;
`read_record` returns only descriptions that `perdure.model.description_checks` accepts.
Libraries are imported when a format needs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from perdure.errors.describing import FormatNotRead, UnknownMetadataFormat
from perdure.errors.limits import MetadataTooLarge
from perdure.errors.records import MembersUnknown, RecordNotRecognised
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.metadata import cmdi
from perdure.metadata.port import LARGEST, DescribedResource, Format
from perdure.model.about import About
from perdure.model.merging import drop_empty_items, leave_out_unsaid, read_patch
from perdure.plugins import InvalidClaim, load_plugins

__all__ = [
    "GROUP",
    "LARGEST",
    "DescribedResource",
    "Format",
    "adopt_description",
    "find_by_media_type",
    "find_format",
    "guess_format",
    "list_unread",
    "load_formats",
    "read_merge_patch",
    "read_record",
    "write_record",
]  # fmt: skip

GROUP = "perdure.metadata"
_NOTHING = About()
_MEMBERS = frozenset(About.__struct_encode_fields__)


@cache
def load_formats() -> dict[str, Format]:
    """Installed formats by their names in `?metadata=`, in the order in which lists show them.

    If a format of another package cannot be loaded, or claims a name or media type that another
    format has, it is logged and left out.
    """
    found = [plugin.value for plugin in load_plugins(GROUP, Format, _list_claims)]
    found.sort(key=lambda format: (format.place, format.name))
    return {format.name: format for format in found}


def _list_claims(format: Format) -> Iterator[tuple[str, str]]:
    names = (format.name, *format.aliases)
    if not all(name and name == name.lower() for name in names) or not format.media_types:
        raise InvalidClaim("names", format.name)
    if cmdi.NAME in names:
        raise InvalidClaim("reserved", cmdi.NAME)
    yield from (("name", name) for name in names)
    yield from (("media type", media_type) for media_type in format.media_types)


def find_format(name: str) -> Format:
    """Return the format with this name or alias. Raises InvalidRequest."""
    lowered = name.lower()
    found = load_formats().get(lowered) or next(
        (one for one in load_formats().values() if lowered in one.aliases), None
    )
    if found is None:
        raise UnknownMetadataFormat(text=name, known=tuple(load_formats()))
    return found


def find_by_media_type(media_type: str) -> Format | None:
    """Return the format with this media type, or None if no installed format has it."""
    essence = strip_parameters(media_type)
    return next((one for one in load_formats().values() if essence in one.media_types), None)


def guess_format(data: bytes) -> str:
    """Guess the format of a record from its content (`cmdi` included). Raises InvalidMetadata."""
    signatures = {one.name: one.signature for one in load_formats().values() if one.signature}
    signatures[cmdi.NAME] = cmdi.SIGNATURE
    matching = (name for name, signature in signatures.items() if signature.matches_record(data))
    found = min(matching, key=lambda name: signatures[name].generality, default=None)
    if found is None:
        raise RecordNotRecognised(known=tuple(load_formats()))
    return found


def write_record(what: DescribedResource, format: str) -> bytes:
    """Write a record in a format, ready to send. Raises InvalidRequest for an unknown format."""
    return find_format(format).write(what)


def read_record(data: bytes, format: str) -> About:
    """Read the description in a record of a format.

    Raises InvalidMetadata with line and reason, TooLarge, or InvalidRequest if the format cannot be
    read or the record says something that a description must not contain.
    """
    found = find_format(format)
    if found.read is None:
        readable = tuple(one.name for one in load_formats().values() if one.read is not None)
        raise FormatNotRead(format=format, read=readable)
    about = drop_empty_items(found.read(data))
    if about == _NOTHING:
        _refuse_unknown(data, found)
    return about


def _refuse_unknown(data: bytes, format: Format) -> None:
    """Raise InvalidMetadata if a record says nothing that its format knows, but is not empty.

    To store it would erase the description without a word.
    """
    unread = format.list_unread(data) if format.list_unread is not None else ()
    if unread:
        raise MembersUnknown(format=format.name, members=unread)


def list_unread(data: bytes, format: str) -> tuple[str, ...]:
    """List the members of a record that `read_record` does not keep, if its format can tell them.

    Raises as `read_record`.
    """
    found = find_format(format)
    return found.list_unread(data) if found.list_unread is not None else ()


def read_merge_patch(data: bytes, format: str) -> bytes:
    """Read a change of single members: a patch (RFC 7396) of perdure's own JSON, or a record of
    another format, whose members win. Return the patch. Raises as `read_record`."""
    if find_format(format).name != "json":
        return msgspec.json.encode(read_record(data, format))
    if len(data) > LARGEST:
        raise MetadataTooLarge(format="json", limit=LARGEST)
    patch = leave_out_unsaid(read_patch(data))
    if not patch.keys() & _MEMBERS:
        _refuse_unknown(data, find_format("json"))
    return msgspec.json.encode(patch)


def adopt_description(about: About, identifier: Identifier, url: str) -> About:
    """Return a description without those codes that only repeat the identifier of the resource."""
    bare = str(identifier).partition(":")[2]
    own = {str(identifier), identifier.urn, url} | (
        {bare} if identifier.kind == "handle" else set()
    )
    codes = tuple(one for one in about.codes if one.value not in own)
    return msgspec.structs.replace(about, codes=codes)
