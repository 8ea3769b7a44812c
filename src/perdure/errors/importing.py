"""Errors about importing and exporting records: lines, bulk loads, backups, link checks."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import FaultQuoted, IdentifierQuoted, count_things, quote

_LINES = "docs/reference/jsonl.md"


class UnusableLine(InvalidRequest):
    """A line of an import cannot be used. Abstract: each reason has a class."""

    what = "the line"
    rule = _LINES


class LineMalformed(FaultQuoted, UnusableLine):
    """A line is not JSON of the documented form; `fault` quotes the decoder."""


class LineMemberUnknown(UnusableLine):
    """A description, attachment or value in a line has a member that perdure does not know."""

    member: str
    """Its path, such as `about.title`."""

    @property
    def reason(self) -> str:
        return f"the member {quote(self.member)} is not known"


class LineNotUtf8(UnusableLine):
    """A line is in UTF-16."""

    reason = "it is in UTF-16; convert it to UTF-8"


class LineDateNotCome(UnusableLine):
    """A line has a date in the future."""

    date: str

    @property
    def reason(self) -> str:
        return f"its date, {self.date}, is in the future"


class LineContentUnclear(UnusableLine):
    """A line gives no content, or gives it in more than one way."""

    reason = "its content must have exactly one of path, text and base64"


class LineCorrectionsUnclear(UnusableLine):
    """The corrections of a content do not lead to its type and charset."""

    reason = (
        "each of its corrections must begin with what the one before ended with, and the last must "
        "end with its type, charset and language"
    )


class LinePathOutside(UnusableLine):
    """The path in a line points outside the directory of files."""

    path: str
    root: str

    @property
    def reason(self) -> str:
        return f"path {quote(self.path)} points outside {quote(self.root)}"


class LinePathUnreadable(UnusableLine):
    """The file named in a line cannot be read."""

    path: str
    fault: str

    @property
    def reason(self) -> str:
        return f"cannot read path {quote(self.path)}: {self.fault}"


class LineTextUnwritable(UnusableLine):
    """The text of a line cannot be encoded in its charset."""

    charset: str
    fault: str

    @property
    def reason(self) -> str:
        return f"cannot encode the text in charset {quote(self.charset)}: {self.fault}"


class LineLocationMalformed(FaultQuoted, InvalidRequest):
    """The location in a line does not have the documented form; `fault` quotes the decoder."""

    what = "the location"
    rule = _LINES


class TableWithoutIds(InvalidRequest):
    """No column of a table has a name that says that it contains identifiers."""

    columns: tuple[str, ...]
    known: tuple[str, ...]

    @property
    def what(self) -> str:
        return f"table with the columns {', '.join(map(quote, self.columns)) or '(none)'}"

    @property
    def reason(self) -> str:
        return (
            f"one of them must be called {', '.join(self.known)}; "
            "say what your columns mean with --map, or give the names with --columns if the first "
            "row has none"
        )


class BytesTooManyForLine(IdentifierQuoted, InvalidRequest):
    """A representation is too long for one line of an export."""

    length: int

    @property
    def reason(self) -> str:
        return (
            f"it has {count_things(self.length, 'byte')}, which are too many for one line; "
            "export with --files"
        )


# bulk loads


# ----------


class RowsUnordered(InvalidRequest):
    """The rows of a bulk load are not sorted by key."""

    what = "a bulk load"
    reason = "its rows must be sorted by key, and each key may occur only once"


class LoadUnreadable(FaultQuoted, InvalidRequest):
    """The file of a bulk load is unreadable or damaged."""

    what = "a bulk load"


# backups


# -------


class UnusableTarget(InvalidRequest):
    """A directory cannot be used for a backup. Abstract: each reason has a class."""

    target: str

    @property
    def what(self) -> str:
        return quote(self.target)


class TargetInRegistry(UnusableTarget):
    """The backup directory is inside the registry."""

    reason = "it is inside the registry; back up to another directory"


class TargetNotBackup(UnusableTarget):
    """The directory contains other files."""

    reason = "it is neither empty nor an earlier backup; choose an empty directory"


class TargetOfOtherRegistry(UnusableTarget):
    """The directory holds changes that this registry does not have."""

    reason = (
        "it holds changes that this registry does not have: it is a copy that was written to, "
        "a backup from before a restore, or another registry; back up to another directory"
    )


class TargetIsRegistry(UnusableTarget):
    """The directory is a registry of its own, and a backup would make it a copy."""

    reason = "it is a registry, and no backup; back up to another directory"


class DirectoryObstructed(InvalidRequest):
    """A path cannot be a directory, because a file or a dangling link is in its way."""

    directory: str
    obstacle: str
    """The path that is in the way: `directory` itself, or a directory above or in it."""
    target: str | None = None
    """The target of the obstacle, if it is a symbolic link that leads to nothing."""
    fault: str | None = None
    """The words of the system if it cannot follow the obstacle."""

    @property
    def what(self) -> str:
        return quote(self.directory)

    @property
    def reason(self) -> str:
        if self.target is not None:
            why = f"is a symbolic link to {quote(self.target)}, which does not exist"
        elif self.fault is not None:
            why = f"cannot be followed ({self.fault})"
        else:
            why = "is not a directory"
        return f"{quote(self.obstacle)} {why}; remove it, or name another directory"


# promotions
# ----------


class NothingToPromote(InvalidRequest):
    """The directory is the registry itself, as far as perdure can see."""

    what = "the promotion"
    reason = (
        "this directory is the registry itself, so nothing takes over; if the machine was restored "
        "from a snapshot or an image, which cannot be seen from here, add --snapshot"
    )


class PredecessorUnrelated(InvalidRequest):
    """The predecessor does not have the last change of the copy."""

    what = "the promotion"
    predecessor: str
    mark: str
    """The last change of the copy."""

    @property
    def reason(self) -> str:
        return (
            f"{quote(self.predecessor)} does not have change {self.mark} of this copy, so it is "
            "not the registry of which this is a copy; name that one, or none"
        )


class PredecessorUnreadable(FaultQuoted, InvalidRequest):
    """The changes of the predecessor cannot be read."""

    what = "the promotion"
    predecessor: str

    @property
    def reason(self) -> str:
        return (
            f"the changes of {quote(self.predecessor)} cannot be read: {self.fault}; "
            "mend that, or promote without --predecessor"
        )


# link checks
# -----------


class SchemeUnordered(InvalidRequest):
    """The identifiers of a scheme cannot be selected by prefix."""

    text: str
    reason = "identifiers of its scheme are not sorted by text, so no prefix can select them"

    @property
    def what(self) -> str:
        return quote(self.text)
