"""Verdicts on citations of text over HTTP, against the part that is quoted.

A verdict reads two documents, so it may take twice as long as the cited part takes by itself. What
counts is the processor time of the server for one answer. Both documents have an index.
"""

from __future__ import annotations

import http.client
import random
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.fixture import SERIES
from benchmarks.measure import Ratio, show
from benchmarks.servers import Server, perdure
from perdure.model.commands import Mint
from perdure.registry import Registry, initialise
from perdure.storage.spool import make_content

_LENGTHS = (100, 2_000, 50_000)  # characters of a quotation
_WORDS = 200_000  # of each document
_ASKED = 50
_ROUNDS = 3
_TWICE = 2


def run() -> list[Ratio]:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "registry"
        initialise(root, series=(SERIES,))
        with Registry(root) as registry:
            targets = {length: _write(registry, length) for length in _LENGTHS}
        with perdure(root) as server:
            return [_measure(server, *targets[length]) for length in _LENGTHS]


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
