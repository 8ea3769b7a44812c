"""The fence around copies of a registry: a copy answers, and writes nothing until it is promoted.

A mirror is a copy that another registry writes: its follower alone asks nothing.

How it works: every way to write asks `CopyFence.check_original` before it writes: the write door
once, under its lock; each change of the web archive; and `init`, if it changes the settings of an
existing registry. The fence compares the directory with the home that it describes
(`perdure.storage.home`). A registry of an earlier release has no home; the first write makes its
directory the home.  # ruling: copy-fence

A rebuild does not ask: it gives out no name, and a copy that is rebuilt is still a copy. A backup,
a promotion and a rebuild ask only for the signs (`list_signs`). Indexes, results of link checks and
other files that can be deleted are written in a copy, too.

What must stay true: no name, record, token, capture or setting is written before the check; reading
never asks it.
"""

from __future__ import annotations

from pathlib import Path

from perdure.errors import CopyNotPromoted, MirrorReadOnly, RegistriesDivided
from perdure.errors.root import quote
from perdure.storage import home
from perdure.storage.division import clear_division, load_division
from perdure.storage.origin import find_origin
from perdure.storage.ports import Store, storage_errors

FULL = "full"
"""The extent that compares everything: the default of the setting `copy_fence`."""


class CopyFence:
    """The fence of one registry directory. `extent` is the setting `copy_fence`."""

    def __init__(self, root: Path, store: Store, extent: str) -> None:
        self._root = root
        self._records = store.find_file(root)
        self._has_machine = extent in (FULL, "machine")
        self._has_directory = extent in (FULL, "directory")

    def list_signs(self) -> list[str]:
        """Why this directory looks like a copy; empty if it is the registry."""
        signs = home.list_signs(
            self._root,
            self._records,
            machine=self._has_machine,
            directory=self._has_directory,
        )
        division = load_division(self._root)
        if division is not None:
            signs.append(f"it and {quote(division.other)} have both gone on after {division.mark}")
        followed = self.find_origin()
        return [*signs, f"it is a mirror of {quote(followed)}"] if followed else signs

    def find_origin(self) -> str:
        """The address of the registry of which this is a mirror, or an empty text.

        Raises Corrupt if the file that names it is damaged.
        """
        found = find_origin(self._root)
        return found.url if found else ""

    def check_undivided(self) -> None:
        """Raise RegistriesDivided if another registry has gone on from the same change."""
        division = load_division(self._root)
        if division is not None:
            raise RegistriesDivided(other=division.other, mark=division.mark)

    def check_no_mirror(self) -> None:
        """Raise MirrorReadOnly if this is a mirror. Raises Corrupt likewise."""
        followed = self.find_origin()
        if followed:
            raise MirrorReadOnly(origin=followed)

    def check_original(self) -> None:
        """Raise CopyNotPromoted if this directory is a copy, or MirrorReadOnly if it is a mirror.

        A directory without a home becomes one. Raises StorageFailed if the system refuses that, or
        to read its description.
        """
        with storage_errors("the home of the registry"):
            self.check_no_mirror()
            self.check_undivided()
            signs = self.list_signs()
            if signs:
                raise CopyNotPromoted(signs=tuple(signs))
            if home.load_home(self._root) is None:
                self.settle()

    def settle(self) -> None:
        """Make this directory the home of its registry, under a new id. Raises OSError."""
        home.settle_home(self._root, self._records)
        clear_division(self._root)
