"""Runs of packed fingerprints: what is written, merged and overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

np = pytest.importorskip("numpy")

from perdure.upkeep.quotations.packing import (  # noqa: E402  (needs numpy)
    WIDEST,
    PackedValues,
    PackedWriter,
    measure_packed,
)
from perdure.upkeep.quotations.runs import (  # noqa: E402
    STRETCH,
    FingerprintRun,
    Postings,
    RunUnreadable,
    blank_postings,
    merge_runs,
    write_run,
)


@given(st.data(), st.integers(1, WIDEST), st.integers(0, 40), st.integers(0, 40))
def test_packed_values_are_read_at_any_place(
    data: st.DataObject, width: int, first: int, second: int
) -> None:
    """ "The first value is in the lowest bits"; judged by the integers of Python."""
    values = data.draw(
        st.lists(st.integers(0, (1 << width) - 1), min_size=first + second, max_size=first + second)
    )
    written = bytearray()
    writer = PackedWriter(written.extend, width)
    writer.add(np.array(values[:first], dtype=np.uint64))
    writer.add(np.array(values[first:], dtype=np.uint64))
    writer.finish()
    assert len(written) == measure_packed(len(values), width)
    whole = sum(value << number * width for number, value in enumerate(values))
    assert int.from_bytes(written, "little") == whole
    packed = PackedValues(np.frombuffer(written, dtype=np.uint8), width)
    assert packed.read(np.arange(len(values))).tolist() == values
    replaced = [(1 << width) - 1 - value for value in values[first:]]
    packed.overwrite(first, np.array(replaced, dtype=np.uint64))
    assert packed.read(np.arange(len(values))).tolist() == values[:first] + replaced


def write_runs(directory: Path, seed: int) -> list[tuple[int, int, int]]:
    """Write runs of random postings of the documents 1, 2 and 3, one in each, and return them."""
    choose = np.random.default_rng(seed)
    stored = []
    for number in (1, 2, 3):
        count = int(choose.integers(1, 500))
        columns = choose.integers(0, 32, count).astype(np.uint64) << np.uint64(35)
        postings = Postings(
            columns | choose.integers(0, 3, count).astype(np.uint64),
            np.full(count, number, dtype=np.uint32),
            choose.integers(0, 1 << 20, count).astype(np.uint32),
        )
        assert write_run(directory / f"{number}", postings) == count
        stored.append(postings)
    rows = (row for one in stored for row in zip(*(c.tolist() for c in one), strict=True))
    return [(wanted, number, place // STRETCH) for wanted, number, place in rows]


def check_run(path: Path, kept: list[tuple[int, int, int]]) -> None:
    """Find each fingerprint of a run with exactly the documents and stretches that have it."""
    run = FingerprintRun(path)
    for wanted in {row[0] for row in kept} | {7, (1 << 40) - 1}:
        (start,), (stop,) = run.find_bounds(np.array([wanted], dtype=np.uint64))
        documents, stretches = run.read_postings(np.arange(start, stop))
        found = sorted(zip(documents.tolist(), stretches.tolist(), strict=True))
        expected = sorted(row[1:] for row in kept if row[0] == wanted)
        assert [one for one in found if one[0]] == expected


@pytest.mark.parametrize("seed", range(5))
def test_a_run_has_the_postings_that_were_written_and_merged(tmp_path: Path, seed: int) -> None:
    stored = write_runs(tmp_path, seed)
    merged = [FingerprintRun(tmp_path / f"{number}") for number in (1, 2, 3)]
    kept = [row for row in stored if row[1] != 2]
    assert merge_runs(tmp_path / "all", merged, {2}) == len(kept)
    check_run(tmp_path / "all", kept)


@pytest.mark.parametrize("seed", range(5))
def test_a_run_has_all_postings_but_those_that_were_overwritten(tmp_path: Path, seed: int) -> None:
    """The others are found as before, and the next merge drops what is left of them."""
    stored = write_runs(tmp_path, seed)
    merge_runs(tmp_path / "all", [FingerprintRun(tmp_path / name) for name in "123"])
    kept = [row for row in stored if row[1] != 2]
    for _ in range(2):
        blank_postings(tmp_path / "all", {2, 7})
        check_run(tmp_path / "all", kept)
    blank_postings(tmp_path / "1", {1})
    assert FingerprintRun(tmp_path / "1").count == sum(row[1] == 1 for row in stored)
    assert merge_runs(tmp_path / "again", [FingerprintRun(tmp_path / "all")]) == len(kept)
    check_run(tmp_path / "again", kept)
    assert merge_runs(tmp_path / "none", [FingerprintRun(tmp_path / "1")]) == 0
    blank_postings(tmp_path / "none", {1})


def test_a_posting_of_a_large_run_needs_five_bytes(tmp_path: Path) -> None:
    """ "≤ 0.5 B per byte of text": CJK has a fingerprint for every 12 bytes of UTF-8 or so."""
    choose = np.random.default_rng(17)
    count, documents = 300_000, 50
    postings = Postings(
        choose.integers(0, 1 << 40, count).astype(np.uint64),
        np.sort(choose.integers(1, documents, count)).astype(np.uint32),
        choose.integers(0, 4 * count // documents, count).astype(np.uint32),
    )
    write_run(tmp_path / "run", postings)
    assert (tmp_path / "run").stat().st_size < 5.1 * count


@pytest.mark.parametrize("damage", [b"", b"PERDURE\x01", b"PERDURE\x02" + b"\xff" * 40])
def test_what_is_no_complete_run_is_refused(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "run"
    path.write_bytes(damage)
    with pytest.raises(RunUnreadable):
        FingerprintRun(path)
