"""Verdicts on citations: text, markup, tables and bytes, nested, and sides that do not exist."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import TODAY, Clock, Desk, copy_as_new

from perdure.errors import MalformedIdentifier, PerdureError
from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.model.verdicts import CitationReport, Verdict
from perdure.storage.spool import make_content

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "citation-verdicts.json").read_text("utf-8")
)
DOCUMENTS: dict[str, Any] = VECTORS["documents"]
NAMES = {
    letter: f"{TODAY}/{number}.{one['format']}.1"
    for number, (letter, one) in enumerate(DOCUMENTS.items(), 1)
}


@pytest.fixture(scope="module")
def library(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A registry with the documents of the vectors."""
    desk = Desk(copy_as_new(pristine, tmp_path_factory.mktemp("citations") / "r"), Clock())
    for letter, one in DOCUMENTS.items():
        charset = one.get("charset", "utf-8")
        written = fill_names(one["text"]).encode(charset)
        content = make_content(
            written, format=one["format"], media_type=one["type"], charset=charset
        )
        assert str(desk.mint(content).identifier) == NAMES[letter]
    yield desk
    desk.registry.close()


def fill_names(text: str) -> str:
    for letter, name in NAMES.items():
        text = text.replace(f"{{{letter}}}", name)
    return text.replace("{today}", TODAY)


def check(desk: Desk, citation: str) -> CitationReport:
    named = parse(fill_names(citation))
    assert isinstance(named, Pdi)
    return desk.registry.citations.check_citation(named)


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_verdicts(library: Desk, case: dict[str, Any]) -> None:
    found = check(library, case["citation"])
    assert found.verdict == case["verdict"], found
    if "part" in case:
        assert str(found.part) == f"{found.citing}#{case['part']}"
    if "text" in case:
        assert found.passage is not None
        assert found.passage.text == case["text"]
    if "extent" in case:
        assert found.extent == case["extent"]
    if "right" in case:
        assert str(found.right) == f"{found.citing}@{case['right']}={found.cited}"
        assert isinstance(found.right, Pdi)
        right = library.registry.citations.check_citation(found.right)
        assert right.verdict is found.likeness
    if "changes" in case:
        assert (found.kept, found.total) == (case["kept"], case["total"])
        assert [[one.cited, one.citing] for one in found.changes] == case["changes"]
    if found.verdict is Verdict.UNVERIFIABLE:
        assert found.side is not None
        assert found.reason
    if found.passage is not None and found.verdict is not Verdict.TRANSCLUDED:
        assert found.part is not None


@pytest.mark.parametrize("case", VECTORS["errors"], ids=lambda case: case["name"])
def test_a_side_that_does_not_exist_is_an_error(library: Desk, case: dict[str, Any]) -> None:
    with pytest.raises(PerdureError) as refused:
        check(library, case["citation"])
    assert refused.value.code == case["code"]


# hostile documents
# -----------------


def test_citations_nest_eight_deep(library: Desk) -> None:
    """Ruling pdi-citation: nesting deeper than 8 is an error."""
    whole = NAMES["A"]
    citation = "@0=".join([whole] * 8) + f"@0={whole}#char=0,4"
    found = check(library, citation)
    assert found.verdict is Verdict.VERBATIM
    depth, inner = 1, found.inner
    while inner is not None:
        assert str(inner.part) == f"{whole}#char=0,4"
        depth, inner = depth + 1, inner.inner
    assert depth == 8
    with pytest.raises(MalformedIdentifier):
        check(library, f"{whole}@0={citation}")


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
BOMB = f'<!DOCTYPE a [{ENTITIES}<!ENTITY e0 "boom">]><a>&e9; We shall</a>'


@pytest.mark.parametrize(
    ("media_type", "format", "document"),
    [
        ("text/xml", "xml", BOMB),
        ("text/html", "html", "<p" * 50_000),
        ("text/html", "html", "<a href='" + "x:" * 100_000),
        ("text/html", "html", "<a b=c>" * 50_000),
        ("text/html", "html", "&" * 100_000),
        ("text/plain", "text", "> " * 100_000),
        ("text/plain", "text", "pdi:" * 50_000),
        ("text/plain", "text", "<https://" + "a" * 100_000),
        ("text/xml", "xml", "\x00\x01<a></a>"),
    ],
)
@pytest.mark.parametrize("origin", [0, 9])
def test_hostile_documents_get_a_verdict(
    library: Desk, media_type: str, format: str, document: str, origin: int
) -> None:
    content = make_content(document.encode(), format=format, media_type=media_type, charset="utf-8")
    kept = str(library.mint(content).identifier)
    for citation in (
        f"{kept}@{origin}={NAMES['A']}#char=15,58",
        f"{kept}@{origin}={NAMES['G']}",
        f"{NAMES['A']}@{origin}={kept}",
    ):
        found = check(library, citation)
        assert not found.verdict.is_quotation
        assert find_text(found, "boom" * 3) == 0


def find_text(report: CitationReport, text: str) -> int:
    """Count a text in the excerpts of a report."""
    shown = [one.text for one in (report.passage, report.quoted) if one is not None]
    return sum(one.count(text) for one in shown)


def test_text_in_a_wrong_charset_is_unverifiable(library: Desk) -> None:
    content = make_content(
        b"caf\xe9 We shall", format="text", media_type="text/plain", charset="utf-8"
    )
    kept = str(library.mint(content).identifier)
    found = check(library, f"{kept}@5={NAMES['A']}#char=15,23")
    assert (found.verdict, str(found.side)) == (Verdict.UNVERIFIABLE, kept)
    assert "not text" in found.reason or "utf-8" in found.reason
