"""The head of an HTTP/1.1 request as text: its request line, its fields, and reasons to refuse it.

How it works: `REQUEST_LINE` is RFC 9112 section 3, as far as perdure accepts it. A head that it
matches needs no further check. If it does not match, `explain_refusal` splits the line again,
slowly, to find the fault. All functions are pure; `perdure.server.protocol.http` acts on their
results.

What must stay true: nothing here decides how a message is framed, which is the parser's task; a
`Refusal` quotes nothing from the request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus

import msgspec

Headers = list[tuple[bytes, bytes]]
"""Field names in lower case, values without the white space around them, in the order received."""

LONGEST_TARGET = 16 * 1024  # bytes; twice the longest identifier, because escapes take space
LONGEST_HEAD = 64 * 1024  # bytes, request line included

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"  # RFC 9110 section 5.6.2
# RFC 9112 section 3: request-line = method SP request-target SP HTTP-version. The target is any
# visible ASCII: wider than RFC 3986, since an identifier may contain a raw `#`. CONNECT is excluded
# because it is the only method that changes how the parser continues.
_IN_TARGET = bytes(one if 0x21 <= one < 0x7F else 0 for one in range(256))
"""A table of translation that changes every byte that a target must not contain."""
REQUEST_LINE = re.compile(
    rb"(?!CONNECT )(%s{1,32}) ([!-~]{1,%d}) HTTP/1\.([01])\r\n" % (_TOKEN, LONGEST_TARGET)
)
"""Groups: method, target, the 0 or 1 after `HTTP/1.`."""

# RFC 9112 section 3.2: Host = uri-host [ ":" port ], by the grammar of RFC 3986 section 3.2. A
# target without an authority has an empty Host. For an address in brackets, only the characters are
# checked, not their order: nothing is looked up by it.
_REG_NAME = rb"(?:[0-9A-Za-z\-._~!$&'()*+,;=]++|%[0-9A-Fa-f]{2})*"
_IP_LITERAL = rb"\[(?:[0-9A-Fa-f:.]+|[Vv][0-9A-Fa-f]+\.[0-9A-Za-z\-._~!$&'()*+,;=:]+)\]"
HOST = re.compile(rb"(?:%s|%s)(?::[0-9]*)?" % (_IP_LITERAL, _REG_NAME))
HOST_FIELD = re.compile(rb"\r\nhost:[ \t]*+(?:%s)[ \t]*+\r\n" % HOST.pattern, re.IGNORECASE)

EMPTY_LINES = re.compile(rb"\A(?:\r\n)+")
"""Old clients send these after a body; skipped before a request line (RFC 9112 section 2.2)."""

_METHOD = re.compile(_TOKEN + rb"+")
_VERSION = re.compile(rb"HTTP/\d\.\d")
_NOT_IN_A_LINE = re.compile(rb"[^\r -~]|\r(?=.)", re.DOTALL)
_LONGEST_LINE = LONGEST_TARGET + 48  # method, version and the spaces between them


REFUSALS = {
    400: ("malformed-request", "The message does not follow the specification of HTTP/1.1."),
    405: ("method-not-allowed", "The Allow field lists the methods that are supported."),
    408: ("request-timeout", "The header did not arrive within the time limit."),
    414: ("target-too-long", "The request target is longer than any identifier may be."),
    429: (
        "too-many-requests",
        "The client has used its share; Retry-After says how long to wait.",
    ),
    431: ("header-too-long", "The header or the trailer is longer than the server reads."),
    501: ("not-implemented", "The message needs a coding or a method that is not supported."),
    505: ("unsupported-version", "The server speaks only HTTP/1.1 and HTTP/1.0."),
}
"""By status: the code of a refusal, and its explanation."""


class Refusal(msgspec.Struct, frozen=True):
    """The reason why a message did not reach the application; `status` is one of `REFUSALS`."""

    status: int
    detail: str
    fields: tuple[tuple[bytes, bytes], ...] = ()
    """Header fields of the answer, besides those of every answer."""

    def write_response(self, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Write the complete answer: a problem document (RFC 9457). Then the connection closes."""
        code, _ = REFUSALS[self.status]
        document = {
            "type": f"/problems/{code}",
            "title": make_title(code),
            "status": self.status,
            "detail": self.detail,
            "code": code,
        }
        body = msgspec.json.encode(document)
        phrase = HTTPStatus(self.status).phrase.encode()
        head = [b"HTTP/1.1 %d %s\r\n" % (self.status, phrase)]
        head += [b"%s: %s\r\n" % field for field in (*fields, *self.fields)]
        if self.status == HTTPStatus.METHOD_NOT_ALLOWED:
            # RFC 9110 section 10.2.1: an empty Allow says that no method is allowed
            head.append(b"allow: \r\n")
        head.append(b"content-type: application/problem+json\r\ncontent-length: %d\r\n" % len(body))
        return b"".join([*head, b"connection: close\r\n\r\n", body])


