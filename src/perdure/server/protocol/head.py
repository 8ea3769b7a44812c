"""The head of an HTTP/1.1 request as text: its request line, its fields, and why one is refused.

How it works: `REQUEST_LINE` is the whole of RFC 9112 section 3 as we accept it. A head that it
matches needs no further look; for one that it does not match, `why_refused` takes the line apart
again, slowly, to say what is wrong. All functions are pure; `perdure.server.protocol.http` acts on
them.

What must stay true: nothing here decides how a message is framed, that is the parser's business;
and a `Refusal` quotes nothing of what was sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus

import msgspec

Headers = list[tuple[bytes, bytes]]
"""Field names in lower case, values without the white space around them, in the order received."""

LONGEST_TARGET = 16 * 1024  # bytes; twice the longest identifier, for what escaping adds
LONGEST_HEAD = 64 * 1024  # bytes, request line included

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"  # RFC 9110 section 5.6.2
# RFC 9112 section 3: request-line = method SP request-target SP HTTP-version. The target is any
# visible ASCII: wider than RFC 3986, since an identifier may hold a raw `#`. CONNECT is left out:
# it alone would change how the parser goes on.
REQUEST_LINE = re.compile(
    rb"(?!CONNECT )(%s{1,32}) ([!-~]{1,%d}) HTTP/1\.([01])\r\n" % (_TOKEN, LONGEST_TARGET)
)
"""Groups: method, target, the 0 or 1 after `HTTP/1.`."""

# RFC 9112 section 3.2: Host = uri-host [ ":" port ], by the grammar of RFC 3986 section 3.2. An
# empty one is what a target without an authority has. Of an address in brackets the characters are
# looked at and not their order: nothing is looked up by it.
_REG_NAME = rb"(?:[0-9A-Za-z\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*+"
_IP_LITERAL = rb"\[(?:[0-9A-Fa-f:.]+|[Vv][0-9A-Fa-f]+\.[0-9A-Za-z\-._~!$&'()*+,;=:]+)\]"
HOST = re.compile(rb"(?:%s|%s)(?::[0-9]*)?" % (_IP_LITERAL, _REG_NAME))
HOST_FIELD = re.compile(rb"\r\nhost:[ \t]*+(?:%s)[ \t]*+\r\n" % HOST.pattern, re.IGNORECASE)

EMPTY_LINES = re.compile(rb"\A(?:\r\n)+")
"""What old clients leave behind a body; skipped before a request line (RFC 9112 section 2.2)."""

_METHOD = re.compile(_TOKEN + rb"+")
_VERSION = re.compile(rb"HTTP/\d\.\d")
_NOT_IN_A_LINE = re.compile(rb"[^\r -~]|\r(?=.)", re.DOTALL)
_LONGEST_LINE = LONGEST_TARGET + 48  # method, version and the spaces between them


REFUSALS = {
    400: ("malformed-request", "The message is not HTTP/1.1 as its specification has it."),
    405: ("method-not-allowed", "The method is not defined here; the field Allow names those."),
    408: ("request-timeout", "The header did not come within the time that it has."),
    414: ("target-too-long", "The request target is longer than any identifier may be."),
    431: ("header-too-long", "The header, or the trailer, is longer than is read here."),
    501: ("not-implemented", "The message needs a coding or a method that is not known here."),
    505: ("unsupported-version", "HTTP/1.1 and HTTP/1.0 are spoken here."),
}
"""By status: the code of a refusal, and what it means."""


class Refusal(msgspec.Struct, frozen=True):
    """Why a message was not let through to the application; `status` is one of `REFUSALS`."""

    status: int
    detail: str

    def response(self, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
        """The whole answer: a problem document (RFC 9457), after which the connection closes."""
        code, _ = REFUSALS[self.status]
        document = {
            "type": f"/problems/{code}",
            "title": title(code),
            "status": self.status,
            "detail": self.detail,
            "code": code,
        }
        body = msgspec.json.encode(document)
        phrase = HTTPStatus(self.status).phrase.encode()
        head = [b"HTTP/1.1 %d %s\r\n" % (self.status, phrase)]
        head += [b"%s: %s\r\n" % field for field in fields]
        if self.status == HTTPStatus.METHOD_NOT_ALLOWED:
            # RFC 9110 section 10.2.1: an empty Allow says that no method is allowed
            head.append(b"allow: \r\n")
        head.append(b"content-type: application/problem+json\r\ncontent-length: %d\r\n" % len(body))
        return b"".join([*head, b"connection: close\r\n\r\n", body])


BAD_HOST = Refusal(400, "the Host field is no host with or without a port (RFC 9112 section 3.2)")


def title(code: str) -> str:
    """The title of a problem, the same for all of its kind."""
    return code.replace("-", " ").capitalize()


def why_refused(head: bytes) -> Refusal:
    """What is wrong with a head that `REQUEST_LINE` does not match or that is too long.

    >>> why_refused(b"GET  / HTTP/1.1\\r\\n\\r\\n").detail
    'the request line is not METHOD SP target SP HTTP/1.1'
    >>> why_refused(b"PRI * HTTP/2.0\\r\\n\\r\\n").status
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
        return Refusal(505, "HTTP/1.1 and HTTP/1.0 are spoken here")
    if method == b"CONNECT":
        return Refusal(405, "this is an origin server, not a proxy")
    if len(target) > LONGEST_TARGET:
        return Refusal(414, f"the request target is longer than {LONGEST_TARGET} bytes")
    if len(head) > LONGEST_HEAD:
        return Refusal(431, f"request line and header are longer than {LONGEST_HEAD} bytes")
    return Refusal(501, "no method has a name so long")


def why_refused_so_far(part: bytes) -> Refusal | None:
    """What is already known to be wrong with a head that has not arrived in full.

    So that whoever speaks TLS or HTTP/2 to a port that does not is told at once.
    """
    if b"\r\n" in part:
        acceptable = REQUEST_LINE.match(part) and len(part) <= LONGEST_HEAD
        return None if acceptable else why_refused(part)
    if _NOT_IN_A_LINE.search(part):
        return why_refused(part)
    if len(part) > _LONGEST_LINE:
        return Refusal(414, f"the request line is longer than {_LONGEST_LINE} bytes")
    return None


def header_fields(fields: bytes) -> Headers:
    """Take apart what follows a request line, once a parser has found it well-formed.

    `fields` begins with the CRLF of the request line and ends with the empty line. Well-formed
    means that each line ends in CRLF and has a colon right behind its name, and that none is
    folded: then there is only one way to read it.

    >>> header_fields(b"\\r\\nHost: a\\r\\nAccept:text/html \\r\\n\\r\\n")
    [(b'host', b'a'), (b'accept', b'text/html')]
    """
    found = []
    for line in fields.split(b"\r\n")[1:-2]:
        name, _, value = line.partition(b":")
        found.append((name.lower(), value.strip(b" \t")))
    return found


def joined(headers: Headers) -> dict[bytes, bytes]:
    """Header fields by name, values of a repeated field joined (RFC 9110 section 5.3)."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found[name] = b"%s, %s" % (found[name], value) if name in found else value
    return found
