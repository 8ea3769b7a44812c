"""Errors of rights and of conflicts: get the right to do it, or resolve the conflict."""

from __future__ import annotations

from perdure.errors.root import PerdureError, quote


class Unauthenticated(PerdureError, PermissionError):
    """No credential, or one that is unknown, expired or revoked."""

    code = "unauthenticated"
    reason: str

    def problem(self) -> str:
        return f"not authenticated: {self.reason}"

    def repair(self) -> str:
        return "send 'Authorization: Bearer TOKEN' with a token made by 'perdure token create'"


class Forbidden(PerdureError, PermissionError):
    """The caller is known and may not do this."""

    code = "forbidden"
    who: str
    needed: str

    def problem(self) -> str:
        return f"{quote(self.who)} may not do this"

    def repair(self) -> str:
        return f"what it takes: {self.needed}"


class ArchiveClosed(Forbidden):
    """The web archive is known, and only readable on its own premises."""

    code = "archive-closed"
    who: str = "a reader elsewhere"
    needed: str = "access to the archive's reading room"
    archive: str

    def problem(self) -> str:
        return f"closed but known: the web archive {quote(self.archive)} cannot be read from here"

    def repair(self) -> str:
        return "ask that archive for access to its reading room"


class Conflict(PerdureError):
    """What is asked contradicts what was promised earlier, or what another writer did meanwhile."""

    code = "conflict"
    identifier: str
    reason: str
    current: str | None

    def problem(self) -> str:
        return f"conflict on {quote(self.identifier)}: {self.reason}"

    def repair(self) -> str:
        return f"current state: {self.current}" if self.current else ""


class PreconditionFailed(Conflict):
    """`If-Match` names a state that is no longer the current one."""

    code = "precondition-failed"
