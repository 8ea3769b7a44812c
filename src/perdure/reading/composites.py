"""The provenance of composites: the sources of their pieces, compared now.

How it works: the pieces are read from the bytes of the composite; each is resolved and compared as
a citation is, with the rights of the reader. A source that was withdrawn after the composite was
made shows its tombstone. `walk_composites` finds the composites that contain a name, or a part that
overlaps it (`perdure.model.target_references`).

What must stay true: no verdict is stored; of a closed or withdrawn source, nothing is shown that
the read door does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from perdure.errors import Forbidden, PerdureError, Unauthenticated
from perdure.errors.composing import CompositeMalformed
from perdure.extractors.port import Source
from perdure.ids import Identifier, parse
from perdure.model import composites
from perdure.model.composites import Piece
from perdure.model.queries import PUBLIC_READER, Fetch, Gone, Query, Reader
from perdure.model.records import Tombstone
from perdure.model.target_references import TargetUse, list_part_references
from perdure.model.verdicts import Verdict
from perdure.policy.assertion_scope import find_scope
from perdure.policy.naming import identify_record
from perdure.reading.citations.checking import CitationChecker
from perdure.reading.documents import Documents
from perdure.reading.listing import Listings
from perdure.reading.resolve import ReadDoor
from perdure.reading.signatures import HeldSignature, Signatures
from perdure.reading.targeting import fetch_document

_MOST_SIGNATURES = 10


class CompositeText(NamedTuple):
    """A composite, read: its bytes as a source, its text and its pieces."""

    source: Source
    text: str
    pieces: list[Piece]

    @classmethod
    def read(cls, source: Source, data: bytes) -> CompositeText:
        """Read the pieces of a composite. Raises CompositeMalformed."""
        pieces = composites.read_pieces(source.media_type, data)[: composites.MOST]
        return cls(source, composites.decode_source(data), pieces)


class PieceReport(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a composite, and the state of its source now."""

    identifier: Identifier
    """As the composite names it."""
    element: str
    origin: int
    """The place of the piece, as the position of a citation."""
    place: str
    """The part of the composite that the piece is."""
    verdict: str
    """That of a citation; `gone` or `closed` if the source cannot be compared."""
    reason: str = ""
    date: str = ""
    """The day of the version of the source."""
    sha512: str = ""
    length: int = 0
    tombstone: Tombstone | None = None
    signatures: tuple[HeldSignature, ...] = ()
    """Signatures of the document, or of this part of it."""


