"""The library that reads, keeps and queries triples, loaded when it is needed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from perdure.errors import MissingLibrary

NAME = "pyoxigraph"


def has_pyoxigraph() -> bool:
    """Return True if the library is installed."""
    return find_spec(NAME) is not None


def load_pyoxigraph() -> Any:
    """Return the library. Raises MissingLibrary."""
    try:
        return import_module(NAME)
    except ImportError:
        raise MissingLibrary(task="reading triples", extra="triples", library=NAME) from None
