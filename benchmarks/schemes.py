"""Redirects of names of every scheme and kind of record, at random, against nginx's static 302.

How it works: one registry has `_COUNT` names of each kind, far more than the server remembers
answers for. The work per name should depend neither on its scheme nor on what else its record says.
Names without a record lead to such names: aliases, suffixes of ARKs, and parts with a template.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import fixture
from benchmarks.measure import Ratio
from benchmarks.servers import nginx, perdure, rounds, wrk
from perdure.ids import parse
from perdure.model.commands import Alias, Assign, Bind, Command, Describe
from perdure.model.records import Location, Value
from perdure.registry import Registry, initialise

_COUNT = 100_000
_BATCH = 1000
_ADMIN = '{"handle":"0.NA/1839","index":200,"permissions":"011111110011"}'
_REDIRECT = "location / { return 302 https://archive.example.org/objects/release.html; }"
_ANSWERED = "status < 300 or status > 399"


class _Kind(NamedTuple):
    """Names that are spelled alike, with records of one kind."""

    title: str
    target: float
    spelling: str
    """The path of a name; `{}` is its number."""
    make: Callable[[str, str], tuple[Command, ...]]
    """From a name and a location to the commands that make its record."""


def _bind(name: str, uri: str) -> tuple[Command, ...]:
    return (Bind(identifier=parse(name), locations=(Location(uri=uri),), register=True),)


def _describe(name: str, uri: str) -> tuple[Command, ...]:
    patch = b'{"title":"Statement","language":"en"}'
    return (*_bind(name, uri), Describe(identifier=parse(name), patch=patch))


def _assign(name: str, uri: str) -> tuple[Command, ...]:
    values = (
        Value(index=1, type="URL", data=uri),
        Value(index=2, type="EMAIL", data="archive@example.org"),
        Value(index=100, type="HS_ADMIN", format="admin", data=_ADMIN),
    )
    return (Assign(identifier=parse(name), values=values),)


def _choose(name: str, uri: str) -> tuple[Command, ...]:
    places = Location(uri=uri, region="eu", weight=2), Location(uri=f"{uri}?us", region="us")
    return (Bind(identifier=parse(name), locations=places, register=True),)


def _lead(name: str, uri: str) -> tuple[Command, ...]:
    number = uri.rpartition("/")[2]
    return (Alias(identifier=parse(f"hdl:1839/00-0000-{number}"), other=parse(name)),)


def _point(name: str, uri: str) -> tuple[Command, ...]:
    number = uri.rpartition("/")[2]
    value = Value(index=1, type="HS_ALIAS", data=f"1839/00-0000-{number}")
    return (Assign(identifier=parse(name), values=(value,)),)


def _make_nothing(_name: str, _uri: str) -> tuple[Command, ...]:
    return ()  # a second spelling of a name that exists, or a part of it


_TEMPLATE = "hdl:1839/ # {location}?part={part}"
_PWID = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.example.org/"
_KINDS = (
    _Kind("a PDI", 0.45, f"pdi://{fixture.SERIES}/1997/09/01/{{}}.html.1", _bind),
    _Kind("a PDI with metadata", 0.40, f"pdi://{fixture.SERIES}/1997/09/02/{{}}", _describe),
    _Kind("a handle", 0.40, "hdl:1839/00-0000-{}", _bind),
    _Kind("a handle with typed values", 0.35, "hdl:1839/10-0000-{}", _assign),
    _Kind("a handle without its label", 0.40, "1839/00-0000-{}", _make_nothing),
    _Kind("a DOI", 0.40, "doi:10.1000/xyz.{}", _bind),
    _Kind("an ARK", 0.40, "ark:99999/fk4{}", _bind),
    _Kind("a URN", 0.40, "urn:nbn:de:101:1-{}", _bind),
    _Kind("a URN of 1993", 0.40, "URN:IANA:42117::{}:::", _bind),
    _Kind("a PWID", 0.40, f"{_PWID}{{}}.html", _bind),
    _Kind("a URN with two locations", 0.35, "urn:example:two-{}", _choose),
    _Kind("an alias of a handle", 0.35, "urn:example:alias-{}", _lead),
    _Kind("a handle with an HS_ALIAS value", 0.35, "hdl:1839/20-0000-{}", _point),
    _Kind("an ARK with a suffix", 0.35, "ark:99999/fk4{}/c3/s5.pdf", _make_nothing),
    _Kind("a part by a template", 0.35, "hdl:1839/00-0000-{}%23page=2", _make_nothing),
)


def run() -> list[Ratio]:
    root = fixture.OUT / "schemes"
    shutil.rmtree(root, ignore_errors=True)
    registry = root / "registry"
    initialise(
        registry, series=(fixture.SERIES,), handle_prefixes=("1839",), templates=(_TEMPLATE,)
    )
    asyncio.run(_fill(registry))
    results = []
    with perdure(registry) as ours, nginx(fixture.OUT / "nginx", _REDIRECT) as static:
        for number, kind in enumerate(_KINDS):
            script = _write_script(root / f"{number}.lua", kind.spelling)
            results += rounds(
                f"redirect of {kind.title}",
                partial(wrk, ours, script, seconds=2),
                {"nginx static 302": (partial(wrk, static, script, seconds=2), kind.target)},
                unit="requests/CPU-s",
                count=3,
            )
    return results


async def _fill(registry: Path) -> None:
    with Registry(registry) as opened:
        submit = opened.door.submit_command
        for kind in _KINDS:
            for start in range(0, _COUNT, _BATCH):
                commands = [
                    command
                    for number in range(start, start + _BATCH)
                    for command in kind.make(
                        kind.spelling.format(number), f"https://archive.example.org/{number}"
                    )
                ]
                await asyncio.gather(*map(submit, commands))


def _write_script(path: Path, spelling: str) -> Path:
    before, _, behind = spelling.partition("{}")
    path.write_text(
        f"""math.randomseed(1994)
        request = function()
          return wrk.format("GET", "/{before}" .. math.random(0, {_COUNT - 1}) .. "{behind}")
        end
        {fixture.expect(_ANSWERED)}
        """
    )
    return path
