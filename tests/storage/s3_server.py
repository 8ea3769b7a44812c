"""An S3 server of the tests: moto in a process of its own, one for each process of the session."""

from __future__ import annotations

import atexit
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from itertools import count
from urllib.request import Request, urlopen

import pytest

KEY, SECRET = "perdure-key", "perdure/secret"
_MISSING = "an S3 server for the tests is not installed (pip install 'moto[s3]' flask flask-cors)"
_prefixes = count(1)


class S3Server:
    """A server on a port of its own, with one bucket."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        atexit.register(self.stop)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "Running on " in line:
                self.endpoint = line.split("Running on ")[1].strip()
                break
        else:
            raise AssertionError("the S3 server does not start")
        # Its log goes on; nobody reads it, and a full pipe would stop it.
        subprocess.Popen(
            ["cat"], stdin=self._process.stdout, stdout=subprocess.DEVNULL, close_fds=True
        )
        self.make_bucket("perdure")

    def make_bucket(self, name: str) -> None:
        with urlopen(Request(f"{self.endpoint}/{name}", method="PUT")):
            pass

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


@cache
def start_server() -> S3Server:
    """The server of this process. Skips the test if there is none."""
    if find_spec("moto") is None or find_spec("flask") is None or find_spec("obstore") is None:
        pytest.skip(_MISSING)
    return S3Server()


def make_address(*, prefix: str = "", bucket: str = "perdure", options: str = "") -> str:
    """The address of an empty prefix."""
    place = prefix or f"test-{next(_prefixes)}"
    secret = SECRET.replace("/", "%2F")
    endpoint = start_server().endpoint
    return f"s3://{KEY}:{secret}@{bucket}/{place}?endpoint={endpoint}{options}"
