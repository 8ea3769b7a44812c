"""The six verbs of OAI-PMH: `GET /oai?verb=…`, or POST with the same arguments as a form.

How it works: `perdure.reading.harvest` lists the records in the order of their last change, and
the members of a collection in the order of their keys. A list is divided into pages; the token of a
page names the place after it. The pages are made in a thread, because a page of metadata takes
milliseconds.

What must stay true: harvesters see what the public sees: nothing closed, and of a withdrawn record
only that it was withdrawn. All answers have status 200, but that to a search which takes too long
(503).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import islice
from typing import NamedTuple

import msgspec

from perdure.errors import Conflict, MalformedIdentifier, UnknownScheme
from perdure.errors.requests import TooManyParameters
from perdure.errors.servers import SearchUnfinished
from perdure.ids import Identifier, parse
from perdure.metadata import (
    DescribedResource,
    datacite_words,
    dublin_core,
    public_xml,
    write_record,
)
from perdure.model.parameters import list_pairs
from perdure.model.timestamps import format_timestamp
from perdure.policy.public_records import make_public_record
from perdure.reading.harvest import (
    MOST_CHANGES,
    HarvestedRecord,
    HarvestPage,
    HarvestPlace,
    KeyRange,
)
from perdure.reading.resolved import Resolved
from perdure.reading.targets import spell_path
from perdure.server.apis.oai import documents, sets
from perdure.server.apis.oai.requests import (
    HarvestError,
    HarvestRequest,
    make_bad_token,
    read_request,
    write_token,
)
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.planning import read_whole_body
from perdure.upkeep.collection.membership_index import MembershipIndex
from perdure.upkeep.collection.public_collections import PublicCollection, PublicCollections

PAGE, SCHEMA = "/oai", "/oai/perdure.xsd"
HEADERS, RECORDS, SETS = 500, 100, 500
"""Entries of a page."""
MOST_PAGES = 5
"""Empty pages, each of `MOST_CHANGES` changes, that one request reads. A set without new records is
searched by several requests then: the protocol has no list without records, but a server that asks
to come again (section 3.1.2.2)."""
_MOST_KEPT = 100
"""Searches that are kept unfinished, the newest ones."""
_LONGEST_FORM = 8192  # bytes
_LONGEST_WORK = 5.0  # seconds
_NOT_STORED = (b"cache-control", b"no-cache")
_FOR_A_DAY = (b"cache-control", b"public, max-age=86400")
_XML = "application/xml"


class _Prefix(NamedTuple):
    """A format of metadata, as harvesters call it."""

    format: str
    schema: str
    """The address of its XML Schema, or the path of one that this server has."""
    namespace: str


PREFIXES = {
    "oai_dc": _Prefix("dc", dublin_core.SCHEMA, dublin_core.NAMESPACE),
    "datacite": _Prefix("datacite", datacite_words.SCHEMA, datacite_words.NAMESPACE),
    public_xml.FORMAT: _Prefix(public_xml.FORMAT, SCHEMA, public_xml.NAMESPACE),
}


async def answer_harvester(service: Service, request: Request) -> Answer:
    """Answer a request of a harvester. Raises TooLarge if the form is too long."""
    if request.method == "POST":
        form = (await read_whole_body(request, _LONGEST_FORM)).decode("latin-1")
        text = form if form.isascii() else ""
    else:
        text = request.target.question or ""
    body: bytes = await service.read_list(_answer, service, request, text)
    return make_answer(HTTPStatus.OK, documents.MEDIA_TYPE, body, _NOT_STORED)


async def show_schema(_service: Service, _request: Request) -> Answer:
    """Answer with the XML Schema of our own format of metadata."""
    return make_answer(HTTPStatus.OK, _XML, public_xml.write_record_schema(), _FOR_A_DAY)


def _answer(service: Service, request: Request, text: str) -> bytes:
    now = format_timestamp(datetime.now(UTC))
    address = request.base_url + PAGE
    pairs: list[tuple[str, str]] = []
    try:
        pairs = _list_arguments(text)
        asked = read_request(pairs)
        with service.indexes.open_memberships() as index:
            _bring_up_to_date(service, index, asked)
            collections = PublicCollections(service.registry, index)
            inner = _Harvesting(service, request.base_url, asked, collections).answer_verb()
    except HarvestError as error:
        return documents.write_error(now, address, dict(pairs), error)
    return documents.write_document(now, address, dict(pairs), inner)


def _bring_up_to_date(service: Service, index: MembershipIndex, asked: HarvestRequest) -> None:
    """Let the index of members see all changes. Raises SearchUnfinished if they are too many."""
    end = time.monotonic() + _LONGEST_WORK
    for _ in index.take_all(service.registry.records):
        if time.monotonic() > end:
            raise SearchUnfinished(set=asked.set)


def _list_arguments(text: str) -> list[tuple[str, str]]:
    try:
        return list_pairs(text)
    except TooManyParameters as error:
        raise HarvestError("badArgument", str(error)) from None


class _Harvesting:
    """Answers one request."""

    def __init__(
        self, service: Service, base: str, asked: HarvestRequest, collections: PublicCollections
    ) -> None:
        self._registry = service.registry
        self._contact = service.settings.contact
        self._harvest = service.registry.harvest
        self._base = base
        self._asked = asked
        self._collections = collections
        self._joins = collections if collections.list_collections("", limit=1) else None
        """None saves one look at each record if there is no public collection."""

    def answer_verb(self) -> str:
        """Write the body of the answer. Raises HarvestError."""
        match self._asked.verb:
            case "Identify":
                return self._identify_repository()
            case "ListMetadataFormats":
                return self._list_formats()
            case "ListSets":
                return self._list_sets()
            case "GetRecord":
                return self._get_record()
        return self._list_records()

    def _identify_repository(self) -> str:
        host = self._base.partition("://")[2].partition("/")[0].partition(":")[0]
        contact = self._contact if "@" in self._contact else f"postmaster@{host}"
        if "." not in contact.partition("@")[2]:  # the schema asks for a domain
            contact += ".invalid"
        earliest = self._harvest.find_earliest() or format_timestamp(datetime.now(UTC))
        name = f"perdure at {host}"
        return documents.write_identity(name, self._base + PAGE, earliest, contact)

    def _list_formats(self) -> str:
        if self._asked.identifier:
            self._find_record()
        shown = (
            documents.write_format(prefix, self._locate_schema(one), one.namespace)
            for prefix, one in PREFIXES.items()
        )
        return f"<ListMetadataFormats>\n{''.join(shown)}</ListMetadataFormats>\n"

    def _get_record(self) -> str:
        prefix = self._find_prefix()
        written = self._write_record(self._find_record(), prefix)
        return f"<GetRecord>\n{written}</GetRecord>\n"

    def _find_record(self) -> HarvestedRecord:
        """Find the record that is asked for by its name. Raises HarvestError."""
        text = self._asked.identifier
        found = None
        try:
            identifier = parse(text)
            if identifier.resource == identifier:
                found = self._harvest.find_harvested(identifier, joins=self._joins)
        except (MalformedIdentifier, UnknownScheme):
            pass
        if found is None:
            raise HarvestError("idDoesNotExist", f"No record has the identifier '{text}'.")
        return found

    def _find_prefix(self) -> _Prefix:
        found = PREFIXES.get(self._asked.prefix)
        if found is None:
            known = ", ".join(PREFIXES)
            text = f"'{self._asked.prefix}' is not offered. Give one of: {known}."
            raise HarvestError("cannotDisseminateFormat", text)
        return found

    # lists
    # -----

    def _list_records(self) -> str:
        """List headers or records. Raises HarvestError."""
        asked, prefix = self._asked, self._find_prefix()
        brief = asked.verb == "ListIdentifiers"
        most = HEADERS if brief else RECORDS
        if sets.is_of_collections(asked.set):
            page = self._read_members(asked.place, most)
        else:
            ranges = sets.find_ranges(self._registry.listings, asked.set) if asked.set else None
            if ranges == ():
                raise _make_no_match()
            page = self._read_page(asked.place, ranges, most)
        if not page.records:
            raise _make_no_match() if asked.place is None else make_bad_token()
        write = self._write_header if brief else (lambda one: self._write_record(one, prefix))
        entries = [write(one) for one in page.records]
        return self._write_list(entries, is_last=page.following is None, place=page.following)

    def _read_page(
        self, place: HarvestPlace | None, ranges: tuple[KeyRange, ...] | None, limit: int
    ) -> HarvestPage:
        """Read the next page that is not empty, or the last one.

        Raises HarvestError, or SearchUnfinished after `MOST_PAGES` empty pages. The place is kept,
        so that the same request goes on from there.
        """
        asked = self._asked
        begun, place = place, self._harvest.progress.pop(self._make_mark(place), place)
        for _ in range(MOST_PAGES):
            try:
                page = self._harvest.list_page(
                    place,
                    since=asked.since,
                    until=asked.until,
                    ranges=ranges,
                    wanted=(lambda one: sets.contains(asked.set, one)) if asked.set else None,
                    joins=self._joins,
                    limit=limit,
                )
            except Conflict:
                raise make_bad_token() from None
            place = page.following
            if page.records or place is None:
                return page
        self._keep_progress(begun, place)
        raise SearchUnfinished(set=asked.set)

    def _make_mark(self, begun: HarvestPlace | None) -> object:
        return self._asked.set, self._asked.since, self._asked.until, begun

    def _keep_progress(self, begun: HarvestPlace | None, place: HarvestPlace | None) -> None:
        progress = self._harvest.progress
        while len(progress) >= _MOST_KEPT:
            progress.pop(next(iter(progress)), None)
        progress[self._make_mark(begun)] = place

    def _read_members(self, place: HarvestPlace | None, limit: int) -> HarvestPage:
        """Read the next members of a collection, or of all.

        Raises HarvestError, or SearchUnfinished if none of many members is in the list.
        """
        of = self._find_asked_collection()
        begun, place = place, self._harvest.progress.pop(self._make_mark(place), place)
        key, looked = place.key if place is not None else "", 0
        found: list[HarvestedRecord] = []
        while keys := self._collections.list_members(of, key, limit=limit):
            chosen = keys if of else filter(self._collections.list_collections_of, keys)
            listed = self._harvest.list_keys(
                chosen, since=self._asked.since, until=self._asked.until, joins=self._joins
            )
            for key, one in listed:
                found += [] if one is None else [one]
                if len(found) == limit:
                    return HarvestPage(found, HarvestPlace(0, 0, key))
            key, looked = keys[-1], looked + len(keys)
            if looked >= MOST_CHANGES:
                if not found:
                    self._keep_progress(begun, HarvestPlace(0, 0, key))
                    raise SearchUnfinished(set=self._asked.set)
                return HarvestPage(found, HarvestPlace(0, 0, key))
        return HarvestPage(found, None)

    def _find_asked_collection(self) -> str | None:
        """Return the key of the collection that is asked for, or None for all.

        Raises HarvestError if there is none that the public may read.
        """
        if self._asked.set == sets.COLLECTIONS:
            return None
        identifier = sets.read_collection_name(self._asked.set)
        if identifier is None or self._collections.find_collection(identifier.key) is None:
            raise _make_no_match()
        return identifier.key

    def _list_sets(self) -> str:
        """List the schemes, authorities, years of series, and collections. Raises HarvestError."""
        passed = self._asked.passed
        found = list(islice(self._walk_sets(), passed, passed + SETS + 1))
        if not found:
            raise (
                make_bad_token() if passed else HarvestError("noSetHierarchy", "No set exists yet.")
            )
        entries = [self._write_set(name, title, one) for name, title, one in found[:SETS]]
        return self._write_list(entries, is_last=len(found) <= SETS)

    def _walk_sets(self) -> Iterator[tuple[str, str, PublicCollection | None]]:
        for name, title in sets.walk_sets(self._registry.listings):
            yield name, title, None
        after = ""
        while some := self._collections.list_collections(after, limit=SETS):
            if not after:
                yield sets.COLLECTIONS, "members of collections", None
            for one in some:
                yield sets.name_collection(one.identifier), str(one.identifier), one
            after = some[-1].key

    def _write_set(self, name: str, title: str, collection: PublicCollection | None) -> str:
        if collection is None:
            return documents.write_set(name, title)
        described = self._describe(collection.resolved)
        title = described.about.title or collection.title or title
        return documents.write_set(name, title, write_record(described, "dc"))

    def _write_list(
        self, entries: list[str], *, is_last: bool, place: HarvestPlace | None = None
    ) -> str:
        asked = self._asked
        token: str | None = None
        if not is_last:
            passed = asked.passed + len(entries)
            token = write_token(msgspec.structs.replace(asked, place=place, passed=passed))
        elif asked.passed:
            token = ""
        return documents.write_list(asked.verb, entries, token, asked.passed)

    # records
    # -------

    def _write_header(self, one: HarvestedRecord) -> str:
        return documents.write_header(
            str(one.identifier),
            one.at,
            self._list_sets_of(one.identifier),
            is_deleted=one.resolved is None,
        )

    def _write_record(self, one: HarvestedRecord, prefix: _Prefix) -> str:
        header = self._write_header(one)
        if one.resolved is None:
            return documents.write_record(header, None)
        return documents.write_record(header, self._write_metadata(one.resolved, prefix))

    def _write_metadata(self, resolved: Resolved, prefix: _Prefix) -> bytes:
        if prefix.format != public_xml.FORMAT:
            return write_record(self._describe(resolved), prefix.format)
        whole = make_public_record(
            resolved.identifier,
            resolved.require_known(),
            lambda name: f"{self._base}/{spell_path(name)}",
        )
        return public_xml.write_public_record(whole, self._locate_schema(prefix))

    def _locate_schema(self, prefix: _Prefix) -> str:
        return f"{self._base}{prefix.schema}" if prefix.schema == SCHEMA else prefix.schema

    def _list_sets_of(self, identifier: Identifier) -> list[str]:
        names = [sets.find_set_of(identifier)]
        if self._joins is not None:
            found = self._collections.list_collections_of(identifier.key)
            names += [sets.name_collection(one.identifier) for one in found]
        return names

    def _describe(self, resolved: Resolved) -> DescribedResource:
        url = f"{self._base}/{spell_path(resolved.identifier)}"
        return self._registry.documents.describe_resolved(resolved, url)


def _make_no_match() -> HarvestError:
    return HarvestError("noRecordsMatch", "No record matches these dates and this set.")
