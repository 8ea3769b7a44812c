"""Every error that perdure raises: one tree, stable codes, fields instead of sentences.

How it works: each class names its `code` (stable and documented in docs/reference/errors.md),
says in `problem()` what is wrong, computed from its fields, and in `repair()` what the caller can
do about it. `str()` joins both. A caller that must tell errors apart looks at the class or the
code and reads the fields; nobody parses the sentence.

What must stay true: a message quotes foreign text only through `quote()`, so that no control
character and no overlong input gets from a request into a log line, a header or a terminal. HTTP
status codes live in one table (`perdure.server.common.problems`), exit codes in another
(`perdure.cli.exits`); a test holds both complete.
"""

from __future__ import annotations

from typing import ClassVar

_LONGEST_QUOTE = 120


def quote(text: object) -> str:
    """Foreign text in printable ASCII between quotation marks, cut at 120 characters.

    >>> quote("a\\r\\nX: 1")
    "'a\\\\r\\\\nX: 1'"
    """
    written = str(text)
    cut = written[:_LONGEST_QUOTE]
    return ascii(cut) + ("…" if len(written) > _LONGEST_QUOTE else "")


class PerdureError(Exception):
    """The root of the tree. Fields are keyword arguments and become attributes."""

    code: ClassVar[str] = "error"
    fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **fields: object) -> None:
        unknown = set(fields) - set(self.fields)
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {sorted(unknown)}")
        super().__init__()
        for name in self.fields:
            setattr(self, name, fields.get(name))

    def problem(self) -> str:
        """What is wrong, in one lower-case clause."""
        return self.code.replace("-", " ")

    def repair(self) -> str:
        """What the caller can do about it; empty where nothing helps."""
        return ""

    def as_dict(self) -> dict[str, object]:
        """Code and fields, for problem documents and `--json`."""
        return {"code": self.code} | {name: getattr(self, name) for name in self.fields}

    def __str__(self) -> str:
        repair = self.repair()
        return f"{self.problem()}; {repair}" if repair else self.problem()

    def __reduce__(self) -> tuple[object, ...]:
        return _revive, (type(self), {name: getattr(self, name) for name in self.fields})


def _revive(kind: type[PerdureError], fields: dict[str, object]) -> PerdureError:
    return kind(**fields)


# the text is wrong: mend it
# --------------------------


