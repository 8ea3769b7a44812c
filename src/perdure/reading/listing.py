"""Lists of names: the matches of a pattern, the names of one resource, the names bound to a URL.

How it works: listings walk key ranges. If a pattern has a wildcard before a fixed text, the listing
skips the days that cannot match. `list_names` and `find_bound` follow the references of records, in
both directions.

What must stay true: the cost of a page is its own length plus a bounded number of jumps, however
many identifiers surround it; a cursor stays valid when identifiers are added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

from perdure.errors import Corrupt, MalformedIdentifier, NotFound, NothingMatches
from perdure.errors.naming import IntervalNeeded
from perdure.errors.requests import ForeignCursor
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet, find_authority, make_set
from perdure.ids.pdi import Pdi
from perdure.ids.urls import list_spellings
from perdure.model.queries import ListingInterval, ListingPage
from perdure.model.records import IdentifiedRecord, Location, Record, Representation
from perdure.model.references import PROPOSAL
from perdure.model.target_references import TargetUse
from perdure.policy.equality import find_same_record
from perdure.policy.naming import identify_record, list_members, qualify_identifier, read_qualifiers
from perdure.policy.proposals import find_standing
from perdure.policy.showing import find_withdrawal, show_to_readers
from perdure.reading.namesakes import Namesakes
from perdure.reading.resolved import Resolved
from perdure.reading.scanning import DamagedRecord, ScannedRecord, scan_readable
from perdure.storage.byte_ports import Bytes
from perdure.storage.ports import Records

_MOST_ROWS = 512  # records fetched at a time
_MOST_LOOKED = 20_000  # records looked at for one page, so that a sparse pattern cannot hang
_MOST_NAMES = 1000  # that are followed from alias to alias
_MOST_SERIES = 1000
_LAST_KEY = chr(0x10FFFF)


class Listings:
    """Reads one registry. Safe to use from several threads."""

    def __init__(
        self,
        records: Records,
        bytes: Bytes,
        *,
        follow: Callable[[NameSet], NameSet],
        is_minted: Callable[[Identifier], bool],
        is_ruled: Callable[[Identifier], bool],
        require_undelegated: Callable[[NameSet], None],
    ) -> None:
        self.records = records
        self._follow = follow
        self._namesakes = Namesakes(records, is_ruled=is_ruled)
        self._bytes = bytes
        self._is_minted = is_minted
        self._require_undelegated = require_undelegated

    def find_record(self, identifier: Identifier) -> Record | None:
        """The record of a name, or of a name that is equal to it."""
        found = find_same_record(self.records, identifier)
        return None if found is None else found.record

    def read_bytes(self, held: Representation) -> bytes:
        """All bytes of a representation."""
        return self._bytes.read_bytes(held)

    # Listings
    # --------

    def list_page(
        self,
        names: Identifier | NameSet,
        *,
        cursor: str | None = None,
        limit: int = 1000,
        once: bool = False,
    ) -> ListingPage:
        """A page of the identifiers that belong to a set, in order.

        A pattern with a format or a version lists representations; any other set lists resources.
        A page has at most `limit` identifiers. An empty page with a cursor means that there were no
        matches so far. `cursor` is the cursor of the page before. Raises InvalidRequest if it
        cannot belong to this set, NotFound if nothing known belongs to the set; an empty interval
        of a series that is resolved here is an empty page. With `once`, of several names of one
        thing only the first one is listed, with the others (`perdure.reading.namesakes`).
        # ruling: pdi-patterns-everywhere
        """
        names = make_set(names)
        after = _read_cursor(names, cursor) if cursor else None
        found: list[Identifier] = []
        also: dict[str, tuple[Identifier, ...]] = {}
        records: list[IdentifiedRecord] = []
        damaged: list[Corrupt] = []
        last = cursor or ""
        looked = 0
        for row in self._walk_records(names, after):
            if isinstance(row, DamagedRecord):
                damaged.append(row.error)
                continue
            if looked == _MOST_LOOKED or len(found) == limit:
                return _make_page(found, also, records, damaged, last)
            members = list_members(names, row.name, row.record)
            if after is not None and after.key == row.key:
                members = [one for one in members if after.precedes(one)]
            record = IdentifiedRecord(row.name, row.record)
            if once and members:
                first = self._namesakes.list_first(names, record, members)
                members = [one for one, _ in first]
                also |= {str(one): others for one, others in first if others}
            room = limit - len(found)
            found += members[:room]
            if members:
                records.append(record)
            if len(members) > room:
                return _make_page(found, also, records, damaged, _write_cursor(row.key, found[-1]))
            looked += 1
            last = row.key
        if not (found or damaged or cursor):
            self._require_resolved(names)
        return _make_page(found, also, records, damaged, None)

    def _require_resolved(self, names: NameSet) -> None:
        """Raise NotFound unless a set is an interval of a series that is resolved here.

        Raises AnsweredElsewhere if another resolver answers for all of it.
        """
        if names.is_interval and self.is_resolved(names.example):
            return
        self._require_undelegated(names)
        # Of a version or a format, the resource may be known.
        is_resource = names.is_single and not names.has_representations
        raise (NotFound if is_resource else NothingMatches)(identifier=str(names))

    def walk_pages(
        self, names: NameSet, *, limit: int, once: bool = False
    ) -> Iterator[ListingPage]:
        """Yield all pages of a set. Raises NotFound if the first one shows that nothing matches."""
        cursor: str | None = None
        while True:
            page = self.list_page(names, cursor=cursor, limit=limit, once=once)
            yield page
            cursor = page.cursor
            if cursor is None:
                return

    def require_known(self, names: NameSet) -> NameSet:
        """Return a set to which something known belongs. Raises NotFound, as `list_page` does.

        A set of one name is followed to the name that answers (`ReadDoor.follow_set`).
        """
        names = self._follow(names)
        page = self.list_page(names, limit=1)
        while not (page.identifiers or page.damaged):
            if page.cursor is None:
                self._require_resolved(names)
                break
            page = self.list_page(names, cursor=page.cursor, limit=1)
        return names

    def is_resolved(self, interval: Identifier) -> bool:
        """Return True if the series of an interval is minted here, or has identifiers here."""
        authority = find_authority(interval)
        return self._is_minted(interval) or (
            self.records.find_first_key(authority.low, authority.end) is not None
        )

    def _walk_records(
        self, names: NameSet, after: _Cursor | None
    ) -> Iterator[ScannedRecord | DamagedRecord]:
        """Records that may belong to a set, in key order, and damaged ones between them."""
        start: str | None = names.low if after is None else max(names.low, after.start)
        rows = 16
        while start is not None:
            batch, start = scan_readable(self.records, start, names.end, limit=rows)
            for row in batch:
                yield row
                jump = None if isinstance(row, DamagedRecord) else names.next_key(row.name)
                if jump is not None:
                    start, rows = max(jump, _find_next_key(row.key)), 16
                    break
            else:
                rows = min(rows * 4, _MOST_ROWS)

    def list_interval(self, names: Identifier | NameSet) -> ListingInterval:
        """The years, months or days of an interval that have identifiers.

        Raises IntervalNeeded if the set is not divided so, NotFound if its series is not resolved
        here.
        """
        names = make_set(names)
        pattern = names.pattern
        if pattern is None or not pattern.is_divided:
            raise IntervalNeeded(identifier=str(names))
        low, high = pattern.key_range()
        members: list[Identifier] = []
        while key := self.records.find_first_key(low, high):
            member = pattern.member_of(key)
            if pattern.matches(member):
                members.append(member)
            _, low = member.key_range()
        if not members:
            self._require_resolved(names)
        return ListingInterval(pattern=pattern, members=tuple(members))

    def list_authorities(
        self, *, cursor: str | None = None, limit: int = 1000
    ) -> tuple[tuple[NameSet, ...], str | None]:
        """A page of the authorities whose names are known here, in order, and its cursor.

        One look-up for each authority, however many names it has. `cursor` is that of the page
        before.
        """
        found: list[NameSet] = []
        low: str | None = cursor or ""
        while low is not None:
            batch, low = scan_readable(self.records, low, None, limit=1)
            for row in batch:
                if isinstance(row, DamagedRecord):
                    continue
                if len(found) == limit:
                    return tuple(found), row.key
                authority = find_authority(row.name)
                found.append(authority)
                low = max(authority.end, _find_next_key(row.key))
        return tuple(found), None

    def list_series(self, minted: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The series with identifiers here, and those that are minted here, at most 1000, sorted.

        It takes one look-up for each series and each scheme.  # ruling: series-resolved
        """
        found = set(minted)
        key = self.records.find_first_key("", _LAST_KEY)
        while key is not None and len(found) < _MOST_SERIES:
            try:
                name = Pdi.from_key(key)
            except MalformedIdentifier:  # another scheme: `ark:…`
                label, _, _ = key.partition(":")
                end = f"{label};"  # the character after the colon
            else:
                found.add(name.series)
                end = find_authority(name).end
            key = self.records.find_first_key(max(end, _find_next_key(key)), _LAST_KEY)
        return tuple(sorted(found))

    # Names
    # -----

    def list_names(self, identifier: Identifier) -> tuple[Identifier, ...]:
        """All names of the same resource according to their owners, `identifier` first."""
        found = self._follow_names(identifier, self.find_record(identifier))
        return tuple(name for name, _ in found)

    def _follow_names(
        self,
        identifier: Identifier,
        record: Record | None,
        unregistered: Set[str] = frozenset(),
    ) -> tuple[tuple[Identifier, Record | None], ...]:
        """All names of a resource. No record is looked up for the keys in `unregistered`."""
        found = {identifier.key: (identifier, record)}
        waiting = [identifier.key]
        while waiting and len(found) < _MOST_NAMES:
            name, record = found[waiting.pop(0)]
            new: dict[str, tuple[Identifier, Record | None]] = {}
            for other in _read_aliases(record):
                if other.key not in found and other.key not in new:
                    known = other.key in unregistered
                    new[other.key] = other, None if known else self.find_record(other)
            new |= self._find_owners(name, found.keys() | new.keys())
            waiting += new
            found |= new
        return tuple(found.values())

    def _find_owners(
        self, alias: Identifier, known: Set[str]
    ) -> dict[str, tuple[Identifier, Record | None]]:
        """The records, other than known ones, that have a name as an alias, by their keys."""
        found: dict[str, tuple[Identifier, Record | None]] = {}
        for key in self.records.find_referring(f"alias:{alias.key}"):
            owner = None if key in known else self.records.find_record(key)
            if owner and any(one.key == alias.key for one in _read_aliases(owner)):
                found[key] = identify_record(key, owner), owner
        return found

    def list_resolved_names(self, resolved: Resolved) -> tuple[Identifier, ...]:
        """All names of the resource that a name resolved to. Raises as `list_resolved_records`."""
        return tuple(name for name, _ in self.list_resolved_records(resolved))

    def list_resolved_records(
        self, resolved: Resolved
    ) -> tuple[tuple[Identifier, Record | None], ...]:
        """All names of the resource that a name resolved to, each with its record or None.

        Each record is read once, and that of the name itself was read when it was resolved.
        A part has one name only, because the same text after another name of the whole may mean
        another part. A PWID that is not registered here has one name, too. Raises NotFound if the
        name has no record.
        """
        record = resolved.require_citable()
        if resolved.pwid is not None:
            return ((resolved.pwid, None),)
        if resolved.inside is not None:
            return ((resolved.identifier, record),)
        unregistered = frozenset({resolved.via.key} if resolved.via else ())
        return self._follow_names(resolved.whole, record, unregistered)

    def find_bound(self, uri: str) -> tuple[Identifier, ...]:
        """The identifiers that are bound to a location, those bound to its own spelling first.

        Each of the `urls.list_spellings` is looked up, since locations are stored as they were
        given.
        """
        found: dict[str, Identifier] = {}
        for spelling in list_spellings(uri):
            for row in self._find_referring(f"location:{spelling}"):
                shown = show_to_readers(row.record)
                for location in (one for one in shown.locations if one.uri == spelling):
                    exact = _qualify_location(row.identifier, location)
                    found.setdefault(str(exact), exact)
        return tuple(found.values())

    def has_targeting(self, name: Identifier, kind: TargetUse = TargetUse.SIGNED) -> bool:
        """Return False if no record is about a name, or about something of it: one look-up."""
        return bool(self.records.find_referring(f"{kind}:{name.key}"))

    def walk_targeting(
        self, name: Identifier, kind: TargetUse = TargetUse.SIGNED
    ) -> Iterator[IdentifiedRecord]:
        """Yield the records whose content is about a name, or a version, format or part of it.

        They are in the order of their keys, which is that of their minting within a series. Each is
        read when it is needed.
        """
        return self.walk_targeting_key(name.key, kind)

    def walk_targeting_key(
        self, key: str, kind: TargetUse = TargetUse.SIGNED, *, after: str = ""
    ) -> Iterator[IdentifiedRecord]:
        """Yield the same records for the key of a name; with `after`, those with later keys."""
        for other in self._find_referring(f"{kind}:{key}", after):
            if any(parse(target).key == key for target in other.record.targets):
                yield other

    def list_proposals(self, now: str) -> tuple[IdentifiedRecord, ...]:
        """The records whose withdrawal is proposed at the time `now`, the oldest proposal first."""
        found = [
            (proposal.at, row)
            for row in self._find_referring(PROPOSAL)
            if (proposal := find_standing(row.record, now)) is not None
        ]
        found.sort(key=lambda row: (row[0], row[1].identifier.key))
        return tuple(one for _, one in found)

    def find_same_bytes(self, sha512: str) -> tuple[Identifier, ...]:
        """The identifiers of the representations that are served and have this digest."""
        return tuple(
            qualify_identifier(row.identifier, version.number, held.format)
            for row in self._find_referring(f"sha512:{sha512}")
            for version in row.record.versions
            for held in version.representations
            if held.sha512 == sha512 and not (row.record.tombstone or version.tombstone)
        )

    def walk_referring(self, references: Sequence[str]) -> Iterator[ScannedRecord | DamagedRecord]:
        """Yield the records that may have one of some references, in the order of their keys.

        They are candidates, because the index stores only hashes; and readers may not see all of
        them (`ReadDoor.find_guard`).
        """
        for key in self.records.find_any_referring(references):
            try:
                record = self.records.find_record(key)
            except Corrupt as error:
                yield DamagedRecord(key, error)
                continue
            if record is not None:
                yield ScannedRecord(key, identify_record(key, record), record)

    def read_records(self, keys: Sequence[str]) -> list[IdentifiedRecord]:
        """The records with some keys, in the order of the keys. Raises Corrupt."""
        found = self.records.find_records(keys)
        return [
            IdentifiedRecord(identify_record(key, found[key]), found[key])
            for key in keys
            if key in found
        ]

    def _find_referring(self, reference: str, after: str = "") -> Iterator[IdentifiedRecord]:
        """Candidates: the index stores only hashes, so the caller must check each record."""
        for key in self.records.find_referring(reference):
            record = self.records.find_record(key) if key > after else None
            if record is not None:
                yield IdentifiedRecord(identify_record(key, record), record)


