"""Errors of requests in general: choices, numbers, cursors, questions, fields and bodies."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest, UnknownChoice
from perdure.errors.root import quote

_MANUAL = "docs/reference/http.md"


class UnknownQuestion(UnknownChoice):
    """The address asks an unknown question."""

    kind = "question"
    rule = _MANUAL


class UnknownService(UnknownChoice):
    """RFC 2483 does not define this resolution service."""

    kind = "service"
    rule = "RFC 2169 section 3, RFC 2483 section 4"


class MissingOperand(InvalidRequest):
    """A resolution service is asked about nothing."""

    service: str
    reason = "the URI it is asked about is missing"
    rule = "RFC 2169 section 2: GET /uri-res/<service>?<uri>"

    @property
    def what(self) -> str:
        return f"service {quote(self.service)}"


class TwoOperandsNeeded(InvalidRequest):
    """The comparison of two URIs got fewer."""

    what = "service 'I=I'"
    reason = "two URIs are needed, with %20 between them"
    rule = "RFC 2483 section 4.9"


class MissingParameter(InvalidRequest):
    """A parameter of the query is needed."""

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
        return f"the parameter {self.parameter}= is needed"


class AuthorityNeeded(InvalidRequest):
    """A name is to be minted, and this registry mints under several authorities, or none."""

    known: tuple[str, ...]
    what = "a name without an authority"

    @property
    def reason(self) -> str:
        if not self.known:
            return "this registry has no series yet; add one with 'perdure init --series NAME'"
        return f"this registry mints under several: {', '.join(self.known)}"


class MissingUri(InvalidRequest):
    """The path of a TimeGate or TimeMap lacks the URI."""

    what = "request"
    reason = "a URI is missing"
    rule = "RFC 7089"


class MalformedNumber(InvalidRequest):
    """A parameter is not a number, or not one within its bounds."""

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
            return f"a number from {self.low} to {self.high} is needed"
        return "a positive number is needed" if self.low else "a number is needed"


class EmptyPart(InvalidRequest):
    """`?part=` says nothing."""

    question: str
    reason = "an empty part is neither a part nor the whole"
    rule = "docs/reference/parts.md"

    @property
    def what(self) -> str:
        return f"question {quote('?' + self.question)}"


class ForeignCursor(InvalidRequest):
    """The cursor does not belong to this list."""

    cursor: str
    reason = "it does not belong to this list; take the one that the page before gives"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"cursor {quote(self.cursor)}"


class ListNotPaged(InvalidRequest):
    """A cursor is given for a list that has one page only."""

    cursor: str
    reason = "this list comes as a whole"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"cursor {quote(self.cursor)}"


class CursorNotNumber(InvalidRequest):
    """The cursor of a collection is not the number of a member."""

    cursor: str
    reason = "the number of a member is needed"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"cursor {quote(self.cursor)}"


class PageBeyondEnd(InvalidRequest):
    """There are fewer pages."""

    page: int
    pages: int

    @property
    def what(self) -> str:
        return f"page {self.page}"

    @property
    def reason(self) -> str:
        return f"there are {self.pages}"


class MalformedBody(InvalidRequest):
    """The body of a request is not of the form that is read; the fault is the decoder's."""

    fault: str
    body: str = "the body"
    manual: str | None = None
    """The page that describes the form."""

    @property
    def what(self) -> str:
        return self.body

    @property
    def reason(self) -> str:
        return self.fault

    @property
    def rule(self) -> str | None:
        return self.manual


class MalformedDate(InvalidRequest):
    """A header field is not a date of _MANUAL."""

    field: str
    text: str
    reason = "a date such as 'Fri, 22 Jan 2016 11:20:29 GMT' is needed"
    rule = "RFC 7089 section 4.5.3"

    @property
    def what(self) -> str:
        return f"{self.field} {quote(self.text)}"


class MalformedDigestField(InvalidRequest):
    """A digest field is not a structured dictionary."""

    field: str
    fault: str
    rule = "RFC 9530 section 2"

    @property
    def what(self) -> str:
        return f"{self.field} field"

    @property
    def reason(self) -> str:
        return self.fault


class DigestNotBytes(InvalidRequest):
    """A member of a digest field has no byte sequence."""

    field: str
    algorithm: str
    rule = "RFC 9530 section 2"

    @property
    def what(self) -> str:
        return f"{self.field} field"

    @property
    def reason(self) -> str:
        return f"{self.algorithm} has no byte sequence; :base64: is needed"


class TrailerNotRead(InvalidRequest):
    """A digest is to follow the body."""

    trailer: str
    reason = "trailers are not read: send it in the header"
    rule = "RFC 9110 section 6.5.1"

    @property
    def what(self) -> str:
        return f"trailer {self.trailer}"


class BytesEncoded(InvalidRequest):
    """The bytes are sent in a coding, or are only a range of the whole."""

    field: str
    text: str
    reason = "bytes are kept exactly as they are sent, and as a whole"
    rule = "ruling bytes-verbatim"

    @property
    def what(self) -> str:
        return f"{self.field} {quote(self.text)}"


class MalformedKey(InvalidRequest):
    """The idempotency key cannot be kept."""

    key: str
    reason = "1 to 255 printable ASCII characters are needed"

    @property
    def what(self) -> str:
        return f"idempotency key {quote(self.key)}"


class KeyReused(InvalidRequest):
    """The idempotency key belongs to an earlier, different request."""

    key: str
    reason = "it was used for another request"

    @property
    def what(self) -> str:
        return f"idempotency key {quote(self.key)}"


class MalformedCallback(InvalidRequest):
    """The callback of JSONP is not the name of a function."""

    callback: str
    reason = "the name of a function of JavaScript is needed"

    @property
    def what(self) -> str:
        return f"callback {quote(self.callback)}"


class CriteriaNeeded(InvalidRequest):
    """A search of handles has no criteria, or too many."""

    most: int
    what = "the search"

    @property
    def reason(self) -> str:
        return f"1 to {self.most} types with their values are needed, such as ?URL=*x*"


class PatternTooComplex(InvalidRequest):
    """A pattern of a search is too long or has too many stars."""

    name: str
    longest: int
    stars: int

    @property
    def what(self) -> str:
        return f"the value of {quote(self.name)}"

    @property
    def reason(self) -> str:
        return f"at most {self.longest} characters, {self.stars} of them *"
