"""Give responses the method of their requests, which are records of their own.

How it works: a request and its response name each other with `WARC-Concurrent-To`; records of early
writers that lack it follow each other. Either may come first, with other records between them. So
the last `_NEAR` records wait here until their request has been met. A response without a request
is taken for one to GET.

What must stay true: records and flaws are yielded in the order of the file, each once.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator

import msgspec

from perdure.archives.files.careful import Flaw, Met
from perdure.archives.port import Capture

_NEAR = 64  # records
ANSWERS = ("response", "revisit")


def pair_requests(records: Iterable[Met]) -> Iterator[Met]:
    """Yield the records of a file; responses have the method and the body of their request."""
    waiting: deque[Met] = deque()
    requests: OrderedDict[str, Capture] = OrderedDict()
    previous: Capture | None = None  # the record before, if it is not yet one of a pair
    for met in records:
        found = met
        if isinstance(met, Capture):
            # Nearly all records name their pair, so this is seldom more than two comparisons.
            pair = (
                previous is not None
                and not met.concurrent_to
                and not previous.concurrent_to
                and _are_neighbours(previous, met)
            )
            if met.kind == "request":
                if met.method:
                    _complete_waiting(waiting, met, previous if pair else None)
                    requests |= {met.id: met, met.concurrent_to: met}
                    while len(requests) > 2 * _NEAR:
                        requests.popitem(last=False)
            elif met.kind in ANSWERS:
                request = previous if pair else _find_named(met, requests) if requests else None
                found = _complete_response(met, request) if request else met
            previous = None if pair else met
        elif not isinstance(met, Flaw):
            previous = None
        waiting.append(found)
        if len(waiting) > _NEAR:
            yield waiting.popleft()
    yield from waiting


def _find_named(response: Capture, requests: OrderedDict[str, Capture]) -> Capture | None:
    """Return the earlier request that names a response, or that the response names."""
    for name in (response.id, response.concurrent_to):
        found = requests.get(name) if name else None
        if found is not None and found.uri == response.uri:
            return found
    return None


def _complete_waiting(waiting: deque[Met], request: Capture, neighbour: Capture | None) -> None:
    """Complete the response of a request, if it is waiting."""
    for place, met in enumerate(waiting):
        if not isinstance(met, Capture) or met.kind not in ANSWERS or met.uri != request.uri:
            continue
        if (
            met is neighbour
            or (met.id and met.id == request.concurrent_to)
            or (request.id and request.id == met.concurrent_to)
        ):
            waiting[place] = _complete_response(met, request)


def _are_neighbours(one: Capture, other: Capture) -> bool:
    """Return whether two records that follow each other, and name none, are of one exchange."""
    kinds = {one.kind, other.kind}
    return (
        "request" in kinds
        and not kinds.isdisjoint(ANSWERS)
        and (one.uri, one.date) == (other.uri, other.date)
    )


def _complete_response(response: Capture, request: Capture) -> Capture:
    if not request.method:
        return response
    return msgspec.structs.replace(
        response, method=request.method, request_body=request.request_body
    )
