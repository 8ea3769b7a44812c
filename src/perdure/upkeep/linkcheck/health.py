"""The locations that are known to be lost, kept in memory for the servers that answer readers.

How it works: the server calls `refresh` regularly (once a second). The set is read again only if
`links.sqlite` was written since. It holds only lost locations, which are few.

What must stay true: if `links.sqlite` is missing or cannot be read, no location counts as lost: a
check of links can make the resolver skip a location, but never make it fail.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

import apsw

from perdure.upkeep.linkcheck.state import FILE, Links
from perdure.upkeep.linkcheck.verdict import LinkFinding

_log = logging.getLogger(__name__)
_Stamp = tuple[tuple[int, int, int], ...]


class Health:
    """The lost locations of a registry directory, as of the last `refresh`."""

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._seen: _Stamp = ()
        self.dead: frozenset[str] = frozenset()

    def refresh(self) -> bool:
        """Read the set again if the file has changed. Return whether the set has changed."""
        if self._root is None:
            return False
        stamp = _stamp_of(self._root)
        if stamp == self._seen:
            return False
        before = self.dead
        try:
            links = Links(self._root) if stamp else None
            self.dead = links.list_lost() if links else frozenset()
            if links:
                links.close()
            self._seen = _stamp_of(self._root)
        except (apsw.Error, OSError) as error:
            _log.warning("links not read: %s", error)
            self._seen, self.dead = stamp, frozenset()
        return self.dead != before

    def read_findings(self, uris: Iterable[str]) -> dict[str, LinkFinding]:
        """Return the finding of the last check for each location that was checked."""
        if self._root is None or not (self._root / FILE).exists():
            return {}
        try:
            links = Links(self._root)
            try:
                found = {uri: links.read_finding(uri) for uri in uris}
            finally:
                links.close()
        except apsw.Error as error:
            _log.warning("links not read: %s", error)
            return {}
        return {uri: one for uri, one in found.items() if one is not None}


def _stamp_of(root: Path) -> _Stamp:
    """Return a stamp that changes with every write to the database or its write-ahead log."""
    found = []
    for name in (FILE, f"{FILE}-wal"):
        try:
            state = (root / name).stat()
        except OSError:
            continue
        found.append((state.st_ino, state.st_mtime_ns, state.st_size))
    return tuple(found)
