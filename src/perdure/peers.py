"""One writer among many processes: who finds the lock free leads, the others send to it.

How it works: every process that may write opens a `SharedDoor`. The first command takes the lock
file `writer.lock`; who gets it opens the registrar and listens on the socket `writer.sock`, who
does not connects there. When a leader ends, the next command of any other process elects again.
Commands travel as MessagePack in frames of a four-byte length; identifiers travel as text. Commands
of one connection are answered in the order in which they came, so that a follower whose leader
stops in good order knows which commands were not taken, and hands those to the next leader.

What must stay true: two processes never hold a registrar of one directory; a command whose fate is
unknown (the leader was killed) is never repeated in secret: the caller is told to repeat it with
the same idempotency key.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from perdure import errors, model
from perdure.committer import Committer
from perdure.door import Deliver, Door
from perdure.errors import InvalidRequest, PerdureError, Unavailable
from perdure.ids import Identifier, parse
from perdure.model import Command, Receipt
from perdure.registrar import Answer

LOCK = "writer.lock"
SOCKET = "writer.sock"
_LENGTH = struct.Struct("!I")
_LARGEST_FRAME = 256 << 20
_ELECTION_SECONDS = 10.0
_STOPPED = b""
_SAME = "all processes of one registry run the same release"


# Commands and answers as bytes
# -----------------------------

_COMMANDS: dict[str, type[Command]] = {
    kind.__name__: kind
    for kind in vars(model).values()
    if isinstance(kind, type) and issubclass(kind, Command)
}
_ERRORS: dict[str, type[PerdureError]] = {
    kind.__name__: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, PerdureError)
}


def encode_command(command: Command) -> bytes:
    """A command as MessagePack, identifiers as canonical text."""
    fields = {
        name: str(value) if isinstance(value, Identifier) else value
        for name in command.__struct_fields__
        if (value := getattr(command, name)) is not None
    }
    return msgspec.msgpack.encode((type(command).__name__, fields))


def decode_command(frame: bytes) -> Command:
    """Raises KeyError or msgspec.MsgspecError for what `encode_command` never made."""
    kind, fields = msgspec.msgpack.decode(frame)
    return msgspec.convert(fields, _COMMANDS[kind], dec_hook=_read_identifier)


def _read_identifier(kind: type, text: Any) -> Any:
    if kind is Identifier:
        return parse(text)
    raise NotImplementedError(kind)


def encode_answer(answer: Answer) -> bytes:
    if isinstance(answer, PerdureError):
        return msgspec.msgpack.encode((type(answer).__name__, answer.as_dict()))
    return msgspec.msgpack.encode(("", answer))


def decode_answer(frame: bytes) -> Answer:
    name, fields = msgspec.msgpack.decode(frame)
    if not name:
        return msgspec.convert(fields, Receipt)
    fields.pop("code")
    return _ERRORS[name](**fields)


def _send(connection: socket.socket, frame: bytes) -> None:
    connection.sendall(_LENGTH.pack(len(frame)) + frame)


def _receive(connection: socket.socket) -> bytes | None:
    """The next frame; None at the end of the connection."""
    head = _read(connection, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > _LARGEST_FRAME:
        raise OSError(f"a frame of {length} bytes")
    return _read(connection, length) if length else _STOPPED


def _read(connection: socket.socket, length: int) -> bytes | None:
    data = bytearray()
    while len(data) < length:
        piece = connection.recv(min(length - len(data), 1 << 20))
        if not piece:
            return None
        data += piece
    return bytes(data)


@contextlib.contextmanager
def _socket_path(root: Path) -> Iterator[str]:
    """A short path of the socket: the system allows 107 bytes, and directories may lie deep."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{SOCKET}"
    finally:
        os.close(fd)


# The leader's side
# -----------------


