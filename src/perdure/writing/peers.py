"""One writer among many processes: the process that gets the lock leads, the others send to it.

How it works: every process that may write opens a `SharedDoor`. The first command takes the lock
file `writer.lock`. The process that gets it is the leader: it opens the registrar and listens on
the socket `writer.sock`. The other processes are followers and connect to this socket. When a
leader ends, the next command of any other process starts a new election. Commands and answers
travel as MessagePack in frames (`perdure.writing.frames`), those of one turn together; identifiers
travel as text. A connection counts once the leader has said that it is ready. The leader answers
the commands of a connection in the order in which they came. So if the leader stops in good order,
the follower knows which commands were not taken, and sends those to the next leader.

What must stay true: two processes never hold a registrar of one directory; a command whose outcome
is unknown (the leader was killed) is never repeated silently: its error says that the caller should
repeat it with the same idempotency key.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from perdure.errors import MalformedIdentifier, PerdureError, UnknownScheme
from perdure.errors.limits import CommandTooLarge
from perdure.errors.naming import UnspeakableValue
from perdure.errors.processes import (
    CommandFailed,
    DoorUnusable,
    OutcomeUnknown,
    Stopping,
    WriterSilent,
)
from perdure.errors.requests import MalformedBody
from perdure.errors.tree import pack_error, unpack_error
from perdure.ids import Identifier, parse
from perdure.model import commands as model
from perdure.model.commands import Answer, Command, Receipt
from perdure.storage.durable import WRITE_LOCK
from perdure.writing.committer import Committer
from perdure.writing.door import Arrive, Door, Then, Turn
from perdure.writing.frames import LARGEST, Frames

SOCKET = "writer.sock"
_log = logging.getLogger(__name__)
_ELECTION_SECONDS = 10.0
_READY, _STOPPED = b"ready", b""
_PATIENCE = struct.pack("ll", 10, 0)  # seconds, microseconds: for a follower that does not read
_SAME = "all processes of one registry must run the same release"


# Commands and answers as bytes
# -----------------------------

_COMMANDS: dict[str, type[Command]] = {
    kind.__name__: kind
    for kind in vars(model).values()
    if isinstance(kind, type) and issubclass(kind, Command)
}


_LIST = tuple[Identifier, ...]
# Found from the classes: to test whether a value is an identifier is slow.
_IDENTIFIERS = {
    kind: frozenset(one.name for one in msgspec.structs.fields(kind) if one.type is Identifier)
    for kind in _COMMANDS.values()
}
_LISTS = {
    kind: frozenset(one.name for one in msgspec.structs.fields(kind) if one.type == _LIST)
    for kind in _COMMANDS.values()
}
_encode = msgspec.msgpack.Encoder().encode
_split_command = msgspec.msgpack.Decoder(tuple[str, msgspec.Raw]).decode
_split_answer = msgspec.msgpack.Decoder(tuple[tuple[str, ...], msgspec.Raw]).decode
_decode_receipt = msgspec.msgpack.Decoder(Receipt).decode


def encode_command(command: Command) -> bytes:
    """A command as MessagePack, with identifiers as canonical text."""
    kind = type(command)
    identifiers = _IDENTIFIERS[kind]
    fields = {
        name: str(value) if name in identifiers else value
        for name in kind.__struct_fields__
        if (value := getattr(command, name)) is not None
    }
    for name in _LISTS[kind]:
        fields[name] = tuple(map(str, fields[name]))
    return _encode((kind.__name__, fields))


_TEXTS: dict[Any, Any] = {Identifier: str, _LIST: tuple[str, ...]}


@cache
def _make_decoder(kind: type[Command]) -> Callable[[msgspec.Raw], Any]:
    """A decoder of the fields of a command, in which identifiers are texts.

    msgspec would test whether each is an identifier, which takes ten times as long as all else.
    """
    fields = [
        (one.name, _TEXTS.get(one.type, one.type), _copy_default(one))
        for one in msgspec.structs.fields(kind)
    ]
    return msgspec.msgpack.Decoder(msgspec.defstruct(kind.__name__, fields, kw_only=True)).decode


def _copy_default(one: msgspec.structs.FieldInfo) -> Any:
    if one.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(default_factory=one.default_factory)
    return msgspec.field(default=one.default)


def decode_command(frame: bytes) -> Command:
    """Decode a command. Raises KeyError or msgspec.MsgspecError if the frame is not a command."""
    name, encoded = _split_command(frame)
    kind = _COMMANDS[name]
    fields = msgspec.structs.asdict(_make_decoder(kind)(encoded))
    try:
        for identifier in _IDENTIFIERS[kind]:
            fields[identifier] = parse(fields[identifier])
        for identifiers in _LISTS[kind]:
            fields[identifiers] = tuple(map(parse, fields[identifiers]))
    except (MalformedIdentifier, UnknownScheme) as error:
        raise msgspec.ValidationError(str(error)) from error
    return kind(**fields)


def encode_answer(answer: Answer) -> bytes:
    if isinstance(answer, PerdureError):
        return _encode(pack_error(answer))
    return _encode(((), answer))


def decode_answer(frame: bytes) -> Answer:
    names, encoded = _split_answer(frame)
    if names:
        return unpack_error(names, msgspec.msgpack.decode(encoded))
    return _decode_receipt(encoded)


@contextlib.contextmanager
def _socket_path(root: Path) -> Iterator[str]:
    """A short path of the socket. The system allows 107 bytes, and the directory may be deep."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{SOCKET}"
    finally:
        os.close(fd)


