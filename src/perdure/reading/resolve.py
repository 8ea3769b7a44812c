"""The read door: it resolves a query in one way for every face.

How it works: `ReadDoor.resolve` takes these steps, in this order, on one state of the registry:

1. It joins the part to a PDI, or keeps it separate from any other identifier.
2. It reads the record by its key, without what readers may not see (`perdure.policy.showing`).
3. If there is no record, the name may be an alias of exactly one record: that record answers. A
   handle with an HS_ALIAS value is an alias of the handle that it names.
4. If the name is not an alias, it may begin with a known name (`perdure.policy.unfolding`): the
   longest beginning answers, and the rest of the name is the part.
5. If the name is unknown here, the resolver to which it is delegated answers for it
   (`perdure.reading.delegations`). A successor, to which names were handed over, precedes even the
   records that are here, except for readers on the machine itself. Without a delegation, public
   resolvers may know the name: `find_elsewhere` (`perdure.policy.forwarding`), if the query accepts
   that answer.
6. If there are reading rules about the name, it refuses the reader, or hides what the reader may
   not read (`perdure.reading.guarding`); also if another resolver answers for the name.
7. `Resolved.step` decides the answer (`perdure.reading.resolved`).

A face builds a `Query`, prints the `Resolved`, and decides nothing itself. If it needs the answer
to another question about the same name (all locations, another media type), `Resolved.choose`
answers it from the same record.

What must stay true: a request reads one record, and one more for a followed alias and for each
beginning of an unknown name; the name of a part is never taken for the name of the whole; every
face gives the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, TypeGuard

import msgspec

from perdure.errors import Forbidden, NotFound, PerdureError, Unauthenticated
from perdure.errors.cutting import PartElsewhere
from perdure.errors.delegations import AnsweredElsewhere
from perdure.errors.lookup import CitationGone
from perdure.ids import ArchivedItem, Identifier, parse
from perdure.ids.name_set import NameSet, find_set, make_set
from perdure.ids.named_parts import join_part, written_part
from perdure.ids.urls import find_public_address
from perdure.model.queries import (
    Elsewhere,
    Fetch,
    Gone,
    Query,
    Reader,
    Step,
)
from perdure.model.records import LOCAL, IdentifiedRecord, Location, Record
from perdure.model.timestamps import find_span, format_timestamp
from perdure.policy.citing import list_sides, require_citation
from perdure.policy.equality import find_equal_record
from perdure.policy.handles.names import find_home_prefix
from perdure.policy.handles.values import choose_locations, find_alias
from perdure.policy.naming import identify_record, qualify_identifier, read_qualifiers
from perdure.policy.reading_rights import make_read_object
from perdure.policy.showing import show_to_readers
from perdure.policy.unfolding import NameBeginning, Unfolding, find_beginnings, split_hash
from perdure.reading.foreseen_rules import RuleRecords
from perdure.reading.guarding import Guard, ReadingRules
from perdure.reading.resolved import Resolved
from perdure.storage.ports import Records

if TYPE_CHECKING:
    from perdure.archives.port import Capture
    from perdure.reading.capture_guarding import CaptureGuard, CaptureRules
    from perdure.reading.delegations import Delegations

_MOST_ALIASES = 8
"""The most HS_ALIAS values that are followed, one after the other."""
Known = Mapping[str, Record | None]
"""Records that were read, by their keys; None for those that do not exist."""
_NOTHING: Known = {}
FindElsewhere = Callable[[Identifier, str], Elsewhere | None]
"""Returns the other resolvers of a name that is unknown here, with a part of it, or None."""


def _find_time() -> datetime:
    return datetime.now(UTC)


def find_nothing(_name: Identifier, _part: str) -> Elsewhere | None:
    """Return None: no other resolver is known."""
    return None


class ReadDoor:
    """Resolves names of one registry. Safe to use from several threads."""

    def __init__(
        self,
        records: Records,
        templates: tuple[str, ...] = (),
        *,
        find_elsewhere: FindElsewhere = find_nothing,
        is_assigned_here: Callable[[Identifier], bool] | None = None,
        delegations: Delegations | None = None,
        clock: Callable[[], datetime] = _find_time,
        archives: tuple[str, ...] = (),
        governs_all: bool = False,
        ruling: RuleRecords | None = None,
    ) -> None:
        """`archives` are the ids of the web archive of this registry. With `governs_all`, a rule
        about captures may be about those of an archive with another id, as in a mirror. `ruling`
        has the reading rules, if others than those of the records are in force.
        """
        self._records = records
        self._find_elsewhere = find_elsewhere
        self._is_assigned_here = is_assigned_here
        self._delegations = delegations
        self._clock = clock
        self._ruling = ruling or records
        self.rules = ReadingRules(self._ruling)
        self._archives = archives
        self._governs_all = governs_all
        self._unfolding = Unfolding(records.find_record, templates)

    def resolve(self, query: Query, known: Known = _NOTHING) -> Resolved:
        """Resolve a query.

        `known` has records by their keys, as they are stored, which the caller read in the same
        state of the registry; None for those that do not exist. They are not read again.

        Raises NotFound if the name is not known, AnsweredElsewhere if another resolver answers for
        it, MalformedIdentifier if it cannot have such a part, Forbidden or Unauthenticated if the
        reader may not read it; for a citation, the errors of either side, InvalidRequest and
        CitationGone.
        """
        asked, beside = join_part(query.identifier, query.part)
        if asked.is_citation:
            return self._resolve_citation(asked, query)
        part = written_part(asked) or beside or ""
        if self._delegations is not None:
            self._delegations.load_index()  # those that are found within the snapshot are not kept
        with self._records.hold_snapshot():
            try:
                resolved = self._find_answer(query, asked, part, known)
            except AnsweredElsewhere:  # what that resolver answers would be passed on
                guard = self.find_guard(asked, query.reader, beside)
                if guard is not None:
                    guard.check_name()
                raise
            if query.reader.name != LOCAL:
                resolved = self._guard_answer(resolved, query.reader)
        if (query.indexes or query.types) and find_home_prefix(resolved.whole):
            resolved = _choose_values(resolved, query)
        if resolved.inside is None:
            return resolved
        return replace(resolved, unfolding=self._unfolding.keep_read(known))

    def has_exceptions(self, reader: Reader) -> bool:
        """Return True if a reading rule or a hand-over may decide what a reader gets."""
        if reader.name == LOCAL:
            return False
        return self.rules.refresh() or (
            self._delegations is not None and self._delegations.load_index().has_hand_overs
        )

    def fetch_only(
        self, name: Identifier, record: Record, reader: Reader, *, is_plain: bool = False
    ) -> Fetch | None:
        """Return the step of `resolve` for a resource that has one document and nothing else.

        The name is that of the resource or of the document, and `record` is that of the resource,
        read in the same snapshot. None if anything else has a say, such as a rule, a hand-over, a
        tombstone or a location. It costs a fifth of resolving. With `is_plain`, the
        caller knows that this reader has no exceptions in the snapshot (`has_exceptions`).
        """
        if record.tombstone or record.locations or record.values or len(record.versions) != 1:
            return None
        version = record.versions[0]
        if version.tombstone or len(version.representations) != 1:
            return None
        held = version.representations[0]
        full = qualify_identifier(name, version.number, held.format)
        is_whole = name.resource == name
        if not is_whole and full != name:
            return None
        if not is_plain and self._may_differ(name, reader):
            return None
        return Fetch(identifier=full, representation=held, pinned=not is_whole)

    def _may_differ(self, name: Identifier, reader: Reader) -> bool:
        """Return True if there are reading rules, or if a name was handed over."""
        if reader.name == LOCAL:
            return False
        delegations = self._delegations
        return self.rules.refresh() or (
            delegations is not None and delegations.find_hand_over(name) is not None
        )

    def show_history(self, resolved: Resolved) -> list[Record]:
        """All revisions of the record of a name as its reader may see them, the oldest first.

        The present one is that of `resolved`: only past ones are read. Empty without a record.
        """
        present, key = resolved.record, resolved.identifier.key
        if present is None:
            return []
        now = present if resolved.guard is None else resolved.guard.record
        if now.values and find_alias(now) is not None:  # it may show the location of its target
            past = self._records.list_revisions(key)
            return [resolved.show_past(show_to_readers(one, past[-1])) for one in past]
        past = self._records.list_past(key, present.revision)
        return [*(resolved.show_past(show_to_readers(one, now)) for one in past), present]

    def follow_set(self, names: NameSet) -> NameSet:
        """Return the set of the name that answers for a set of one name.

        An alias leads to the name that has it, another spelling to the name that is registered, and
        a part to its document. Any other set, and a name that is not known, is returned as it is.
        """
        if not names.is_single:
            return names
        name = names.example
        with self._records.hold_snapshot():
            found = self._look_up(name.whole, follow=False)
        if found is None or (found.identifier.key == name.key and name.whole == name):
            return names
        return make_set(keep_version(name.whole, found.identifier))

    def find_guard(self, name: Identifier, reader: Reader, part: str | None = None) -> Guard | None:
        """Return the guard of a name that was found otherwise, or None if there are no rules."""
        if reader.name == LOCAL or not self.rules.refresh():
            return None
        now = self._find_moment()
        guard = self.rules.make_guard(name, part, reader, now)
        refusal = self._find_capture_refusal(name, reader, now)
        if refusal is None:
            return guard
        if guard is None:
            guard = Guard((), make_read_object(name), name, reader, now)
        return replace(guard, refusal=refusal)

    def check_passing(self, names: NameSet, reader: Reader) -> None:
        """Raise Forbidden or Unauthenticated if the reader may not read something in a set.

        For a set for which another resolver answers. It knows nothing of the rules here, and what
        it answers is passed on whole, so one closed name closes the set.
        """
        guard = self.find_guard(names.example, reader)
        if guard is not None:
            guard.check_name()
        if reader.name != LOCAL and self.rules.refresh():
            self.rules.check_set(names, reader, self._find_moment())

    @cached_property
    def capture_rules(self) -> CaptureRules:
        """The reading rules about captures."""
        from perdure.reading.capture_guarding import CaptureRules  # few registries have captures

        return CaptureRules(self._ruling, self.rules, self._archives)

    def governs_name(self, name: Identifier) -> bool:
        """Return True if a reading rule about what a name names may refuse a reader.

        Call `rules.refresh` first, after every change of the registry.
        """
        if self._is_governed(name.archived):
            return self.capture_rules.refresh() or self.rules.has_rules(name)
        return self.rules.has_rules(name, self._find_moment()[:10])

    def _is_governed(self, held: ArchivedItem | None) -> TypeGuard[ArchivedItem]:
        """Return True if rules about captures may be about what a name names."""
        if held is None:
            return False
        if held.archive.removeprefix("~") in self._archives:
            return True
        return self._governs_all and self._ruling.find_last_rule() > 0

    def governs_captures(self, captures: Sequence[Capture]) -> bool:
        """Return True if a reading rule may be about one of some captures."""
        if not self._ruling.find_last_rule() or not self.capture_rules.refresh():
            return False
        return self.capture_rules.govern(captures)

    def find_capture_guard(
        self, reader: Reader, note: Callable[[], None] = lambda: None
    ) -> CaptureGuard | None:
        """Return the guard of all captures, or None if the reader may read all of them.

        `note` is called as soon as a rule matters.
        """
        if reader.name == LOCAL or not self._ruling.find_last_rule():
            return None
        return self.capture_rules.make_guard(reader, self._find_moment(), note)

    def _find_moment(self) -> str:
        return format_timestamp(self._clock().astimezone(UTC))

    def _guard_answer(self, resolved: Resolved, reader: Reader) -> Resolved:
        """Apply the reading rules. Raises Forbidden or Unauthenticated."""
        if not self.rules.refresh() or (resolved.names is not None and resolved.record is None):
            return resolved
        now = self._find_moment()
        for name in (resolved.asked, resolved.identifier):
            refusal = self._find_capture_refusal(name, reader, now)
            if refusal is not None:
                raise refusal
        if resolved.via is not None:
            other = self.rules.make_guard(resolved.via, None, reader, now)
            if other is not None:
                other.check_name()
        name, part = resolved.identifier, resolved.part_beside
        if resolved.is_elsewhere:
            name, part = resolved.whole, resolved.part
        guard = self.rules.make_guard(name, part, reader, now, resolved.holder or Record())
        if guard is None:
            return resolved
        guard.check_name()
        record, holder = resolved.record, resolved.holder
        show_holder = guard.show if resolved.inside is None else guard.show_around_part
        return replace(
            resolved,
            record=None if record is None else guard.show(record),
            holder=None if holder is None else show_holder(holder),
            guard=guard,
        )

    def _find_capture_refusal(
        self, name: Identifier, reader: Reader, now: str
    ) -> PerdureError | None:
        """Apply the rules about captures to a PWID, registered or not.

        Returns the error for a reader who may not read what it names, or None.
        """
        held = name.archived
        if not self._is_governed(held):
            return None
        guard = self.capture_rules.make_guard(reader, now)
        if guard is None:
            return None
        try:
            guard.require_readable(str(name), held.item, *find_span(held.time))
        except (Forbidden, Unauthenticated) as refusal:
            return refusal
        return None

    def _resolve_citation(self, asked: Identifier, query: Query) -> Resolved:
        """Resolve both sides of a citation, so that a side that does not exist is an error.

        A cited document that another resolver may know gets no step. Raises InvalidRequest for a
        pattern or a side without version, the errors of resolving either side, and CitationGone.
        """
        steps: list[Step | None] = []
        read: dict[str, Record] = {}
        for side in list_sides(require_citation(asked)):
            try:
                resolved = self.resolve(Query(identifier=side, reader=query.reader), read)
                read |= resolved.records_read
                step: Step | None = resolved.step
            except PartElsewhere:
                step = None
            except NotFound as error:
                if not steps or not self._may_be_elsewhere(side, error):
                    raise
                step = None
            if isinstance(step, Gone):
                grave = step.tombstone
                raise CitationGone(
                    identifier=str(asked),
                    side=str(side),
                    reason=grave.reason,
                    at=grave.at,
                    by=grave.by,
                )
            steps.append(step)
        return Resolved(asked, asked, None, query, sides=tuple(steps), side_records=read)

    def _may_be_elsewhere(self, side: Identifier, error: NotFound) -> bool:
        """Return True if another resolver may know a side that is unknown here."""
        if isinstance(error, AnsweredElsewhere):
            return True
        is_assigned_here = self._is_assigned_here
        return type(error) is NotFound and not (is_assigned_here is None or is_assigned_here(side))

    def _find_answer(self, query: Query, asked: Identifier, part: str, known: Known) -> Resolved:
        follow = query.follow_aliases
        if self._delegations is not None and query.reader.name != LOCAL:
            self._delegations.require_not_handed_over(asked)
        if query.names is not None:
            return Resolved(asked, asked, None, query, names=query.names)
        found = self._look_up(asked.whole, follow=follow, known=known)
        if found is not None:
            delimiter = "#" if query.part is None else query.delimiter
            resolved = _make_resolved(query, asked, asked.whole, delimiter, part, found)
            return replace(resolved, names=make_set(asked)) if asked.is_pattern else resolved
        names = None if part and not asked.is_pattern else find_set(asked)
        if names is not None:
            return Resolved(asked, asked, None, query, names=names)
        if not part:
            for beginning in find_beginnings(asked):
                whole, delimiter = beginning.whole, beginning.delimiter
                if not delimiter and self._records.find_record(whole.key) is None:
                    continue
                found = self._look_up(whole, follow=follow, known=known)
                if found is not None and (delimiter == "#" or found.identifier.key == whole.key):
                    return _make_resolved(query, asked, whole, delimiter, beginning.part, found)
        if self._delegations is not None:
            self._delegations.require_undelegated(asked)
        if query.accepts_elsewhere and query.doubt is None:
            there, rest = (asked, part) if part else split_hash(asked)
            elsewhere = self._find_elsewhere(there, rest)
            if elsewhere is not None and not self.find_owners(there.whole):  # an unclear alias
                return Resolved(asked, asked, None, query, elsewhere=elsewhere)
        if asked.archived is not None and not part:
            return Resolved(asked, asked, None, query)
        raise query.doubt or NotFound(identifier=str(asked))

    def _look_up(
        self, name: Identifier, *, follow: bool, known: Known = _NOTHING
    ) -> IdentifiedRecord | None:
        """The record of a name or, if there is none, the only record that has it as an alias."""
        key = name.key
        record = known[key] if key in known else self._records.find_record(key)
        if record is not None:
            found = IdentifiedRecord(name, show_to_readers(record))
            return self._follow_aliases(found) if follow and record.values else found
        equal = find_equal_record(self._records, name)
        if equal is not None:
            return IdentifiedRecord(equal.identifier, show_to_readers(equal.record))
        owners = self.find_owners(name)
        return owners[0] if len(owners) == 1 else None

    def _follow_aliases(self, found: IdentifiedRecord) -> IdentifiedRecord:
        """The record of the handle that a handle is an alias of (RFC 3651 section 3.2.5).

        If it is not registered here, its location is that in the public resolver. With our own
        prefix, or without a public resolver (a PDI), it does not exist. A handle that is an alias
        of itself, directly or through others, answers itself.
        """
        current = found
        for _ in range(_MOST_ALIASES):
            target = None if current.record.tombstone else find_alias(current.record)
            if target is None:
                return current
            record = self._records.find_record(target.key)
            if record is None:
                home, address = find_home_prefix(target), find_public_address(target)
                if home == find_home_prefix(current.identifier) or not address:
                    return current  # no other resolver knows it, either
                there = Location(uri=address)
                return IdentifiedRecord(
                    current.identifier,
                    msgspec.structs.replace(current.record, locations=(there,)),
                )
            current = IdentifiedRecord(target, show_to_readers(record))
        return found

    def find_owners(self, alias: Identifier) -> list[IdentifiedRecord]:
        """The records that have a name as an alias, each with its own identifier."""
        found = []
        for key in self._records.find_referring(f"alias:{alias.key}"):
            record = self._records.find_record(key)  # may be another name with the same hash
            if record and any(parse(one).key == alias.key for one in record.aliases):
                shown = show_to_readers(record)
                found.append(IdentifiedRecord(identify_record(key, record), shown))
        return found


def _choose_values(resolved: Resolved, query: Query) -> Resolved:
    """Decide by the locations of the values that the query names. The record stays complete."""
    if resolved.holder is None:
        return resolved
    return replace(resolved, holder=choose_locations(resolved.holder, query.indexes, query.types))


def _make_resolved(
    query: Query,
    asked: Identifier,
    whole: Identifier,
    delimiter: str,
    part: str,
    found: IdentifiedRecord,
) -> Resolved:
    """The answer of a record that was found for a whole, for the requested part."""
    via = None if found.identifier.key == whole.key else whole
    answers = whole if via is None else keep_version(asked, found.identifier)
    inside = NameBeginning(answers.whole, delimiter, part) if part else None
    record: Record | None = found.record
    if inside is None:
        identifier = asked if via is None else answers
    elif inside.is_elsewhere:
        identifier, record = asked, None
    elif via is None and whole.key == asked.key:
        identifier = asked
    else:
        identifier, _ = join_part(answers, part)
    return Resolved(asked, identifier, record, query, via, inside, found.record)


def keep_version(asked: Identifier, target: Identifier) -> Identifier:
    """The identifier that an alias stands for, of the version and format that the alias names."""
    version, format = read_qualifiers(asked)
    if version is None or format is None:
        return target
    return qualify_identifier(target, version, format)
