"""The log of a long run, so that the run can be stopped, or killed, and resumed.

How it works: the log is a file of JSON lines. The first line describes the run; each further line
is a finished step. A step is handed to the system before the next begins, and synced to the disk
from time to time. A run that finds its own log continues after the last complete line; it refuses
the log of another run.

What must stay true: a process that is killed loses no finished step; a line that a crash of the
machine cut off counts as not written, and is removed; the data of a step is on the disk before the
step is; the file of another run is never overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Generic, Self, TypeVar

import msgspec

from perdure.errors.conflicts import RunLogForeign, RunLogOfOther

_Step = TypeVar("_Step", bound=msgspec.Struct)
_SYNC_EVERY = 64
"""Steps; at most this many are repeated after a crash of the machine."""


def _sync_nothing() -> None:
    """Do nothing: the steps refer to no other data."""


class RunSubject(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of a run."""

    run: str
    """`check`, `check, asking`, `extract`, `manifest`."""
    collection: str
    sha512: str
    """Digest of the document."""
    begun: str


class RunLog(Generic[_Step]):
    """The steps of a run. Use as a context manager; `remove_file` removes the file."""

    def __init__(self, path: Path, about: RunSubject, step: type[_Step]) -> None:
        """Open the log. Raises Conflict if the file is that of another run, and OSError."""
        self.path = path
        self.about = about
        self.steps: list[_Step] = []
        """Steps that an earlier run finished."""
        self.first: Callable[[], None] = _sync_nothing
        """Syncs the data of the steps to the disk."""
        end = self._read_steps(about, step) if path.exists() else 0
        self._file: BinaryIO = path.open("r+b" if path.exists() else "xb")
        self._file.truncate(end)
        self._file.seek(end)
        if not end:
            self._file.write(msgspec.json.encode(self.about) + b"\n")
            self.sync_steps()

    def _read_steps(self, about: RunSubject, step: type[_Step]) -> int:
        """Read the finished steps. Return the end of the last complete line."""
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.splitlines()
        if not lines:
            if data:
                raise RunLogForeign(identifier=about.collection, file=str(self.path))
            return 0
        try:
            self.about = msgspec.json.decode(lines[0], type=RunSubject)
            decode = msgspec.json.Decoder(step).decode
            self.steps = [decode(line) for line in lines[1:]]
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise RunLogForeign(identifier=about.collection, file=str(self.path)) from None
        same = msgspec.structs.replace(about, begun=self.about.begun)
        if self.about != same:
            raise RunLogOfOther(
                identifier=about.collection,
                file=str(self.path),
                run=self.about.run,
                collection=self.about.collection,
                begun=self.about.begun,
            )
        return len(whole)

    def add_step(self, step: _Step) -> None:
        """Add a finished step."""
        self.steps.append(step)
        self._file.write(msgspec.json.encode(step) + b"\n")
        self._file.flush()
        if len(self.steps) % _SYNC_EVERY == 0:
            self.sync_steps()

    def sync_steps(self) -> None:
        self.first()
        self._file.flush()
        os.fsync(self._file.fileno())

    def remove_file(self) -> None:
        """Remove the file: the run is over, and its result is safe."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
