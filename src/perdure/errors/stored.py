"""Errors about bytes: do not trust them, and raise the alarm if they were stored here."""

from __future__ import annotations

from perdure.errors.root import PerdureError, quote


class DigestMismatch(PerdureError, ValueError):
    """The bytes received do not match the sender's digest."""

    code = "digest-mismatch"
    algorithm: str
    promised: str
    found: str

    def problem(self) -> str:
        return f"{self.algorithm} digest mismatch: promised {self.promised}, received {self.found}"

    def repair(self) -> str:
        return "nothing was stored; do not use these bytes, and send or fetch them again"


class Incomplete(PerdureError, ValueError):
    """Fewer bytes arrived than were announced."""

    code = "incomplete"
    expected: int
    received: int

    def problem(self) -> str:
        return f"upload ended after {self.received} of {self.expected} bytes"

    def repair(self) -> str:
        return "nothing was stored; send the upload again"


class TooLarge(PerdureError, ValueError):
    """The data exceeds a size limit."""

    code = "too-large"
    what: str
    limit: int

    def problem(self) -> str:
        return f"{self.what} exceeds the limit of {self.limit}"


class Corrupt(PerdureError):
    """Stored bytes no longer match their recorded digest: raise the alarm."""

    code = "corrupt"
    identifier: str
    where: str
    promised: str
    found: str

    def problem(self) -> str:
        return (
            f"corrupt: {quote(self.identifier)} at {self.where}: promised {self.promised}, "
            f"found {self.found}"
        )

    def repair(self) -> str:
        return "restore this file from a backup or another copy, then run 'perdure verify'"
