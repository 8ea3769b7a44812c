"""MARC 21: a bibliographic record in MARCXML, for library catalogues.

How it works: each property has its field: identifiers 024, language 041, creators 100, 110, 700 and
710, titles 245 and 246, publication 264, descriptions 500 and 520, rights 540, subjects 653, the
type 655, the container 773, related resources 787, the address 856.

What must stay true: field 001 and the first 024 have the identifier; indicators and subfields are
those of the standard, so that catalogues accept every record.

Specification: MARC 21 Format for Bibliographic Data; MARCXML schema 1.1 (Library of Congress).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perdure.ids import scheme_of
from perdure.metadata.port import DescribedResource
from perdure.metadata.resource_types import guess_type
from perdure.metadata.xml_text import DECLARATION, escape_text
from perdure.model.about import About, Agent, RelatedItem

NAMESPACE = "http://www.loc.gov/MARC21/slim"
Subfields = Iterable[tuple[str, str]]
_RECORD_TYPES = {
    "Sound": "i", "Audiovisual": "g", "Image": "k", "Dataset": "m", "Software": "m", "Model": "m",
    "ComputationalNotebook": "m", "PhysicalObject": "r", "Collection": "p",
}  # fmt: skip
"""Leader, position 06; `a` (text) for all others."""
_PARTS = frozenset(("JournalArticle", "BookChapter", "ConferencePaper"))
_ROLES = {"Editor": "edt", "Translator": "trl", "Sponsor": "spn", "Distributor": "dst",
          "DataCollector": "col", "Researcher": "res", "Supervisor": "ths", "Producer": "pro",
          "HostingInstitution": "his", "RightsHolder": "cph"}  # fmt: skip
"""Relator codes of contributors; `ctb` for all others."""
_THREE = {"de": "ger", "en": "eng", "fr": "fre", "es": "spa", "it": "ita", "nl": "dut", "da": "dan",
          "sv": "swe", "no": "nor", "fi": "fin", "pl": "pol", "ru": "rus", "pt": "por",
          "la": "lat", "ja": "jpn", "zh": "chi", "ar": "ara", "cs": "cze", "el": "gre",
          "he": "heb", "hu": "hun", "tr": "tur", "uk": "ukr", "ko": "kor"}  # fmt: skip
"""MARC's codes of languages for those of BCP 47."""


def write_record(described: DescribedResource) -> bytes:
    """Write a collection with one record."""
    record = write_element(described)
    return f'{DECLARATION}<collection xmlns="{NAMESPACE}">\n{record}</collection>\n'.encode()


def write_element(described: DescribedResource) -> str:
    """Write the element of one record, in the default namespace of MARC."""
    about = described.about
    general = about.resource_type or guess_type(described.media_type)
    level = "a" if general in _PARTS else "m"
    leader = f"00000n{_RECORD_TYPES.get(general, 'a')}{level} a2200000 u 4500"
    fields = "".join(
        f'<datafield tag="{tag}" ind1="{marks[0]}" ind2="{marks[1]}">'
        f"{''.join(_write_subfield(*one) for one in subfields)}</datafield>\n"
        for tag, marks, subfields in _list_fields(described)
    )
    year = about.year if len(about.year) == 4 else "uuuu"
    language = _find_language(about.language)
    facts = f"000000{'s' if about.year else 'n'}{year}    xx {' ' * 17}{language} d"
    number = escape_text(str(described.identifier))
    return (
        f"<record>\n<leader>{leader}</leader>\n"
        f'<controlfield tag="001">{number}</controlfield>\n'
        f'<controlfield tag="008">{facts:<40}</controlfield>\n{fields}</record>\n'
    )


def _write_subfield(code: str, value: str) -> str:
    return f'<subfield code="{code}">{escape_text(value)}</subfield>'


def _find_language(tag: str) -> str:
    return _THREE.get(tag.split("-")[0].lower(), "und")


def _keep(*subfields: tuple[str, str]) -> list[tuple[str, str]]:
    """Keep the subfields that have a value."""
    return [(code, " ".join(value.split())) for code, value in subfields if value.strip()]


