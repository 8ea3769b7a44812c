"""Reading rules about captures, and the guard that applies them for one reader.

How it works: a capture has an address, and a name: its PWID in this registry's own archive. So two
groups of rules are about it, and in each the most specific rule governs, then the newest:

    rules about addresses     `perdure.policy.capture_subjects`
    rules about names         a PWID of the archive, whatever its precision, or a scope with PWIDs

Both must admit the reader. What a crawler made of a page (`perdure.archives.derivatives`) is
readable if the page is. `CaptureRules` keeps all these rules in memory, adds new ones to those that
it knows, and finds those about a key by the lengths of their beginnings.

What must stay true: a rule that closes a capture closes it in every question, because the questions
ask an index without it (`perdure.archives.readable`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

import msgspec

from perdure.archives.derivatives import find_page, is_made_by
from perdure.archives.port import Capture
from perdure.archives.pwid.making import make_pwid
from perdure.archives.pwid.verdict import is_same_uri
from perdure.errors import MalformedIdentifier, PerdureError
from perdure.ids import parse
from perdure.ids.pwid import Pwid
from perdure.ids.urlkey import make_url_key
from perdure.model.queries import Reader
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import LOCAL, WHOLE_RESOURCE
from perdure.model.timestamps import find_span
from perdure.policy.capture_subjects import (
    CAPTURES_KEY,
    CaptureSubject,
    find_capture_subject,
    list_beginnings,
    list_folder,
)
from perdure.policy.reading_rights import ReadObject, find_refusal
from perdure.policy.reading_rules import read_rule_subject
from perdure.policy.rights import Object, covers_object, make_object
from perdure.reading.foreseen_rules import RuleRecords
from perdure.reading.guarding import ReadingRules

_LARGEST_CACHE = 1000  # rules


class _KnownRule(msgspec.Struct, frozen=True):
    rule: ReadingRule
    subject: CaptureSubject
    is_named: bool
    """True if it is about a PWID; False if it is about addresses."""
    is_partial: bool = False
    """True if it is about a part of the capture, which is closed."""

    def covers(self, uri: str, first: str, last: str, *, partly: bool = False) -> bool:
        """Return True if it is about captures of a URI in all of a span, or partly.

        The URI must have one of its beginnings.
        """
        subject = self.subject
        if subject.uri and not is_same_uri(subject.uri, uri):
            return False
        if partly:
            return subject.first <= last and first <= subject.last
        return subject.first <= first and last <= subject.last

    def covers_derivative(self, page: str, time: str) -> bool:
        """Return True if it is about a capture of which a record may have been made."""
        subject = self.subject
        is_page = not subject.uri or is_same_uri(subject.uri, page)
        return is_page and subject.first <= time and is_made_by(subject.last, time)


class CaptureRules:
    """The rules about the captures of one registry. Safe to use from several threads."""

    def __init__(self, records: RuleRecords, names: ReadingRules, archives: Iterable[str]) -> None:
        """`archives` are the ids of this registry's own archive; `names` are all other rules."""
        self._records = records
        self._names = names
        self._archives = tuple(filter(None, archives))
        self._last = 0
        self._known: dict[tuple[CaptureSubject, str], _KnownRule] = {}
        """The newest rule about each subject, lifted ones, too."""
        self._by_beginning: dict[str, tuple[tuple[CaptureSubject, str], ...]] = {}
        self._lengths: tuple[int, ...] = ()
        self._scopes: tuple[ReadingRule, ...] = ()
        self._loading = threading.Lock()

    def refresh(self) -> bool:
        """Read new rules. Return False if no rule can be about captures."""
        last = self._records.find_last_rule()
        if last > self._last:
            with self._loading:
                self._load_rules(last)
        return bool(self._by_beginning or self._scopes)

    def _load_rules(self, last: int) -> None:
        since = self._last
        fresh = self._records.find_rules_below(CAPTURES_KEY, since)
        known = [_KnownRule(one, find_capture_subject(one), is_named=False) for one in fresh]
        for beginning in self._list_names():
            named = self._records.find_rules_below(beginning, since)
            known += filter(None, map(_read_named_rule, named))
        self._names.refresh()
        for one in sorted(known, key=lambda one: one.rule.number):
            identity = one.subject, f"{one.rule.about}#{one.rule.part}" if one.is_named else ""
            self._known[identity] = one
            for text in one.subject.beginnings:
                there = self._by_beginning.get(text, ())
                if identity not in there:
                    self._by_beginning[text] = (*there, identity)
        self._lengths = tuple(sorted({len(text) for text in self._by_beginning}))
        scopes = [rule for text in self._list_names() for rule in self._names.list_below(text)]
        self._scopes = tuple({rule.number: rule for rule in scopes}.values())
        self._last = max([last, *(one.rule.number for one in known)])

    def _list_names(self) -> tuple[str, ...]:
        """Return the beginnings of the names of all captures of the archive."""
        return tuple(f"pwid:{mark}{one}:" for one in self._archives for mark in ("", "~"))

    def list_about(self, key: str) -> list[_KnownRule]:
        """Return the rules in force about captures with a key, whatever their address and time."""
        place = f"{key} "
        found = {
            identity: None
            for length in self._lengths
            for identity in self._by_beginning.get(place[:length], ())
        }
        known = (self._known[identity] for identity in found)
        return [one for one in known if not one.rule.lifted]

    def list_scopes(self, uri: str, time: str) -> list[ReadingRule]:
        """Return the rules in force about scopes with a name of a capture, under any id."""
        names = [
            self._name_under(f"{mark}{archive}", uri, time)
            for archive in self._archives
            for mark in ("", "~")
        ]
        return [
            rule for rule in self._scopes if any(covers_object(rule.about, one) for one in names)
        ]

    def govern(self, captures: Iterable[Capture]) -> bool:
        """Return True if a rule in force may be about one of some captures.

        Call `refresh` first. A rule about an address is taken to be about all of its captures.
        """
        seen: dict[str, bool] = {}
        for one in captures:
            if one.key not in seen:  # captures of one address are next to each other
                seen[one.key] = bool(self.list_about(one.key))
            page = find_page(one.uri)
            if seen[one.key] or (page is not None and self.list_about(make_url_key(page))):
                return True
            if self._scopes and self.list_scopes(one.uri, one.time):
                return True
        return False

    @property
    def has_scopes(self) -> bool:
        """True if a rule in force is about a scope with PWIDs of the archive."""
        return bool(self._scopes)

    def name_capture(self, uri: str, time: str) -> Object:
        """Return a capture as the scopes of tokens and rules see it."""
        return self._name_under(self._archives[0] if self._archives else "", uri, time)

    def _name_under(self, archive: str, uri: str, time: str) -> Object:
        try:
            return make_object(make_pwid(archive, time, "part", uri))
        except MalformedIdentifier:  # no PWID can name it
            return Object(f"pwid:{archive}:{time}:part:{uri}")

    def make_guard(
        self, reader: Reader, now: str, note: Callable[[], None] = lambda: None
    ) -> CaptureGuard | None:
        """Return the guard of captures for a reader, or None if everything is readable.

        `note` is called as soon as a rule is about a capture or an address that was considered.
        """
        if reader.name == LOCAL or not self.refresh():
            return None
        return CaptureGuard(self, reader, now, note)


