"""A copy is not the registry: what is seen as a copy, and what is not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import TODAY, Clock, Desk, StartWorker, copy_as_new, text

from perdure.errors import CopyNotPromoted, StorageFailed
from perdure.errors.importing import TargetIsRegistry
from perdure.registry import Registry, initialise
from perdure.settings import load_settings
from perdure.storage import home
from perdure.storage.home import FileBirth, RegistryHome
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.milestones import load_milestones
from perdure.upkeep.transfer.backup import back_up
from perdure.upkeep.transfer.promoting import promote_copy
from perdure.upkeep.transfer.renewal import rebuild_registry

MACHINE = "a" * 32


@pytest.fixture
def used(desk: Desk) -> Path:
    """A registry that was written to and closed."""
    desk.mint(text("one"))
    desk.registry.close()
    return desk.root


def opened(root: Path, **settings: object) -> Desk:
    found = Desk(root, Clock())
    if settings:
        found.reopen(**settings)
    return found


def is_fenced(root: Path, **settings: object) -> bool:
    desk = opened(root, **settings)
    try:
        desk.mint(text("two"))
    except CopyNotPromoted:
        return True
    finally:
        desk.registry.close()
    return False


# not a copy
# ----------


def test_a_restart_is_no_copy(used: Path) -> None:
    assert not is_fenced(used)
    assert not is_fenced(used)


def test_a_move_on_the_same_file_system_is_no_copy(used: Path, place: Path) -> None:
    assert not is_fenced(used.rename(place / "moved"))


def test_other_rights_and_times_make_no_copy(used: Path) -> None:
    for path in used.iterdir():
        os.utime(path, (1, 1))
        path.chmod(path.stat().st_mode | 0o040)
    used.chmod(0o750)
    assert not is_fenced(used)


def test_a_registry_of_an_earlier_release_settles(used: Path, place: Path) -> None:
    copy = copy_as_new(used, place / "earlier")
    (copy / home.FILE).unlink()
    assert not is_fenced(copy)
    assert is_fenced(Path(shutil.copytree(copy, place / "copy")))


def test_a_rebuilt_registry_is_no_copy(used: Path) -> None:
    for hour in (12, 13):
        now = f"2026-11-21T{hour}:00:00Z"
        list(rebuild_registry(used, SqliteStore(), Segments, now=now))
        assert not is_fenced(used)


def test_a_rebuilt_copy_is_still_a_copy(used: Path, place: Path) -> None:
    copy = Path(shutil.copytree(used, place / "copy"))
    list(rebuild_registry(copy, SqliteStore(), Segments, now="2026-11-21T12:00:00Z"))
    assert is_fenced(copy)


def test_an_old_registry_file_in_its_place_is_a_copy(used: Path, place: Path) -> None:
    """The one that a rebuild put aside, for example."""
    list(rebuild_registry(used, SqliteStore(), Segments, now="2026-11-21T12:00:00Z"))
    (aside,) = (used / "aside").glob("*.sqlite")
    aside.rename(used / "registry.sqlite")
    assert is_fenced(used)


# a copy
# ------


def copy_directory(root: Path, target: Path) -> Path:
    return Path(shutil.copytree(root, target))


def copy_into_place(root: Path, target: Path) -> Path:
    """Everything in the directory is replaced; the directory stays."""
    shutil.copytree(root, target)
    shutil.rmtree(root / "segments")
    for path in root.iterdir():
        if path.is_file() or path.is_socket():
            path.unlink()
    shutil.copytree(target, root, dirs_exist_ok=True)
    return root


def replace_directory(root: Path, target: Path) -> Path:
    """The new directory often gets the inode number of the old one."""
    shutil.copytree(root, target)
    shutil.rmtree(root)
    shutil.copytree(target, root)
    return root


@pytest.mark.parametrize("copy", [copy_directory, copy_into_place, replace_directory])
def test_a_copy_writes_nothing(used: Path, place: Path, copy: Callable[[Path, Path], Path]) -> None:
    """Ruling copy-fence: "A copy is not the registry: it answers, and writes nothing, until
    `perdure promote` says that it takes over." """
    copied = copy(used, place / "copied")
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    assert is_fenced(copied)
    with Registry(copied, environment={}) as registry:
        with pytest.raises(CopyNotPromoted):
            registry.archive.add_file(place / "no.warc")
        assert registry.records.count_records() == 1
    with pytest.raises(CopyNotPromoted):
        initialise(copied, series=("other.gov.us",))
    desk = opened(copied)
    assert desk.served(f"{TODAY}/1") == b"one"
    assert desk.problems() == []
    desk.registry.close()
    after = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    kept = {path for path in before if path.name not in ("generation", "registry.sqlite-shm")}
    assert {path: after.get(path) for path in kept} == {path: before[path] for path in kept}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file with the id of this machine."""
    file = tmp_path / "machine-id"
    file.write_text(f"{MACHINE}\n")
    monkeypatch.setattr(home, "_MACHINE_FILES", (tmp_path / "absent", file))
    return file


def test_another_machine_makes_a_copy(root: Path, machine: Path) -> None:
    (root / home.FILE).unlink()
    assert not is_fenced(root)
    machine.write_text("b" * 32)
    assert is_fenced(root)
    assert not is_fenced(root, copy_fence="directory")
    assert not is_fenced(root, copy_fence="marks")
    list(
        rebuild_registry(
            root, SqliteStore(), Segments, now="2026-11-21T12:00:00Z", copy_fence="directory"
        )
    )
    assert not is_fenced(root, copy_fence="directory")  # a rebuilt registry is no copy
    machine.write_text("uninitialized\n")
    assert not is_fenced(root)
    machine.unlink()
    assert not is_fenced(root)


def test_the_id_of_the_machine_is_not_disclosed(root: Path, machine: Path) -> None:
    """machine-id(5): "It should be considered "confidential", and must not be exposed in untrusted
    environments" """
    (root / home.FILE).unlink()
    assert not is_fenced(root)
    described = home.load_home(root)
    assert machine.exists()
    assert described
    assert described.machine
    assert MACHINE not in (root / home.FILE).read_text()


