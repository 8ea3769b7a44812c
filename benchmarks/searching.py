"""Searching among a million documents of 600 bytes: times, speed of indexing, size of the index.

How it works: the registry is made once and kept in benchmarks/out, which may be deleted at any
time; `PERDURE_BENCH_DOCUMENTS` sets another number of documents. Words are as frequent as in
English, and each document has one word of its own. A search is measured with its first ten
documents, their passages and the count, as a reader gets them; the median of several counts.

The times, the speed and the size are wanted, so those targets are absolute. Beside them, the same
texts are indexed by FTS5 with its usual tokenizer and content (what one writes with SQLite), and a
rare word is looked for by `grep` in one file with all texts.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from benchmarks.fixture import OUT, SERIES
from benchmarks.measure import Ratio, show
from perdure.model.commands import Mint
from perdure.model.queries import LOCAL_READER
from perdure.registry import Registry, initialise
from perdure.storage.spool import make_content
from perdure.upkeep.changes.following import catch_up
from perdure.upkeep.searching.asking import make_selection
from perdure.upkeep.searching.indexing import FILE, WordIndex
from perdure.upkeep.searching.updating import Searching

COUNT = int(os.environ.get("PERDURE_BENCH_DOCUMENTS", "1000000"))
_BYTES = 600
_VOCABULARY = 50_000
_POOL = 1_000_000  # words, of which each document has some in a row
_AT_ONCE = 1000
_COMPARED = 20_000  # documents that FTS5 alone indexes, too
_ROUNDS = 7
_WANTED = 10e6  # bytes/s
_MOST_INDEX = 0.8  # bytes of index for a byte of text
_LIMIT = 10

Texts = Iterator[str]


def run() -> list[Ratio]:
    root = OUT / f"searching-{COUNT}"
    words = _make_words()
    if not (root / FILE).parent.exists():
        _mint_documents(root, words)
    with Registry(root, environment={}) as registry:
        speed, length = _index_documents(registry)
        size = (root / FILE).stat().st_size
        searching = Searching(registry)
        rare = _name_word(COUNT // 3)
        searches = {
            "a rare word": (rare, 0.005),
            "a rare word of several documents": (words[-7], 0.005),
            "two words": (f"{words[400]} {words[3000]}", 0.05),
            "a common and a rare word": (f"{words[0]} {words[-9]}", 0.05),
            "two very common words": (f"{words[0]} {words[1]}", 0.05),
            "a phrase": (f'"{words[0]} {words[2]}"', 0.05),
            "a phrase of rarer words": (f'"{words[9]} {words[20]}"', 0.05),
            "a very common word": (words[0], 0.05),
            "the beginning of a word": (f"{words[200][:3]}*", 0.05),
            "one letter": (f"{words[0][:1]}*", 0.05),
        }
        rows = [_measure_search(searching, *one) for one in searches.items()]
    return [
        *rows,
        Ratio("indexing", speed, _WANTED, "bytes/s", speed / _WANTED, 1),
        Ratio("text for a byte of index", length / size, 1 / _MOST_INDEX, "bytes",
              _MOST_INDEX * length / size, 1),
        _compare_with_fts(root, words, speed),
        _compare_with_grep(root, words, searching_seconds=1 / rows[0].ours),
    ]  # fmt: skip


def _make_words() -> list[str]:
    """Words, the most frequent first."""
    choose = random.Random(2027)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    found: dict[str, None] = {}
    while len(found) < _VOCABULARY:
        length = choose.randint(1, 3) + len(found).bit_length() // 3
        found["".join(choose.choices(letters, range(26, 0, -1), k=length))] = None
    return list(found)


def _name_word(number: int) -> str:
    """The word that only one document has."""
    return f"n{number:x}z"


def _write_texts(words: list[str]) -> Texts:
    """The texts of all documents, in order."""
    choose = random.Random(1994)
    weights = [1 / (rank + 2) for rank in range(_VOCABULARY)]
    pool = choose.choices(words, weights, k=_POOL)
    for number in range(COUNT):
        at = choose.randrange(_POOL - _BYTES)
        yield f"{_name_word(number)} {' '.join(pool[at : at + 200])}"[:_BYTES]


def _mint_documents(root: Path, words: list[str]) -> None:
    root.parent.mkdir(parents=True, exist_ok=True)
    initialise(root, series=(SERIES,))

    async def mint(registry: Registry, texts: list[str]) -> None:
        contents = [make_content(one.encode(), format="text", media_type="text/plain")
                    for one in texts]  # fmt: skip
        commands = [Mint(authority=SERIES, contents=(one,)) for one in contents]
        await asyncio.gather(*map(registry.door.submit_command, commands))

    with Registry(root, environment={}) as registry:
        waiting: list[str] = []
        for one in _write_texts(words):
            waiting.append(one)
            if len(waiting) == _AT_ONCE:
                asyncio.run(mint(registry, waiting))
                waiting.clear()
        asyncio.run(mint(registry, waiting))
    (root / FILE).parent.mkdir()


def _index_documents(registry: Registry) -> tuple[float, int]:
    """Index all documents; the speed in bytes of text per second, and the length of the text."""
    index = WordIndex(registry)
    index.reset()
    start = time.process_time()
    for _ in catch_up(registry.records, index):
        pass
    seconds = time.process_time() - start
    length = index.words.measure_text()
    index.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    index.close()
    return length / seconds, length


def _measure_search(searching: Searching, name: str, asked: tuple[str, float]) -> Ratio:
    query, target = asked
    selection = make_selection(query)
    times = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        found = searching.search(selection, LOCAL_READER, limit=_LIMIT).page
        times.append(time.perf_counter() - start)
    median = statistics.median(times)
    print(f"  {query}: {found.count}{'+' if found.is_more else ''}, {median * 1000:.2f} ms, "
          f"first {times[0] * 1000:.2f} ms", file=sys.stderr)  # fmt: skip
    return Ratio(name, 1 / median, 1 / target, "searches/s", target / median, 1)


def _compare_with_fts(root: Path, words: list[str], speed: float) -> Ratio:
    """FTS5 with the usual tokenizer, which also keeps the texts; without a registry around it."""
    path = root / "compared.sqlite"
    path.unlink(missing_ok=True)
    database = apsw.Connection(str(path))
    database.pragma("journal_mode", "wal")
    database.execute("CREATE VIRTUAL TABLE words USING fts5 (text)")
    texts = [one for one, _ in zip(_write_texts(words), range(_COMPARED), strict=False)]
    start = time.process_time()
    for at in range(0, len(texts), _AT_ONCE):
        with database:
            rows = ((one,) for one in texts[at : at + _AT_ONCE])
            database.executemany("INSERT INTO words VALUES (?)", rows)
    theirs = sum(map(len, texts)) / (time.process_time() - start)
    database.close()
    path.unlink()
    return Ratio("indexing, beside FTS5 alone", speed, theirs, "bytes/s", speed / theirs, 0.25)


def _compare_with_grep(root: Path, words: list[str], *, searching_seconds: float) -> Ratio:
    path = root / "texts.txt"
    if not path.exists():
        with path.open("w") as file:
            file.writelines(f"{one}\n" for one in _write_texts(words))
    command = ["grep", "-c", "-w", _name_word(COUNT // 3), str(path)]
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={"LC_ALL": "C"})
        times.append(time.perf_counter() - start)
    seconds = statistics.median(times)
    return Ratio("a rare word, beside grep", 1 / searching_seconds, 1 / seconds, "searches/s",
                 seconds / searching_seconds, 10)  # fmt: skip


if __name__ == "__main__":
    sys.exit(0 if show(run()) else 1)
