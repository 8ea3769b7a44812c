"""Kinds of request targets: which methods are allowed depends on them.

The table of routes (`perdure.server.routes`) says which, and a request carries what it says.
"""

from __future__ import annotations

import enum


class TargetKind(enum.Enum):
    """What a request target names, as far as the allowed methods depend on it."""

    PAGE = "page"
    IDENTIFIER = "identifier"
    PART = "part"
    PATTERN = "pattern"
    SERIES = "series"
    AUTHORITY = "authority"
    """An ARK shoulder: names are minted on it, and nothing is listed."""
