"""One short turn of the paths whose speed is promised, for `tools/compare_commits.py`.

    python tools/compare_commits.py a414822 HEAD tools/probe_speed.py --turns 15

How it works: it runs in a checkout of any commit, so it uses the command line and HTTP, which are
stable, and for mints, which have no such face at full speed, whichever names that commit has. It
prints rates per second of processor time, because the wall clock of a shared machine says little.
"""

import asyncio
import ctypes
import importlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path.cwd()))
PLACE = Path("benchmarks/out/probe").absolute()
SERIES = "oma.eop.gov.us"
REDIRECTS, CLIENTS, MINTS = 60_000, 64, 40_000
DAY = f"pdi://{SERIES}/1997/09/01"


def main() -> None:
    """Print the rates of one turn as JSON."""
    adopt_orphans()
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    rates = {}
    lines = PLACE / "lines.jsonl"
    with lines.open("w") as file:
        for number in range(1, REDIRECTS + 1):
            location = f"https://clintonwhitehouse.archives.gov/{number}.html"
            file.write(json.dumps({"id": f"{DAY}/{number}.html.1", "locations": [location]}) + "\n")
        text = "".join(f"Line {number} of a text.\r\n" for number in range(100))
        content = {"text": text, "type": "text/plain"}
        file.write(json.dumps({"id": f"{DAY}/{REDIRECTS + 1}.text.1", "content": content}) + "\n")
    run_command("init", str(PLACE / "registry"), "--series", SERIES)
    used = run_command("-C", str(PLACE / "registry"), "import", str(lines))
    rates["import of redirects"] = REDIRECTS / used
    rates |= measure_http(f"{DAY}/{REDIRECTS + 1}.text.1")
    rates |= measure_mints()
    shutil.rmtree(PLACE)
    sys.stdout.write(json.dumps(rates) + "\n")


def adopt_orphans() -> None:
    """Become the parent of processes whose own has ended, so that their time is counted (Linux)."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def run_command(*arguments: str) -> float:
    """Run the command line. Return the processor seconds that all its processes used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "perdure.cli", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with suppress(ChildProcessError):  # older commits leave processes behind for a moment
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_http(document: str) -> dict[str, float]:
    """Requests per processor second of a server: redirects, held bytes, a part of them."""
    servers: Any = importlib.import_module("benchmarks.servers")
    rates = {}
    scripts = {
        "redirects": f'"/{DAY}/" .. math.random({REDIRECTS}) .. ".html.1"',
        "held bytes": f'"/{document}"',
        "parts": f'"/{document}%23char=" .. math.random(900) .. ",1000"',
    }
    with servers.perdure(PLACE / "registry") as server:
        wait_for_answer(server.port)  # a server listens before it has loaded its modules
        for name, path in scripts.items():
            script = PLACE / "script.lua"
            script.write_text(
                f"math.randomseed(1994)\nrequest = function() return wrk.format('GET', {path}) end"
            )
            servers.wrk(server, script, seconds=1)
            rates[name] = servers.wrk(server, script, seconds=2)
    return rates


def wait_for_answer(port: int) -> None:
    """Wait until a server has answered a request, and has nothing else to do for a moment."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
        answer.read()
    time.sleep(0.5)


def measure_mints() -> dict[str, float]:
    """Mints of 64 clients per processor second: names alone, and documents of 2 KiB."""
    import uvloop

    registries = find_module("perdure.registry", "perdure.app")
    spool = find_module(
        "perdure.storage.spool", "perdure.storage.segments.spool", "perdure.blobs.spool"
    )
    mint = find_module("perdure.model.commands", "perdure.model").Mint
    make_content = getattr(spool, "make_content", None) or spool.content
    root = PLACE / "minting"
    registries.initialise(root, series=(SERIES,))
    pool = os.urandom(2048 + 65536)
    rates = {}

    async def run_clients(door: Any, size: int) -> None:
        submit = getattr(door, "submit_command", None) or door.submit
        left = iter(range(MINTS if not size else MINTS // 4))

        async def run_client() -> None:
            for number in left:
                at = number % 65536
                contents: tuple[Any, ...] = ()
                if size:
                    data = pool[at : at + size]
                    contents = (
                        make_content(
                            data, format="octet-stream", media_type="application/octet-stream"
                        ),
                    )
                await submit(mint(authority=SERIES, contents=contents))

        await asyncio.gather(*(run_client() for _ in range(CLIENTS)))

    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with registries.Registry(root) as registry:
        for name, size in (("mints of names", 0), ("mints of documents", 2048)):
            uvloop.run(run_clients(registry.door, size))
            before = resource.getrusage(resource.RUSAGE_SELF)
            uvloop.run(run_clients(registry.door, size))
            after = resource.getrusage(resource.RUSAGE_SELF)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            rates[name] = (MINTS if not size else MINTS // 4) / used
    return rates


def find_module(*names: str) -> Any:
    """The first of these modules that this commit has."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError(f"none of {names}")


main()
