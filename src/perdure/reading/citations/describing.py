"""Reports on citations as values for every face: JSON members, an annotation, errors, sentences.

How it works: `write_fields` makes the members that HTTP and `perdure verify --json` print;
`write_annotation` makes a Web Annotation, whose body is the cited part and whose target is the
passage in the citing document. Addresses are those of the face that prints them.

Specification: Web Annotation Data Model (REC-annotation-model-20170223) sections 3.1, 3.2.4 and 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perdure.errors import PerdureError
from perdure.errors.cutting import CitationUnverifiable
from perdure.errors.lookup import CitationNotFound
from perdure.errors.root import count_things
from perdure.ids import Identifier
from perdure.model.verdicts import CitationReport, Excerpt, Verdict, WordChange
from perdure.parts.selectors import PDI

CONTEXT = "http://www.w3.org/ns/anno.jsonld"

_SENTENCES = {
    Verdict.VERBATIM: "quoted {unit} for {unit}",
    Verdict.REFLOWED: "quoted, with other line breaks or white space",
    Verdict.SAME_WORDS: "quoted, with other case, quotation marks or dashes",
    Verdict.TRANSCLUDED: "embedded by its identifier",
    Verdict.REFERENCED: "named here, but not quoted",
    Verdict.ALTERED: "quoted with changes",
    Verdict.ELSEWHERE: "quoted at another place of the document",
    Verdict.ABSENT: "not quoted in the document",
    Verdict.UNVERIFIABLE: "not verifiable here",
}
Address = Callable[[Identifier], str]


def find_passage(report: CitationReport) -> Identifier:
    """Return the part that is quoted: the passage, or the cited part that is embedded there. If no
    part of the document is the passage, it is the document.

    Raises CitationNotFound or CitationUnverifiable if there is none.
    """
    require_quotation(report)
    named: Identifier | None = report.part or report.citing
    if report.verdict is Verdict.TRANSCLUDED:
        named = report.cited
    while named is not None and named.is_citation:
        named = named.cited
    return named or report.citing


def require_quotation(report: CitationReport) -> None:
    """Raise CitationNotFound or CitationUnverifiable unless the cited part is at the origin."""
    if not report.verdict.is_quotation:
        raise make_refusal(report)


def make_refusal(report: CitationReport) -> PerdureError:
    """Return the error of a verdict other than a quotation."""
    if report.verdict is Verdict.UNVERIFIABLE:
        innermost = report
        while innermost.side is None and innermost.inner is not None:
            innermost = innermost.inner
        return CitationUnverifiable(
            selector=str(report.citation),
            side=str(innermost.side or report.cited),
            reason=innermost.reason,
        )
    return CitationNotFound(
        identifier=str(report.citation),
        verdict=report.verdict.value,
        right=None if report.right is None else str(report.right),
        kept=report.kept,
        total=report.total,
    )


def write_sentence(report: CitationReport) -> str:
    """Return the verdict in words: `quoted with changes: 8 of 9 words are equal`."""
    unit = "word" if report.unit in ("", "character") else report.unit
    sentence = _SENTENCES[report.verdict].format(unit=unit)
    match report.verdict:
        case Verdict.ALTERED if report.total:
            first = "" if report.is_complete else "the first "
            sentence += f": {report.kept} of {first}{count_things(report.total, unit)} are equal"
        case Verdict.ABSENT if not report.is_complete:
            sentence += ", but only the text around the origin was searched for reflowed copies"
        case Verdict.ELSEWHERE if report.right is not None:
            sentence += f": {report.right}"
        case Verdict.UNVERIFIABLE if report.reason:
            sentence += f": {report.reason}"
    if report.note and report.verdict in (Verdict.ALTERED, Verdict.ABSENT):
        if report.total and report.verdict is Verdict.ABSENT:
            sentence += f": {report.kept} of {count_things(report.total, unit)} are equal"
        sentence += f" ({report.note})"
    return sentence


def write_fields(report: CitationReport, address: Address) -> dict[str, Any]:
    """Return a report as JSON members, without those that have no value."""
    known: dict[str, Any] = {
        "identifier": str(report.citation),
        "url": address(report.citation),
        "verdict": report.verdict.value,
        "sentence": write_sentence(report),
        "citing": _write_side(report.citing, address),
        "origin": report.origin,
        "cited": _write_side(report.cited, address),
        "part": report.part and _write_side(report.part, address),
        "extent": report.extent or None,
        "unit": report.unit if report.extent else None,
        "right": report.right and _write_side(report.right, address),
        "likeness": report.likeness and report.likeness.value,
        "passage": _write_excerpt(report.passage),
        "quoted": _write_excerpt(report.quoted),
        "side": report.side and str(report.side),
        "reason": report.reason or None,
        "note": report.note or None,
        "inner": report.inner and write_fields(report.inner, address),
    }
    if report.total or not report.is_complete:
        known |= {"complete": report.is_complete}
    if report.total:
        known |= {"kept": report.kept, "total": report.total}
        known |= {"changes": list(map(_write_change, report.changes))}
        known |= {"moreChanges": report.more_changes}
    return {name: one for name, one in known.items() if one is not None}


def _write_side(identifier: Identifier, address: Address) -> dict[str, str]:
    return {"identifier": str(identifier), "url": address(identifier)}


def _write_excerpt(excerpt: Excerpt | None) -> dict[str, Any] | None:
    if excerpt is None:
        return None
    return {
        "before": excerpt.before,
        "text": excerpt.text,
        "after": excerpt.after,
        "complete": excerpt.is_whole,
    }


def _write_change(change: WordChange) -> dict[str, Any]:
    return {"cited": change.cited, "citing": change.citing}


def write_annotation(report: CitationReport, address: Address) -> dict[str, Any]:
    """Return a report as a Web Annotation: the cited part is the body, the passage the target."""
    passage = report.part or report.citing
    return {
        "@context": CONTEXT,
        "id": address(report.citation),
        "type": "Annotation",
        "motivation": "linking",
        "body": [
            _write_resource(report.cited, address),
            {
                "type": "TextualBody",
                "value": report.verdict.value,
                "format": "text/plain",
                "purpose": "classifying",
            },
        ],
        "target": _write_resource(passage, address),
        "canonical": str(report.citation),
    }


def _write_resource(identifier: Identifier, address: Address) -> str | dict[str, Any]:
    """Return a document as its address, and a part as a document with a selector."""
    fragment = identifier.fragment
    if fragment is None:
        return address(identifier)
    return {
        "type": "SpecificResource",
        "source": address(identifier.whole),
        "selector": {
            "type": "FragmentSelector",
            "value": str(fragment.text),
            "conformsTo": PDI,
        },
    }
