"""What most tests begin with: a registry in a directory of its own, and a clock that tests set.

`desk` is a registry with short ways to write to it and to read what became of it. Its clock stands
still until a test moves it. `start` starts processes that write to the registry and can be killed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.trials import pytest_collection_finish as pytest_collection_finish
from tests.trials import pytest_terminal_summary as pytest_terminal_summary
from tests.trials import tally as tally

from perdure.ids import Identifier, parse
from perdure.model.commands import (
    Alias,
    Bind,
    Break,
    Commit,
    Content,
    Mint,
    Receipt,
    Register,
    Withdraw,
)
from perdure.model.queries import Query, Step
from perdure.model.records import Location, Record
from perdure.registry import Registry, initialise
from perdure.storage import home
from perdure.storage.spool import make_content
from perdure.upkeep import audit

SERIES = "oma.eop.gov.us"
SHOULDER = "99999/fk4"
AUTHORITY = "IANA:42117"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
TODAY = f"pdi://{SERIES}/2026/11/21"


class Clock:
    """Tells the time that it was set to."""

    def __init__(self, moment: datetime = NOON) -> None:
        self.moment = moment

    def __call__(self) -> datetime:
        return self.moment

    def set(self, text: str) -> None:
        """To a time as ISO 8601 writes it, in UTC."""
        self.moment = datetime.fromisoformat(text).replace(tzinfo=UTC)

    def advance(self, **duration: float) -> None:
        self.moment += timedelta(**duration)


class Desk:
    """A registry, its clock, and short ways to write and to read."""

    def __init__(self, root: Path, clock: Clock) -> None:
        self.root = root
        self.clock = clock
        self.environment: dict[str, str] = {}
        self.registry = self._open()

    def _open(self) -> Registry:
        return Registry(self.root, environment=self.environment, clock=self.clock)

    def reopen(self, **settings: object) -> None:
        """As after a restart in good order, with other settings if any are given."""
        self.environment |= {f"PERDURE_{name.upper()}": str(settings[name]) for name in settings}
        self.registry.close()
        self.registry = self._open()

    def segments(self) -> list[str]:
        """The names of the segments that are not sealed."""
        return sorted(path.name for path in (self.root / "segments").iterdir())

    # writing
    # -------

    def mint(self, *contents: Content, **fields: Any) -> Receipt:
        command = Mint(**{"authority": SERIES, "contents": contents} | fields)
        return self.registry.door.execute_command(command)

    def register(self, name: str, *contents: Content, **fields: Any) -> Receipt:
        return self.registry.door.execute_command(
            Register(identifier=parse(name), contents=contents, **fields)
        )

    def commit(self, name: str, *contents: Content, **fields: Any) -> Receipt:
        return self.registry.door.execute_command(
            Commit(identifier=parse(name), contents=contents, **fields)
        )

    def bind(self, name: str, *locations: Location | str, **fields: Any) -> Receipt:
        bound = tuple(Location(uri=one) if isinstance(one, str) else one for one in locations)
        return self.registry.door.execute_command(
            Bind(identifier=parse(name), locations=bound, **fields)
        )

    def break_(self, name: str, uri: str, **fields: Any) -> Receipt:
        return self.registry.door.execute_command(Break(identifier=parse(name), uri=uri, **fields))

    def alias(self, name: str, other: str, **fields: Any) -> Receipt:
        return self.registry.door.execute_command(
            Alias(identifier=parse(name), other=parse(other), **fields)
        )

    def withdraw(self, name: str, reason: str = "a court said so", **fields: Any) -> Receipt:
        return self.registry.door.execute_command(
            Withdraw(identifier=parse(name), reason=reason, **fields)
        )

    # reading
    # -------

    def record(self, name: str) -> Record:
        found = self.registry.listings.find_record(parse(name))
        assert found is not None
        return found

    def history(self, name: str) -> list[Record]:
        return self.registry.records.list_revisions(parse(name).key)

    def resolve(self, name: str, **query: Any) -> Step:
        return self.registry.reading.resolve(Query(identifier=parse(name), **query)).step

    def served(self, name: str, version: int = 1, format: str = "text") -> bytes:
        """The bytes held of a version in a format."""
        held = self.record(name).version(version)
        one = held.find_representation(format) if held else None
        assert one is not None
        return self.registry.listings.read_bytes(one)

    def names(self, name: str) -> list[str]:
        return [str(other) for other in self.registry.listings.list_names(parse(name))]

    def problems(self) -> list[str]:
        """What `verify` finds wrong with a fresh look at the files; empty where all is well."""
        with Registry(self.root, environment={}, clock=self.clock) as fresh:
            found = list(audit.verify_digests(fresh.records, fresh.bytes))
        return [f"{one.identifier}: {one.problem}" for one in found if one.problem]


def text(data: bytes | str, format: str = "text", media_type: str = "text/plain") -> Content:
    """Content that came in whole."""
    encoded = data.encode() if isinstance(data, str) else data
    return make_content(encoded, format=format, media_type=media_type)


def html(data: bytes | str) -> Content:
    return text(data, "html", "text/html")


def large(registry: Registry, data: bytes, format: str = "octet-stream") -> Content:
    """Content that came in through a file, because it is too large to be held in memory."""
    with registry.spool() as spool:
        for start in range(0, len(data), 1 << 20):
            spool.write(data[start : start + (1 << 20)])
        return spool.finish_content(format=format, media_type="application/octet-stream")


def sha512(data: bytes) -> str:
    return hashlib.sha512(data).hexdigest()


def names(identifiers: tuple[Identifier, ...]) -> list[str]:
    return [str(one) for one in identifiers]


@pytest.fixture
def clock() -> Clock:
    return Clock()


# Processes
# ---------

WORKER = Path(__file__).parent / "crash" / "worker.py"


class Worker:
    """A process that runs `worker.py`, perhaps under another program such as `strace`."""

    def __init__(self, root: Path, *arguments: object, under: tuple[str, ...] = ()) -> None:
        self.process = subprocess.Popen(
            [*under, sys.executable, str(WORKER), str(root), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self._lines = self.process.stdout
        self.said: list[dict[str, Any]] = []

    def hear(self) -> dict[str, Any] | None:
        """The next thing it says; None at its end, also where that cut off a line."""
        line = self._lines.readline()
        if not line.endswith("\n"):
            return None
        self.said.append(json.loads(line))
        return self.said[-1]

    def hear_until(self, word: str) -> None:
        """Hears it out until it says this, or ends."""
        while (said := self.hear()) is not None and word not in said:
            pass

    def kill(self) -> None:
        """As a power cut would: it gets no chance to do anything."""
        self.process.send_signal(signal.SIGKILL)
        self.hear_until("nothing")
        self.process.wait()

    def stop(self) -> None:
        """In good order."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.hear_until("nothing")
        assert self.process.wait() == 0

    @property
    def receipts(self) -> list[dict[str, Any]]:
        return [one for one in self.said if "identifier" in one]

    @property
    def errors(self) -> list[str]:
        return [one["error"] for one in self.said if "error" in one]


