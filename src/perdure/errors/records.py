"""Errors about bytes that are not a valid record: metadata, collections, lists of web archives.

A record that a library cannot parse or that breaks its schema is `RecordUnparsable`: it names the
parser and quotes it. Every other reason is a rule of ours, and has a class.
"""

from __future__ import annotations

from perdure.errors.configuring import EntryFaulty
from perdure.errors.root import FaultQuoted, count_things, quote
from perdure.errors.texts import InvalidMetadata

_MOST_NAMED = 5


class RecordUnparsable(FaultQuoted, InvalidMetadata):
    """A parser or a schema rejects the record; `fault` quotes the parser."""

    parser: str
    """The library that says so, such as `lxml`."""


def quote_parser(
    format: str, parser: str, fault: object, line: int | None = None
) -> RecordUnparsable:
    """Make the error for bytes that a parser rejects. `fault`: its exception, or its message."""
    says = " ".join(str(fault).split())
    return RecordUnparsable(format=format, parser=parser, fault=says, line=line)


class RecordNotUtf8(InvalidMetadata):
    """The record is not in UTF-8."""

    reason = "it is not in UTF-8; convert it"


class RecordNotRecognised(InvalidMetadata):
    """The record does not look like one of a known format."""

    format: str = "metadata"
    line: int | None = None
    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"its format is not recognised; name one of {', '.join(self.known)}"


# XML
# ---


class DoctypeForbidden(InvalidMetadata):
    """The record has a document type declaration, which could declare entities."""

    reason = "a document type declaration is not allowed; remove it and write entities out"


class RootNotOfFormat(InvalidMetadata):
    """The root element is not the one that the format requires."""

    root: str
    """The name of the root, with its namespace in braces before it."""
    needed: str
    namespace: str

    @property
    def reason(self) -> str:
        return f"the root is {quote(self.root)}, not {self.needed} of {self.namespace}"


class ElementsMissing(InvalidMetadata):
    """The record lacks elements that the format requires."""

    elements: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"it has no {' and no '.join(self.elements)}"


class NamespacesMissing(InvalidMetadata):
    """No element of the record that has a text is of a namespace that the format reads."""

    namespaces: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"it has no element of {' or '.join(self.namespaces)} with a text"


# JSON
# ----


class MembersUnknown(InvalidMetadata):
    """The record has members, and its format knows none of them."""

    line: int | None = None
    members: tuple[str, ...]

    @property
    def reason(self) -> str:
        names = ", ".join(quote(name) for name in self.members[:_MOST_NAMED])
        return f"nothing of it would be kept: the format does not know {names}"


class NotOneItem(InvalidMetadata):
    """The record is not one item of CSL-JSON."""

    format: str = "csl"
    line: int | None = None
    reason = "it must be one item, as an object"


class ItemTypeMissing(InvalidMetadata):
    """An item of CSL-JSON has no type."""

    format: str = "csl"
    line: int | None = None
    reason = "the item has no type"


class VariableNotText(InvalidMetadata):
    """A variable of an item of CSL-JSON is neither a string nor a number."""

    format: str = "csl"
    line: int | None = None
    variable: str

    @property
    def reason(self) -> str:
        return f"{self.variable} must be a string or a number"


class NotOneNode(InvalidMetadata):
    """The record is not a node of JSON-LD with a type."""

    format: str = "jsonld"
    line: int | None = None
    reason = "it must be a node with an @type, as an object"


# collections
# -----------


class InvalidCollection(InvalidMetadata):
    """The bytes are not a valid collection. Abstract: each reason has a class."""

    format: str = "collection"
    line: int | None = None


class CollectionVersionUnknown(InvalidCollection):
    """The document has another version of the format."""

    version: int
    known: int

    @property
    def reason(self) -> str:
        return f"version {self.version} of the format is unknown; the known one is {self.known}"


class EntriesNotMembers(InvalidCollection):
    """An entry of the document is not an object."""

    reason = "one of its entries is not a member"


class MembersTooMany(InvalidCollection):
    """The collection has too many members."""

    most: int

    @property
    def reason(self) -> str:
        return f"it may have at most {count_things(self.most, 'member')}"


class GraphTooLong(InvalidCollection):
    """The graph of a collection is too long."""

    most: int

    @property
    def reason(self) -> str:
        return f"it may have at most {count_things(self.most, 'character')}"


class GraphNotOneCollection(InvalidCollection):
    """A graph has no `dcmitype:Collection`, or several."""

    count: int

    @property
    def reason(self) -> str:
        return f"it must have one dcmitype:Collection, but has {self.count}"


