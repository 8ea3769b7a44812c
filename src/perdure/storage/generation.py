"""Counter of changes to records, which all processes of a registry see at once.

How it works: the file `generation` holds two counters in sixteen bytes. Every interested process
maps it into its memory. The writer adds one to the first counter after each commit that revised a
record, before it acknowledges the commit.
A cache stores each answer with the count read before the look-up; the answer is valid while the
count is the same. Reading the count needs no system call. The second counter grows with every
numbered change, new records included. It only wakes the processes that wait for the next change;
they then query the registry.

What must stay true: the count grows before any change is acknowledged, and when a writer opens a
registry (its predecessor may have died between the commit and the count). It does not count new
records, because no cache remembers that a record is missing.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Self

FILE = "generation"
_BYTES = 16


class Generation:
    """The counter of a registry directory. Raises OSError if it can be neither read nor created.

    Only the process of the writer may call `note_revision`.
    """

    is_mapped = True

    def __init__(self, root: Path) -> None:
        fd = os.open(root / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # Zeros, unless another process was first. Not a hole: a full disk must fail here, and
            # not when the page is written, which would kill the process.
            os.posix_fallocate(fd, 0, _BYTES)
            self._mapped = mmap.mmap(fd, _BYTES)
        finally:
            os.close(fd)
        # A load or store of eight aligned bytes is atomic: no other process sees half of it.
        self.counts = memoryview(self._mapped).cast("Q")
        """Revisions and changes so far, for those who read them at every request."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def revision_count(self) -> int:
        """The number of changes so far, or the value that a crash of the machine left."""
        return self.counts[0]

    def note_revision(self) -> None:
        """Count a changed record."""
        self.counts[0] = (self.counts[0] + 1) % (1 << 64)

    @property
    def change_count(self) -> int:
        """A number that differs after each new change. It has no other meaning."""
        return self.counts[1]

    def note_change(self) -> None:
        """Signal that there are new changes."""
        self.counts[1] = (self.counts[1] + 1) % (1 << 64)

    def close(self) -> None:
        self.counts.release()
        self._mapped.close()
