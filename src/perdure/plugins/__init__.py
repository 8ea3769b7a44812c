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

import sys
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from perdure.errors import BadSettings, PerdureError
from perdure.errors.configuring import (
    ClaimFault,
    ClaimInvalid,
    ClaimTaken,
    PluginOfOtherType,
    PluginUnusable,
)
from perdure.plugins.points import PluginPoint, scan_points

_OWN = "perdure"
_Value = TypeVar("_Value")


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
    points: Iterable[PluginPoint] | None = None,
) -> tuple[Plugin[_Value], ...]:
    """Load all usable plug-ins of a group, and log the others.

    `claims` lists the claims of a plug-in, and raises InvalidClaim if the plug-in is invalid.
    `points` replaces the installed entry points. Raises BadSettings if one of perdure's own
    plug-ins is invalid.
    """
    found = select_points(group) if points is None else points
    owners: dict[Hashable, str] = {}
    loaded: list[Plugin[_Value]] = []
    for point in sorted(found, key=_rank_point):
        try:
            value = _load_value(point, kind)
            _grant_claims(point, claims(value), owners)
        except (Exception, SystemExit) as error:  # other people's code, which may raise anything
            fault = _make_fault(point, error)
            if point.package == _OWN:
                raise fault from error
            _log_unused(fault)
        else:
            loaded.append(Plugin(point.value, value))
    return tuple(loaded)


def choose_point(points: Iterable[PluginPoint], name: str) -> PluginPoint | None:
    """Return the entry point with a name, or None. If several packages have one, perdure's own is
    chosen, or that of the first package; the others are logged."""
    named = [one for one in points if one.name == name]
    if not named:
        return None
    chosen, *others = sorted(named, key=_rank_point)
    for point in others:
        owners = _name_owner(chosen), _name_owner(point)
        taken = ClaimTaken(
            setting=point.group, value=_describe_point(point), claim=repr(name), owners=owners
        )
        _log_unused(taken)
    return chosen


def load_point(point: PluginPoint, *arguments: str, call: bool = False) -> Any:
    """Load the value of an entry point; with `call`, call it with the arguments and return its
    result.

    Raises BadSettings if that fails, or the error of perdure that it raises.
    """
    try:
        value = point.load()
        return value(*arguments) if call else value
    except PerdureError:
        raise
    except (Exception, SystemExit) as error:  # other people's code, which may raise anything
        raise _make_fault(point, error) from error


def select_points(group: str) -> tuple[PluginPoint, ...]:
    """Return the entry points of a group, of all installed packages."""
    return _scan_path(tuple(sys.path)).get(group, ())


@lru_cache(maxsize=1)
def _scan_path(path: tuple[str, ...]) -> dict[str, tuple[PluginPoint, ...]]:
    """The points of all packages by group, read once for all groups and a path."""
    found: dict[str, tuple[PluginPoint, ...]] = {}
    for point in scan_points(path):
        found[point.group] = (*found.get(point.group, ()), point)
    return found


def _rank_point(point: PluginPoint) -> tuple[bool, str, str]:
    return point.package != _OWN, point.package, point.name


def _log_unused(fault: BadSettings) -> None:
    import logging  # which the program loads only if it has something to tell

    logging.getLogger(__name__).error("%s: this plug-in is not used", fault)


def _name_owner(point: PluginPoint) -> str:
    return f"{point.value} of {point.package or 'an unknown package'}"


def _load_value(point: PluginPoint, kind: type[_Value]) -> _Value:
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
    point: PluginPoint, claims: Iterable[Hashable], owners: dict[Hashable, str]
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


def _describe_point(point: PluginPoint) -> str:
    return f"{point.name} = {_name_owner(point)}"


def _make_fault(point: PluginPoint, error: BaseException) -> BadSettings:
    if isinstance(error, BadSettings):
        return error
    group, shown = point.group, _describe_point(point)
    if isinstance(error, InvalidClaim):
        return ClaimInvalid(setting=group, value=shown, fault=error.fault, claim=error.claim)
    return PluginUnusable(setting=group, value=shown, fault=f"{type(error).__name__}: {error}")
