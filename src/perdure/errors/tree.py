"""The tree as a whole: find classes by name and by code, and send errors between processes.

`AREAS` are the modules that are imported only by the code that raises their errors.

How it works: `pack_error` returns the names of the class and its parents, and the members that
clients see. `unpack_error` recreates the error in the nearest class that this process knows,
because the class of a plug-in may be loaded on one side only. An abstract class is replaced by the
one that quotes another process.

What must stay true: if the members do not make an error, ValueError is raised, and no other object
is created.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

from perdure.errors.invalid import (
    ContentNotSupported,
    ContentNotSupportedThere,
    InvalidRequest,
    RefusedThere,
)
from perdure.errors.parts import (
    OverBudget,
    OverBudgetThere,
    Undecodable,
    UndecodableThere,
)
from perdure.errors.rights import (
    Conflict,
    ConflictThere,
    Forbidden,
    ForbiddenThere,
    PreconditionFailed,
    PreconditionFailedThere,
    Unauthenticated,
    UnauthenticatedThere,
)
from perdure.errors.root import PerdureError
from perdure.errors.stored import Corrupt, CorruptThere, TooLarge, TooLargeThere
from perdure.errors.texts import (
    BadSettings,
    BadSettingsThere,
    InvalidMetadata,
    InvalidMetadataThere,
)
from perdure.errors.unavailable import (
    ShareUsedUp,
    ShareUsedUpThere,
    Unavailable,
    UnavailableThere,
)

AREAS = (
    "archive_corruption",
    "assertions",
    "captures",
    "changes",
    "composing",
    "citing",
    "configuring",
    "conflicts",
    "contents",
    "corruption",
    "credentials",
    "cutting",
    "damage",
    "delegations",
    "depositing",
    "describing",
    "discovery",
    "exchanging",
    "harvesting",
    "importing",
    "limits",
    "locations",
    "mirroring",
    "moving",
    "naming",
    "processes",
    "quotas",
    "reading",
    "records",
    "requests",
    "searching",
    "object_stores",
    "segment_corruption",
    "servers",
    "signing",
    "succession",
    "tokens",
    "triples",
    "webhooks",
)
QUOTING: dict[type[PerdureError], type[PerdureError]] = {
    InvalidRequest: RefusedThere,
    ContentNotSupported: ContentNotSupportedThere,
    Unavailable: UnavailableThere,
    ShareUsedUp: ShareUsedUpThere,
    Forbidden: ForbiddenThere,
    Unauthenticated: UnauthenticatedThere,
    Conflict: ConflictThere,
    PreconditionFailed: PreconditionFailedThere,
    BadSettings: BadSettingsThere,
    InvalidMetadata: InvalidMetadataThere,
    OverBudget: OverBudgetThere,
    TooLarge: TooLargeThere,
    Corrupt: CorruptThere,
    Undecodable: UndecodableThere,
}
"""The class that quotes another process, for each abstract class with a code."""
_BY_NAME: dict[str, type[PerdureError]] = {}
"""The classes that were there when they were last listed; a plug-in may bring more."""


def list_classes() -> Iterator[type[PerdureError]]:
    """List every class of the tree, parents first, including those of loaded plug-ins.

    The shapes are left out.
    """
    for area in AREAS:
        import_module(f"perdure.errors.{area}")
    waiting: list[type[PerdureError]] = [PerdureError]
    seen: set[type[PerdureError]] = set()
    while waiting:
        kind = waiting.pop(0)
        if kind in seen:
            continue
        seen.add(kind)
        if not _is_shape(kind):
            yield kind
        waiting += kind.__subclasses__()


def _is_shape(kind: type[PerdureError]) -> bool:
    """Return whether a class of ours only saves repetition. No error has it as its class."""
    own = kind.__module__.startswith("perdure.errors.")
    return own and kind is not PerdureError and kind.code == PerdureError.code


def pack_error(error: PerdureError) -> tuple[tuple[str, ...], dict[str, object]]:
    """Return the names of an error's class and its parents, and its fields and properties."""
    names = tuple(kind.__name__ for kind in type(error).__mro__ if issubclass(kind, PerdureError))
    members = error.as_dict()
    members.pop("code")
    return names, members


def unpack_error(names: Sequence[str], members: Mapping[str, object]) -> PerdureError:
    """Recreate a packed error, if need be as a parent class.

    Raises ValueError if no known class fits.
    """
    for at, name in enumerate(names):
        kind = _find_class(name)
        if kind is None or (at and kind is PerdureError):  # the root has no message of its own
            continue
        error = _make_error(kind, members)
        if error is not None:
            return error
    raise ValueError(f"no error class fits the names {names!r} and these fields")


def _find_class(name: str) -> type[PerdureError] | None:
    """Return the class of this name. All are listed again for one that was not there yet."""
    if name not in _BY_NAME:
        for kind in list_classes():
            _BY_NAME.setdefault(kind.__name__, kind)
    return _BY_NAME.get(name)


def read_document(document: Mapping[str, object]) -> PerdureError | None:
    """Return the error that a problem document describes, or None if its code is unknown."""
    code = document.get("code")
    owner = next((kind for kind in list_classes() if vars(kind).get("code") == code), None)
    return _make_error(owner, document) if owner else None


def _make_error(kind: type[PerdureError], members: Mapping[str, object]) -> PerdureError | None:
    made = QUOTING.get(kind, kind)
    try:
        error = made(**{name: members[name] for name in made.fields if name in members})
        str(error)  # fails if the fields have the wrong types
    except (TypeError, ValueError, AttributeError, KeyError):
        return None
    return error