StartWorker = Callable[..., Worker]


# Fixtures
# --------


@contextmanager
def make_place() -> Iterator[Path]:
    """A directory for a registry. Tests that write much are faster if TMPDIR is in memory."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def copy_as_new(source: Path, target: Path) -> Path:
    """Copy a registry as if it had been created in `target`, so that it is no copy."""
    shutil.copytree(source, target)
    home.settle_home(target, target / "registry.sqlite")
    return target


@pytest.fixture
def place() -> Iterator[Path]:
    with make_place() as place:
        yield place


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty registry, made once and durably; tests work on copies."""
    place = tmp_path_factory.mktemp("pristine") / "registry"
    initialise(place, series=(SERIES,), naming_authorities=(AUTHORITY,), shoulders=(SHOULDER,))
    return place


@pytest.fixture
def root(pristine: Path, place: Path) -> Path:
    """The directory of an empty registry with a series, a naming authority and a shoulder."""
    return copy_as_new(pristine, place / "registry")


@pytest.fixture
def desk(root: Path, clock: Clock) -> Iterator[Desk]:
    opened = Desk(root, clock)
    yield opened
    opened.registry.close()


@pytest.fixture
def start(root: Path) -> Iterator[StartWorker]:
    """Starts workers on the registry; whichever still run at the end are killed."""
    started: list[Worker] = []

    def start(*arguments: object, **options: Any) -> Worker:
        worker = Worker(root, *arguments, **options)
        started.append(worker)
        return worker

    yield start
    for worker in started:
        if worker.process.poll() is None:
            worker.kill()
        for stream in (worker.process.stdin, worker.process.stdout):
            if stream is not None:
                stream.close()
