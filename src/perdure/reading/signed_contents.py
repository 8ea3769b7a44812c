"""The contents that signatures are about, measured as a statement describes them.

How it works: `measure_content` measures what a name names now: a representation has its length and
its digest in its record, a part is cut, and an interval or a pattern is the list of its members.
`open_content` yields the bytes of which a statement has the digest.

What must stay true: contents are read through the read door, so nothing that was withdrawn or is
closed to the reader is measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from perdure.errors import PerdureError
from perdure.errors.signing import NothingToSign, PartNotSignable
from perdure.extractors.port import Part, Source, Span, iterate_body
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.ids.name_set import make_set
from perdure.model.queries import PUBLIC_READER, Fetch, Query, Reader
from perdure.model.records import Representation
from perdure.model.target_references import TargetUse, find_target_kind
from perdure.policy.naming import qualify_identifier
from perdure.reading.documents import Documents
from perdure.reading.listing import Listings
from perdure.reading.resolve import ReadDoor
from perdure.reading.resolved import Resolved
from perdure.signing.statement import LIST, LIST_TYPE, list_members
from perdure.signing.verdict import SignedContent

_PAGE = 1000


class SignedContents:
    """Measures what signatures are about."""

    def __init__(self, door: ReadDoor, listings: Listings, documents: Documents) -> None:
        self._door = door
        self._listings = listings
        self._documents = documents

    def measure_content(
        self, name: Identifier, part: str | None = None, reader: Reader = PUBLIC_READER
    ) -> SignedContent:
        """Measure the content that a name names, under its name with format and version.

        An interval or a pattern names a list. Raises the errors of reading the name and of cutting
        its part, and NothingToSign or PartNotSignable.
        """
        if name.is_interval or name.is_pattern:
            return self._measure_list(name)
        resolved = self._door.resolve(Query(identifier=name, part=part, reader=reader))
        return self.measure_resolved(resolved)

    def measure_resolved(
        self, resolved: Resolved, cut: tuple[Source, Part] | None = None
    ) -> SignedContent:
        """Measure the content of a resolved name, as `measure_content`. `cut` is the part that it
        names, if it was cut already (`Documents.cut_part`).
        """
        step = resolved.step
        if not isinstance(step, Fetch):
            raise NothingToSign(identifier=str(resolved.query.identifier))
        if resolved.inside is not None:
            source, part = cut or self._documents.cut_part(resolved, step)
            return _measure_part(resolved, step, source, part)
        return measure_document(step)

    def open_content(self, name: Identifier, reader: Reader = PUBLIC_READER) -> Iterator[bytes]:
        """Yield the bytes of which a statement about a name has the digest.

        There are none for the decoded form of a part. Raises the errors of `measure_content`.
        """
        if name.is_interval or name.is_pattern:
            yield list_members(self._walk_members(name))
            return
        resolved = self._door.resolve(Query(identifier=name, reader=reader))
        step = resolved.step
        if not isinstance(step, Fetch):
            raise NothingToSign(identifier=str(name))
        if resolved.inside is not None:
            part, pieces = self._documents.open_part(resolved, step)
            yield from pieces if part.decoded is None else ()
            return
        source = self._documents.open_source(step.identifier, step.representation)
        yield from source.read_chunks(Span(0, source.length))

    def _measure_list(self, name: Identifier) -> SignedContent:
        lines = list_members(self._walk_members(name))
        return SignedContent(
            identifier=name,
            sha512=hashlib.sha512(lines).hexdigest(),
            length=len(lines),
            reading=LIST,
            media_types=(LIST_TYPE,),
        )

    def _walk_members(self, name: Identifier) -> Iterator[tuple[Identifier, str]]:
        """Yield the representations of a set that are served, with their digests.

        Signatures are left out: otherwise the signature of an interval would change it.
        """
        for page in self._listings.walk_pages(make_set(name), limit=_PAGE):
            for one in page.records:
                record = one.record
                is_signature = record.targets and find_target_kind(record) is TargetUse.SIGNED
                if is_signature or record.tombstone:
                    continue
                for version in record.versions:
                    if version.tombstone:
                        continue
                    for held in version.representations:
                        full = qualify_identifier(one.identifier, version.number, held.format)
                        if name.matches(full):
                            yield full, held.sha512

    def measure_available(self, name: Identifier, reader: Reader) -> SignedContent | None:
        """Measure a content; None if it was withdrawn, erased or damaged, or is of a part that
        cannot be cut here."""
        try:
            return self.measure_content(name, reader=reader)
        except PerdureError:
            return None


def measure_document(step: Fetch) -> SignedContent:
    held = step.representation
    return SignedContent(
        identifier=step.identifier.whole,
        sha512=held.sha512,
        length=held.length,
        media_types=_list_media_types(held),
    )


def _measure_part(resolved: Resolved, step: Fetch, source: Source, part: Part) -> SignedContent:
    with_part = step.identifier.whole.with_part(resolved.part or "")
    if with_part is None:
        raise PartNotSignable(identifier=str(resolved.asked))
    media_types = (strip_parameters(part.media_type),)
    if part.decoded is not None:
        return SignedContent(
            identifier=with_part,
            sha512=part.decoded.sha512,
            length=0,
            reading=part.decoded.form,
            media_types=media_types,
        )
    digest, length = hashlib.sha512(), 0
    for piece in iterate_body(part.body, source):
        digest.update(piece)
        length += len(piece)
    return SignedContent(
        identifier=with_part,
        sha512=digest.hexdigest(),
        length=length,
        media_types=media_types,
    )


def _list_media_types(held: Representation) -> tuple[str, ...]:
    """The present media type, and those before corrections."""
    past = (one.before.media_type for one in reversed(held.corrections))
    return tuple(dict.fromkeys(map(strip_parameters, (held.media_type, *past))))
