"""Fingerprints of texts: speed on one core and bytes of an index, and the same in plain Python.

How it works: the text is made, of words as frequent as in English. `hash` of tuples of words and a
loop over the windows is what one writes in Python; it does the same work. The speed of 25 MB/s and
the half byte of index for a byte of text are the issue's, so those targets are absolute. An entry
of an index has 5 bytes of fingerprint, 4 of document and 4 of place.
"""

from __future__ import annotations

import random
import re
import sys
import time

from benchmarks.measure import Ratio, compare, show
from perdure.upkeep.quotations.fingerprints import WORDS, find_fingerprints
from perdure.upkeep.quotations.words import fold_text

_WORDS = 400_000
_VOCABULARY = 20_000
_WANTED = 25e6  # bytes/s
_ENTRY = 13  # bytes
_MOST_INDEX = 0.5  # bytes of index for a byte of text
_ROUNDS = 5


def run() -> list[Ratio]:
    text = _make_text()
    size = len(text.encode())
    beside = compare(
        "fingerprints, beside Python",
        lambda: find_fingerprints(fold_text(text).words),
        lambda: _choose_plainly(text),
        work=size,
        unit="bytes/s",
        target=5,
        rounds=_ROUNDS,
    )
    start = time.process_time()
    prints = find_fingerprints(fold_text(text).words).prints
    speed = size / (time.process_time() - start)
    index = len(prints) * _ENTRY / size
    return [
        beside,
        Ratio("fingerprints", speed, _WANTED, "bytes/s", speed / _WANTED, 1),
        Ratio(
            "text for a byte of index", 1 / index, 1 / _MOST_INDEX, "bytes", _MOST_INDEX / index, 1
        ),
    ]


def _make_text() -> str:
    choose = random.Random(2003)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = [
        "".join(choose.choices(letters, range(26, 0, -1), k=choose.randint(2, 9)))
        for _ in range(_VOCABULARY)
    ]
    weights = [1 / (rank + 3) for rank in range(_VOCABULARY)]
    chosen = choose.choices(words, weights, k=_WORDS)
    return "\n".join(" ".join(chosen[at : at + 12]) for at in range(0, _WORDS, 12))


def _choose_plainly(text: str) -> set[tuple[int, int]]:
    words = re.findall(r"\w+", text.casefold())
    size, window = WORDS
    runs = [(hash(tuple(words[at : at + size])), -at) for at in range(len(words) - size + 1)]
    return {min(runs[at : at + window]) for at in range(len(runs) - window + 1)}


if __name__ == "__main__":
    sys.exit(0 if show(run()) else 1)
