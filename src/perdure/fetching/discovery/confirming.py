"""Ask a host whether it resolves a series (section 3.8.1 of the draft).

How it works: `/.well-known/pdi` lists the series that a perdure resolves. Another resolver of PDIs
answers OPTIONS on the series, and refuses it on a series that does not exist: many web servers
answer OPTIONS on everything, and a wildcard in DNS leads every series to one of them.

What must stay true: all requests follow the rules of safe fetching; a host is accepted only if it
said that it resolves this series.
"""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from perdure.errors import PerdureError
from perdure.fetching.exchange import Limits
from perdure.fetching.fetcher import Fetcher

LIMITS = Limits(connect_seconds=5.0, seconds=10.0, body=256 << 10, inflated=256 << 10, redirects=2)
WELL_KNOWN = ".well-known/pdi"
_ANYTHING = 200, 204


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a host. `base` is empty if it does not resolve the series."""

    base: str = ""
    complete: bool = False
    """True if it says that it knows all names of the series."""
    found: str
    """What it said, for people."""


async def confirm_host(fetcher: Fetcher, base: str, series: str) -> Confirmation:
    """Ask the resolver at `base` whether it resolves a series."""
    try:
        chain = await fetcher.follow_redirects(
            f"{base}/{WELL_KNOWN}", headers=(("Accept", "application/json"),)
        )
        told = _find_statement(fetcher.decode_content(chain[-1]), series)
        if chain[-1].status == 200 and told is not None:
            final = chain[-1].url.removesuffix(f"/{WELL_KNOWN}")
            return Confirmation(
                base=base if final == chain[-1].url else final,
                complete=told.get("complete") is True,
                found=f"/{WELL_KNOWN} lists the series",
            )
        if await _allows_get(fetcher, base, series):
            nonsense = f"{secrets.token_hex(8)}.invalid.{series.rpartition('.')[2]}"
            if await _allows_get(fetcher, base, nonsense):
                return Confirmation(found="it answers OPTIONS on everything")
            return Confirmation(base=base, found="it answers OPTIONS on the series")
    except PerdureError as error:
        return Confirmation(found=str(error))
    return Confirmation(found="it is not a resolver of this series")


def _find_statement(body: bytes, series: str) -> dict[str, Any] | None:
    """Return what a document says about a series, or None."""
    try:
        told = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    listed = told.get("series")
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and str(one.get("series", "")).lower() == series:
            return one
    return None


async def _allows_get(fetcher: Fetcher, base: str, series: str) -> bool:
    answer = await fetcher.exchange_once(f"{base}/pdi://{series}/", method="OPTIONS")
    methods = (answer.find_header("Allow") or "").upper().replace(" ", "").split(",")
    return answer.status in _ANYTHING and "GET" in methods
