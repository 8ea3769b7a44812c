"""Lists of names: the matches of a pattern, the names of one resource, the names bound to a URL.

How it works: listings walk key ranges. If a pattern has a wildcard before a fixed text, the listing
skips the days that cannot match. `list_names` and `find_bound` follow the references of records, in
both directions.

What must stay true: the cost of a page is its own length plus a bounded number of jumps, however
many identifiers surround it; a cursor stays valid when identifiers are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from perdure.errors import Corrupt, MalformedIdentifier
from perdure.errors.requests import ForeignCursor
from perdure.ids import Identifier, parse
from perdure.ids.pdi import Pdi
from perdure.ids.urls import list_spellings
from perdure.model.queries import ListingInterval, ListingPage
from perdure.model.records import IdentifiedRecord, Location, Record, Representation
from perdure.policy.equality import find_same_record
from perdure.policy.handles.values import hide_private_locations
from perdure.policy.naming import PROPOSAL, identify_record, qualify_identifier, same_format
from perdure.policy.proposals import find_standing
from perdure.reading.resolve import Resolved
from perdure.storage.ports import Bytes, Records
from perdure.storage.scanning import DamagedRecord, ScannedRecord, scan_readable

_MOST_ROWS = 512  # records fetched at a time
_MOST_LOOKED = 20_000  # records looked at for one page, so that a sparse pattern cannot hang
_MOST_NAMES = 1000  # that are followed from alias to alias
_MOST_SERIES = 1000
_LAST_KEY = chr(0x10FFFF)


class Listings:
    """Reads one registry. Safe to use from several threads."""

    def __init__(self, records: Records, bytes: Bytes) -> None:
        self.records = records
        self._bytes = bytes

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
        self, pattern: Identifier, *, cursor: str | None = None, limit: int = 1000
    ) -> ListingPage:
        """A page of the identifiers that match a pattern or are in an interval, in order.

        A pattern with a format or a version lists representations; any other lists resources. A
        page has at most `limit` resources. An empty page with a cursor means that there were no
        matches so far. `cursor` is the cursor of the page before. Raises InvalidRequest if it
        cannot belong to this pattern.
        """
        if cursor:
            _check_cursor(pattern, cursor)
        found: list[Identifier] = []
        damaged: list[Corrupt] = []
        matched = 0
        last = cursor or ""
        looked = 0
        for row in self._walk_records(pattern, cursor):
            if isinstance(row, DamagedRecord):
                damaged.append(row.error)
                continue
            if matched == limit or looked == _MOST_LOOKED:
                return ListingPage(identifiers=tuple(found), cursor=last, damaged=tuple(damaged))
            members = _find_members(pattern, row.name, row.record)
            matched += bool(members)
            found += members
            looked += 1
            last = row.key
        return ListingPage(identifiers=tuple(found), damaged=tuple(damaged))

    def _walk_records(
        self, pattern: Identifier, cursor: str | None
    ) -> Iterator[ScannedRecord | DamagedRecord]:
        """Records that may match the pattern, in key order, and damaged ones between them."""
        low, high = pattern.key_range()
        start: str | None = max(low, _find_next_key(cursor)) if cursor else low
        rows = 16
        while start is not None:
            batch, start = scan_readable(self.records, start, high, limit=rows)
            for row in batch:
                yield row
                jump = None if isinstance(row, DamagedRecord) else pattern.next_key(row.name)
                if jump is not None:
                    start, rows = max(jump, _find_next_key(row.key)), 16
                    break
            else:
                rows = min(rows * 4, _MOST_ROWS)

    def list_interval(self, pattern: Identifier) -> ListingInterval:
        """The years, months or days of an interval that have identifiers."""
        low, high = pattern.key_range()
        members: list[Identifier] = []
        while key := self.records.find_first_key(low, high):
            member = pattern.member_of(key)
            if pattern.matches(member):
                members.append(member)
            _, low = member.key_range()
        return ListingInterval(pattern=pattern, members=tuple(members))

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
                _, end = name.authority_range()
            key = self.records.find_first_key(max(end, _find_next_key(key)), _LAST_KEY)
        return tuple(sorted(found))

    # Names
    # -----

    def list_names(self, identifier: Identifier) -> tuple[Identifier, ...]:
        """All names of the same resource according to their owners, `identifier` first."""
        found: dict[str, Identifier] = {identifier.key: identifier}
        waiting = [identifier]
        while waiting and len(found) < _MOST_NAMES:
            name = waiting.pop(0)
            record = self.find_record(name)
            for other in (*_read_aliases(record), *self._find_alias_owners(name)):
                if other.key not in found:
                    found[other.key] = other
                    waiting.append(other)
        return tuple(found.values())

    def list_resolved_names(self, resolved: Resolved) -> tuple[Identifier, ...]:
        """All names of the resource that a name resolved to.

        A part has one name only, because the same text after another name of the whole may mean
        another part. A PWID that is not registered here has one name, too. Raises NotFound if the
        name has no record.
        """
        resolved.require_citable()
        if resolved.inside is not None or resolved.pwid is not None:
            return (resolved.identifier,)
        return self.list_names(resolved.whole)

    def _find_alias_owners(self, name: Identifier) -> list[Identifier]:
        """The identifiers of the records that have this name as an alias."""
        return [
            other
            for other in self._find_referring(f"alias:{name.key}")
            if any(alias.key == name.key for alias in _read_aliases(self.find_record(other)))
        ]

    def find_bound(self, uri: str) -> tuple[Identifier, ...]:
        """The identifiers that are bound to a location, those bound to its own spelling first.

        Each of the `urls.list_spellings` is looked up, since locations are stored as they were
        given.
        """
        found: dict[str, Identifier] = {}
        for spelling in list_spellings(uri):
            for name in self._find_referring(f"location:{spelling}"):
                record = self.find_record(name)
                record = hide_private_locations(record) if record else None
                same = (one for one in record.locations if one.uri == spelling) if record else ()
                for location in same:
                    exact = _qualify_location(name, location)
                    found.setdefault(str(exact), exact)
        return tuple(found.values())

    def list_proposals(self, now: str) -> tuple[IdentifiedRecord, ...]:
        """The records whose withdrawal is proposed at the time `now`, the oldest proposal first."""
        found = [
            (proposal.at, IdentifiedRecord(name, record))
            for name in self._find_referring(PROPOSAL)
            if (record := self.find_record(name)) is not None
            and (proposal := find_standing(record, now)) is not None
        ]
        found.sort(key=lambda row: (row[0], row[1].identifier.key))
        return tuple(one for _, one in found)

    def find_same_bytes(self, sha512: str) -> tuple[Identifier, ...]:
        """The identifiers of the representations whose bytes have this digest."""
        return tuple(
            qualify_identifier(name, version.number, held.format)
            for name in self._find_referring(f"sha512:{sha512}")
            if (record := self.find_record(name)) is not None
            for version in record.versions
            for held in version.representations
            if held.sha512 == sha512
        )

    def _find_referring(self, reference: str) -> list[Identifier]:
        """Candidates: the index stores only hashes, so the caller must check each record."""
        return [
            identify_record(key, record)
            for key in self.records.find_referring(reference)
            if (record := self.records.find_record(key)) is not None
        ]


def _read_aliases(record: Record | None) -> list[Identifier]:
    return [parse(alias) for alias in record.aliases] if record else []


def _qualify_location(name: Identifier, location: Location) -> Identifier:
    if location.version is not None and location.format:
        return qualify_identifier(name, location.version, location.format)
    return name


def _find_members(pattern: Identifier, name: Identifier, record: Record) -> list[Identifier]:
    """The identifiers of a record that match the pattern."""
    if pattern.format is None:
        return [name] if pattern.matches(name) else []
    there = {
        (version.number, held.format)
        for version in record.versions
        for held in version.representations
    }
    there |= {
        (location.version, location.format)
        for location in record.locations
        if location.version is not None and location.format
    }
    if not there and record.minted:
        there = {(1, record.minted)}
    found = (qualify_identifier(name, version, format) for version, format in sorted(there))
    return [one for one in found if _matches_pattern(pattern, one)]


def _matches_pattern(pattern: Identifier, one: Identifier) -> bool:
    if pattern.format not in (None, "*", one.format) and same_format(
        str(pattern.format), str(one.format)
    ):
        pattern = pattern.at(version=pattern.version, format=one.format)
    return pattern.matches(one)


def _check_cursor(pattern: Identifier, cursor: str) -> None:
    """Raise InvalidRequest if the cursor is not the key of a resource in the pattern's range."""
    low, high = pattern.key_range()
    with suppress(MalformedIdentifier):
        if low <= cursor < high and not pattern.from_key(cursor).is_interval:
            return
    raise ForeignCursor(cursor=cursor)


def _find_next_key(key: str) -> str:
    """The least text greater than a key."""
    return key + "\0"
