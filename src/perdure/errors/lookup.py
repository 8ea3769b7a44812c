"""Errors of what is not here: look elsewhere."""

from __future__ import annotations

from perdure.errors.root import PerdureError, quote


class NotFound(PerdureError, LookupError):
    """Nothing was ever registered under this identifier here."""

    code = "not-found"
    identifier: str

    def problem(self) -> str:
        return f"not found: {quote(self.identifier)} was never registered here"

    def repair(self) -> str:
        return "check the spelling, or ask the resolver of its issuing authority"


class NoSuchVersion(NotFound):
    """The identifier is known, this version of it is not."""

    code = "no-such-version"
    version: int
    versions: tuple[int, ...]

    def problem(self) -> str:
        return f"{quote(self.identifier)} has no version {self.version}"

    def repair(self) -> str:
        known = ", ".join(map(str, self.versions)) or "none"
        return f"versions known: {known}"


class NotCaptured(NotFound):
    """No capture is what was asked for; something near to it may be there."""

    code = "not-captured"
    verdict: str
    offered: tuple[dict[str, object], ...]
    """Captures that are near to it, the nearest first."""

    def problem(self) -> str:
        return f"{self.verdict}: no capture is {quote(self.identifier)}"

    def repair(self) -> str:
        if not self.offered:
            return "nothing with this address was captured"
        uri, date = (self.offered[0].get(name) for name in ("uri", "date"))
        return f"the nearest is {quote(uri)} of {date}: ask with 'nearest' for it"


class OriginalMissing(NotFound):
    """The capture is a revisit, and the one that has its payload is not kept here."""

    code = "original-missing"
    original: str
    """The URI of the capture with the payload, its date and digest, as far as they are known."""

    def problem(self) -> str:
        return f"the payload of {quote(self.identifier)} is missing"

    def repair(self) -> str:
        return (
            f"it lies in another capture, {quote(self.original)}: add the archive file that has it"
        )


class NoSuchToken(NotFound):
    """No token has this name, or the caller may not know of it."""

    def problem(self) -> str:
        return f"not found: no token is called {quote(self.identifier)}"

    def repair(self) -> str:
        return "'perdure token list', or over HTTP GET /tokens, lists the tokens"


class UnknownArchive(NotFound):
    """Nothing is told of this web archive."""

    code = "unknown-archive"
    archive: str

    def problem(self) -> str:
        return f"nothing is told here of the web archive {quote(self.archive)}"

    def repair(self) -> str:
        return "check its id with 'perdure pwid archives'"


class UnknownAuthority(PerdureError, LookupError):
    """No series, naming authority or shoulder of this name is owned here: nothing to mint under."""

    code = "unknown-authority"
    authority: str
    known: tuple[str, ...]

    def problem(self) -> str:
        return f"nothing is minted here under {quote(self.authority)}"

    def repair(self) -> str:
        return f"authorities owned here: {', '.join(self.known) or 'none'}"


class NotAcceptable(PerdureError):
    """The identifier is known, but not in any format that was asked for."""

    code = "not-acceptable"
    identifier: str
    asked: str
    offered: tuple[str, ...]

    def problem(self) -> str:
        return f"{quote(self.identifier)} is not held as {quote(self.asked)}"

    def repair(self) -> str:
        return f"ask for one of {', '.join(self.offered) or 'nothing: no format is held'}"
