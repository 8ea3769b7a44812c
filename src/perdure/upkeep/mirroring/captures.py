"""The archive files of an origin in its mirror: what is withheld first, then the files.

How it works: the mirror waits for the next listing of its origin
(`perdure.archives.announcing`), in a thread beside the one that follows the changes. One turn:

1. The takedowns and the access of the listing hold here before anything else happens.
2. Files that are complete in `captures/arriving` are shown: moved to `captures/mirrored` and
   indexed, if the mirror has all changes that the origin had when it made the listing. So it has
   every reading rule that was set before one of these files was added there.
3. A file that has the same length and another digest was erased in part there. The blocks that
   differ are overwritten in place, and its captures are indexed again.
4. At most `_PIECE` bytes of one missing file are fetched; the next turn begins with a new listing.

What must stay true: a capture that the origin withheld, closed or restricted is not served here
while files arrive, nor afterwards; a file is shown only with the digest that the origin said; every
step can be repeated after a crash.
# ruling: tombstone-silence
"""

from __future__ import annotations

import enum
import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from perdure.archives import erasing
from perdure.archives.announcing import AnnouncedFile, ArchiveListing
from perdure.archives.index.sqlite_index import ArchiveFile
from perdure.archives.library import DIRECTORY, Library
from perdure.errors import PerdureError
from perdure.errors.mirroring import ArchiveDiffers, NotMirror, OriginAlters
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.settings import Settings
from perdure.storage.durable import sync_directory, write_all
from perdure.storage.mirrored_captures import CLOSED, MirroredCaptures, load_captures, save_captures
from perdure.storage.origin import find_origin, load_secret, load_state
from perdure.upkeep.forgetting import forget_captures
from perdure.upkeep.mirroring.archive_wire import AnnouncedArchive, ArchiveClient

FILES, _ARRIVING = "mirrored", "arriving"
_PIECE = 64 << 20
_BLOCK = 1 << 20
WAIT = 30
"""Seconds that a request for a listing waits for another one."""
_PAUSE = 1.0
"""Seconds until an origin that could not be asked is asked again; until changes are looked for."""
_NAME = re.compile(r"[^/\x00-\x1f\x7f.][^/\x00-\x1f\x7f]{0,200}")


_HASHING = 5.0  # seconds
_HASHED_LATER = "?"


class _State(enum.Enum):
    """The progress of one announced file."""

    HERE = enum.auto()
    UNSEEN = enum.auto()
    """Its bytes are in their place, and the index does not have them, or has earlier ones."""
    ARRIVED = enum.auto()
    MISSING = enum.auto()
    """Some of its bytes are missing, or all."""
    HASHED_LATER = enum.auto()
    UNUSABLE = enum.auto()
    """It has a name that no file can have here, or its package is missing."""


def check_archive(listing: ArchiveListing, settings: Settings) -> None:
    """Raise ArchiveDiffers if PWIDs of an origin are not those of its mirror."""
    theirs = (listing.archive, *listing.aliases)
    ours = (settings.archive_id, *settings.archive_aliases)
    if theirs[0] != ours[0] or not set(theirs) <= set(ours):
        raise ArchiveDiffers(theirs=tuple(filter(None, theirs)), ours=tuple(filter(None, ours)))


