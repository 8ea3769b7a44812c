"""Follows an origin: the loop that keeps a mirror up to date.

How it works: the mirror's own last change says where it stands, because records and changes are
written together. It asks the origin for the changes after that one, waits there if there is none,
fetches the bytes that they bring, and replays them (`perdure.writing.replaying`). If the process is
killed at any moment, the next one goes on at the last durable change. While a full page is
replayed, the origin already reads the next one, which was asked for over a connection of its own.

If the origin does not know the last change of the mirror, or sends one that breaks a rule, the
mirror stops: it goes on serving what it has, keeps the two rows that contradict each other, and
says so at `/readyz`, in the metrics and in its status, until an operator decides.

What must stay true: the mirror never goes back and never skips; nothing that contradicts what it
has replaces it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import msgspec

from perdure.errors.mirroring import (
    NotMirror,
    OriginAlters,
    OriginContradicts,
    OriginUnusable,
)
from perdure.errors.processes import HasWriter
from perdure.errors.root import quote
from perdure.model.changes import RULE, TOKEN, ChainHead, ChangeMark
from perdure.model.commands import NOWHERE, Content
from perdure.model.mirroring import BrokenRule, Contradiction, MirroredChange, SoughtContent
from perdure.model.timestamps import format_timestamp
from perdure.policy import replaying
from perdure.registry import Registry
from perdure.storage.byte_ports import INCOMING
from perdure.storage.durable import WRITE_LOCK, hold_lock
from perdure.storage.origin import (
    MirroredOrigin,
    MirrorState,
    find_origin,
    load_secret,
    load_state,
    save_state,
)
from perdure.storage.ports import storage_errors
from perdure.upkeep.mirroring.client import OriginForgets, RegistryClient
from perdure.upkeep.mirroring.comparing import list_served
from perdure.upkeep.mirroring.foreseeing import Foresight
from perdure.upkeep.mirroring.handed_over import HandOvers
from perdure.upkeep.mirroring.meeting import KnownMarks, count_common, read_change
from perdure.upkeep.mirroring.wire import show_row
from perdure.writing.replaying import Replayer

PAGE = 2000
"""Changes that are asked for together."""
WAIT = 30
"""Seconds that a request for changes waits for one."""
_PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds between attempts while the origin does not answer."""
_DELEGATE = "delegate"
_SAVE_EVERY = 1.0  # seconds
_UPKEEP_EVERY = 60.0  # seconds
_MOST_BYTES = 64 << 20
"""Bytes of one batch: they are in memory if they are short."""


