"""The files that make a registry directory a mirror: its origin, the secret, and its state.

    origin.json    the address of the origin, what is mirrored, and what an operator accepted
    origin.token   the secret of the mirror's token there, readable by its owner alone
    mirror.json    how far it is, and the evidence if it has stopped; can be deleted
    foreseen.json  reading rules of the origin whose changes the mirror does not have yet

What must stay true: a directory with `origin.json` writes nothing but what its origin wrote, until
it is promoted; the secret is in no other file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from perdure.model.mirroring import Contradiction
from perdure.model.reading_rules import ReadingRule
from perdure.storage.checked_file import load_checked, save_checked
from perdure.storage.durable import sync_directory

FILE = "origin.json"
SECRET = "origin.token"  # noqa: S105  (the name of a file)
STATE = "mirror.json"
FORESEEN = "foreseen.json"
ALL = "*"
"""The scope of a mirror of everything."""


class Acceptance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A contradiction that an operator accepted."""

    mark: str
    chain: str
    """The chain of the change that broke a rule, so that no other change is accepted with it."""
    rule: str
    reason: str
    at: str


class MirroredOrigin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The registry of which this one is a mirror."""

    url: str
    scopes: tuple[str, ...] = (ALL,)
    """The series that are mirrored."""
    sources: tuple[str, ...] = ()
    """The addresses of other mirrors from which bytes can be fetched."""
    added: str = ""
    accepted: tuple[Acceptance, ...] = ()
    former: tuple[str, ...] = ()
    """The addresses of the registries that this mirror followed before."""
    captures: bool = False
    """True if the archive files are mirrored, too."""
    promoted: str = ""
    """When this mirror became a registry of its own; it follows it no longer."""

    @property
    def is_whole(self) -> bool:
        """True if everything is mirrored."""
        return ALL in self.scopes


class MirrorState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The progress of a mirror when it last asked its origin."""

    at: str
    verdict: str
    """`following`, `unreachable` or `stopped`."""
    fault: str = ""
    """Why the origin could not be asked."""
    origin_head: str = ""
    """The last change that the origin told of."""
    asked: float = 0.0
    """When the origin last answered, in seconds since 1970."""
    caught_up: float = 0.0
    """When the mirror last had everything that the origin had, in seconds since 1970."""
    missing: int = 0
    """Documents whose bytes the origin could not give."""
    contradiction: Contradiction | None = None
    evidence: tuple[Contradiction, ...] = ()
    """Earlier contradictions, which were accepted."""


class ForeseenFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules that the origin has set, and whose changes are not mirrored yet."""

    rules: tuple[ReadingRule, ...]


def load_origin(root: Path) -> MirroredOrigin | None:
    """The origin of a mirror; None if the directory is none. Raises Corrupt."""
    return load_checked(root / FILE, MirroredOrigin)


def find_origin(root: Path) -> MirroredOrigin | None:
    """The origin that a mirror follows; None if it was promoted, or is not a mirror."""
    found = load_origin(root)
    return None if found is None or found.promoted else found


def save_origin(root: Path, origin: MirroredOrigin) -> None:
    """Make an origin durable. Raises OSError."""
    save_checked(root / FILE, origin)


def load_secret(root: Path) -> str:
    """The secret of the mirror's token, or an empty text. Raises OSError."""
    try:
        return (root / SECRET).read_text("ascii").strip()
    except FileNotFoundError:
        return ""


def save_secret(root: Path, secret: str) -> None:
    """Make the secret durable, readable by its owner alone. Raises OSError."""
    path = root / SECRET
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(f"{secret}\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_directory(root)


def load_state(root: Path) -> MirrorState | None:
    """The state of a mirror, or None if it never ran. Raises Corrupt."""
    return load_checked(root / STATE, MirrorState)


def save_state(root: Path, state: MirrorState, *, durably: bool) -> None:
    """Save a state. One that tells of no contradiction need not survive a power cut."""
    if durably:
        save_checked(root / STATE, state)
        return
    beside = root / f".{STATE}.{os.getpid()}"
    beside.write_bytes(msgspec.json.encode(state))
    beside.replace(root / STATE)


def save_foreseen(root: Path, rules: Sequence[ReadingRule]) -> None:
    """Make rules that are foreseen durable, with their numbers. Raises OSError."""
    save_checked(root / FORESEEN, ForeseenFile(rules=tuple(rules)))


def load_foreseen(root: Path) -> tuple[ReadingRule, ...]:
    """Return the rules that are foreseen. Raises Corrupt."""
    found = load_checked(root / FORESEEN, ForeseenFile)
    return () if found is None else found.rules


def forget_foreseen(root: Path) -> None:
    """Remove the rules that were foreseen. Raises OSError."""
    (root / FORESEEN).unlink(missing_ok=True)


def retire_origin(root: Path, at: str) -> None:
    """Note that a mirror was promoted: it follows its origin no more. Raises OSError."""
    found = load_origin(root)
    if found is not None and not found.promoted:
        save_origin(root, msgspec.structs.replace(found, promoted=at))
