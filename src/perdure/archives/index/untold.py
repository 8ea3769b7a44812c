"""Find the methods of requests that an index of an earlier release did not keep.

How it works: a file that such a release added has its requests and responses in the index, but not
which method a response answers. Until `perdure archive reindex` reads the file again, the requests
of the same URL in this file, up to an hour before and after, are read when a response is looked up,
and paired with it as when a file is added.

What must stay true: an answer to POST is never taken for one to GET: if the requests cannot be
read, the response is left out; an index of this release costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from perdure.archives.files import careful
from perdure.archives.files.pairing import ANSWERS, pair_requests
from perdure.archives.files.windows import DamagedBytes, detect_codec
from perdure.archives.index import ranges
from perdure.archives.index.sqlite_index import SqliteCaptures
from perdure.archives.port import Capture, Captures
from perdure.errors import PerdureError

_NEAR = timedelta(hours=1)
_MOST = 128
"""Records of one URL that are read for one response."""
_EXCHANGED = ("request", *ANSWERS)
_TIME = "%Y%m%d%H%M%S"


class ToldCaptures:
    """An index with the methods that it lacks; implements `perdure.archives.port.Captures`."""

    def __init__(self, captures: Captures, index: SqliteCaptures) -> None:
        self._captures = captures
        self._index = index

    def scan_range(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`."""
        found = self._captures.scan_range(low, high, backwards=backwards, limit=limit)
        outdated = self._index.list_outdated()
        if not outdated:
            return found
        told: list[Capture] = []
        walk = ranges.walk_range(
            self._captures, ranges.IndexRange(low, high), backwards=backwards, batch=limit
        )
        for one in walk:
            is_untold = one.file in outdated and one.kind in ANSWERS and not one.method
            known = self._find_method(one) if is_untold else one
            if known is not None:
                told.append(known)
                if len(told) == limit:
                    break
        return told

    def scan_by_request(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`. Those of outdated files are missing."""
        return self._captures.scan_by_request(low, high, backwards=backwards, limit=limit)

    def count_captures(self) -> int:
        return self._captures.count_captures()

    def _find_method(self, response: Capture) -> Capture | None:
        """Return a response with the method of its request; None if it is unknown."""
        near = self._list_neighbours(response)
        if not any(one.kind == "request" for one in near):
            return response
        try:
            met = [*self._read_records(near)]
        except (DamagedBytes, PerdureError, OSError, ValueError):
            return None
        for one in pair_requests(met):
            if isinstance(one, Capture) and one.offset == response.offset:
                return msgspec.structs.replace(
                    response, method=one.method, request_body=one.request_body
                )
        return None

    def _list_neighbours(self, response: Capture) -> list[Capture]:
        """Return the requests and responses of the same URL and file, and the response itself."""
        try:
            moment = datetime.strptime(response.time, _TIME)  # noqa: DTZ007  # all are UTC
            span = [f"{one:{_TIME}}".rjust(14, "0") for one in (moment - _NEAR, moment + _NEAR)]
        except (ValueError, OverflowError):
            span = [response.time, response.time]
        found = ranges.walk_range(
            self._captures, ranges.make_seconds_range(response.key, span[0], span[1])
        )
        near = [one for one in found if one.kind in _EXCHANGED and one.file == response.file]
        near.sort(key=lambda one: abs(one.offset - response.offset))
        return near[:_MOST]

    def _read_records(self, records: list[Capture]) -> Iterator[careful.Met]:
        """Read records of one file as when it is added. Raises ValueError if it is one stream."""
        place = self._index.find_place(records[0].file)
        if place is None or place.shared:
            raise ValueError(records[0].file)
        with place.open_window() as window:
            for one in sorted(records, key=lambda one: one.offset):
                codec, end = detect_codec(window, one.offset), one.offset + one.length
                yield from careful.read_records(window, codec, one.file, one.offset, end)
