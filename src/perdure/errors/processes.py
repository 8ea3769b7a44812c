"""Errors about perdure's processes, files and libraries: try again, or repair the installation."""

from __future__ import annotations

from perdure.errors.root import FaultQuoted, count_things, quote
from perdure.errors.unavailable import Unavailable


class Stopping(Unavailable):
    """This process is stopping."""

    task: str
    """The task that could not be started or finished."""
    reason = "this process is stopping"

    @property
    def what(self) -> str:
        return self.task


class TooBusy(Unavailable):
    """The maximum number of tasks is already running."""

    task: str
    under_way: str

    @property
    def what(self) -> str:
        return self.task

    @property
    def reason(self) -> str:
        return f"{self.under_way} are already running"


class QueueFull(Unavailable):
    """Too many requests of all clients wait for work that only a few can have done at a time."""

    kind: str
    """The queue, such as `markup.xpath`, an extractor, or `lists`."""
    limit: int
    wait: int
    """Seconds after which it is worth trying again."""

    @property
    def what(self) -> str:
        return f"a turn in the queue {quote(self.kind)}"

    @property
    def reason(self) -> str:
        return f"{count_things(self.limit, 'request')} wait there already"

    @property
    def mend(self) -> str:
        return (
            f"try again in {count_things(self.wait, 'second')}; "
            "an operator can raise the setting waiting_requests"
        )


class ClientLeft(Unavailable):
    """The client left while its request waited, so that the answer would not be read."""

    code = "client-left"
    kind: str
    """The queue, such as `markup.xpath`, an extractor, or `lists`."""

    @property
    def what(self) -> str:
        return f"a turn in the queue {quote(self.kind)}"

    reason = "the connection was lost while the request waited"
    mend = "send the request again"


class HelperEnded(Unavailable):
    """A helper process ended before its task did: it was killed, often for lack of memory."""

    what = "the rest of this task"
    reason = "one of its processes was stopped"
    mend = "look in the system log for the reason (often too little memory), then try again"


class InUse(Unavailable):
    """Another process holds the lock. Abstract: each reason has a class."""

    used: str
    """The thing that is locked."""

    @property
    def what(self) -> str:
        return self.used


class HasWriter(InUse):
    """Another process writes to a registry that this one needs for itself."""

    reason = "a server or another command is writing; stop it first"


class CopyHasWriter(InUse):
    """Another process writes to the copy of a registry."""

    reason = "a server or another command is writing to it"


class OpenElsewhere(InUse):
    """Another process has opened the registry."""

    reason = "it is open in another process; stop the server first"


class BackupRunning(InUse):
    """Another backup into the same directory is running."""

    reason = "another backup is running; wait until it has ended"


class LinksChecked(InUse):
    """Another process is checking the links of this registry."""

    reason = "another process is checking them"


class OtherFormat(Unavailable):
    """A file of perdure has the format of another release."""

    file: str
    found: int
    known: int
    """The newest format that this release knows."""
    oldest: int | None = None
    """The oldest format that this release knows; equal to `known` if it is None."""

    @property
    def what(self) -> str:
        return self.file

    @property
    def reason(self) -> str:
        known = self.known if self.oldest is None else f"{self.oldest} to {self.known}"
        return f"its format is {self.found}, but this release reads only {known}"

    @property
    def mend(self) -> str | None:
        newer = self.found > self.known
        return "use the release that wrote it, or a newer one" if newer else None


class FileUnusable(FaultQuoted, Unavailable):
    """A file of perdure cannot be read or written; `fault` quotes the library."""

    file: str
    mend: str | None = None

    @property
    def what(self) -> str:
        return self.file


class DatabaseBusy(FaultQuoted, Unavailable):
    """Another process holds the database of the registry, or a database server changes its leader.

    Nothing of the request is stored, so that it may be repeated.
    """

    code = "database-busy"
    what: str
    mend = (
        "try again; if it lasts, end the other program that has the database open for writing, or "
        "see whether the database server answers; nothing of the request was stored"
    )


class FormatNumberDamaged(Unavailable):
    """The format number in the head of a file is damaged."""

    file: str
    found: int
    mend: str | None = None

    @property
    def what(self) -> str:
        return self.file

    @property
    def reason(self) -> str:
        return f"its format number is damaged: it is {self.found}"


class DatabaseMissing(Unavailable):
    """The file of a registry does not exist."""

    file: str
    missing: str
    """The name of the file."""
    mend: str | None = None

    @property
    def what(self) -> str:
        return self.file

    @property
    def reason(self) -> str:
        return f"{self.missing} is missing"


class DatabaseUnreachable(FaultQuoted, Unavailable):
    """The database server that has the records does not answer; `fault` quotes the driver."""

    address: str
    """Its address, without the password."""

    @property
    def what(self) -> str:
        return f"the registry in {self.address}"


class RegistryNotInDatabase(Unavailable):
    """The database has no registry."""

    address: str
    schema: str

    @property
    def what(self) -> str:
        return f"the registry in {self.address}"

    @property
    def reason(self) -> str:
        return f"the schema {self.schema} has no tables of a registry, or this role may not use it"

    mend = "create the registry with 'perdure init --store ADDRESS', or correct the setting store"


class DatabaseUnfit(Unavailable):
    """A database cannot have a registry. Abstract: each reason has a class."""

    address: str

    @property
    def what(self) -> str:
        return f"a registry in {self.address}"


class ServerTooOld(DatabaseUnfit):
    """The database server is of an earlier release than perdure needs."""

    version: int
    oldest: int

    @property
    def reason(self) -> str:
        return f"it runs PostgreSQL {self.version}"

    @property
    def mend(self) -> str:
        return f"use PostgreSQL {self.oldest} or newer"


class EncodingUnfit(DatabaseUnfit):
    """The database cannot store every text."""

    encoding: str
    mend = "create the database with ENCODING 'UTF8' TEMPLATE template0"

    @property
    def reason(self) -> str:
        return f"its encoding is {self.encoding}"


class NotOfThisStore(Unavailable):
    """The store of the records leaves a task to other programs."""

    task: str
    mend: str | None = None
    reason = "the store of the records does not do it"

    @property
    def what(self) -> str:
        return self.task


class ChangedMeanwhile(Unavailable):
    """The files change faster than perdure can copy them."""

    what = "the web archive"
    reason = "its index changes faster than perdure can copy it"


class WriterUnreachable(Unavailable):
    """No process accepts writes for this registry. Abstract: each reason has a class."""

    what = "the write door"


class WriterSilent(WriterUnreachable):
    """The process that writes does not answer."""

    socket: str

    @property
    def reason(self) -> str:
        return f"no writer answers at {self.socket}"


class DoorUnusable(FaultQuoted, WriterUnreachable):
    """This process can neither lock the registry nor listen to others; `fault` says why."""


class OutcomeUnknown(Unavailable):
    """The writing process ended while it was executing this command."""

    what = "the outcome of this write"
    reason = (
        "the writing process ended before it answered; repeat the request"
        " with the same idempotency key"
    )


class CommandFailed(FaultQuoted, Unavailable):
    """A command failed because of a bug in perdure; the log contains the traceback."""

    what = "this write"
    mend = "report the traceback in the log to the developers of perdure"


class WorkerKilled(FaultQuoted, Unavailable):
    """A process that parses lines was killed."""

    what = "a process that reads lines"
