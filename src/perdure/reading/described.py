"""The `DescribedResource` that metadata formats write: all facts about a resource together. Pure.

How it works: `describe_resource` joins the descriptions of the version, format, part and resource
that a name names, or takes the description that its document contains, and adds what the registry
knows: type, length, digest, files, withdrawal.

What must stay true: a description that no person has written is marked as derived; a withdrawn
document has no files.
"""

from __future__ import annotations

import msgspec

from perdure.ids import Identifier
from perdure.metadata.port import DescribedResource, HeldFile
from perdure.model.about import About, DescriptionDate, DescriptionText
from perdure.model.plain_words import split_names
from perdure.model.records import Record, Representation, Version
from perdure.parts import Selector
from perdure.policy import levels, naming
from perdure.policy.showing import find_withdrawal
from perdure.policy.versions import find_held_version

_DERIVED = "Derived: read from the document itself ({}), not written by a person."


def describe_resource(
    identifier: Identifier,
    record: Record,
    url: str,
    derived: About | None = None,
    part: str | None = None,
    *,
    own: bool = False,
) -> DescribedResource:
    """Describe what a name names for its formats. `url` is the actionable form of the identifier.

    The descriptions of its version, format and part precede that of the resource. If no one
    has described the resource, the description comes from its plain name-value pairs, or else from
    the document itself (`derived`). `part` is a part that the identifier does not include. With
    `own`, the description is exactly the one that was given at the level of the name.
    # ruling: version-metadata
    """
    if derived is not None:
        mark = DescriptionText(
            value=_DERIVED.format(derived.derived), kind="TechnicalInfo", language="en"
        )
        derived = msgspec.structs.replace(derived, descriptions=(*derived.descriptions, mark))
    level = levels.pin_part(identifier, record, levels.find_level(identifier, part))
    if own:
        about = levels.describe_own(record, level)
    else:
        about = split_names(levels.describe_level(record, level, derived))
    ending = find_withdrawal(identifier, record)
    withdrawn = ending.at[:10] if ending else ""
    if withdrawn and not own and not about.first_date("Withdrawn"):
        date = DescriptionDate(value=withdrawn, kind="Withdrawn")
        about = msgspec.structs.replace(about, dates=(*about.dates, date))
    version, held = _find_representation(identifier, record)
    return DescribedResource(
        identifier=identifier,
        about=about,
        url=url,
        at=record.versions[0].at if record.versions else "",
        media_type=held.media_type if held else "",
        length=held.length if held and held.is_shown else None,
        sha512=held.sha512 if held else "",
        withdrawn=withdrawn,
        version=version.number if version and len(record.versions) > 1 else None,
        files=_list_files(identifier, record, version, url),
    )


def _list_files(
    identifier: Identifier, record: Record, version: Version | None, url: str
) -> tuple[HeldFile, ...]:
    """List the formats of a version that are served here, if their addresses are known."""
    base, found, _ = url.rpartition(identifier.path)
    if version is None or not found or record.tombstone or version.tombstone:
        return ()
    _, named = naming.read_qualifiers(identifier)
    ones = version.representations
    if named not in (None, "*"):
        ones = naming.select_format(ones, str(named))
    return tuple(
        HeldFile(
            url=base + naming.qualify_identifier(identifier, version.number, one.format).path,
            media_type=one.media_type,
            length=one.length,
            sha512=one.sha512,
            version=version.number,
            language=one.language or "",
        )
        for one in ones
    )


def _find_representation(
    identifier: Identifier, record: Record
) -> tuple[Version | None, Representation | None]:
    """Return the version that an identifier means, and its representation if there is only one."""
    _, format = naming.read_qualifiers(identifier)
    version = find_held_version(identifier, record)
    if version is None:
        return None, None
    if format is not None:
        found = naming.select_format(version.representations, format)
        return version, found[0] if found else None
    return version, version.representations[0] if len(version.representations) == 1 else None


def narrow_to_part(what: DescribedResource, part: Selector | None) -> DescribedResource:
    """Narrow a resource to a part; drop type, size and digest, which belong to the whole."""
    if part is None:
        return what
    return msgspec.structs.replace(
        what,
        part=part,
        media_type="",
        length=None,
        sha512="",
        files=(),
        members=(),
        whole=what.files[0].url if len(what.files) == 1 else "",
    )
