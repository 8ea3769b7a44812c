"""The checker of citations: the verdict on `citing@origin=cited`.

How it works: the read door resolves both sides. If the cited identifier is a citation itself, that
one is checked first, and the passage that it finds is what is compared; the weakest verdict counts.
The media of both sides choose the comparison; whatever has a text can be compared as text. If
neither the cited content nor an element that shows it is at the origin, a reference to it may be.

What must stay true: a side that does not exist is an error, never a verdict; a side that exists and
cannot be read is `unverifiable`, with the reason. Documents are decoded here, so a server runs it
beside its event loop. No verdict is stored.
"""

from __future__ import annotations

from msgspec import structs

from perdure.errors.citing import NotACitation
from perdure.extractors.port import Part, Source, Stream
from perdure.ids import Identifier, parse
from perdure.ids.pdi import Pdi
from perdure.model.queries import PUBLIC_READER, Fetch, Query, Reader, Step
from perdure.model.verdicts import CitationReport, Verdict, find_weakest
from perdure.parts import ByteRange, Selector, select_part
from perdure.policy.citing import require_citation
from perdure.reading.citations import media, references, texts
from perdure.reading.citations.origins import Medium, Origin, find_medium, read_origin
from perdure.reading.citations.sides import NOTHING, Finding, Side, SideUnreadable, blame
from perdure.reading.documents import Documents
from perdure.reading.extraction import PartExtraction
from perdure.reading.media_places import write_place
from perdure.reading.resolve import ReadDoor
from perdure.reading.resolved import Resolved

_READ_AS_TEXT = frozenset((Medium.TEXT, Medium.PAGES))
_MAY_HAVE_TEXT = frozenset((Medium.FILM, Medium.BYTES))


class CitationChecker:
    """Checks citations of one registry. Safe to use from several threads."""

    def __init__(self, reading: ReadDoor, documents: Documents, parts: PartExtraction) -> None:
        self._reading = reading
        self._documents = documents
        self._parts = parts

    def check_citation(
        self, citation: Identifier, reader: Reader = PUBLIC_READER
    ) -> CitationReport:
        """Return the report on a citation.

        Raises InvalidRequest for a pattern, a side without format and version, or an origin of
        another medium; the errors of resolving either side, CitationGone, and PartNotFound or
        PartOutOfRange for a place or a part that does not exist.
        """
        query = Query(identifier=require_citation(citation), reader=reader)
        return self.check_resolved(self._reading.resolve(query))

    def check_resolved(self, resolved: Resolved) -> CitationReport:
        """Return the report on a citation that was resolved. Raises as `check_citation`."""
        return self._check(require_citation(resolved.asked), resolved.sides)

    def check_fetched(
        self,
        citing: Source,
        origin: int,
        cited: Identifier,
        step: Fetch,
        cut: tuple[Source, Part] | None = None,
    ) -> Verdict:
        """Return the verdict on a passage at a character of a text, which need not be stored.

        `cited` names the part that it quotes, and was resolved to `step`; the part may be cut
        already (`Documents.cut_part`). Raises PartNotFound or PartOutOfRange.
        """
        position = read_origin(str(origin), find_medium(citing.essence), citing.essence)
        if cut is None or isinstance(cut[1].body, Stream):  # which can be read once
            quoted = self._open_side(cited, step)
        else:
            source, part = cut
            quoted = Side(cited, source, select_part(cited, source.essence), part)
        try:
            return self._compare(Side(cited, citing, None), position, quoted, cited).verdict
        except SideUnreadable:
            return Verdict.UNVERIFIABLE

    def _check(self, citation: Pdi, steps: tuple[Step | None, ...]) -> CitationReport:
        origin, cited = _take_apart(citation)
        inner = self._check(cited, steps[1:]) if cited.is_citation else None
        report = CitationReport(
            citation=citation,
            citing=citation.whole,
            origin=origin,
            cited=cited,
            verdict=Verdict.UNVERIFIABLE,
            inner=inner,
        )
        ours = steps[0]
        compared, theirs = _choose_passage(cited, inner, steps[1:])
        if not (isinstance(ours, Fetch) and isinstance(theirs, Fetch)):
            absent = cited if isinstance(ours, Fetch) else citation.whole
            return _refuse(report, absent, f"{absent} is not held here")
        citing = self._open_side(citation.whole, ours)
        essence = citing.source.essence
        position = read_origin(origin, find_medium(essence), essence)
        try:
            with blame(cited):
                quoted = self._open_side(compared, theirs)
                found = self._compare(citing, position, quoted, cited)
        except SideUnreadable as error:
            return _refuse(report, error.side, error.reason)
        return _judge(report, found)

    def _compare(self, citing: Side, origin: Origin, quoted: Side, cited: Identifier) -> Finding:
        """Compare the contents and, if that is not enough, look for a reference.

        Raises PartNotFound, PartOutOfRange or SideUnreadable.
        """
        if not {origin.medium, find_medium(quoted.source.essence)} <= _READ_AS_TEXT:
            self._require_part(quoted)
        unreadable: SideUnreadable | None = None
        found = Finding(comparison=NOTHING, unit="")
        try:
            found = self._compare_contents(citing, origin, quoted)
        except SideUnreadable as error:
            unreadable = error
        if found.verdict.is_quotation:
            return found
        with blame(citing.identifier):
            reference = references.find_reference(self._parts, citing.source, origin, cited)
        if reference is not None and _is_stronger(reference.verdict, found.verdict):
            return reference
        if unreadable is not None:
            raise unreadable
        return found

    def _compare_contents(self, citing: Side, origin: Origin, quoted: Side) -> Finding:
        """Compare what both sides contain. Raises as `_compare`."""
        medium = media.find_shown(self._parts, quoted, find_medium(quoted.source.essence))
        if {origin.medium, medium} <= _READ_AS_TEXT:
            return texts.compare_texts(self._parts, citing, origin, quoted)
        have_texts = self._has_text(citing, origin.medium) and self._has_text(quoted, medium)
        if not _is_like(origin.medium, medium, quoted):
            if have_texts:
                return texts.compare_texts(self._parts, citing, origin, quoted)
            if origin.medium is Medium.TEXT:
                return Finding(comparison=NOTHING, unit="")
            raise _make_incomparable(citing, quoted)
        found = media.compare_media(self._parts, citing, origin, quoted, medium)
        if found.verdict.is_quotation or origin.medium is not Medium.BYTES or not have_texts:
            return found
        try:
            words = texts.compare_texts(self._parts, citing, origin, quoted)
        except SideUnreadable:
            return found
        is_better = quoted.selector is None or _is_stronger(words.verdict, found.verdict)
        return words if is_better else found

    def _has_text(self, side: Side, medium: Medium) -> bool:
        """Return True if a document may have a text that can be compared."""
        if medium in _READ_AS_TEXT:
            return True
        return medium in _MAY_HAVE_TEXT and self._parts.may_have_text(side.source.essence)

    def _require_part(self, side: Side) -> None:
        """Raise PartNotFound or PartOutOfRange if a document has no such part."""
        if side.selector is not None:
            with blame(side.identifier):
                self._parts.outline_part(side.source, side.selector)

    def _open_side(self, identifier: Identifier, step: Fetch) -> Side:
        source = self._documents.open_source(step.identifier, step.representation)
        return Side(identifier, source, select_part(identifier, source.essence))


