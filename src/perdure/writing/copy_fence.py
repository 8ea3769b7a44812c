"""The fence around copies of a registry: a copy answers, and writes nothing until it is promoted.

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

from perdure.errors import CopyNotPromoted
from perdure.storage import home
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
        return home.list_signs(
            self._root,
            self._records,
            machine=self._has_machine,
            directory=self._has_directory,
        )

    def check_original(self) -> None:
        """Raise CopyNotPromoted if this directory is a copy.

        A directory without a home becomes one. Raises StorageFailed if the system refuses that, or
        to read its description.
        """
        with storage_errors("the home of the registry"):
            signs = self.list_signs()
            if signs:
                raise CopyNotPromoted(signs=tuple(signs))
            if home.load_home(self._root) is None:
                self.settle()

    def settle(self) -> None:
        """Make this directory the home of its registry, under a new id. Raises OSError."""
        home.settle_home(self._root, self._records)
