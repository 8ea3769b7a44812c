"""Errors about limits: what a request may cost, and how large data may be.

How it works: each thing that is limited has a class. A limit is a number, `most` or `limit`, in the
unit of its class. `subject` names the thing, with fields of the class in braces.
"""

from __future__ import annotations

from typing import ClassVar

from perdure.errors.parts import OverBudget
from perdure.errors.root import PerdureError, count_things, count_units, quote
from perdure.errors.stored import TooLarge


class LimitCounted(PerdureError):
    """A number is limited. It has no code: a class gives it one."""

    subject: ClassVar[str]
    unit: ClassVar[str]
    most: int

    @property
    def what(self) -> str:
        return self.subject.format_map(self.field_values())

    @property
    def limit(self) -> str:
        return count_units(self.most, self.unit)


# parts of a document
# -------------------


class OuterPartTooLong(LimitCounted, OverBudget):
    """A part in which another part is looked for is too long."""

    subject = "a part of {outer}"
    unit = "bytes"
    outer: str


class ComparisonTooLong(LimitCounted, OverBudget):
    """A side of a citation is too long to be compared."""

    subject = "the comparison of {source}"
    unit = "bytes"
    source: str


class MovieHeaderTooLong(LimitCounted, OverBudget):
    """The table of contents of a film is too long."""

    subject = "the table of contents of {source}"
    unit = "bytes"
    source: str


class TracksTooMany(LimitCounted, OverBudget):
    """A film has too many tracks."""

    subject = "{source}"
    unit = "tracks"
    source: str


class EditsTooMany(LimitCounted, OverBudget):
    """A track of a film has too many edits."""

    subject = "{source}"
    unit = "edits"
    source: str


class FrameTooLarge(LimitCounted, OverBudget):
    """A frame of a film has too many pixels."""

    subject = "a frame of {source}"
    unit = "pixels"
    source: str


class PiecesTooMany(LimitCounted, OverBudget):
    """A part of a film is in too many pieces."""

    subject = "this part of {source}"
    unit = "pieces"
    source: str


class FramesTooMany(LimitCounted, OverBudget):
    """A part of a film has too many frames."""

    subject = "this part"
    unit = "frames"


class CollectionTooLong(LimitCounted, OverBudget):
    """A document is too long for its members to be looked up."""

    subject = "reading {source}"
    unit = "bytes"
    source: str


class MemoryExceeded(LimitCounted, OverBudget):
    """A decoder needs more memory than one request may use."""

    subject = "this part of {source}"
    unit = "bytes of memory"
    source: str


class TimeExceeded(LimitCounted, OverBudget):
    """A decoder needs more time than one request may use."""

    subject = "this part of {source}"
    unit = "seconds"
    source: str


class RowTooLong(LimitCounted, OverBudget):
    """A row of a table is too long."""

    subject = "row {row}"
    unit = "bytes"
    row: int


class ShiftedRunTooLong(LimitCounted, OverBudget):
    """A text has too many bytes between two shifts of its character set."""

    subject = "a run of shifted characters"
    unit = "bytes"


class SamplesTooLarge(LimitCounted, OverBudget):
    """The pixels of a part need too much memory."""

    subject = "{pixels} pixels of {source}"
    unit = "bytes"
    source: str
    pixels: int


class PixelsTooMany(LimitCounted, OverBudget):
    """Too many pixels would have to be decoded for a part."""

    subject = "decoding {pixels} pixels of {source}"
    unit = "pixels"
    source: str
    pixels: int


class MemoryUsedUp(OverBudget):
    """A decoding library finds no more memory."""

    source: str
    part: str = ""
    """The part that is made; empty if the whole document is decoded."""
    limit = "the memory of one request"

    @property
    def what(self) -> str:
        return f"{self.part} of {self.source}" if self.part else f"decoding {self.source}"


class NestingUnsupported(OverBudget):
    """The objects of a document are nested too deeply for the library that reads them."""

    source: str
    limit = "the supported depth of nesting"

    @property
    def what(self) -> str:
        return self.source


class IndexTooLarge(OverBudget):
    """An index of a document would take too much of the free disk space."""

    source: str
    size: int
    """Bytes of the index."""
    share: int
    """The index may take this fraction of the free space: 1/share."""

    @property
    def what(self) -> str:
        return f"an index of {count_things(self.size, 'byte')} for {self.source}"

    @property
    def limit(self) -> str:
        return f"1/{self.share} of the free disk space"


class TreeTooLong(LimitCounted, OverBudget):
    """A document is too long to be parsed as a tree."""

    subject = "the tree of {source}"
    unit = "bytes"
    source: str


class DifferencesTooMany(LimitCounted, OverBudget):
    """Too many lines of two versions differ."""

    subject = "the comparison of two versions of {source}"
    unit = "lines that differ"
    source: str


class NodesTooMany(LimitCounted, OverBudget):
    """The tree of a document has too many nodes."""

    subject = "the tree of {source}"
    unit = "elements and texts"
    source: str


class NestingTooDeep(LimitCounted, OverBudget):
    """The elements of a document are nested too deeply."""

    subject = "nesting in {source}"
    unit = "levels"
    source: str


