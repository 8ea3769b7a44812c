"""References to quotations, for a list of references: the cited part, "quoted in" its document.

A quotation is described as the passage of the citing document that it is, with a relation to what
it cites.

How it works: both sides are cited in a style (`perdure.metadata.citing`), from the inside to the
outside, and joined by words in the language of the reference. In a format of records (BibTeX, RIS,
CSL-JSON), each side is a record.

What must stay true: only a quotation is cited as one (`describing.require_quotation`).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from perdure.ids import Identifier
from perdure.metadata.citing import join_citations, write_citation
from perdure.metadata.port import DescribedResource
from perdure.model.about import Relation
from perdure.model.queries import Query
from perdure.model.verdicts import CitationReport, Verdict
from perdure.reading.citations.describing import require_quotation
from perdure.reading.documents import Documents
from perdure.reading.resolve import ReadDoor
from perdure.reading.resolved import Resolved

_WORDS = {
    "da": ("citeret i", "indsat i"),
    "de": ("zitiert in", "eingebettet in"),
    "en": ("quoted in", "embedded in"),
    "es": ("citado en", "incluido en"),
    "fr": ("cité dans", "inclus dans"),
    "it": ("citato in", "incluso in"),
    "nl": ("geciteerd in", "opgenomen in"),
    "pt": ("citado em", "incluído em"),
}
RECORDS = ("bibtex", "ris", "csl", "csl-json")
"""Formats in which a quotation is two records."""


class QuotationCiter:
    """Writes references to the quotations of one registry."""

    def __init__(self, reading: ReadDoor, documents: Documents) -> None:
        self._reading = reading
        self._documents = documents

    def cite_quotation(
        self,
        resolved: Resolved,
        report: CitationReport,
        style: str,
        locale: str,
        address: Callable[[Identifier], str],
    ) -> str:
        """Return a reference in a style, or the records of both sides, to a resolved citation.

        Raises InvalidRequest for an unknown style or language, MissingLibrary.
        """
        texts = [
            write_citation(self._describe_side(resolved, side, address(side)), style, locale)
            for side in _list_names(report)
        ]
        if style.lower() in RECORDS:
            return join_citations(texts, style).rstrip()
        words = [_find_words(one.verdict, locale) for one in _list_reports(report)]
        pairs = zip(texts[1:], words, strict=True)
        return texts[0].rstrip() + "".join(f" — {word} {text.rstrip()}" for text, word in pairs)

    def describe_quotation(
        self, resolved: Resolved, report: CitationReport, address: Callable[[Identifier], str]
    ) -> DescribedResource:
        """Describe a quotation, which is a resolved citation, for metadata.

        Raises CitationNotFound or CitationUnverifiable if it is none.
        """
        require_quotation(report)
        passage = report.part or report.citing
        what = self._describe_side(resolved, passage, address(report.citation))
        cited = Relation(value=address(report.cited), scheme="URL", relation="Cites")
        about = replace(what.about, relations=(*what.about.relations, cited))
        return replace(what, identifier=report.citation, about=about)

    def _describe_side(
        self, resolved: Resolved, side: Identifier, address: str
    ) -> DescribedResource:
        """Describe a side of a citation, from the record that was read when it was resolved."""
        query = Query(identifier=side, reader=resolved.query.reader)
        found = self._reading.resolve(query, resolved.records_read)
        return self._documents.describe_resolved(found, address)


def _list_reports(report: CitationReport) -> list[CitationReport]:
    """Return the reports of a citation, the innermost first."""
    inner = [] if report.inner is None else _list_reports(report.inner)
    return [*inner, report]


def _list_names(report: CitationReport) -> list[Identifier]:
    reports = _list_reports(report)
    return [reports[0].cited, *(one.part or one.citing for one in reports)]


def _find_words(verdict: Verdict, locale: str) -> str:
    quoted, embedded = _WORDS.get(locale.partition("-")[0].lower(), _WORDS["en"])
    return embedded if verdict is Verdict.TRANSCLUDED else quoted
