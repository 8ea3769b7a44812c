"""The examples that people will type: the demo and the tutorial, run as they stand there."""

from __future__ import annotations

import fnmatch
import os
import re
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
_A_DAY = re.compile(r"\d{4}/\d\d/\d\d")
TUTORIALS = sorted((PROJECT / "docs" / "tutorial").glob("*.md"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_demo_runs_to_its_end() -> None:
    done = subprocess.run(
        [sys.executable, str(PROJECT / "examples" / "demo.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for sign in ("200 OK", "206", "302 Found", "404", "content-location: pdi://", "repr-digest: "):
        assert sign.lower() in done.stdout.lower(), sign


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_does_what_it_says(page: Path, tmp_path: Path) -> None:
    port, today = free_port(), f"{datetime.now(UTC):%Y/%m/%d}"
    expected: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                expected.append((line[2:], []))
            elif expected and line:
                expected[-1][1].append(line)
    script = ["set -eu"]
    for number, (command, _) in enumerate(expected):
        command = command.replace(":8080", f":{port}").replace("curl ", "curl -sS ")
        command = _A_DAY.sub(today, command)
        if command.endswith("serve &"):
            command = f"{command[:-2]} --port {port} & SERVER=$!; trap 'kill $SERVER' EXIT\n"
            command += (
                f"for i in $(seq 200); do curl -s 127.0.0.1:{port}/healthz && break; sleep .1; done"
            )
        script += [f"echo '### {number}'", command]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    for number, (command, lines) in enumerate(expected):
        printed = done.stdout.split(f"### {number}\n")[1].split("###")[0].splitlines()
        for line in lines:
            pattern = _A_DAY.sub("????/??/??", line.replace("[", "?")).replace("…", "*")
            assert any(fnmatch.fnmatch(one.rstrip(), pattern) for one in printed), (command, line)
