"""perdure: persistent identifiers that keep, prove and point inside what they name.

    import perdure

    with perdure.open("archive") as registry:
        name = registry.mint(b"Dear reader", media_type="text/plain").identifier
        assert registry.read(name, part="char=0,4") == b"Dear"

`parse` reads an identifier of any scheme, `open` opens a registry. `Query`, `Record` and `Location`
are values. `errors` contains every error. Each name is loaded when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing it from `typing` would take longer than this module
if TYPE_CHECKING:
    from typing import Any

    from perdure import errors
    from perdure.api import OpenRegistry, open_registry
    from perdure.ids import Identifier, parse
    from perdure.model.commands import Receipt
    from perdure.model.queries import Query
    from perdure.model.records import Location, Record
    from perdure.reading.resolved import Resolved
    from perdure.registry import Registry

    open = open_registry  # named like `open` in other libraries for files

__all__ = ["Identifier", "Location", "OpenRegistry", "Query", "Receipt", "Record", "Registry",
           "Resolved", "errors", "open", "open_registry", "parse"]  # fmt: skip

_PLACES = {
    "Identifier": "perdure.ids",
    "Location": "perdure.model.records",
    "OpenRegistry": "perdure.api",
    "Query": "perdure.model.queries",
    "Receipt": "perdure.model.commands",
    "Record": "perdure.model.records",
    "Registry": "perdure.registry",
    "Resolved": "perdure.reading.resolved",
    "open_registry": "perdure.api",
    "parse": "perdure.ids",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "open":
        return import_module("perdure.api").open_registry
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'perdure' has no attribute {name!r}")
