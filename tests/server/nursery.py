"""Starts servers quickly: they are forked from a process that has loaded their modules.

How it works: to load modules and templates is most of what a server does to start, and the suite
starts more than a hundred. So each process that runs tests starts one nursery, which loads them
once. It is
told over a socket what to do, a JSON object for each order, and answers with a number: `fork` gives
the process id of a new server, `look` the exit code of one that ended. A server has the environment
and the working directory of whoever orders it; nothing of a registry is open when it is forked.

`tests/server/test_serve.py` and the tests of the command line start servers from nothing.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

_LARGEST = 1 << 20  # bytes of an order
_PAUSE = 0.005  # seconds between two looks


class ForkedProcess:
    """A server, with the methods of `subprocess.Popen` that tests need."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery = nursery
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            self.returncode = self._nursery.order(do="look", pid=self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired("server", timeout or 0)
            time.sleep(_PAUSE)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Nursery:
    """The process that forks, from outside."""

    def __init__(self) -> None:
        self._wire, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._turn = threading.Lock()
        with there:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(there.fileno())], pass_fds=[there.fileno()]
            )

    def order(self, **order: Any) -> Any:
        """Have it do something, and return its answer."""
        with self._turn:
            self._wire.sendall(json.dumps(order).encode())
            return json.loads(self._wire.recv(_LARGEST))

    def stop(self) -> None:
        self._wire.close()
        self._process.wait()


@cache
def _start_nursery() -> Nursery:
    nursery = Nursery()
    atexit.register(nursery.stop)
    return nursery


def fork_server(environment: dict[str, str], log: Path, **options: Any) -> ForkedProcess:
    """Start `perdure.server.serve.run` with these options; it writes its log to a file."""
    nursery = _start_nursery()
    pid = nursery.order(
        do="fork", environment=environment, place=str(Path.cwd()), log=str(log), options=options
    )
    return ForkedProcess(nursery, pid)


# In the nursery
# --------------


def obey(wire: socket.socket) -> None:
    """Do what is ordered, until nobody is there who could order anything."""
    while order := wire.recv(_LARGEST):
        told = json.loads(order)
        answer = _look(told["pid"]) if told["do"] == "look" else _fork(wire, told)
        wire.sendall(json.dumps(answer).encode())


def _look(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _fork(wire: socket.socket, order: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    from perdure.server.serve import run

    wire.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["place"])
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(log, sys.stderr.fileno())
    os.close(log)
    options = order["options"]
    run(Path(options.pop("root")), **options)
    sys.exit()


if __name__ == "__main__":
    from perdure.server import serve

    serve._load_tables()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever interrupts the tests stops the servers
    gc.collect()
    gc.freeze()
    obey(socket.socket(fileno=int(sys.argv[1])))
