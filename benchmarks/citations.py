"""Verdicts on citations of text over HTTP, against the part that is quoted, and who cites.

A verdict reads two documents, so it may take twice as long as the cited part takes by itself. The
first page of who cites a document has a hundred citations by as many documents, and may take five
milliseconds. What counts is the processor time of the server for one answer. Both documents of a
verdict have an index.
"""

from __future__ import annotations

import http.client
import random
import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.fixture import SERIES
from benchmarks.measure import Ratio, show
from benchmarks.servers import Server, perdure
from perdure.model.commands import Mint
from perdure.registry import Registry, initialise
from perdure.storage.spool import make_content
from perdure.upkeep.citations.citation_index import CitationIndex
from perdure.upkeep.indexing import bring_up_to_date

_LENGTHS = (100, 2_000, 50_000)  # characters of a quotation
_WORDS = 200_000  # of each document
_ASKED = 50
_ROUNDS = 3
_TWICE = 2
_CITING = 400  # documents that cite one
_EACH = 20  # citations of it in each
_PAGE = 100
_MOST_SECONDS = 5e-3  # for the first page


def run() -> list[Ratio]:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "registry"
        initialise(root, series=(SERIES,))
        with Registry(root) as registry:
            targets = {length: _write(registry, length) for length in _LENGTHS}
            cited = _write_citing(registry)
            with closing(CitationIndex(registry)) as index:
                bring_up_to_date(index)
        with perdure(root) as server:
            rows = [_measure(server, *targets[length]) for length in _LENGTHS]
            return [*rows, _measure_page(server, cited)]


def _write_citing(registry: Registry) -> str:
    """Keep documents that cite one; return the path of its citations."""
    cited = _keep(registry, "cited " * 1000)
    for number in range(_CITING):
        lines = (f"See {cited}#char={at},{at + 40} again." for at in range(number, number + _EACH))
        _keep(registry, "\r\n".join(lines))
    return f"/{cited}?citedby&limit={_PAGE}"


def _measure_page(server: Server, target: str) -> Ratio:
    _cost(server, target)
    cost = statistics.median(_cost(server, target) for _ in range(_ROUNDS))
    return Ratio(
        name=f"the first {_PAGE} of {_CITING * _EACH} citations : {_MOST_SECONDS * 1e3:.0f} ms",
        ours=1 / cost,
        other=1 / _MOST_SECONDS,
        unit="answers/CPU-s",
        ratio=_MOST_SECONDS / cost,
        target=1,
    )


def _write(registry: Registry, length: int) -> tuple[int, str, str]:
    """Keep a speech and a memorandum that quotes it; return the paths of part and citation."""
    choose = random.Random(length)
    words = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "by", "itself"]
    speech = " ".join(choose.choices(words, k=_WORDS))
    start = len(speech) // 2
    quoted = speech[start : start + length]
    before, after = ("\r\n".join(choose.choices(words, k=_WORDS // 2)) for _ in range(2))
    memo = f"{before} says: {quoted} and {after}"
    names = [_keep(registry, text) for text in (speech, memo)]
    part = f"{names[0]}%23char={start},{start + length}"
    return length, f"/{part}", f"/{names[1]}@{memo.index(quoted)}={part}"


def _keep(registry: Registry, text: str) -> str:
    content = make_content(
        text.encode(), format="text", media_type="text/plain", charset="us-ascii"
    )
    receipt = registry.door.execute_command(Mint(authority=SERIES, contents=(content,)))
    return str(receipt.identifier)


def _measure(server: Server, length: int, part: str, citation: str) -> Ratio:
    report = f"{citation}?info"
    _cost(server, part), _cost(server, report)  # the first time, indexes are made
    pairs = [(_cost(server, part), _cost(server, report)) for _ in range(_ROUNDS)]
    return Ratio(
        name=f"verdict on {length} characters : twice the part",
        ours=1 / statistics.median(ours for _, ours in pairs),
        other=1 / statistics.median(_TWICE * own for own, _ in pairs),
        unit="answers/CPU-s",
        ratio=statistics.median(_TWICE * own / ours for own, ours in pairs),
        target=1,
    )


def _cost(server: Server, target: str) -> float:
    """Return the seconds of processor that the server needs for one answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    before = server.seconds()
    for _ in range(_ASKED):
        connection.request("GET", target)
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{target}: {answer.status}")
    connection.close()
    return max((server.seconds() - before) / _ASKED, 1e-5)


if __name__ == "__main__":
    sys.exit(not show(run()))
