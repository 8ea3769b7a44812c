"""`perdure serve`: worker processes that answer HTTP over one registry directory.

How it works: uvicorn runs the processes. A single worker runs in this process; several workers are
separate processes that share the listening socket and are replaced when they die. Each opens the
registry for itself; the write door decides which of them writes. Once a minute, the one that writes
seals complete segments.

What must stay true: on SIGTERM or SIGINT a worker accepts no more connections, finishes the
requests under way (those that exceed the time limit are answered 503), and only then closes the
door; a worker that cannot start logs the reason and stops the server. A worker ends with the
process that started it, however that ended, and no other process has their listening socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from socket import socket
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from perdure.errors import PerdureError
from perdure.errors.configuring import AddressUnusable
from perdure.formats import find_media_type
from perdure.parts.installed import load_syntaxes
from perdure.registry import Registry
from perdure.server.application import Application
from perdure.server.common import logs
from perdure.server.common.bearers import Bearers
from perdure.server.common.cold_reads import CHECK_EVERY, ColdReads
from perdure.server.common.left_records import LeftRecords
from perdure.server.common.metrics import DIRECTORY, Metrics
from perdure.server.common.service import Service
from perdure.server.common.traffic import EVERY as TRAFFIC_EVERY
from perdure.server.fast.path import FastPath
from perdure.server.fast.taskless import TasklessWrites
from perdure.server.fast.writes import FastWrites
from perdure.server.native.listening import may_listen
from perdure.server.pages import load_templates
from perdure.server.protocol.asgi import Receive, Scope, Send
from perdure.server.protocol.http import make_protocol_class
from perdure.server.protocol.limits import ClientLimits
from perdure.server.protocol.sendfile import offer_sender
from perdure.server.resource.metadata import list_types
from perdure.settings import Settings
from perdure.upkeep import indexing
from perdure.upkeep.children import run_command
from perdure.upkeep.forgetting import forget_withdrawn
from perdure.upkeep.helpers import count_cores
from perdure.upkeep.linkcheck import scheduling
from perdure.upkeep.linkcheck.health import Health
from perdure.upkeep.mirroring.following import may_follow
from perdure.upkeep.mirroring.meeting import list_relatives, meet_relatives
from perdure.upkeep.searching.updating import is_followed
from perdure.upkeep.webhooks.delivering import may_deliver

GRACE = 30  # seconds
_MOST_WORKERS = 8  # by default: each takes some 50 MB of memory
_SILENT = 30  # seconds without a sign after which a worker is replaced; on a busy machine, one
# needs more than the 5 seconds of uvicorn to start, and would be replaced again and again
_SWITCH = 0.0005  # seconds that the event loop waits for a busy thread; Python's default is 0.005
_MANY_VALUES = 10_000  # until reference cycles are searched for, which interrupts all requests
_SEAL_EVERY = 60  # seconds
_COUNT_EVERY = 1  # seconds
_FIRST_CHECK = 60  # seconds
_FIRST_INDEX = 20  # seconds, unless someone searches before
_INDEX_AGAIN = 10  # seconds until the process that keeps the index is replaced
_MEET_EVERY = 20  # seconds
_FOLLOW_AGAIN = 2  # seconds until the process that follows the origin is replaced
_DELIVER_AGAIN = 2  # seconds until it is seen that there are webhooks, or their process is replaced
_LISTEN_AGAIN = 2  # seconds until the process that answers the Handle protocol is replaced
_MOVED_AGAIN = 1  # seconds until it is seen that the registry was moved
_CHECKS_PER_TERM = 0.1  # of the hours until a location is due: each run checks only those due


def _load_tables() -> None:
    """Load packages and templates, for which the first clients would wait otherwise."""
    import_module("perdure.writing.peers")  # the first write would wait 13 ms for it
    load_syntaxes()
    list_types()
    load_templates()
    find_media_type("text")


def _try_opening(root: Path) -> None:
    """Open a registry as the next worker will. Raises BadSettings, Unavailable or OSError."""
    with Registry(root) as registry, registry.records.open_counter():
        registry.records.find_head()


class Worker:
    """The ASGI application of one process, with the objects that live as long as the process."""

    def __init__(self, root: Path) -> None:
        self.end_moved: Callable[[], None] = partial(os.kill, os.getpid(), signal.SIGTERM)
        """Ends this worker as a signal does; it is started again."""
        self._registry = Registry(root)
        forget_withdrawn(self._registry)
        self._registry.parts.check_extractors()
        self._generation = self._registry.records.open_counter()
        self._registry.delegations.watch_revisions(lambda: self._generation.revision_count)
        bearers = Bearers(self._registry.records, self._generation)
        health = Health(root)
        settings = self._registry.settings
        self.limits = ClientLimits(
            requests_per_minute=settings.requests_per_minute,
            bytes_per_minute=settings.bytes_per_minute,
            trusted_proxies=settings.trusted_proxies,
        )
        self._cold = ColdReads(self._registry.records, self._registry.reading)
        self._service = Service(
            self._registry,
            bearers,
            Metrics(self.limits),
            health=health,
            limits=self.limits,
            left=LeftRecords(self._generation.counts),
            is_mirror=bool(self._registry.fence.find_origin()),
        )
        writes = TasklessWrites(self._service, self._cold)
        self._application = Application(self._service, self._cold, writes)
        left = self._service.left
        self.fast = FastPath(self._registry, self._generation, health, self._cold, left)
        self.fast.drop_outdated()
        self.fast_write = FastWrites(self._service, writes)
        self.end_waits = self._service.stopping.set
        self._service.metrics.watch_fast_path(self.fast)
        self._service.metrics.watch_queues(self._service.queues)

    @property
    def settings(self) -> Settings:
        return self._registry.settings

    async def __call__(self, scope: Scope, receive: Receive, to: Send) -> None:
        if scope["type"] == "http":
            await self._application(scope, receive, to)
        elif scope["type"] == "lifespan":
            await self._serve_lifespan(receive, to)

    async def _serve_lifespan(self, receive: Receive, to: Send) -> None:
        tasks: list[asyncio.Task[None]] = []
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                tasks += [
                    asyncio.create_task(self._gather_counts()),
                    asyncio.create_task(self._note_traffic()),
                    asyncio.create_task(self._check_waits()),
                    asyncio.create_task(self._seal_segments()),
                    asyncio.create_task(self._deliver_webhooks()),
                    asyncio.create_task(self._watch_place()),
                ]
                if self._registry.settings.search == "on":
                    tasks.append(asyncio.create_task(self._follow_searches()))
                if self._service.is_mirror:
                    tasks.append(asyncio.create_task(self._follow_origin()))
                else:
                    tasks.append(asyncio.create_task(self._meet_relatives()))
                if self._registry.settings.handle_port:
                    tasks.append(asyncio.create_task(self._answer_native_handles()))
                if self._registry.settings.index_seconds:
                    tasks.append(asyncio.create_task(self._update_indexes()))
                if self._registry.settings.check_links_hours:
                    tasks.append(asyncio.create_task(self._check_links()))
                self._end_with_supervisor()
                _load_tables()
                self._load_rules()
                sys.setswitchinterval(_SWITCH)
                # These objects stay: the garbage collector need not scan them again.
                gc.collect()
                gc.freeze()
                gc.set_threshold(_MANY_VALUES)
                await to({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                for task in tasks:
                    task.cancel()
                logs.report_stopped()
                await asyncio.gather(*tasks, return_exceptions=True)  # their processes have ended
                if self.fast.turns is not None:
                    self.fast.turns.close()
                await asyncio.to_thread(self._cold.close)
                await asyncio.to_thread(self._registry.close)
                self._generation.close()
                await to({"type": "lifespan.shutdown.complete"})
                return

    def _end_with_supervisor(self) -> None:
        """Stop this worker as by SIGTERM as soon as the process that started it has ended."""
        supervisor = multiprocessing.parent_process()
        if supervisor is None:
            return
        loop = asyncio.get_running_loop()

        def stop() -> None:
            loop.remove_reader(supervisor.sentinel)
            logs.get_log().error("the supervisor has ended")
            os.kill(os.getpid(), signal.SIGTERM)

        loop.add_reader(supervisor.sentinel, stop)

    def _load_rules(self) -> None:
        """Read the reading rules about scopes, which may be many, before there are requests."""
        with contextlib.suppress(PerdureError):  # the requests report it: they read the rules again
            self._registry.reading.rules.refresh()

    async def _gather_counts(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _COUNT_EVERY
            await asyncio.sleep(_COUNT_EVERY)
            self._service.metrics.note_delay(loop.time() - due)
            self._service.metrics.gather_counts()
            self.fast.drop_outdated()

    async def _note_traffic(self) -> None:
        while True:
            note = await asyncio.to_thread(self._service.metrics.read_traffic, time.time())
            self._service.traffic.take_note(note)
            await asyncio.sleep(TRAFFIC_EVERY)

    async def _check_waits(self) -> None:
        while True:
            self._cold.check_waits()
            await asyncio.sleep(CHECK_EVERY)

    async def _watch_place(self) -> None:
        """End this worker in good order if the registry was moved: the next one opens it there.

        If it could not (the key of a bucket is not in its environment, say), nothing ends.
        """
        is_there, problem = False, ""
        while not is_there:
            await asyncio.sleep(_MOVED_AGAIN)
            if self._registry.find_move():
                try:
                    await asyncio.to_thread(_try_opening, self._registry.root)
                    is_there = True
                except (OSError, PerdureError) as error:
                    if problem != str(error):
                        problem = str(error)
                        logs.get_log().error("moved, and not opened there", detail=problem)
        logs.get_log().info("moved", detail="starting again in the new place")
        self.end_moved()

    async def _seal_segments(self) -> None:
        log = logs.get_log()
        while True:
            await asyncio.sleep(_SEAL_EVERY)
            try:
                if sealed := await asyncio.to_thread(self._registry.seal):
                    log.info("sealed", segments=sealed)
                await asyncio.to_thread(self._registry.bytes.forget_erased)
            except (OSError, PerdureError) as error:  # the next attempt is in a minute
                log.error("not sealed", detail=str(error))  # noqa: TRY400  (expected: no traceback)

    async def _follow_searches(self) -> None:
        """Keep the index of words up to date, in a process of its own, beside other workers."""
        root = self._registry.root
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._service.search_wanted.wait(), _FIRST_INDEX)
        while True:
            if not await asyncio.to_thread(is_followed, root) and (
                problem := await run_command(root, "search", "--follow")
            ):
                logs.get_log().error("index of words not made", detail=problem)
            await asyncio.sleep(_INDEX_AGAIN)

    async def _deliver_webhooks(self) -> None:
        """Notify webhooks of changes, in a process of its own, beside other workers."""
        root = self._registry.root
        while True:
            if await asyncio.to_thread(may_deliver, root) and (
                problem := await run_command(root, "webhooks", "run")
            ):
                logs.get_log().error("webhooks", detail=problem)
            await asyncio.sleep(_DELIVER_AGAIN)

    async def _answer_native_handles(self) -> None:
        """Answer the native Handle protocol, in a process of its own, beside other workers."""
        root = self._registry.root
        while True:
            if await asyncio.to_thread(may_listen, root) and (
                problem := await run_command(root, "handle-server", "run")
            ):
                logs.get_log().error("native Handle protocol not answered", detail=problem)
            await asyncio.sleep(_LISTEN_AGAIN)

    async def _follow_origin(self) -> None:
        """Keep the mirror up to date, in a process of its own, beside other workers."""
        root = self._registry.root
        while self._registry.fence.find_origin():
            if await asyncio.to_thread(may_follow, root) and (
                problem := await run_command(root, "mirror", "run")
            ):
                logs.get_log().error("mirror not followed", detail=problem)
            await asyncio.sleep(_FOLLOW_AGAIN)

    async def _meet_relatives(self) -> None:
        """Find out whether the origin of a promoted mirror, or another mirror of it, goes on, too.

        Then this registry is fenced, and `/readyz` says why.
        """
        if not await asyncio.to_thread(list_relatives, self._registry.root):
            return
        while True:
            try:
                await asyncio.to_thread(meet_relatives, self._registry)
            except PerdureError as error:
                logs.get_log().error("registries divided", detail=str(error))
            await asyncio.sleep(_MEET_EVERY)

    async def _update_indexes(self) -> None:
        while True:
            await asyncio.sleep(self._registry.settings.index_seconds)
            try:
                problem = await indexing.update_beside(self._registry)
            except (OSError, PerdureError) as error:
                problem = str(error)
            if problem:
                logs.get_log().error("indexes not updated", detail=problem)

    async def _check_links(self) -> None:
        hours = self._registry.settings.check_links_hours
        await asyncio.sleep(_FIRST_CHECK)
        while True:
            if problem := await scheduling.check_due(self._registry.root, hours):
                logs.get_log().error("links not checked", detail=problem)
            await asyncio.sleep(hours * 3600 * _CHECKS_PER_TERM)


class _Config(uvicorn.Config):
    """uvicorn's settings, with an application that each process makes for itself."""

    listener: int
    """The file descriptor of the socket, the same in each process."""
    end_moved: _Ending | None = None
    """What ends the only worker if the registry was moved; several are replaced when they end."""

    def __init__(self, root: Path, *, level: str, **settings: Any) -> None:
        self._root = root
        self._level = level
        super().__init__("perdure.server.serve:Worker", **settings)

    def configure_logging(self) -> None:
        logs.configure_logs(self._level)

    def load_app(self) -> Worker:
        self._worker = Worker(self._root)
        if self.end_moved is not None:
            self._worker.end_moved = self.end_moved
        return self._worker

    def load(self) -> None:
        os.set_inheritable(self.listener, False)  # the commands that a worker starts
        super().load()
        worker = self._worker
        logged = logs.logs_requests()
        made = make_protocol_class(
            None if logged else worker.fast.entrance,
            None if logged else worker.fast_write,
            client_seconds=worker.settings.client_seconds,
            limits=worker.limits,
            end_waits=worker.end_waits,
        )
        self.http_protocol_class = offer_sender(made)