class CaptureMirror:
    """Keeps the archive files of a mirror up to date. Use it as a context manager.

    The caller holds the lock of writers. Raises NotMirror.
    """

    def __init__(self, registry: Registry) -> None:
        origin = find_origin(registry.root)
        if origin is None:
            raise NotMirror(directory=str(registry.root))
        self.is_wanted = origin.captures and origin.is_whole
        self._registry = registry
        self._root = registry.root
        self._place = registry.root / DIRECTORY
        self._client = ArchiveClient(origin.url, load_secret(registry.root))
        self._library = Library(registry.root, registry.settings)
        self._announced: AnnouncedArchive | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._refused = ""
        """The digest of the last file that did not have it when it was complete."""
        self._watched = 0.0

    def __enter__(self) -> CaptureMirror:
        return self

    def __exit__(self, *_: object) -> None:
        self.interrupt()
        if self._thread is not None:
            self._thread.join()
        self._client.close()
        self._library.close()

    def interrupt(self) -> None:
        """End what it does, from a handler of signals or from another thread."""
        self._stopping.set()
        self._client.interrupt()

    def start(self) -> None:
        """Follow the archive files of the origin in a thread, if they are mirrored."""
        if self.is_wanted:
            self._thread = threading.Thread(target=self._follow, name="captures", daemon=True)
            self._thread.start()

    def _follow(self) -> None:
        is_idle = False
        while not self._stopping.is_set():
            is_idle = self._try_once(wait=WAIT if is_idle else 0)

    def _try_once(self, *, wait: int) -> bool:
        """Do one turn, and note why it failed. Return True if nothing is left to do."""
        state = load_state(self._root)
        if state is not None and state.contradiction is not None:  # an operator must decide first
            self._stopping.wait(_PAUSE)
            return False
        try:
            is_done = self.follow_once(wait=wait)
        except (OSError, PerdureError) as error:
            if not self._stopping.is_set():
                self._note_fault(str(error))
            self._stopping.wait(_PAUSE)
            return False
        if not is_done and not self._is_reached():  # the other thread has to go on
            self._stopping.wait(_PAUSE)
        return is_done

    def catch_up(self, follow_changes: Callable[[], object]) -> None:
        """Take over all archive files; `follow_changes` replays the changes that are new there.

        Raises OriginUnusable, OriginAlters, ArchiveDiffers, OSError, StorageFailed, Unavailable.
        """
        while self.is_wanted and not self._stopping.is_set() and not self.follow_once(wait=0):
            if not self._is_reached():
                follow_changes()

    # One turn
    # --------

    def follow_once(self, *, wait: int) -> bool:
        """Do one turn. Return True if nothing is left to do. Raises as `catch_up` does."""
        known = self._announced
        found = self._client.fetch_listing(known.tag if known else "", wait=wait)
        if found is None:
            assert known is not None  # noqa: S101  (an answer without a tag is whole)
            found = known
        self._announced = found
        listing = found.listing
        self._take_down(listing)
        try:
            check_archive(listing, self._registry.settings)
        except ArchiveDiffers:
            self._note(listing, access=CLOSED)
            raise
        self._note(listing, access=listing.access)
        states = {one: self._judge(one) for one in listing.files}
        self._clear_arriving(one for one, state in states.items() if state is not _State.HERE)
        for one, state in states.items():
            if state in (_State.UNSEEN, _State.ARRIVED) and self._is_reached():
                self._show(one, state)
                states[one] = self._judge(one)
        left = [one for one, state in states.items() if state is not _State.HERE]
        coming = next((one for one in left if states[one] is _State.MISSING), None)
        if coming is not None:
            self._fetch_piece(coming)
        self._library.digests.save()
        is_complete = not left and listing.is_complete
        self._note(listing, files=len(listing.files) - len(left), is_complete=is_complete)
        is_stuck = all(states[one] is _State.UNUSABLE for one in left) and listing.is_complete
        return is_complete or is_stuck

    def _is_reached(self) -> bool:
        """Return whether the mirror has all changes that the origin had with its last listing."""
        head = self._registry.records.find_head()
        theirs = self._announced.head if self._announced else None
        return theirs is None or (head is not None and head.mark >= theirs)

    def _take_down(self, listing: ArchiveListing) -> None:
        """Add the takedowns that are new. Raises OSError."""
        known = set(self._library.withheld.list_lines())
        fresh = [one for one in listing.takedowns if one not in known]
        for one in fresh:
            self._library.withheld.add(one)
        if fresh:
            forget_captures(self._registry)

    # One file
    # --------

    def _find_path(self, file: AnnouncedFile) -> Path | None:
        """Return the path of a file here; None if it is unpacked here, and was not yet."""
        if not file.is_unpacked:
            return self._place / FILES / file.name
        found = self._library.find_place(file.name)
        return None if found is None or found[1].base else Path(found[1].path)

    def _judge(self, file: AnnouncedFile) -> _State:
        path = self._find_path(file)
        if path is None or not (file.is_unpacked or _NAME.fullmatch(file.name)):
            return _State.UNUSABLE
        deadline = time.monotonic() + _HASHING
        digest = self._find_digest(path, file, deadline)
        if digest == file.sha512:
            return _State.HERE if self._is_indexed(path) else _State.UNSEEN
        arrived = self._find_digest(self._find_arriving(file), file, deadline)
        if _HASHED_LATER in (digest, arrived):
            return _State.HASHED_LATER
        if arrived == file.sha512:
            return _State.ARRIVED
        if arrived:
            self._refuse(file)
        return _State.MISSING

    def _find_digest(self, path: Path, file: AnnouncedFile, deadline: float) -> str:
        """Return the digest of a file of the right length, or an empty text."""
        try:
            if path.stat().st_size != file.size:
                return ""
            found = self._library.digests.find_digest(path, deadline)
        except FileNotFoundError:
            return ""
        return _HASHED_LATER if found is None else found

    def _is_indexed(self, path: Path) -> bool:
        """Return whether the index was made from the present bytes of a file."""
        modified = path.stat().st_mtime_ns
        entries = self._list_entries(path)
        return bool(entries) and all(one.modified == modified for one in entries)

    def _list_entries(self, path: Path) -> list[ArchiveFile]:
        relative = str(path.relative_to(self._place))
        return [one for one in self._library.list_files() if one.path == relative]

    def _find_arriving(self, file: AnnouncedFile) -> Path:
        return self._place / _ARRIVING / file.sha512

    def _clear_arriving(self, wanted: Iterable[AnnouncedFile]) -> None:
        """Delete files that are not wanted any more, such as one that was erased meanwhile."""
        digests = {one.sha512 for one in wanted}
        place = self._place / _ARRIVING
        for path in place.iterdir() if place.exists() else ():
            if path.name not in digests:
                self._library.digests.forget_digest(path)
                path.unlink()

    def _fetch_piece(self, file: AnnouncedFile) -> None:
        """Fetch more of a file. Raises OriginUnusable, OSError."""
        path = self._find_arriving(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(fd).st_size
            length = min(_PIECE, file.size - size)
            if length > 0:
                self._client.fetch_piece(file.name, size, length, lambda one: write_all(fd, one))
            os.fsync(fd)
        finally:
            os.close(fd)

    def _refuse(self, file: AnnouncedFile) -> None:
        """Fetch a file again that has another digest. Raises OriginAlters the second time.

        The first time, it may have been erased in part while it was fetched.
        """
        path = self._find_arriving(file)
        self._library.digests.forget_digest(path)
        path.unlink()
        if self._refused == file.sha512:
            raise OriginAlters(url=self._client.url, sha512=file.sha512)
        self._refused = file.sha512

    def _show(self, file: AnnouncedFile, state: _State) -> None:
        """Put a complete file in its place, and its captures into the index."""
        path, arriving = self._find_path(file), self._find_arriving(file)
        assert path is not None  # noqa: S101  (else it is unusable)
        if state is _State.ARRIVED and path.exists() and path.stat().st_size == file.size:
            _overwrite_file(path, arriving)
        elif state is _State.ARRIVED:
            path.parent.mkdir(exist_ok=True)
            arriving.replace(path)
            path.chmod(0o644)
            sync_directory(path.parent)
        if any(one.size == file.size for one in self._list_entries(path) if not one.base):
            relative = str(path.relative_to(self._place))  # it was erased in part
            erasing.note_erased(self._root, [relative])
            self._library.index_again([relative])
        self._library.add_file(path, watch=self._watch)
        self._library.digests.note_digest(path, file.sha512)
        self._library.digests.forget_digest(arriving)
        arriving.unlink(missing_ok=True)

    def _watch(self, _: int) -> None:
        """Heed takedowns while a file is indexed, which may take long. Raises OriginUnusable."""
        now = time.monotonic()
        if now - self._watched < _PAUSE or self._announced is None:
            return
        self._watched = now
        found = self._client.fetch_listing(self._announced.tag)
        if found is not None:
            self._take_down(found.listing)

    # Its progress
    # ------------

    def _note(self, listing: ArchiveListing, **fields: object) -> None:
        """Note durably how far the captures are, if that has changed. Raises OSError."""
        known = load_captures(self._root)
        now = format_timestamp(self._registry.clock())
        before = known or MirroredCaptures(archive=listing.archive, access=CLOSED)
        after = replace(
            before, archive=listing.archive, announced=len(listing.files), fault="", **fields
        )
        if after != known:
            save_captures(self._root, replace(after, at=now))

    def _note_fault(self, fault: str) -> None:
        known = load_captures(self._root)
        before = known or MirroredCaptures(archive="", access=CLOSED)
        if before.fault != fault:
            save_captures(self._root, replace(before, fault=fault))


def _overwrite_file(path: Path, source: Path) -> None:
    """Give a file the bytes of another one of the same length, in place."""
    with path.open("r+b") as old, source.open("rb") as new:
        while block := new.read(_BLOCK):
            at = old.tell()
            if old.read(len(block)) != block:
                old.seek(at)
                old.write(block)
        old.flush()
        os.fsync(old.fileno())


def fetch_archive_names(url: str, secret: str) -> ArchiveListing:
    """Return the names of the archive of a registry, and what is there now.

    Raises OriginUnusable.
    """
    with closing(ArchiveClient(url, secret)) as client:
        found = client.fetch_listing()
    assert found is not None  # noqa: S101  (no entity tag was sent)
    return found.listing
