"""Read deposits of Crossref: the works in them that have a DOI.

How it works: a deposit has journals, books, conferences and the like, and inside of them articles,
chapters and papers. Each element with a `doi_data` of its own is a work. Its description comes from
its own elements; the journal, issue or book around it is its container.

What must stay true: DOIs inside of references and relations are not works of the deposit.

Specification: Crossref deposit schema 4.4 to 5.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from perdure.errors.records import quote_parser
from perdure.metadata import xml_text
from perdure.metadata.xml_text import collect_text, strip_namespace
from perdure.model.about import (
    About,
    Agent,
    Code,
    DescriptionDate,
    DescriptionText,
    Publisher,
    RelatedItem,
)
from perdure.model.description_checks import LANGUAGE, check_description

NAME = "crossref"
_TYPES = {
    "journal": "Journal", "journal_metadata": "Journal", "journal_issue": "Journal",
    "journal_volume": "Journal", "journal_article": "JournalArticle", "book_metadata": "Book",
    "book_series_metadata": "Book", "book_set_metadata": "Book", "content_item": "BookChapter",
    "conference_paper": "ConferencePaper", "proceedings_metadata": "ConferenceProceeding",
    "proceedings_series_metadata": "ConferenceProceeding", "dataset": "Dataset",
    "database_metadata": "Dataset", "dissertation": "Dissertation",
    "report-paper_metadata": "Report", "report-paper_series_metadata": "Report",
    "posted_content": "Preprint", "peer_review": "PeerReview", "standard_metadata": "Standard",
    "component": "Other", "grant": "Award", "pending_publication": "JournalArticle",
}  # fmt: skip
_AROUND = {
    "journal_metadata": "Journal", "book_metadata": "Book", "book_series_metadata": "Book",
    "proceedings_metadata": "ConferenceProceeding", "database_metadata": "Dataset",
    "proceedings_series_metadata": "ConferenceProceeding", "report-paper_metadata": "Report",
}  # fmt: skip
_ROLES = {"editor": "Editor", "translator": "Translator", "chair": "Editor", "reviewer": "Other"}


class DepositedWork(NamedTuple):
    """A work of a deposit."""

    doi: str
    url: str
    about: About
    element: Any


def read_element(data: bytes) -> About:
    """Read the description of the first work. Raises InvalidMetadata."""
    works = list(list_works(data))
    if not works:
        raise quote_parser(NAME, "the reader of Crossref's deposits", "it has no DOI")
    return works[0].about


def list_works(data: bytes) -> Iterator[DepositedWork]:
    """Yield the works of a deposit, or of one element of it. Raises InvalidMetadata."""
    root = xml_text.parse_xml(data, NAME)
    yield from _walk(root, ())


def _walk(element: Any, around: tuple[Any, ...]) -> Iterator[DepositedWork]:
    """Yield the works in an element. `around` has the elements that describe its container."""
    name = strip_namespace(element)
    doi_data = _find(element, "doi_data")
    doi = _text(doi_data, "doi") if doi_data is not None else ""
    if name in _TYPES and doi:
        url = _text(doi_data, "resource")
        yield DepositedWork(doi, url, check_description(_describe(element, name, around)), element)
    inside = tuple(
        one
        for one in element
        if isinstance(one.tag, str) and strip_namespace(one) in {*_AROUND, "journal_issue"}
    )
    for one in element:
        if isinstance(one.tag, str):
            kind = strip_namespace(one)
            if kind not in ("citation_list", "program", "doi_data", "head"):
                yield from _walk(one, (*around, *(each for each in inside if each is not one)))


def _find(element: Any, *path: str) -> Any:
    """Return the first descendant at a path of local names, or None."""
    for name in path:
        found = (
            one for one in element if isinstance(one.tag, str) and strip_namespace(one) == name
        )
        element = next(found, None)
        if element is None:
            return None
    return element


def _text(element: Any, *path: str) -> str:
    found = _find(element, *path)
    return "" if found is None else " ".join(collect_text(found).split())


def _describe(element: Any, name: str, around: tuple[Any, ...]) -> About:
    language = element.get("language") or _language_around(around)
    date = _read_date(element) or next(filter(None, map(_read_date, reversed(around))), "")
    publisher = _find_publisher((element, *reversed(around)))
    doi = _text(element, "doi_data", "doi")
    agents = list(_list_agents(element))
    return About(
        titles=tuple(_list_titles(element)),
        creators=tuple(one for role, one in agents if role == "author"),
        contributors=tuple(
            _give_role(one, _ROLES.get(role, "Other")) for role, one in agents if role != "author"
        ),
        publisher=publisher,
        year=date[:4],
        dates=(DescriptionDate(value=date, kind="Issued"),) if date else (),
        language=language if LANGUAGE.fullmatch(language) else "",
        resource_type=_TYPES[name],
        descriptions=tuple(_list_abstracts(element)),
        edition=_text(element, "edition_number"),
        codes=(Code(value=doi, scheme="DOI"), *_list_numbers(element)),
        related=tuple(_list_containers(element, around)),
    )


def _language_around(around: tuple[Any, ...]) -> str:
    return next((one.get("language") for one in reversed(around) if one.get("language")), "")


def _list_titles(element: Any) -> Iterator[DescriptionText]:
    full = _text(element, "full_title")
    if full:
        yield DescriptionText(value=full)
    titles = _find(element, "titles")
    for one in titles if titles is not None else ():
        value = " ".join(collect_text(one).split())
        if not value:
            continue
        match strip_namespace(one):
            case "title":
                yield DescriptionText(value=value)
            case "subtitle":
                yield DescriptionText(value=value, kind="Subtitle")
            case "original_language_title":
                yield DescriptionText(
                    value=value, kind="TranslatedTitle", language=one.get("language", "")
                )
    for path in (("proceedings_title",), ("title",)):
        if not full and titles is None and (text := _text(element, *path)):
            yield DescriptionText(value=text)


def _list_agents(element: Any) -> Iterator[tuple[str, Agent]]:
    contributors = _find(element, "contributors")
    for one in contributors if contributors is not None else ():
        kind = strip_namespace(one)
        role = one.get("contributor_role", "author")
        if kind == "organization":
            yield role, Agent(name=" ".join(collect_text(one).split()), kind="Organizational")
        elif kind == "person_name":
            given, family = _text(one, "given_name"), _text(one, "surname")
            suffix = _text(one, "suffix")
            given = f"{given}, {suffix}" if suffix and given else given
            orcid = _text(one, "ORCID")
            yield (
                role,
                Agent(
                    name=", ".join(filter(None, (family, given))),
                    given=given,
                    family=family,
                    kind="Personal",
                    codes=(Code(value=orcid, scheme="ORCID"),) if orcid else (),
                ),
            )


def _give_role(agent: Agent, role: str) -> Agent:
    return Agent(
        name=agent.name, given=agent.given, family=agent.family, kind=agent.kind,
        codes=agent.codes, role=role,
    )  # fmt: skip


def _read_date(element: Any) -> str:
    """The first date of publication, online dates after others."""
    names = ("publication_date", "posted_date", "approval_date", "review_date", "database_date")
    dates = [one for one in element if isinstance(one.tag, str) and strip_namespace(one) in names]
    dates.sort(key=lambda one: one.get("media_type") == "online")
    for one in dates:
        parts = [_text(one, name) for name in ("year", "month", "day")]
        if not parts[0]:
            continue
        used = parts[: next((at for at, part in enumerate(parts) if not part), len(parts))]
        return "-".join([used[0], *(part.zfill(2) for part in used[1:])])
    return ""


def _find_publisher(elements: tuple[Any, ...]) -> Publisher | None:
    for one in elements:
        if name := _text(one, "publisher", "publisher_name"):
            return Publisher(name=name, place=_text(one, "publisher", "publisher_place"))
        if name := _text(one, "institution", "institution_name"):
            return Publisher(name=name, place=_text(one, "institution", "institution_place"))
    return None


def _list_abstracts(element: Any) -> Iterator[DescriptionText]:
    for one in element:
        if isinstance(one.tag, str) and strip_namespace(one) in ("abstract", "description"):
            text = " ".join(collect_text(one).split())
            if text:
                yield DescriptionText(value=text, kind="Abstract")


def _list_numbers(element: Any) -> Iterator[Code]:
    for one in element:
        if isinstance(one.tag, str) and strip_namespace(one) in ("isbn", "issn"):
            scheme = strip_namespace(one).upper()
            yield Code(value=collect_text(one).strip(), scheme=scheme)


def _list_containers(element: Any, around: tuple[Any, ...]) -> Iterator[RelatedItem]:
    held_in = next((one for one in reversed(around) if strip_namespace(one) in _AROUND), None)
    if held_in is None or held_in is element:
        return
    issue = next((one for one in reversed(around) if strip_namespace(one) == "journal_issue"), None)
    titles = tuple(_list_titles(held_in))[:1]
    numbers = tuple(_list_numbers(held_in))
    pages = _find(element, "pages")
    yield RelatedItem(
        relation="IsPublishedIn",
        resource_type=_AROUND[strip_namespace(held_in)],
        titles=titles,
        code=numbers[0] if numbers else None,
        volume="" if issue is None else _text(issue, "journal_volume", "volume"),
        issue="" if issue is None else _text(issue, "issue"),
        first_page="" if pages is None else _text(pages, "first_page"),
        last_page="" if pages is None else _text(pages, "last_page"),
    )
