"""Errors about rights and conflicts: obtain the right, or resolve the conflict.

`Unauthenticated`, `Forbidden`, `Conflict` and `PreconditionFailed` are abstract: each reason has
its own class, in `credentials` or `conflicts`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from perdure.errors.root import PerdureError, ReasonedError, quote


class Unauthenticated(ReasonedError, PermissionError):
    """The request has no credential, or an unknown, expired or revoked one."""

    code = "unauthenticated"

    def problem(self) -> str:
        return f"not authenticated: {self.reason}"

    def repair(self) -> str:
        return "send 'Authorization: Bearer TOKEN' with a token from 'perdure token create'"


class Forbidden(PerdureError, PermissionError):
    """The caller is authenticated but does not have the required right.

    Abstract: each reason has a class in `credentials`.
    """

    code = "forbidden"
    computed = ("needed",)
    who: str
    if TYPE_CHECKING:  # at run time each class has an attribute, a property or a field for it

        @property
        @abstractmethod
        def needed(self) -> str: ...

    def problem(self) -> str:
        return f"{quote(self.who)} may not do this"

    def repair(self) -> str:
        return f"required: {self.needed}"


class ForbiddenThere(Forbidden):
    """Another process refuses for lack of a right, which it names in its own words."""

    needed: str


class ArchiveClosed(Forbidden):
    """The web archive is known, but can be read only on its own premises."""

    code = "archive-closed"
    who: str = "a reader elsewhere"
    needed = "access to the archive's reading room"
    archive: str

    def problem(self) -> str:
        return f"the web archive {quote(self.archive)} can be read only on its own premises"

    def repair(self) -> str:
        return "ask the archive for access to its reading room"


class Embargoed(Forbidden):
    """The resource can be read by everyone from a later day on, and by some readers now."""

    code = "embargoed"
    identifier: str
    until: str
    """The first day on which everyone may read it."""
    stated: str = ""
    """The reason that the owner states."""
    by_token: bool = False
    """Readers with a token that allows it may read it now."""

    @property
    def needed(self) -> str:
        now = ", or a token with the right read" if self.by_token else ""
        return f"to wait until {self.until}{now}"

    def problem(self) -> str:
        stated = f": {quote(self.stated)}" if self.stated else ""
        return f"{quote(self.identifier)} is under an embargo until {self.until}{stated}"


class LegallyUnavailable(Forbidden):
    """The resource is not available for legal reasons. This can end."""

    code = "unavailable-for-legal-reasons"
    needed = "that its owner makes it available again"
    identifier: str
    since: str = ""
    """The time from which it has been unavailable."""
    stated: str = ""
    """The reason that the owner states."""

    def problem(self) -> str:
        stated = f": {quote(self.stated)}" if self.stated else ""
        since = f" since {self.since}" if self.since else ""
        return f"{quote(self.identifier)} is unavailable for legal reasons{since}{stated}"

    def repair(self) -> str:
        return "ask its owner"


class Conflict(ReasonedError):
    """The request contradicts an earlier promise, or a change made by another writer meanwhile."""

    code = "conflict"
    computed = ("reason", "current")
    identifier: str
    if TYPE_CHECKING:  # at run time each class below has an attribute, a property or a field for it

        @property
        def current(self) -> str | None:
            """The state that the request contradicts; None if the reason says it."""

    else:
        current = None

    def problem(self) -> str:
        return f"conflict on {quote(self.identifier)}: {self.reason}"

    def repair(self) -> str:
        return f"current state: {self.current}" if self.current else ""


class PreconditionFailed(Conflict):
    """`If-Match` names a state that is no longer current."""

    code = "precondition-failed"


class UnauthenticatedThere(Unauthenticated):
    """Another server or process does not accept a credential, in its own words."""

    reason: str


class ConflictThere(Conflict):
    """Another server or process reports a conflict, in its own words."""

    reason: str
    current: str | None = None


class PreconditionFailedThere(PreconditionFailed):
    """Another server or process reports a condition that does not hold, in its own words."""

    reason: str
    current: str | None = None