# The leader's side
# -----------------


def _ignore_answer(_: Answer) -> None:
    """Do nothing: the follower itself knows to which caller an answer belongs."""


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
            target=self._accept_connections, name="perdure-listener", daemon=True
        )
        self._accepting.start()

    def _accept_connections(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _PATIENCE)
            thread = threading.Thread(
                target=self._serve_connection, args=(connection,), daemon=True
            )
            self._connections[connection] = thread
            thread.start()

    def _serve_connection(self, connection: socket.socket) -> None:
        frames = Frames(connection)
        answered = threading.Condition()
        outstanding = 0

        def hand_over(turn: Turn) -> None:
            nonlocal outstanding
            if turn:
                with answered:
                    outstanding += len(turn)
                self._committer.enqueue_turn(turn, send_answers)

        def send_answers(answers: Iterable[tuple[Then, Answer]]) -> None:
            nonlocal outstanding
            encoded = [encode_answer(answer) for _, answer in answers]
            if frames.send_frames(encoded) < len(encoded):
                # The follower is gone or does not read; its commands were still carried out.
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            with answered:
                outstanding -= len(encoded)
                answered.notify_all()

        def wait_until_answered() -> None:
            with answered:
                answered.wait_for(lambda: not outstanding)

        frames.send_frames([_READY])
        with contextlib.suppress(OSError):
            while some := frames.receive_frames():
                turn: Turn = []
                for frame in some:
                    try:
                        turn.append((decode_command(frame), _ignore_answer))
                    except (KeyError, msgspec.MsgspecError) as error:
                        hand_over(turn)
                        wait_until_answered()
                        turn, outstanding = [], 1
                        refusal = MalformedBody(body="a command", fault=str(error), manual=_SAME)
                        send_answers([(_ignore_answer, refusal)])
                hand_over(turn)
        wait_until_answered()
        frames.send_frames([_STOPPED])  # in good order: no further command was taken
        connection.close()
        self._connections.pop(connection, None)

    def close(self) -> None:
        """Take no more commands, and answer those that were taken."""
        with contextlib.suppress(OSError):  # the next leader removes it before it listens
            self._path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._socket.close()
        serving = list(self._connections.items())
        for connection, _ in serving:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)  # earlier bytes can still be read
        for _, thread in serving:
            thread.join()


# A follower's side
# -----------------


class _Link:
    """A connection to the leader."""

    def __init__(
        self,
        connection: socket.socket,
        frames: Frames,
        hand_over: Callable[[Turn, Arrive], None],
    ) -> None:
        self._connection = connection
        self._frames = frames
        self._hand_over = hand_over
        self._sending = threading.Lock()
        self._sent: deque[tuple[Command, Then, Arrive]] = deque()
        self.ended = False
        self._thread = threading.Thread(
            target=self._receive_answers, name="perdure-link", daemon=True
        )
        self._thread.start()

    def send_turn(self, turn: Turn, arrive: Arrive) -> Turn:
        """Send commands, and return the unsent ones, which need another leader.

        Commands that cannot be sent to any leader are answered.
        """
        frames: list[bytes] = []
        sendable: Turn = []
        for command, then in turn:
            try:
                frame = encode_command(command)
            except (UnicodeEncodeError, OverflowError):
                arrive([(then, UnspeakableValue())])
                continue
            if len(frame) > LARGEST:
                arrive([(then, CommandTooLarge(limit=LARGEST))])
                continue
            frames.append(frame)
            sendable.append((command, then))
        with self._sending:
            if self.ended:
                return sendable
            self._sent += ((command, then, arrive) for command, then in sendable)
            count = self._frames.send_frames(frames)
            if count < len(frames):  # the leader takes neither a cut-off frame nor later ones
                self.ended = True
                for _ in frames[count:]:
                    self._sent.pop()
            return sendable[count:]

    def _receive_answers(self) -> None:
        orderly = False
        try:
            with contextlib.suppress(OSError):
                while not orderly and (frames := self._frames.receive_frames()):
                    orderly = frames[-1] == _STOPPED
                    self._give_answers(frames[:-1] if orderly else frames)
        finally:
            self._settle_rest(orderly=orderly)

    def _give_answers(self, frames: list[bytes]) -> None:
        """Answer the oldest commands, those of one turn together."""
        pairs = ((*self._sent.popleft()[1:], decode_answer(frame)) for frame in frames)
        for arrive, some in groupby(pairs, key=itemgetter(1)):
            arrive([(then, answer) for then, _, answer in some])

    def _settle_rest(self, *, orderly: bool) -> None:
        """Answer the commands that the leader has not answered, or send them to the next leader."""
        with self._sending:
            self.ended = True
            rest = list(self._sent)
            self._sent.clear()
        self._connection.close()
        for command, then, arrive in rest:
            if orderly:
                self._hand_over([(command, then)], arrive)
            else:
                unknown = OutcomeUnknown()
                arrive([(then, unknown)])

    def close(self) -> None:
        """Wait for the missing answers."""
        with self._sending, contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR if self._sent else socket.SHUT_RDWR)
        self._thread.join()


