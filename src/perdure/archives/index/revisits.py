"""Find the originals of revisits: captures whose payload is stored with an earlier capture.

How it works: `WARC-Refers-To-Target-URI` and `WARC-Refers-To-Date` name the earlier capture, of
the same URL or another one. Records of older crawlers have neither, or a wrong date. Then the
earlier captures of the same URL are searched for the same payload digest, nearest first.

What must stay true: a payload is taken from another capture only if nothing shows that it differs:
digests of the same algorithm must be equal. A missing original is reported, never replaced.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Iterable, Iterator

import msgspec

from perdure.archives import digests
from perdure.archives.dates import parse_second
from perdure.archives.index import ranges
from perdure.archives.port import ArchiveFiles, Capture, Captures
from perdure.errors.limits import RevisitsTooMany
from perdure.ids.urlkey import make_url_key

MOST_SEARCHED = 4096
"""Captures of one URL that are searched on either side."""
MOST_SEARCHES = 200
"""Revisits of one listing whose originals must be searched, because nothing refers to them."""
_REMEMBERED = 10_000
_WITH_PAYLOAD = ("response", "resource", "conversion")


class PayloadSource(enum.StrEnum):
    """The source of a capture's payload."""

    ITS_OWN = "its own"
    SAME_URL = "revisit of the same URL"
    OTHER_URL = "revisit of another URL"
    MISSING = "revisit whose original is missing"


class Original(msgspec.Struct, frozen=True, kw_only=True):
    """The capture that has the payload of another."""

    how: PayloadSource
    capture: Capture | None = None
    """None if the original is missing."""
    wanted: str = ""
    """The original that was searched for, if it is missing."""


class ResolvedCapture(Capture, frozen=True, kw_only=True, gc=False):
    """A capture in a listing, with its original if that is another capture."""

    original: Capture | None = None


def resolve_revisits(captures: Captures, found: Iterable[Capture]) -> Iterator[Capture]:
    """Yield the captures of a listing, revisits with their originals if these exist.

    Originals that were listed before are not looked up again. Raises OverBudget, perhaps after some
    of the captures.
    """
    met: OrderedDict[str, Capture | None] = OrderedDict()
    searches = 0
    for one in found:
        if one.kind != "revisit":
            if one.digest and one.kind in _WITH_PAYLOAD:
                met.setdefault(one.digest, one)
            yield _attach_original(one, None)
            continue
        its = _find_referred(captures, one) or met.get(one.digest)
        if its is None and one.digest and one.digest not in met:
            searches += 1
            if searches > MOST_SEARCHES:
                raise RevisitsTooMany(most=MOST_SEARCHES)
            its = met[one.digest] = _find_same_digest(captures, one)
        yield _attach_original(one, its)
        while len(met) > _REMEMBERED:
            met.popitem(last=False)


def _attach_original(capture: Capture, its: Capture | None) -> ResolvedCapture:
    return ResolvedCapture(**msgspec.structs.asdict(capture), original=its)


def find_original(
    captures: Captures, capture: Capture, files: ArchiveFiles | None = None
) -> Original:
    """Find the capture that has the payload of this one; usually it is the capture itself.

    With `files`, an intact original is preferred to a damaged copy of it.
    """
    if capture.kind != "revisit":
        return Original(how=PayloadSource.ITS_OWN, capture=capture)
    found = _find_referred(captures, capture, files) or _find_same_digest(captures, capture)
    if found is None:
        wanted = capture.refers_to_uri or capture.uri
        if capture.refers_to_date:
            wanted = f"{wanted} at {capture.refers_to_date}"
        if capture.digest:
            wanted = f"{wanted} with {capture.digest}"
        return Original(how=PayloadSource.MISSING, wanted=wanted)
    same = found.key == capture.key
    return Original(how=PayloadSource.SAME_URL if same else PayloadSource.OTHER_URL, capture=found)


def _find_referred(
    captures: Captures, capture: Capture, files: ArchiveFiles | None = None
) -> Capture | None:
    """Find the capture to which the record itself refers."""
    uri = capture.refers_to_uri or capture.uri
    try:
        time = parse_second(capture.refers_to_date)
    except ValueError:
        return None
    within = ranges.make_seconds_range(make_url_key(uri), time, time)
    candidates = [
        one for one in ranges.walk_range(captures, within) if _can_be_original(capture, one)
    ]
    several = len(candidates) > 1
    candidates.sort(
        key=lambda one: (
            several and files is not None and files.is_damaged(one),
            one.method != capture.method,
            one.uri != uri,
            one.file != capture.file,
        )
    )
    return candidates[0] if candidates else None


def _find_same_digest(captures: Captures, capture: Capture) -> Capture | None:
    """Find an earlier capture of a URL with the same payload, or else a later one."""
    if not capture.digest:
        return None
    keys = dict.fromkeys((make_url_key(capture.refers_to_uri or capture.uri), capture.key))
    for key in keys:
        whole = ranges.IndexRange(f"{key} ", f"{key}!")
        here = f"{key} {capture.time}"
        for low, high, backwards in ((whole.low, f"{here}~", True), (here, whole.high, False)):
            for searched, one in enumerate(
                ranges.walk_range(captures, ranges.IndexRange(low, high), backwards=backwards)
            ):
                if searched == MOST_SEARCHED:
                    break
                if one.kind in _WITH_PAYLOAD and digests.compare_digests(
                    one.digest, capture.digest
                ):
                    return one
    return None


def _can_be_original(revisit: Capture, one: Capture) -> bool:
    return one.kind in _WITH_PAYLOAD and (
        not revisit.digest
        or not one.digest
        or digests.compare_digests(revisit.digest, one.digest) is not False
    )
