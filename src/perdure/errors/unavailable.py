"""Errors about things that are unavailable now: try again, or remove the cause.

`Unavailable` itself is abstract: each reason has its own class, in `servers` and `processes`. All
share its code, except those here. Clients see `what`, `reason` and `mend`, computed from the fields
of the class.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from perdure.errors.root import ReasonedError, SubjectNamed, quote


class Unavailable(SubjectNamed, ReasonedError):
    """The request is valid, but cannot be fulfilled now."""

    code = "unavailable"
    computed = ("what", "reason", "mend")
    if TYPE_CHECKING:  # at run time a class below may have an attribute, a property or a field

        @property
        def mend(self) -> str | None:
            """The repair that makes it available again; None if waiting is enough."""

    else:
        mend = None

    def problem(self) -> str:
        return f"{self.what} is not available now: {self.reason}"

    def repair(self) -> str:
        return self.mend or "try again later"


class UnavailableThere(Unavailable):
    """Another server or process reports that something is unavailable, in its own words."""

    what: str
    reason: str
    mend: str | None = None


class ShareUsedUp(Unavailable):
    """A client or a series has used what it may use in a period. Wait, or ask for a larger share.

    Abstract, as `Unavailable` is: the reasons are in `quotas`.
    """

    code = "too-many-requests"
    share: ClassVar[str]
    """Its name in the fields RateLimit and RateLimit-Policy."""
    seconds: ClassVar[int] = 86_400
    """The length of the period, or 0 if the limit is for one moment."""
    limit: int
    wait: int
    """Seconds until it may go on."""


class ShareUsedUpThere(ShareUsedUp):
    """Another process reports that a share is used up, in its own words."""

    share = "other"
    what: str
    reason: str
    mend: str | None = None


class CopyNotPromoted(Unavailable):
    """This directory is a copy of a registry: it answers, but writes nothing until it is promoted.

    # ruling: copy-fence
    """

    code = "copy-not-promoted"
    signs: tuple[str, ...]
    """Why the directory looks like a copy."""
    what = "writing"
    mend = (
        "if the registry itself is lost or stopped for good, run 'perdure promote' here (try it "
        "with --dry-run first); if this is the registry itself, whose machine or directory "
        "changes, set copy_fence; see docs/how-to/back-up.md"
    )

    @property
    def reason(self) -> str:
        return f"this is a copy of a registry ({'; '.join(self.signs)}), and a copy writes nothing"


class MirrorReadOnly(Unavailable):
    """This is a mirror of another registry, which takes the writes."""

    code = "mirror-read-only"
    origin: str
    """The URL of the registry of which this is a mirror."""
    what = "writing"

    @property
    def reason(self) -> str:
        return f"this is a mirror of {quote(self.origin)}, which takes the writes"

    @property
    def mend(self) -> str:
        return (
            "send the request there; if that registry is lost or stopped for good, "
            "run 'perdure promote' here"
        )


class RegistriesDivided(Unavailable):
    """Two registries went on from the same change, so both may have given out the same names."""

    code = "registries-divided"
    other: str
    mark: str
    """The last change that both have."""
    what = "writing"

    @property
    def reason(self) -> str:
        return (
            f"this registry and {quote(self.other)} have both gone on after change {self.mark}, "
            "and each may have given out names that the other one has given out, too"
        )

    @property
    def mend(self) -> str:
        return (
            "stop the other one for good, then run 'perdure promote --predecessor REGISTRY' here, "
            "with its directory or URL; see docs/how-to/run-a-mirror.md"
        )


class BytesAtKeeper(Unavailable):
    """Another machine keeps the bytes of this registry; this one has only its records."""

    host: str
    what = "the content of documents"

    @property
    def reason(self) -> str:
        return (
            f"{quote(self.host)} keeps the bytes of this registry; this node has only the records"
        )

    mend = "send the request there; names, locations and redirects work here"


class MissingLibrary(Unavailable):
    """A library that the request needs is not installed with perdure."""

    code = "missing-extra"
    task: str
    extra: str
    """The extra of perdure that installs it."""
    library: str

    @property
    def what(self) -> str:
        return self.task

    @property
    def reason(self) -> str:
        return f"the library {self.library} is not installed"

    @property
    def mend(self) -> str:
        return f"pip install 'perdure[{self.extra}]'"

    def problem(self) -> str:
        return f"{self.task} needs {self.library}, which is not installed here"


def import_library(name: str, *, task: str, extra: str) -> Any:
    """Import a module of a library that an extra of perdure installs.

    Raises MissingLibrary, with the task that needs the library, if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        library = name.partition(".")[0]
        raise MissingLibrary(task=task, extra=extra, library=library) from None


class StorageFailed(Unavailable):
    """The disk is full or failing; only acknowledged writes are kept."""

    code = "storage-failed"
    what: str
    reason: str
    mend = (
        "free disk space to resume writing, or replace a failing disk and restart the writer; "
        "no acknowledged write is lost"
    )

    def problem(self) -> str:
        return f"{self.what} could not be made durable: {self.reason}"


class WritingNotAllowed(StorageFailed):
    """The system forbids it: the user lacks permission, or the disk is read-only."""

    mend = (
        "run it as a user who may write there, or change the permissions or the place; no "
        "acknowledged write is lost"
    )

    def problem(self) -> str:
        return f"{self.what} cannot be written: {self.reason}"


class IndexNotStored(StorageFailed):
    """An index of a document, which makes its parts faster, could not be written."""

    what: str = "an index"
    document: str

    def problem(self) -> str:
        return f"an index for {self.document} could not be made durable: {self.reason}"


class FollowerFailed(StorageFailed):
    """The database of a follower of the changes cannot be read or written."""

    mend = (
        "check the disk and the permissions of the directory followers/; you may delete its files, "
        "and 'perdure index' makes them again"
    )

    def problem(self) -> str:
        return f"{self.what} cannot be used: {self.reason}"


class NextWriteBlocked(StorageFailed):
    """The storage failed after a write that is durable, so that the next one is refused."""

    what: str = "the next write"


class ErasureUnfinished(StorageFailed):
    """The withdrawal is durable, but its bytes could not be overwritten: repeat it."""

    what: str = "the erasure"

    def problem(self) -> str:
        return f"the erasure could not be made durable, so repeat it: {self.reason}"