def _take_apart(citation: Pdi) -> tuple[str, Pdi]:
    """Return the origin and the cited identifier of a citation."""
    if citation.citation is None:
        raise NotACitation(identifier=str(citation))
    return citation.citation.origin, citation.citation.cited


def _choose_passage(
    cited: Identifier, inner: CitationReport | None, steps: tuple[Step | None, ...]
) -> tuple[Identifier, Step | None]:
    """Return the part that is compared, with the step to its document.

    Of an inner citation, it is the passage that it names. If no part of the document is that
    passage, it is what is quoted there.
    """
    if inner is None:
        return cited, steps[0]
    if inner.part is not None and inner.likeness is None:
        return inner.part, steps[0]
    if inner.part is None and inner.verdict.is_quotation:
        return _choose_passage(inner.cited, inner.inner, steps[1:])
    return cited.whole, steps[0]


def _is_stronger(one: Verdict, other: Verdict) -> bool:
    return one is not other and find_weakest(one, other) is other


def _is_like(citing: Medium, medium: Medium, quoted: Side) -> bool:
    """Return True if two media that are not text are compared unit by unit."""
    if (citing, medium) == (Medium.FILM, Medium.SOUND):
        return True
    return citing is medium or (citing is Medium.BYTES and isinstance(quoted.selector, ByteRange))


def _make_incomparable(citing: Side, cited: Side) -> SideUnreadable:
    return SideUnreadable(
        citing.identifier,
        f"{cited.source.media_type} cannot be compared with {citing.source.media_type}",
    )


def _name_part(document: Identifier, part: Selector) -> Identifier | None:
    """Return the name of a part; of a part in two dimensions as names of the scheme write it."""
    return document.with_part(write_place(part, has_own_parts=True))


def _refuse(report: CitationReport, side: Identifier, reason: str) -> CitationReport:
    return structs.replace(report, verdict=Verdict.UNVERIFIABLE, side=side, reason=reason)


def _judge(report: CitationReport, found: Finding) -> CitationReport:
    comparison = found.comparison
    right = None
    if found.moved is not None:
        right = parse(f"{report.citing}@{found.moved}={report.cited}")
    inner = () if report.inner is None else (report.inner.verdict,)
    return structs.replace(
        report,
        verdict=find_weakest(found.verdict, *inner),
        part=None if found.part is None else _name_part(report.citing, found.part),
        extent=found.extent,
        unit=found.unit,
        likeness=comparison.likeness,
        right=right,
        kept=comparison.kept,
        total=comparison.total,
        is_complete=comparison.is_complete,
        changes=comparison.changes,
        more_changes=comparison.more_changes,
        passage=found.passage,
        quoted=found.quoted,
        note=found.note,
    )
