"""Import the libraries that read web archives when they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from perdure.errors.processes import MissingLibrary


def import_library(name: str) -> Any:
    """Return the module of this name. Raises Unavailable if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingLibrary(task="reading web archives", extra="archives", library=name) from None
