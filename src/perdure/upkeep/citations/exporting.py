"""Citations in the forms of other services: Scholix, CiTO, OpenCitations.

| form | file | specification |
| --- | --- | --- |
| `scholix` | a JSON array of link information packages | Scholix metadata schema 3.0 |
| `cito` | Turtle, with `cito:cites` and, for citations with a name, `cito:Citation` | CiTO 2.8.2 |
| `opencitations` | CSV with four columns | OpenCitations, CITS-CSV |

How it works: names are written as addresses, at our own resolver (`base_url`) or at the public one
of their scheme; DOIs are written as such. Pairs of documents are written once, whatever their parts
and however often one cites the other.

What must stay true: only what everyone may read is exported. A date of publication is what the
record says, never the day of deposit (ruling: cite-date).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from perdure.errors.citing import UnknownExportForm
from perdure.ids import Identifier, parse
from perdure.ids.urls import find_public_address, urlify
from perdure.reading.targets import spell_part_path, spell_path
from perdure.upkeep.citations.listing import ListedCitation

_CITO = "http://purl.org/spar/cito/"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_COLUMNS = ("citing_id", "citing_publication_date", "cited_id", "cited_publication_date")


class NameWriter:
    """Writes names for other services."""

    def __init__(self, base: str) -> None:
        self._base = base.rstrip("/")

    def write_address(self, name: Identifier) -> str:
        """Return the address of a name. Raises NoPublicResolver."""
        public = find_public_address(name.whole)
        if public and not name.is_citation:
            return public
        path = spell_path(name)
        if name.part is not None:
            path = spell_part_path(name.whole, name.part)
        return urlify(name, self._base, path)

    def write_id(self, name: Identifier) -> str:
        """Return a name with its scheme, as OpenCitations writes it. Raises NoPublicResolver.

        >>> NameWriter("https://pid.example").write_id(parse("doi:10.1000/182"))
        'doi:10.1000/182'
        >>> NameWriter("https://pid.example").write_id(parse("pdi://oma.eop.gov/1997/09/01/1"))
        'url:pid.example/pdi://oma.eop.gov/1997/09/01/1'
        """
        text = str(name)
        if text.startswith("doi:"):
            return text
        return f"url:{self.write_address(name).partition('://')[2]}"


def export_citations(form: str, citations: Iterable[ListedCitation], base: str) -> Iterator[str]:
    """Yield the pieces of a file. Raises UnknownExportForm, or NoPublicResolver without `base`."""
    if form not in FORMS:
        raise UnknownExportForm(text=form, known=tuple(FORMS))
    return FORMS[form](citations, NameWriter(base))


def _list_pairs(
    citations: Iterable[ListedCitation],
) -> Iterator[tuple[Identifier, Identifier, str]]:
    """Yield each pair of a citing document and a cited one once, with the day of the first."""
    seen: set[tuple[str, str]] = set()
    for one in citations:
        citing, cited = parse(one.citing), parse(one.cited)
        if cited.is_citation:
            continue
        pair = (str(citing.whole), str(cited.whole))
        if pair not in seen:
            seen.add(pair)
            yield citing.whole, cited.whole, one.day


# Scholix
# -------


def _write_scholix(citations: Iterable[ListedCitation], writer: NameWriter) -> Iterator[str]:
    opening = "["
    for citing, cited, day in _list_pairs(citations):
        yield f"{opening}\n{json.dumps(_make_package(citing, cited, day, writer))}"
        opening = ","
    yield "[]\n" if opening == "[" else "\n]\n"


def _make_package(
    citing: Identifier, cited: Identifier, day: str, writer: NameWriter
) -> dict[str, Any]:
    return {
        "LinkPublicationDate": day,
        "LinkProvider": [{"Name": "perdure"}],
        "RelationshipType": {
            "Name": "References",
            "SubType": "Cites",
            "SubTypeSchema": "http://schema.datacite.org/",
        },
        "Source": _make_object(citing, writer),
        "Target": _make_object(cited, writer),
    }


def _make_object(name: Identifier, writer: NameWriter) -> dict[str, Any]:
    text = str(name)
    scheme = "DOI" if text.startswith("doi:") else name.kind.upper()
    return {
        "Identifier": {
            "ID": text.removeprefix("doi:"),
            "IDScheme": scheme,
            "IDURL": writer.write_address(name),
        },
        "Type": {"Name": "literature"},
    }


# CiTO
# ----


def _write_cito(citations: Iterable[ListedCitation], writer: NameWriter) -> Iterator[str]:
    yield f"@prefix cito: <{_CITO}> .\n@prefix xsd: <{_XSD}> .\n"
    seen: set[tuple[str, str]] = set()
    for one in citations:
        citing, cited = (writer.write_address(parse(side)) for side in (one.citing, one.cited))
        if (citing, cited) not in seen:
            seen.add((citing, cited))
            yield f"{_write_iri(citing)} cito:cites {_write_iri(cited)} .\n"
        if one.name is not None:
            name = _write_iri(writer.write_address(parse(one.name)))
            yield (
                f"{name} a cito:Citation ; cito:hasCitingEntity {_write_iri(citing)} ;"
                f" cito:hasCitedEntity {_write_iri(cited)} .\n"
            )


def _write_iri(address: str) -> str:
    """Return an address as an IRI of Turtle: what it may not contain is escaped."""
    kept = (f"%{ord(one):02X}" if one in '<>"{}|^`\\ ' or one < "!" else one for one in address)
    return f"<{''.join(kept)}>"


# OpenCitations
# -------------


def _write_opencitations(citations: Iterable[ListedCitation], writer: NameWriter) -> Iterator[str]:
    yield _write_line(_COLUMNS)
    for citing, cited, _ in _list_pairs(citations):
        yield _write_line((writer.write_id(citing), "", writer.write_id(cited), ""))


def _write_line(fields: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(fields)
    return line.getvalue()


FORMS: dict[str, Callable[[Iterable[ListedCitation], NameWriter], Iterator[str]]] = {
    "scholix": _write_scholix,
    "cito": _write_cito,
    "opencitations": _write_opencitations,
}
