"""What the demonstrations share: they show commands, run them, and print what these print."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

PROJECT = Path(__file__).resolve().parent.parent
CURL = ["curl"] if shutil.which("curl") else [sys.executable, str(PROJECT / "examples" / "curl.py")]

console = Console(highlight=False, soft_wrap=True)


def run_perdure(root: Path, *arguments: str, code: int = 0) -> str:
    """Run a command of perdure in a registry, showing it and what it prints.

    Ends the demonstration if the command does not exit with `code`.
    """
    shown = [os.path.relpath(one, PROJECT) if one.startswith("/") else one for one in arguments]
    console.print(f"[green]$ perdure {shlex.join(shown)}[/]")
    command = [sys.executable, "-m", "perdure.cli", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    console.print((done.stdout or done.stderr).rstrip(), markup=False)
    if done.returncode != code:
        sys.exit(done.stderr or f"exit code {done.returncode}")
    return done.stdout


def curl(what: str, *arguments: str, lines: int = 12) -> None:
    """Show a curl command, run it, and print the first lines of what comes back."""
    console.print(f"\n[bold]{what}[/]")
    console.print(f"[green]$ curl {shlex.join(arguments)}[/]")
    done = subprocess.run([*CURL, *arguments], capture_output=True, check=False)
    output = done.stdout.decode("utf-8", "replace").strip().splitlines()
    for line in output[:lines]:
        console.print(line[:160], markup=False)
    if len(output) > lines:
        console.print(f"… {len(output) - lines} more lines", style="dim")


def heading(text: str) -> None:
    console.rule(f"[bold]{text}", align="left")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server accepts connections. Ends the demonstration if it does not."""
    for _ in range(400):
        if process.poll() is not None:
            sys.exit(f"perdure serve ended with exit code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    sys.exit("perdure serve did not start within twenty seconds")
