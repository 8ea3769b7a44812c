"""An index in memory, for tests: a sorted list that fulfils `perdure.archives.port.Captures`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from perdure.archives.dates import parse_second
from perdure.archives.index.cdxj import format_listed_place, is_moved
from perdure.archives.port import Capture
from perdure.ids.urlkey import make_url_key


def capture(uri: str, date: str, **fields: object) -> Capture:
    """A capture as an index would have it."""
    given = {"kind": "response", "media_type": "text/html", "status": 200, "file": "a.warc.gz"}
    return Capture(
        **given
        | {"key": make_url_key(uri), "time": parse_second(date), "date": date, "uri": uri}
        | fields  # type: ignore[arg-type]
    )


class SortedCaptures:
    """Captures in order."""

    def __init__(self, captures: Iterable[Capture]) -> None:
        self.all = sorted(captures, key=lambda one: (_place(one), one.date, one.file, one.offset))
        self._places = [_place(one) for one in self.all]
        self._moved = sorted(
            (one for one in self.all if is_moved(one)),
            key=lambda one: (format_listed_place(one), one.date, one.file, one.offset),
        )
        self.read = 0

    def scan_range(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        return self._scan(self.all, self._places, low, high, backwards=backwards, limit=limit)

    def scan_by_request(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        places = [format_listed_place(one) for one in self._moved]
        return self._scan(self._moved, places, low, high, backwards=backwards, limit=limit)

    def _scan(
        self, held: list[Capture], places: list[str], low: str, high: str,
        *, backwards: bool, limit: int,
    ) -> list[Capture]:  # fmt: skip
        start, stop = bisect_left(places, low), bisect_left(places, high)
        if backwards:
            found = held[max(start, stop - limit) : stop][::-1]
        else:
            found = held[start : min(stop, start + limit)]
        self.read += len(found)
        return found

    def count_captures(self) -> int:
        return len(self.all)


def _place(capture: Capture) -> str:
    return f"{capture.key} {capture.time}"