class SizeNotBytes(InvalidCollection):
    """The `schema:contentSize` of a member is not a number of bytes."""

    reason = "schema:contentSize must be a number of bytes"


class TextUnusable(InvalidCollection):
    """A text of a collection cannot be stored. Abstract: each reason has a class."""

    member: int | None = None
    """The number of the member, from 1; None if the text is one of the collection itself."""
    name: str
    """The field, such as `title`."""

    @property
    def where(self) -> str:
        return self.name if self.member is None else f"member {self.member}: {self.name}"


class CollectionTextTooLong(TextUnusable):
    """A text of a collection has too many characters."""

    most: int

    @property
    def reason(self) -> str:
        return f"{self.where} is longer than {count_things(self.most, 'character')}"


class ControlCharacterFound(TextUnusable):
    """A text of a collection contains a control character."""

    character: int
    """Its number in Unicode."""

    @property
    def reason(self) -> str:
        return f"{self.where} contains the control character {self.character:#x}"


class CreatorUntidy(InvalidCollection):
    """The name of a creator is empty, has several lines, or has spaces around it."""

    reason = "the name of a creator is empty, contains a line break, or has spaces around it"


class CollectionDateMalformed(InvalidCollection):
    """The date of a collection is not a date."""

    date: str

    @property
    def reason(self) -> str:
        return f"date {quote(self.date)} is not an ISO 8601 date"


class MemberInvalid(InvalidCollection):
    """A member of a collection is invalid. Abstract: each reason has a class."""

    member: int
    """Its number, from 1."""


class MemberNotIdentifier(MemberInvalid):
    """The identifier of a member cannot be parsed; `fault` quotes the parser of its scheme."""

    identifier: str
    fault: str

    @property
    def reason(self) -> str:
        return f"member {self.member}: {self.fault}"


class MemberNameUnusable(MemberInvalid):
    """The name of a member is too long, or is not printable."""

    name: str
    most: int

    @property
    def reason(self) -> str:
        return (
            f"member {self.member}: name {quote(self.name)} is longer than "
            f"{count_things(self.most, 'character')}, or is not printable"
        )


class MemberNameIsNumber(MemberInvalid):
    """The name of a member is a number."""

    name: str

    @property
    def reason(self) -> str:
        return (
            f"member {self.member}: name {quote(self.name)} is a number, which would be read as "
            "a position"
        )


class MemberDigestMalformed(MemberInvalid):
    """The digest of a member does not have the documented form."""

    digest: str

    @property
    def reason(self) -> str:
        return (
            f"member {self.member}: digest {quote(self.digest)} does not have the form "
            "algorithm:value"
        )


class MemberLengthNegative(MemberInvalid):
    """The length of a member is negative."""

    @property
    def reason(self) -> str:
        return f"member {self.member}: length is negative"


class MemberTypeMalformed(MemberInvalid):
    """The media type of a member is not a media type."""

    media_type: str

    @property
    def reason(self) -> str:
        return f"member {self.member}: {quote(self.media_type)} is not a media type"


class MemberTwice(MemberInvalid):
    """Two members have the same identifier."""

    identifier: str
    first: int

    @property
    def reason(self) -> str:
        return f"member {self.member}: {quote(self.identifier)} is already member {self.first}"


class MemberNameTwice(MemberInvalid):
    """Two members have the same name."""

    name: str
    first: int

    @property
    def reason(self) -> str:
        return f"member {self.member}: member {self.first} has the same name, {quote(self.name)}"


# lines of a collection
# ---------------------


class CommentUnknown(InvalidCollection):
    """The first cell of a line is not the name of a field of the collection."""

    cell: str
    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"{quote(self.cell)} is not known; use one of {', '.join(self.known)}"


class CellsTooMany(InvalidCollection):
    """A row has more cells than there are columns."""

    reason = "the row has more cells than columns"


class ColumnsUnknown(InvalidCollection):
    """The columns are not those of a collection, or occur twice."""

    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"the columns may be {', '.join(self.known)}, each once"


class FieldUnknown(InvalidCollection):
    """A field of a line is not one that a member has."""

    name: str
    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"{quote(self.name)} is not a field; use one of {', '.join(self.known)}"


class LengthNotNumber(InvalidCollection):
    """The length in a line is not a number."""

    length: str

    @property
    def reason(self) -> str:
        return f"length {quote(self.length)} is not a number"


# lists of web archives
# ---------------------


class ImportedArchiveInvalid(EntryFaulty, InvalidMetadata):
    """An entry in an imported list of web archives is invalid."""
