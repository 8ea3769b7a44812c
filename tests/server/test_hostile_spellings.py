"""Different, long, odd and hostile spellings: what they leave is bounded, and poisons nothing.

A few thousand of them are sent in every run, and a million in a trial.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import SERIES
from tests.server.both_ways import BothWays
from tests.trials import Tally

from perdure.registry import initialise
from perdure.server.fast.recent import MOST_ANSWERS, MOST_BYTES

FEW, MANY = 6_000, 1_000_000
DAY = f"pdi://{SERIES}/1997/09/01"
PLACE = "https://a.example/x"
KNOWN = (
    f"{DAY}/1.text.1",
    "hdl:1/A",
    "1/A",
    "doi:10.1/abc",
    "ark:99999/x6",
    "ark:99999/x6/c3",
    "urn:example:a",
    "urn:example:other",
    "hdl:1/A%23z",
    "URN:IANA:42117::a:::",
    "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk/",
)
"""Names that lead somewhere; other spellings of them are among the hostile ones."""
MOST_MEMORY = 64 << 20
"""Bytes: of remembered answers and headers, of the caches of the parsers, and of the allocator."""


@pytest.fixture
def ways(tmp_path: Path) -> Iterator[BothWays]:
    root = tmp_path / "registry"
    initialise(root, templates=("hdl:1/ # {location}?part={part}",), handle_prefixes=("1",))
    made = BothWays(root)
    for name in KNOWN:
        if name not in ("1/A", "ark:99999/x6/c3", "urn:example:other", "hdl:1/A%23z"):
            made.desk.bind(name.removesuffix(".text.1"), PLACE, register=True)
    made.desk.alias("urn:example:a", "urn:example:other")
    yield made
    made.close()


def _swap_case(choose: random.Random, text: str) -> str:
    return "".join(one.upper() if choose.random() < 0.5 else one.lower() for one in text)


def _escape_some(choose: random.Random, text: str) -> str:
    return "".join(f"%{ord(one):02x}" if choose.random() < 0.2 else one for one in text)


def _add_hyphens(choose: random.Random, text: str) -> str:
    label, slash, rest = text.partition("/")
    return f"{label}{slash}{'-' * choose.randrange(9)}".join(("", "-".join(rest)))


def _lengthen(choose: random.Random, text: str) -> str:
    return f"{text}{choose.choice('/.-@:_a0%')}{'y' * choose.randrange(8000)}"


def _add_part(choose: random.Random, text: str) -> str:
    return f"{text}{choose.choice(('%23', '@', '?part=', '%2523'))}{choose.random()}"


def _add_structure(choose: random.Random, text: str) -> str:
    return f"{text}{''.join(choose.choice('/.-%@~*:') for _ in range(choose.randrange(60)))}"


def _make_noise(choose: random.Random, _text: str) -> str:
    return "".join(chr(choose.randrange(0x21, 0x7F)) for _ in range(choose.randrange(1, 300)))


SPOILERS: tuple[Callable[[random.Random, str], str], ...] = (
    _swap_case,
    _escape_some,
    _add_hyphens,
    _lengthen,
    _add_part,
    _add_structure,
    _make_noise,
)


def _make_header(choose: random.Random) -> tuple[str, ...]:
    if choose.random() < 0.7:
        return ()
    name = choose.choice(("Accept", "Accept-Language", "X-Padding", "Host"))
    value = choose.choice(("de;q=0.5", "text/html", "*/*", "a.example"))
    return (f"{name}: {value}{choose.choice(('', ', ', ';', ':80'))}{choose.random():.3}",)


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.trial)])
def test_hostile_spellings_poison_nothing(ways: BothWays, count: int, tally: Tally) -> None:
    """Every answer that is compared is the plain way's; afterwards the known names are answered as
    before."""
    choose = random.Random(1997)
    before = {name: ways.ask_plainly(f"/{name}") for name in KNOWN}
    assert all(answer.startswith(b"HTTP/1.1 302 ") for answer in before.values())
    start = 0
    for number in tally.each(range(count), "spellings"):
        if number == FEW // 2:
            start = _resident()
        name = choose.choice(KNOWN)
        for _ in range(choose.randrange(1, 3)):
            name = choose.choice(SPOILERS)(choose, name)
        target, header = f"/{name}"[:8190], _make_header(choose)
        fast = ways.ask_fast(target, *header)
        if fast is not None and number % 7 == 0:
            assert fast == ways.ask_plainly(target, *header), target
        if number % 100 == 0:
            known = choose.choice(KNOWN)
            assert ways.ask_fast(f"/{known}") == before[known]
    assert _resident() - start < MOST_MEMORY
    for name, answer in before.items():
        assert ways.ask_fast(f"/{name}") == answer
    assert 2 * MOST_BYTES == 16 << 20
    assert MOST_ANSWERS == 8192


def _resident() -> int:
    """Bytes of memory that this process takes."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")
