"""The assertions about a name: which documents say something about it, and whether they stand.

How it works: an assertion is a document of its own; its record has the names that it is about as
targets (`Record.targets`), and is found by them and, if they are parts, by their places
(`perdure.model.target_references`). What a target has to do with the requested name says
`perdure.policy.assertion_scope`. If the resource has other names, those about them are found, too.
A retraction is a further assertion about an assertion; it counts
if it has the same actor.

What must stay true: assertions are read through the read door, so nothing that was withdrawn or is
closed to a reader is shown, nor an assertion about something closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import msgspec
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.ids import Identifier, parse
from perdure.model.assertions import LONGEST, Assertion, may_be_assertion, read_assertion
from perdure.model.queries import PUBLIC_READER, Reader
from perdure.model.records import Record
from perdure.model.references import ASSERTION
from perdure.model.target_references import TargetUse, list_part_references
from perdure.policy.assertion_scope import (
    AssertionScope,
    find_scope,
    find_scope_of_alias,
    find_scope_of_parts,
    make_relation_test,
)
from perdure.policy.naming import identify_record
from perdure.policy.reading_rights import PartRelation
from perdure.reading.listing import Listings
from perdure.reading.resolve import ReadDoor
from perdure.reading.scanning import scan_readable
from perdure.reading.targeting import fetch_document, find_commit, is_open

MOST_READ = 2000
"""Documents that are read for one page of assertions."""
_PAGE, _MOST_SCANNED = 1000, 20_000  # records
_TOGETHER = 32  # records that are looked up at a time
_MOST_RETRACTIONS = 1000
"""Assertions about one assertion that are read to know whether it was retracted."""


class HeldAssertion(msgspec.Struct, frozen=True, kw_only=True):
    """An assertion in the registry."""

    identifier: Identifier
    """Of the assertion, with format and version."""
    assertion: Assertion
    data: bytes
    """The document, byte for byte."""
    by: str
    """The actor who made it."""
    at: str
    scope: AssertionScope = AssertionScope.SAME
    retracted_by: tuple[Identifier, ...] = ()
    """The retractions of it that count."""


class AssertionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A question for the assertions about a name, or for some of them."""

    name: Identifier
    reader: Reader = PUBLIC_READER
    by: str = ""
    """The actor; empty for all."""
    motivation: str = ""
    """An IRI (`perdure.model.assertions.find_iri`); empty for all."""
    scopes: frozenset[AssertionScope] = frozenset(AssertionScope)
    is_standing: bool = False
    """Leave out those that were retracted."""
    after: str = ""
    """The key of the last assertion of the page before."""
    others: tuple[Identifier, ...] | None = None
    """The other names of the resource; None if they must be looked up."""


class AssertionPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the assertions that a query finds."""

    assertions: tuple[HeldAssertion, ...]
    after: str | None
    """Where the next page begins; None if this is the last one."""


class Assertions:
    """The assertions of a registry, for reading."""

    def __init__(self, door: ReadDoor, listings: Listings) -> None:
        self._door = door
        self._listings = listings

    def list_page(self, query: AssertionQuery, *, limit: int) -> AssertionPage:
        """Return at most `limit` assertions, in the order of their names.

        It reads at most `MOST_READ` documents, so a page may have fewer, although more follow. All
        are of one state of the registry.
        """
        with self._listings.records.hold_snapshot():
            return self._list_page(query, limit)

    def _list_page(self, query: AssertionQuery, limit: int) -> AssertionPage:
        found: list[HeldAssertion] = []
        last, looked = "", 0
        names = self._list_other_names(query.name) if query.others is None else query.others
        relate = None if names else make_relation_test(query.name)
        keys = (key for key in self._find_keys(query.name, names) if key > query.after)
        for key, record in self._find_records(keys):
            if len(found) == limit or looked == MOST_READ:
                return AssertionPage(assertions=tuple(found), after=last)
            last, looked = key, looked + 1
            if record is None:
                continue
            held = self._read_fitting(key, record, query, names, relate)
            if held is not None:
                found.append(held)
        return AssertionPage(assertions=tuple(found), after=None)

    def walk_assertions(self, query: AssertionQuery) -> Iterator[HeldAssertion]:
        """Yield the assertions that a query finds, in the order of their names.

        An assertion about a part of what is asked about is found, and one about its whole, about a
        part that overlaps it, and about a set that it belongs to; so is one about another name of
        the resource. Those that were retracted are marked.
        """
        names = self._list_other_names(query.name)
        for key in self._find_keys(query.name, names):
            record = self._listings.records.find_record(key) if key > query.after else None
            held = None if record is None else self._read_fitting(key, record, query, names)
            if held is not None:
                yield held

    def has_assertions(
        self, name: Identifier, others: tuple[Identifier, ...], reader: Reader = PUBLIC_READER
    ) -> bool:
        """Return whether the first `MOST_READ` documents about a name, or about the other names of
        its resource, have any for a reader."""
        query = AssertionQuery(name=name, others=others, reader=reader)
        return bool(self.list_page(query, limit=1).assertions)

    def list_assertions(
        self, name: Identifier, reader: Reader = PUBLIC_READER
    ) -> list[HeldAssertion]:
        """Return all assertions about a name, and about every version, format and part of it."""
        return list(self.walk_assertions(AssertionQuery(name=name, reader=reader)))

    def list_keys(self, series: str, *, most: int) -> list[str] | None:
        """Return the keys of the documents of a series that may be assertions, in order.

        None if the registry has more than `most` such documents.
        """
        keys = self._listings.records.find_referring(ASSERTION, limit=most + 1)
        if len(keys) > most:
            return None
        beginning = f"{series}/"
        return sorted(key for key in keys if key.startswith(beginning))

    def read_keys(
        self, keys: Iterable[str], reader: Reader = PUBLIC_READER
    ) -> Iterator[HeldAssertion]:
        """Yield the assertions among some documents that a reader may read, and that stand."""
        for key in keys:
            record = self._listings.records.find_record(key)
            if record is None or not is_assertion(record):
                continue
            held = self._read_held(identify_record(key, record), record, reader)
            held = held and self._mark_retractions(held, reader)
            if held is not None and not held.retracted_by:
                yield held

    def scan_series(
        self, series: str, after: str, reader: Reader, *, limit: int
    ) -> tuple[list[HeldAssertion], str | None]:
        """Return the next assertions of a series, and the key after which more may follow.

        It reads at most `_MOST_SCANNED` records, so there may be none although more follow.
        """
        end = f"{series}0"  # the character after the slash
        low: str | None = max(f"{series}/", f"{after}\0" if after else "")
        found: list[HeldAssertion] = []
        looked, last = 0, after
        while low is not None:
            rows, low = scan_readable(self._listings.records, low, end, limit=_PAGE)
            for row in rows:
                if len(found) == limit or looked == _MOST_SCANNED:
                    return found, last
                looked, last = looked + 1, row.key
                found += self.read_keys((row.key,), reader)
        return found, None

    def find_assertion(
        self, name: Identifier, reader: Reader = PUBLIC_READER
    ) -> HeldAssertion | None:
        """Return the assertion that a name names; None if the name names something else."""
        record = self._listings.find_record(name)
        if record is None:
            return None
        held = self._read_held(name, record, reader)
        return held and self._mark_retractions(held, reader)

    def _list_other_names(self, name: Identifier) -> tuple[Identifier, ...]:
        """The other names of the resource, according to their owners."""
        if name.is_pattern or name.is_citation:
            return ()
        known = self._listings.list_names(name.whole.resource)
        return tuple(one for one in known if one.key != name.key)

    def _find_keys(self, name: Identifier, others: Iterable[Identifier]) -> list[str]:
        """The keys of the records that may be assertions about a name, in order."""
        kind = TargetUse.ASSERTED
        by_part = None if name.fragment is None else list_part_references(kind, name)
        references = [f"{kind}:{name.key}"] if by_part is None else by_part
        references += (f"{kind}:{key}" for key in name.list_pattern_keys())
        for other in others:
            keys = (other.key, *other.list_pattern_keys())
            references += (f"{kind}:{key}" for key in keys)
        return self._listings.records.find_any_referring(references)

    def _find_records(self, keys: Iterable[str]) -> Iterator[tuple[str, Record | None]]:
        """Yield keys, each with its record."""
        waiting = iter(keys)
        while some := list(islice(waiting, _TOGETHER)):
            found = self._listings.records.find_records(some)
            yield from ((key, found.get(key)) for key in some)

    def _read_fitting(
        self,
        key: str,
        record: Record,
        query: AssertionQuery,
        others: tuple[Identifier, ...],
        relate: Callable[[str], PartRelation] | None = None,
    ) -> HeldAssertion | None:
        """Read an assertion; None if the record is not one, or does not fit a query.

        `relate` gives the relation of a target to what is asked about, if it is known at once.
        """
        relations = None if relate is None else set(map(relate, record.targets))
        if relations is None or PartRelation.UNKNOWN in relations:
            relations = None
            scope = _find_closest(map(parse, record.targets), query.name, others)
        else:
            scope = _choose_closest(map(find_scope_of_parts, relations))
        if scope is None:
            return None
        held = self._read_held(identify_record(key, record), record, query.reader)
        if held is None or query.by not in ("", held.by):
            return None
        about = held.assertion.about
        if relations is None or tuple(map(str, about)) != record.targets:
            scope = _find_closest(about, query.name, others)
        if scope is None or scope not in query.scopes:
            return None
        if query.motivation and query.motivation not in held.assertion.motivations:
            return None
        held = self._mark_retractions(replace(held, scope=scope), query.reader)
        return None if query.is_standing and held.retracted_by else held

    def _read_held(self, name: Identifier, record: Record, reader: Reader) -> HeldAssertion | None:
        """Read an assertion; None if the record is not one, or is not for this reader."""
        step = fetch_document(self._door, name, reader, longest=LONGEST, record=record)
        if step is None or not may_be_assertion(step.representation.media_type):
            return None
        data = self._listings.read_bytes(step.representation)
        try:
            assertion = read_assertion(data)
        except PerdureError:  # another document about the name
            return None
        if not all(is_open(self._door, about, reader) for about in assertion.about):
            return None
        first = find_commit(self._listings.records, name.key, record, step.representation)
        return HeldAssertion(
            identifier=step.identifier,
            assertion=assertion,
            data=data,
            by=first.by,
            at=first.at,
        )

    def _mark_retractions(self, held: HeldAssertion, reader: Reader) -> HeldAssertion:
        """Note the assertions by the same actor that retract an assertion."""
        key, records = held.identifier.key, self._listings.records
        found: list[Identifier] = []
        for other in records.find_referring(f"{TargetUse.ASSERTED}:{key}")[:_MOST_RETRACTIONS]:
            record = records.find_record(other)
            if record is None or other == key:
                continue
            said = self._read_held(identify_record(other, record), record, reader)
            if said is not None and said.by == held.by and said.assertion.retracts(held.identifier):
                found.append(said.identifier)
        return replace(held, retracted_by=tuple(found)) if found else held


def is_assertion(record: Record) -> bool:
    """Return whether a record may have an assertion, by the type of its documents."""
    return any(
        may_be_assertion(held.media_type)
        for version in record.versions
        for held in version.representations
    )


def _find_closest(
    abouts: Iterable[Identifier], asked: Identifier, others: Iterable[Identifier]
) -> AssertionScope | None:
    """Return how the closest of the targets of an assertion is about a name, or about one of the
    other names of the resource."""
    targets = tuple(abouts)
    found = {find_scope(about, asked) for about in targets}
    found |= {find_scope_of_alias(about, asked, other) for other in others for about in targets}
    return _choose_closest(found)


def _choose_closest(scopes: Iterable[AssertionScope | None]) -> AssertionScope | None:
    found = set(scopes)
    return next((scope for scope in AssertionScope if scope in found), None)


def describe_assertion(held: HeldAssertion) -> dict[str, object]:
    """Return what the registry knows of an assertion, as every interface shows it in JSON."""
    return {
        "identifier": str(held.identifier),
        "scope": str(held.scope),
        "by": held.by,
        "at": held.at,
        "motivations": list(held.assertion.motivations),
        "words": list(held.assertion.words),
        "text": held.assertion.body_text,
        "targets": [one.iri for one in held.assertion.targets],
        "retracted_by": [str(one) for one in held.retracted_by],
    }
