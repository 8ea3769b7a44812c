"""Entry points of installed packages, read without `importlib.metadata`.

How it works: a directory on the path has a directory `NAME-VERSION.dist-info` (or `.egg-info`)
for each installed package, and its file `entry_points.txt` lists the entry points. `scan_points`
reads these files. `importlib.metadata` finds the same, but its import, which brings parsers of mail
and zip files along, would take a tenth of the time in which the program starts. `scan_points` asks
it only if packages may be elsewhere: in a zip file or an egg, or where another finder looks.

What must stay true: both find the same points in the same order (a test compares them).

See the specification of entry points at packaging.python.org.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import reduce
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NamedTuple

_PREFIX = "perdure."
_INFO = (".dist-info", ".egg-info")
_POINTS = "entry_points.txt"
_NAMES = ("METADATA", "PKG-INFO")


class PluginPoint(NamedTuple):
    """An entry point: the name of a plug-in, and the place from which it is loaded."""

    name: str
    value: str
    """`module:attribute`."""
    group: str
    package: str = ""
    """The name of the package that has it, or an empty text if that is not known."""

    def load(self) -> Any:
        """Import the module, and return the attribute. Raises what the import raises."""
        place = self.value.partition("[")[0]  # what follows names extras
        module, _, attribute = (part.strip() for part in place.partition(":"))
        return reduce(getattr, filter(None, attribute.split(".")), import_module(module))


def scan_points(path: Sequence[str]) -> Iterator[PluginPoint]:
    """Yield the entry points of perdure's groups, of all packages that are installed on a path.

    If a package is installed twice, the first one counts.
    """
    listings = [_list_infos(directory) for directory in path]
    if None in listings or _has_other_finders():
        yield from _ask_library(path)
        return
    seen: set[str] = set()
    for directory, names in zip(path, listings, strict=True):
        for name in names or ():
            package = _normalize_name(name.rpartition(".")[0].partition("-")[0])
            if package not in seen:
                seen.add(package)
                yield from _read_points(Path(directory, name))


def _list_infos(directory: str) -> list[str] | None:
    """The directories of package information in a directory; None if there may be others."""
    try:
        names = [one.name for one in Path(directory).iterdir()]
    except FileNotFoundError:
        return []
    except OSError:  # a zip file
        return None
    if directory.endswith(".egg"):
        return None
    return [one for one in names if one.lower().endswith(_INFO)]


def _has_other_finders() -> bool:
    """Return True if packages may be installed elsewhere than in the directories of the path."""
    return any(
        finder is not PathFinder and hasattr(finder, "find_distributions")
        for finder in sys.meta_path
    )


def _normalize_name(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _read_points(info: Path) -> Iterator[PluginPoint]:
    try:
        text = (info / _POINTS).read_text("utf-8", "replace")
    except OSError:  # a package without entry points, or a file `.egg-info`
        return
    if _PREFIX not in text:
        return
    package = _read_package(info)
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif group.startswith(_PREFIX) and line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield PluginPoint(name.strip(), value.strip(), group, package)


def _read_package(info: Path) -> str:
    """The name in the metadata of a package, or an empty text."""
    for name in _NAMES:
        try:
            with (info / name).open(encoding="utf-8", errors="replace") as file:
                for line in file:
                    field, _, value = line.partition(":")
                    if field.lower() == "name":
                        return value.strip()
        except OSError:
            continue
    return ""


def _ask_library(path: Sequence[str]) -> Iterator[PluginPoint]:
    from importlib.metadata import distributions  # see above

    seen: set[str] = set()
    for found in distributions(path=list(path)):
        name = found.metadata["Name"] or ""
        if _normalize_name(name) in seen:
            continue
        seen.add(_normalize_name(name))
        for point in found.entry_points:
            if point.group.startswith(_PREFIX):
                yield PluginPoint(point.name, point.value, point.group, name)
