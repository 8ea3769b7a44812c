"""Writing the promised bytes of a representation in their place again, after damage.

How it works: the bytes between two heads are overwritten. What is written is what was written once,
so that the file becomes what its inventory promises. A file that has another name, such as a backup
of hard links, is replaced by a mended copy.

What must stay true: only bytes with the promised digest are written, and no byte outside them; a
crash leaves at worst the damage that was there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from perdure.model.records import Representation
from perdure.storage.byte_ports import INCOMING
from perdure.storage.durable import copy_durably, replace_durably, write_all
from perdure.storage.segments.directory import find_path


def mend_segment(root: Path, held: Representation, pieces: Iterable[bytes]) -> None:
    """Write bytes in their place. Raises Corrupt if the segment is missing, OSError."""
    path = find_path(root, held.segment)
    if path.stat().st_nlink == 1:
        _write_pieces(path, held.offset, pieces)
        return
    beside = root / INCOMING / f"mend-{held.segment:06d}"
    copy_durably(path, beside)
    _write_pieces(beside, held.offset, pieces)
    replace_durably(beside, path)


def _write_pieces(path: Path, offset: int, pieces: Iterable[bytes]) -> None:
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.lseek(fd, offset, os.SEEK_SET)
        for piece in pieces:
            write_all(fd, piece)
        os.fsync(fd)
    finally:
        os.close(fd)