class MalformedIdentifier(PerdureError, ValueError):
    """The text is no identifier of its scheme.

    `at` is the index in `text` where reading stopped, `expected` what could have stood there,
    `rule` the section of the specification or the ruling that says so.
    """

    code = "malformed-identifier"
    fields = ("text", "at", "expected", "rule")
    text: str
    at: int
    expected: str
    rule: str

    def problem(self) -> str:
        found = quote(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end"
        return f"malformed identifier {quote(self.text)}: at {self.at} found {found}"

    def repair(self) -> str:
        return f"expected {self.expected} ({self.rule})"


class UnknownScheme(PerdureError, ValueError):
    """The text begins with no prefix of a known scheme."""

    code = "unknown-scheme"
    fields = ("text", "known")
    text: str
    known: tuple[str, ...]

    def problem(self) -> str:
        return f"unknown scheme in {quote(self.text)}"

    def repair(self) -> str:
        known = sorted(self.known, key=lambda one: (len(one), one))  # the usual ones are short
        return f"begin with one of {', '.join(known)}"


class MalformedPart(PerdureError, ValueError):
    """The text is no part of a document in any syntax that its identifier allows."""

    code = "malformed-part"
    fields = ("text", "at", "expected", "rule")
    text: str
    at: int
    expected: str
    rule: str

    def problem(self) -> str:
        return f"malformed part {quote(self.text)} at {self.at}"

    def repair(self) -> str:
        return f"expected {self.expected} ({self.rule})"


class InvalidRequest(PerdureError, ValueError):
    """A request that is well-formed and yet asks for what the rules forbid."""

    code = "invalid-request"
    fields = ("what", "reason", "rule")
    what: str
    reason: str
    rule: str | None

    def problem(self) -> str:
        return f"{self.what} refused: {self.reason}"

    def repair(self) -> str:
        return f"see {self.rule}" if self.rule else ""


class InvalidMetadata(PerdureError, ValueError):
    """The bytes are no record of the metadata format that they are said to be of."""

    code = "invalid-metadata"
    fields = ("format", "line", "reason")
    format: str
    line: int | None
    """Counted from 1; None where the format has no lines."""
    reason: str

    def problem(self) -> str:
        where = f" at line {self.line}" if self.line else ""
        return f"no valid {self.format} record{where}: {quote(self.reason)}"

    def repair(self) -> str:
        return "mend it and send it again; nothing was changed"


class BadSettings(PerdureError, ValueError):
    """A setting has a value that cannot work."""

    code = "bad-settings"
    fields = ("setting", "value", "reason")
    setting: str
    value: object
    reason: str

    def problem(self) -> str:
        return f"setting {self.setting} = {quote(self.value)}: {self.reason}"


# look elsewhere
# --------------


class NotFound(PerdureError, LookupError):
    """Nothing was ever registered under this identifier here."""

    code = "not-found"
    fields: ClassVar[tuple[str, ...]] = ("identifier",)
    identifier: str

    def problem(self) -> str:
        return f"not found: {quote(self.identifier)} was never registered here"

    def repair(self) -> str:
        return "check the spelling, or ask the resolver of its issuing authority"


class NoSuchVersion(NotFound):
    """The identifier is known, this version of it is not."""

    code = "no-such-version"
    fields = ("identifier", "version", "versions")
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
    fields = ("identifier", "verdict", "offered")
    verdict: str
    offered: tuple[dict[str, object], ...]
    """Captures that are near to it, the nearest first."""

    def problem(self) -> str:
        return f"{self.verdict}: no capture is {quote(self.identifier)}"

    def repair(self) -> str:
        if not self.offered:
            return "nothing with this address was captured"
        near = self.offered[0]
        return f"the nearest is {quote(near['uri'])} of {near['date']}: ask with 'nearest' for it"


class OriginalMissing(NotFound):
    """The capture is a revisit, and the one that has its payload is not kept here."""

    code = "original-missing"
    fields = ("identifier", "original")
    original: str
    """The URI of the capture with the payload, its date and digest, as far as they are known."""

    def problem(self) -> str:
        return f"the payload of {quote(self.identifier)} is missing"

    def repair(self) -> str:
        return (
            f"it lies in another capture, {quote(self.original)}: add the archive file that has it"
        )


class UnknownArchive(NotFound):
    """Nothing is told of this web archive."""

    code = "unknown-archive"
    fields = ("archive",)
    archive: str

    def problem(self) -> str:
        return f"nothing is told here of the web archive {quote(self.archive)}"

    def repair(self) -> str:
        return "check its id with 'perdure pwid archives'"


class UnknownAuthority(PerdureError, LookupError):
    """No series, naming authority or shoulder of this name is owned here: nothing to mint under."""

    code = "unknown-authority"
    fields = ("authority", "known")
    authority: str
    known: tuple[str, ...]

    def problem(self) -> str:
        return f"nothing is minted here under {quote(self.authority)}"

    def repair(self) -> str:
        return f"authorities owned here: {', '.join(self.known) or 'none'}"


class NotAcceptable(PerdureError):
    """The identifier is known, but not in any format that was asked for."""

    code = "not-acceptable"
    fields = ("identifier", "asked", "offered")
    identifier: str
    asked: str
    offered: tuple[str, ...]

    def problem(self) -> str:
        return f"{quote(self.identifier)} is not held as {quote(self.asked)}"

    def repair(self) -> str:
        return f"ask for one of {', '.join(self.offered) or 'nothing: no format is held'}"


class PartNotFound(PerdureError, LookupError):
    """The resource has no element, name, page or track of this name or number."""

    code = "part-not-found"
    fields: ClassVar[tuple[str, ...]] = ("identifier", "selector", "extent")
    identifier: str
    selector: str
    extent: str
    """What there is instead, in words."""

    def problem(self) -> str:
        return f"{quote(self.identifier)} has no part {quote(self.selector)}"

    def repair(self) -> str:
        return f"there is {self.extent}"


class PartOutOfRange(PartNotFound):
    """The part lies beyond the resource, wholly or partly, or is empty  # ruling: part-range"""

    code = "part-out-of-range"

    def problem(self) -> str:
        return f"part {quote(self.selector)} is empty or beyond {quote(self.identifier)}"

    def repair(self) -> str:
        return f"it extends over {self.extent}"


class PartCheckFailed(PerdureError):
    """A check that came with the part does not hold of the resource (RFC 5147 section 2.1.3)."""

    code = "part-check-failed"
    fields = ("identifier", "check", "found")
    identifier: str
    check: str
    found: str

    def problem(self) -> str:
        return f"{quote(self.identifier)} does not pass the check {quote(self.check)}"

    def repair(self) -> str:
        return f"it has {self.found}: the part was made of another text"


class PartNotSupported(PerdureError):
    """Parts of this kind cannot be cut from this media type here."""

    code = "part-not-supported"
    fields = ("media_type", "selector", "install", "offered")
    media_type: str | None
    """None where the text was read without knowing of what it is a part."""
    selector: str
    install: str | None
    offered: tuple[str, ...] | None
    """The kinds of part that there are here, as they are written."""

    def problem(self) -> str:
        source = f" from {quote(self.media_type)}" if self.media_type else ""
        return f"no part {quote(self.selector)} can be cut{source}"

    def repair(self) -> str:
        if self.install:
            return f"install {self.install}"
        if self.offered:
            return f"it has parts of the kinds {', '.join(self.offered)}"
        return "ask for the whole document"


class Undecodable(PerdureError, ValueError):
    """The bytes are not what their media type says, or are damaged."""

    code = "undecodable"
    fields = ("identifier", "media_type", "reason")
    identifier: str
    media_type: str
    reason: str

    def problem(self) -> str:
        return (
            f"{quote(self.identifier)} cannot be read as {quote(self.media_type)}: "
            f"{quote(self.reason)}"
        )

    def repair(self) -> str:
        return "ask for the whole document, or for a part in octets"


class OverBudget(PerdureError):
    """It would take more time or memory than one request is given."""

    code = "over-budget"
    fields = ("what", "limit")
    what: str
    limit: str

    def problem(self) -> str:
        return f"{self.what} takes more than {self.limit}"

    def repair(self) -> str:
        return "ask for less, or take the whole to a program that has no such bound"


# try again
# ---------


class Unavailable(PerdureError):
    """Known, but it cannot be done or fetched now."""

    code = "unavailable"
    fields: ClassVar[tuple[str, ...]] = ("what", "reason", "mend")
    what: str
    reason: str
    mend: str | None = None
    """What makes it available again; None where it is enough to wait."""

    def problem(self) -> str:
        return f"{self.what} is not available now: {self.reason}"

    def repair(self) -> str:
        return self.mend or "try again later"


class StorageFailed(Unavailable):
    """The disk is full or failing: what was not acknowledged is not kept."""

    code = "storage-failed"
    fields = ("what", "reason")

    def problem(self) -> str:
        return f"{self.what} could not be made durable: {self.reason}"

    def repair(self) -> str:
        return (
            "free space, and writing goes on, or replace a failing disk and restart the writer; "
            "nothing acknowledged is lost"
        )


# ask for the right to, or resolve the conflict
# ---------------------------------------------


class Unauthenticated(PerdureError, PermissionError):
    """No credential, or one that is unknown, expired or revoked."""

    code = "unauthenticated"
    fields = ("reason",)
    reason: str

    def problem(self) -> str:
        return f"not authenticated: {self.reason}"

    def repair(self) -> str:
        return "send 'Authorization: Bearer TOKEN' with a token made by 'perdure token create'"


class Forbidden(PerdureError, PermissionError):
    """The caller is known and may not do this."""

    code = "forbidden"
    fields: ClassVar[tuple[str, ...]] = ("who", "needed")
    who: str
    needed: str

    def problem(self) -> str:
        return f"{quote(self.who)} may not do this"

    def repair(self) -> str:
        return f"what it takes: {self.needed}"


class ArchiveClosed(Forbidden):
    """The web archive is known, and only readable on its own premises."""

    code = "archive-closed"
    fields = ("archive",)
    archive: str

    def problem(self) -> str:
        return f"closed but known: the web archive {quote(self.archive)} cannot be read from here"

    def repair(self) -> str:
        return "ask that archive for access to its reading room"


class Conflict(PerdureError):
    """What is asked contradicts what was promised earlier, or what another writer did meanwhile."""

    code = "conflict"
    fields = ("identifier", "reason", "current")
    identifier: str
    reason: str
    current: str | None

    def problem(self) -> str:
        return f"conflict on {quote(self.identifier)}: {self.reason}"

    def repair(self) -> str:
        return f"current state: {self.current}" if self.current else ""


class PreconditionFailed(Conflict):
    """`If-Match` names a state that is no longer the current one."""

    code = "precondition-failed"


# the bytes are wrong
# -------------------


class DigestMismatch(PerdureError, ValueError):
    """The bytes received are not those that the sender's digest promises."""

    code = "digest-mismatch"
    fields = ("algorithm", "promised", "found")
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
    fields = ("expected", "received")
    expected: int
    received: int

    def problem(self) -> str:
        return f"upload ended after {self.received} of {self.expected} bytes"

    def repair(self) -> str:
        return "nothing was stored; send it again"


class TooLarge(PerdureError, ValueError):
    """More than a limit allows."""

    code = "too-large"
    fields = ("what", "limit")
    what: str
    limit: int

    def problem(self) -> str:
        return f"{self.what} is larger than the limit of {self.limit}"


class Corrupt(PerdureError):
    """Stored bytes no longer have the digest that was promised: raise the alarm."""

    code = "corrupt"
    fields = ("identifier", "where", "promised", "found")
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
