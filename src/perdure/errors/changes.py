"""Errors of numbered changes: write the number anew, or number the registry first."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import quote
from perdure.errors.unavailable import Unavailable


class MalformedMark(InvalidRequest):
    """A text does not name a change by its number."""

    mark: str
    reason = "write a number, or epoch and number: 1042, 3.1042"

    @property
    def what(self) -> str:
        return f"since={quote(self.mark)}"


class MalformedHead(InvalidRequest):
    """A file is not a head that was saved."""

    file: str
    fault: str

    @property
    def what(self) -> str:
        return self.file

    @property
    def reason(self) -> str:
        return f"it is not what 'perdure head' prints: {self.fault}"


class ChangesUnnumbered(Unavailable):
    """No writer has numbered the changes of this registry yet."""

    what = "the head of the registry"
    reason = "its changes have no numbers yet"
    mend = "write to it once with this release, for example with 'perdure mint'"
