"""The objects that every handler needs: the registry, and the counters of answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.errors.quotas import MintsUsedUp
from perdure.extractors.port import Part, Source
from perdure.fetching.streaming import StreamingFetcher
from perdure.ids import Identifier
from perdure.model.commands import Command, Receipt, Withdraw
from perdure.model.queries import Reader
from perdure.model.records import Record
from perdure.model.verdicts import CitationReport
from perdure.parts import Selector
from perdure.reading.extraction import PartExtraction
from perdure.reading.listing import Listings
from perdure.reading.resolve import ReadDoor
from perdure.reading.resolved import Resolved
from perdure.registry import Registry
from perdure.server.common.bearers import Bearers
from perdure.server.common.change_watch import ChangeWatch
from perdure.server.common.desk_sessions import DeskSessions
from perdure.server.common.indexes import ReaderIndexes
from perdure.server.common.left_records import LeftRecords
from perdure.server.common.metrics import Metrics
from perdure.server.common.passwords import Passwords
from perdure.server.common.proxy_cache import ProxyCache, make_proxy_cache
from perdure.server.common.queues import QueueBounds, WorkQueues
from perdure.server.common.sessions import Sessions
from perdure.server.common.traffic import Traffic
from perdure.server.protocol.limits import ClientLimits
from perdure.settings import Settings
from perdure.storage.mirror_marks import MirrorMarks
from perdure.upkeep.linkcheck.health import Health
from perdure.upkeep.searching.text_index import Selection
from perdure.upkeep.searching.updating import Search, Searching
from perdure.upkeep.withdrawing import QuotingDocuments, find_quoting, report_quoting

_Read = TypeVar("_Read")
AT_ONCE = 2  # captures
_MOST_COUNTED = 10_000  # parts


@dataclass(frozen=True, slots=True)
class Service:
    """One worker's view of the registry."""

    registry: Registry
    bearers: Bearers
    metrics: Metrics
    traffic: Traffic = field(default_factory=Traffic)
    """The requests of the last day."""
    passwords: Passwords = field(default_factory=Passwords)
    health: Health = field(default_factory=Health)
    limits: ClientLimits = field(default_factory=ClientLimits)
    left: LeftRecords = field(default_factory=LeftRecords)
    """The records that the fast path has read for requests that it left."""
    is_mirror: bool = False
    """True if the registry was a mirror when the worker started."""
    capturing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    """Held while a page is captured."""
    counted: dict[bytes, int] = field(default_factory=dict)
    """The lengths of parts that are generated while they are sent, by their entity tags."""
    searching: Searching = field(init=False)
    """Searches the registry."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server stops: requests that wait for others are answered at once."""
    search_wanted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when someone searches, so that the index is made at once."""
    desk_sessions: DeskSessions = field(init=False)
    sessions: Sessions = field(init=False)
    mirror_marks: MirrorMarks = field(init=False)
    """The last change that each mirror has."""
    change_watch: ChangeWatch = field(init=False)
    """Wakes requests that wait for the next change."""
    queues: WorkQueues = field(init=False)
    """Do the work that is not done in the event loop, in turns of the clients."""
    _indexes: list[ReaderIndexes] = field(default_factory=list)
    _relays: list[StreamingFetcher] = field(default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "searching", Searching(self.registry))  # frozen for all others
        object.__setattr__(self, "sessions", Sessions(self.registry.root))
        clock = self.registry.clock
        desk_sessions = DeskSessions(self.registry.root, lambda: clock().timestamp())
        object.__setattr__(self, "desk_sessions", desk_sessions)
        object.__setattr__(self, "mirror_marks", MirrorMarks(self.registry.root))
        bounds = QueueBounds(self.settings.waiting_per_address, self.settings.waiting_requests)
        object.__setattr__(self, "queues", WorkQueues(bounds))
        object.__setattr__(self, "change_watch", ChangeWatch(self.count_changes, self.stopping))

    @property
    def settings(self) -> Settings:
        return self.registry.settings

    @property
    def listings(self) -> Listings:
        return self.registry.listings

    @property
    def reading(self) -> ReadDoor:
        return self.registry.reading

    @property
    def indexes(self) -> ReaderIndexes:
        """The indexes of followers, for the thread that asks."""
        if not self._indexes:
            self._indexes.append(ReaderIndexes(self.registry))
        return self._indexes[0]

    @property
    def relay(self) -> StreamingFetcher:
        """Asks other resolvers for readers."""
        if not self._relays:
            about = f" (+{self.settings.base_url})" if self.settings.base_url else ""
            self._relays.append(
                StreamingFetcher(
                    user_agent=f"perdure/{version('perdure')}{about}",
                    networks=self.settings.private_networks,
                )
            )
        return self._relays[0]

    @property
    def proxy_cache(self) -> ProxyCache:
        """The documents of other resolvers that are kept."""
        return make_proxy_cache(self.registry.root, self.settings)

    def count_changes(self) -> int:
        """Return a number that grows with every change."""
        return self.bearers.change_count

    def find_record(self, identifier: Identifier) -> Record | None:
        """The stored record of a name, or of a name that is equal to it, which a write changes.

        Readers may not see all of it: to answer them, ask `reading.resolve`
        (`tools/check_reads.py` holds this).
        """
        return self.registry.listings.find_record(identifier)

    async def submit_command(self, command: Command, bearer: str) -> Receipt:
        """Hand in a command of a client, with the name of its token.

        Every write over HTTP comes here, except the plain uploads of `perdure.server.fast.mint`.
        Raises the error of the command.
        """
        quoting = None
        if isinstance(command, Withdraw):
            quoting = await self.find_quoting(command, bearer)
        try:
            receipt = await self.registry.door.submit_command(replace(command, bearer=bearer))
        except MintsUsedUp as error:
            self.note_refusal(error)
            raise
        if quoting is None or not quoting.is_known:
            return receipt
        reported: Receipt = await self.run_cutter(report_quoting, self.registry, receipt, quoting)
        return reported

    async def find_quoting(self, command: Withdraw, bearer: str) -> QuotingDocuments:
        """Return the documents that have passages of what a client would withdraw."""
        try:
            token = self.bearers.find_named(bearer)
            chain = () if token is None else tuple(self.bearers.trace_chain(token))
            reader = Reader(name=bearer, tokens=chain)
            found: QuotingDocuments = await self.find_quotations(
                find_quoting, self.registry, command, reader
            )
        except PerdureError as error:  # the queue is full, for example
            return QuotingDocuments(unsearched=str(error))
        return found

    def note_refusal(self, error: PerdureError) -> None:
        """Count an error, and remember it for as long as it lasts, if a token has no share left."""
        if isinstance(error, MintsUsedUp):
            self.limits.note_refusal(error.token, error.wait)

    async def run_cutter(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Cut or hash in a thread that does no other work, and return the result."""
        return await self.queues.cutting.run(work, *arguments)

    async def read_list(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Read or write a list of many records in a thread that does nothing else.

        A list may take seconds. In these few threads, lists delay other lists, but no document, no
        part and little of what the event loop answers.
        """
        return await self.queues.listing.run(work, *arguments)

    async def cut_part(
        self, work: Callable[[Source, Selector], Part], source: Source, selector: Selector
    ) -> Part:
        """Run `extract` or `outline` in a turn of the extractor's own queue.

        A part that is generated while it is sent keeps the turn, because it keeps a decoder.
        """
        place = self.registry.parts.find_place(source, selector)
        if not place:
            found: Part = await self.run_cutter(work, source, selector)
            return found
        return await self.queues.find_queue(place).cut_part(work, source, selector)

    async def read_text(
        self,
        work: Callable[[PartExtraction, Source, Selector | None], _Read],
        source: Source,
        selector: Selector | None,
    ) -> _Read:
        """Do work with a text in a turn of the queue of the extractor that reads or cuts it."""
        parts = self.registry.parts
        place = parts.find_place(source, selector) if selector else parts.find_text_place(source)
        found: _Read = await self.queues.find_queue(place).run(work, parts, source, selector)
        return found

    async def search(
        self, selection: Selection, reader: Reader, before: int | None, limit: int
    ) -> Search:
        """Search in a queue of its own, because the documents that are found are read."""
        self.search_wanted.set()
        work = partial(self.searching.search, selection, reader, before=before, limit=limit)
        found: Search = await self.queues.searching.run(work)
        return found

    async def check_citation(self, resolved: Resolved) -> CitationReport:
        """Check a citation in a queue of its own, because documents are decoded for it."""
        check = self.registry.citations.check_resolved
        report: CitationReport = await self.queues.citing.run(check, resolved)
        return report

    async def find_quotations(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Search for quotations in a queue of its own, because documents are read for it."""
        return await self.queues.quoting.run(work, *arguments)

    def remember_length(self, tag: bytes, length: int) -> None:
        """Remember the length of a part. It never changes: the tag identifies the bytes."""
        if len(self.counted) >= _MOST_COUNTED:
            self.counted.clear()
        self.counted[tag] = length

    async def read_chunk(self, chunks: Iterator[bytes]) -> bytes:
        """Return the next chunk of a body that is generated while it is sent; empty at its end."""
        chunk: bytes = await self.queues.sending.run(next, filter(None, chunks), b"")
        return chunk

    def serves_captures(self) -> bool:
        """Return True if everyone may read the captures of this registry."""
        return self.registry.has_open_captures

    def knows_series(self, pattern: Identifier) -> bool:
        """Return True if a series is minted here, or has identifiers here."""
        return self.listings.is_resolved(pattern)
