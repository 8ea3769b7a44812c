"""Errors about things that are unavailable now: try again, or remove the cause.

`Unavailable` itself is abstract: each reason has its own class, in `servers` and `processes`. All
share its code, except those here. Clients see `what`, `reason` and `mend`, computed from the fields
of the class.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from perdure.errors.root import ReasonedError


class Unavailable(ReasonedError):
    """The request is valid, but cannot be fulfilled now."""

    code = "unavailable"
    computed = ("what", "reason", "mend")
    if TYPE_CHECKING:  # at run time each class below has attributes, properties or fields for them

        @property
        @abstractmethod
        def what(self) -> str: ...

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
