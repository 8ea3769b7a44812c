"""Errors about numbered changes: correct the number, or number the registry first."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import quote
from perdure.errors.unavailable import Unavailable


class MalformedMark(InvalidRequest):
    """The text is not the number of a change."""

    mark: str
    parameter: str = "since"
    reason = "it must be a number such as 1042, or an epoch and a number such as 3.1042"

    @property
    def what(self) -> str:
        return f"{self.parameter}={quote(self.mark)}"


class MalformedHead(InvalidRequest):
    """A file is not a saved head."""

    file: str
    fault: str

    @property
    def what(self) -> str:
        return self.file

    @property
    def reason(self) -> str:
        return f"it is not the output of 'perdure head': {self.fault}"


class ChangesUnnumbered(Unavailable):
    """The changes of this registry have no numbers yet."""

    what = "the head of the registry"
    reason = "its changes have no numbers yet"
    mend = "write to it once with this release, for example with 'perdure mint'"
