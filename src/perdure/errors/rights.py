"""Errors about rights and conflicts: obtain the right, or resolve the conflict."""

from __future__ import annotations

from perdure.errors.root import PerdureError, quote


class Unauthenticated(PerdureError, PermissionError):
    """The request has no credential, or an unknown, expired or revoked one."""

    code = "unauthenticated"
    reason: str

    def problem(self) -> str:
        return f"not authenticated: {self.reason}"

    def repair(self) -> str:
        return "send 'Authorization: Bearer TOKEN' with a token from 'perdure token create'"


class Forbidden(PerdureError, PermissionError):
    """The caller is authenticated but does not have the required right."""

    code = "forbidden"
    who: str
    needed: str

    def problem(self) -> str:
        return f"{quote(self.who)} may not do this"

    def repair(self) -> str:
        return f"required: {self.needed}"


class ArchiveClosed(Forbidden):
    """The web archive is known, but can be read only on its own premises."""

    code = "archive-closed"
    who: str = "a reader elsewhere"
    needed: str = "access to the archive's reading room"
    archive: str

    def problem(self) -> str:
        return f"the web archive {quote(self.archive)} can be read only on its own premises"

    def repair(self) -> str:
        return "ask the archive for access to its reading room"


class Conflict(PerdureError):
    """The request contradicts an earlier promise, or a change made by another writer meanwhile."""

    code = "conflict"
    identifier: str
    reason: str
    current: str | None

    def problem(self) -> str:
        return f"conflict on {quote(self.identifier)}: {self.reason}"

    def repair(self) -> str:
        return f"current state: {self.current}" if self.current else ""


class PreconditionFailed(Conflict):
    """`If-Match` names a state that is no longer current."""

    code = "precondition-failed"