class DocumentTooLongForXPath(LimitCounted, OverBudget):
    """A document is too long for XPath."""

    subject = "XPath over {source}"
    unit = "bytes"
    source: str


class SelectorTooLong(LimitCounted, OverBudget):
    """A CSS selector is too long."""

    subject = "a selector of {length} characters"
    unit = "characters"
    length: int


class SelectorTooComplex(LimitCounted, OverBudget):
    """A CSS selector combines too many conditions."""

    subject = "the selector"
    unit = "combinators and functions"
    selector: str

    @property
    def what(self) -> str:
        return f"{self.subject} {quote(self.selector)}"


class ExpressionTooLong(LimitCounted, OverBudget):
    """An XPath expression is too long."""

    subject = "an expression of {length} characters"
    unit = "characters"
    length: int


class ExpressionTooSlow(LimitCounted, OverBudget):
    """An XPath expression searches the document too often."""

    subject = "the expression"
    unit = "searches through the document"
    expression: str

    @property
    def what(self) -> str:
        return f"{self.subject} {quote(self.expression)}"


class ExpressionsTooCostly(LimitCounted, OverBudget):
    """The expressions of templates, or of NAPTR records, take too many steps for a text."""

    unit = "steps"
    text: str

    @property
    def what(self) -> str:
        return f"matching {quote(self.text)} with regular expressions"

    def repair(self) -> str:
        return (
            "ask for a shorter name or part, or let the author of the expressions write fewer and "
            "simpler ones; see docs/reference/templates.md"
        )


class TagsTooMany(LimitCounted, OverBudget):
    """A document has too many tags."""

    subject = "finding the tags of {source}"
    unit = "tags"
    source: str


class TagsTooManyForNames(LimitCounted, OverBudget):
    """A document has too many tags for elements to be found by name."""

    subject = "finding names among the tags of {source}"
    unit = "tags"
    source: str


class PlainTextTooLong(LimitCounted, OverBudget):
    """A document is too long for its plain text to be made."""

    subject = "the text content of {source}"
    unit = "bytes"
    source: str


class PackageTooLong(LimitCounted, OverBudget):
    """The members of a package are too long when they are decompressed."""

    subject = "the text of {source}"
    unit = "decompressed bytes"
    source: str


class EmbeddedFileTooLong(LimitCounted, OverBudget):
    """A file inside a PDF is too long."""

    subject = "{selector} of {source}"
    unit = "bytes"
    source: str
    selector: str


# web archives
# ------------


class HttpHeadTooLong(LimitCounted, OverBudget):
    """The head of an archived HTTP message is too long."""

    subject = "the head of the HTTP message in {record}"
    unit = "bytes"
    record: str


class PayloadTooLong(LimitCounted, OverBudget):
    """The payload of an archived record grows too much when it is decompressed."""

    subject = "the payload of {record}"
    unit = "bytes"
    record: str


class RevisitsTooMany(LimitCounted, OverBudget):
    """A query finds too many revisits whose originals it does not find itself."""

    subject = "this query"
    unit = "revisits whose originals must be searched for"


class CapturesTooMany(LimitCounted, OverBudget):
    """A query reads too many captures."""

    subject = "this query"
    unit = "captures read"


class StretchTooLong(LimitCounted, OverBudget):
    """A stretch of a remote index is too long."""

    subject = "a stretch of a remote index"
    unit = "lines"


class SecondTooFull(LimitCounted, OverBudget):
    """A URL has too many captures in one second."""

    subject = "one second of one URL"
    unit = "captures"


class AnswerTooLong(LimitCounted, OverBudget):
    """The answer of another server is too long."""

    subject = "the answer from {url}"
    unit = "bytes"
    url: str


# data that is sent
# -----------------


class MetadataTooLarge(TooLarge):
    """A metadata record is too long."""

    format: str

    @property
    def what(self) -> str:
        return f"the {self.format} record"


class UploadTooLarge(TooLarge):
    """An upload is too long."""

    what = "the upload"


class BodyTooLarge(TooLarge):
    """The body of a request is too long."""

    what = "the body"


class OperationsTooMany(TooLarge):
    """A batch has too many operations."""

    what = "the number of operations in one request"
    unit = "operations"


class FilesTooMany(TooLarge):
    """A form has too many files."""

    what = "the number of files in one form"
    unit = "files"


class DraftsTooMany(TooLarge):
    """A token has too many deposits under way."""

    what = "the number of deposits under way"
    unit = "deposits"


class DraftsTooLarge(TooLarge):
    """The deposits of a token that are under way would have too many bytes together."""

    what = "the deposits under way together"
    unit = "bytes"


class SecretsTooMany(TooLarge):
    """A request seals too many secrets."""

    what = "the number of secrets in one request"
    unit = "secrets"


class ValuesTooMany(TooLarge):
    """A handle would have too many values."""

    what = "the number of values"
    unit = "values"


class ValuesTooLong(TooLarge):
    """The values of a handle are too long together."""

    what = "the record"
    unit = "characters"


class ContentTooLarge(TooLarge):
    """A program gives too much content at once."""

    what = "content in memory"


class LineTooLong(TooLarge):
    """A line of an import is too long."""

    what = "a line"


class CommandTooLarge(TooLarge):
    """A command to the writer is too long."""

    what = "the command"
