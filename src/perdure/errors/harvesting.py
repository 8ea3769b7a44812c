"""Errors about harvests: another repository, and the records that cannot be taken from it."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.rights import Conflict
from perdure.errors.root import FaultQuoted, IdentifierQuoted, UrlQuoted, count_things, quote
from perdure.errors.unavailable import Unavailable

_PAGE = "docs/how-to/harvest.md"
_SYNC = "docs/reference/harvesting.md"
_RESUMED = "repeat the command: it goes on where this one stopped"
_TO_OPERATOR = "tell the operator of that server: it will answer the same again"


class AnswerUnread(UrlQuoted, Unavailable):
    """An answer of a repository is not a page of its protocol."""

    fault: str
    mend = _RESUMED

    @property
    def reason(self) -> str:
        return f"its answer cannot be read: {self.fault}"


class TokenRepeated(UrlQuoted, Unavailable):
    """A repository gives the token again with which it was asked, so its list would not end."""

    reason = "it gives the same resumption token again"
    mend = _TO_OPERATOR


class PagesEmpty(UrlQuoted, Unavailable):
    """A repository sends page after page without a record."""

    reason = "it sends page after page without a record"
    mend = _TO_OPERATOR


class AnswerUndated(UrlQuoted, Unavailable):
    """An answer of a repository does not state its time, at which the next harvest would begin."""

    reason = "its answer has no time (responseDate)"
    mend = _TO_OPERATOR


class MapLeadsAway(UrlQuoted, Unavailable):
    """A sitemap, or a document of ResourceSync, names a document on another host."""

    address: str
    """That of the other document."""
    mend = "harvest the other host by itself, if you trust it"

    @property
    def reason(self) -> str:
        return f"it leads to another host: {quote(self.address)}"


class MapWithoutList(UrlQuoted, Unavailable):
    """A server offers ResourceSync, but not the list that is wanted."""

    wanted: str
    """The capability: `resourcelist` or `resourcedump`."""
    mend = "harvest it by OAI-PMH or by its sitemap, if it has one"

    @property
    def reason(self) -> str:
        return f"it offers no {self.wanted}"


class MapNotDump(UrlQuoted, InvalidRequest):
    """An address from which documents are harvested has no dump."""

    reason = "documents come in the packages of ResourceSync"
    mend = "give the address of /.well-known/resourcesync or of a resource dump"


class PackageLacksFile(UrlQuoted, Unavailable):
    """A package has no file at the path that its manifest states."""

    path: str
    mend = _TO_OPERATOR

    @property
    def reason(self) -> str:
        return f"its package has no file {quote(self.path)}"


class PackagedLengthWrong(UrlQuoted, Unavailable):
    """A document in a package does not have the length that its manifest states."""

    path: str
    mend = _TO_OPERATOR
    stated: int
    found: int

    @property
    def reason(self) -> str:
        words = f"the file {quote(self.path)} of its package has"
        return f"{words} {count_things(self.found, 'byte')} instead of {self.stated}"


class RepositoryBusy(UrlQuoted, Unavailable):
    """A repository asks to come again later than a harvest waits."""

    seconds: int
    """How long it wants to be left alone."""
    mend = f"then {_RESUMED}"

    @property
    def reason(self) -> str:
        return f"it asks to be left alone for {count_things(self.seconds, 'second')}"


class RepositoryRefused(FaultQuoted, UrlQuoted, InvalidRequest):
    """A repository refuses the question of a harvest; `fault` quotes it."""

    rule = _PAGE


class HarvestedElsewhere(Conflict):
    """A harvested record is already here, and came from somewhere else."""

    reason = "it is here already and did not come from this repository"


class HarvestedOwn(Conflict):
    """A repository has a record with a name that only this registry may assign."""

    reason = "such names are assigned by this registry, not by others"


class HarvestedWithdrawn(Conflict):
    """A repository lists a record that was withdrawn here."""

    reason = "it was withdrawn here, and a withdrawal is for ever"


class HarvestWaits(Conflict):
    """A record was deleted at its repository, and withdrawing it here needs a second person."""

    reason = "its repository deleted it; its withdrawal waits for another person"


class HarvestedWithoutAddress(IdentifierQuoted, InvalidRequest):
    """A harvested record has no address to which a link could lead."""

    rule = _PAGE
    reason = "its record has no address to which a link could lead"


class HarvestedTwice(IdentifierQuoted, InvalidRequest):
    """Two records of a repository have the same name."""

    first: str
    """The identifier of the other one in the repository."""
    rule = _PAGE

    @property
    def reason(self) -> str:
        return f"the record {quote(self.first)} of this repository has this name already"


class DumpStretchTooLong(InvalidRequest):
    """A package of documents is asked for that has too many records."""

    most: int
    what = "this package"
    mend = "ask for the packages that the dump lists"
    rule = _SYNC

    @property
    def reason(self) -> str:
        return f"it has more than {count_things(self.most, 'record', grouped=True)}"


class DumpTimeMalformed(InvalidRequest):
    """The time of a package of changes is not a time."""

    parameter: str
    text: str
    reason = "it must be a time such as 2026-11-28T12:00:00Z"
    rule = _SYNC

    @property
    def what(self) -> str:
        return f"{self.parameter} {quote(self.text)}"


class PackageOutdated(Conflict):
    """A document was withdrawn, erased or closed while a package with it was sent."""

    reason = "it changed while the package was sent"
    mend = "fetch the package again"
