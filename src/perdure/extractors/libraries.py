"""Heavy libraries, imported when first needed. If one is missing, the error names the extra to
install.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from perdure.errors import MissingLibrary, quote
from perdure.extractors.port import Source
from perdure.parts import Selector


def import_library(name: str, extra: str, source: Source, selector: Selector | str = "") -> Any:
    """Import and return the module of this name. Raises MissingLibrary if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        part = f"cutting {quote(selector)} out of" if str(selector) else "reading"
        task = f"{part} {quote(source.media_type)}"
        library = name.partition(".")[0]
        raise MissingLibrary(task=task, extra=extra, library=library) from None
