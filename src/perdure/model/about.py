"""The description of a resource, apart from its bytes: one data model, as frozen values.

How it works: `About` has the properties of the DataCite metadata kernel 4, from which those of
Dublin Core, schema.org and CSL can be derived. If the kernel has a controlled list, its words
(`perdure.model.kernel_words`) are used. The adapters in `perdure.metadata` read and write every
format. `perdure.model.description_checks` enforces the limits of a description;
`perdure.model.plain_words` makes one from plain names and values.

What must stay true: these values are stored on disk in records, so a field may be added with a
default, but never renamed or removed; no text contains a character that XML does not allow, and no
URI has a scheme that browsers execute.

Specification: DataCite Metadata Schema 4.7, https://doi.org/10.14454/mzv1-5b55.
"""

from __future__ import annotations

import msgspec


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
