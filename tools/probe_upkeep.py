"""How many records a second the full check and the rebuild of a registry handle, as JSON.

    python tools/compare_commits.py a414822 HEAD tools/probe_upkeep.py --turns 15

How it works: registries of small documents and of locations are imported, then checked and rebuilt
by the command line, start included. The rate is that of the processor time of the process (user).
The row `check` is the fullest check that the commit has: `verify --all`, or `verify` before that
option existed.
"""

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

_COUNT = 20_000
_ROUNDS = 3
_NAME = "pdi://a.example.us/2026/11/21/{}"
_LINES: dict[str, Callable[[int], dict[str, Any]]] = {
    "documents": lambda number: {"content": {"text": f"Document {number}.\n" * 10}},
    "locations": lambda number: {"locations": [f"https://a.example/{number}.html"]},
}


def main() -> None:
    print(json.dumps({row: _COUNT / seconds for row, seconds in measure_rows().items()}))


def measure_rows() -> dict[str, float]:
    """Seconds for each row, the best of some rounds."""
    full = ("--all",) if b"--all" in run_perdure("verify", "--help").stdout else ()
    rows: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        for kind, make_line in _LINES.items():
            root = Path(name, kind)
            run_perdure("init", str(root), "--series", "a.example.us")
            lines = root / "lines.jsonl"
            with lines.open("w") as file:
                for number in range(1, _COUNT + 1):
                    line = {"id": _NAME.format(number)} | make_line(number)
                    print(json.dumps(line), file=file)
            run_perdure("-C", str(root), "import", str(lines))
            for _ in range(_ROUNDS):
                for row, command in (("check", ("verify", *full)), ("rebuild", ("rebuild",))):
                    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                    run_perdure("-C", str(root), *command)
                    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
                    label = f"{row}, {kind}"
                    rows[label] = min(spent, rows.get(label, spent))
    return rows


def run_perdure(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command of perdure. Raises CalledProcessError if it fails."""
    command = [sys.executable, "-m", "perdure.cli", *arguments]
    return subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main()
