"""Members of a collection: `#member=7` cuts the entry that describes the member.

How it works: the part is the entry exactly as the document has it, so you can check it against the
document. A resolver knows the member itself: the server redirects there instead
(`perdure.server.resource.members`).
"""

from __future__ import annotations

from perdure.errors import InvalidMetadata, PartNotFound, PartNotSupported
from perdure.errors.damage import CollectionDamaged
from perdure.errors.limits import CollectionTooLong
from perdure.errors.root import count_things
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.model import collection as members
from perdure.parts import Member, Selector

_SHOWN = 100


class MemberExtractor:
    """Entries of collections."""

    media_types = (members.MEDIA_TYPE,)
    selectors = (Member,)
    confined = False
    install = None

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        if not isinstance(selector, Member):
            raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        count, number, entry = find_entry(source, selector)
        if entry is None:
            raise PartNotFound(
                identifier=source.name,
                selector=str(selector),
                extent=count_things(count, "member"),
            )
        return Part(
            selector=selector,
            media_type="application/json",
            charset="utf-8",
            body=(entry,),
            facts={"number": str(number)},
        )

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        try:
            found = members.load_collection(read_collection(source)).members
        except InvalidMetadata as error:
            raise CollectionDamaged(**source.subject, fault=error.reason) from error
        names = tuple(one.name for one in found if one.name)
        return (
            Extent(
                syntax="member=1", what="members of a collection", size=len(found),
                items=names[:_SHOWN],
            ),
        )  # fmt: skip


def find_entry(source: Source, selector: Member) -> tuple[int, int, bytes | None]:
    """Find the entry of a member in a collection. Raises CollectionDamaged or OverBudget."""
    try:
        return members.find_entry(read_collection(source), selector.name or selector.number)
    except InvalidMetadata as error:
        raise CollectionDamaged(**source.subject, fault=error.reason) from error


def read_collection(source: Source) -> bytes:
    """Read a document that may be a collection. Raises OverBudget."""
    if source.length > members.LARGEST:
        raise CollectionTooLong(source=source.name, most=members.LARGEST)
    return source.read_bytes()


EXTRACTOR = MemberExtractor()
