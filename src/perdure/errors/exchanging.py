"""Errors about the files of other systems: batch files, tables, dumps, records of metadata."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest, UnknownChoice
from perdure.errors.rights import Conflict, Forbidden
from perdure.errors.root import FaultQuoted, IdentifierQuoted, count_things, quote

_PAGE = "docs/reference/exchange.md"
_APIS = "docs/reference/foreign-apis.md"


class UnusableRecord(InvalidRequest):
    """A record of another system cannot be taken. Abstract: each reason has a class."""

    what = "the record"
    rule = _PAGE


class RecordWithoutName(UnusableRecord):
    """A record has no identifier in any of the fields that can have one."""

    places: tuple[str, ...]
    """The fields that can have one."""

    @property
    def reason(self) -> str:
        return f"it has no identifier; perdure looks for one in {', '.join(self.places)}"


class RecordTooLong(UnusableRecord):
    """A record has no end, or is too long."""

    most: int
    """In characters."""

    @property
    def reason(self) -> str:
        return f"it has more than {count_things(self.most, 'character', grouped=True)}"


class RecordInOtherCharset(UnusableRecord):
    """A record is not in the charset in which the file is read."""

    charset: str

    @property
    def reason(self) -> str:
        return f"it is not in {self.charset}; name the right charset with --charset"


class RecordMalformed(FaultQuoted, UnusableRecord):
    """A record does not follow the grammar of its form; `fault` quotes the parser."""


class QuoteUnclosed(UnusableRecord):
    """A row of a table begins a quoted cell that does not end."""

    reason = 'a cell begins with a quotation mark and does not end; write " as ""'


class RowOverfull(UnusableRecord):
    """A row of a table has more cells than the table has columns."""

    cells: int
    columns: int

    @property
    def reason(self) -> str:
        wide = count_things(self.columns, "column")
        return f"it has {count_things(self.cells, 'cell')} for {wide}"


class BatchLineMalformed(UnusableRecord):
    """A line of a handle batch is neither a value nor an operation."""

    text: str
    expected: str

    @property
    def reason(self) -> str:
        return f"in {quote(self.text)}, perdure expected {self.expected}"


class BatchOperationRefused(UnusableRecord):
    """A handle batch asks for an operation that is not an import."""

    operation: str
    instead: str
    """The command that does it here."""

    @property
    def reason(self) -> str:
        return f"{self.operation} is not an import; {self.instead} does it here"


class BatchFileOutside(UnusableRecord):
    """The file with the data of a value is not below the directory of the batch."""

    path: str
    root: str

    @property
    def reason(self) -> str:
        return f"its file {quote(self.path)} is outside of {quote(self.root)}"


class BatchFileUnreadable(UnusableRecord):
    """The file with the data of a value cannot be read."""

    path: str
    fault: str

    @property
    def reason(self) -> str:
        return f"its file {quote(self.path)} cannot be read: {self.fault}"


class BatchFileTooLong(UnusableRecord):
    """The file with the data of a value is too long."""

    path: str
    most: int
    """In bytes."""

    @property
    def reason(self) -> str:
        return f"its file {quote(self.path)} has more than {count_things(self.most, 'byte')}"


class RecordNotObject(UnusableRecord):
    """A record in JSON is not an object."""

    reason = "it is not a JSON object"


class HandleTtlNotSeconds(UnusableRecord):
    """A value of a handle in JSON has a date as its TTL."""

    index: int

    @property
    def reason(self) -> str:
        return f"the TTL of value {self.index} is a date; write a number of seconds"


class HandleNotAnswered(UnusableRecord):
    """A server answered that it has no such handle, or with another error."""

    handle: str
    answer: int
    """Its `responseCode`."""

    @property
    def reason(self) -> str:
        return f"the server answered {self.answer} for {quote(self.handle)}; only 1 has values"


class AnvlHeadMissing(UnusableRecord):
    """A record in ANVL does not begin with its identifier."""

    reason = "it does not begin with a line ':: IDENTIFIER'"


class AnvlColonMissing(UnusableRecord):
    """A line of ANVL has no colon."""

    text: str

    @property
    def reason(self) -> str:
        return f"the line {quote(self.text)} has no colon"


class AnvlNameMissing(UnusableRecord):
    """A line of ANVL has no name before its colon."""

    text: str

    @property
    def reason(self) -> str:
        return f"the line {quote(self.text)} has no name before its colon"


class AnvlElementTwice(UnusableRecord):
    """A record in ANVL has an element twice."""

    element: str

    @property
    def reason(self) -> str:
        return f"the element {quote(self.element)} occurs twice"


class AnvlNothingContinued(UnusableRecord):
    """A line of ANVL begins with a blank, but no line before it can be continued."""

    reason = "a line begins with a blank, but has no line before it to continue"


class AnvlEscapeIncomplete(UnusableRecord):
    """A per cent sign in ANVL is not followed by two hexadecimal digits."""

    reason = "write a per cent sign as %25, or two hexadecimal digits after it"


class XmlFileMalformed(UnusableRecord):
    """A file is not well-formed XML; the rest of it is not read."""

    line: int
    column: int
    fault: str

    @property
    def reason(self) -> str:
        return f"in line {self.line}, column {self.column}: {self.fault}; the rest is not read"


class XmlFileDeclares(UnusableRecord):
    """A file in XML has a document type declaration; it is not read."""

    line: int

    @property
    def reason(self) -> str:
        return f"line {self.line} has a document type declaration, which perdure does not read"


class PrefixNotShoulder(UnusableRecord):
    """A prefix of N2T is not a shoulder of ARKs."""

    prefix: str

    @property
    def reason(self) -> str:
        return f"{quote(self.prefix)} is not a shoulder of ARKs, such as ark:/12345/x5"


class RedirectNotOpen(UnusableRecord):
    """The redirect of a prefix of N2T does not end with the name."""

    redirect: str

    @property
    def reason(self) -> str:
        return f"its redirect {quote(self.redirect)} does not end with $id, $pid or $arkpid"


class StatusUnknown(UnusableRecord):
    """A record has a status that its system does not have."""

    state: str
    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"its status {quote(self.state)} is not one of {', '.join(self.known)}"


class UnknownExchangeForm(UnknownChoice):
    """No form of files has this name."""

    kind = "form"


class FormNotRecognised(InvalidRequest):
    """The beginning of a file does not say which form it has."""

    path: str
    known: tuple[str, ...]
    rule = _PAGE

    @property
    def what(self) -> str:
        return f"file {quote(self.path)}"

    @property
    def reason(self) -> str:
        return f"its form is not clear; name it with --from: {', '.join(self.known)}"


class FormNotWritten(InvalidRequest):
    """A form can be read, but not written."""

    form: str
    known: tuple[str, ...]
    rule = _PAGE

    @property
    def what(self) -> str:
        return f"export as {self.form}"

    @property
    def reason(self) -> str:
        return f"perdure only reads this form; it writes {', '.join(self.known)}"


class MappingMalformed(InvalidRequest):
    """An entry of a mapping is not a column, an equals sign and a meaning."""

    text: str
    rule = _PAGE

    @property
    def what(self) -> str:
        return f"mapping {quote(self.text)}"

    @property
    def reason(self) -> str:
        return "write COLUMN=MEANING, with commas or line ends between several"


class MappingColumnMissing(InvalidRequest):
    """A mapping names a column that the table does not have."""

    column: str
    columns: tuple[str, ...]
    rule = _PAGE

    @property
    def what(self) -> str:
        return f"mapping of the column {quote(self.column)}"

    @property
    def reason(self) -> str:
        shown = ", ".join(map(quote, self.columns[:20])) or "(none)"
        return f"the table has the columns {shown}{' …' if len(self.columns) > 20 else ''}"


class MeaningMalformed(InvalidRequest):
    """A mapping gives a column a meaning that cannot be the name of a pair."""

    text: str
    rule = _PAGE

    @property
    def what(self) -> str:
        return f"meaning {quote(self.text)} of a column"

    reason = "it is longer than 100 characters, or has characters that no name has"


class CharsetNotDecoded(InvalidRequest):
    """A charset has a name that is not registered, or that perdure cannot decode."""

    charset: str
    rule = _PAGE

    @property
    def what(self) -> str:
        return f"charset {quote(self.charset)}"

    reason = "no text can be read in it; use a name such as utf-8, windows-1252 or cp850"


# interfaces of other systems
# ---------------------------


class ElementReserved(UnusableRecord):
    """A client of EZID sets an element that only the server sets."""

    element: str

    @property
    def reason(self) -> str:
        return f"use of reserved metadata element name {quote(self.element)}"


class OptionUnknown(InvalidRequest):
    """A client of EZID sends a parameter that the request does not have."""

    option: str
    known: tuple[str, ...]
    rule = _APIS

    @property
    def what(self) -> str:
        return f"parameter {quote(self.option)}"

    @property
    def reason(self) -> str:
        return f"this request knows {', '.join(self.known) or 'none'}"


class StatusUnreachable(UnusableRecord):
    """A status cannot follow the present one."""

    before: str
    after: str

    @property
    def reason(self) -> str:
        return f"status {quote(self.after)} cannot follow {quote(self.before)}"


class NameExists(IdentifierQuoted, Conflict):
    """A client of another system's interface creates an identifier that exists."""

    reason = "it exists already"


class NameDeletedNever(IdentifierQuoted, Conflict):
    """A client of another system's interface deletes an identifier."""

    reason = "identifiers are not deleted, unless mutable_prefixes lists their prefix"


class StateIncomplete(UnusableRecord):
    """A registered DOI would lack an address or a member of its description."""

    members: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"to be registered, it needs {', '.join(self.members)}"


class CursorForeign(InvalidRequest):
    """The cursor of a page is not of the list that is asked for."""

    what = "page[cursor]"
    reason = "it is not of this list; take it from links.next"
    rule = _APIS


class EventUnknown(UnknownChoice):
    """A client of DataCite names an event that does not exist."""

    kind = "event"


class PrefixOfOthers(Forbidden):
    """A client of another system's interface creates a name whose prefix is not homed here."""

    who: str = "this registry"
    prefix: str

    @property
    def needed(self) -> str:
        return f"the prefix {quote(self.prefix)} in handle_prefixes"
