"""Errors about identifiers, versions and captures that this registry does not have."""

from __future__ import annotations

from perdure.errors.root import PerdureError, quote


class NotFound(PerdureError, LookupError):
    """This identifier was never registered here."""

    code = "not-found"
    identifier: str

    def problem(self) -> str:
        return f"not found: {quote(self.identifier)} was never registered here"

    def repair(self) -> str:
        return "check the spelling, or try the resolver of the authority that issued it"


class NothingMatches(NotFound):
    """No known identifier belongs to this pattern, interval or beginning."""

    def problem(self) -> str:
        return f"not found: no known identifier matches {quote(self.identifier)}"

    def repair(self) -> str:
        return "check the spelling; 'perdure list --authorities' shows whose identifiers are known"


class NoSuchVersion(NotFound):
    """The identifier is known, but not this version of it."""

    code = "no-such-version"
    version: int
    versions: tuple[int, ...]

    def problem(self) -> str:
        return f"{quote(self.identifier)} has no version {self.version}"

    def repair(self) -> str:
        known = ", ".join(map(str, self.versions)) or "none"
        return f"known versions: {known}"


class NotCaptured(NotFound):
    """No capture matches the request; a similar one may be available."""

    code = "not-captured"
    verdict: str
    offered: tuple[dict[str, object], ...]
    """Similar captures, the nearest first."""

    def problem(self) -> str:
        return f"{self.verdict}: no capture matches {quote(self.identifier)}"

    def repair(self) -> str:
        if not self.offered:
            return "this address was never captured by GET"
        uri, date = (self.offered[0].get(name) for name in ("uri", "date"))
        return f"the nearest is {quote(uri)} of {date}; request it with 'nearest'"


class CaptureWithdrawn(NotFound):
    """These captures were taken down. They are kept, but never served."""

    code = "capture-withdrawn"
    reason: str
    at: str
    by: str

    def problem(self) -> str:
        return f"{quote(self.identifier)} was withdrawn at {self.at}: {quote(self.reason)}"

    def repair(self) -> str:
        return "ask the operators of this archive for the reason"


class CitationGone(NotFound):
    """The citing or the cited document of a citation was withdrawn, or is bound to nothing."""

    code = "citation-gone"
    side: str
    """The identifier that is gone."""
    reason: str
    at: str
    by: str

    def problem(self) -> str:
        return f"{quote(self.side)} is gone since {self.at}: {quote(self.reason)}"

    def repair(self) -> str:
        return f"nothing else can be given for {quote(self.identifier)}"


class CitationNotFound(NotFound):
    """The citing document does not quote the cited part at this place: the verdict says more."""

    code = "citation-not-found"
    verdict: str
    right: str | None = None
    """The citation with the right origin, if the part is quoted elsewhere."""
    kept: int = 0
    """If altered, the number of words of the cited part that are there."""
    total: int = 0
    """If altered, the number of words of the cited part."""

    def problem(self) -> str:
        count = f", {self.kept} of {self.total} are equal" if self.total else ""
        return f"{quote(self.identifier)} is not a quotation: {self.verdict}{count}"

    def repair(self) -> str:
        if self.right:
            return f"it is quoted at {quote(self.right)}"
        return "request the comparison with ?info, or with 'perdure verify'"


class OriginalMissing(NotFound):
    """The capture is a revisit, and the capture with its payload is not available here."""

    code = "original-missing"
    original: str
    """The URI, date and digest of the capture with the payload, as far as they are known."""
    date: str = ""
    """The date of the capture, as recorded."""

    def problem(self) -> str:
        at = f" at {self.date}" if self.date else ""
        return f"the payload of {quote(self.identifier)}{at} is missing"

    def repair(self) -> str:
        return f"add the archive file that contains the original capture, {quote(self.original)}"


class NoSuchToken(NotFound):
    """No token has this name, or the caller may not see it."""

    def problem(self) -> str:
        return f"not found: no token has the name {quote(self.identifier)}"

    def repair(self) -> str:
        return "list the tokens with 'perdure token list', or with GET /tokens over HTTP"


class DraftUnknown(NotFound):
    """No deposit under way has this number, or another token began it."""

    def problem(self) -> str:
        return f"not found: no deposit {quote(self.identifier)} is under way"

    def repair(self) -> str:
        return "open /deposit, which lists those of your token; they end after half a day"


class NoSuchArchiveFile(NotFound):
    """No archive file of this name was added here."""

    def problem(self) -> str:
        return f"not found: no archive file {quote(self.identifier)} was added here"

    def repair(self) -> str:
        return "list the archive files with 'perdure archive list', or add it with 'archive add'"


class NoSuchArchivedRecord(NotFound):
    """An archive file has no record at this offset, or with this id."""

    file: str

    def problem(self) -> str:
        return f"not found: {quote(self.file)} has no record {quote(self.identifier)}"

    def repair(self) -> str:
        return "check the offset or the id of the record; offsets count in the file as it is stored"


class UnknownArchive(NotFound):
    """This web archive is not in the list of known archives."""

    code = "unknown-archive"
    archive: str

    def problem(self) -> str:
        return f"the web archive {quote(self.archive)} is not known here"

    def repair(self) -> str:
        return "list the known archives with 'perdure pwid archives'"


class UnknownAuthority(PerdureError, LookupError):
    """This registry owns no series, naming authority or shoulder of this name."""

    code = "unknown-authority"
    authority: str
    known: tuple[str, ...]

    def problem(self) -> str:
        return f"this registry cannot mint under {quote(self.authority)}"

    def repair(self) -> str:
        return f"authorities of this registry: {', '.join(self.known) or 'none'}"


class NotAcceptable(PerdureError):
    """The identifier is known, but not available in any requested format."""

    code = "not-acceptable"
    identifier: str
    asked: str
    offered: tuple[str, ...]

    def problem(self) -> str:
        return f"{quote(self.identifier)} is not available as {quote(self.asked)}"

    def repair(self) -> str:
        offered = ", ".join(self.offered)
        if not offered:
            return "no format of it is available"
        if self.asked.isdecimal():  # a version, it seems, where a format is expected
            return f"a version needs a format before it, such as .{self.offered[0]}.{self.asked}"
        return f"request one of {offered}"
