"""The reading rules of a registry, and the guard that applies them to one answer of the read door.

How it works: `ReadingRules` keeps the rules about scopes, adds new ones to those that it knows, and
reads those about one resource when they are needed. It asks the registry for the number of the
newest rule, so that a registry without rules costs one small look-up. The rules about the resources
that were asked for last are remembered until there is a newer rule. If one of them may refuse
a reader, the read door makes a `Guard`, which refuses the reader, hides levels of the record, and
checks each step that leads to bytes.

What must stay true: rules are at least as new as the record that they are applied to; nothing but
the guard decides what a reader may see.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.ids import Identifier, parse
from perdure.ids.handle import fold_case
from perdure.ids.name_set import NameSet
from perdure.model.queries import Choices, Fetch, Reader, Step
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import LOCAL, WHOLE_RESOURCE, Level, Record
from perdure.parts import Selector, parse_part, select_part
from perdure.policy.part_relations import relate_parts
from perdure.policy.reading_rights import (
    PartRelation,
    ReadObject,
    admits_everyone,
    check_reading,
    find_refusal,
    make_read_object,
    narrow_object,
    relate_texts,
)
from perdure.policy.reading_rules import find_rule_key, read_rule, select_in_force
from perdure.policy.rights import Object, make_object
from perdure.policy.scope_index import ScopeIndex
from perdure.policy.showing import hide_levels
from perdure.reading.foreseen_rules import RuleRecords

_NO_RECORD = Record()
_MOST_RESOURCES = 10_000  # whose rules are remembered


class _ScopeRules:
    """The rules about scopes, with an index of the scopes. Safe for several threads."""

    def __init__(self) -> None:
        self.last = 0
        """The number of the newest rule up to which all rules are known."""
        self._newest: dict[str, ReadingRule] = {}
        """The newest rule about each scope, lifted ones, too."""
        self._index = ScopeIndex()
        self._guarding = threading.Lock()

    def add_rules(self, rules: Iterable[ReadingRule], last: int) -> None:
        """Add newer rules, the oldest first, which are all that there are up to a number.

        The work depends on how many are added, not on how many are known.
        """
        with self._guarding:
            for rule in rules:  # scopes are spelled in one way only
                self._index.add_scope(rule.about)
                self._newest[rule.about] = rule
            self.last = last

    def has_scopes(self) -> bool:
        """Return True if there ever was a rule about a scope."""
        return bool(self._newest)

    def list_covering(self, what: Object) -> list[ReadingRule]:
        """Return the rules in force about the scopes that cover an object, in any order."""
        with self._guarding:
            found = [self._newest[scope] for scope in self._index.find_scopes(what)]
        return [rule for rule in found if not rule.lifted]

    def list_within(self, beginning: str) -> list[ReadingRule]:
        """Return the rules in force about scopes that are written with a beginning."""
        folded = fold_case(beginning)
        with self._guarding:
            known = list(self._newest.items())
        return [
            rule for scope, rule in known if not rule.lifted and fold_case(scope).startswith(folded)
        ]

    def list_below(self, beginning: str) -> list[ReadingRule]:
        """Return the rules in force about scopes with names that begin with a text."""
        with self._guarding:
            known = [(scope[:-1], rule) for scope, rule in self._newest.items() if scope[-1] == "*"]
        return [
            rule
            for text, rule in known
            if not rule.lifted and (text.startswith(beginning) or beginning.startswith(text))
        ]


class _GovernedResource(NamedTuple):
    """The rules in force about a resource, and the resource as they see it."""

    rules: tuple[ReadingRule, ...]
    key: str
    what: Object


class _ResourceRules:
    """The rules in force about the resources that were asked for last. Safe for several threads.

    All of them were read when a rule with one number was the newest, or later. None is used as soon
    as any thread has seen a newer rule.
    """

    def __init__(self) -> None:
        self._known: tuple[int, dict[str, _GovernedResource]] = 0, {}
        self._guarding = threading.Lock()

    def find_resource(self, name: str, last: int) -> _GovernedResource | None:
        """Return a resource with its rules, or None if they may not be known.

        `last` is the number of the newest rule that any thread has seen.
        """
        number, known = self._known
        return known.get(name) if number >= last else None

    def add_resource(self, name: str, resource: _GovernedResource, last: int) -> None:
        """Remember a resource whose rules were read after `last` was."""
        with self._guarding:
            number, known = self._known
            if last < number:
                return
            if last > number or len(known) >= _MOST_RESOURCES:
                known = {}
            known[name] = resource
            self._known = last, known


class ReadingRules:
    """The rules of one registry. Safe to use from several threads."""

    def __init__(self, records: RuleRecords) -> None:
        self._records = records
        self._scopes = _ScopeRules()
        self._resources = _ResourceRules()
        self._loading = threading.Lock()
        self._seen = threading.local()
        """`last` is the number of the newest rule that this thread has seen."""

    def refresh(self) -> bool:
        """Read new rules about scopes. Return False if the registry never had a rule."""
        last = self._seen.last = self._records.find_last_rule()
        if last > self._scopes.last:
            with self._loading:
                fresh = self._records.find_rules("", self._scopes.last)
                newest = fresh[-1].number if fresh else 0
                self._scopes.add_rules(fresh, max(last, newest, self._scopes.last))
        return last > 0

    def has_rules(self, identifier: Identifier, day: str = "") -> bool:
        """Return True if a rule in force about a resource, or a level of it, may refuse a reader.

        With a `day`, such as `2026-11-21`, embargoes that are over by then refuse no one. Call
        `refresh` first in this thread, after every change of the registry.
        """
        if not self._scopes.last:
            return False
        return _may_refuse(self._find_resource(identifier.resource).rules, day)

    def has_rules_now(self, identifier: Identifier) -> bool:
        """Return True if a rule about a resource or a level of it may refuse a reader at this
        moment."""
        return self.refresh() and self.has_rules(identifier)

    def _find_resource(self, resource: Identifier) -> _GovernedResource:
        name = str(resource)
        known = self._resources.find_resource(name, self._scopes.last)
        if known is None:
            known = self._read_resource(resource)
            last: int | None = getattr(self._seen, "last", None)
            if last is not None:  # other threads may have seen more than this one reads
                self._resources.add_resource(name, known, last)
        return known

    def _read_resource(self, resource: Identifier) -> _GovernedResource:
        key, what = find_rule_key(resource), make_object(resource)
        rules = select_in_force(self._records.find_rules(key))
        if self._scopes.has_scopes():
            rules += self._scopes.list_covering(what)
        return _GovernedResource(tuple(rules), key, what)

    def list_below(self, beginning: str) -> list[ReadingRule]:
        """Return the rules in force about scopes with names that begin with a text.

        Call `refresh` first. A pattern of PDIs has no names that begin otherwise than PDIs do.
        """
        return self._scopes.list_below(beginning)

    def check_set(self, names: NameSet, reader: Reader, now: str) -> None:
        """Raise Forbidden or Unauthenticated if a rule refuses the reader something in a set.

        Rules about more than the set do not count. Call `refresh` first.
        """
        rules = self._scopes.list_within(names.text.partition("*")[0])
        if common := _share_beginning(names.low, names.end):
            below = select_in_force(self._records.find_rules_below(common))
            rules += (one for one in below if names.covers_resource(parse(one.about)))
        for rule in rules:
            wanted = ReadObject(str(names), "", WHOLE_RESOURCE, _find_object(rule, names))
            refusal = find_refusal(rule, wanted, reader, now)
            if refusal is not None:
                raise refusal

    def make_guard(
        self,
        identifier: Identifier,
        part: str | None,
        reader: Reader,
        now: str,
        record: Record = _NO_RECORD,
    ) -> Guard | None:
        """Return the guard of a name, or None if everyone may read everything about it.

        `record` is the one that answers for the name, with all its levels. Call `refresh` first.
        """
        if reader.name == LOCAL or not self._scopes.last:
            return None
        rules, key, what = self._find_resource(identifier.resource)
        if not _may_refuse(rules, now[:10]):
            return None
        wanted = make_read_object(identifier, part, (key, what))
        is_free = all(find_refusal(rule, wanted, reader, now) is None for rule in rules)
        return Guard(rules, wanted, identifier, reader, now, record, is_free=is_free)


def _share_beginning(one: str, other: str) -> str:
    """The text with which both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((at for at, (mine, theirs) in pairs if mine != theirs), len(one))]


