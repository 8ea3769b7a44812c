"""Plain and frequent requests, answered inside the protocol class: redirects, bytes by full name.

How it works: `FastPath` is asked about each GET and HEAD as it was read. It checks three things, in
the order of their cost:

1. the header (`perdure.server.fast.headers`);
2. the recent results of resolving targets (`perdure.server.fast.recent`);
3. the record (`perdure.server.fast.lookups`), and the decision of `perdure.policy.decide` about it.
   A name in its usual spelling is read without a parser (`perdure.ids.plain_names`), and a record
   with one location leads to it without a decision (`perdure.policy.sole_location`). Of several
   locations, only the order is decided (`perdure.server.fast.choices`). A name without a record may
   lead to another one (`perdure.server.fast.leads`), or to a document that another resolver has
   sent (`perdure.server.fast.proxied`). The functions of the plain way make the answer.

Handles as JSON (`/api/handles/…`) are answered from their records in the same way. A few captures
of one URL (`/cdx?…`) are answered from the index, without a cache.

For everything else the result is None, and the plain way answers: queries, parts held here,
escapes, conditions, preferences for JSON or XML, held formats to choose from, bytes that must be
read from the disk, and every error.

What must stay true: an answer from here is the same, byte for byte, as the plain way's; no answer
is older than the last change that was acknowledged.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from perdure.archives.index import cdx
from perdure.errors import PerdureError
from perdure.ids import Identifier, parse
from perdure.ids.pdi_plain import read_plain_key
from perdure.ids.plain_names import read_plain_name
from perdure.model import stored
from perdure.model.queries import Fetch, Query, Redirect
from perdure.model.records import Location, Record
from perdure.policy.decide import decide_step
from perdure.policy.handles.choosing import negotiates_elsewhere
from perdure.policy.handles.values import list_alias_texts
from perdure.policy.naming import read_qualifiers
from perdure.policy.ordering import ReaderWishes, find_pattern
from perdure.policy.several_locations import Candidates, find_candidates, list_candidates
from perdure.policy.showing import show_to_readers
from perdure.policy.sole_location import find_in_record, find_sole_location
from perdure.reading.targets import label_handle, spell_path, spell_uri
from perdure.registry import Registry
from perdure.server.apis import cdx as captures
from perdure.server.common.answers import escape_uri, write_answer
from perdure.server.common.asking import current_day, write_choice_fields
from perdure.server.common.cold_reads import ColdReads
from perdure.server.common.conditions import add_entity_tag
from perdure.server.common.elsewhere import find_pseudonym
from perdure.server.common.left_records import LeftRecords
from perdure.server.common.proxy_cache import make_proxy_cache
from perdure.server.common.redirects import make_redirect
from perdure.server.fast import handle_values
from perdure.server.fast.choices import ChosenAnswers, OpenChoice
from perdure.server.fast.headers import UsualHeader, UsualHeaders
from perdure.server.fast.held import ReadyRepresentation
from perdure.server.fast.lead_kinds import Lead, ProxiedLead
from perdure.server.fast.leads import Leads
from perdure.server.fast.lookups import LookUps, TurnLookUp
from perdure.server.fast.proxied import ReadyDocuments
from perdure.server.fast.recent import LARGEST_KEPT, OVERHEAD, RecentAnswers
from perdure.server.fast.turns import open_turns
from perdure.server.protocol.http import Fast
from perdure.server.resource.held import write_lifetime, write_vary
from perdure.server.routes.table import find_route
from perdure.storage.ports import RevisionCounter
from perdure.upkeep.linkcheck.health import Health

# Marks of a query, a part, a citation, a wildcard or an escape. A target without them names one
# whole resource and nothing else. If a scheme uses one of them otherwise, the plain way answers all
# the same.
_NOT_SIMPLE = b"?#@*%"
_SLASH = 0x2F
_USUAL = b"/pdi:"
_HANDLES = f"/{find_route('readHandle').lead}/".encode()
_CDX = f"/{find_route('listCaptures').lead}?".encode()
_MALFORMED = (msgspec.DecodeError, TypeError, ValueError)
"""Errors of decoding a malformed stored form. The plain way reports them, as all others."""
_MOST_FRAMES = 64  # there is one for each time to live

_Resolved = bytes | ReadyRepresentation | OpenChoice | Lead | ProxiedLead


class FastPath:
    """Answers plain requests, and returns None for all others.

    See `perdure.server.protocol.http.Fast`.
    """

    def __init__(
        self,
        registry: Registry,
        generation: RevisionCounter,
        health: Health | None = None,
        cold: ColdReads | None = None,
        left: LeftRecords | None = None,
    ) -> None:
        """`left` takes the records of requests that the plain way must answer."""
        settings = registry.settings
        self._health, self._day = health or Health(), current_day()
        self.turns = open_turns(registry, generation)
        """The look-ups of a store behind a network. None if look-ups need not wait for one."""
        self._counts = self.turns.counts if self.turns else generation.counts
        self._lookups: LookUps = self.turns or _open_lookup(registry, generation, cold)
        self._left = (None if self.turns else left) or LeftRecords()
        self._last_rule = -1
        """The newest rule when `_has_rules` was found out, if the store is behind a network."""
        self._find_record = self._lookups.find_record
        self._find_stored = self._lookups.find_stored
        self._reading = registry.reading
        self._has_rules = True
        """True if there may be reading rules: the plain way applies those about a name."""
        self._recent = RecentAnswers(self._counts, self._note_revision)
        self._find_answer, self._keep_measured = (
            self._recent.find_answer,
            self._recent.keep_measured,
        )
        self._delegations = registry.delegations
        self._is_handed_over = True
        """True if names may have been handed over: the plain way asks which."""
        self._has_exceptions = True
        """True if one of both is true, which is asked for each name."""
        self._documents = ReadyDocuments(
            make_proxy_cache(registry.root, settings),
            find_pseudonym(settings.base_url, str(registry.root)),
        )
        self._leads = Leads(
            self._lookups,
            self._counts,
            settings,
            self._is_governed,
            registry.delegations,
            self._left,
            self._documents,
        )
        self._headers = UsualHeaders(settings)
        self._known_headers = self._headers.known
        self._registry, self._settings = registry, settings
        self._bytes = registry.bytes
        self._fresh = settings.fresh_seconds
        self._choice_fields = write_choice_fields(settings.region_header)
        self._base_url, self._pages = settings.base_url, settings.pages
        self._frame = _make_frame(self._fresh, self._base_url)
        self.redirects = 0
        """Redirects answered since this was set to 0."""
        self.bodies = 0
        """Representations, or ranges of them, answered since then."""
        self.sent = 0
        """Bytes of them, including headers."""

    @property
    def entrance(self) -> Fast:
        """The function that answers requests."""
        return self.answer_request if self.turns is None else self._answer_in_turn

    def _answer_in_turn(self, method: bytes, target: bytes, fields: bytes) -> bytes | None:
        """Answer a request from a state that the registry had after the request arrived."""
        turns = self.turns
        if turns is None or target.startswith(_CDX):
            return self.answer_request(method, target, fields)
        if turns.has_failed:
            return None
        if turns.take_state():
            try:
                return self.answer_request(method, target, fields)
            finally:
                turns.drop_state()
        is_handle = target.startswith(_HANDLES)
        if is_handle or fields not in self._known_headers:
            judge = self._headers.is_plain if is_handle else self._headers.judge_header
            if not judge(fields):
                return None
        known = self._recent.has_answer(target)
        raise turns.wait_for_key(None if known else _guess_key(target))

    def answer_request(self, method: bytes, target: bytes, fields: bytes) -> bytes | None:
        """Return a complete response, or None if the plain way must answer.

        Raises AnswerLater if a record must be read from the disk before.
        """
        if target[:5] != _USUAL:
            if target.startswith(_HANDLES):
                return self._answer_handle(method, target, fields)
            if target.startswith(_CDX):
                return self._answer_captures(method, target, fields)
        try:
            usual = self._known_headers[fields]
        except KeyError:
            usual = self._headers.judge_header(fields)
        if usual is None:
            return None
        try:
            found = self._find_answer(target)
        except PerdureError:  # the registry cannot be read; the normal path says so
            return None
        if found is None:
            found = self._find_new_answer(target, usual.wishes)
        # Nearly every result is a redirect, so the type is compared with that first.
        if type(found) is bytes:
            self.redirects += 1
            return found
        if type(found) is Lead and found.is_away:
            if usual.is_routed:
                return None
            if found.changes == self._counts[1]:
                self.redirects += 1
                return found.head
        if isinstance(found, ChosenAnswers):
            chosen = found.find_answer(usual.wishes)
            found = chosen or self._find_new_answer(target, usual.wishes, found)
        elif isinstance(found, Lead | ProxiedLead) and not self._leads.is_current(found):
            found = self._find_new_answer(target, usual.wishes)
            if isinstance(found, Lead) and found.is_away and usual.is_routed:
                return None
        if isinstance(found, ReadyRepresentation):
            return self._answer_bytes(method, found, usual)
        if isinstance(found, ProxiedLead):
            return self._answer_proxied(method, found, usual)
        answer = found.write_answer(usual.base) if isinstance(found, Lead) else found
        if isinstance(answer, bytes):
            self.redirects += 1
            return answer
        return None

    def _find_new_answer(
        self, target: bytes, wishes: ReaderWishes, known: ChosenAnswers | None = None
    ) -> bytes | ReadyRepresentation | Lead | ProxiedLead | None:
        """Resolve a target for a reader, and remember the result, beside the `known` ones.

        Raises AnswerLater if a record must be read from the disk before.
        """
        try:
            found = self._resolve_target(target)
        except (PerdureError, *_MALFORMED):
            return None
        if type(found) is bytes:
            self._keep_measured(target, found, len(target) + len(found))
            return found
        if type(found) is Lead:
            self._keep_measured(target, found, len(target) + len(found.head) + OVERHEAD)
            return found
        if isinstance(found, OpenChoice):
            return self._choose_location(target, found, wishes, known)
        if found is not None:
            self._recent.keep_answer(target, found)
        return found

    def _choose_location(
        self,
        target: bytes,
        choice: OpenChoice,
        wishes: ReaderWishes,
        known: ChosenAnswers | None,
    ) -> bytes:
        """Redirect to the best of several locations for a reader."""
        order = choice.pattern.find_order(wishes)
        answer = choice.write_redirect(order)
        if len(answer) > LARGEST_KEPT:
            return answer
        size = len(target) + len(answer)
        if not choice.pattern.depends_on_reader:
            self._keep_measured(target, answer, size)
        elif known is None or known.pattern is not choice.pattern:
            chosen = ChosenAnswers(choice.pattern)
            chosen.add_answer(order, answer)
            self._keep_measured(target, chosen, size + OVERHEAD)
        else:
            known.add_answer(order, answer)
            self._recent.keep_answer(target, known)
        return answer

    def _answer_bytes(
        self, method: bytes, ready: ReadyRepresentation, usual: UsualHeader
    ) -> bytes | None:
        if usual.base is None or usual.for_page:
            return None
        get = method == b"GET"
        answer = ready.write_answer(
            self._bytes, usual.base, usual.range if get else None, with_body=get
        )
        if answer is not None:
            self.bodies += 1
            self.sent += len(answer)
        return answer

    def _answer_proxied(self, method: bytes, lead: ProxiedLead, usual: UsualHeader) -> bytes | None:
        """Answer with a kept document. The plain way answers HEAD, and other wishes."""
        if method != b"GET" or usual.is_routed:
            return None
        answer = lead.document.write_answer(usual.range)
        if answer is not None:
            self.bodies += 1
            self.sent += len(answer)
        return answer

    def _answer_handle(self, method: bytes, target: bytes, fields: bytes) -> bytes | None:
        """Answer with all public values of a handle, as JSON."""
        if method != b"GET" or not self._headers.is_plain(fields):
            return None
        found = self._find_answer(target)
        if found is None:
            found = self._write_handle(target[len(_HANDLES) :].decode("ascii"))
            if found is None:
                return None
            if len(found) <= LARGEST_KEPT:
                self._keep_measured(target, found, len(target) + len(found))
        if not isinstance(found, bytes):
            return None
        self.bodies += 1
        self.sent += len(found)
        return found

    def _answer_captures(self, method: bytes, target: bytes, fields: bytes) -> bytes | None:
        """Answer with a few captures of one URL."""
        if method != b"GET" or not self._headers.is_plain(fields):
            return None
        try:
            question = cdx.parse_query(target[len(_CDX) :].decode("ascii"))
            answer = captures.answer_at_once(self._registry, question)
        except PerdureError:
            return None
        if answer is None:
            return None
        self.bodies += 1
        self.sent += len(answer.body)
        return write_answer(add_entity_tag(answer))

    def _write_handle(self, name: str) -> bytes | None:
        key = handle_values.find_key(name)
        if key is None:
            return None
        try:
            stored_text = self._find_record(key)
            if stored_text is None:
                return None
            if self._is_exception(handle_values.name_handle(name)):
                return None
            record = stored.decode_stored(stored_text)
            return handle_values.write_values(name, record, fresh=self._fresh)
        except (PerdureError, *_MALFORMED):
            return None

    def drop_outdated(self) -> None:
        """Drop the kept answers if the day or the set of dead locations has changed."""
        lost = self._health.refresh()
        day = current_day()
        if lost or day != self._day:
            self._day = day
            self._recent.drop_answers()
        self._documents.drop_removed()

    def _note_revision(self) -> None:
        self._lookups.release_state()
        self._refresh_rules()
        self._is_handed_over = self._delegations.load_index().has_hand_overs
        self._has_exceptions = self._has_rules or self._is_handed_over

    def _refresh_rules(self) -> None:
        """Read new rules, unless the state of the request says that there are none."""
        last = -1 if self.turns is None else self.turns.last_rule
        if last < 0 or last != self._last_rule:
            self._has_rules = self._reading.rules.refresh()
            self._last_rule = last

    def _is_exception(self, name: str | Identifier) -> bool:
        """Return True if a reading rule may be about a name, or if a successor answers for it.

        Raises MalformedIdentifier.
        """
        return self._has_exceptions and (self._is_governed(name) or self._is_elsewhere(name))

    def _is_elsewhere(self, name: str | Identifier) -> bool:
        """Return True if a successor answers for a name. Raises MalformedIdentifier."""
        if not self._is_handed_over:
            return False
        asked = parse(name) if isinstance(name, str) else name
        return self._delegations.find_hand_over(asked) is not None

    def _is_governed(self, name: str | Identifier) -> bool:
        """Return True if a reading rule may be about a name. Raises MalformedIdentifier."""
        if not self._has_rules:
            return False
        return self._reading.governs_name(parse(name) if isinstance(name, str) else name)

    # targets
    # -------

    def _resolve_target(self, target: bytes) -> _Resolved | None:
        """Resolve a target to a redirect, as bytes, or to a representation.

        The most frequent case, a PDI with a location line, needs few calls of other functions.
        """
        path = target[1:]
        text = path.decode()  # a target is ASCII; to name that takes longer
        pdi = read_plain_key(text) if target[:5] == _USUAL else None
        if pdi is not None:
            key, format, version = pdi
        else:
            if target[0] != _SLASH:
                return None
            plain = read_plain_name(label_handle(text) if text[:1].isdigit() else text)
            if plain is None:
                return self._resolve_other(target, text)
            text, key, version, format = plain.path, plain.key, None, None
            path = text.encode()
        stored_text = self._find_stored(key) if self._lookups.is_held else self._find_record(key)
        record = None
        if stored_text is None:
            if self._is_elsewhere(text):
                return None
            return self._leads.follow_name(text, key, version, format, self._day, target[1:])
        if self._has_exceptions and self._is_exception(text):
            return None
        if stored_text[0] != stored.JSON:
            sole = find_sole_location(stored_text, version, format, self._day)
        else:
            record = stored.decode_stored(stored_text)
            if len(record.locations) > 1:
                candidates = find_candidates(record, format, self._day)
                if candidates is not None:
                    return self._open_choice(candidates, path)
            sole = find_in_record(record, version, format, self._day)
        if sole is None:
            record = record or stored.decode_stored(stored_text)
            found = self._decide_step(text, record)
            if found is None:
                self._left.leave_record(key, record, self._lookups.changes)
            return found
        uri, ttl = sole
        before, around = self._frame if ttl is None else _make_frame(ttl, self._base_url)
        return b"".join((before, escape_uri(uri), path.join(around)))

    def _resolve_other(self, target: bytes, text: str) -> _Resolved | None:
        """Resolve a name that has no usual spelling, or a part of a name."""
        text = label_handle(text) if text[:1].isdigit() else text
        lead = None if self._is_handed_over else self._leads.follow_part(text, self._day)
        return lead or self._resolve_any(target, text)

    def _open_choice(self, candidates: Candidates, path: bytes) -> OpenChoice:
        pattern = find_pattern(candidates.locations, self._health.dead)
        vary = self._choice_fields if pattern.depends_on_reader else b"accept"
        return OpenChoice(candidates, pattern, path, self._fresh, self._base_url, vary)

    def _resolve_any(self, target: bytes, text: str) -> _Resolved | None:
        simple = len(target.translate(None, _NOT_SIMPLE)) == len(target) and b":" in target
        if not simple or target[:1] != b"/" or target[-1:] == b"/":
            return None
        identifier = parse(text)
        stored_text = self._find_record(identifier.key)
        if stored_text is None or self._is_exception(identifier):
            return None
        record = stored.decode_stored(stored_text)
        found = self._decide_step(text, record)
        if found is None:
            self._left.leave_record(identifier.key, record, self._lookups.changes)
        return found

    def _decide_step(self, text: str, record: Record) -> _Resolved | None:
        if record.values and list_alias_texts(record):
            if record.tombstone is not None:
                return None
            return self._leads.follow_alias(record)
        record = show_to_readers(record)
        if negotiates_elsewhere(record.values):
            return None
        identifier = parse(text)
        step = decide_step(
            Query(identifier=identifier, day=self._day, dead=self._health.dead), record
        )
        if isinstance(step, Redirect):
            if step.others:
                path = escape_uri(spell_path(identifier))
                return self._open_choice(list_candidates(step, record.values), path)
            return write_answer(make_redirect(step, fresh=self._fresh, base=self._base_url))
        if isinstance(step, Fetch) and read_qualifiers(identifier)[1] is not None:
            vary = write_vary(identifier, step.representation, self._pages)
            lifetime = write_lifetime(self._settings, pinned=step.pinned)
            return ReadyRepresentation(step, record, lifetime=lifetime, vary=vary)
        return None


def _open_lookup(
    registry: Registry, generation: RevisionCounter, cold: ColdReads | None
) -> TurnLookUp:
    """Open the look-ups of a store that is not behind a network."""
    cold = cold or ColdReads(registry.records, registry.reading)
    counts = generation.counts if generation.is_mapped else None
    return TurnLookUp(registry.records, cold, counts)


def _guess_key(target: bytes) -> str | None:
    """The key of the record that a target needs, if it is in its usual spelling."""
    text = target[1:].decode()
    if target.startswith(_HANDLES):
        return handle_values.find_key(text[len(_HANDLES) - 1 :])
    if target[:5] == _USUAL:
        pdi = read_plain_key(text)
        if pdi is not None:
            return pdi[0]
    plain = read_plain_name(label_handle(text) if text[:1].isdigit() else text)
    return None if plain is None else plain.key


@lru_cache(_MOST_FRAMES)
def _make_frame(fresh: int, base: str) -> tuple[bytes, list[bytes]]:
    """Return the text of a redirect before its location, and behind it, around each identifier."""
    location, name = Location(uri="x:location"), parse("urn:x-example:name")
    step = Redirect(identifier=name, location=location)
    example = write_answer(make_redirect(step, fresh=fresh, base=base))
    before, _, behind = example.partition(escape_uri(location.uri))
    return before, behind.split(escape_uri(spell_uri(name)))
