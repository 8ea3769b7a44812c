"""Ten million identifiers, each bound to a location: as lines to import, and as paths to ask for.

`PERDURE_BENCH_IDENTIFIERS` sets another number; the registry is made once and kept in
benchmarks/out, which may be deleted at any time.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from pathlib import Path

OUT = Path(__file__).parent / "out"
SERIES = "oma.eop.gov.us"
PER_DAY = 10_000
COUNT = int(os.environ.get("PERDURE_BENCH_IDENTIFIERS", "10000000"))
_FIRST = datetime.date(1993, 1, 20)  # since then every document of the White House had a PDI


def days(count: int = COUNT) -> list[str]:
    """The dates that hold the first identifiers, as they stand in a PDI."""
    number = -(-count // PER_DAY)
    return [f"{_FIRST + datetime.timedelta(day):%Y/%m/%d}" for day in range(number)]


def lines(count: int = COUNT) -> Iterator[str]:
    """JSON Lines in the order of the identifiers."""
    left = count
    for day in days(count):
        for serial in range(1, min(PER_DAY, left) + 1):
            yield (
                f'{{"id":"pdi://{SERIES}/{day}/{serial}.html.1","locations":'
                f'["https://clintonwhitehouse.archives.gov/{day}/release-{serial}.html"]}}\n'
            )
        left -= PER_DAY


def write_lines(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.writelines(lines())


def wrk_script(
    path: Path, *, distinct: int | None = None, prefix: str = "/", count: int = COUNT
) -> Path:
    """A wrk script that asks for identifiers at random; `distinct` keeps to so many of them."""
    dates = ",".join(f'"{day}"' for day in days(count))
    last = min(PER_DAY, count)
    if distinct:
        dates, last = f'"{days()[0]}"', distinct
    path.write_text(
        f"""local days = {{{dates}}}
        math.randomseed(1994)
        request = function()
          local day = days[math.random(#days)]
          local serial = math.random({last})
          return wrk.format("GET", "{prefix}pdi://{SERIES}/" .. day .. "/" .. serial .. ".html.1")
        end
        {expect("status < 300 or status > 399")}
        """
    )
    return path


def expect(wrong: str) -> str:
    """Lua that counts the answers for which this condition on `status` holds."""
    return f"""
        wrong = 0
        local threads = {{}}
        setup = function(thread) table.insert(threads, thread) end
        response = function(status) if {wrong} then wrong = wrong + 1 end end
        done = function()
          for _, thread in ipairs(threads) do
            print("unexpected answers: " .. thread:get("wrong"))
          end
        end
    """
