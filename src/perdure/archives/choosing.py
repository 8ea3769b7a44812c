"""Choose the capture that replay, Memento, page lists and extraction use for a URI at a time.

How it works: `perdure.archives.pwid.verdict` judges by the index alone: the nearest in time among
all spellings of the URI, then the requested spelling. Two facts are not in the index. A capture may
redirect to the very URI that was asked for (`http://a/` to `https://a/`, recorded under one
canonical key), and its record may be damaged. If the first choice is such a capture, the captures
around it are tried in the same order until one is sound.

What must stay true: following the redirects and resources of a page never leads back to a redirect
to itself; a damaged capture is chosen only if there is no intact one; a PWID is still answered by
its exact capture, whatever that is.  # ruling: capture-choice
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice, takewhile

import msgspec

from perdure.archives.index.ranges import IndexRange, walk_outwards
from perdure.archives.opening import REDIRECTS, find_redirect_target
from perdure.archives.port import ArchiveFiles, Capture, Captures
from perdure.archives.pwid.verdict import (
    CaptureVerdict,
    Judgement,
    WantedCapture,
    is_same_uri,
    judge_capture,
    judge_evidence,
    look_up_evidence,
    measure_delta,
    rank_distance,
    suits_coverage,
)
from perdure.ids.urlkey import make_url_key

_MOST_SEARCHED = 4096  # captures around one that cannot be used
_MOST_OPENED = 256  # redirects among them


def choose_capture(captures: Captures, files: ArchiveFiles, wanted: WantedCapture) -> Judgement:
    """Return the verdict on the best usable capture of a URI; `absent` if the URI has none."""
    judgement = judge_evidence(wanted, look_up_evidence(captures, wanted), nearest=True)
    if judgement.capture is None:
        return judgement

    def is_sound(capture: Capture) -> bool:
        return not files.is_damaged(capture) and not _leads_back(captures, files, capture, wanted)

    def leads_on(capture: Capture) -> bool:
        return not _leads_back(captures, files, capture, wanted)

    fits = tuple(one for one in judgement.fits if is_sound(one))
    if fits:
        return msgspec.structs.replace(judgement, capture=fits[0], fits=fits)
    if not judgement.fits and is_sound(judgement.capture):
        return judgement
    for is_usable in (is_sound, leads_on):
        found = _find_nearest(captures, wanted, is_usable)
        if found is not None:
            return judge_capture(wanted, found)
    if judgement.fits:  # it redirects to itself, and there is nothing else
        return judgement
    return Judgement(verdict=CaptureVerdict.ABSENT, offered=(judgement.capture,))


def prefer_intact(files: ArchiveFiles, judgement: Judgement) -> Judgement:
    """Return the same judgement with the intact ones of several fitting captures first."""
    fits = tuple(sorted(judgement.fits, key=files.is_damaged))
    if len(fits) < 2 or judgement.capture != judgement.fits[0]:
        return judgement
    return msgspec.structs.replace(judgement, capture=fits[0], fits=fits)


def _leads_back(
    captures: Captures, files: ArchiveFiles, capture: Capture, wanted: WantedCapture
) -> bool:
    """Return whether a capture redirects to the URI that was asked for, or to itself."""
    if capture.status not in REDIRECTS:
        return False
    target = find_redirect_target(captures, files, capture)
    asked = (wanted.uri, capture.uri)
    return any(is_same_uri(uri.partition("#")[0], target) for uri in asked)


def _find_nearest(
    captures: Captures, wanted: WantedCapture, is_usable: Callable[[Capture], bool]
) -> Capture | None:
    """Return the best usable capture with the canonical key of the request, or None."""
    key = make_url_key(wanted.uri)
    around = walk_outwards(
        captures, IndexRange(f"{key} ", f"{key}!"), wanted.first, wanted.last, batch=64
    )
    suited = (one for one in islice(around, _MOST_SEARCHED) if suits_coverage(wanted.coverage, one))
    tried = _limit_redirects(suited)
    first = next((one for one in tried if is_usable(one)), None)
    if first is None:
        return None
    distance = abs(measure_delta(wanted, first))
    equal = takewhile(lambda one: abs(measure_delta(wanted, one)) == distance, tried)
    return min(
        (first, *(one for one in equal if is_usable(one))),
        key=lambda one: rank_distance(wanted, one),
    )


def _limit_redirects(found: Iterable[Capture]) -> Iterable[Capture]:
    """Yield captures until `_MOST_OPENED` redirects, whose records must be opened, were tried."""
    opened = 0
    for one in found:
        opened += one.status in REDIRECTS
        if opened > _MOST_OPENED:
            return
        yield one
