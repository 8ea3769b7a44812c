"""Errors about mirrors: ask the origin, mend the connection, or decide about a contradiction."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.lookup import NotFound
from perdure.errors.rights import Conflict, Forbidden
from perdure.errors.root import FaultQuoted, UrlQuoted, quote
from perdure.errors.unavailable import Unavailable


class OriginUnusable(FaultQuoted, UrlQuoted, Unavailable):
    """The origin of a mirror, or another mirror, cannot be reached or gives a wrong answer."""


class OriginWithholds(UrlQuoted, Unavailable):
    """A registry withholds records from a token that needs all of them."""

    reason = "it withholds records"
    mend = "the token needs the right mirror for everything"


class OriginForgot(UrlQuoted, Unavailable):
    """A registry does not know a change any more that it has just sent."""

    reason = "it no longer knows a change that it sent"


class OriginAlters(UrlQuoted, Unavailable):
    """The origin of a mirror sends other bytes than it promised, and no other mirror has them."""

    sha512: str
    """The promised digest."""

    @property
    def reason(self) -> str:
        return f"it sends other bytes than those that it promised, with SHA-512 {self.sha512}"


class OriginContradicts(Conflict):
    """The origin of a mirror contradicts what it said before, or its own rules."""

    origin: str
    mark: str
    """The change at which the mirror stopped."""
    fault: str

    @property
    def reason(self) -> str:
        return (
            f"{quote(self.origin)} contradicts what it said before: {self.fault}; find out why. "
            "'perdure mirror status' shows the evidence, 'perdure mirror accept --reason TEXT' "
            "goes on"
        )


class MirrorStopped(Unavailable):
    """The mirror has stopped at a contradiction, and goes on serving what it has."""

    what = "the mirror"
    origin: str
    mark: str
    """The change at which it stopped."""
    fault: str
    mend = "see 'perdure mirror status' on the machine of the mirror"

    @property
    def reason(self) -> str:
        return f"it has stopped following {quote(self.origin)} at change {self.mark}: {self.fault}"


class ContentsUnnamed(InvalidRequest):
    """A request for bytes names none."""

    what = "the body"
    reason = "it names no bytes; send a line of JSON for each representation"
    rule = "docs/reference/mirrors.md"


class NonceMalformed(InvalidRequest):
    """A nonce is not a hexadecimal number of the required length."""

    nonce: str
    reason = "it must have 32 to 128 hexadecimal digits, in lower case"
    rule = "docs/reference/mirrors.md"

    @property
    def what(self) -> str:
        return f"the nonce {quote(self.nonce)}"


class NotMirror(InvalidRequest):
    """The directory is not a mirror."""

    what = "the mirror"
    directory: str

    @property
    def reason(self) -> str:
        return f"{quote(self.directory)} is not a mirror; 'perdure mirror add URL' makes one"


class MirrorOccupied(InvalidRequest):
    """The directory of a new mirror has a registry already."""

    what = "the mirror"
    directory: str

    @property
    def reason(self) -> str:
        return (
            f"{quote(self.directory)} has a registry already, and a mirror needs a directory of "
            "its own; name an empty one with -C"
        )


class OriginUnrelated(UrlQuoted, InvalidRequest):
    """A mirror cannot turn to a registry that does not go on where its origin ended."""

    mark: str
    """The last change of the mirror."""

    @property
    def reason(self) -> str:
        return (
            f"it lacks change {self.mark}, the last one of this mirror, and the origin handed no "
            "names over to it; to mirror it, too, use another directory"
        )


class NothingToAccept(InvalidRequest):
    """The mirror has not stopped at a contradiction."""

    what = "the acceptance"
    reason = "the mirror has not stopped at a contradiction; see 'perdure mirror status'"


class OriginSpelling(UrlQuoted, InvalidRequest):
    """The origin of a mirror is not the address of a registry."""

    reason = "it must be an http(s) URL without a query, such as https://id.example.org"


class ContentsNotMended(NotFound):
    """Bytes that a mirror sends are not held here any more, or never were."""

    fault: str
    """`unknown`, `withdrawn`, `erased`, `damaged` or `forbidden`."""

    def problem(self) -> str:
        return f"no bytes of {quote(self.identifier)} can be mended here: {self.fault}"

    def repair(self) -> str:
        return "compare again, after the mirror has caught up"


class ArchiveDiffers(InvalidRequest):
    """The captures of an origin have other names than those of its mirror."""

    what = "the captures"
    theirs: tuple[str, ...]
    """The setting `archive_id` of the origin, and its `archive_aliases`."""
    ours: tuple[str, ...]

    @property
    def reason(self) -> str:
        named = [", ".join(map(quote, one)) or "no name" for one in (self.theirs, self.ours)]
        return (
            f"the archive of the origin is called {named[0]}, and that of this mirror {named[1]}; "
            "give the settings archive_id and archive_aliases the same values as there"
        )


class CapturesWhole(InvalidRequest):
    """A mirror of some series cannot have captures, which belong to none."""

    what = "the mirror"
    reason = "captures belong to no series: only a mirror of everything can have them"


class MirrorsSome(Forbidden):
    """A token may mirror some names, and captures need the right to mirror all."""

    needed = "mirror for everything"
