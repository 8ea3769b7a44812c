"""Documents of other resolvers, written while they arrive."""

from __future__ import annotations

import base64
import gzip
import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.fetching.strangers import response
from tests.server.test_proxying import lying

NAME = "pdi://press.oma.eop.gov.us/1993/01/20/1.text.1"
SMALL = NAME.replace("/1.text", "/2.text")
LARGE = b"0123456789abcdef" * (1 << 20)  # 16 MiB
_MOST_MEMORY = 4 << 20  # bytes
PROGRAM = """
import contextlib, sys, tracemalloc
from perdure.cli import perdure
tracemalloc.start()
for name in sys.argv[2:]:
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    with contextlib.suppress(SystemExit):
        perdure(["get", name, "--output", sys.argv[1]])
print(tracemalloc.get_traced_memory()[1] - before)
"""


@pytest.fixture
def abroad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A machine without a registry."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PERDURE_PRIVATE_NETWORKS", "127.0.0.0/8")
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path / "nowhere")


def promise(data: bytes, body: bytes | None = None, **fields: str) -> bytes:
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    return response(data if body is None else body, Repr_Digest=f"sha-512=:{digest}:", **fields)


def get(
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[str], bytes],
    *words: str,
    code: int = 0,
) -> bytes | None:
    """Get the document of a resolver that answers so. Returns what is in the file after it."""
    file = Path("letter")
    with lying(answer) as there:
        monkeypatch.setenv("PERDURE_RESOLVERS", f"press.oma.eop.gov.us = {there.url()[:-1]}")
        shell.run("get", NAME, "--output", str(file), *words, code=code)
    return file.read_bytes() if file.exists() else None


def test_a_large_document_takes_little_memory(
    abroad: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """ "memory flat" """
    small, large = promise(b"small"), promise(LARGE)
    with lying(lambda line: small if "/2." in line else large) as there:
        monkeypatch.setenv("PERDURE_RESOLVERS", f"press.oma.eop.gov.us = {there.url()[:-1]}")
        words = [sys.executable, "-c", PROGRAM, str(tmp_path / "letter"), SMALL, NAME]
        ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (tmp_path / "letter").read_bytes() == LARGE
    assert int(ran.stdout) < _MOST_MEMORY


def test_a_document_without_a_length_ends_with_its_last_chunk(
    abroad: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert get(abroad, monkeypatch, lambda _: head + b"3\r\none\r\n0\r\n\r\n") == b"one"
    Path("letter").unlink()
    with lying(lambda _: head + b"3\r\none\r\n") as there:
        monkeypatch.setenv("PERDURE_RESOLVERS", f"press.oma.eop.gov.us = {there.url()[:-1]}")
        told = abroad.error("get", NAME, "--output", "letter", code=20)
    assert not Path("letter").exists()
    assert (told["received"], told["expected"]) == (3, None)
    assert "ended after 3 bytes of an unknown length" in told["message"]


@pytest.mark.parametrize("sent", [b"", b"half", LARGE[:300_000]])
def test_half_a_document_leaves_no_file(
    abroad: Shell, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """ "with --output leaves no file" """
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 300001\r\n\r\n"
    assert get(abroad, monkeypatch, lambda _: head + sent, code=20) is None


@pytest.mark.parametrize("body", [b"wrong", b"wrong" * 100_000])
def test_wrong_bytes_leave_no_file(
    abroad: Shell, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    assert get(abroad, monkeypatch, lambda _: promise(b"right", body), code=50) is None


def test_a_coding_that_nobody_asked_for_is_removed(
    abroad: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = promise(b"letter" * 1000, gzip.compress(b"letter" * 1000), Content_Encoding="gzip")
    assert get(abroad, monkeypatch, lambda _: sent) == b"letter" * 1000


def test_redirects_are_followed_only_on_demand(
    abroad: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "a redirect is followed only if the caller asked for it" """

    def answer(line: str) -> bytes:
        if "/here" in line:
            return promise(b"there")
        if "/loop" in line:
            return response(b"", "302 Found", Location="/loop")
        return response(b"x" * 100, "302 Found", Location="/here")

    assert get(abroad, monkeypatch, answer, code=17) is None
    assert get(abroad, monkeypatch, answer, "--follow") == b"there"
    Path("letter").unlink()
    looping = response(b"", "302 Found", Location="/loop")
    assert get(abroad, monkeypatch, lambda _: looping, "--follow", code=20) is None


def test_what_a_resolver_says_instead_of_bytes_is_bounded(
    abroad: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of an error that never ends is not read to its end."""
    page = response(b"x" * (2 << 20), "500 Internal Server Error")
    with lying(lambda _: page) as there:
        monkeypatch.setenv("PERDURE_RESOLVERS", f"press.oma.eop.gov.us = {there.url()[:-1]}")
        assert "it answered 500 Internal" in abroad.run("get", NAME, code=20).stderr
    gone = response(b'{"tombstone": {"at": "2026", "by": "a", "reason": "b"}}', "410 Gone")
    assert get(abroad, monkeypatch, lambda _: gone, code=16) is None