def _find_object(rule: ReadingRule, names: NameSet) -> Object:
    """The thing that a token must be for: the resource of a rule, or an example of a set."""
    subject = read_rule(rule)
    return make_object(names.example if subject.is_scope else parse(rule.about))


def _may_refuse(rules: Iterable[ReadingRule], day: str) -> bool:
    """Return True if one of some rules may refuse a reader on a day, whatever it is about."""
    return any(not admits_everyone(rule, day) for rule in rules)


@dataclass(frozen=True, slots=True)
class Guard:
    """Applies rules to the answers about one name, for one reader."""

    rules: tuple[ReadingRule, ...]
    wanted: ReadObject
    identifier: Identifier
    reader: Reader
    now: str
    record: Record = _NO_RECORD
    """The record with all its media types, which decide what the text of a part means."""
    refusal: PerdureError | None = None
    """The error for everything: the name is of a capture, and a rule about captures closes it."""
    is_free: bool = False
    """None of the rules refuses the reader, whatever level of the resource they are about."""

    @property
    def _admits_all(self) -> bool:
        """True if the reader may read everything about the resource."""
        return self.is_free and self.refusal is None

    def check_name(self) -> None:
        """Raise Forbidden or Unauthenticated if the reader may not read the named thing."""
        self._check(self.wanted, with_bytes=False)

    def check_document(self, whole: Identifier) -> None:
        """Raise Forbidden or Unauthenticated if the reader may not read the document of a part."""
        self._check(make_read_object(whole), with_bytes=False)

    def check_kept(self, shown: Record) -> None:
        """Raise Forbidden or Unauthenticated if there are documents, but none is for the reader.

        `shown` is the record as the reader may see it.
        """
        kept = self.record.newest
        if kept is not None and shown.newest is None:
            level = Level(version=kept.number, format=kept.representations[0].format)
            self._check(narrow_object(self.wanted, level), with_bytes=True)

    def is_admitted(self) -> bool:
        """Return True if the reader may read the named thing."""
        return self.may_read(self.wanted.level)

    def show(self, record: Record) -> Record:
        """The record without the levels that the reader may not read."""
        if self._admits_all:
            return record
        return hide_levels(record, self.may_read, partial(self.may_read, with_bytes=True))

    def show_around_part(self, record: Record) -> Record:
        """The record with the documents of which the reader may read the requested part.

        It decides about the part and is not shown: a part can be open in a closed document.
        """
        if self._admits_all:
            return record
        part = self.wanted.level.part

        def has_part(level: Level) -> bool:
            if level == WHOLE_RESOURCE or level.part:
                return self.may_read(level)
            return self.may_read(replace(level, part=part))  # `guard_step` checks the bytes

        return hide_levels(record, has_part, has_part)

    def may_read(self, level: Level, *, with_bytes: bool = False) -> bool:
        """Return True if the reader may read a level of the resource."""
        try:
            self._check(narrow_object(self.wanted, level), with_bytes=with_bytes)
        except PerdureError:
            return False
        return True

    def guard_step(self, step: Step, part: str | None) -> Step:
        """Return the step if the reader may have its bytes; `part` is the requested part.

        Raises Forbidden or Unauthenticated. Of several documents, the readable ones remain.
        """
        if self._admits_all:
            return step
        if isinstance(step, Fetch):
            self._check(self._name_level(step, part), with_bytes=True)
        if not isinstance(step, Choices) or not step.fetches:
            return step
        left = tuple(
            one
            for one in step.fetches
            if self.may_read(self._name_level(one, part).level, with_bytes=True)
        )
        if not left and not step.locations:
            self._check(self._name_level(step.fetches[0], part), with_bytes=True)
        return Choices(identifier=step.identifier, fetches=left, locations=step.locations)

    def _name_level(self, fetch: Fetch, part: str | None) -> ReadObject:
        level = make_read_object(fetch.identifier).level
        return narrow_object(
            self.wanted,
            Level(
                version=level.version,
                format=fetch.representation.format,
                part="" if part is None else self.wanted.level.part,
            ),
        )

    def _check(self, wanted: ReadObject, *, with_bytes: bool) -> None:
        if self.refusal is not None:
            raise self.refusal
        if self.is_free and wanted.what is self.wanted.what:  # not the document of a part
            return
        check_reading(
            self.rules,
            wanted,
            self.reader,
            self.now,
            relate=self._relate,
            with_bytes=with_bytes,
        )

    def _relate(self, one: str, other: str) -> PartRelation:
        """Compare two parts in every media type that the document has."""
        if one == other:
            return PartRelation.SAME
        kinds = {
            held.media_type for version in self.record.versions for held in version.representations
        }
        found = {self._relate_in(kind, one, other) for kind in kinds}
        return found.pop() if len(found) == 1 else relate_texts(one, other)

    def _relate_in(self, media_type: str, one: str, other: str) -> PartRelation:
        try:
            return relate_parts(self._select(one, media_type), self._select(other, media_type))
        except PerdureError:
            return PartRelation.UNKNOWN

    def _select(self, part: str, media_type: str) -> Selector:
        named = self.identifier.whole.with_part(part)
        found = None if named is None else select_part(named, media_type)
        return parse_part(part, media_type) if found is None else found
