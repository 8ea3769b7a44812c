"""Read a record of RIS (see `perdure.metadata.ris`).

How it works: a record is a list of tags with values, from `TY` to `ER`. A line without a tag
continues the value before it. Programs differ in the tags that they use for one thing, so each
property has several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from perdure.errors.limits import MetadataTooLarge
from perdure.errors.records import quote_parser
from perdure.metadata.port import LARGEST
from perdure.metadata.resource_types import find_type_of_word
from perdure.model.about import (
    About,
    Agent,
    Code,
    DescriptionDate,
    DescriptionText,
    Publisher,
    RelatedItem,
    Subject,
)
from perdure.model.description_checks import LANGUAGE, check_description
from perdure.model.plain_words import find_year, parse_person

_NAME = "ris"
Tags = Sequence[tuple[str, str]]
TAG = re.compile(r"([A-Z][A-Z0-9])  -(?: (.*))?", re.ASCII)
_ARTICLES = frozenset(("JOUR", "EJOUR", "MGZN", "NEWS", "INPR"))
_DATE = re.compile(r"([0-9]{4})(?:/([0-9]{1,2})?)?(?:/([0-9]{1,2})?)?(?:/.*)?", re.ASCII)
_OTHER_TYPES = {
    "EJOUR": "JournalArticle", "MGZN": "JournalArticle", "NEWS": "JournalArticle",
    "INPR": "Preprint", "ELEC": "InteractiveResource", "CPAPER": "ConferencePaper",
    "EBOOK": "Book", "ECHAP": "BookChapter", "AGGR": "Dataset", "BLOG": "Text",
}  # fmt: skip


def read_tags(text: str) -> Tags:
    """Read the tags of one record. Raises ValueError if a line is neither a tag nor a value."""
    found: list[tuple[str, str]] = []
    for line in text.lstrip("\ufeff").splitlines():
        tag = TAG.fullmatch(line.rstrip())
        if tag is not None:
            if tag[1] == "ER":
                return found
            found.append((tag[1], (tag[2] or "").strip()))
        elif line.strip():
            if not found:
                raise ValueError(f"{line.strip()[:40]!a} is not a line TAG  - VALUE")
            name, value = found[-1]
            found[-1] = (name, f"{value} {line.strip()}")
    return found


def read_record(data: bytes) -> About:
    """Read one record. Raises InvalidMetadata or TooLarge."""
    if len(data) > LARGEST:
        raise MetadataTooLarge(format=_NAME, limit=LARGEST)
    try:
        tags = read_tags(data.decode("utf-8-sig"))
        if not tags or tags[0][0] != "TY":
            raise ValueError("it does not begin with the tag TY")
    except ValueError as error:
        raise quote_parser(_NAME, "the reader of RIS", error) from None
    return describe_tags(tags)


def describe_tags(tags: Tags) -> About:
    """Make a description from the tags of a record. Raises InvalidRequest."""
    kind = _first(tags, "TY").upper()
    date = _read_date(_first(tags, "DA") or _first(tags, "PY", "Y1"))
    publisher, place = _first(tags, "PB"), _first(tags, "CY", "PP")
    language = _first(tags, "LA")
    title = _first(tags, "TI", "T1", "CT") or ("" if kind == "BOOK" else _first(tags, "BT"))
    keywords = (one.strip() for value in _all(tags, "KW") for one in value.split(";"))
    return check_description(
        About(
            titles=(DescriptionText(value=title),) if title else (),
            creators=tuple(map(_read_name, _all(tags, "AU", "A1"))),
            contributors=tuple(_read_name(one, "Editor") for one in _all(tags, "ED", "A2")),
            publisher=Publisher(name=publisher, place=place) if publisher else None,
            year=find_year(date) or find_year(_first(tags, "PY", "Y1")),
            dates=(DescriptionDate(value=date, kind="Issued"),) if date else (),
            language=language if LANGUAGE.fullmatch(language) else "",
            resource_type=_OTHER_TYPES.get(kind) or find_type_of_word("ris", kind) or "Text",
            resource_kind=_first(tags, "M3"),
            subjects=tuple(Subject(value=one) for one in keywords if one),
            descriptions=tuple(_list_descriptions(tags)),
            codes=tuple(_list_codes(tags, kind)),
            edition=_first(tags, "ET"),
            archive=_first(tags, "DB"),
            related=tuple(_list_containers(tags, kind)),
        )
    )


def _all(tags: Tags, *names: str) -> list[str]:
    return [value for name, value in tags if name in names and value]


def _first(tags: Tags, *names: str) -> str:
    """Return the first value of the first of these tags that has one."""
    found = (value for wanted in names for name, value in tags if name == wanted and value)
    return next(found, "")


def _read_name(text: str, role: str = "") -> Agent:
    family, _, rest = text.partition(",")
    given, _, suffix = rest.partition(",")
    agent = parse_person(f"{family},{given}" if rest else text)
    if suffix.strip():
        given = f"{agent.given}, {suffix.strip()}"
        agent = Agent(
            name=f"{agent.family}, {given}", family=agent.family, given=given, kind="Personal"
        )
    if not role:
        return agent
    return Agent(
        name=agent.name, family=agent.family, given=agent.given, kind=agent.kind, role=role
    )


def _read_date(text: str) -> str:
    """Read `2001/09/01/season`; any other text stays."""
    found = _DATE.fullmatch(text)
    if found is None:
        return text
    parts = [found[1]]
    for one in found.groups()[1:]:
        if not one:
            break
        parts.append(f"{int(one):02}")
    return "-".join(parts)


def _list_descriptions(tags: Tags) -> Iterator[DescriptionText]:
    for text in _all(tags, "AB", "N2"):
        yield DescriptionText(value=text, kind="Abstract")
    for text in _all(tags, "N1"):
        yield DescriptionText(value=text, kind="Other")


def _list_codes(tags: Tags, kind: str) -> Iterator[Code]:
    if doi := _first(tags, "DO"):
        yield Code(value=doi, scheme="DOI")
    number = _first(tags, "SN")
    if number and kind not in _ARTICLES:
        yield Code(value=number, scheme="ISBN")
    for url in _all(tags, "UR"):
        yield Code(value=url, scheme="URL")


def _list_containers(tags: Tags, kind: str) -> Iterator[RelatedItem]:
    title = _first(tags, "T2", "JO", "JF", "JA", "J2")
    is_article = kind in _ARTICLES
    number = _first(tags, "SN") if is_article else ""
    places = {name: _first(tags, name) for name in ("VL", "IS", "SP", "EP")}
    if not title and not number and not any(places.values()):
        return
    first, _, last = places["SP"].partition("-")
    yield RelatedItem(
        relation="IsPublishedIn",
        resource_type="Journal" if is_article else "Book" if kind == "CHAP" else "Collection",
        titles=(DescriptionText(value=title),) if title else (),
        code=Code(value=number, scheme="ISSN") if number else None,
        volume=places["VL"],
        issue=places["IS"],
        first_page=first.strip(),
        last_page=places["EP"] or last.strip(),
    )
