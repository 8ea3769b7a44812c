"""Import the libraries that read web archives when they are first needed."""

from __future__ import annotations

from typing import Any

from perdure.errors import unavailable


def import_library(name: str) -> Any:
    """Return the module of this name. Raises MissingLibrary if it is not installed."""
    return unavailable.import_library(name, task="reading web archives", extra="archives")
