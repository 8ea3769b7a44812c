"""Making a mirror, and going on after a contradiction.

How it works: a mirror is a registry directory with `origin.json`, whose records are those of its
origin. It can start from a backup of its origin, which is copied and checked, or from nothing.

To accept a contradiction of one change lets this change pass; nothing else is waived. To accept
that the past was rewritten starts the mirror again from nothing. What it had is kept in `aside/`.

What must stay true: the secret is readable by its owner alone; a directory that is a registry does
not become a mirror; nothing is deleted.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from perdure import settings as setting
from perdure.archives import places
from perdure.archives.announcing import ArchiveListing
from perdure.errors.mirroring import CapturesWhole, MirrorOccupied, NothingToAccept, NotMirror
from perdure.errors.processes import HasWriter
from perdure.errors.root import quote
from perdure.policy import replaying
from perdure.registry import DIRECTORIES, Registry, create_stores
from perdure.settings import Settings
from perdure.storage import home
from perdure.storage.durable import (
    WRITE_LOCK,
    check_directory,
    hold_lock,
    sync_directory,
    write_durably,
)
from perdure.storage.origin import (
    ALL,
    Acceptance,
    MirroredOrigin,
    MirrorState,
    find_origin,
    load_secret,
    load_state,
    save_origin,
    save_secret,
    save_state,
)
from perdure.storage.ports import storage_errors
from perdure.upkeep.mirroring.captures import check_archive, fetch_archive_names
from perdure.upkeep.mirroring.client import check_url
from perdure.writing.copy_fence import CopyFence

_RESTARTED = frozenset((replaying.FORK, replaying.CHAIN))
"""Rules after which a mirror starts again from nothing."""
_STAYING = frozenset((setting.FILE, "aside", WRITE_LOCK, "origin.json", "origin.token"))
"""Files that a mirror keeps when it starts again."""


def add_mirror(
    root: Path,
    url: str,
    *,
    secret: str,
    scopes: tuple[str, ...],
    sources: tuple[str, ...],
    base_url: str,
    backup: Path | None,
    now: str,
    captures: bool = False,
) -> MirroredOrigin:
    """Make a directory the mirror of a registry: of these series, or without them of everything.

    `backup` is a backup of the registry, to start from. `captures`: its archive files, too; then it
    is asked for the name of its archive.

    For a directory that mirrors this address already, the secret and the sources are replaced.

    Raises OriginSpelling, MirrorOccupied, CapturesWhole, ArchiveDiffers, BadSettings, StorageFailed
    or Unavailable.
    """
    origin = MirroredOrigin(
        url=check_url(url),
        scopes=scopes or (ALL,),
        sources=tuple(map(check_url, sources)),
        added=now,
        captures=captures,
    )
    if captures and not origin.is_whole:
        raise CapturesWhole()
    with storage_errors("the mirror"):
        known = find_origin(root)
        if known is not None and known.url == origin.url:
            captures = captures or known.captures
            sources = origin.sources or known.sources
            origin = msgspec.structs.replace(known, sources=sources, captures=captures)
            if captures and not origin.is_whole:
                raise CapturesWhole()
            if captures:
                found = fetch_archive_names(origin.url, secret or load_secret(root))
                check_archive(found, setting.load_settings(root, os.environ))
        elif known is not None or (root / setting.FILE).exists():
            raise MirrorOccupied(directory=str(root))
        else:
            listing = fetch_archive_names(origin.url, secret) if captures else None
            _create_registry(root, base_url, backup, listing)
        if secret:
            save_secret(root, secret)
        save_origin(root, origin)
    return origin


def _create_registry(
    root: Path, base_url: str, backup: Path | None, listing: ArchiveListing | None
) -> None:
    check_directory(root, *DIRECTORIES)
    root.mkdir(parents=True, exist_ok=True)
    if backup is not None:
        _copy_backup(backup, root)
    settings = Settings(
        base_url=base_url,
        archive_id=listing.archive if listing else "",
        archive_aliases=listing.aliases if listing else (),
    )
    store = create_stores(root, settings)
    CopyFence(root, store, settings.copy_fence).settle()
    write_durably(root / setting.FILE, setting.write_toml(settings).encode())


def _copy_backup(backup: Path, root: Path) -> None:
    """Copy the registry of a backup; the tokens of its origin stay in it, unused.

    Its archive files are not copied: no change says which captures were taken down since.
    """
    with Registry(backup) as opened:  # raises BadSettings if there is none
        opened.head()
    for one in sorted(backup.iterdir()):
        if one.name in (setting.FILE, home.MARK, home.FILE, WRITE_LOCK, places.DIRECTORY):
            continue
        copy = shutil.copytree if one.is_dir() else shutil.copy2
        copy(one, root / one.name)
    sync_directory(root)


def accept_contradiction(root: Path, reason: str, now: str) -> MirrorState:
    """Let a mirror go on after the contradiction at which it stopped.

    Raises NotMirror, NothingToAccept, HasWriter, StorageFailed.
    """
    with storage_errors("the mirror"):
        origin, state = find_origin(root), load_state(root)
        if origin is None:
            raise NotMirror(directory=str(root))
        if state is None or state.contradiction is None:
            raise NothingToAccept()
        found = state.contradiction
        with hold_lock(root / WRITE_LOCK, HasWriter(used=quote(root))):
            chain = str((found.theirs or {}).get("chain", ""))
            accepted = Acceptance(
                mark=found.mark, chain=chain, rule=found.rule, reason=reason, at=now
            )
            save_origin(
                root, msgspec.structs.replace(origin, accepted=(*origin.accepted, accepted))
            )
            if found.rule in _RESTARTED:
                restart_mirror(root, now)
            state = MirrorState(at=now, verdict="following", evidence=(*state.evidence, found))
            save_state(root, state, durably=True)
    return state


def restart_mirror(root: Path, now: str) -> None:
    """Move everything aside that came from the origin, and make an empty registry.

    The caller holds the lock of writers.
    """
    settings = setting.load_settings(root, {})
    aside = root / "aside" / f"before-{now.replace(':', '')}"
    aside.mkdir(parents=True)
    for one in sorted(root.iterdir()):
        if one.name not in _STAYING:
            one.replace(aside / one.name)
    sync_directory(aside)
    store = create_stores(root, settings)
    CopyFence(root, store, settings.copy_fence).settle()
    sync_directory(root)
