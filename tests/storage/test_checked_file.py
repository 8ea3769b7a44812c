"""Small files with a checksum: a damaged byte never changes what they say."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from perdure.errors import Corrupt
from perdure.storage import fence, handover
from perdure.storage.fence import Fence
from perdure.storage.handover import Handover

FENCE = Fence(day="2026/11/22", since="2026/11/21", highest={"a.us": 7}, lost={"b.us": 9})
HANDOVER = Handover(days=(("2026/11/21", "2026/11/22"),), highest={"2026/11/22": {"a.us": 7}})


@pytest.mark.parametrize("bit", range(8))
def test_no_damaged_bit_opens_a_day(tmp_path: Path, bit: int) -> None:
    """A damaged name of a member would otherwise be a member that is missing."""
    fence.raise_fence(tmp_path, FENCE.day, FENCE.highest, lost=FENCE.lost, last_day="")
    handover.save_handover(tmp_path, HANDOVER)
    for name, load in (
        (fence.FILE, fence.load_fence),
        (handover.FILE, handover.load_handover),
    ):
        path = tmp_path / name
        intact, value = path.read_bytes(), load(tmp_path)
        for at in range(len(intact)):
            damaged = bytearray(intact)
            damaged[at] ^= 1 << bit
            path.write_bytes(damaged)
            with pytest.raises(Corrupt, match=name):
                load(tmp_path)
        for end in range(len(intact)):
            path.write_bytes(intact[:end])
            with pytest.raises(Corrupt, match=name):
                load(tmp_path)
        path.write_bytes(intact)
        assert load(tmp_path) == value


def test_files_of_earlier_releases_are_read(tmp_path: Path) -> None:
    (tmp_path / fence.FILE).write_bytes(msgspec.json.encode(FENCE))
    (tmp_path / handover.FILE).write_bytes(msgspec.json.encode(HANDOVER))
    assert fence.load_fence(tmp_path) == FENCE
    assert handover.load_handover(tmp_path) == HANDOVER
    (tmp_path / handover.FILE).write_bytes(b'{"dayr":[["2026/11/21","2026/11/22"]]}')
    with pytest.raises(Corrupt):
        handover.load_handover(tmp_path)
