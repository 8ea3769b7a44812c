"""The description of a resource, apart from its bytes: one data model, as frozen values.

How it works: `About` has the properties of the DataCite metadata kernel 4, from which those of
Dublin Core, schema.org and CSL can be derived. If the kernel has a controlled list, its words
are used. The adapters in `perdure.metadata` read and write every format. `check_description`
enforces the limits of a description; `perdure.model.plain_words` makes one from plain names and
values.

What must stay true: these values are stored on disk in records, so a field may be added with a
default, but never renamed or removed; no text contains a character that XML does not allow, and no
URI has a scheme that browsers execute.

Specification: DataCite Metadata Schema 4.7, https://doi.org/10.14454/mzv1-5b55.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from perdure.errors.contents import MalformedMediaType
from perdure.errors.describing import (
    AttachedFormatInvalid,
    AttachedTooLong,
    AttachedTwice,
    DegreesInvalid,
    EmptyText,
    LinkActive,
    MalformedYear,
    PolygonNotClosed,
    TextNotLanguage,
    TextNotUri,
    TextNotXml,
    TextTooLong,
    TooManyValues,
    WordUnknown,
)
from perdure.model.placeholders import PLACEHOLDERS, drop_placeholders

LONGEST_TEXT = 100_000
"""Characters of one value."""
MOST_VALUES = 20_000
"""Number of values in all lists of a description together."""
LARGEST_ATTACHED = 1 << 20
"""Bytes of all attached records together."""

NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that are not a `Char` of XML 1.0 (section 2.2). They are listed because the complement
of that rule takes eight times as long to compile."""
_SCHEME = re.compile(r"[\x00-\x20]*([A-Za-z][A-Za-z0-9+.\-\t\r\n]*):")
_ACTIVE = frozenset({"javascript", "data", "vbscript", "blob", "file"})
_URI = re.compile(r'[^\x00-\x20<>"{}|\\^`\x7f]*')
_DEGREES = re.compile(r"[+-]?(?:[0-9]{1,3}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})", re.ASCII)
_LINKS = ("uri", "code.value", "codes.value", "relations.value", "attachment.schema")
_DEGREE_FIELDS = ("longitude", "latitude", "box.west", "box.east", "box.south", "box.north")
_YEAR = re.compile("[0-9]{4}", re.ASCII)
LANGUAGE = re.compile("[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*", re.ASCII)
"""The shape of a language tag (RFC 5646 section 2.1; RFC 4647 section 2.1)."""
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,80}/[A-Za-z0-9!#$&^_.+-]{1,80}", re.ASCII)


# The kernel's controlled lists (appendix 1 of its documentation)

TITLES = frozenset(["AlternativeTitle", "Subtitle", "TranslatedTitle", "Other"])
DESCRIPTIONS = frozenset(
    ["Abstract", "Methods", "SeriesInformation", "TableOfContents", "TechnicalInfo", "Other"]
)
ROLES = frozenset(
    [
        "ContactPerson",
        "DataCollector",
        "DataCurator",
        "DataManager",
        "Distributor",
        "Editor",
        "HostingInstitution",
        "Producer",
        "ProjectLeader",
        "ProjectManager",
        "ProjectMember",
        "RegistrationAgency",
        "RegistrationAuthority",
        "RelatedPerson",
        "Researcher",
        "ResearchGroup",
        "RightsHolder",
        "Sponsor",
        "Supervisor",
        "Translator",
        "WorkPackageLeader",
        "Other",
    ]
)
DATES = frozenset(
    [
        "Accepted",
        "Available",
        "Collected",
        "Copyrighted",
        "Coverage",
        "Created",
        "Issued",
        "Submitted",
        "Updated",
        "Valid",
        "Withdrawn",
        "Other",
    ]
)
RESOURCE_TYPES = frozenset(
    [
        "Audiovisual",
        "Award",
        "Book",
        "BookChapter",
        "Collection",
        "ComputationalNotebook",
        "ConferencePaper",
        "ConferenceProceeding",
        "DataPaper",
        "Dataset",
        "Dissertation",
        "Event",
        "Image",
        "Instrument",
        "InteractiveResource",
        "Journal",
        "JournalArticle",
        "Model",
        "OutputManagementPlan",
        "PeerReview",
        "PhysicalObject",
        "Poster",
        "Preprint",
        "Presentation",
        "Project",
        "Report",
        "Service",
        "Software",
        "Sound",
        "Standard",
        "StudyRegistration",
        "Text",
        "Workflow",
        "Other",
    ]
)
SCHEMES = frozenset(
    [
        "ARK",
        "arXiv",
        "bibcode",
        "CSTR",
        "DOI",
        "EAN13",
        "EISSN",
        "Handle",
        "IGSN",
        "ISBN",
        "ISSN",
        "ISTC",
        "LISSN",
        "LSID",
        "PMID",
        "PURL",
        "RAiD",
        "RRID",
        "SWHID",
        "UPC",
        "URL",
        "URN",
        "w3id",
    ]
)
"""Schemes of related identifiers. The kernel has none for PDIs, whose URNs it takes."""
RELATIONS = frozenset(
    [
        "IsCitedBy",
        "Cites",
        "IsSupplementTo",
        "IsSupplementedBy",
        "IsContinuedBy",
        "Continues",
        "IsDescribedBy",
        "Describes",
        "HasMetadata",
        "IsMetadataFor",
        "HasVersion",
        "IsVersionOf",
        "IsNewVersionOf",
        "IsPreviousVersionOf",
        "IsPartOf",
        "HasPart",
        "IsPublishedIn",
        "IsReferencedBy",
        "References",
        "IsDocumentedBy",
        "Documents",
        "IsCompiledBy",
        "Compiles",
        "IsVariantFormOf",
        "IsOriginalFormOf",
        "IsIdenticalTo",
        "IsReviewedBy",
        "Reviews",
        "IsDerivedFrom",
        "IsSourceOf",
        "IsRequiredBy",
        "Requires",
        "IsObsoletedBy",
        "Obsoletes",
        "IsCollectedBy",
        "Collects",
        "HasTranslation",
        "IsTranslationOf",
        "Other",
    ]
)
FUNDER_SCHEMES = frozenset(("Crossref Funder ID", "GRID", "ISNI", "ROR", "Other"))
NUMBERS = frozenset(["Article", "Chapter", "Report", "Other"])
_NEEDED = frozenset(
    f"{name}.{field}"
    for name, fields in {
        "titles": ("value",),
        "descriptions": ("value",),
        "publisher": ("name",),
        "affiliations": ("name",),
        "dates": ("value", "kind"),
        "subjects": ("value",),
        "code": ("value",),
        "codes": ("value",),
        "relations": ("value", "scheme", "relation"),
        "related": ("relation", "resource_type"),
        "fundings": ("funder",),
        "measured": ("name",),
        "variables": ("name", "value"),
    }.items()
    for field in fields
)
"""Required fields of each value."""
_WORDS = {
    "titles.kind": TITLES,
    "descriptions.kind": DESCRIPTIONS,
    "creators.kind": frozenset(("Personal", "Organizational")),
    "contributors.kind": frozenset(("Personal", "Organizational")),
    "contributors.role": ROLES,
    "dates.kind": DATES,
    "about.resource_type": RESOURCE_TYPES,
    "relations.resource_type": RESOURCE_TYPES,
    "relations.scheme": SCHEMES | {"PDI"},
    "relations.relation": RELATIONS,
    "related.resource_type": RESOURCE_TYPES,
    "related.relation": RELATIONS,
    "related.number_kind": NUMBERS,
}


class DescriptionValue(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """A value of a description. It is stored without the fields that have their default."""


class Code(DescriptionValue, frozen=True, kw_only=True):
    """An identifier issued by another organisation, such as an ORCID, with its scheme."""

    value: str
    scheme: str = ""
    """`ORCID`, `ROR`, `ISNI`, `DOI`, `ISSN`, `URL` …"""
    scheme_uri: str = ""


class DescriptionText(DescriptionValue, frozen=True, kw_only=True):
    """A title or a description, with an optional language."""

    value: str
    kind: str = ""
    """For titles: empty for the main one, `AlternativeTitle`, `Subtitle`, `TranslatedTitle`,
    `Other`. For descriptions: `Abstract`, `Methods`, `SeriesInformation`, `TableOfContents`,
    `TechnicalInfo`, `Other`."""
    language: str = ""


class Affiliation(DescriptionValue, frozen=True, kw_only=True):
    """An organisation to which a person belongs."""

    name: str
    code: Code | None = None


class Agent(DescriptionValue, frozen=True, kw_only=True):
    """A person or an organisation."""

    name: str = ""
    """Sorted form: `Family, Given`, or the name of an organisation."""
    given: str = ""
    family: str = ""
    kind: str = ""
    """`Personal` or `Organizational`; empty if unknown."""
    role: str = ""
    """For contributors: the kernel's word, such as `Editor`."""
    codes: tuple[Code, ...] = ()
    affiliations: tuple[Affiliation, ...] = ()
    language: str = ""

    @property
    def is_person(self) -> bool:
        return self.kind == "Personal" or (not self.kind and bool(self.family or self.given))

    @property
    def display_name(self) -> str:
        """The full name: `Family, Given` for a person whose name parts are known."""
        parts = ", ".join(part for part in (self.family, self.given) if part)
        return self.name or parts


class Publisher(DescriptionValue, frozen=True, kw_only=True):
    name: str
    code: Code | None = None
    language: str = ""
    place: str = ""
    """The town, for citations."""


class DescriptionDate(DescriptionValue, frozen=True, kw_only=True):
    """A date in W3CDTF, or two with a slash between them for an interval."""

    value: str
    kind: str
    """`Issued`, `Created`, `Collected`, `Updated`, `Available` … of the kernel's list."""
    note: str = ""


class Subject(DescriptionValue, frozen=True, kw_only=True):
    value: str
    scheme: str = ""
    scheme_uri: str = ""
    uri: str = ""
    """URI of the term itself."""
    code: str = ""
    """The term's notation in a classification."""
    language: str = ""


class Rights(DescriptionValue, frozen=True, kw_only=True):
    value: str = ""
    """The permitted uses, in words."""
    uri: str = ""
    code: str = ""
    """Code of a licence, such as `CC-BY-4.0`."""
    scheme: str = ""
    """`SPDX`."""
    scheme_uri: str = ""
    language: str = ""


class Relation(DescriptionValue, frozen=True, kw_only=True):
    """Another resource, named by an identifier."""

    value: str
    scheme: str
    """`DOI`, `Handle`, `URL`, `URN`, `ISBN` … of the kernel's list, or `PDI`."""
    relation: str
    """`IsPartOf`, `Cites`, `HasMetadata` … of the kernel's list."""
    resource_type: str = ""
    metadata_scheme: str = ""
    scheme_uri: str = ""
    scheme_type: str = ""
    note: str = ""
    """The relation in words, mainly for `Other`."""


class RelatedItem(DescriptionValue, frozen=True, kw_only=True):
    """Another resource with a description, such as the journal, book or series of this one."""

    relation: str
    """`IsPublishedIn` for the container of this resource."""
    resource_type: str
    """`Journal`, `Book`, `Collection` …"""
    code: Code | None = None
    titles: tuple[DescriptionText, ...] = ()
    creators: tuple[Agent, ...] = ()
    contributors: tuple[Agent, ...] = ()
    year: str = ""
    volume: str = ""
    issue: str = ""
    number: str = ""
    number_kind: str = ""
    """`Article`, `Chapter`, `Report`, `Other`."""
    first_page: str = ""
    last_page: str = ""
    publisher: str = ""
    edition: str = ""
    note: str = ""
    """The relation in words, mainly for `Other`."""


class Point(DescriptionValue, frozen=True, kw_only=True):
    """A point in degrees, WGS 84, in decimal digits as given."""

    longitude: str
    latitude: str


class GeoBox(DescriptionValue, frozen=True, kw_only=True):
    """A rectangle in degrees, WGS 84."""

    west: str
    east: str
    south: str
    north: str


class Polygon(DescriptionValue, frozen=True, kw_only=True):
    points: tuple[Point, ...]
    """At least four; the last is the first."""
    inside: Point | None = None


class GeoPlace(DescriptionValue, frozen=True, kw_only=True):
    """The place of origin of the resource, or the region that it covers."""

    name: str = ""
    point: Point | None = None
    box: GeoBox | None = None
    polygons: tuple[Polygon, ...] = ()


class Funding(DescriptionValue, frozen=True, kw_only=True):
    funder: str
    code: Code | None = None
    award: str = ""
    award_uri: str = ""
    award_title: str = ""


class Measurement(DescriptionValue, frozen=True, kw_only=True):
    """A variable that a dataset contains measurements of."""

    name: str
    uri: str = ""
    """URI of the variable in a vocabulary, or its code."""
    unit: str = ""
    note: str = ""


class CitationVariable(DescriptionValue, frozen=True, kw_only=True):
    """A variable of CSL for which the kernel has no place, such as `event-place`."""

    name: str
    value: str
    """Text; JSON for names and dates."""


class About(DescriptionValue, frozen=True, kw_only=True):
    """The complete description of one resource."""

    titles: tuple[DescriptionText, ...] = ()
    creators: tuple[Agent, ...] = ()
    contributors: tuple[Agent, ...] = ()
    publisher: Publisher | None = None
    year: str = ""
    """Year of publication, four digits."""
    dates: tuple[DescriptionDate, ...] = ()
    language: str = ""
    """Language of the resource, a BCP 47 tag."""
    resource_type: str = ""
    """The kernel's general word: `Dataset`, `DescriptionText`, `Sound`, `JournalArticle` …"""
    resource_kind: str = ""
    """A more precise type, in free words."""
    subjects: tuple[Subject, ...] = ()
    codes: tuple[Code, ...] = ()
    """Other identifiers of the same resource."""
    relations: tuple[Relation, ...] = ()
    sizes: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    version: str = ""
    edition: str = ""
    rights: tuple[Rights, ...] = ()
    descriptions: tuple[DescriptionText, ...] = ()
    places: tuple[GeoPlace, ...] = ()
    measured: tuple[Measurement, ...] = ()
    fundings: tuple[Funding, ...] = ()
    related: tuple[RelatedItem, ...] = ()
    archive: str = ""
    """For archived material: the archive that holds it."""
    derived: str = ""
    """The source, if it was extracted from the bytes: `HTML`, `PDF`, `EXIF`, `ID3`."""
    variables: tuple[CitationVariable, ...] = ()
    """The remaining variables of a CSL item that described the resource."""

    @property
    def title(self) -> str:
        """The main title, or else the first title, or else an empty text."""
        main = (one.value for one in self.titles if not one.kind)
        return next(main, self.titles[0].value if self.titles else "")

    @property
    def container(self) -> RelatedItem | None:
        """The publication that contains this resource."""
        return next((one for one in self.related if one.relation == "IsPublishedIn"), None)

    def first_date(self, *kinds: str) -> str:
        """Return the first date of the first kind that has one; empty if none has."""
        found = (one.value for kind in kinds for one in self.dates if one.kind == kind)
        return next(found, "")


class Attachment(DescriptionValue, frozen=True, kw_only=True):
    """A record in a community's format, stored byte for byte beside the description."""

    format: str
    """The format's name here, such as `cmdi`."""
    media_type: str
    schema: str = ""
    """The URI of the schema or profile that the record declares."""
    content: bytes


# What is allowed
# ---------------


def check_description(about: About) -> About:
    """Check and return a description, without placeholders such as `(:unkn)` for a creator.

    Raises InvalidRequest if it is unsafe or too large.
    """
    count, has_placeholders = 0, False
    for name, value in _walk_texts(about, "about"):
        count += 1
        _check_text(name, value)
        has_placeholders |= value in PLACEHOLDERS
    if count > MOST_VALUES:
        raise TooManyValues(most=MOST_VALUES)
    if any(len(one.points) < 4 for place in about.places for one in place.polygons):
        raise PolygonNotClosed()
    if about.year and not _YEAR.fullmatch(about.year):
        raise MalformedYear(year=about.year)
    return drop_placeholders(about) if has_placeholders else about


def check_attached(attached: tuple[Attachment, ...]) -> tuple[Attachment, ...]:
    """Check and return attached records. Raises InvalidRequest."""
    if not attached:
        return attached
    if sum(len(one.content) for one in attached) > LARGEST_ATTACHED:
        raise AttachedTooLong(most=LARGEST_ATTACHED)
    if len({one.format for one in attached}) < len(attached):
        raise AttachedTwice()
    for one in attached:
        if not re.fullmatch("[a-z][a-z0-9-]{0,39}", one.format):
            raise AttachedFormatInvalid(format=one.format)
        if not _MEDIA_TYPE.fullmatch(one.media_type):
            raise MalformedMediaType(text=one.media_type)
        _check_text("attachment.schema", one.schema)
    return attached


def _walk_texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield every text in a description, with the last two names of its path: `titles.kind`."""
    if isinstance(value, str):
        if value or name in _NEEDED or name.endswith(_DEGREE_FIELDS):
            yield name, value
    elif isinstance(value, tuple):
        for one in value:
            yield from _walk_texts(one, name)
    elif isinstance(value, msgspec.Struct):
        last = name.rpartition(".")[2]
        for field in value.__struct_fields__:
            yield from _walk_texts(getattr(value, field), f"{last}.{field}")


def _check_text(name: str, value: str) -> None:
    if name in _NEEDED and not value.strip():
        raise EmptyText(name=name)
    if len(value) > LONGEST_TEXT:
        raise TextTooLong(name=name, longest=LONGEST_TEXT)
    if NOT_IN_XML.search(value):
        raise TextNotXml(name=name, text=value)
    words = _WORDS.get(name)
    if words is not None and value not in words:
        raise WordUnknown(name=name, text=value, known=tuple(sorted(words)))
    if _is_link(name, value) and not is_safe_link(value):
        raise LinkActive(name=name, text=value)
    if name.endswith("uri") and not _URI.fullmatch(value):
        raise TextNotUri(name=name, text=value)
    if name.endswith(".language") and not LANGUAGE.fullmatch(value):
        raise TextNotLanguage(name="language", text=value)
    if name.endswith(_DEGREE_FIELDS):
        most = 90 if name.endswith(("latitude", "north", "south")) else 180
        if not _DEGREES.fullmatch(value) or abs(float(value)) > most:
            raise DegreesInvalid(name=name, text=value, most=most)


def _is_link(name: str, value: str) -> bool:
    """Return True if a value is a link, or a text that may be one and looks like it."""
    return name.endswith(_LINKS) or (
        name.endswith("rights.value") and _URI.fullmatch(value) is not None
    )


def is_safe_link(uri: str) -> bool:
    """Return True if no browser executes a text as a link.

    Browsers ignore spaces before a scheme and line breaks within it.

    >>> (is_safe_link("https://a.example/"), is_safe_link(" java\\nscript:alert(1)"),
    ...  is_safe_link("Data and us"))
    (True, False, True)
    """
    found = _SCHEME.match(uri)
    return found is None or re.sub(r"[\t\r\n]", "", found[1]).lower() not in _ACTIVE


def clean_text(text: str) -> str:
    """Return foreign text as one line that XML allows, truncated if it is too long."""
    return NOT_IN_XML.sub("", " ".join(text.split()))[:LONGEST_TEXT]
