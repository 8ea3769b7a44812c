"""A file that keeps what discovery has learnt, for as long as the name servers allow.

How it works: the file is one JSON document: answers of name servers, and hosts that confirmed a
series, each with the time until which it holds. It is read once, and written as a whole to another
file that then replaces it, so that commands that run at the same time never read half a file.

What must stay true: nothing is used after its time; a damaged file is the same as none; the file
never has more than `MOST` entries, and those that end first are dropped.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from perdure.fetching.discovery.lookups import Lookup

MOST = 2000
_SHORTEST, _LONGEST = 5, 86_400
"""Seconds for which an answer is kept at least, and at most."""
_MOST_BYTES = 8 << 20


class KeptLookup(msgspec.Struct, frozen=True):
    """An answer of name servers, and the time until which it holds (seconds since 1970)."""

    until: float
    lookup: Lookup


class KeptHost(msgspec.Struct, frozen=True):
    """The address of the host of a series that confirmed it; empty if none did."""

    until: float
    base: str


class _Document(msgspec.Struct):
    version: int = 1
    lookups: dict[str, KeptLookup] = {}
    hosts: dict[str, KeptHost] = {}


def find_cache_file(environment: Mapping[str, str]) -> Path:
    """Return the usual place of the file (XDG Base Directory specification)."""
    home = environment.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(home) / "perdure" / "discovery.json"


class DiscoveryCache:
    """The answers that were learnt. Without a file, it is kept in memory only."""

    def __init__(self, file: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock
        self._known = _Document()
        self._is_changed = False
        if file is not None:
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                if file.stat().st_size <= _MOST_BYTES:
                    found = msgspec.json.decode(file.read_bytes(), type=_Document)
                    if found.version == 1:
                        self._known = found

    def find_lookup(self, owner: str, kind: str) -> Lookup | None:
        """Return the answer to a question that still holds."""
        kept = self._known.lookups.get(f"{kind} {owner}")
        return kept.lookup if kept is not None and kept.until > self._clock() else None

    def keep_lookup(self, lookup: Lookup) -> None:
        """Keep an answer for its lifetime. A failure is not kept."""
        if lookup.fault:
            return
        until = self._clock() + min(max(lookup.lifetime, _SHORTEST), _LONGEST)
        self._known.lookups[f"{lookup.kind} {lookup.owner}"] = KeptLookup(until, lookup)
        self._is_changed = True

    def find_host(self, series: str) -> str | None:
        """Return the address of the host of a series, empty if it has none, None if unknown."""
        kept = self._known.hosts.get(series)
        return kept.base if kept is not None and kept.until > self._clock() else None

    def keep_host(self, series: str, base: str, lifetime: int) -> None:
        """Keep the address of the host of a series, or that it has none (an empty text)."""
        until = self._clock() + min(max(lifetime, _SHORTEST), _LONGEST)
        self._known.hosts[series] = KeptHost(until, base)
        self._is_changed = True

    def save(self) -> None:
        """Write the file, if anything changed. A file that cannot be written is left as it is."""
        if self._file is None or not self._is_changed:
            return
        self._drop_outdated()
        data = msgspec.json.encode(self._known)
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                dir=self._file.parent, prefix=".discovery-", delete=False
            ) as file:
                file.write(data)
            Path(file.name).replace(self._file)
            self._is_changed = False

    def _drop_outdated(self) -> None:
        now = self._clock()
        lookups = {name: one for name, one in self._known.lookups.items() if one.until > now}
        hosts = {name: one for name, one in self._known.hosts.items() if one.until > now}
        latest = sorted(lookups.items(), key=lambda item: -item[1].until)[:MOST]
        self._known.lookups = dict(latest)
        self._known.hosts = dict(sorted(hosts.items(), key=lambda item: -item[1].until)[:MOST])
