"""What was computed about sources, kept in files beside the registry, or in memory for plain files.

How it works: an index is a function of the bytes alone, so it is named by their SHA-512 and by its
kind, and lies at `<kind>/<first two digits>/<digest>`. It is written to a temporary file and
renamed. Nothing here is a promise: the directory can be deleted at any time and fills again.

What must stay true: an index that is half-written is never seen; one that cannot be written (a
full disk, a directory that is not ours) is used from memory, and the part is served.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from perdure.extractors.port import Source


class DirectoryIndexes:
    """Indexes in a directory, which need not exist yet."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(
        self, source: Source, kind: str, build: Callable[[Source], bytes]
    ) -> memoryview | bytes:
        if source.sha512 is None:
            return build(source)
        path = self._root / kind / source.sha512[:2] / source.sha512
        kept = _mapped(path)
        if kept is not None:
            return kept
        made = build(source)
        with contextlib.suppress(OSError):  # then it is built again the next time
            _write(path, made)
        return made


class NoIndexes:
    """Nothing is kept: for files that belong to nobody here."""

    def get(
        self,
        source: Source,
        kind: str,
        build: Callable[[Source], bytes],
    ) -> memoryview | bytes:
        return build(source)


def _mapped(path: Path) -> memoryview | None:
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError:
        return None


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).rename(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