def run(
    root: Path,
    *,
    host: str | None = None,
    port: int | None = None,
    workers: int | None = None,
    log_level: str | None = None,
    grace: int = GRACE,
) -> None:
    """Serve a registry until a signal stops it. The registry's settings are the defaults.

    Without a number of workers there, `count_workers` says how many.

    `grace` is the time in seconds that requests under way have when the server stops.

    Raises BadSettings if the directory is not a registry or the address cannot be listened on,
    Unavailable if the registry is damaged or has the format of a later release, OSError if this
    process may not write to the directory.
    """
    with Registry(root) as registry, registry.records.open_counter():  # each worker opens both
        settings, signs = registry.settings, registry.fence.list_signs()
        registry.records.open_lookup()  # else each worker would fail after it was started
    number = workers or settings.workers or count_workers()
    config = _Config(
        root.resolve(),
        level=log_level or settings.log_level,
        host=settings.host if host is None else host,
        port=settings.port if port is None else port,
        workers=number,
        loop="uvloop",
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=grace,
        timeout_worker_healthcheck=_SILENT,
    )
    with _share_counters(number):
        listener = _open_listener(config)
        config.listener = listener.fileno()
        start = (
            _prepare_several(config, listener) if number > 1 else _prepare_single(config, listener)
        )
        log = logs.get_log()
        name, bound = listener.getsockname()[:2]
        log.info("listening", host=name, port=bound, workers=number, registry=str(root))
        if not settings.base_url:
            log.warning("no base_url", detail="other machines cannot follow the addresses of names")
        if registry.fence.find_origin():
            log.info("mirror", detail="writes are sent to the origin", signs=signs)
        elif signs:
            log.warning("copy", detail="this copy of a registry writes nothing", signs=signs)
        try:
            start()
        finally:
            listener.close()
        log.info("stopped")


