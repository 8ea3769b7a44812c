"""A whole harvest by another's client: every record once, in the order of its last change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.server.deployment import deployed
from tests.trials import Tally

from perdure.registry import initialise

PYTHON = Path(__file__).parents[2] / ".peers" / "bin" / "python"
HARVESTER = """
import sys
from sickle import Sickle
for one in Sickle(sys.argv[1]).ListRecords(metadataPrefix="oai_dc"):
    print(one.header.identifier, flush=False)
"""
PREFIX = "20.500.12345"


@pytest.mark.trial
@pytest.mark.skipif(not PYTHON.exists(), reason="sickle is not installed (.peers)")
@pytest.mark.parametrize("count", [100_000, 1_000_000])
def test_sickle_harvests_all_records(tmp_path: Path, tally: Tally, count: int) -> None:
    """The incomplete lists together are the complete list (section 3.5 of OAI-PMH 2.0)."""
    root = tmp_path / "registry"
    initialise(root, handle_prefixes=(PREFIX,))
    lines = tmp_path / "lines.jsonl"
    with lines.open("w") as file:
        for number in range(count):
            file.write(
                f'{{"id":"hdl:{PREFIX}/{number}","locations":["https://example.org/{number}"]}}\n'
            )
    command = [sys.executable, "-m", "perdure.cli", "import", "-C", str(root), str(lines)]
    subprocess.run(command, check=True, capture_output=True)
    seen = bytearray(count)
    with (
        deployed(root) as site,
        subprocess.Popen(
            [PYTHON, "-c", HARVESTER, f"{site.base}/oai"], stdout=subprocess.PIPE, text=True
        ) as client,
    ):
        assert client.stdout is not None
        for harvested, name in enumerate(client.stdout, 1):
            number = int(name.rpartition("/")[2])
            assert not seen[number], name
            seen[number] = 1
            tally.reach("records", harvested, count)
    assert client.returncode == 0
    assert all(seen)
