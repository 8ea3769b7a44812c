"""The documents of a registry: their parts, and the descriptions that are made from their bytes.

How it works: the read door has resolved a name. If the document is held here, its bytes become a
`Source`, from which `PartExtraction` cuts a part. A description comes from the record or, if the
record has none, from the document itself; it is then stored under the digest of the bytes.

What must stay true: a withdrawn document is described by its record only; a part of a document that
is held here is described only if the document contains it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from perdure import parts
from perdure.errors import InvalidMetadata, MalformedPart, PartNotSupported
from perdure.errors.naming import DocumentOpen, PartNotStored
from perdure.extractors.indexes import DirectoryIndexes
from perdure.extractors.inside import derived
from perdure.extractors.inside.derived import DocumentBytes
from perdure.extractors.port import Part, Source, Span, Stream, iterate_body
from perdure.ids import Identifier
from perdure.metadata import DescribedResource
from perdure.metadata.port import MOST_MEMBERS, CollectedMember
from perdure.model import collection
from perdure.model.about import About
from perdure.model.queries import Choices, Fetch
from perdure.model.records import Blank, Reading, Record, Representation
from perdure.parts import Information, Selector
from perdure.policy.correcting import hash_reading
from perdure.policy.levels import is_resource_described
from perdure.policy.naming import list_located_types, read_qualifiers, select_format
from perdure.policy.rules import require_one
from perdure.policy.versions import find_held_version
from perdure.reading.described import describe_resource, narrow_to_part
from perdure.reading.extraction import PartExtraction
from perdure.reading.listing import Listings
from perdure.reading.plain_texts import read_plain_text
from perdure.reading.resolved import Resolved
from perdure.storage.byte_ports import Bytes

DescribeInside = Callable[[DocumentBytes], About | None]
_MEDIA = ("text/plain", "video/mp4", "application/pdf", "text/csv", "text/html")


class Documents:
    """The documents of a registry, for reading. `indexes` is the directory of their indexes."""

    def __init__(
        self, indexes: Path, bytes: Bytes, parts: PartExtraction, listings: Listings
    ) -> None:
        self._indexes = indexes
        self._bytes = bytes
        self._parts = parts
        self._listings = listings

    def open_source(self, identifier: Identifier, held: Representation) -> Source:
        """The bytes of a representation, as a source from which to cut parts."""
        file, offset = self._bytes.find_local(held)
        return Source(
            path=file.path,
            offset=offset,
            length=held.length,
            media_type=held.media_type,
            charset=held.charset,
            sha512=held.sha512,
            name=str(identifier.whole),
        )

    def find_selector(self, identifier: Identifier, source: Source, text: str | None) -> Selector:
        """The selector of a part text, or of the part that the identifier itself names.

        Parts of PDIs follow the rules of PDI, parts of all other identifiers those of the media
        type.  # ruling: part-meaning
        """
        found = parts.select_part(identifier, source.essence)
        if found is None:
            found = parts.parse_part(text or "", source.essence)
        return found

    def open_part(self, resolved: Resolved, step: Fetch) -> tuple[Part, Iterator[bytes]]:
        """Cut the part of a resolved name out of the bytes of a step, and open it for reading.

        Raises the errors of cutting a part.
        """
        source, part = self.cut_part(resolved, step)
        return part, iterate_body(part.body, source)

    def cut_part(self, resolved: Resolved, step: Fetch) -> tuple[Source, Part]:
        """Cut the part of a resolved name, and return it with the bytes of which it is a part.

        Raises the errors of cutting a part.
        """
        source = self.open_source(step.identifier, step.representation)
        selector = self.find_selector(resolved.identifier, source, resolved.part_beside)
        return source, self._parts.cut_part(source, selector)

    def require_part_kind(self, resolved: Resolved, step: Choices) -> None:
        """Require that some version may have such a part, before the reader chooses one.

        Raises MalformedPart or PartNotSupported if no version has parts of this kind. The bytes of
        the versions are not opened: the part may be beyond the end of some.  # ruling: part-version
        """
        unfit: MalformedPart | PartNotSupported | None = None
        for one in step.fetches:
            source = self.open_source(one.identifier, one.representation)
            try:
                selector = self.find_selector(resolved.identifier, source, resolved.part_beside)
                self._parts.require_kind(source, selector)
            except (MalformedPart, PartNotSupported) as error:
                unfit = error
            else:
                return
        if unfit is not None:
            raise unfit

    def read_text(self, resolved: Resolved, step: Fetch) -> str:
        """Read the plain text of a resolved name, or of the part that it names.

        Raises the errors of `perdure.reading.plain_texts.read_plain_text`.
        """
        return read_plain_text(self._parts, *self.find_text(resolved, step))

    def find_text(self, resolved: Resolved, step: Fetch) -> tuple[Source, Selector | None]:
        """Return the bytes whose text is requested, and the part of them, if one is named.

        Raises MalformedPart or PartNotSupported.
        """
        source = self.open_source(step.identifier, step.representation)
        if resolved.inside is None:
            return source, None
        return source, self.find_selector(resolved.identifier, source, resolved.part_beside)

    def describe_resolved(
        self, resolved: Resolved, url: str, *, own: bool = False
    ) -> DescribedResource:
        """Describe a resource, or a part of one, for metadata and citations.

        `url` is the actionable form of the identifier, or of the part. If the record has a
        description, only the record is read; otherwise the description comes from the document,
        unless that was withdrawn.  # ruling: tombstone-silence

        With `own`, the description has only the members that were set for the level of the name,
        and none of a wider level or of the document.  # ruling: version-metadata

        Of an open part of a closed document, the description has only its name and its place.

        Raises NotFound, MalformedPart or PartNotSupported and, if the resource is held here, the
        other errors of cutting the part, also NoSuchVersion and NotAcceptable.
        """
        identifier, record = resolved.identifier, resolved.citable
        part = resolved.part_beside
        held = describe_resource(identifier, record, url, part=part, own=own)
        if resolved.is_only_part_open:
            return narrow_to_part(held, self._find_open_part(resolved))
        source = self._find_source(identifier, record)
        if source is not None and source.essence == collection.MEDIA_TYPE:
            held = msgspec.structs.replace(held, members=self._list_members(source, url))
        if source is not None and not own and not is_resource_described(record):
            about = self.read_inside(source)
            members = held.members
            held = describe_resource(identifier, record, url, about, part)
            held = msgspec.structs.replace(held, members=members)
        if identifier.whole is identifier and resolved.part is None:
            return held
        if source is not None:
            return narrow_to_part(held, self._find_part(identifier, source, part))
        if record.versions:
            resolved.require_usual_step()  # nothing has parts if its version or format is unknown
        return narrow_to_part(held, _select_elsewhere(identifier, record, part))

    def _list_members(self, source: Source, url: str) -> tuple[CollectedMember, ...]:
        """List the first members of a collection; none if it cannot be read."""
        if source.length > collection.LARGEST:
            return ()
        try:
            found = collection.load_collection(source.read_bytes(0, source.length))
        except InvalidMetadata:
            return ()
        base = url.partition("/pdi:")[0] if "/pdi:" in url else ""
        return tuple(
            CollectedMember(
                number=number,
                identifier=one.identifier,
                url=f"{base}/{one.identifier}" if base else "",
                title=one.title or one.name,
            )
            for number, one in enumerate(found.members[:MOST_MEMBERS], 1)
        )

    def select_part(self, resolved: Resolved) -> Selector | None:
        """The selector of the part of a resolved name, by the rules of its scheme and media type.

        Raises the same errors as `describe_resolved`.
        """
        step = resolved.usual_step
        if isinstance(step, Fetch):
            source = self.open_source(step.identifier, step.representation)
            return self._find_part(resolved.identifier, source, resolved.part_beside)
        return self.describe_resolved(resolved, "").part

    def describe_stored_pixels(self, resolved: Resolved) -> dict[str, object] | None:
        """The pixels on which a part of an image counts, if they are not those of the upright
        picture: their size, the EXIF orientation, and the matrices between both.

        Raises the same errors as `select_part`.
        """
        step = resolved.usual_step
        if not isinstance(step, Fetch) or not step.representation.media_type.startswith("image/"):
            return None
        source = self.open_source(step.identifier, step.representation)
        try:
            part = self._parts.cut_part(source, Information())
        except PartNotSupported:  # an image that is not made of pixels
            return None
        known: dict[str, Any] = msgspec.json.decode(b"".join(iterate_body(part.body, source)))
        stored: dict[str, object] | None = known.get("stored")
        return stored

    def find_stretches(
        self, identifier: Identifier, part: str | None, version: int | None = None
    ) -> tuple[Blank, ...]:
        """The stored bytes of a part of a document, also of a withdrawn one, for an erasure.

        Raises NotFound, InvalidRequest if the name leaves the document open or if the bytes of the
        part are not stored as they are, and the errors of cutting the part.
        """
        record = require_one(identifier, self._listings.find_record(identifier))
        number, format = read_qualifiers(identifier.whole)
        held = [
            (one.number, kept)
            for one in record.versions
            for kept in one.representations
            if one.number == (version or number) and (format is None or kept.format == format)
        ]
        if len(held) != 1:
            raise DocumentOpen(identifier=str(identifier))
        (found, one) = held[0]
        source = self.open_source(identifier, one)
        cut = self._parts.cut_part(source, self.find_selector(identifier, source, part))
        stored = cut.slices or tuple(
            piece
            for piece in (() if isinstance(cut.body, Stream) else cut.body)
            if isinstance(piece, Span)
        )
        if not any(piece.length for piece in stored):
            raise PartNotStored(identifier=str(identifier))
        return tuple(
            Blank(version=found, format=one.format, start=piece.start, end=piece.stop)
            for piece in stored
            if piece.length
        )

    def _find_part(self, identifier: Identifier, source: Source, text: str | None) -> Selector:
        """The selector of a part. Raises the errors of cutting it, unless the source contains it.

        # ruling: part-exists
        """
        selector = self.find_selector(identifier, source, text)
        self._parts.outline_part(source, selector)
        return selector

    def _find_open_part(self, resolved: Resolved) -> Selector | None:
        """The selector of an open part of a closed document. Raises the errors of cutting it."""
        step = resolved.choose(accept=())
        if not isinstance(step, Fetch):
            return None
        source = self.open_source(step.identifier, step.representation)
        return self._find_part(resolved.identifier, source, resolved.part_beside)

    def _find_source(self, identifier: Identifier, record: Record) -> Source | None:
        """The bytes of an identifier, in the first of its formats. None if they are not served."""
        if record.tombstone is not None:
            return None
        _, format = read_qualifiers(identifier)
        version = find_held_version(identifier, record)
        if version is None or version.tombstone or not version.representations:
            return None
        found = version.representations
        if format is not None:
            found = select_format(found, format)
        return self.open_source(identifier, found[0]) if found else None

    def read_inside(
        self, source: Source, describe: DescribeInside = derived.describe_document
    ) -> About | None:
        """Return the description that a document contains, or None. It is read once, then stored.

        `describe` reads it.
        """
        if not derived.has_inside(source.essence):
            return None

        def build_about(one: Source) -> bytes:
            place = DocumentBytes(one.path, one.offset, one.length, one.essence, one.charset)
            return msgspec.json.encode(describe(place) or About())

        indexes = DirectoryIndexes(self._indexes)
        reading = Reading(media_type=source.media_type, charset=source.charset)
        kind = f"about-{hash_reading(reading)}"  # equal bytes may be read in several ways
        kept = msgspec.json.decode(bytes(indexes.get_index(source, kind, build_about)), type=About)
        return kept if kept.titles or kept.creators else None


def _select_elsewhere(identifier: Identifier, record: Record, part: str | None) -> Selector:
    """The selector of a part of a resource that is held elsewhere.

    The media type comes from the locations of the record, or is the first that has such parts.
    Raises MalformedPart or PartNotSupported.
    """
    kinds = [*list_located_types(record), *_MEDIA]
    for kind in kinds:
        found = parts.select_part(identifier, kind)
        if found is not None:
            return found
        with contextlib.suppress(MalformedPart, PartNotSupported):
            return parts.parse_part(part or "", kind)
    return parts.parse_part(part or "", kinds[0])  # raises the error that explains the fault
