"""The examples that people will type, in the demo and in pages, run as they stand there."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

PROJECT = Path(__file__).parent.parent
_A_DAY = re.compile(r"\d{4}/\d\d/\d\d")
TUTORIALS = sorted((PROJECT / "docs" / "tutorial").glob("*.md"))
STORIES = [PROJECT / "docs" / "explanation" / "quotations.md"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def path_without(program: str, directory: Path) -> str:
    """A PATH on which everything is found but one program."""
    directory.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for found in Path(place).glob("*"):
            link = directory / found.name
            if found.name != program and not link.is_symlink():
                link.symlink_to(found)
    return str(directory)


def path_with_curl(directory: Path) -> str:
    """A PATH with curl: the installed one, or `examples/curl.py` in its place."""
    if shutil.which("curl"):
        return os.environ["PATH"]
    directory.mkdir()
    stand_in = directory / "curl"
    stand_in.write_text(f'#!/bin/sh\nexec {sys.executable} {PROJECT}/examples/curl.py "$@"\n')
    stand_in.chmod(0o755)
    return f"{directory}{os.pathsep}{os.environ['PATH']}"


def test_the_demo_runs_to_its_end_with_curl_and_without(tmp_path: Path) -> None:
    for path in (os.environ["PATH"], path_without("curl", tmp_path / "bin")):
        done = subprocess.run(
            [sys.executable, str(PROJECT / "examples" / "demo.py"), "--check"],
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        shown = done.stdout.lower()
        for sign in ("200 ok", "206", "302 found", "404", "content-location: pdi://"):
            assert sign in shown, sign
        assert "repr-digest: " in shown
        assert ("curl is not installed" in shown) == (shutil.which("curl", path=path) is None)


def test_no_link_breaks_when_names_are_handed_over() -> None:
    """A "demonstration … that hands a series over and shows that no link broke".

    Three resolvers and a name server, one of them killed; it ends with an error if any answer to
    any name changes.
    """
    command = [sys.executable, str(PROJECT / "examples" / "demo_network.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=230, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    shown = done.stdout
    assert "10 names, no link broke." in shown
    assert shown.count("names at the office, as before") == 3
    assert "307 Temporary Redirect" in shown  # the office, after the hand-over
    assert "state       stopped\n" in shown  # the mirror, when the backup comes back
    assert "HTTP/1.1 200 OK" in shown.split("now the mirror answers itself")[1].split("names at")[0]
    if shutil.which("named", path=f"{os.environ['PATH']}:/usr/sbin") is not None:
        found = [line for line in shown.splitlines() if line.startswith("resolver http")]
        assert len({urlsplit(line.split()[1]).port for line in found}) == 2  # office, archives


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(
    "arguments",
    [
        ["-s"],
        ["-sI"],
        ["-si", "-r", "0-4"],
        ["-s", "-H", "Accept: text/plain", "-H", "X-Letter: 1"],
        ["-s", "-G", "-d", "url=http://example.org/a"],
        ["-s", "--request-target", "pdi://a.example/1"],
    ],
    ids=" ".join,
)
def test_the_stand_in_sends_what_curl_sends(arguments: list[str]) -> None:
    sent = []
    stand_in = [sys.executable, str(PROJECT / "examples" / "curl.py")]
    for command in (["curl"], stand_in):
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}/a/%23b?c=d#e"
            process = subprocess.Popen([*command, *arguments, url], stdout=subprocess.PIPE)
            accepted, _ = server.accept()
            with accepted, process:
                request = accepted.recv(4096)
                accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
                accepted.sendall(b"" if request.startswith(b"HEAD") else b"bytes")
                printed, _ = process.communicate(timeout=30)
        first, *fields = request.decode().strip().lower().split("\r\n")
        kept = sorted(one for one in fields if not one.startswith(("host:", "user-agent:")))
        sent.append((first, kept, printed))
    assert sent[0] == sent[1]


@pytest.mark.parametrize("page", [*TUTORIALS, *STORIES], ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
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
                f"for i in {{1..200}}; do curl -s 127.0.0.1:{port}/healthz && break; sleep .1; done"
            )
        script += [f"echo '### {number}'", command]
    path = f"{Path(sys.executable).parent}:{path_with_curl(tmp_path / 'bin')}"
    environment = os.environ | {"PATH": path}
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
