"""Harvested records as lines of an import: as records with their description, or as links.

How it works: the name of a record is its identifier in the repository if that is one that perdure
knows, else the first such identifier in its metadata. Its description is read from the metadata,
and the whole record is attached as it came (`oai`); one of DataCite is attached alone, too, so that
`?metadata=datacite` gives it byte for byte. Pairs of the metadata say where it came from. A link
has the name, an address and these pairs, and nothing else.

What must stay true: metadata that cannot be read costs the description, never the record; whatever
a repository says, a line only ever describes and locates.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.etree import ElementTree

import msgspec

from perdure.errors import InvalidMetadata, PerdureError
from perdure.errors.exchanging import RecordWithoutName
from perdure.errors.harvesting import HarvestedWithoutAddress
from perdure.ids import Identifier, find_label
from perdure.ids.urls import is_known_host
from perdure.metadata import public_xml, read_record
from perdure.model.about import About
from perdure.model.description_checks import LARGEST_ATTACHED
from perdure.model.public_records import PublicRecord
from perdure.policy import binding
from perdure.upkeep.exchange import attaching, describing
from perdure.upkeep.harvesting.pages import ForeignRecord, cut_metadata

SOURCE = "_harvested_from"
"""The pair of the metadata that has the address of the repository."""
NAME_THERE = "_harvested_as"
"""The pair that has the identifier of the record in the repository."""
WHOLE = "oai"
"""The format under which the whole record is attached."""
XML = "application/xml"


_NAMED = ("the header", "identifiers of the metadata")
"""Places of a record that may have its name."""


class Taking(enum.StrEnum):
    """The ways of taking a record."""

    RECORDS = "records"
    LINKS = "links"
    DOCUMENTS = "documents"


class _Metadata(NamedTuple):
    """A format of metadata in a repository."""

    root: str
    """The local name of its root element."""
    format: str
    """Our own name of the format."""
    names: tuple[str, ...]
    """Local names of the elements that may have an identifier or an address."""


_DATACITE = _Metadata("resource", "datacite", ("identifier",))
_PREFIXES = {
    "oai_dc": _Metadata("dc", "dc", ("identifier",)),
    "oai_datacite": _DATACITE,
    "datacite": _DATACITE,
    "datacite4": _DATACITE,
    "oai_datacite4": _DATACITE,
}
"""Formats whose records are described. Those of others are kept as they came, without more."""


class HarvestedLine(NamedTuple):
    """A record as a line of an import."""

    name: Identifier
    line: dict[str, Any]
    remark: PerdureError | None = None
    """Why it has no description, although its format is one that perdure reads."""


def make_line(record: ForeignRecord, *, source: str, prefix: str, taking: Taking) -> HarvestedLine:
    """Make the line of a record. Raises PerdureError if it cannot be taken."""
    if prefix == public_xml.FORMAT:
        return make_public_line(record, source=source, taking=taking)
    kind = _PREFIXES.get(prefix)
    inner = cut_metadata(record.raw, kind.root) if kind is not None else ""
    texts = tuple(_list_identifiers(inner, kind)) if kind is not None and inner else ()
    name = _find_name(record.identifier, texts)
    line: dict[str, Any] = {
        "id": str(name),
        "metadata": {SOURCE: source, NAME_THERE: record.identifier},
        "locations": list(_list_addresses(texts, source)),
    }
    if taking is Taking.LINKS:
        if not line["locations"]:
            raise HarvestedWithoutAddress(identifier=str(name))
        return HarvestedLine(name, line)
    line["about"], remark = {}, None
    if kind is not None:
        try:
            about = read_record(inner.encode(), kind.format)
            line["about"] = msgspec.to_builtins(about)
        except InvalidMetadata as error:
            remark = error
        if kind is _DATACITE and inner:
            attaching.attach(line, inner.encode(), kind.format, XML)
    attaching.attach(line, record.raw.encode(), WHOLE, XML)
    return HarvestedLine(name, line, remark)


def make_public_line(record: ForeignRecord, *, source: str, taking: Taking) -> HarvestedLine:
    """Make the line of a record of another perdure, in our own format.

    What it holds is a location here, with the promise of its digest. Values of a handle, aliases
    and targets have effects beyond describing and locating, so only the attached record has them.
    Raises PerdureError if it cannot be taken.
    """
    name = _find_name(record.identifier, ())
    pairs = {SOURCE: source, NAME_THERE: record.identifier}
    line: dict[str, Any] = {"id": str(name), "metadata": pairs, "locations": []}
    whole = record.raw.encode()
    remark: PerdureError | None = None
    try:
        inner = cut_metadata(record.raw, public_xml.ROOT)
        public = public_xml.read_public_record(inner.encode())
        line["locations"] = list(_list_places(public))
        if taking is Taking.RECORDS:
            _describe_public(line, public, most=LARGEST_ATTACHED - len(whole))
    except InvalidMetadata as error:
        remark = error
    if taking is Taking.LINKS:
        if not line["locations"]:
            raise HarvestedWithoutAddress(identifier=str(name))
    elif len(whole) <= LARGEST_ATTACHED:
        attaching.attach(line, whole, WHOLE, XML)
    return HarvestedLine(name, line, remark)


def _list_places(public: PublicRecord) -> Iterator[dict[str, Any]]:
    """Yield the addresses of what a repository holds, and the locations that it has itself."""
    for version in public.versions:
        for held in version.formats:
            if held.url:
                place = {"uri": held.url, "version": version.number, "format": held.format}
                place |= {"size": held.length, "language": held.language}
                if held.sha512 and not held.erasures:
                    place["sha512"] = held.sha512
                yield {key: value for key, value in place.items() if value is not None}
    yield from map(msgspec.to_builtins, public.locations)


def _describe_public(line: dict[str, Any], public: PublicRecord, *, most: int) -> None:
    """Describe a line as a public record is; records attached to that, up to `most` bytes."""
    line["metadata"] = {one.name: one.value for one in public.pairs} | line["metadata"]
    line["about"] = msgspec.to_builtins(public.about or About())
    narrower = [one for one in public.descriptions if not one.is_empty]
    line["narrower"] = msgspec.to_builtins(narrower)
    others = [one for one in public.attachments if one.format != WHOLE]
    if sum(len(one.content) for one in others) <= most:
        line["attached"] = [msgspec.structs.asdict(one) for one in others]


def _find_name(identifier: str, texts: tuple[str, ...]) -> Identifier:
    """Return the name of a record. Raises RecordWithoutName."""
    found = describing.read_name(identifier)
    if found is not None:
        return found.resource
    for text in texts:
        with suppress(RecordWithoutName):
            return describing.find_name((text,), ("identifier",)).resource
    raise RecordWithoutName(places=_NAMED)


def _list_identifiers(inner: str, kind: _Metadata) -> Iterator[str]:
    """Yield the identifiers and addresses in the metadata of a record, in their order."""
    try:
        root = ElementTree.fromstring(inner)  # noqa: S314  # a type declaration was refused
    except ElementTree.ParseError:
        return
    children = root if kind is _DATACITE else root.iter()
    for one in children:
        if str(one.tag).rpartition("}")[2] not in kind.names:
            continue
        text = "".join(one.itertext()).strip()
        label = find_label(one.get("identifierType", ""))
        if text and label is not None and not text.lower().startswith(label.text):
            yield f"{label.text}{text}"
        elif text:
            yield text


def _list_addresses(texts: tuple[str, ...], source: str) -> Iterator[str]:
    """Yield the first address that is not that of a name at a public resolver."""
    for text in texts:
        if not text.lower().startswith(("http://", "https://")):
            continue
        try:
            host = urlsplit(text).hostname or ""
        except ValueError:
            continue
        if is_known_host(host) and host != urlsplit(source).hostname:
            continue
        with suppress(PerdureError):
            binding.check_uri(text)
            yield text
            return
