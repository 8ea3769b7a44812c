"""A PostgreSQL server of the tests: one for each process of the test session, on a socket alone.

It runs as a plain user, since PostgreSQL refuses root, and flushes to the disk as a real one does.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import subprocess
import tempfile
from functools import cache
from itertools import count
from pathlib import Path

import pytest

_PROGRAMS = Path("/usr/lib/postgresql")
_MISSING = "PostgreSQL 15 or newer is not installed (Debian: apt-get install postgresql)"
_schemas = count(1)


def _find_programs() -> Path | None:
    """The directory of the newest server's programs."""
    versions = [path for path in _PROGRAMS.glob("*/bin") if int(path.parent.name) >= 15]
    if versions:
        return max(versions, key=lambda path: int(path.parent.name))
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


class PostgresqlServer:
    """A server in a directory of its own."""

    def __init__(
        self, programs: Path, *options: str, follows: PostgresqlServer | None = None
    ) -> None:
        """A new server, or a standby that follows another one."""
        self.programs = programs
        self.directory = Path(tempfile.mkdtemp(prefix="perdure-postgresql-"))
        self.options = options
        self.user: str | None = None
        if os.getuid() == 0:
            self.user = next(
                one.pw_name for one in pwd.getpwall() if one.pw_name in ("postgres", "nobody")
            )
            shutil.chown(self.directory, self.user)
        if follows is not None:
            source = f"host={follows.directory} user=perdure application_name=standby"
            self._run("pg_basebackup", "-D", self._data, "-d", source, "-R", "-c", "fast")
        else:
            self._run(
                "initdb", "-D", self._data, "-A", "trust", "-U", "perdure", "-k", "-E", "UTF8",
                "--locale", "C", "--no-instructions",
            )  # fmt: skip
        self.start()

    @property
    def _data(self) -> str:
        return str(self.directory / "data")

    @property
    def address(self) -> str:
        """The address of its database, without a schema."""
        return f"postgresql://perdure@/postgres?host={self.directory}"

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [str(self.programs / program), *words],
            user=self.user,
            cwd=self.directory,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stderr}{done.stdout}"

    def start(self) -> None:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.directory),
            "max_connections": "200",
            "shared_buffers": "32MB",
            **dict(one.split("=", 1) for one in self.options),
        }
        words = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        self._run(
            "pg_ctl",
            "-D",
            self._data,
            "-w",
            "-l",
            str(self.directory / "log"),
            "-o",
            words,
            "start",
        )

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def remove(self) -> None:
        if (self.directory / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def make_server(*options: str) -> PostgresqlServer:
    """Start a server for one test, or skip the test if PostgreSQL is not installed."""
    programs = _find_programs()
    if programs is None:
        pytest.skip(_MISSING)
    return PostgresqlServer(programs, *options)


@cache
def find_server() -> PostgresqlServer:
    """The server that the tests of this process share. Skips a test as `make_server` does."""
    server = make_server()
    atexit.register(server.remove)
    return server


def make_address() -> str:
    """The address of a registry that does not exist yet."""
    return f"{find_server().address}&schema=test_{os.getpid()}_{next(_schemas)}"
