"""Entry points: read from the files of packages as `importlib.metadata` reads them."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest

from perdure.plugins.points import PluginPoint, scan_points

POINTS = """
# a comment
[console_scripts]
other = other:main

[perdure.schemes]
one = other.one:SCHEME
two=other.two : Two.SCHEME [extra]

[perdure.metadata]
three = other.three:FORMAT
"""


def ask_library(path: list[str]) -> list[PluginPoint]:
    """The points that `importlib.metadata` finds: of each name, the first package counts."""
    seen: set[str] = set()
    found = []
    for package in distributions(path=path):
        name = package.metadata["Name"]
        if name.lower().replace("-", "_").replace(".", "_") not in seen:
            seen.add(name.lower().replace("-", "_").replace(".", "_"))
            found += [
                PluginPoint(point.name, point.value, point.group, name)
                for point in package.entry_points
                if point.group.startswith("perdure.")
            ]
    return found


def install(directory: Path, name: str, points: str | None, metadata: str = "METADATA") -> None:
    kind = "dist-info" if metadata == "METADATA" else "egg-info"
    info = directory / f"{name.replace('-', '_')}-1.{kind}"
    info.mkdir(parents=True)
    (info / metadata).write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n\nName: no\n")
    if points is not None:
        (info / "entry_points.txt").write_text(points)


def test_the_points_of_this_environment_are_those_of_the_library() -> None:
    found = list(scan_points(sys.path))
    assert found == ask_library(sys.path)
    assert (
        PluginPoint(
            "sqlite", "perdure.storage.sqlite.store:SqliteStore", "perdure.stores", "perdure"
        )
        in found
    )


@pytest.mark.parametrize("metadata", ["METADATA", "PKG-INFO"])
def test_sections_comments_blanks_and_extras(tmp_path: Path, metadata: str) -> None:
    install(tmp_path, "Other-Package", POINTS, metadata)
    found = list(scan_points([str(tmp_path)]))
    assert found == ask_library([str(tmp_path)])
    assert [(one.name, one.group, one.package) for one in found] == [
        ("one", "perdure.schemes", "Other-Package"),
        ("two", "perdure.schemes", "Other-Package"),
        ("three", "perdure.metadata", "Other-Package"),
    ]


def test_the_first_of_two_installations_counts(tmp_path: Path) -> None:
    install(tmp_path / "b", "other.package", "[perdure.schemes]\nlate = other:late\n")
    install(tmp_path / "a", "other-package", None)
    path = [str(tmp_path / "missing"), str(tmp_path / "a"), str(tmp_path / "b")]
    assert list(scan_points(path)) == ask_library(path) == []
    assert [one.name for one in scan_points(path[::-1])] == ["late"]


def test_a_package_without_a_readable_name_has_none(tmp_path: Path) -> None:
    info = tmp_path / "nameless-1.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_bytes(b"[perdure.schemes]\nx = \xff:x\n")
    assert [one.package for one in scan_points([str(tmp_path)])] == [""]


def test_packages_in_a_zip_file_are_found(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "packages.zip", "w") as packages:
        packages.writestr("other-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: other\n")
        packages.writestr("other-1.dist-info/entry_points.txt", POINTS)
    path = [str(tmp_path), str(tmp_path / "packages.zip")]
    assert [one.name for one in scan_points(path)] == ["one", "two", "three"]


def test_another_finder_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Finder:
        def find_spec(self, *_: object) -> None:
            """Find no module."""

        def find_distributions(self, context: object) -> object:
            asked.append(context)
            return iter(())

    asked: list[object] = []
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    install(tmp_path, "other", POINTS)
    assert [one.name for one in scan_points([str(tmp_path)])] == ["one", "two", "three"]
    assert len(asked) == 1


def test_a_point_is_loaded_with_its_attribute() -> None:
    assert PluginPoint("x", "pathlib : Path.home [extra]", "perdure.x").load() == Path.home
    assert PluginPoint("x", "pathlib", "perdure.x").load().Path is Path
    with pytest.raises(AttributeError):
        PluginPoint("x", "pathlib:nothing", "perdure.x").load()
