"""The last change that each mirror has, from its request for the next one.

How it works: a request for full rows names the last change that the mirror has made durable. Each
mirror has a small file in `followers/mirrors/`, so that all worker processes see it.

What must stay true: you may delete the files; the next request of a mirror brings its mark again.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from perdure.model.changes import ChangeMark, parse_mark

PLACE = Path("followers", "mirrors")


class MirrorMarks:
    """The marks of the mirrors of one registry."""

    def __init__(self, root: Path) -> None:
        self._place = root / PLACE
        self._told: dict[str, ChangeMark] = {}

    def note_mark(self, name: str, mark: ChangeMark) -> None:
        """Note that the mirror with this token has everything up to a change. Raises OSError."""
        if self._told.get(name) == mark:
            return
        self._place.mkdir(parents=True, exist_ok=True)
        path = self._place / hashlib.sha256(name.encode()).hexdigest()[:32]
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_text(str(mark), "ascii")
        beside.replace(path)
        self._told[name] = mark

    def count_mirrors(self, mark: ChangeMark) -> int:
        """Return the number of mirrors that have a change."""
        found = 0
        try:
            for path in self._place.iterdir():
                if path.name.startswith("."):
                    continue
                told = parse_mark(path.read_text("ascii"), current=0)
                found += told is not None and told >= mark
        except (OSError, UnicodeDecodeError):  # no mirror has asked yet, or a file was deleted
            return found
        return found
