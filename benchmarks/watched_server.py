"""A server of one worker whose event loop is watched: how long it lets others wait, and for what.

    python -m benchmarks.watched_server REGISTRY PORT

How it works: a timer of the event loop fires each millisecond; the processor time of this thread
between two of its calls is what other clients had to wait for at least, however busy the machine
is. A second thread looks at the clock of the first one, and notes where it is when it has computed
for `LONG` without letting the timer fire. Each line on standard input is answered with one line of
JSON on standard output, about the time since the line before; its end stops the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections import Counter

from perdure.cli import main
from perdure.server import serve

LONG = 0.010
"""Seconds of processor time."""
_EVERY = 0.001
_FRAMES = 4


class Watch:
    """The pauses of an event loop."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self.places: Counter[str] = Counter()
        self.since = 0.0
        self.last = 0.0
        self._clock = time.pthread_getcpuclockid(threading.main_thread().ident or 0)

    def begin(self) -> None:
        """Begin to watch the loop that runs."""
        self.last = self.since = time.thread_time()
        asyncio.get_running_loop().call_later(_EVERY, self._beat)

    def _beat(self) -> None:
        now = time.thread_time()
        self.pauses.append(now - self.last)
        self.last = now
        asyncio.get_running_loop().call_later(_EVERY, self._beat)

    def look(self) -> None:
        """Note where the thread is whenever it has computed too long. Never returns."""
        noted = 0.0
        while True:
            time.sleep(LONG / 5)
            begun = self.last
            if begun and begun != noted and time.clock_gettime(self._clock) - begun > LONG:
                frame = sys._current_frames().get(threading.main_thread().ident or 0)
                noted = begun
                places = traceback.extract_stack(frame)[-_FRAMES:]
                where = " > ".join(f"{one.filename.rsplit('/', 1)[1]}:{one.name}" for one in places)
                self.places[where] += 1

    def report(self) -> dict[str, object]:
        """What was seen since the last report."""
        pauses, self.pauses = sorted(self.pauses), []
        places, self.places = self.places, Counter()
        now = time.clock_gettime(self._clock)
        seconds, self.since = now - self.since, now
        return {
            "seconds": seconds,
            "longest": pauses[-1] if pauses else 0.0,
            "slowest_of_100": pauses[len(pauses) * 99 // 100] if pauses else 0.0,
            "long": sum(one > LONG for one in pauses),
            "places": places.most_common(3),
        }


def _answer_lines(watch: Watch) -> None:
    for _ in sys.stdin:
        sys.stdout.write(json.dumps(watch.report()) + "\n")
        sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGTERM)


def run(root: str, port: str) -> None:
    """Serve until standard input ends."""
    watch = Watch()
    check_waits = serve.Worker._check_waits

    async def check_watched(worker: serve.Worker) -> None:
        watch.begin()
        await check_waits(worker)

    serve.Worker._check_waits = check_watched  # type: ignore[method-assign, assignment] # a task of the loop
    threading.Thread(target=watch.look, daemon=True).start()
    threading.Thread(target=_answer_lines, args=(watch,), daemon=True).start()
    sys.argv = ["perdure", "-C", root, "serve", "--port", port, "--workers", "1"]
    main()


if __name__ == "__main__":
    run(*sys.argv[1:])
