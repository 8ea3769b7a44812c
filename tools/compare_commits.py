"""Run one benchmark on two commits in turns, and say how much faster the second is than the first.

    python tools/compare_commits.py a414822 HEAD minting --turns 15

How it works: each commit is checked out into `.bench/`, with a virtual environment of its own made
from its lock file. Each turn runs the benchmark of the first commit, then that of the second (the
other way round in every second turn), each in a process of its own. Whatever slows the machine down
for longer than a turn slows both. A benchmark gives a rate for each of its rows; the ratio of a row
is the geometric mean over the turns, with the interval that holds it with a confidence of 95 %
(Student's t on the logarithms).

A benchmark is a module of `benchmarks/`, by name, or a file that prints JSON `{row: rate}`, which
is then run in both checkouts.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".bench"

_RUN = """
import importlib, json, sys
rows = importlib.import_module(f"benchmarks.{sys.argv[1]}").run()
print(json.dumps({row.name: row.ours for row in rows}))
"""
_LEFT_OUT = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
"""Variables of the environment. Users start from compiled modules, so benchmarks do."""
# The two-sided 95 % quantile of Student's t, by degrees of freedom; 1.96 beyond.
_T = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23}
_T |= {11: 2.20, 12: 2.18, 13: 2.16, 14: 2.14, 15: 2.13, 16: 2.12, 18: 2.10, 19: 2.09, 24: 2.06}


def main() -> int:
    """Print a table of ratios."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("before", help="commit")
    options.add_argument("after", help="commit")
    options.add_argument("benchmark", help="module of benchmarks/, or a file that prints JSON")
    options.add_argument("--turns", type=int, default=15)
    chosen = options.parse_args()
    trees = [prepare_checkout(commit) for commit in (chosen.before, chosen.after)]
    rates: list[list[dict[str, float]]] = [[], []]
    for turn in range(chosen.turns):
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            rates[side].append(run_benchmark(trees[side], chosen.benchmark))
        sys.stderr.write(f"turn {turn + 1} of {chosen.turns}\n")
    sys.stdout.write(format_table(rates[0], rates[1]))
    return 0


def prepare_checkout(commit: str) -> Path:
    """Check a commit out and install what its lock file names, unless that is done already."""
    name = _run("git", "-C", str(ROOT), "rev-parse", "--short=12", commit).strip()
    tree = PLACE / name
    if not (tree / ".venv/.ready").exists():
        PLACE.mkdir(exist_ok=True)
        if not tree.exists():
            _run("git", "clone", "-q", "--shared", "--no-checkout", str(ROOT), str(tree))
            _run("git", "-C", str(tree), "checkout", "-q", name)
        _run(sys.executable, "-m", "venv", str(tree / ".venv"))
        pip = [str(tree / ".venv/bin/pip"), "install", "-qq", "--disable-pip-version-check"]
        _run(*pip, "--require-hashes", "-r", str(tree / "requirements-dev.lock"))
        _run(*pip, "--no-deps", "--no-build-isolation", "-e", str(tree))
        (tree / ".venv/.ready").touch()
    return tree


def run_benchmark(tree: Path, benchmark: str) -> dict[str, float]:
    """The rates of one run, by row; more is better."""
    python = str(tree / ".venv/bin/python")
    path = Path(benchmark)
    arguments = [str(path.resolve())] if path.suffix == ".py" else ["-c", _RUN, benchmark]
    rows = json.loads(_run(python, *arguments, directory=tree).splitlines()[-1])
    return {str(name): float(rate) for name, rate in rows.items()}


def format_table(before: list[dict[str, float]], after: list[dict[str, float]]) -> str:
    """Rows of Markdown: median rates, and the ratio with its interval."""
    lines = ["| row | before | after | ratio | 95 % interval |", "| --- | --- | --- | --- | --- |"]
    for row in before[0]:
        pairs = [
            (first[row], second[row])
            for first, second in zip(before, after, strict=True)
            if row in second
        ]
        if not pairs:
            continue
        ratio, low, high = estimate_ratio(pairs)
        medians = (statistics.median(side) for side in zip(*pairs, strict=True))
        rates = " | ".join(f"{rate:,.0f}" for rate in medians)
        lines.append(f"| {row} | {rates} | {ratio:.3f} | {low:.3f} to {high:.3f} |")
    return "\n".join(lines) + "\n"


def estimate_ratio(pairs: list[tuple[float, float]]) -> tuple[float, float, float]:
    """The geometric mean of after / before, and the ends of its interval.

    >>> [round(number, 3) for number in estimate_ratio([(100, 110), (100, 100), (100, 121)])]
    [1.1, 0.868, 1.394]
    """
    logarithms = [math.log(after / before) for before, after in pairs]
    mean = statistics.fmean(logarithms)
    if len(pairs) < 2:
        return math.exp(mean), 0.0, math.inf
    freedom = len(pairs) - 1
    quantile = _T.get(freedom) or next(
        (_T[n] for n in sorted(_T, reverse=True) if n < freedom), 1.96
    )
    spread = quantile * statistics.stdev(logarithms) / math.sqrt(len(pairs))
    return math.exp(mean), math.exp(mean - spread), math.exp(mean + spread)


def _run(*command: str, directory: Path = ROOT) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    done = subprocess.run(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
