"""One writer among many processes: who finds the lock free leads, the others send to it.

How it works: every process that may write opens a `SharedDoor`. The first command takes the lock
file `writer.lock`; who gets it opens the registrar and listens on the socket `writer.sock`, who
does not connects there. When a leader ends, the next command of any other process elects again.
Commands travel as MessagePack in frames of a four-byte length; identifiers travel as text. A
connection counts once the leader has said that it is ready. Commands of one connection are answered
in the order in which they came, so that a follower whose leader stops in good order knows which
commands were not taken, and hands those to the next leader.

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
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import msgspec

from perdure import errors, model
from perdure.committer import Committer
from perdure.door import Arrive, Door, Then, Turn
from perdure.errors import InvalidRequest, PerdureError, TooLarge, Unavailable
from perdure.ids import Identifier, parse
from perdure.model import Command, Receipt
from perdure.registrar import Answer, unspeakable

LOCK = "writer.lock"
SOCKET = "writer.sock"
_LENGTH = struct.Struct("!I")
_LARGEST_FRAME = 256 << 20
_ELECTION_SECONDS = 10.0
_READY, _STOPPED = b"ready", b""
_PATIENCE = struct.pack("ll", 10, 0)  # seconds, microseconds: for a follower that does not read
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
        self._connections: dict[socket.socket, threading.Thread] = {}
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
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _PATIENCE)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._connections[connection] = thread
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        answers = threading.Condition()
        outstanding = 0

        def deliver(answer: Answer) -> None:
            nonlocal outstanding
            try:
                _send(connection, encode_answer(answer))
            except OSError:  # the follower is gone, or does not read; its command was carried out
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            with answers:
                outstanding -= 1
                answers.notify_all()

        def wait_until_answered() -> None:
            with answers:
                answers.wait_for(lambda: not outstanding)

        with contextlib.suppress(OSError):
            _send(connection, _READY)
            while frame := _receive(connection):
                try:
                    command = decode_command(frame)
                except (KeyError, msgspec.MsgspecError) as error:
                    wait_until_answered()
                    outstanding += 1
                    deliver(InvalidRequest(what="a command", reason=str(error), rule=_SAME))
                    continue
                with answers:
                    outstanding += 1
                self._committer.enqueue(command, deliver)
        wait_until_answered()
        with contextlib.suppress(OSError):
            _send(connection, _STOPPED)  # in good order: nothing more was taken
        connection.close()
        self._connections.pop(connection, None)

    def close(self) -> None:
        """Takes no more commands, and answers those that were taken."""
        self._path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._socket.close()
        serving = list(self._connections.items())
        for connection, _ in serving:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)  # what was sent before can still be read
        for _, thread in serving:
            thread.join()


# A follower's side
# -----------------


class _Link:
    """A connection to the leader."""

    def __init__(
        self, connection: socket.socket, hand_over: Callable[[Command, Then], None]
    ) -> None:
        self._connection = connection
        self._hand_over = hand_over
        self._sending = threading.Lock()
        self._sent: deque[tuple[Command, Then]] = deque()
        self.ended = False
        self._thread = threading.Thread(target=self._listen, name="perdure-link", daemon=True)
        self._thread.start()

    def send(self, command: Command, then: Then) -> bool:
        """Whether the command was sent; if not, another leader must be found.

        Raises InvalidRequest or TooLarge for a command that cannot be sent at all.
        """
        try:
            frame = encode_command(command)
        except (UnicodeEncodeError, OverflowError):
            raise unspeakable() from None
        if len(frame) > _LARGEST_FRAME:
            raise TooLarge(what="the command", limit=_LARGEST_FRAME)
        with self._sending:
            if self.ended:
                return False
            self._sent.append((command, then))
            try:
                _send(self._connection, frame)
            except OSError:  # a frame that is cut off is not taken, nor is anything after it
                self._sent.pop()
                self.ended = True
            return not self.ended

    def _listen(self) -> None:
        orderly = False
        try:
            with contextlib.suppress(OSError):
                while (frame := _receive(self._connection)) is not None:
                    if frame == _STOPPED:
                        orderly = True
                        break
                    answer = decode_answer(frame)
                    self._sent.popleft()[1](answer)
        finally:
            self._settle(orderly=orderly)

    def _settle(self, *, orderly: bool) -> None:
        """Answers what the leader has not answered, or has the next one do it."""
        with self._sending:
            self.ended = True
            rest = list(self._sent)
            self._sent.clear()
        self._connection.close()
        for command, then in rest:
            if orderly:
                self._hand_over(command, then)
            else:
                then(
                    Unavailable(
                        what="the outcome of this write",
                        reason="the writing process ended before it answered; repeat the request"
                        " with the same idempotency key",
                    )
                )

    def close(self) -> None:
        """Waits for the answers that are missing."""
        with self._sending, contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR if self._sent else socket.SHUT_RDWR)
        self._thread.join()


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
        self._closed = False
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

    @property
    def is_open(self) -> bool:
        return self._committer is not None or (self._link is not None and not self._link.ended)

    def execute(self, command: Command) -> Receipt:
        if self._committer is None:
            self.elect()
        if self._committer is not None:
            return self._committer.execute(command)
        return super().execute(command)

    def submit(self, command: Command) -> Coroutine[Any, Any, Receipt]:
        return self._submit(command) if self.is_open else self._submit_then(command)

    async def _submit_then(self, command: Command) -> Receipt:
        await asyncio.to_thread(self.elect)  # may have to wait for a leader that is ending
        return await self._submit(command)

    def enqueue(self, command: Command, then: Then) -> None:
        while True:
            if self._committer is not None:
                return self._committer.enqueue(command, then)
            link = self._link
            try:
                if link is not None and link.send(command, then):
                    return None
                self.elect()
            except PerdureError as error:
                return then(error)

    def enqueue_turn(self, turn: Turn, arrive: Arrive) -> None:
        if self._committer is not None:
            self._committer.enqueue_turn(turn, arrive)
        else:
            super().enqueue_turn(turn, arrive)

    def elect(self) -> None:
        """Becomes the leader or finds it.

        Raises Unavailable after ten seconds without either, and what opening the registry raises.
        """
        deadline = time.monotonic() + _ELECTION_SECONDS
        with self._electing:
            while self._committer is None and (self._link is None or self._link.ended):
                if self._closed:
                    raise Unavailable(what="the write door", reason="this process is stopping")
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
        path = self._root / LOCK
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            reason = f"{path}: {error.strerror}"
            raise Unavailable(what="the write door", reason=reason) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        self._lock_fd = fd
        return True

    def _become_leader(self) -> None:
        with contextlib.ExitStack() as opened:
            opened.callback(self._unlock)
            committer = self._lead()
            opened.callback(committer.close)
            try:
                self._listener = _Listener(self._root, committer)
            except OSError as error:
                raise Unavailable(what="the write door", reason=str(error)) from error
            opened.pop_all()
        self._committer = committer

    def _unlock(self) -> None:
        fcntl.flock(self._lock_fd, fcntl.LOCK_UN)  # a forked child may hold the file open, too
        os.close(self._lock_fd)
        self._lock_fd = -1

    def _connect(self) -> bool:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_ELECTION_SECONDS)
            with _socket_path(self._root) as path:
                connection.connect(path)
            ready = _receive(connection) == _READY
            connection.settimeout(None)
        except OSError:
            ready = False
        if not ready:
            connection.close()
            return False
        self._link = _Link(connection, self.enqueue)
        return True

    def close(self) -> None:
        """Answers what was accepted; a leader gives the lock to the next process."""
        if self._closed:
            return
        self._closed = True
        with self._electing:
            listener, committer, link = self._listener, self._committer, self._link
        if listener:
            listener.close()
        if committer:
            committer.close()
            self._unlock()
        if link:
            link.close()
