"""The listings (bags, METS, EAD) of the directories through which a plan is going.

How it works: a directory that has a listing opens it, for itself and all directories below, which
follow it directly in the walk. The innermost listing that knows a file adds to its row.

What must stay true: a file whose digest is not the listed one is not taken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from perdure.errors import PerdureError
from perdure.upkeep.deposit import plan as rows
from perdure.upkeep.deposit.listings import (
    BAGIT,
    LARGEST,
    Listing,
    is_tag_file,
    looks_like_listing,
    read_bag,
    read_xml_listing,
)
from perdure.upkeep.deposit.plan import PlannedFile
from perdure.upkeep.deposit.spelling import spell_path
from perdure.upkeep.deposit.tables import explain_error
from perdure.upkeep.deposit.taking import PIECE, FileRoot
from perdure.upkeep.deposit.walking import FoundDirectory, PassedOver

_HEAD = 4096


@dataclass(slots=True)
class OpenListing:
    """A listing, and what was met of it."""

    path: bytes
    """Of its directory, or of its document."""
    prefix: bytes
    listing: Listing
    number: int
    """Of the collection in the plan; 0 if there is none."""
    met: set[bytes] = field(default_factory=set)

    def list_missing(self) -> list[bytes]:
        """The listed files that are not there, below the root."""
        return [self.prefix + one for one in sorted(self.listing.files.keys() - self.met)]


class OpenListings:
    """The listings that are open, the innermost last."""

    def __init__(self, root: FileRoot, *, collect: bool) -> None:
        """`collect`: each listing becomes a collection."""
        self._root = root
        self._collect = collect
        self._open: list[OpenListing] = []

    def begin_directory(
        self, found: FoundDirectory, reserve_number: Callable[[], int]
    ) -> list[PassedOver]:
        """Open the listings of a directory. Return what cannot be read of them."""
        faults: list[PassedOver] = []
        prefix = found.path + b"/" if found.path else b""
        names = {one.path[len(prefix) :]: one for one in found.files}
        opened: list[tuple[bytes, Listing]] = []
        if BAGIT in names:
            tags = [name for name in names if is_tag_file(name)]
            try:
                data = {name: self._read_file(prefix + name) for name in tags}
            except PerdureError as error:
                faults.append(PassedOver(prefix + BAGIT, explain_error(error)))
            else:
                bag = read_bag(data)
                opened.append((found.path or BAGIT, bag))
                faults += (PassedOver(prefix + b"fetch.txt", one) for one in bag.problems)
        for name, file in names.items():
            if name.lower().endswith(b".xml") and 0 < file.size <= LARGEST:
                listing = self._read_listing(file.path)
                if listing is not None and (listing.files or listing.elsewhere):
                    opened.append((file.path, listing))
        for path, listing in opened:
            place = prefix + BAGIT if listing.has_all else path
            for one in listing.elsewhere:
                why = f"it lists {spell_path(one)}, which is not in the directory"
                faults.append(PassedOver(place, why))
        opened = [(path, one) for path, one in opened if one.files or one.has_all]
        for path, listing in opened:
            number = reserve_number() if self._collect else 0
            self._open.append(OpenListing(path, prefix, listing, number))
        return faults

    def _read_listing(self, path: bytes) -> Listing | None:
        try:
            with self._root.open_file(path) as file:
                head = file.read(_HEAD)
                if not looks_like_listing(head):
                    return None
                return read_xml_listing(head + file.read(LARGEST))
        except PerdureError:  # the row of the file tells it
            return None

    def _read_file(self, path: bytes) -> bytes:
        with self._root.open_file(path) as file:
            return file.read(LARGEST)

    def end_before(self, path: bytes | None) -> Iterator[OpenListing]:
        """End the listings that do not cover a directory; all of them for None."""
        while self._open:
            last = self._open[-1]
            if path is not None and (path + b"/").startswith(last.prefix):
                return
            yield self._open.pop()

    def apply_to(self, row: PlannedFile) -> PlannedFile:
        """Add to a row what the innermost listing says that knows its file."""
        for one in reversed(self._open):
            within = row.file[len(one.prefix) :]
            listed = one.listing.files.get(within)
            own = row.file == one.path
            if listed is None and not one.listing.has_all and not own:
                continue
            row = replace(row, collection=one.number)
            if listed is None:
                return row
            one.met.add(within)
            if listed.digest and self._digest_file(row, listed.algorithm) != listed.digest:
                why = f"its digest is not the one that {one.listing.kind} lists"
                return replace(row, action=rows.SKIP, why=why)
            if listed.title and not row.title:
                row = replace(row, title=listed.title, described_by=one.listing.kind)
            if listed.date and not row.date:
                row = replace(row, date=listed.date, date_source=one.listing.kind)
            return row
        return row

    def _digest_file(self, row: PlannedFile, algorithm: str) -> str:
        """The digest of a file; empty if it cannot be read."""
        if algorithm == "sha512" and row.sha512:
            return row.sha512
        digest = hashlib.new(algorithm, usedforsecurity=False)
        try:
            with self._root.open_file(row.file) as file:
                while piece := file.read(PIECE):
                    digest.update(piece)
        except PerdureError:
            return ""
        return digest.hexdigest()
