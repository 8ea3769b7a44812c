"""Errors about bytes: do not trust them, and raise the alarm if they were stored here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.errors.root import PerdureError, SubjectNamed, quote


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


class TooLarge(SubjectNamed, ValueError):
    """The data exceeds a size limit.

    Abstract: each reason has a class in `limits`.
    """

    code = "too-large"
    computed = ("what", "unit")
    limit: int
    if TYPE_CHECKING:  # at run time a class below may have an attribute, a property or a field

        @property
        def unit(self) -> str: ...

    else:
        unit = "bytes"

    def problem(self) -> str:
        return f"{self.what} exceeds the limit of {self.limit} {self.unit}".rstrip()


class TooLargeThere(TooLarge):
    """Another server or process reports a limit, in its own words."""

    what: str
    unit: str = ""


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
