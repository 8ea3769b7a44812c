"""Plain and frequent requests, answered inside the protocol class: redirects, bytes by full name.

How it works: `FastPath` is asked about each GET and HEAD as it was read. It checks three things, in
the order of their cost:

1. the header, as one block of bytes: clients repeat the same fields, so the meaning of the complete
   block is cached;
2. the recent results of resolving targets. They are valid as long as `perdure.storage.generation`
   reports no change to any record, in this process or another;
3. the record, and the decision of `perdure.policy.decide` about it. A name in its usual spelling
   is read without a parser (`perdure.ids.plain_names`), and a record with one location leads to it
   without a decision (`perdure.policy.sole_location`). Of several locations, only the order is
   decided (`perdure.server.fast.choices`). The functions of the plain way make the answer.

Handles as JSON (`/api/handles/…`) are answered from their records in the same way. A few captures
of one URL (`/cdx?…`) are answered from the index, without a cache.

A record that must be read from the disk is read by a thread first (`AnswerLater`).

For everything else the result is None, and the plain way answers: queries, parts, escapes,
conditions, preferences for JSON or XML, held formats to choose from, bytes that must be read from
the disk, and every error.

What must stay true: an answer from here is the same, byte for byte, as the plain way's; no answer
is older than the last change that was acknowledged.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TypeVar

import msgspec

from perdure.archives.index import cdx
from perdure.errors import Corrupt, PerdureError
from perdure.ids import Identifier, parse
from perdure.ids.pdi import read_plain_key
from perdure.ids.plain_names import read_plain_name
from perdure.model import stored
from perdure.model.queries import Fetch, Query, Redirect
from perdure.model.records import Location
from perdure.policy.decide import decide_step
from perdure.policy.handles.choosing import negotiates_elsewhere
from perdure.policy.handles.values import find_alias
from perdure.policy.naming import read_qualifiers
from perdure.policy.ordering import LocationPattern, ReaderWishes, find_pattern
from perdure.policy.several_locations import Candidates, find_candidates, list_candidates
from perdure.policy.showing import show_to_readers
from perdure.policy.sole_location import find_in_record, find_sole_location
from perdure.reading.targets import spell_path, spell_uri
from perdure.registry import Registry
from perdure.server.apis import cdx as captures
from perdure.server.common.answers import escape_uri, write_answer
from perdure.server.common.asking import current_day, find_region, write_choice_fields
from perdure.server.common.cold_reads import ColdReads
from perdure.server.common.conditions import CONDITIONS, Span, add_entity_tag
from perdure.server.common.negotiate import may_prefer, names_first, read_preferences
from perdure.server.common.redirects import make_redirect
from perdure.server.common.request import HOST
from perdure.server.fast import handle_values
from perdure.server.fast.choices import AnswerKey, OpenChoice
from perdure.server.fast.held import ReadyRepresentation
from perdure.server.protocol.doctor import ECHO
from perdure.server.protocol.head import join_fields, split_fields
from perdure.server.protocol.http import AnswerLater
from perdure.server.resource import signposting
from perdure.server.resource.describing import TYPES
from perdure.server.resource.held import write_lifetime, write_vary
from perdure.server.resource.metadata import names_metadata
from perdure.server.routes.table import find_route
from perdure.storage.generation import Generation
from perdure.upkeep.linkcheck.health import Health

# Marks of a query, a part, a citation, a wildcard or an escape. A target without them names one
# whole resource and nothing else. If a scheme uses one of them otherwise, the plain way answers all
# the same.
_NOT_SIMPLE = b"?#@*%"
_SLASH = 0x2F
_UNUSUAL = CONDITIONS | {b"expect", b"if-range", b"want-repr-digest", ECHO.lower().encode()}
_USUAL = b"/pdi:"
_HANDLES = f"/{find_route('readHandle').lead}/".encode()
_CDX = f"/{find_route('listCaptures').lead}?".encode()
_NOT_FOR_HANDLES = CONDITIONS | {b"authorization", b"expect", ECHO.lower().encode()}
_NO_RECORD = (msgspec.DecodeError, TypeError, ValueError)
"""Errors of decoding a malformed stored form. The plain way reports them."""
_LARGEST_KEPT = 4096  # bytes of an answer
_FORWARDED = b"x-forwarded-proto"
_ONE_RANGE = re.compile(rb"bytes=([0-9]{1,15})-([0-9]{1,15})?")
_NO_END = 1 << 62
_MOST_HEADERS = 1024
_MOST_FRAMES = 64  # there is one for each time to live
_LONGEST_KNOWN = 4096  # bytes of a header that is remembered
_MOST_ANSWERS = 8192  # in each of two halves; an answer takes some 600 bytes

_Said = TypeVar("_Said")


class UsualHeader(msgspec.Struct, frozen=True):
    """The meaning of a header that asks at most for a range."""

    base: str | None
    """The public address of this resolver, or None if only the plain way can answer with bytes: it
    knows the address, or sends a browser the page instead."""
    range: Span | None = None
    wishes: ReaderWishes = ReaderWishes()
    """The wishes by which one of several locations is chosen."""


_Resolved = bytes | ReadyRepresentation | OpenChoice
_Kept = bytes | ReadyRepresentation | LocationPattern
"""What is remembered of a target: its answer, its document, or the pattern of its locations."""


class FastPath:
    """Answers plain requests, and returns None for all others.

    See `perdure.server.protocol.http.Fast`.
    """

    def __init__(
        self,
        registry: Registry,
        generation: Generation,
        health: Health | None = None,
        cold: ColdReads | None = None,
    ) -> None:
        self._health = health or Health()
        self._cold = cold or ColdReads(registry.records, registry.reading)
        self._read_keys: frozenset[str] = frozenset()
        """The keys of records that were read from the disk for the request being answered."""
        self._day = current_day()
        self._lookup = registry.records.open_lookup()
        self._find_stored = self._lookup.find_stored
        self._held = False
        self._bytes = registry.bytes
        self._settings = registry.settings
        self._fresh = registry.settings.fresh_seconds
        self._choice_fields = write_choice_fields(registry.settings.region_header)
        self._base_url = registry.settings.base_url
        self._pages = registry.settings.pages
        self._frame = _make_frame(self._fresh, self._base_url)
        self._counts = generation.counts
        self._headers: dict[bytes, UsualHeader | None] = {}
        self._askers: dict[bytes, bool] = {}
        self._indexed: dict[bytes, bool] = {}
        self._registry = registry
        self._replay_host = registry.settings.replay_origin.partition("://")[2].encode()
        self._seen = -1
        # A cheap approximation of least-recently-used: a requested answer moves to the young half.
        # When that is full, it becomes the old half, and the previous old half is dropped.
        self._young: dict[bytes | AnswerKey, _Kept] = {}
        self._old: dict[bytes | AnswerKey, _Kept] = {}
        self.redirects = 0
        """Redirects answered since this was set to 0."""
        self.bodies = 0
        """Representations, or ranges of them, answered since then."""
        self.sent = 0
        """Bytes of them, including headers."""

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
            usual = self._headers[fields]
        except KeyError:
            usual = self._judge_header(fields)
        if usual is None:
            return None
        found = self._find_answer(target)
        if isinstance(found, LocationPattern):
            found = self._find_answer((target, found.find_order(usual.wishes)))
        if found is None:
            found = self._find_new_answer(target, usual.wishes)
        if isinstance(found, bytes):
            self.redirects += 1
            return found
        if isinstance(found, ReadyRepresentation):
            return self._answer_bytes(method, found, usual)
        return None

    def _find_new_answer(
        self, target: bytes, wishes: ReaderWishes
    ) -> bytes | ReadyRepresentation | None:
        """Resolve a target for a reader, and remember the result."""
        found = self._resolve_target(target)
        if isinstance(found, OpenChoice):
            return self._choose_location(target, found, wishes)
        if found is not None:
            self._keep_answer(target, found)
        return found

    def _choose_location(self, target: bytes, choice: OpenChoice, wishes: ReaderWishes) -> bytes:
        """Redirect to the best of several locations for a reader."""
        order = choice.pattern.find_order(wishes)
        answer = choice.write_redirect(order)
        if len(answer) > _LARGEST_KEPT:
            return answer
        if choice.pattern.depends_on_reader:
            self._keep_answer(target, choice.pattern)
            self._keep_answer((target, order), answer)
        else:
            self._keep_answer(target, answer)
        return answer

    def _answer_bytes(
        self, method: bytes, ready: ReadyRepresentation, usual: UsualHeader
    ) -> bytes | None:
        if usual.base is None:
            return None
        get = method == b"GET"
        answer = ready.write_answer(
            self._bytes, usual.base, usual.range if get else None, with_body=get
        )
        if answer is not None:
            self.bodies += 1
            self.sent += len(answer)
        return answer

    def _answer_handle(self, method: bytes, target: bytes, fields: bytes) -> bytes | None:
        """Answer with all public values of a handle, as JSON."""
        asked = self._askers.get(fields)
        if asked is None:
            found_fields = join_fields(split_fields(fields))
            asked = _NOT_FOR_HANDLES.isdisjoint(found_fields) and not self._is_for_replay(
                found_fields
            )
            _remember_header(self._askers, fields, asked)
        if not asked or method != b"GET":
            return None
        found = self._find_answer(target)
        if found is None:
            found = self._write_handle(target[len(_HANDLES) :].decode("ascii"))
            if found is None:
                return None
            if len(found) <= _LARGEST_KEPT:
                self._keep_answer(target, found)
        if not isinstance(found, bytes):
            return None
        self.bodies += 1
        self.sent += len(found)
        return found

    def _answer_captures(self, method: bytes, target: bytes, fields: bytes) -> bytes | None:
        """Answer with a few captures of one URL."""
        asked = self._indexed.get(fields)
        if asked is None:
            found = join_fields(split_fields(fields))
            asked = _NOT_FOR_HANDLES.isdisjoint(found) and not self._is_for_replay(found)
            _remember_header(self._indexed, fields, asked)
        if not asked or method != b"GET":
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
        stored_text = None if key is None else self._find_record(key)
        if stored_text is None:
            return None
        try:
            record = stored.decode_stored(stored_text)
            return handle_values.write_values(name, record, fresh=self._fresh)
        except (PerdureError, *_NO_RECORD):
            return None

    def _find_answer(self, target: bytes | AnswerKey) -> _Kept | None:
        """Return the recent result of resolving a target, or None."""
        # Read this before the record, so that an answer from an older record is never kept as new.
        count = self._counts[0]
        if count != self._seen:
            self._young, self._old, self._seen = {}, {}, count
            self._release_lookup()
        found = self._young.get(target)
        if found is None:
            found = self._old.get(target)
            if found is not None:
                self._keep_answer(target, found)
        return found

    def _keep_answer(self, target: bytes | AnswerKey, found: _Kept) -> None:
        if len(self._young) >= _MOST_ANSWERS:
            self._old, self._young = self._young, {}
        self._young[target] = found

    def drop_outdated(self) -> None:
        """Drop the kept answers if the day or the set of dead locations has changed."""
        lost = self._health.refresh()
        day = current_day()
        if lost or day != self._day:
            self._day, self._young, self._old = day, {}, {}

    # headers
    # -------

    def _judge_header(self, fields: bytes) -> UsualHeader | None:
        """Return the meaning of a header, or None if it could change the answer."""
        found = join_fields(split_fields(fields))
        usual = self._read_header(found)
        if b"range" not in found:  # there are too many ranges to remember
            _remember_header(self._headers, fields, usual)
        return usual

    def _is_for_replay(self, found: dict[bytes, bytes]) -> bool:
        """Return True if the request is for the origin that shows only archived pages."""
        return bool(self._replay_host) and found.get(b"host", b"").lower() == self._replay_host

    def _read_header(self, found: dict[bytes, bytes]) -> UsualHeader | None:
        if not _UNUSUAL.isdisjoint(found) or self._is_for_replay(found):
            return None
        for_page = False
        accept = found.get(b"accept")
        if accept is not None:
            wanted = read_preferences(accept.decode("latin-1"))
            if may_prefer(wanted, (*TYPES, *signposting.TYPES)) or names_metadata(wanted):
                return None
            if self._pages != "never" and b"range" not in found:
                for_page = names_first(wanted, "text/html")
        asked = None
        if b"range" in found:
            span = _ONE_RANGE.fullmatch(found[b"range"])
            if span is None:
                return None
            asked = int(span[1]), int(span[2]) + 1 if span[2] else _NO_END
            if asked[0] >= asked[1]:
                return None
        base = None if for_page else find_public_base(found, self._base_url)
        return UsualHeader(base, asked, self._read_wishes(found))

    def _read_wishes(self, found: dict[bytes, bytes]) -> ReaderWishes:
        return ReaderWishes(
            read_preferences(found.get(b"accept", b"").decode("latin-1")),
            read_preferences(found.get(b"accept-language", b"").decode("latin-1")),
            find_region(found, self._settings.region_header),
        )

    # targets
    # -------

    def _resolve_target(self, target: bytes) -> _Resolved | None:
        """Resolve a target to a redirect, as bytes, or to a representation."""
        if target[0] != _SLASH:
            return None
        written = target[1:]
        text = written.decode("ascii")
        pdi = read_plain_key(text)
        if pdi is not None:
            key, format, version = pdi
            return self._resolve_name(text, written, key, version, format)
        if text[:1].isdigit():  # a handle or DOI without its label
            text = f"{'doi' if text.startswith('10.') else 'hdl'}:{text}"
        plain = read_plain_name(text)
        if plain is None:
            return self._resolve_any(target, text)
        return self._resolve_name(plain.path, plain.path.encode(), plain.key, None, None)

    def _resolve_name(
        self, text: str, path: bytes, key: str, version: str | None, format: str | None
    ) -> _Resolved | None:
        """Resolve a name, given with its path, its key and, for a PDI, its version and format."""
        stored_text = self._find_record(key)
        if stored_text is None:
            return None
        try:
            if stored_text[0] != stored.JSON:
                sole = find_sole_location(stored_text, version, format, self._day)
            else:
                record = stored.decode_stored(stored_text)
                if len(record.locations) > 1:
                    candidates = find_candidates(record, format, self._day)
                    if candidates is not None:
                        return self._open_choice(candidates, path)
                sole = find_in_record(record, version, format, self._day)
        except (PerdureError, *_NO_RECORD):
            return None
        if sole is None:
            return self._decide_step(parse(text), stored_text)
        uri, ttl = sole
        frame = self._frame if ttl is None else _make_frame(ttl, self._base_url)
        before, first, second, third, behind = frame
        place = escape_uri(uri)
        return b"".join((before, place, first, path, second, path, third, path, behind))

    def _open_choice(self, candidates: Candidates, path: bytes) -> OpenChoice:
        pattern = find_pattern(candidates.locations, self._health.dead)
        vary = self._choice_fields if pattern.depends_on_reader else b"accept"
        return OpenChoice(candidates, pattern, path, self._fresh, self._base_url, vary)

    def _find_record(self, key: str) -> str | None:
        """Return the stored form of a record. It is at most one turn of the event loop old.

        Raises AnswerLater if the record must be read from the disk before.
        """
        if not self._held:
            if not self._cold.is_cold:
                self._hold_lookup()
            elif key not in self._read_keys:
                raise AnswerLater(partial(self._read_first, self._read_keys | {key}, key))
        try:
            return self._find_stored(key)
        except Corrupt:  # the plain way reports it
            return None

    def _read_first(self, keys: frozenset[str], key: str, again: Callable[[], None]) -> None:
        """Read a record from the disk, and then let the request be answered `again`."""

        def answer() -> None:
            self._read_keys = keys
            try:
                again()
            finally:
                self._read_keys = frozenset()

        self._cold.start_reading(key, answer)

    def _hold_lookup(self) -> None:
        self._lookup.hold_state()
        self._held = True
        asyncio.get_running_loop().call_soon(self._release_lookup)

    def _release_lookup(self) -> None:
        if self._held:
            self._held = False
            self._lookup.release_state()

    def _resolve_any(self, target: bytes, text: str) -> _Resolved | None:
        simple = len(target.translate(None, _NOT_SIMPLE)) == len(target) and b":" in target
        if not simple or target[:1] != b"/" or target[-1:] == b"/":
            return None
        try:
            identifier = parse(text)
        except PerdureError:
            return None
        stored_text = self._find_record(identifier.key)
        return None if stored_text is None else self._decide_step(identifier, stored_text)

    def _decide_step(self, identifier: Identifier, stored_text: str) -> _Resolved | None:
        try:
            record = show_to_readers(stored.decode_stored(stored_text))
            if find_alias(record) is not None or negotiates_elsewhere(record.values):
                return None
            step = decide_step(
                Query(identifier=identifier, day=self._day, dead=self._health.dead), record
            )
        except (PerdureError, *_NO_RECORD):
            return None
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


def _remember_header(known: dict[bytes, _Said], fields: bytes, said: _Said) -> None:
    """Cache the meaning of a header, unless long headers could fill the memory."""
    if len(fields) <= _LONGEST_KNOWN:
        if len(known) >= _MOST_HEADERS:
            known.clear()
        known[fields] = said


def find_public_base(found: dict[bytes, bytes], base_url: str) -> str | None:
    """Return the same public address as `Request.base`, or None if the header does not suffice."""
    if base_url:
        return base_url
    host = found.get(b"host", b"")
    if _FORWARDED in found or not HOST.fullmatch(host):
        return None
    return f"http://{host.decode('ascii')}"


@lru_cache(_MOST_FRAMES)
def _make_frame(fresh: int, base: str) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    """Return the text of a redirect around its location and around the identifier, three times."""
    location, name = Location(uri="x:location"), parse("urn:x-example:name")
    step = Redirect(identifier=name, location=location)
    example = write_answer(make_redirect(step, fresh=fresh, base=base))
    before, _, rest = example.partition(escape_uri(location.uri))
    first, second, third, behind = rest.split(escape_uri(spell_uri(name)))
    return before, first, second, third, behind
