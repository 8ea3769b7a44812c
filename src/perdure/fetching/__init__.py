"""Asking strangers' servers: URLs that somebody else chose, without being led to one's own network.

`Fetcher` is all that others need: `exchange` asks once, `follow` goes where redirects lead. What
comes back is an `Exchange`, byte by byte as it was on the wire. docs/decisions/safe-fetching.md
"""

from perdure.fetching.exchange import Cause, Exchange, Limits, Unreachable
from perdure.fetching.fetcher import Fetcher

__all__ = ["Cause", "Exchange", "Fetcher", "Limits", "Unreachable"]