# The door
# --------


class SharedDoor(Door):
    """The write door of a registry directory, whichever process leads.

    `lead` opens the committer; only the process that holds the lock calls it. `check` raises an
    error if no process may lead.
    """

    def __init__(
        self,
        root: Path,
        lead: Callable[[], Committer],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self._check = check
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
        """The committer, if this process leads."""
        return self._committer

    @property
    def failure(self) -> PerdureError | None:
        return self._committer.failure if self._committer else None

    @property
    def is_open(self) -> bool:
        return self._committer is not None or (self._link is not None and not self._link.ended)

    def execute_command(self, command: Command) -> Receipt:
        if self._committer is None:
            self.elect_leader()
        if self._committer is not None:
            return self._committer.execute_command(command)
        return super().execute_command(command)

    def enqueue_turn(self, turn: Turn, arrive: Arrive) -> None:
        while turn:
            if self._committer is not None:
                return self._committer.enqueue_turn(turn, arrive)
            try:
                if self._link is not None:
                    turn = self._link.send_turn(turn, arrive)
                if turn:
                    self.elect_leader()
            except PerdureError as error:
                return arrive([(then, error) for _, then in turn])
            except Exception as error:  # any error: every waiting caller gets an answer
                _log.exception("the write door did not open")
                failed = CommandFailed(fault=f"{type(error).__name__}: {error}")
                return arrive([(then, failed) for _, then in turn])
        return None

    def elect_leader(self) -> None:
        """Become the leader, or connect to it.

        Raises Unavailable if neither succeeds within ten seconds, and the errors of opening the
        registry.
        """
        deadline = time.monotonic() + _ELECTION_SECONDS
        with self._electing:
            while self._committer is None and (self._link is None or self._link.ended):
                if self._closed:
                    raise Stopping(task="the write door")
                self._check()
                if self._take_lock():
                    self._become_leader()
                elif not self._connect_leader():
                    if time.monotonic() > deadline:
                        raise WriterSilent(socket=str(self._root / SOCKET))
                    time.sleep(0.01)

    def _take_lock(self) -> bool:
        path = self._root / WRITE_LOCK
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DoorUnusable(fault=f"{path}: {error.strerror}") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        self._lock_fd = fd
        return True

    def _become_leader(self) -> None:
        with contextlib.ExitStack() as opened:
            opened.callback(self._release_lock)
            committer = self._lead()
            opened.callback(committer.close)
            try:
                self._listener = _Listener(self._root, committer)
            except OSError as error:
                raise DoorUnusable(fault=str(error)) from error
            opened.pop_all()
        self._committer = committer

    def _release_lock(self) -> None:
        fcntl.flock(self._lock_fd, fcntl.LOCK_UN)  # a forked child may hold the file open, too
        os.close(self._lock_fd)
        self._lock_fd = -1

    def _connect_leader(self) -> bool:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        frames = Frames(connection)
        try:
            connection.settimeout(_ELECTION_SECONDS)
            with _socket_path(self._root) as path:
                connection.connect(path)
            ready = frames.receive_frames() == [_READY]  # and is not stopping already
            connection.settimeout(None)
        except OSError:
            ready = False
        if not ready:
            connection.close()
            return False
        self._link = _Link(connection, frames, self.enqueue_turn)
        return True

    def close(self) -> None:
        """Answer all accepted commands; a leader releases the lock for the next process."""
        if self._closed:
            return
        self._closed = True
        with self._electing:
            listener, committer, link = self._listener, self._committer, self._link
        if listener:
            listener.close()
        if committer:
            committer.close()
            self._release_lock()
        if link:
            link.close()
