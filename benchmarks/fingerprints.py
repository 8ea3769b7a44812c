"""Fingerprints of texts: speed on one core and bytes of an index, and the same in plain Python.

How it works: the texts are made, of words as frequent as in English, and of characters as frequent
as in Chinese. `hash` of tuples of words and a loop over the windows is what one writes in Python;
it does the same work. The speed of 25 MB/s and the half byte of index for a byte of text are the
issue's, so those targets are absolute. The index is a run as the registry writes it, of documents
of 20,000 characters.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import Ratio, compare, show
from perdure.upkeep.quotations.fingerprints import (
    CHARACTERS,
    WORDS,
    Winnowing,
    find_fingerprints,
)
from perdure.upkeep.quotations.runs import Postings, write_run
from perdure.upkeep.quotations.words import FoldedWords, fold_text

_WORDS = 400_000
_VOCABULARY = 20_000
_WANTED = 25e6  # bytes/s
_IDEOGRAPHS = range(0x4E00, 0x4E00 + 6_000)
_CHARACTERS = 1_000_000
_DOCUMENT = 20_000  # characters
_SMALL = 4000  # characters of a small page
_MOST_INDEX = 0.5  # bytes of index for a byte of text
_ROUNDS = 5


def run() -> list[Ratio]:
    text, ideographs = _make_text(), _make_ideographs()
    beside = compare(
        "fingerprints, beside Python",
        lambda: find_fingerprints(fold_text(text).words),
        lambda: _choose_plainly(text),
        work=len(text.encode()),
        unit="bytes/s",
        target=5,
        rounds=_ROUNDS,
    )
    return [
        beside,
        _measure_speed("fingerprints", text, WORDS),
        _measure_speed("fingerprints of CJK", ideographs, CHARACTERS),
        _measure_small("fingerprints of small pages", text),
        _measure_small("fingerprints of small pages with accents", _add_accents(text)),
        _measure_index("text for a byte of index", text, WORDS),
        _measure_index("CJK for a byte of index", ideographs, CHARACTERS),
    ]


def _measure_speed(name: str, text: str, rule: Winnowing) -> Ratio:
    costs = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        find_fingerprints(_fold(text, rule), rule)
        costs.append(time.process_time() - start)
    speed = len(text.encode()) / min(costs)
    return Ratio(name, speed, _WANTED, "bytes/s", speed / _WANTED, 1)


def _add_accents(text: str) -> str:
    """Write an accent in every tenth word that can have one."""
    words = text.split(" ")
    plain = [at for at, word in enumerate(words) if "e" in word]
    for at in plain[::10]:
        words[at] = words[at].replace("e", "é")
    return " ".join(words)


def _measure_small(name: str, text: str) -> Ratio:
    """Measure pages of 4,000 characters, each of which is a document."""
    pages = [text[at : at + _SMALL] for at in range(0, len(text), _SMALL)]
    costs = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        for page in pages:
            find_fingerprints(fold_text(page).words)
        costs.append(time.process_time() - start)
    speed = len(text.encode()) / min(costs)
    return Ratio(name, speed, _WANTED, "bytes/s", speed / _WANTED, 1)


def _measure_index(name: str, text: str, rule: Winnowing) -> Ratio:
    found = []
    for number, start in enumerate(range(0, len(text), _DOCUMENT), 1):
        words = _fold(text[start : start + _DOCUMENT], rule)
        prints, places = find_fingerprints(words, rule)
        numbers = np.full(len(prints), number, dtype=np.uint32)
        found.append((prints, numbers, words.starts[places]))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run"
        write_run(path, Postings(*(np.concatenate(one) for one in zip(*found, strict=True))))
        index = path.stat().st_size / len(text.encode())
    return Ratio(name, 1 / index, 1 / _MOST_INDEX, "bytes", _MOST_INDEX / index, 1)


def _fold(text: str, rule: Winnowing) -> FoldedWords:
    folded = fold_text(text)
    return folded.words if rule is WORDS else folded.characters


def _make_ideographs() -> str:
    choose = random.Random(2003)
    weights = [1 / (rank + 3) for rank in range(len(_IDEOGRAPHS))]
    chosen = "".join(map(chr, choose.choices(_IDEOGRAPHS, weights, k=_CHARACTERS)))
    return "。\n".join(chosen[at : at + 30] for at in range(0, _CHARACTERS, 30))


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