def count_workers() -> int:
    """Return one worker for each core that this process may use, at most 8."""
    return min(count_cores(), _MOST_WORKERS)


def _prepare_single(config: _Config, listener: socket) -> Callable[[], None]:
    """Return what serves in this process, and starts again each time the registry was moved."""
    first = uvicorn.Server(config)
    # This handles a signal that comes before uvicorn installs its own handler. Afterwards, when
    # uvicorn raises the signal again, it has no further effect.
    signal.signal(signal.SIGTERM, first.handle_exit)

    def serve() -> None:
        server = first
        while True:
            config.end_moved = _Ending(server)
            server.run(sockets=[listener.dup()])  # it closes its sockets
            if not config.end_moved.is_used:
                return
            config.loaded = False
            server = uvicorn.Server(config)
            signal.signal(signal.SIGTERM, server.handle_exit)

    return serve


class _Ending:
    """Ends a server because the registry was moved, as a signal would."""

    def __init__(self, server: uvicorn.Server) -> None:
        self._server = server
        self.is_used = False

    def __call__(self) -> None:
        self.is_used = not self._server.should_exit  # else a signal has come before
        self._server.should_exit = True


def _prepare_several(config: uvicorn.Config, listener: socket) -> Callable[[], None]:
    return Multiprocess(config, sockets=[listener]).run


def _open_listener(config: uvicorn.Config) -> socket:
    """Open the socket that all workers share. From now on, clients can connect and wait."""
    try:
        listener = config.bind_socket()
        listener.listen(config.backlog)
    except (OSError, SystemExit):  # uvicorn has logged the reason of the latter
        raise AddressUnusable(setting="host, port", value=f"{config.host}, {config.port}") from None
    return listener


@contextlib.contextmanager
def _share_counters(workers: int) -> Iterator[None]:
    """Make a directory for the shared counters of several workers, while they run."""
    if workers < 2 or DIRECTORY in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="perdure-metrics-") as directory:
        os.environ[DIRECTORY] = directory
        try:
            yield
        finally:
            del os.environ[DIRECTORY]
