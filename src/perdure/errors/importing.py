"""Errors of records on their way in and out: lines, bulk loads, backups, link checks."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import quote

_LINES = "docs/reference/jsonl.md"


class UnusableLine(InvalidRequest):
    """A line of an import cannot be used. Abstract: each reason has a class."""

    what = "the line"
    rule = _LINES


class LineMalformed(UnusableLine):
    """A line is not JSON of the documented form; the fault is in the words of the decoder."""

    fault: str

    @property
    def reason(self) -> str:
        return self.fault


class LineNotUtf8(UnusableLine):
    """A line is in UTF-16."""

    reason = "it is not in UTF-8, but in UTF-16"


class LineDateNotCome(UnusableLine):
    """A line has a date to come."""

    date: str

    @property
    def reason(self) -> str:
        return f"{self.date} has not come yet"


class LineContentUnclear(UnusableLine):
    """The content of a line is given in no way, or in several."""

    reason = "content needs one of path, text and base64"


class LinePathOutside(UnusableLine):
    """The path of a line leads out of the directory of files."""

    path: str
    root: str

    @property
    def reason(self) -> str:
        return f"path {quote(self.path)} leads out of {quote(self.root)}"


class LinePathUnreadable(UnusableLine):
    """The file of a line cannot be read."""

    path: str
    fault: str

    @property
    def reason(self) -> str:
        return f"path {quote(self.path)}: {self.fault}"


class LineTextUnwritable(UnusableLine):
    """The text of a line cannot be written in its charset."""

    charset: str
    fault: str

    @property
    def reason(self) -> str:
        return f"text in charset {quote(self.charset)}: {self.fault}"


class LineLocationMalformed(InvalidRequest):
    """The location of a line is not of the form that is read; the fault is the decoder's."""

    fault: str
    what = "the location"
    rule = _LINES

    @property
    def reason(self) -> str:
        return self.fault


class BytesTooManyForLine(InvalidRequest):
    """The bytes of a representation do not fit in a line of an export."""

    identifier: str
    length: int

    @property
    def what(self) -> str:
        return quote(self.identifier)

    @property
    def reason(self) -> str:
        return f"its {self.length} bytes are too many for a line; export them with --files"


# bulk loads
# ----------


class RowsUnordered(InvalidRequest):
    """The rows of a bulk load are not in the order of keys."""

    what = "a bulk load"
    reason = "rows come in the order of keys, each key once"


class LoadUnreadable(InvalidRequest):
    """The file of a bulk load cannot be read, or is damaged."""

    fault: str
    what = "a bulk load"

    @property
    def reason(self) -> str:
        return self.fault


# backups
# -------


class UnusableTarget(InvalidRequest):
    """A directory cannot take a backup. Abstract: each reason has a class."""

    target: str

    @property
    def what(self) -> str:
        return quote(self.target)


class TargetInRegistry(UnusableTarget):
    """The backup is to lie in the registry."""

    reason = "it lies in the registry itself"


class TargetNotBackup(UnusableTarget):
    """The directory has other files in it."""

    reason = "it is neither empty nor an earlier backup"


class TargetOfOtherRegistry(UnusableTarget):
    """The directory has the backup of another registry, or of another course of this one."""

    reason = (
        "it holds another registry, or this one as it was before it was restored: "
        "back up to another directory"
    )


# link checks
# -----------


class SchemeUnordered(InvalidRequest):
    """The identifiers of a scheme cannot be chosen by their beginning."""

    text: str
    reason = "identifiers of its scheme are not kept in the order of their texts"

    @property
    def what(self) -> str:
        return quote(self.text)
