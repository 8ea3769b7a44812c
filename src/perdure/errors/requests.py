"""Errors about requests in general: choices, numbers, cursors, questions, fields and bodies."""

from __future__ import annotations

from perdure.errors.invalid import ContentNotSupported, InvalidRequest, UnknownChoice
from perdure.errors.root import FaultQuoted, count_things, quote

_MANUAL = "docs/reference/http.md"


class UnknownQuestion(UnknownChoice):
    """The query of the address asks an unknown question."""

    kind = "question"
    rule = _MANUAL


class UnknownLevel(UnknownChoice):
    """The query of the address asks for the description of an unknown level."""

    kind = "level"
    rule = "docs/reference/metadata.md"


class TooManyParameters(InvalidRequest):
    """A query has too many parameters, or too many with the same name."""

    what: str
    most: int

    @property
    def reason(self) -> str:
        return f"at most {self.most} are allowed"


class UnknownPreview(UnknownChoice):
    """The query of the address asks for an unknown preview."""

    kind = "preview"
    rule = "docs/reference/landing-pages.md"


class UnknownEmbedFormat(UnknownChoice):
    """An oEmbed client asks for another format than JSON or XML."""

    code = "format-not-implemented"
    kind = "format"
    rule = "oEmbed 1.0, section 2.3"


class MalformedPlace(UnknownChoice):
    """The query of the address points at a place that has the wrong form."""

    kind = "place"
    rule = "docs/reference/landing-pages.md"


class RepeatedParameter(InvalidRequest):
    """A query gives different values for a parameter that has one value."""

    parameter: str
    values: tuple[str, ...]
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"parameter {quote(self.parameter)}"

    @property
    def reason(self) -> str:
        shown = " and ".join(quote(one) for one in self.values[:2])
        return f"it has several values, {shown}; give it once"


class SeveralQuestions(InvalidRequest):
    """A query asks several questions that have different answers."""

    questions: tuple[str, ...]
    reason = "each question has an answer of its own; ask one of them"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"query with {' and '.join(self.questions)}"


class UnknownService(UnknownChoice):
    """RFC 2483 does not define this resolution service."""

    kind = "service"
    rule = "RFC 2169 section 3, RFC 2483 section 4"


class MissingOperand(InvalidRequest):
    """A request to a resolution service names no URI."""

    service: str
    reason = "the request names no URI"
    rule = "RFC 2169 section 2: GET /uri-res/<service>?<uri>"

    @property
    def what(self) -> str:
        return f"service {quote(self.service)}"


class TwoOperandsNeeded(InvalidRequest):
    """A comparison of two URIs names fewer than two."""

    what = "service 'I=I'"
    reason = "it needs two URIs, separated by %20"
    rule = "RFC 2483 section 4.9"


class MissingParameter(InvalidRequest):
    """A required query parameter is missing."""

    request: str
    parameter: str
    manual: str | None = None
    """The page that describes the request."""

    @property
    def what(self) -> str:
        return self.request

    @property
    def rule(self) -> str | None:
        return self.manual

    @property
    def reason(self) -> str:
        return f"the parameter {self.parameter}= is required"


class AuthorityNeeded(InvalidRequest):
    """A minting request names no authority, and the registry has several authorities or none."""

    known: tuple[str, ...]
    what = "minting without an authority"

    @property
    def reason(self) -> str:
        if not self.known:
            return "this registry has no series yet; add one with 'perdure init --series NAME'"
        return f"this registry has several; name one of {', '.join(self.known)}"


class MissingUri(InvalidRequest):
    """The path of a TimeGate or TimeMap request has no URI."""

    what = "request"
    reason = "add the original URI to the path"
    rule = "RFC 7089"


class MalformedNumber(InvalidRequest):
    """A parameter is not a number, or is out of range."""

    parameter: str
    text: str
    low: int = 0
    high: int | None = None
    manual: str | None = None
    """The page that describes the parameter."""

    @property
    def what(self) -> str:
        return f"{self.parameter} {quote(self.text)}"

    @property
    def rule(self) -> str | None:
        return self.manual

    @property
    def reason(self) -> str:
        if self.high is not None:
            return f"it must be a number from {self.low} to {self.high}"
        return "it must be a positive number" if self.low else "it must be a number"


class EmptyPart(InvalidRequest):
    """The value of `?part=` is empty."""

    question: str
    reason = "an empty part is ambiguous; name a part, or remove the question to get the document"
    rule = "docs/reference/parts.md"

    @property
    def what(self) -> str:
        return f"question {quote('?' + self.question)}"


class ForeignCursor(InvalidRequest):
    """The cursor belongs to another list."""

    cursor: str
    reason = "it does not belong to this list; use the cursor given in the previous page"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"cursor {quote(self.cursor)}"


class ListNotPaged(InvalidRequest):
    """A request gives a cursor for a list that has only one page."""

    cursor: str
    reason = "this list has only one page; remove the cursor"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"cursor {quote(self.cursor)}"


class FormNotMultipart(InvalidRequest):
    """A form with files has another media type than `multipart/form-data`."""

    kind: str
    reason = "files are sent as multipart/form-data, with a boundary of at most 70 characters"
    rule = "RFC 7578"

    @property
    def what(self) -> str:
        return f"the form of type {quote(self.kind)}"


