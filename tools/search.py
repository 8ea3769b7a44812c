"""`make search`, first half: searches for examples that break a property, within a given time.

How it works: all property tests run with the Hypothesis profile `perdure-search` (see
`conftest.py`), again and again with a new seed and in another order, until the minutes are used up.
The last round is stopped when the time is over, and counts as passed if nothing has failed until
then. A failure ends the search: Hypothesis prints the example and keeps it in `.hypothesis/`, where
the next search finds it first.
"""

from __future__ import annotations

import argparse
import secrets
import signal
import subprocess
import sys
import time

COMMAND = [
    *(sys.executable, "-m", "pytest", "-q", "-x", "-m", "hypothesis and not trial", "-r", "fE"),
    *("-n", "2", "--dist", "worksteal", "--hypothesis-profile", "perdure-search"),
    *("-o", "timeout=0"),
]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=20)
    options.add_argument("tests", nargs="*", help="files or directories (default: all)")
    chosen = options.parse_args()
    end = time.monotonic() + 60 * chosen.minutes
    rounds = 0
    while (left := end - time.monotonic()) > 0:
        rounds += 1
        seed = secrets.randbelow(1 << 32)
        print(f"round {rounds}, seed {seed}, {left / 60:.0f} minutes left", flush=True)
        code = run_round(
            [*COMMAND, "--hypothesis-seed", str(seed), "--shuffle", str(seed), *chosen.tests], left
        )
        if code:
            return code
    print(f"{rounds} rounds, and no property was broken")
    return 0


def run_round(command: list[str], seconds: float) -> int:
    """Runs the property tests once; returns pytest's exit code, or 0 if the time was over."""
    process = subprocess.Popen(command)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return 0


if __name__ == "__main__":
    sys.exit(main())
