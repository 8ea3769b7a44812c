"""Import the libraries that read web archives when they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from perdure.errors import MissingLibrary


def import_library(name: str) -> Any:
    """Return the module of this name. Raises MissingLibrary if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        library = name.partition(".")[0]
        task = "reading web archives"
        raise MissingLibrary(task=task, extra="archives", library=library) from None
