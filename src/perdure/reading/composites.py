"""The provenance of composites: the sources of their pieces, compared now.

How it works: the pieces are read from the bytes of the composite; each is resolved and compared as
a citation is, with the rights of the reader. A source that was withdrawn after the composite was
made shows its tombstone. The parts of a conjunction (`perdure.model.conjunctions`) are pieces, too;
they are only referred to. `walk_composites` finds the composites that contain a name, or a part
that overlaps it (`perdure.model.target_references`).

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
from perdure.extractors.port import Part, Source
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier, parse
from perdure.model import composite_marks, composites
from perdure.model.assertions import LONGEST, MEDIA_TYPE, read_assertion
from perdure.model.composites import Piece
from perdure.model.conjunctions import list_conjuncts
from perdure.model.queries import PUBLIC_READER, Fetch, Gone, Query, Reader
from perdure.model.records import Record, Representation, Tombstone
from perdure.model.target_references import TargetUse, list_part_references
from perdure.model.verdicts import Verdict
from perdure.policy.assertion_scope import find_scope
from perdure.policy.naming import identify_record
from perdure.reading.citations.checking import CitationChecker
from perdure.reading.documents import Documents
from perdure.reading.listing import Listings
from perdure.reading.resolve import ReadDoor
from perdure.reading.signatures import HeldSignature, Signatures
from perdure.reading.signed_contents import SignedContents
from perdure.reading.targeting import fetch_document

_MOST_SIGNATURES = 10
_ASSERTION = strip_parameters(MEDIA_TYPE)
CONJUNCT = "conjunct"
"""The element of a piece that is a part of a conjunction."""
_SOUND = (Verdict.VERBATIM, Verdict.TRANSCLUDED)
_SOUND_CONJUNCTS = (Verdict.REFERENCED,)


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


def list_conjoined(data: bytes) -> list[Piece]:
    """Return the parts of a conjunction as pieces, each at the place where its name is written;
    none if the data is another assertion.

    Raises the errors of `perdure.model.assertions.read_assertion`, and ConjunctionMalformed.
    """
    assertion = read_assertion(data)
    if not list_conjuncts(assertion):
        return []
    text = data.decode()
    found: list[Piece] = []
    after = 0
    for target in assertion.targets:
        start = max(text.find(target.iri, after), after)  # it may be written with escapes of JSON
        after = start + len(target.iri) if text.startswith(target.iri, start) else start
        found.append(Piece(str(target.identifier), CONJUNCT, start, after, start))
    return found


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
    media_type: str = ""
    """Of the part."""
    date: str = ""
    """The day of the version of the source."""
    sha512: str = ""
    length: int = 0
    tombstone: Tombstone | None = None
    signatures: tuple[HeldSignature, ...] = ()
    """Signatures of the document, or of this part of it."""

    @property
    def is_sound(self) -> bool:
        """True if the piece is what it says: verbatim, shown, or part of a conjunction."""
        sound = _SOUND_CONJUNCTS if self.element == CONJUNCT else _SOUND
        return self.verdict in sound


class _FoundPiece(NamedTuple):
    """A piece whose source was resolved, and perhaps cut."""

    name: Identifier
    origin: int
    step: Fetch
    cut: tuple[Source, Part] | None = None


class Provenance:
    """The composites of a registry, for reading."""

    def __init__(
        self,
        door: ReadDoor,
        listings: Listings,
        documents: Documents,
        citations: CitationChecker,
        contents: SignedContents,
        signatures: Signatures,
    ) -> None:
        self._door = door
        self._listings = listings
        self._documents = documents
        self._citations = citations
        self._contents = contents
        self._signatures = signatures

    def read_pieces(self, step: Fetch, reader: Reader = PUBLIC_READER) -> list[PieceReport]:
        """Return the pieces of a composite, or the parts of a conjunction, in their order; none if
        a document is neither.
        """
        return list(self.walk_pieces(step, reader))

    def walk_pieces(self, step: Fetch, reader: Reader = PUBLIC_READER) -> Iterator[PieceReport]:
        """Yield the same pieces, and compare each when it is needed."""
        held = step.representation
        source = self._documents.open_source(step.identifier, held)
        document = self._read_document(source, held)
        if document is None:
            return
        view = _View(self._signatures, document, reader)
        for piece in document.pieces:
            name = piece.identifier
            if name is not None:
                yield self._report_piece(view, piece, name)

    def _read_document(self, source: Source, held: Representation) -> CompositeText | None:
        """Read a composite or a conjunction; None if a document is neither."""
        try:
            if strip_parameters(held.media_type) == _ASSERTION:
                if held.length > LONGEST:
                    return None
                pieces = list_conjoined(data := self._listings.read_bytes(held))
                return CompositeText(source, data.decode(), pieces) if pieces else None
            if held.length > composites.LARGEST or not composite_marks.is_composite(
                held.media_type, source.read_bytes(0, min(held.length, composite_marks.MARKED))
            ):
                return None
            return CompositeText.read(source, self._listings.read_bytes(held))
        except PerdureError:  # marked, and malformed; or another assertion
            return None

    def check_piece(
        self, document: CompositeText, piece: Piece, name: Identifier, reader: Reader
    ) -> Verdict:
        """Return the verdict on a piece: that of a citation or, of an included element, whether its
        source is the same but for what is included within it.

        Raises the errors of resolving the name and of reading its part.
        """
        step = self._door.resolve(Query(identifier=name, reader=reader)).require_step()
        if not isinstance(step, Fetch):
            return Verdict.UNVERIFIABLE
        origin = composites.count_canonical(document.text, piece.start)
        return self._check_found(document, piece, _FoundPiece(name, origin, step), reader)

    def _check_found(
        self, document: CompositeText, piece: Piece, found: _FoundPiece, reader: Reader
    ) -> Verdict:
        if piece.element == CONJUNCT:
            return Verdict.REFERENCED
        name, origin, step, cut = found
        verdict = self._citations.check_fetched(document.source, origin, name, step, cut)
        if piece.element != "include" or verdict is Verdict.VERBATIM:
            return verdict
        data = b"".join(self._contents.open_content(name, reader))
        try:
            theirs = composites.split_source(composites.decode_source(data).encode())
        except CompositeMalformed:  # it was included as text
            return verdict
        is_same = composites.is_filled(document.text, document.pieces, piece, theirs)
        return Verdict.VERBATIM if is_same else verdict

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
            resolved = self._door.resolve(Query(identifier=name, reader=reader))
            step = resolved.require_step()
            if isinstance(step, Gone):
                return replace(report, verdict="gone", tombstone=step.tombstone)
            cut = None
            if isinstance(step, Fetch) and resolved.inside is not None:
                cut = self._documents.cut_part(resolved, step)
            content = self._contents.measure_resolved(resolved, cut)
            if isinstance(step, Fetch):
                there = _FoundPiece(name, origin, step, cut)
                verdict = self._check_found(view.document, piece, there, reader)
                report = replace(report, verdict=str(verdict))
        except (Forbidden, Unauthenticated) as error:
            return replace(report, verdict="closed", reason=error.problem())
        except PerdureError as error:
            return replace(report, reason=str(error))
        return replace(
            report,
            media_type=content.media_types[0],
            date=view.find_date(content.identifier, resolved.record),
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

    def __init__(self, signatures: Signatures, document: CompositeText, reader: Reader) -> None:
        self.document = document
        self.reader = reader
        self.places = composites.CanonicalPlaces(document.text)
        self._signatures = signatures
        self._found: dict[Identifier, list[HeldSignature]] = {}

    @staticmethod
    def find_date(name: Identifier, record: Record | None) -> str:
        """The day of the version that a name names."""
        version = record.version(int(name.version or 1)) if record is not None else None
        return version.at[:10] if version is not None else ""

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