class Provenance:
    """The composites of a registry, for reading."""

    def __init__(
        self,
        door: ReadDoor,
        listings: Listings,
        documents: Documents,
        citations: CitationChecker,
        signatures: Signatures,
    ) -> None:
        self._door = door
        self._listings = listings
        self._documents = documents
        self._citations = citations
        self._signatures = signatures

    def read_pieces(self, step: Fetch, reader: Reader = PUBLIC_READER) -> list[PieceReport]:
        """Return the pieces of a document, in their order; none if it is not a composite."""
        held = step.representation
        source = self._documents.open_source(step.identifier, held)
        if held.length > composites.LARGEST or not composites.is_composite(
            held.media_type, source.read_bytes(0, min(held.length, composites.MARKED))
        ):
            return []
        data = self._listings.read_bytes(held)
        try:
            document = CompositeText.read(source, data)
        except PerdureError:  # marked, and malformed
            return []
        view = _View(self._listings, self._signatures, document, reader)
        return [
            self._report_piece(view, piece, piece.identifier)
            for piece in document.pieces
            if piece.identifier is not None
        ]

    def check_piece(
        self,
        document: CompositeText,
        piece: Piece,
        name: Identifier,
        reader: Reader,
        origin: int | None = None,
    ) -> Verdict:
        """Return the verdict on a piece: that of a citation or, of an included element, whether its
        source is the same but for what is included within it. `origin` is its place, if known.

        Raises the errors of resolving the name and of reading its part.
        """
        if origin is None:
            origin = composites.count_canonical(document.text, piece.start)
        verdict = self._citations.check_passage(document.source, origin, name, reader)
        if piece.element != "include" or verdict is Verdict.VERBATIM:
            return verdict
        data = b"".join(self._signatures.open_content(name, reader))
        try:
            theirs = composites.split_source(composites.decode_source(data).encode())
        except CompositeMalformed:  # it was included as text
            return verdict
        ours = composites.split_included(document.text, document.pieces, piece)
        return Verdict.VERBATIM if ours == theirs else verdict

    def _report_piece(self, view: _View, piece: Piece, name: Identifier) -> PieceReport:
        reader = view.reader
        origin = view.places.count_before(piece.start)
        stop = view.places.count_before(piece.stop)
        report = PieceReport(
            identifier=name,
            element=piece.element,
            origin=origin,
            place=f"char={origin},{max(stop, origin + 1)}",
            verdict="unverifiable",
        )
        try:
            step = self._door.resolve(Query(identifier=name, reader=reader)).require_step()
            if isinstance(step, Gone):
                return replace(report, verdict="gone", tombstone=step.tombstone)
            content = self._signatures.measure_content(name, None, reader)
            verdict = self.check_piece(view.document, piece, name, reader, origin)
        except (Forbidden, Unauthenticated) as error:
            return replace(report, verdict="closed", reason=error.problem())
        except PerdureError as error:
            return replace(report, reason=str(error))
        return replace(
            report,
            verdict=str(verdict),
            date=view.find_date(content.identifier),
            sha512=content.sha512,
            length=content.length,
            signatures=view.list_signatures(name),
        )

    # the other direction
    # -------------------

    def walk_composites(
        self, name: Identifier, reader: Reader = PUBLIC_READER
    ) -> Iterator[Identifier]:
        """Yield the composites that contain a name, or a part that overlaps it, in order."""
        use = TargetUse.COMPOSED
        by_part = None if name.fragment is None else list_part_references(use, name)
        references = [f"{use}:{name.key}"] if by_part is None else by_part
        records = self._listings.records
        keys = {key for one in references for key in records.find_referring(one)}
        for key in sorted(keys):
            record = records.find_record(key)
            if record is None or not any(
                find_scope(parse(target), name) for target in record.targets
            ):
                continue
            step = fetch_document(
                self._door, identify_record(key, record), reader, longest=composites.LARGEST
            )
            if step is not None:
                yield step.identifier


class _View:
    """A composite as one request sees it; what its pieces share is read once."""

    def __init__(
        self, listings: Listings, signatures: Signatures, document: CompositeText, reader: Reader
    ) -> None:
        self.document = document
        self.reader = reader
        self.places = composites.CanonicalPlaces(document.text)
        self._listings = listings
        self._signatures = signatures
        self._dates: dict[Identifier, str] = {}
        self._found: dict[Identifier, list[HeldSignature]] = {}

    def find_date(self, name: Identifier) -> str:
        """The day of the version that a name names."""
        whole = name.whole
        if whole not in self._dates:
            record = self._listings.find_record(whole)
            version = record.version(int(whole.version or 1)) if record is not None else None
            self._dates[whole] = version.at[:10] if version is not None else ""
        return self._dates[whole]

    def list_signatures(self, name: Identifier) -> tuple[HeldSignature, ...]:
        """The signatures of the document, and of this part of it."""
        whole = name.whole
        if whole not in self._found:
            try:
                self._found[whole] = self._signatures.list_signatures(whole, self.reader)
            except PerdureError:  # no library that verifies them
                self._found[whole] = []
        about = (
            one for one in self._found[whole] if one.signed.statement.identifier in (name, whole)
        )
        return tuple(islice(about, _MOST_SIGNATURES))


def describe_piece(report: PieceReport) -> dict[str, object]:
    """Return a piece with the state of its source, as every interface shows it in JSON."""
    tomb = report.tombstone
    return {
        "identifier": str(report.identifier),
        "element": report.element,
        "origin": report.origin,
        "place": report.place,
        "verdict": report.verdict,
        "reason": report.reason or None,
        "date": report.date or None,
        "sha512": report.sha512 or None,
        "length": report.length or None,
        "tombstone": tomb and {"reason": tomb.reason, "at": tomb.at, "by": tomb.by},
        "signatures": [
            {
                "identifier": str(one.identifier),
                "verdict": str(one.judgement.verdict),
                "role": one.signed.statement.role,
                "principals": list(one.judgement.principals),
            }
            for one in report.signatures
        ],
    }
