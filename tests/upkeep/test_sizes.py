"""A registry of a hundred million names on one machine: what it takes is bounded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from benchmarks import servers, sizes
from tests.trials import Tally

COUNT = int(os.environ.get("PERDURE_TRIAL_NAMES", "100000000"))
LONGEST_NAME = 250  # bytes of the registry
MOST_MEMORY = 300  # megabytes of the server's own


@pytest.mark.trial
def test_a_hundred_million_names(tmp_path: Path, tally: Tally) -> None:
    """Takes about an hour on two cores, and 60 GB of disk. `PERDURE_TRIAL_NAMES` sets another
    number of names."""
    free, needed = shutil.disk_usage(tmp_path).free, sizes.needed_bytes(COUNT)
    if free < needed:
        pytest.skip(f"{COUNT:,} names take {needed:,} bytes of disk; {free:,} are free")
    try:
        servers.need("wrk")
    except servers.Missing as missing:
        pytest.skip(str(missing))
    tally.show(f"{COUNT:,} names are imported, read, verified and backed up; 10⁸ take an hour")
    figures = sizes.measure_size(COUNT, tmp_path / "size")
    tally.show(sizes.write_row(figures))
    tally.add("names", COUNT)
    assert figures.bytes <= LONGEST_NAME
    assert figures.memory <= MOST_MEMORY
    assert list(tmp_path.iterdir()) == []