def test_settings_say_what_makes_a_copy(used: Path, place: Path) -> None:
    """For file systems whose inode numbers change, for example."""
    copied = copy_directory(used, place / "copied")
    assert is_fenced(copied, copy_fence="directory")
    assert not is_fenced(copied, copy_fence="machine")


@pytest.mark.parametrize("file", [home.FILE, home.MARK])
def test_a_damaged_description_is_a_sign(used: Path, file: str) -> None:
    """A promotion writes a new one; reading goes on, and so does a backup."""
    (used / file).write_bytes(b"\xff{damaged")
    assert is_fenced(used)
    assert home.list_signs(used, None) == [f"its {file} is damaged"]
    assert home.find_id(used) == "" or file == home.MARK
    promote_copy(used, SqliteStore(), load_settings(used, {}), now="2026-11-20T12:00:00Z")
    assert home.list_signs(used, None) == []


def test_a_description_that_cannot_be_read_stops_writes(used: Path) -> None:
    (used / home.FILE).unlink()
    (used / home.FILE).mkdir()
    desk = opened(used)
    with pytest.raises(StorageFailed, match="the home of the registry"):
        desk.mint(text("two"))
    assert desk.served(f"{TODAY}/1") == b"one"
    desk.registry.close()


def test_a_file_system_without_birth_times_has_inode_numbers() -> None:
    assert FileBirth(5).is_same(FileBirth(5, 70))
    assert FileBirth(5, 70).is_same(FileBirth(5))
    assert not FileBirth(5, 70).is_same(FileBirth(5, 71))
    assert not FileBirth(5).is_same(FileBirth(6))


def test_a_device_number_is_no_id_of_a_file_system(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux, include/linux/kdev_t.h: `new_encode_dev`"""
    device = root.stat().st_dev
    major, minor = os.major(device), os.minor(device)
    encoded = (minor & 0xFF) | (major << 8) | ((minor & ~0xFF) << 12)
    seen = list(os.statvfs(root)[:10])
    for number, wanted in ((encoded, None), (0, None), (12345678901, 12345678901)):
        found = os.statvfs_result((*seen, number))
        monkeypatch.setattr(os, "statvfs", lambda _, found=found: found)
        assert home.read_file_system(root) == wanted


def test_another_file_system_makes_a_copy(root: Path) -> None:
    described = home.settle_home(root, root / "registry.sqlite")
    other = RegistryHome(
        registry=described.registry,
        machine=described.machine,
        file_system=1,
        directory=described.directory,
        file=described.file,
        records=described.records,
    )
    home._write_home(root, other)
    assert home.list_signs(root, None) == ["it is on another file system than before"]
    home._write_home(root, RegistryHome(registry="x", directory=described.directory))
    assert home.list_signs(root, None) == []


def test_every_process_of_a_copy_is_refused(used: Path, start: StartWorker, place: Path) -> None:
    copied = copy_directory(used, place / "copied")
    used.rename(place / "original")
    copied.rename(used)
    worker = start("mint", "anna", 2, 0)
    for _ in range(3):  # that it is ready, and both errors
        worker.hear()
    assert worker.receipts == []
    assert worker.errors == ["copy-not-promoted"] * 2


def test_a_backup_compares_what_the_setting_says(root: Path, machine: Path, place: Path) -> None:
    """A container with another machine id at each start is still the registry itself."""
    (root / home.FILE).unlink()
    assert not is_fenced(root)
    machine.write_text("b" * 32)
    list(back_up(root, place / "backup", SqliteStore(), Segments, copy_fence="directory"))
    assert load_milestones(root).backup is not None
    same = Path(shutil.copytree(root, place / "same"))
    with pytest.raises(TargetIsRegistry):
        list(back_up(same, root, SqliteStore(), Segments, copy_fence="directory"))
