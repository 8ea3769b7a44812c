"""Heavy libraries, imported when first needed. If one is missing, the error names the extra to
install.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from perdure.errors import PartNotSupported
from perdure.extractors.port import Source
from perdure.parts import Selector


def import_library(name: str, extra: str, source: Source, selector: Selector | str = "") -> Any:
    """Import and return the module of this name. Raises PartNotSupported if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise PartNotSupported(
            media_type=source.media_type,
            selector=str(selector),
            install=f"perdure[{extra}]",
            offered=None,
        ) from None
