"""The worker process that runs third-party decoders; `perdure.extractors.confined` starts it.

How it works: jobs arrive over the socket that is the standard input; parts, chunks and perdure's
errors go back over it. Any other error ends the process with a traceback on stderr, and the parent
reports it.

What must stay true: limits are lowered before a byte of the source is read.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import socket
from collections.abc import Iterator

import msgspec

from perdure.errors import PerdureError
from perdure.errors.limits import MemoryExceeded
from perdure.extractors.indexes import DirectoryIndexes, NoIndexes
from perdure.extractors.messages import (
    CHUNKS,
    END,
    REPLY,
    Budget,
    Extents,
    Job,
    TextReply,
    build_failure,
    build_reply,
    encode,
    read_job,
    read_selector,
    receive_message,
    send_message,
)
from perdure.extractors.plain_text import TextMapper
from perdure.extractors.port import (
    CHUNK,
    Extractor,
    LinkLister,
    Outlining,
    Preparing,
    Stream,
    join_chunks,
)
from perdure.plugins.points import PluginPoint


def main() -> None:
    """Do jobs until the parent goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    wire = socket.socket(fileno=0)
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            _, data = receive_message(wire)
            job = read_job(data)
            with _lower_limits(job.budget):
                _do_job(job, wire)


@contextlib.contextmanager
def _lower_limits(budget: Budget) -> Iterator[None]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + 1 + budget.seconds
    _, longest = resource.getrlimit(resource.RLIMIT_CPU)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, longest))
    resource.setrlimit(resource.RLIMIT_DATA, (budget.memory, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _do_job(job: Job, wire: socket.socket) -> None:
    extractor: Extractor = PluginPoint("", job.extractor, "perdure.extractors").load()
    indexes = DirectoryIndexes(job.indexes) if job.indexes else NoIndexes()
    try:
        if job.prepare and isinstance(extractor, Preparing):
            extractor.prepare_source(job.source, indexes)
            send_message(wire, REPLY, encode(Extents(())))
            return
        if job.text and isinstance(extractor, TextMapper):
            _send_index(extractor.map_text(job.source), wire)
            return
        if job.links and isinstance(extractor, LinkLister):
            _send_index(msgspec.json.encode(extractor.list_links(job.source)), wire)
            return
        selector = None if job.selector is None else read_selector(job.selector)
        if selector is None:
            extents = Extents(extractor.list_extents(job.source, indexes))
            send_message(wire, REPLY, encode(extents))
            return
        if job.outline and isinstance(extractor, Outlining):
            known = extractor.outline_part(job.source, selector)
            if known is not None:
                send_message(wire, REPLY, encode(build_reply(known, outline=True)))
                return
        part = extractor.extract_part(job.source, selector, indexes)
        send_message(wire, REPLY, encode(build_reply(part)))
        if isinstance(part.body, Stream):
            for chunk in join_chunks(part.body.chunks):
                for at in range(0, len(chunk), CHUNK):
                    send_message(wire, CHUNKS, chunk[at : at + CHUNK])
            send_message(wire, END, b"")
    except PerdureError as error:
        send_message(wire, REPLY, encode(build_failure(error)))
    except MemoryError:
        too_much = MemoryExceeded(source=job.source.name, most=job.budget.memory)
        send_message(wire, REPLY, encode(build_failure(too_much)))


def _send_index(index: bytes, wire: socket.socket) -> None:
    send_message(wire, REPLY, encode(TextReply(len(index))))
    for at in range(0, len(index), CHUNK):
        send_message(wire, CHUNKS, index[at : at + CHUNK])
    send_message(wire, END, b"")


if __name__ == "__main__":
    main()
