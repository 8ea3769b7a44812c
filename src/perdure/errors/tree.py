"""The tree as a whole: classes by name and by code, and errors on their way between processes.

`AREAS` are the modules that are imported only by what raises their errors.

How it works: `pack` names the class and its parents and gives what clients see of the error;
`unpack` makes the error again, of the nearest class that this process knows: the class of a plug-in
may be loaded on one side only. An abstract class stands for the one that quotes another process.

What must stay true: what does not make an error raises ValueError, and nothing else is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

from perdure.errors.invalid import InvalidRequest, RefusedThere
from perdure.errors.root import PerdureError
from perdure.errors.unavailable import Unavailable, UnavailableThere

AREAS = (
    "captures",
    "changes",
    "contents",
    "describing",
    "importing",
    "locations",
    "naming",
    "processes",
    "requests",
    "servers",
    "tokens",
)
_QUOTING: dict[type[PerdureError], type[PerdureError]] = {
    InvalidRequest: RefusedThere,
    Unavailable: UnavailableThere,
}


def list_classes() -> Iterator[type[PerdureError]]:
    """Every class of the tree, parents first, and those of plug-ins that are loaded."""
    for area in AREAS:
        import_module(f"perdure.errors.{area}")
    waiting: list[type[PerdureError]] = [PerdureError]
    while waiting:
        kind = waiting.pop(0)
        yield kind
        waiting += kind.__subclasses__()


def pack(error: PerdureError) -> tuple[tuple[str, ...], dict[str, object]]:
    """The names of the error's class and its parents, and its fields and computed properties."""
    names = tuple(kind.__name__ for kind in type(error).__mro__ if issubclass(kind, PerdureError))
    members = error.as_dict()
    members.pop("code")
    return names, members


def unpack(names: Sequence[str], members: Mapping[str, object]) -> PerdureError:
    """The error that was packed, or of a parent class. Raises ValueError if there is none."""
    known = {kind.__name__: kind for kind in list_classes()}
    for at, name in enumerate(names):
        kind = known.get(name)
        if kind is None or (at and kind is PerdureError):  # the root would say nothing
            continue
        error = _make(kind, members)
        if error is not None:
            return error
    raise ValueError(f"no error is of the classes {names!r} and has these fields")


def read_document(document: Mapping[str, object]) -> PerdureError | None:
    """The error that a problem document speaks of, if its code is one of ours."""
    code = document.get("code")
    owner = next((kind for kind in list_classes() if vars(kind).get("code") == code), None)
    return _make(owner, document) if owner else None


def _make(kind: type[PerdureError], members: Mapping[str, object]) -> PerdureError | None:
    made = _QUOTING.get(kind, kind)
    try:
        error = made(**{name: members[name] for name in made.fields if name in members})
        str(error)  # fields of other types make no sentence
    except (TypeError, ValueError, AttributeError, KeyError):
        return None
    return error
