"""What a long run has done already, so that it can be stopped, or killed, and taken up again.

How it works: a file of JSON lines. The first says what the run is about; each further one is a step
that was done, handed to the system before the next begins, and brought to the disk every so often.
A run that finds such a file about the same thing goes on behind its last whole line; about another
thing, it refuses.

What must stay true: a process that is killed loses no step that was done; a line that a crash of
the machine cut off counts as not written, and is cut away; what a step speaks of is on the disk
before the step is; the file of another run is never overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Generic, Self, TypeVar

import msgspec

from perdure.errors import Conflict

_Step = TypeVar("_Step", bound=msgspec.Struct)
_SYNC_EVERY = 64
"""Steps; so many are repeated at most when the machine stops."""


def _nothing() -> None:
    """There is nothing else to bring to the disk."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is about."""

    run: str
    """`check`, `check, asking`, `extract`, `manifest`."""
    collection: str
    sha512: str
    """Of the document."""
    begun: str


class Log(Generic[_Step]):
    """The steps of a run. Use as a context manager; `finish` removes the file."""

    def __init__(self, path: Path, about: About, step: type[_Step]) -> None:
        """Raises Conflict where the file is about another run, OSError where it cannot be used."""
        self.path = path
        self.about = about
        self.steps: list[_Step] = []
        """Those that an earlier run has done."""
        self.first: Callable[[], None] = _nothing
        """Brings to the disk what the steps speak of."""
        end = self._read(about, step) if path.exists() else 0
        self._file: BinaryIO = path.open("r+b" if path.exists() else "xb")
        self._file.truncate(end)
        self._file.seek(end)
        if not end:
            self._file.write(msgspec.json.encode(self.about) + b"\n")
            self.sync()

    def _read(self, about: About, step: type[_Step]) -> int:
        """Reads what was done; gives where the last whole line ends."""
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.splitlines()
        if not lines:
            if data:
                self._refuse(about, "it is no state of a run")
            return 0
        try:
            self.about = msgspec.json.decode(lines[0], type=About)
            decode = msgspec.json.Decoder(step).decode
            self.steps = [decode(line) for line in lines[1:]]
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._refuse(about, "it is no state of a run")
        same = msgspec.structs.replace(about, begun=self.about.begun)
        if self.about != same:
            found = f"{self.about.run} of {self.about.collection} begun {self.about.begun}"
            self._refuse(about, f"it belongs to another run: {found}")
        return len(whole)

    def _refuse(self, about: About, reason: str) -> None:
        raise Conflict(
            identifier=about.collection,
            reason=f"{self.path} is in the way: {reason}",
            current="remove the file, or name another one",
        )

    def add(self, step: _Step) -> None:
        """Keeps a step that was done."""
        self.steps.append(step)
        self._file.write(msgspec.json.encode(step) + b"\n")
        self._file.flush()
        if len(self.steps) % _SYNC_EVERY == 0:
            self.sync()

    def sync(self) -> None:
        self.first()
        self._file.flush()
        os.fsync(self._file.fileno())

    def finish(self) -> None:
        """The run is over, and its result is safe."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
