"""Paths that cannot become directories, and the words in which the system refuses to write."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.errors import StorageFailed
from perdure.errors.importing import DirectoryObstructed
from perdure.errors.unavailable import WritingNotAllowed
from perdure.storage.durable import check_directory, resolve_path
from perdure.storage.ports import storage_errors


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def make_dangling(path: Path) -> None:
    path.symlink_to(path.with_name("absent"))


OBSTACLES: dict[Callable[[Path], None], str] = {
    Path.touch: "is not a directory; remove it",
    os.mkfifo: "is not a directory; remove it",
    make_loop: "cannot be followed (Too many levels of symbolic links); remove it",
    make_dangling: "is a symbolic link to",
}


@pytest.mark.parametrize("below", ["", "sub", "sub/deeper"])
@pytest.mark.parametrize("make", OBSTACLES)
def test_an_obstacle_is_named(tmp_path: Path, make: Callable[[Path], None], below: str) -> None:
    obstacle = tmp_path / "obstacle"
    make(obstacle)
    with pytest.raises(DirectoryObstructed) as caught:
        check_directory(obstacle / below)
    assert caught.value.directory == str(obstacle / below)
    assert f"'{obstacle}' {OBSTACLES[make]}" in str(caught.value)


def test_a_name_in_the_directory_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "segments").touch()
    check_directory(tmp_path, "archive")
    with pytest.raises(DirectoryObstructed, match="segments"):
        check_directory(tmp_path, "archive", "segments")


def test_what_can_become_a_directory_passes(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    check_directory(tmp_path / "link" / "deep" / "er", "segments")
    check_directory(Path("relative"))


def test_a_link_in_a_loop_stays(tmp_path: Path) -> None:
    make_loop(tmp_path / "loop")
    assert resolve_path(tmp_path / "loop") == tmp_path.resolve() / "loop"
    (tmp_path / "link").symlink_to(tmp_path)
    assert resolve_path(tmp_path / "link" / "x") == tmp_path.resolve() / "x"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_place_that_is_forbidden_is_no_full_disk(number: int) -> None:
    with pytest.raises(WritingNotAllowed) as caught, storage_errors("the backup"):
        raise OSError(number, os.strerror(number), "a/b")
    assert str(caught.value).startswith(
        f"the backup cannot be written: {os.strerror(number)}: 'a/b'"
    )
    assert "free disk space" not in str(caught.value)


def test_a_full_disk_is_told_in_words() -> None:
    with pytest.raises(StorageFailed) as caught, storage_errors("the backup"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a/b")
    assert type(caught.value) is StorageFailed
    assert caught.value.reason == "No space left on device: 'a/b'"
    with pytest.raises(StorageFailed, match="torn"), storage_errors("the backup"):
        raise OSError("torn")
