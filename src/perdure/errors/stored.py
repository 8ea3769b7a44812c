"""Errors about bytes: do not trust them, and raise the alarm if they were stored here."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from perdure.errors.root import PerdureError, SubjectNamed, count_units, describe_received, quote


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
    expected: int | None
    """None if the length is unknown."""
    received: int

    def problem(self) -> str:
        return f"upload ended after {describe_received(self.received, self.expected)}"

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
        return f"{self.what} exceeds the limit of {count_units(self.limit, self.unit)}"


class TooLargeThere(TooLarge):
    """Another server or process reports a limit, in its own words."""

    what: str
    unit: str = ""


class Corrupt(PerdureError):
    """Stored bytes no longer match their recorded digest: raise the alarm.

    Abstract: each reason has a class in `corruption`. Clients see four phrases, computed from the
    fields of the class: the damaged thing, the place of the damage, the promise and the finding.
    """

    code = "corrupt"
    computed: ClassVar[tuple[str, ...]] = ("identifier", "where", "promised", "found")
    if TYPE_CHECKING:  # at run time each class has an attribute, a property or a field for each

        @property
        @abstractmethod
        def identifier(self) -> str: ...

        @property
        @abstractmethod
        def where(self) -> str: ...

        @property
        @abstractmethod
        def promised(self) -> str: ...

        @property
        @abstractmethod
        def found(self) -> str: ...

    def problem(self) -> str:
        return (
            f"corrupt: {quote(self.identifier)} at {self.where}: promised {self.promised}, "
            f"found {self.found}"
        )

    def repair(self) -> str:
        return "restore this file from a backup or another copy, then run 'perdure verify'"


class CorruptThere(Corrupt):
    """Another process reports damaged bytes, in its own words."""

    identifier: str
    where: str
    promised: str
    found: str
