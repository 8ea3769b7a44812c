"""Plug-ins: extensions of perdure by installed packages, found by entry point.

How it works: a group of entry points (`perdure.schemes`, `perdure.metadata` …) is one kind of
plug-in. perdure's own plug-ins are in the same groups. `load_plugins` loads a group: first
perdure's own, then those of other packages, ordered by package and entry point. Each value makes
claims (a name, a prefix), and no claim is granted twice.

What must stay true: a plug-in of another package that cannot be loaded, has the wrong type, or
claims a name that is taken, is skipped and logged with the name of its package; everything else
keeps working. The same mistake in perdure itself, or in a plug-in that a setting chose, is raised.
Nothing is loaded at import.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any, Generic, NamedTuple, TypeVar

from perdure.errors import BadSettings, PerdureError
from perdure.errors.configuring import (
    ClaimFault,
    ClaimInvalid,
    ClaimTaken,
    PluginOfOtherType,
    PluginUnusable,
)

_OWN = "perdure"
_Value = TypeVar("_Value")
_logger = logging.getLogger(__name__)


class Plugin(NamedTuple, Generic[_Value]):
    """A loaded plug-in."""

    place: str
    """`module:attribute`, from which it can be loaded again."""
    value: _Value


class InvalidClaim(ValueError):
    """A plug-in claims something that no plug-in may have."""

    def __init__(self, fault: ClaimFault, claim: str) -> None:
        super().__init__(fault, claim)
        self.fault: ClaimFault = fault
        self.claim = claim


def load_plugins(
    group: str,
    kind: type[_Value],
    claims: Callable[[_Value], Iterable[Hashable]],
    points: Iterable[EntryPoint] | None = None,
) -> tuple[Plugin[_Value], ...]:
    """Load all usable plug-ins of a group, and log the others.

    `claims` lists the claims of a plug-in, and raises InvalidClaim if the plug-in is invalid.
    `points` replaces the installed entry points. Raises BadSettings if one of perdure's own
    plug-ins is invalid.
    """
    found = select_entry_points(group) if points is None else points
    owners: dict[Hashable, str] = {}
    loaded: list[Plugin[_Value]] = []
    for point in sorted(found, key=_rank_point):
        try:
            value = _load_value(point, kind)
            _grant_claims(point, claims(value), owners)
        except (Exception, SystemExit) as error:  # other people's code, which may raise anything
            fault = _make_fault(point, error)
            if _name_package(point) == _OWN:
                raise fault from error
            _logger.error("%s: this plug-in is not used", fault)  # noqa: TRY400  # one line is enough
        else:
            loaded.append(Plugin(point.value, value))
    return tuple(loaded)


def choose_point(points: Iterable[EntryPoint], name: str) -> EntryPoint | None:
    """Return the entry point with a name, or None. If several packages have one, perdure's own is
    chosen, or that of the first package; the others are logged."""
    named = [one for one in points if one.name == name]
    if len(named) < 2:  # as always: to rank it, the metadata of its package would be read
        return named[0] if named else None
    chosen, *others = sorted(named, key=_rank_point)
    for point in others:
        owners = _name_owner(chosen), _name_owner(point)
        taken = ClaimTaken(
            setting=point.group, value=_describe_point(point), claim=repr(name), owners=owners
        )
        _logger.error("%s: this plug-in is not used", taken)
    return chosen


def load_point(point: EntryPoint, *, call: bool = False) -> Any:
    """Load the value of an entry point; with `call`, call it and return its result.

    Raises BadSettings if that fails, or the error of perdure that it raises.
    """
    try:
        value = point.load()
        return value() if call else value
    except PerdureError:
        raise
    except (Exception, SystemExit) as error:  # other people's code, which may raise anything
        raise _make_fault(point, error) from error


def select_entry_points(group: str) -> Iterable[EntryPoint]:
    """Return the entry points of a group, of all installed packages."""
    return _scan_entry_points(tuple(sys.path))(group=group)


@lru_cache(maxsize=1)
def _scan_entry_points(_path: tuple[str, ...]) -> Callable[..., EntryPoints]:
    """Select from the entry points of all packages, read once for all groups and a path."""
    found: Any = entry_points()  # its type differs between Python 3.11 and later versions
    select: Callable[..., EntryPoints] = found.select
    return select


def _name_package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else ""


def _rank_point(point: EntryPoint) -> tuple[bool, str, str]:
    package = _name_package(point)
    return package != _OWN, package, point.name


def _name_owner(point: EntryPoint) -> str:
    return f"{point.value} of {_name_package(point) or 'an unknown package'}"


def _load_value(point: EntryPoint, kind: type[_Value]) -> _Value:
    value = point.load()
    if not isinstance(value, kind):
        raise PluginOfOtherType(
            setting=point.group,
            value=_describe_point(point),
            found=type(value).__name__,
            needed=kind.__name__,
        )
    return value


def _grant_claims(
    point: EntryPoint, claims: Iterable[Hashable], owners: dict[Hashable, str]
) -> None:
    """Grant all claims of a plug-in, or raise ClaimTaken and grant none."""
    owner = _name_owner(point)
    wanted = tuple(claims)
    for claim in wanted:
        if claim in owners:
            raise ClaimTaken(
                setting=point.group,
                value=_describe_point(point),
                claim=_show_claim(claim),
                owners=(owners[claim], owner),
            )
    owners.update(dict.fromkeys(wanted, owner))


def _show_claim(claim: Hashable) -> str:
    return " ".join(map(str, claim)) if isinstance(claim, tuple) else repr(claim)


def _describe_point(point: EntryPoint) -> str:
    return f"{point.name} = {_name_owner(point)}"


def _make_fault(point: EntryPoint, error: BaseException) -> BadSettings:
    if isinstance(error, BadSettings):
        return error
    group, shown = point.group, _describe_point(point)
    if isinstance(error, InvalidClaim):
        return ClaimInvalid(setting=group, value=shown, fault=error.fault, claim=error.claim)
    return PluginUnusable(setting=group, value=shown, fault=f"{type(error).__name__}: {error}")