def _read_named_rule(rule: ReadingRule) -> _KnownRule | None:
    """Return a rule about a PWID as one about captures, or None if it opens a part only."""
    about = read_rule_subject(rule.about, rule.part)
    is_partial = about.level != WHOLE_RESOURCE
    pwid = parse(rule.about).whole
    if not isinstance(pwid, Pwid) or (is_partial and rule.access is Access.OPEN):
        return None
    beginnings, uri = list_beginnings(pwid.item, "exact"), pwid.item
    if pwid.coverage == "subsite":
        beginnings, uri = list_folder(pwid.item), ""
    elif pwid.coverage == "site":
        beginnings, uri = list_beginnings(pwid.item, "host"), ""
    subject = CaptureSubject(beginnings, *find_span(pwid.time), uri)
    return _KnownRule(rule, subject, is_named=True, is_partial=is_partial)


class CaptureGuard:
    """Says which captures one reader may read; implements `perdure.archives.readable.ReadingGuard`.

    Safe to use from several threads.
    """

    def __init__(
        self, rules: CaptureRules, reader: Reader, now: str, note: Callable[[], None]
    ) -> None:
        self._rules = rules
        self._reader = reader
        self._now = now
        self._note = note
        self._recent: tuple[str, list[_KnownRule]] = ("", [])
        self._refused: dict[int, bool] = {}
        """By the number of a rule that does not look at tokens."""

    def may_read(self, capture: Capture) -> bool:
        """See `ReadingGuard`."""
        uri, time = capture.uri, capture.time
        found = [one for one in self._list_about(capture.key) if one.covers(uri, time, time)]
        page = find_page(uri)
        if page is not None:
            about = self._list_about(make_url_key(page))
            found += [one for one in about if one.covers_derivative(page, time)]
        return all(self._admits(one, uri, time) for one in self._choose(found, uri, time))

    def require_readable(self, identifier: str, uri: str, first: str, last: str) -> None:
        """See `ReadingGuard`."""
        about = self._list_about(make_url_key(uri))
        inside = [one for one in about if one.covers(uri, first, last)]
        some = [one for one in about if one.covers(uri, first, last, partly=True)]
        for rule in self._choose(inside, uri, first):
            error = self._find_refusal(rule, identifier, uri, first)
            if error is not None and all(
                self._find_refusal(one.rule, identifier, uri, first) for one in some
            ):
                raise error

    def explain_absence(self, identifier: str, uri: str, first: str, last: str) -> None:
        """See `ReadingGuard`."""
        about = self._list_about(make_url_key(uri))
        some = [one for one in about if one.covers(uri, first, last, partly=True)]
        for rule in self._choose(some, uri, first):
            error = self._find_refusal(rule, identifier, uri, first)
            if error is not None:
                raise error

    def _list_about(self, key: str) -> list[_KnownRule]:
        recent = self._recent  # captures of one address are next to each other
        if recent[0] != key:
            recent = self._recent = (key, self._rules.list_about(key))
        return recent[1]

    def _choose(self, known: Sequence[_KnownRule], uri: str, time: str) -> list[ReadingRule]:
        """Return the rules that must all admit the reader: the governing one of each group."""
        chosen = [one.rule for one in known if one.is_partial]
        named = [one for one in known if one.is_named and not one.is_partial]
        groups = named, [one for one in known if not one.is_named]
        chosen += [max(group, key=_rank_rule).rule for group in groups if group]
        if not named and self._rules.has_scopes:
            scopes = self._rules.list_scopes(uri, time)
            if scopes:
                chosen.append(max(scopes, key=_rank_scope))
        if chosen:
            self._note()
        return chosen

    def _admits(self, rule: ReadingRule, uri: str, time: str) -> bool:
        if rule.by_token:
            return self._find_refusal(rule, uri, uri, time) is None
        known = self._refused.get(rule.number)
        if known is None:
            known = self._find_refusal(rule, uri, uri, time) is not None
            if len(self._refused) < _LARGEST_CACHE:
                self._refused[rule.number] = known
        return not known

    def _find_refusal(
        self, rule: ReadingRule, identifier: str, uri: str, time: str
    ) -> PerdureError | None:
        what = self._rules.name_capture(uri, time)
        wanted = ReadObject(identifier, what.authority, WHOLE_RESOURCE, what)
        return find_refusal(rule, wanted, self._reader, self._now)


def _rank_rule(known: _KnownRule) -> tuple[tuple[int, int, int, bool], int]:
    return known.subject.specificity, known.rule.number


def _rank_scope(rule: ReadingRule) -> tuple[tuple[int, int, int, int], int]:
    return read_rule_subject(rule.about, "").specificity, rule.number
