"""Errors of bytes: distrust them, and raise the alarm if they are ours."""

from __future__ import annotations

from perdure.errors.root import PerdureError, quote


class DigestMismatch(PerdureError, ValueError):
    """The bytes received are not those that the sender's digest promises."""

    code = "digest-mismatch"
    algorithm: str
    promised: str
    found: str

    def problem(self) -> str:
        return f"{self.algorithm} digest promised {self.promised}, received {self.found}"

    def repair(self) -> str:
        return "do not use these bytes: none were stored; send or fetch them again"


class Incomplete(PerdureError, ValueError):
    """Fewer bytes arrived than were announced."""

    code = "incomplete"
    expected: int
    received: int

    def problem(self) -> str:
        return f"upload ended after {self.received} of {self.expected} bytes"

    def repair(self) -> str:
        return "nothing was stored; send it again"


class TooLarge(PerdureError, ValueError):
    """More than a limit allows."""

    code = "too-large"
    what: str
    limit: int

    def problem(self) -> str:
        return f"{self.what} is larger than the limit of {self.limit}"


class Corrupt(PerdureError):
    """Stored bytes no longer have the digest that was promised: raise the alarm."""

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
