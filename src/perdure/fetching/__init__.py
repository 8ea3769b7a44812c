"""Fetch URLs from untrusted sources safely: they can never reach into the operator's own network.

Use `Fetcher`: `exchange` sends one request, `follow` follows redirects. The result is an
`Exchange`, with the exact bytes that were on the wire. docs/decisions/safe-fetching.md
"""

from perdure.fetching.exchange import Cause, Exchange, Limits, Unreachable
from perdure.fetching.fetcher import Fetcher

__all__ = ["Cause", "Exchange", "Fetcher", "Limits", "Unreachable"]
