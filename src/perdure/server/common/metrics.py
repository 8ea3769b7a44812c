"""Counters that Prometheus fetches at `/metrics`.

How it works: one `Metrics` for each worker. Several workers write their counts to mapped files in
the directory that `PROMETHEUS_MULTIPROC_DIR` names (`perdure.server.serve` sets it before this
module is imported), and the worker that is asked adds up all files. Answers of the fast path are
counted in plain integers; `gather_counts` adds them once a second and before they are shown.

What must stay true: labels come from closed sets, never from a request.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from perdure.model.commands import Outcome
from perdure.server.common.traffic import TrafficNote
from perdure.server.protocol.limits import ClientLimits

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_METHODS = frozenset(("GET", "HEAD", "PUT", "POST", "OPTIONS", "TRACE", "DELETE"))
_DELAYS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
FIGURES = {
    "perdure_names": "Number of names, as far as their changes are counted",
    "perdure_names_uncounted_changes": "Number of changes whose names are not counted yet",
    "perdure_held_bytes": "Length of all segments of the registry",
    "perdure_segments": "Number of segments of the registry",
    "perdure_disk_free_bytes": "Free space on the file system of the registry",
    "perdure_disk_size_bytes": "Size of the file system of the registry",
    "perdure_epoch": "Number of the epoch of changes",
    "perdure_is_copy": "1 if this directory is a copy of a registry, which writes nothing",
    "perdure_last_backup_seconds": "When the last backup ended, in seconds since 1970",
    "perdure_last_verification_seconds": "When the last verification ended, in seconds since 1970",
    "perdure_last_verification_problems": "Number of problems that the last verification found",
    "perdure_mirror_stopped": "1 if this mirror has stopped at a contradiction of its origin",
    "perdure_mirror_behind_changes": "Number of changes that the origin of this mirror has more",
    "perdure_mirror_lag_seconds": "Seconds since this mirror last had all changes of its origin",
}
"""Gauges of the registry, with their descriptions. Those of names are absent while they cannot be
counted, those of backups and verifications before the first, those of mirrors elsewhere."""


class FastCounts(Protocol):
    """The plain integers in which `perdure.server.fast.path` counts."""

    redirects: int
    bodies: int
    sent: int


class QueueCounts(Protocol):
    """The plain integers in which a queue of `perdure.server.common.queues` counts."""

    name: str
    waiting: int
    dropped: int
    refused_per_address: int
    refused_in_all: int


class FastWriteCounts:
    """The plain integers in which `perdure.server.fast.writes` counts."""

    def __init__(self) -> None:
        self.minted = 0
        """Documents minted since this was set to 0."""
        self.received = 0
        """Bytes of uploads since then."""
        self.assigned = 0
        """Writes to handles through their API since then."""
        self.operated = 0
        """Operations on identifiers since then."""


class Metrics:
    """The counters of one worker."""

    def __init__(self, limits: ClientLimits | None = None) -> None:
        self._limits = limits
        self._fast_path: FastCounts | None = None
        self.fast_writes = FastWriteCounts()
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "perdure_requests",
            "Requests answered through ASGI",
            ("method", "status"),
            registry=self._registry,
        )
        self._fast = Counter(
            "perdure_fast_answers",
            "Requests answered without ASGI, by kind of answer",
            ("kind",),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "perdure_request_seconds",
            "Time until an answer through ASGI is complete",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._delay = Histogram(
            "perdure_loop_delay_seconds",
            "How late the worker served a timer; an answer without ASGI waits as long",
            buckets=_DELAYS,
            registry=self._registry,
        )
        self._sent = Counter("perdure_sent_bytes", "Bytes of bodies sent", registry=self._registry)
        self._received = Counter(
            "perdure_received_bytes", "Bytes of uploads received", registry=self._registry
        )
        self._writes = Counter(
            "perdure_writes",
            "Writes made durable",
            ("operation", "outcome"),
            registry=self._registry,
        )
        self._broken = Gauge(
            "perdure_write_door_broken",
            "1 if a flush failed and no write is accepted until a restart",
            registry=self._registry,
            multiprocess_mode="livemax",
        )
        self._refused = Counter(
            "perdure_limited_requests",
            "Requests refused because a client had used its share, or a queue was full",
            ("limit",),
            registry=self._registry,
        )
        self._make_queue_counters()
        # children of the above: looking one up costs more than counting
        self._pairs: dict[tuple[str, int], Counter] = {}
        self._done: dict[tuple[str, Outcome], int] = {}
        """Writes since the counters were last gathered, by operation and outcome."""

    def _make_queue_counters(self) -> None:
        self._queues: Iterable[QueueCounts] = ()
        self._waiting = Gauge(
            "perdure_waiting_requests",
            "Requests that wait for a turn, by kind of work",
            ("queue",),
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self._dropped = Counter(
            "perdure_dropped_requests",
            "Requests that were dropped because their client left while they waited",
            ("queue",),
            registry=self._registry,
        )

    def count_answer(self, method: str, status: int, seconds: float, sent: int) -> None:
        """Count a request that was answered through ASGI."""
        self._count_request(method, status)
        self._seconds.observe(seconds)
        if sent:
            self._sent.inc(sent)

    def note_delay(self, seconds: float) -> None:
        """Note how late a timer was served: to measure each fast answer would slow it down."""
        self._delay.observe(max(seconds, 0.0))

    def watch_fast_path(self, fast_path: FastCounts) -> None:
        """Set the counters of redirects and bytes without ASGI."""
        self._fast_path = fast_path

    def watch_queues(self, queues: Iterable[QueueCounts]) -> None:
        """Set the counters of requests that wait."""
        self._queues = queues

    def gather_counts(self) -> None:
        """Add the answers without ASGI since the last call. Call it only on the event loop."""
        if self._limits is not None:
            for name in ("requests", "bytes"):
                meter = getattr(self._limits, name)
                self._refused.labels(name).inc(meter.refused)
                meter.refused = 0
            self._refused.labels("mints").inc(self._limits.mints_refused)
            self._limits.mints_refused = 0
        fast = self._fast_path
        if fast is not None:
            self._fast.labels("redirect").inc(fast.redirects)
            self._fast.labels("bytes").inc(fast.bodies)
            self._sent.inc(fast.sent)
            fast.redirects = fast.bodies = fast.sent = 0
        self._gather_writes()
        for queue in self._queues:
            self._gather_queue(queue)

    def _gather_queue(self, queue: QueueCounts) -> None:
        self._waiting.labels(queue.name).set(queue.waiting)
        self._dropped.labels(queue.name).inc(queue.dropped)
        self._refused.labels("waiting").inc(queue.refused_per_address)
        self._refused.labels("queue").inc(queue.refused_in_all)
        queue.dropped = queue.refused_per_address = queue.refused_in_all = 0

    def _gather_writes(self) -> None:
        writes = self.fast_writes
        if writes.minted:
            self._fast.labels("mint").inc(writes.minted)
            self._writes.labels("mint", Outcome.CREATED.value).inc(writes.minted)
            self._received.inc(writes.received)
        if writes.assigned:
            self._fast.labels("assign").inc(writes.assigned)
        if writes.operated:
            self._fast.labels("operation").inc(writes.operated)
        writes.minted = writes.received = writes.assigned = writes.operated = 0
        for (operation, outcome), count in self._done.items():
            self._writes.labels(operation, outcome.value).inc(count)
        self._done.clear()

    def _count_request(self, method: str, status: int) -> None:
        pair = (method if method in _METHODS else "other", status)
        counter = self._pairs.get(pair)
        if counter is None:
            counter = self._pairs[pair] = self._requests.labels(pair[0], str(status))
        counter.inc()

    def count_upload(self, length: int) -> None:
        """Count the bytes of an upload."""
        self._received.inc(length)

    def count_write(self, operation: str, outcome: Outcome) -> None:
        """Count a write that was made durable."""
        pair = (operation, outcome)
        self._done[pair] = self._done.get(pair, 0) + 1

    def set_door_state(self, *, broken: bool) -> None:
        """Set the state of the write door, as far as this worker knows."""
        self._broken.set(broken)

    def write_exposition(self, figures: Mapping[str, float]) -> bytes:
        """Write the counters of all workers, and the figures of the registry by their names in
        `FIGURES`, in the text format of Prometheus.
        """
        return self._write_counters() + _write_figures(figures)

    def read_traffic(self, at: float) -> TrafficNote:
        """Read the counters of requests of all workers. `at` is the time in seconds since 1970."""
        slow = fast = failed = 0
        within: dict[float, int] = {}
        for family in self._open_counters().collect():
            for one in family.samples:
                if one.name == "perdure_requests_total":
                    slow += int(one.value)
                    failed += int(one.value) if one.labels["status"].startswith("5") else 0
                elif one.name == "perdure_fast_answers_total":
                    fast += int(one.value)
                elif one.name == "perdure_request_seconds_bucket":
                    within[float(one.labels["le"])] = int(one.value)
        bounds = (*_SECONDS, math.inf)
        reached = [within.get(one, 0) for one in bounds]
        counts = tuple(b - a for a, b in pairwise((0, *reached)))
        return TrafficNote(at, slow, fast, failed, counts, bounds)

    def _write_counters(self) -> bytes:
        return generate_latest(self._open_counters())

    def _open_counters(self) -> CollectorRegistry:
        """Return the counters of this worker, or of all workers if there are several."""
        if DIRECTORY not in os.environ:
            return self._registry
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]  # it has no types
        return together


def _write_figures(figures: Mapping[str, float]) -> bytes:
    """Write gauges that are the same in all workers."""
    registry = CollectorRegistry()
    registry.register(_Figures(figures))
    return generate_latest(registry)


class _Figures(Collector):
    """Gauges of one scrape; a `Gauge` would write them to the files that workers share."""

    def __init__(self, figures: Mapping[str, float]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, value in self._figures.items():
            yield GaugeMetricFamily(name, FIGURES[name], value=value)
