"""Errors of this program's processes, files and libraries: try again, or mend the installation."""

from __future__ import annotations

from perdure.errors.unavailable import Unavailable


class MissingLibrary(Unavailable):
    """A library that this needs is not installed."""

    task: str
    extra: str
    """The extra of perdure that installs it."""
    library: str | None = None

    @property
    def what(self) -> str:
        return self.task

    @property
    def reason(self) -> str:
        missing = f" ({self.library} is missing)" if self.library else ""
        return f"install perdure[{self.extra}]{missing}"


class Stopping(Unavailable):
    """This process is stopping."""

    task: str
    """What could not be begun or ended."""
    reason = "this process is stopping"

    @property
    def what(self) -> str:
        return self.task


class TooBusy(Unavailable):
    """As many are at work as may be at one time."""

    task: str
    under_way: str

    @property
    def what(self) -> str:
        return self.task

    @property
    def reason(self) -> str:
        return f"{self.under_way} are under way"


class InUse(Unavailable):
    """Another process holds the lock."""

    used: str
    user: str
    """What the other process does, and what to do about it."""

    @property
    def what(self) -> str:
        return self.used

    @property
    def reason(self) -> str:
        return self.user


class OtherFormat(Unavailable):
    """A file of ours has the format of another release."""

    file: str
    found: int
    known: int
    """The newest format that this release knows."""
    oldest: int | None = None
    """The oldest one; only `known` if none is given."""

    @property
    def what(self) -> str:
        return self.file

    @property
    def reason(self) -> str:
        known = self.known if self.oldest is None else f"{self.oldest} to {self.known}"
        return f"its format is {self.found}, and this release knows {known} only"

    @property
    def mend(self) -> str | None:
        newer = self.found > self.known
        return "use the release that wrote it, or a newer one" if newer else None


class FileUnusable(Unavailable):
    """A file of ours cannot be read or written; the fault is in the words of the library."""

    file: str
    fault: str
    mend: str | None = None

    @property
    def what(self) -> str:
        return self.file

    @property
    def reason(self) -> str:
        return self.fault


class ChangedMeanwhile(Unavailable):
    """The files change faster than they are copied."""

    what = "the web archive"
    reason = "its index changes faster than it is copied"


class WriterUnreachable(Unavailable):
    """No process of this registry takes writes."""

    fault: str
    what = "the write door"

    @property
    def reason(self) -> str:
        return self.fault


class OutcomeUnknown(Unavailable):
    """The writing process ended while it had this command."""

    what = "the outcome of this write"
    reason = (
        "the writing process ended before it answered; repeat the request"
        " with the same idempotency key"
    )


class CommandFailed(Unavailable):
    """A command met a mistake of this program; the log has the traceback."""

    fault: str
    what = "this write"

    @property
    def reason(self) -> str:
        return self.fault


class WorkerKilled(Unavailable):
    """A process that reads lines was killed."""

    fault: str
    what = "a process that reads lines"

    @property
    def reason(self) -> str:
        return self.fault