def _list_fields(described: DescribedResource) -> Iterator[tuple[str, str, Subfields]]:
    """Yield tag, indicators and subfields, in the order of tags."""
    about = described.about
    yield from _list_numbers(described)
    if about.language:
        yield "041", "  ", _keep(("a", _find_language(about.language)))
    main, *others = about.creators or (None,)
    if main is not None:
        yield _write_agent(main, "1", "cre")
    yield from _list_titles(about, has_author=main is not None)
    if about.edition or about.version:
        yield "250", "  ", _keep(("a", about.edition or about.version))
    publisher = about.publisher
    date = about.first_date("Issued", "Available", "Created") or about.year
    if publisher is not None or date:
        place, name = (publisher.place, publisher.name) if publisher else ("", "")
        yield "264", " 1", _keep(("a", place), ("b", name), ("c", date))
    for size in about.sizes:
        yield "300", "  ", _keep(("a", size))
    yield from _list_notes(about)
    for subject in about.subjects:
        yield "653", "  ", _keep(("a", subject.value))
    if kind := about.resource_kind or about.resource_type:
        yield "655", " 4", _keep(("a", kind))
    for one in others:
        if one is not None:
            yield _write_agent(one, "7", "cre")
    for one in about.contributors:
        yield _write_agent(one, "7", _ROLES.get(one.role, "ctb"))
    for item in about.related:
        yield _write_related(item)
    for relation in about.relations:
        yield "787", "08", _keep(("i", relation.relation), ("o", relation.value))
    yield "856", "40", _keep(("u", described.url), ("q", described.media_type))


def _list_numbers(described: DescribedResource) -> Iterator[tuple[str, str, Subfields]]:
    label = scheme_of(described.identifier).label_of(described.identifier)
    kind = {"DOI": "doi", "Handle": "hdl", "ARK": "ark"}.get(label.datacite_type, "uri")
    yield "024", "7 ", _keep(("a", str(described.identifier)), ("2", kind))
    for code in described.about.codes:
        match code.scheme:
            case "ISBN":
                yield "020", "  ", _keep(("a", code.value))
            case "ISSN" | "EISSN":
                yield "022", "  ", _keep(("a", code.value))
            case _:
                yield "024", "7 ", _keep(("a", code.value), ("2", code.scheme.lower() or "local"))


def _write_agent(agent: Agent, first: str, role: str) -> tuple[str, str, Subfields]:
    """Write a person (100, 700) or an organisation (110, 710)."""
    is_person = agent.is_person or agent.kind == ""
    codes = [("0", f"({one.scheme}){one.value}") for one in agent.codes]
    places = [("u", one.name) for one in agent.affiliations]
    tag = f"{first}{'00' if is_person else '10'}"
    ordered = "1 " if is_person and agent.family else "0 " if is_person else "2 "
    return tag, ordered, _keep(("a", agent.display_name), *places, *codes, ("4", role))


def _list_titles(about: About, *, has_author: bool) -> Iterator[tuple[str, str, Subfields]]:
    subtitle = next((one.value for one in about.titles if one.kind == "Subtitle"), "")
    title = about.title or "[Untitled]"
    yield "245", f"{'1' if has_author else '0'}0", _keep(("a", title), ("b", subtitle))
    for one in about.titles:
        if one.value not in (about.title, subtitle):
            marks = "31" if one.kind == "TranslatedTitle" else "33"
            yield "246", marks, _keep(("a", one.value))


def _list_notes(about: About) -> Iterator[tuple[str, str, Subfields]]:
    for one in about.descriptions:
        if one.kind != "Abstract":
            yield "500", "  ", _keep(("a", one.value))
    for one in about.descriptions:
        if one.kind == "Abstract":
            yield "520", "3 ", _keep(("a", one.value))
    for funding in about.fundings:
        yield "536", "  ", _keep(("a", funding.funder), ("c", funding.award))
    for rights in about.rights:
        yield "540", "  ", _keep(("a", rights.value), ("f", rights.code), ("u", rights.uri))


def _write_related(item: RelatedItem) -> tuple[str, str, Subfields]:
    """Write the container (773), or another resource (787)."""
    title = item.titles[0].value if item.titles else ""
    pages = "-".join(filter(None, (item.first_page, item.last_page)))
    volume = f"vol. {item.volume}" if item.volume else ""
    issue = f"no. {item.issue}" if item.issue else ""
    where = ", ".join(filter(None, (volume, issue, f"pages {pages}" if pages else "")))
    number = item.code.value if item.code else ""
    code = {"ISSN": "x", "EISSN": "x", "ISBN": "z"}.get(item.code.scheme if item.code else "", "o")
    if item.relation == "IsPublishedIn":
        subfields = _keep(("t", title), ("d", item.publisher), ("g", where), (code, number))
        return "773", "0 ", subfields
    return "787", "08", _keep(("i", item.relation), ("t", title), (code, number))