def _read_aliases(record: Record | None) -> list[Identifier]:
    return [parse(alias) for alias in record.aliases] if record else []


def _qualify_location(name: Identifier, location: Location) -> Identifier:
    if location.version is not None and location.format:
        return qualify_identifier(name, location.version, location.format)
    return name


class _Cursor(NamedTuple):
    """The place after the last line of a page."""

    key: str
    version: int = 0
    format: str = ""
    """The last representation of the record that was listed; empty if all of them were."""

    @property
    def start(self) -> str:
        """The first key of the next page."""
        return self.key if self.format else _find_next_key(self.key)

    def precedes(self, one: Identifier) -> bool:
        """Return True if a representation of the same record comes after the place."""
        version, format = read_qualifiers(one)
        return (version or 0, format or "") > (self.version, self.format)


_CURSOR = re.compile(r"(.+) ([1-9][0-9]{0,17}) ([^ ]+)", re.DOTALL)


def _write_cursor(key: str, last: Identifier) -> str:
    """The cursor after a representation, of whose record more follow. No key has a space."""
    version, format = read_qualifiers(last)
    return f"{key} {version} {format}"


def walk_citable(
    names: NameSet, page: ListingPage, resolve: Callable[[Identifier], Resolved | None]
) -> Iterator[tuple[Identifier, Resolved]]:
    """Yield what a bibliography cites of a page of a set: each identifier, and what it resolves to.

    What was withdrawn is left out, and so are names for which `resolve` returns None, and a handle
    that is an alias of another one in the set (HS_ALIAS): that one is cited. A pattern with a
    version or a format lists representations, so these are cited, and not the resource.
    # ruling: pdi-patterns-everywhere, urn93-duplicates
    """
    records = {one.identifier.key: one.record for one in page.records}
    for one in page.identifiers:
        if find_withdrawal(one, records[one.key]) is not None:
            continue
        resolved = resolve(one)
        if resolved is None:
            continue
        is_alias = resolved.via is not None
        if is_alias and names.contains(resolved.identifier):
            continue
        if is_alias and find_withdrawal(resolved.identifier, resolved.citable) is not None:
            continue
        yield one, resolved


def _read_cursor(names: NameSet, text: str) -> _Cursor:
    """Read a cursor. Raises InvalidRequest if its key cannot belong to the set."""
    match = _CURSOR.fullmatch(text) if names.has_representations else None
    cursor = _Cursor(match[1], int(match[2]), match[3]) if match else _Cursor(text)
    if not names.low <= cursor.key < names.end:
        raise ForeignCursor(cursor=text)
    if names.pattern is not None:
        try:
            if not names.pattern.from_key(cursor.key).is_interval:
                return cursor
        except MalformedIdentifier:
            pass
        raise ForeignCursor(cursor=text)
    return cursor


def _make_page(
    found: list[Identifier],
    also: dict[str, tuple[Identifier, ...]],
    records: list[IdentifiedRecord],
    damaged: list[Corrupt],
    cursor: str | None,
) -> ListingPage:
    listed = {str(one) for one in found} if also else set()
    return ListingPage(
        identifiers=tuple(found),
        also={name: others for name, others in also.items() if name in listed},
        records=tuple(records),
        cursor=cursor,
        damaged=tuple(damaged),
    )


def _find_next_key(key: str) -> str:
    """The least text greater than a key."""
    return key + "\0"
