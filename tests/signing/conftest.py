"""Keys and programs with which signatures are made and judged, independently of perdure."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.ids import parse
from perdure.signing.statement import Statement

needs_ssh = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="ssh-keygen (openssh-client) is not installed"
)
needs_minisign = pytest.mark.skipif(
    shutil.which("minisign") is None, reason="minisign is not installed"
)
needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl is not installed"
)
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a program in the directory of the test, with input if it needs any."""

    def run_program(*words: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(words, cwd=tmp_path, input=data, capture_output=True, check=False)

    return run_program


def make_statement(
    signer: str, name: str = "pdi://oma.eop.gov.us/1994/03/21/1.text.1"
) -> Statement:
    return Statement(
        identifier=parse(name),
        sha512="0123456789abcdef" * 8,
        length=3,
        media_type="text/plain",
        role="witness",
        signer=signer,
        signed="2026-11-23T22:30:00Z",
    )


def make_ssh_key(run: Run, kind: str = "ed25519", name: str = "key", passphrase: str = "") -> None:
    bits = ["-b", "2048"] if kind == "rsa" else []
    done = run("ssh-keygen", "-q", "-t", kind, *bits, "-N", passphrase, "-f", name, "-C", "a key")
    assert done.returncode == 0, done.stderr


def make_minisign_key(run: Run, name: str = "mini") -> None:
    done = run("minisign", "-G", "-W", "-p", f"{name}.pub", "-s", f"{name}.key")
    assert done.returncode == 0, done.stderr
