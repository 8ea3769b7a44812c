"""Errors of what cannot be done now: try again, or mend what keeps it from being done.

`Unavailable` itself is abstract: each reason has a class of its own, in `servers` and
`processes`. All of them share its code, and clients see `what`, `reason` and `mend`, computed from
the fields of the class.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from perdure.errors.root import PerdureError


class Unavailable(PerdureError):
    """Known, but it cannot be done or fetched now."""

    code = "unavailable"
    computed = ("what", "reason", "mend")
    if TYPE_CHECKING:  # at run time each class below has attributes, properties or fields for them

        @property
        @abstractmethod
        def what(self) -> str: ...

        @property
        @abstractmethod
        def reason(self) -> str: ...

        @property
        def mend(self) -> str | None:
            """What makes it available again; None if it is enough to wait."""

    else:
        mend = None

    def problem(self) -> str:
        return f"{self.what} is not available now: {self.reason}"

    def repair(self) -> str:
        return self.mend or "try again later"


class UnavailableThere(Unavailable):
    """Another server or process says so, in its own words."""

    what: str
    reason: str
    mend: str | None = None


class StorageFailed(Unavailable):
    """The disk is full or failing: what was not acknowledged is not kept."""

    code = "storage-failed"
    what: str
    reason: str
    mend = (
        "free space, and writing goes on, or replace a failing disk and restart the writer; "
        "nothing acknowledged is lost"
    )

    def problem(self) -> str:
        return f"{self.what} could not be made durable: {self.reason}"