class _Listener:
    """Takes commands from other processes of this machine and user."""

    def __init__(self, root: Path, committer: Committer) -> None:
        self._committer = committer
        self._stopping = False
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._path = root / SOCKET
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with _socket_path(root) as path:
            self._socket.bind(path)
        self._path.chmod(0o600)
        self._socket.listen(128)
        self._accepting = threading.Thread(
            target=self._accept, name="perdure-listener", daemon=True
        )
        self._accepting.start()

    def _accept(self) -> None:
        while not self._stopping:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._connections.add(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        answers = threading.Condition()
        outstanding = 0

        def deliver(answer: Answer) -> None:
            nonlocal outstanding
            with contextlib.suppress(OSError):  # the follower is gone; its command was carried out
                _send(connection, encode_answer(answer))
            with answers:
                outstanding -= 1
                answers.notify_all()

        with contextlib.suppress(OSError):
            while frame := _receive(connection):
                with answers:
                    outstanding += 1
                try:
                    command = decode_command(frame)
                except (KeyError, msgspec.MsgspecError) as error:
                    deliver(InvalidRequest(what="a command", reason=str(error), rule=_SAME))
                else:
                    self._committer.enqueue(command, deliver)
        with answers:
            answers.wait_for(lambda: not outstanding)
        with contextlib.suppress(OSError):
            connection.sendall(_LENGTH.pack(0))  # in good order: nothing more was taken
        connection.close()
        self._connections.discard(connection)

    def close(self) -> None:
        """Takes no more commands, and answers those that were taken."""
        self._stopping = True
        self._path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        for thread in self._threads:
            thread.join()
        self._accepting.join()


# A follower's side
# -----------------


class _Link:
    """A connection to the leader."""

    def __init__(
        self, connection: socket.socket, hand_over: Callable[[Command, Deliver], None]
    ) -> None:
        self._connection = connection
        self._hand_over = hand_over
        self._sending = threading.Lock()
        self._sent: deque[tuple[Command, Deliver]] = deque()
        self.ended = False
        threading.Thread(target=self._listen, name="perdure-link", daemon=True).start()

    def send(self, command: Command, deliver: Deliver) -> bool:
        """Whether the command was sent; if not, another leader must be found."""
        frame = encode_command(command)
        with self._sending:
            if self.ended:
                return False
            self._sent.append((command, deliver))
            with contextlib.suppress(OSError):  # the listening thread settles what was not sent
                _send(self._connection, frame)
            return True

    def _listen(self) -> None:
        orderly = False
        with contextlib.suppress(OSError):
            while (frame := _receive(self._connection)) is not None:
                if frame == _STOPPED:
                    orderly = True
                    break
                _, deliver = self._sent.popleft()
                deliver(decode_answer(frame))
        with self._sending:
            self.ended = True
            rest = list(self._sent)
            self._sent.clear()
        self._connection.close()
        for command, deliver in rest:
            if orderly:
                self._hand_over(command, deliver)
            else:
                deliver(
                    Unavailable(
                        what="the outcome of this write",
                        reason="the writing process ended before it answered; repeat the request"
                        " with the same idempotency key",
                    )
                )

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)


# The door
# --------


class SharedDoor(Door):
    """The write door of a registry directory, whichever process holds it.

    `lead` opens the committer; it is called only by who holds the lock.
    """

    def __init__(self, root: Path, lead: Callable[[], Committer]) -> None:
        super().__init__()
        self._root = root
        self._lead = lead
        self._electing = threading.Lock()
        self._committer: Committer | None = None
        self._listener: _Listener | None = None
        self._link: _Link | None = None
        self._lock_fd = -1

    @property
    def committer(self) -> Committer | None:
        """The committer, where this process leads."""
        return self._committer

    @property
    def broken(self) -> PerdureError | None:
        return self._committer.broken if self._committer else None

    def execute(self, command: Command) -> Receipt:
        if self._committer is None:
            self.elect()
        if self._committer is not None:
            return self._committer.execute(command)
        return super().execute(command)

    async def submit(self, command: Command) -> Receipt:
        if self._committer is None and (self._link is None or self._link.ended):
            await asyncio.to_thread(self.elect)  # may have to wait for a leader that is ending
        return await super().submit(command)

    def enqueue(self, command: Command, deliver: Deliver) -> None:
        while True:
            if self._committer is not None:
                return self._committer.enqueue(command, deliver)
            link = self._link
            if link is not None and link.send(command, deliver):
                return None
            try:
                self.elect()
            except PerdureError as error:
                return deliver(error)

    def elect(self) -> None:
        """Becomes the leader or finds it. Raises Unavailable after ten seconds without either."""
        deadline = time.monotonic() + _ELECTION_SECONDS
        with self._electing:
            while self._committer is None and (self._link is None or self._link.ended):
                if self._take_lock():
                    self._become_leader()
                elif not self._connect():
                    if time.monotonic() > deadline:
                        raise Unavailable(
                            what="the write door",
                            reason=f"no writer answers at {self._root / SOCKET}",
                        )
                    time.sleep(0.01)

    def _take_lock(self) -> bool:
        fd = os.open(self._root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        self._lock_fd = fd
        return True

    def _become_leader(self) -> None:
        try:
            committer = self._lead()
            self._listener = _Listener(self._root, committer)
        except BaseException:
            os.close(self._lock_fd)
            self._lock_fd = -1
            raise
        self._committer = committer

    def _connect(self) -> bool:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _socket_path(self._root) as path:
                connection.connect(path)
        except OSError:
            connection.close()
            return False
        self._link = _Link(connection, self.enqueue)
        return True

    def close(self) -> None:
        """Answers what was accepted; a leader gives the lock to the next process."""
        if self._listener:
            self._listener.close()
        if self._committer:
            self._committer.close()
            os.close(self._lock_fd)
        if self._link:
            self._link.close()