BAD_HOST = Refusal(400, "the Host field is not a host with an optional port (RFC 9112 section 3.2)")


def make_title(code: str) -> str:
    """Return the title of a problem, the same for all with this code."""
    return code.replace("-", " ").capitalize()


def explain_refusal(head: bytes) -> Refusal:
    """Explain why a head is refused: `REQUEST_LINE` does not match it, or it is too long.

    >>> explain_refusal(b"GET  / HTTP/1.1\\r\\n\\r\\n").detail
    'the request line is not METHOD SP target SP HTTP/1.1'
    >>> explain_refusal(b"PRI * HTTP/2.0\\r\\n\\r\\n").status
    505
    """
    line = head.partition(b"\r\n")[0]
    odd = _NOT_IN_A_LINE.search(line + b" ")
    if odd:
        at = odd.start()
        return Refusal(400, f"the request line has a byte that is not visible ASCII at {at}")
    words = line.split(b" ")
    if len(words) != 3 or not all(words):
        return Refusal(400, "the request line is not METHOD SP target SP HTTP/1.1")
    method, target, version = words
    if not _METHOD.fullmatch(method):
        return Refusal(400, "the method is not a token")
    if not _VERSION.fullmatch(version):
        return Refusal(400, "the request line does not end in an HTTP version")
    if version not in (b"HTTP/1.0", b"HTTP/1.1"):
        return Refusal(505, "this server speaks only HTTP/1.1 and HTTP/1.0")
    if method == b"CONNECT":
        return Refusal(405, "this is an origin server, not a proxy")
    if len(target) > LONGEST_TARGET:
        return Refusal(414, f"the request target is longer than {LONGEST_TARGET} bytes")
    if len(head) > LONGEST_HEAD:
        return Refusal(431, f"request line and header are longer than {LONGEST_HEAD} bytes")
    return Refusal(501, "the name of the method is too long")


def find_early_refusal(part: bytes) -> Refusal | None:
    """Return the fault of a head that has not arrived in full, or None if it has no fault so far.

    So a client that uses TLS or HTTP/2 on a plain HTTP/1.1 port gets its refusal at once.
    """
    if b"\r\n" in part:
        acceptable = REQUEST_LINE.match(part) and len(part) <= LONGEST_HEAD
        return None if acceptable else explain_refusal(part)
    if _NOT_IN_A_LINE.search(part):
        return explain_refusal(part)
    if len(part) > _LONGEST_LINE:
        return Refusal(414, f"the request line is longer than {_LONGEST_LINE} bytes")
    return None


def is_target(text: bytes) -> bool:
    """Return True for a request target, as `REQUEST_LINE` would read it.

    >>> is_target(b"/pdi://a.us/1997/#char=1"), is_target(b"/a b"), is_target(b"")
    (True, False, False)
    """
    return 0 < len(text) <= LONGEST_TARGET and text.translate(_IN_TARGET) == text


def split_fields(fields: bytes) -> Headers:
    """Split the text after a request line, once a parser has found it well-formed.

    `fields` begins with the CRLF of the request line and ends with the empty line. Well-formed
    means that each line ends in CRLF, has a colon directly after its name and is not folded: then
    there is only one way to read it.

    >>> split_fields(b"\\r\\nHost: a\\r\\nAccept:text/html \\r\\n\\r\\n")
    [(b'host', b'a'), (b'accept', b'text/html')]
    """
    found = []
    for line in fields.split(b"\r\n")[1:-2]:
        name, _, value = line.partition(b":")
        found.append((name.lower(), value.strip(b" \t")))
    return found


def join_fields(headers: Headers) -> dict[bytes, bytes]:
    """Return header fields by name, repeated fields joined (RFC 9110 section 5.3)."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found[name] = b"%s, %s" % (found[name], value) if name in found else value
    return found