class FormFieldMalformed(InvalidRequest):
    """A field of a form of ours has a value that the page does not offer."""

    field: str
    value: str
    reason = "the page of the form does not offer it; load the page again"

    @property
    def what(self) -> str:
        return f"{quote(self.value)} as the field {quote(self.field)}"


class CursorNotNumber(InvalidRequest):
    """The cursor of a collection is not the number of a member."""

    cursor: str
    reason = "it must be the number of a member"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"cursor {quote(self.cursor)}"


class PageBeyondEnd(InvalidRequest):
    """The page number is higher than the number of pages."""

    page: int
    pages: int

    @property
    def what(self) -> str:
        return f"page {self.page}"

    @property
    def reason(self) -> str:
        return f"the last page is {self.pages}"


class MalformedBody(FaultQuoted, InvalidRequest):
    """The body of a request does not have the documented form; `fault` quotes the decoder."""

    body: str = "the body"
    manual: str | None = None
    """The page that describes the form."""

    @property
    def what(self) -> str:
        return self.body

    @property
    def rule(self) -> str | None:
        return self.manual


class OperationNotBatched(InvalidRequest):
    """A line of a batch is not an operation that a batch can contain."""

    method: str
    target: str
    reason = "a batch contains POST to an identifier, and PUT and DELETE of a handle"
    rule = "docs/reference/http.md"

    @property
    def what(self) -> str:
        return f"{quote(self.method)} {quote(self.target)}"


class FieldNotForBatch(InvalidRequest):
    """A header field would apply to a complete batch, whose operations succeed or fail alone."""

    field: str
    reason = "each operation of a batch states it in its own line"
    rule = "docs/reference/http.md"

    @property
    def what(self) -> str:
        return f"the field {self.field}"


class OtherHandleSent(InvalidRequest):
    """The body is the record of another handle than the one in the URL."""

    handle: str
    sent: str
    rule = "docs/reference/handle-api.md"

    @property
    def what(self) -> str:
        return f"the record of {quote(self.sent)}"

    @property
    def reason(self) -> str:
        return (
            f"the URL names {quote(self.handle)}; send it there, or remove 'handle' from the body"
        )


class MalformedDate(InvalidRequest):
    """A header field is not a valid HTTP date."""

    field: str
    text: str
    reason = "it must be a date such as 'Fri, 22 Jan 2016 11:20:29 GMT'"
    rule = "RFC 7089 section 4.5.3"

    @property
    def what(self) -> str:
        return f"{self.field} {quote(self.text)}"


class MalformedDigestField(FaultQuoted, InvalidRequest):
    """A digest field is not a structured-field dictionary."""

    field: str
    rule = "RFC 9530 section 2"

    @property
    def what(self) -> str:
        return f"{self.field} field"


class DigestNotBytes(InvalidRequest):
    """A member of a digest field is not a byte sequence."""

    field: str
    algorithm: str
    rule = "RFC 9530 section 2"

    @property
    def what(self) -> str:
        return f"{self.field} field"

    @property
    def reason(self) -> str:
        return f"the value of {self.algorithm} must be a byte sequence, written :base64:"


class TrailerNotRead(InvalidRequest):
    """A digest is announced as a trailer."""

    trailer: str
    reason = "trailers are not supported; send this field in the header"
    rule = "RFC 9110 section 6.5.1"

    @property
    def what(self) -> str:
        return f"trailer {self.trailer}"


class BodyEncoded(ContentNotSupported):
    """The body is sent with a content coding."""

    coding: str
    reason = (
        "bodies are read, and bytes are stored, exactly as sent; send it without content coding"
    )
    rule = "RFC 9110 section 15.5.16"

    @property
    def what(self) -> str:
        return f"content-encoding {quote(self.coding)}"


class BytesPartial(InvalidRequest):
    """The bytes are only a range of the document."""

    range: str
    reason = "bytes are stored exactly as sent; send the complete document"
    rule = "RFC 9110 section 14.5"

    @property
    def what(self) -> str:
        return f"content-range {quote(self.range)}"


class MalformedKey(InvalidRequest):
    """The idempotency key is malformed."""

    key: str
    reason = "it must be 1 to 255 printable ASCII characters"

    @property
    def what(self) -> str:
        return f"idempotency key {quote(self.key)}"


class KeyReused(InvalidRequest):
    """The idempotency key was already used for a different request."""

    key: str
    reason = "it was already used for a different request; choose a new key"

    @property
    def what(self) -> str:
        return f"idempotency key {quote(self.key)}"


class MalformedCallback(InvalidRequest):
    """The JSONP callback is not the name of a function."""

    callback: str
    reason = "it must be the name of a JavaScript function"

    @property
    def what(self) -> str:
        return f"callback {quote(self.callback)}"


class CriteriaNeeded(InvalidRequest):
    """A search for handles has no criteria, or too many."""

    most: int
    what = "the search"

    @property
    def reason(self) -> str:
        return f"it needs 1 to {count_things(self.most, 'type')} with values, such as ?URL=*x*"


class PatternTooComplex(InvalidRequest):
    """A search pattern is too long or has too many asterisks."""

    name: str
    longest: int
    stars: int

    @property
    def what(self) -> str:
        return f"the value of {quote(self.name)}"

    @property
    def reason(self) -> str:
        return (
            f"it may have at most {count_things(self.longest, 'character')} and "
            f"{count_things(self.stars, 'asterisk')}"
        )