class FollowedPage(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one step of a mirror."""

    at: ChangeMark | None
    """Its last change."""
    replayed: int
    """Changes of this step."""
    behind: int | None
    """Changes that the origin has more, as far as it told; None if they are in a later epoch."""


def count_behind(origin_head: ChangeMark | None, head: ChainHead | None) -> int | None:
    """Return how many changes an origin has more than its mirror; None if that is unknown."""
    if origin_head is None:
        return None
    if head is None:
        return origin_head.number if origin_head.epoch == 1 else None
    return origin_head.number - head.number if origin_head.epoch == head.epoch else None


class MirrorFollower:
    """Runs the mirror in a registry directory. Use it as a context manager.

    It is the only process that writes there. Raises NotMirror, HasWriter if another process
    follows already, and the errors of opening the registry.
    """

    def __init__(self, registry: Registry) -> None:
        origin = find_origin(registry.root)
        if origin is None:
            raise NotMirror(directory=str(registry.root))
        self.origin: MirroredOrigin = origin
        self._registry = registry
        self._root: Path = registry.root
        self._client = RegistryClient(origin.url, load_secret(registry.root))
        self._ahead = RegistryClient(origin.url, load_secret(registry.root))
        """Asks for the page after the one that is being replayed."""
        self._foresight = Foresight(registry, self._client)
        self.state = load_state(registry.root) or MirrorState(at=self._now(), verdict="following")
        self._saved = 0.0
        self._next_upkeep = 0.0
        self._opened = ExitStack()

    def __enter__(self) -> MirrorFollower:
        with ExitStack() as opened, storage_errors("the registry"):
            used = HasWriter(used=quote(self._root))
            opened.enter_context(hold_lock(self._root / WRITE_LOCK, used))
            settings = self._registry.settings
            self._replayer = Replayer(
                self._root,
                self._registry.store.open_journal(self._root),
                self._registry.bytes,
                segment_bytes=settings.segment_bytes,
                now=self._now(),
                delete_indexes=self._registry.delete_indexes,
                accepted={one.chain: one.rule for one in self.origin.accepted},
                find_closed=HandOvers(self._registry).find_closed,
            )
            opened.callback(self._replayer.close)
            opened.callback(self._client.close)
            opened.callback(self._ahead.close)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def interrupt(self) -> None:
        """End a request that waits, from a handler of signals."""
        self._client.interrupt()
        self._ahead.interrupt()

    def _now(self) -> str:
        return format_timestamp(self._registry.clock())

    # Steps
    # -----

    def catch_up(self) -> Iterator[FollowedPage]:
        """Replay all changes that the origin has. Iterate to the end.

        Raises OriginUnusable, OriginAlters, OriginContradicts, StorageFailed, Unavailable.
        """
        while (done := self.follow_once(wait=0)).replayed:
            yield done
        yield done

    def follow(self, is_wanted: Callable[[], bool], *, pause: Callable[[float], None]) -> None:
        """Follow the origin as long as it is wanted, whether it can be reached or not.

        Raises OriginContradicts, StorageFailed, Unavailable.
        """
        failures = 0
        while is_wanted():
            try:
                self.follow_once(wait=WAIT)
                failures = 0
            except (OriginUnusable, OriginAlters):
                if not is_wanted():
                    return
                pause(_PAUSES[min(failures, len(_PAUSES) - 1)])
                failures += 1

    def follow_once(self, *, wait: int) -> FollowedPage:
        """Replay one page of changes; wait up to `wait` seconds for the first one.

        Raises OriginUnusable, OriginAlters, OriginContradicts, StorageFailed, Unavailable.
        """
        self._check_stopped()
        head = self._replayer.head
        mark = head.mark if head else None
        try:
            page = self._ahead.end_changes(mark) or self._client.fetch_changes(
                mark, limit=PAGE, wait=wait
            )
            is_full = len(page.changes) == PAGE
            if mark is not None and is_full:
                self._ahead.begin_changes(page.changes[-1].change.mark, have=mark, limit=PAGE)
            self._foresight.foresee(page.changes, is_full=is_full)
            self._replay(page.changes)
        except OriginForgets:
            self._stop(self._find_fork(head))
        except (OriginUnusable, OriginAlters) as error:
            self._note(verdict="unreachable", fault=error.reason, is_urgent=True)
            raise
        except BrokenRule as broken:
            self._stop(self._describe_breach(broken, head))
        if not page.changes:
            self._keep_up()
        reached = self._replayer.head
        now = time.time()
        is_even = reached is not None and page.head is not None and page.head <= reached.mark
        self._note(
            verdict="following",
            fault="",
            origin_head=str(page.head) if page.head else self.state.origin_head,
            asked=now,
            caught_up=now if is_even or not page.changes else self.state.caught_up,
            is_urgent=is_even or not page.changes,
        )
        return FollowedPage(
            at=reached.mark if reached else None,
            replayed=len(page.changes),
            behind=count_behind(page.head, reached),
        )

    def _replay(self, page: Sequence[MirroredChange]) -> None:
        for mirrored in page:
            self._check_scope(mirrored)
        for some in self._split_page(page):
            sought = dict.fromkeys(self._list_sought(some))
            contents = self._fetch_contents(list(sought))
            self._replayer.replay_page(some, contents, self._now())

    def _check_scope(self, mirrored: MirroredChange) -> None:
        """Check that the origin withholds nothing that this mirror was promised."""
        change = mirrored.change
        if mirrored.is_whole or change.leaf is not None or change.act in (TOKEN, RULE):
            return
        if self.origin.is_whole and not self._is_accepted(mirrored):
            fault = "it was withheld, although this is a mirror of everything"
            raise BrokenRule(replaying.MISSING, fault, change=change)

    def _is_accepted(self, mirrored: MirroredChange) -> bool:
        chain = mirrored.change.chain.hex()
        return any(one.chain == chain for one in self.origin.accepted)

    def _split_page(self, page: Sequence[MirroredChange]) -> Iterator[list[MirroredChange]]:
        """Split a page so that the bytes of each batch have a bound."""
        some: list[MirroredChange] = []
        length = 0
        for mirrored in page:
            own = sum(one.length for one in self._list_sought((mirrored,)))
            if some and length + own > _MOST_BYTES:
                yield some
                some, length = [], 0
            some.append(mirrored)
            length += own
            if mirrored.change.act == _DELEGATE:  # the next change is judged with it
                yield some
                some, length = [], 0
        if some:
            yield some

    def _list_sought(self, page: Sequence[MirroredChange]) -> Iterator[SoughtContent]:
        try:
            yield from self._replayer.list_sought(page)
        except (msgspec.DecodeError, TypeError, ValueError) as error:
            fault = f"a record cannot be read: {error}"
            raise BrokenRule(replaying.UNREADABLE, fault, change=page[0].change) from error

    # Bytes
    # -----

    def _fetch_contents(self, sought: list[SoughtContent]) -> dict[SoughtContent, Content]:
        """Fetch bytes from the origin, or else from other mirrors.

        What no one has is left out: a later change withdraws it, or a comparison repairs it. Raises
        OriginUnusable, or OriginAlters if bytes are wrong everywhere.
        """
        found: dict[SoughtContent, Content] = {}
        missing: dict[SoughtContent, str] = {}
        if not sought:
            return found
        incoming = self._root / INCOMING
        for one, content in self._client.fetch_contents(sought, incoming):
            if isinstance(content, str):
                missing[one] = content
            else:
                found[one] = content
        for url in self.origin.sources:
            wanted = [one for one, why in missing.items() if why not in _GONE]
            if not wanted:
                break
            self._fetch_elsewhere(url, wanted, found)
            for one in found:
                missing.pop(one, None)
        for one, why in missing.items():
            if why == "wrong":
                raise OriginAlters(url=self.origin.url, sha512=one.sha512)
        left = self.state.missing + sum(why not in _GONE for why in missing.values())
        self.state = msgspec.structs.replace(self.state, missing=left)
        return found

    def _keep_up(self) -> None:
        """Forget foreseen rules, seal complete segments, fetch bytes that were missing."""
        self._foresight.forget()
        now = time.monotonic()
        if now < self._next_upkeep:
            return
        self._next_upkeep = now + _UPKEEP_EVERY
        for number in self._replayer.list_sealable(self._now()):
            self._registry.bytes.seal(number, self._now())
        if self.state.missing:
            self.state = msgspec.structs.replace(self.state, missing=0)
            sought = (one for one, held in list_served(self._registry) if held.segment == NOWHERE)
            while some := list(islice(sought, PAGE)):
                self._replayer.place_missing(self._fetch_contents(some), self._now())

    def _fetch_elsewhere(
        self, url: str, wanted: list[SoughtContent], found: dict[SoughtContent, Content]
    ) -> None:
        """Fetch bytes from another mirror, as every reader can: it gets no secret."""
        client = RegistryClient(url)
        try:
            for one in wanted:
                content = client.fetch_published(one, self._root / INCOMING)
                if not isinstance(content, str):
                    found[one] = content
        except OriginUnusable:
            return
        finally:
            client.close()

    # Stopping
    # --------

    def _check_stopped(self) -> None:
        found = self.state.contradiction
        if found is not None:
            raise OriginContradicts(
                identifier=f"change {found.mark}",
                origin=self.origin.url,
                mark=found.mark,
                fault=found.fault,
            )

    def _stop(self, found: Contradiction) -> None:
        """Keep the evidence, and raise OriginContradicts."""
        found = msgspec.structs.replace(found, at=self._now())
        self._note(verdict="stopped", fault="", contradiction=found, is_urgent=True)
        self._check_stopped()

    def _describe_breach(self, broken: BrokenRule, head: ChainHead | None) -> Contradiction:
        change = broken.change
        mirrored = MirroredChange(change=change) if change is not None else None
        last = read_change(self._registry.records, head.mark) if head else None
        if broken.rule == replaying.CHAIN and head is not None:
            return self._find_fork(head)
        return Contradiction(
            rule=broken.rule,
            fault=broken.fault,
            mark=str(change.mark) if change is not None else "0.0",
            ours=show_row(last) if last else None,
            theirs=show_row(mirrored) if mirrored else None,
        )

    def _find_fork(self, head: ChainHead | None) -> Contradiction:
        """Find the first change that differs in the origin. Raises OriginUnusable."""
        records = self._registry.records
        known = KnownMarks(records, head)
        common = count_common(records, known, self._client.fetch_change)
        mark = known[common] if common < len(known) else ChangeMark(0, 0)
        ours = read_change(records, mark)
        theirs = self._client.fetch_change(mark)
        gone = "it no longer has this change" if theirs is None else "it has another change there"
        return Contradiction(
            rule=replaying.FORK,
            fault=f"the past was rewritten from change {mark} on: {gone}",
            mark=str(mark),
            ours=show_row(ours) if ours else None,
            theirs=show_row(theirs) if theirs else None,
        )

    def _note(self, *, is_urgent: bool, **fields: object) -> None:
        """Save the state, at most once a second unless it is urgent."""
        now = time.monotonic()
        changed = msgspec.structs.replace(self.state, at=self._now(), **fields)
        is_new = changed.verdict != self.state.verdict
        self.state = changed
        if is_new or is_urgent or now - self._saved >= _SAVE_EVERY:
            self._saved = now
            save_state(self._root, changed, durably=changed.contradiction is not None)


def may_follow(root: Path) -> bool:
    """Return False if a process follows the origin already, or if the mirror has stopped."""
    if (state := load_state(root)) is not None and state.contradiction is not None:
        return False
    try:
        with hold_lock(root / WRITE_LOCK, HasWriter(used=quote(root))):
            return True
    except HasWriter:
        return False


_GONE = frozenset(("withdrawn", "erased", "forbidden"))
"""Reasons for which no one may have the bytes."""
