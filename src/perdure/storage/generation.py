"""How often records were changed: a counter that all processes of a registry see at once.

How it works: sixteen bytes in the file `generation`, mapped into the memory of every process that
is interested, are two counters. The writer adds one to the first after each commit that revised a
record, before it acknowledges.
Whoever remembers an answer remembers the count that he read before he looked it up; the answer
holds while the count is the same. Reading it costs no system call. The second counter grows with
every numbered change, new records included: it only wakes those who wait for the next change, who
then ask the registry.

What must stay true: the count grows before any change is acknowledged, and when a writer opens a
registry (its predecessor may have died between the commit and the count). It says nothing about
new records: what is not there is not remembered.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from types import TracebackType
from typing import Self

FILE = "generation"
_BYTES = 16


class Generation:
    """The counter of a registry directory. Raises OSError where it can be neither read nor made.

    One process at a time may call `grow`: that of the writer.
    """

    def __init__(self, root: Path) -> None:
        fd = os.open(root / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # Zeros, unless somebody came before. Not a hole: a full disk must be noticed here, and
            # not when the page is written to, which would kill the process.
            os.posix_fallocate(fd, 0, _BYTES)
            self._mapped = mmap.mmap(fd, _BYTES)
        finally:
            os.close(fd)
        # One aligned load or store of eight bytes: no other process sees half of it.
        self._count = memoryview(self._mapped).cast("Q")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def count(self) -> int:
        """The number of changes so far, or what a crash of the machine left of it."""
        return self._count[0]

    def grow(self) -> None:
        """Says that a record was changed."""
        self._count[0] = (self._count[0] + 1) % (1 << 64)

    @property
    def changes(self) -> int:
        """A number that differs once there are more changes. It says nothing else."""
        return self._count[1]

    def wake(self) -> None:
        """Says that there are more changes."""
        self._count[1] = (self._count[1] + 1) % (1 << 64)

    def close(self) -> None:
        self._count.release()
        self._mapped.close()
