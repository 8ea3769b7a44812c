"""CSL-JSON, which citation processors read and reference managers exchange.

Specification: CSL 1.0.2, appendices III and IV, and its JSON schema `csl-data.json`.

How it works: `make_item` makes an item from a described resource, which `perdure.metadata.citing`
also passes to the styles; `read_record` reads an item, or a list with one item.

The variables of an item for which a description has no place are kept beside it, and written again
as long as they do not contradict the description.

What must stay true: in every item, `URL` is the actionable identifier (and `DOI` the DOI, if it is
one); an item contains only facts from the description (ruling cite-date: the day of the deposit is
not a date of publication); an item that was read is written with all its variables.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import msgspec

from perdure.errors.limits import MetadataTooLarge
from perdure.errors.records import ItemTypeMissing, NotOneItem, VariableNotText, quote_parser
from perdure.ids import parse, scheme_of
from perdure.metadata.port import LARGEST, DescribedResource, Format, Signature
from perdure.metadata.resource_types import find_resource_type, find_type_of_word, guess_type
from perdure.model.about import (
    About,
    Agent,
    CitationVariable,
    Code,
    DescriptionDate,
    DescriptionText,
    Publisher,
    RelatedItem,
    Rights,
    Subject,
)
from perdure.model.description_checks import check_description
from perdure.model.plain_words import find_year, parse_person

Item = dict[str, Any]

_NAME = "csl"
_DATE = re.compile(r"(-?[0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?", re.ASCII)
_NUMBER = re.compile("-?[0-9]{1,18}", re.ASCII)
_CIRCA = re.compile(r"(?:circa|ca?\.|about)\s*([0-9]{4})|([0-9]{4})~", re.ASCII | re.IGNORECASE)
"""An approximate year in words, or as in level 1 of EDTF (ISO 8601-2)."""
_PID = "PID: "
WITHDRAWN = "Withdrawn on "
_ROLES = {"Editor": "editor", "Translator": "translator", "ProjectLeader": "director"}
_DROPPING = re.compile(r"^((?:[a-zà-ÿ'’]+ )+)(?=[A-ZÀ-Þ])")


# Writing
# -------


def write_record(described: DescribedResource) -> bytes:
    """Write one item, as a JSON object."""
    found = make_item(described)
    gone = f"{WITHDRAWN}{described.withdrawn}" if described.withdrawn else ""
    notes = (found.get("note", ""), gone, f"{_PID}{described.identifier}")
    found["note"] = "\n".join(filter(None, notes))
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def make_item(described: DescribedResource) -> Item:
    """Make the CSL-JSON item of a resource; the specification lists its members."""
    about, identifier = described.about, described.identifier
    general = about.resource_type or guess_type(described.media_type)
    is_web = identifier.archived is not None
    found: Item = {
        "id": str(identifier),
        "type": "webpage" if is_web else find_resource_type(general).csl,
    }
    if about.resource_kind:
        found["genre"] = about.resource_kind
    if about.title:
        found["title"] = _write_title(about)
    found |= _list_people(about)
    issued = about.first_date("Issued", "Available", "Created") or about.year
    if date := _write_date(issued):
        found["issued"] = date
    if about.publisher is not None:
        found["publisher"] = about.publisher.name
        if about.publisher.place:
            found["publisher-place"] = about.publisher.place
    version = about.version or (str(described.version) if described.version else "")
    if version:
        found["version"] = version
    if about.edition:
        found["edition"] = about.edition
    if about.language:
        found["language"] = about.language
    if about.archive:
        found["archive"] = about.archive
    abstract = next((one.value for one in about.descriptions if one.kind == "Abstract"), "")
    if abstract:
        found["abstract"] = abstract
    if about.subjects:
        found["keyword"] = ", ".join(one.value for one in about.subjects)
    found |= _write_container(about.container)
    found |= _write_codes(about.codes)
    label = scheme_of(identifier).label_of(identifier)
    if label.datacite_type == "DOI":
        found["DOI"] = str(identifier)[len(label.text) :]
    found["URL"] = described.url
    return found | _restore_variables(found, about)


def find_number(item: Item, about: About) -> str:
    """The number of an issue or, of a report, patent or volume of a series, its own number."""
    held_in = about.container
    number = item.get("issue") or item.get("number") or (held_in.number if held_in else "")
    return str(number or item.get("collection-number", ""))


def _write_title(about: About) -> str:
    subtitle = next((one.value for one in about.titles if one.kind == "Subtitle"), "")
    return f"{about.title}: {subtitle}" if subtitle else about.title


def _list_people(about: About) -> Item:
    found: Item = {}
    if about.creators:
        found["author"] = [_write_name(one) for one in about.creators]
    for one in about.contributors:
        if role := _ROLES.get(one.role):
            found.setdefault(role, []).append(_write_name(one))
    return found


def _write_name(agent: Agent) -> Item:
    if not agent.is_person or not agent.family:
        return {"literal": agent.display_name or agent.given}
    family, parts = agent.family, {}
    if particle := _DROPPING.match(family):  # "van der Berg": citeproc sorts by "Berg"
        parts["non-dropping-particle"] = particle[1].rstrip()
        family = family[particle.end() :]
    parts["family"] = family
    given, suffix = split_given(agent)
    return parts | {name: one for name, one in (("given", given), ("suffix", suffix)) if one}


def split_given(agent: Agent) -> tuple[str, str]:
    """Split given names from a suffix after a comma: `Jr.`, `III`."""
    given, _, suffix = agent.given.partition(",")
    return given.strip(), suffix.strip()


def _write_date(text: str) -> Item:
    """Write the valid parts of a date or an interval, or else its text.

    The year before 1 is 0 in ISO 8601 and -1 in CSL. In records, year 0 means an unknown year.
    """
    ends = []
    circa = _CIRCA.fullmatch(text)
    if circa is not None:
        return {"date-parts": [[int(circa[1] or circa[2])]], "circa": True}
    for end in text.split("/")[:2]:
        found = _DATE.match(end.strip())
        if found is None:
            break
        year, *within = (int(part) for part in found.groups() if part)
        if not year:
            break
        ends.append([year if year > 0 else year - 1, *_check_month_and_day(within)])
    if ends:
        return {"date-parts": ends}
    return {} if _DATE.match(text.strip()) or not text.strip() else {"literal": text.strip()}


def _check_month_and_day(numbers: list[int]) -> list[int]:
    """Return month and day as far as they are valid; 21 to 24 are seasons (ISO 8601-2)."""
    if not numbers or not (1 <= numbers[0] <= 12 or 21 <= numbers[0] <= 24):
        return []
    return numbers if 1 <= numbers[-1] <= 31 else numbers[:1]


def _write_container(held_in: RelatedItem | None) -> Item:
    if held_in is None:
        return {}
    found: Item = {}
    if held_in.titles:
        found["container-title"] = held_in.titles[0].value
    pages = [page for page in (held_in.first_page, held_in.last_page) if page]
    for name, value in (
        ("volume", held_in.volume),
        ("issue", held_in.issue),
        ("number", held_in.number),
        ("page", "–".join(pages)),
        ("edition", held_in.edition),
        ("publisher", held_in.publisher),
    ):
        if value:
            found[name] = value
    editors = [_write_name(one) for one in held_in.contributors if one.role == "Editor"]
    if editors:
        found["editor"] = editors
    return found | (_write_codes((held_in.code,)) if held_in.code else {})


def _write_codes(codes: tuple[Code, ...]) -> Item:
    wanted = {"ISBN": "ISBN", "ISSN": "ISSN", "EISSN": "ISSN", "DOI": "DOI", "PMID": "PMID"}
    found = {wanted[one.scheme]: one.value for one in codes if one.scheme in wanted}
    if "DOI" in found:
        found["DOI"] = re.sub(r"^(?:doi:|https?://(?:dx\.)?doi\.org/)", "", found["DOI"])
    return found


# Reading
# -------


class _Name(msgspec.Struct, frozen=True, rename="kebab"):
    family: str = ""
    given: str = ""
    literal: str = ""
    suffix: str = ""
    dropping_particle: str = ""
    non_dropping_particle: str = ""


class _Date(msgspec.Struct, frozen=True, rename="kebab"):
    date_parts: tuple[tuple[int | str, ...], ...] = ()
    raw: str = ""
    literal: str = ""
    season: int | str = ""
    circa: bool | int | str = False


def read_record(data: bytes) -> About:
    """Read an item. Raises InvalidMetadata or TooLarge."""
    if len(data) > LARGEST:
        raise MetadataTooLarge(format=_NAME, limit=LARGEST)
    try:
        found: Any = msgspec.json.decode(data)
        if isinstance(found, list) and len(found) == 1:
            found = found[0]
        if not isinstance(found, dict):
            raise NotOneItem()
        return check_description(_keep_variables(found, _read_about(found)))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise quote_parser(_NAME, "msgspec", error) from None


def _read_about(item: Item) -> About:
    if not isinstance(item.get("type"), str):
        raise ItemTypeMissing()
    issued = _read_date(item.get("issued"))
    codes = tuple(
        Code(value=_read_text(item, name), scheme=scheme)
        for name, scheme in (("DOI", "DOI"), ("URL", "URL"), ("ISBN", "ISBN"), ("PMID", "PMID"))
        if _read_text(item, name)
    )
    held_in = _read_container(item)
    publisher = _read_text(item, "publisher")
    title = _read_text(item, "title")
    return About(
        titles=(DescriptionText(value=title),) if title else (),
        creators=_read_names(item, "author"),
        contributors=tuple(
            msgspec.structs.replace(one, role=role)
            for role, name in _ROLES.items()
            for one in _read_names(item, name)
        ),
        publisher=Publisher(name=publisher, place=_read_text(item, "publisher-place"))
        if publisher
        else None,
        year=find_year(issued),
        dates=(DescriptionDate(value=issued, kind="Issued"),) if issued else (),
        language=_read_text(item, "language"),
        resource_type=find_type_of_word("csl", item["type"]) or "Other",
        resource_kind=_read_text(item, "genre"),
        subjects=tuple(
            Subject(value=one.strip())
            for one in _read_text(item, "keyword").split(",")
            if one.strip()
        ),
        codes=codes,
        version=_read_text(item, "version"),
        edition="" if held_in else _read_text(item, "edition"),
        rights=(Rights(value=_read_text(item, "license")),) if _read_text(item, "license") else (),
        descriptions=(DescriptionText(value=_read_text(item, "abstract"), kind="Abstract"),)
        if _read_text(item, "abstract")
        else (),
        related=(held_in,) if held_in else (),
        archive=_read_text(item, "archive"),
    )


def _read_text(item: Item, name: str) -> str:
    value = item.get(name, "")
    if not isinstance(value, str | int | float):
        raise VariableNotText(variable=name)
    return str(value).strip()


def _read_names(item: Item, name: str) -> tuple[Agent, ...]:
    return tuple(_read_name(one) for one in msgspec.convert(item.get(name, ()), tuple[_Name, ...]))


def _read_name(one: _Name) -> Agent:
    if one.literal or not one.family:
        return parse_person(one.literal) if one.literal else Agent(name=one.given)
    particles = (one.dropping_particle, one.non_dropping_particle)
    family = " ".join(part for part in (*particles, one.family) if part)
    given = ", ".join(part for part in (one.given, one.suffix) if part)
    name = ", ".join(part for part in (family, given) if part)
    return Agent(name=name, family=family, given=given, kind="Personal")


def _read_date(value: Any) -> str:
    if not value:
        return ""
    date = msgspec.convert(value, _Date)
    if not date.date_parts:
        return date.raw or date.literal
    ends = [
        [int(part) for part in end]
        for end in date.date_parts
        if end and all(_NUMBER.fullmatch(str(part)) for part in end)
    ]
    season = _SEASONS.get(str(date.season).lower())
    if season and len(ends) == 1 and len(ends[0]) == 1:
        ends[0].append(season)
    text = "/".join(_write_iso_date(*end) for end in ends)
    return f"{text}~" if date.circa and len(text) == len("1900") else text


_SEASONS = {
    name: 20 + at
    for at, names in enumerate(("1 spring", "2 summer", "3 autumn fall", "4 winter"), 1)
    for name in names.split()
}
"""Seasons of CSL, with their numbers in ISO 8601-2."""


def _write_iso_date(year: int, *within: int) -> str:
    """Write a CSL date in the form of ISO 8601."""
    shown = f"{year:04}" if year >= 0 else f"-{-year - 1:04}"
    return "-".join((shown, *(f"{part:02}" for part in within)))


def _read_container(item: Item) -> RelatedItem | None:
    title = _read_text(item, "container-title")
    if not title:
        return None
    first, _, last = re.sub(r"[‐-―]+|-+", "-", _read_text(item, "page")).partition("-")
    issn = _read_text(item, "ISSN")
    in_book = item["type"] in ("chapter", "paper-conference", "entry-encyclopedia")
    return RelatedItem(
        relation="IsPublishedIn",
        resource_type="Book" if in_book else "Journal",
        titles=(DescriptionText(value=title),),
        code=Code(value=issn, scheme="ISSN") if issn else None,
        volume=_read_text(item, "volume"),
        issue=_read_text(item, "issue"),
        number=_read_text(item, "number"),
        edition=_read_text(item, "edition"),
        first_page=first.strip(),
        last_page=last.strip(),
    )


# Variables without a place in a description
# -----------------------------------------

_OWN = frozenset(("id", "URL", "license"))
"""Variables that the resource itself determines, or that are read into another member."""


def _keep_variables(item: Item, about: About) -> About:
    """Keep the variables of an item that the description does not give back."""
    unnamed = DescribedResource(identifier=parse("urn:example:item"), about=about, url="")
    again = make_item(unnamed)
    kept = []
    for name, value in item.items():
        if name == "note" and isinstance(value, str):
            value = "\n".join(
                line for line in value.split("\n") if not line.startswith((_PID, WITHDRAWN))
            )
        if name in _OWN or value in (None, "", [], {}) or again.get(name) == value:
            continue
        if name in again and not _is_structured(name, value):
            continue  # the same in another spelling, such as that of a range of pages
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        kept.append(CitationVariable(name=name, value=text))
    return msgspec.structs.replace(about, variables=tuple(kept))


def _is_structured(name: str, value: Any) -> bool:
    return name == "type" or isinstance(value, dict | list)


def _restore_variables(item: Item, about: About) -> Item:
    """Return the variables that were kept, unless the description says something else by now."""
    found: Item = {}
    for one in about.variables:
        value: Any = one.value
        if value[:1] in ("[", "{"):
            with suppress(msgspec.DecodeError):
                value = msgspec.json.decode(value)
        if one.name not in item or _means_the_same(one.name, value, item, about):
            found[one.name] = value
    return found


def _means_the_same(name: str, value: Any, item: Item, about: About) -> bool:
    """Return True if a variable only says more precisely what the description says."""
    if name == "type":
        return (find_type_of_word("csl", str(value)) or "Other") == about.resource_type
    try:
        if isinstance(value, dict):
            return _read_date(value) == _read_date(item[name])
        if isinstance(value, list):
            return _spell_names(value) == _spell_names(item[name])
    except msgspec.ValidationError:
        return False
    return False


def _spell_names(value: Any) -> list[str]:
    return [_read_name(one).display_name for one in msgspec.convert(value, tuple[_Name, ...])]


FORMAT = Format(
    name=_NAME,
    title="CSL-JSON",
    media_types=("application/vnd.citationstyles.csl+json",),
    write=write_record,
    read=read_record,
    schema="https://resource.citationstyles.org/schema/v1.0/input/json/csl-data.json",
    aliases=("csl-json", "csljson"),
    signature=Signature(opening=(b"{", b"["), marks=(b'"type"',), reach=LARGEST + 1, generality=1),
    place=50,
)
