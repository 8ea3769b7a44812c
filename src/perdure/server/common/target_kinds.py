"""Kinds of request targets. The allowed methods depend on the kind.

The table of routes (`perdure.server.routes`) defines them, and each request carries them.
"""

from __future__ import annotations

import enum


class TargetKind(enum.Enum):
    """The kind of thing that a request target names."""

    PAGE = "page"
    IDENTIFIER = "identifier"
    PART = "part"
    PATTERN = "pattern"
    SERIES = "series"
    AUTHORITY = "authority"
    """An ARK shoulder: it mints names, but lists none."""
