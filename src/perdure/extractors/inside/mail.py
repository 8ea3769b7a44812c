"""The header of a mail message: its subject, author and date.

Specification: RFC 5322 section 3.6; RFC 2047 for words beyond ASCII.
"""

from __future__ import annotations

import contextlib
from email import policy
from email.parser import BytesHeaderParser
from email.utils import getaddresses, parsedate_to_datetime

Pairs = dict[str, str]

_HEAD = 256 * 1024  # bytes; a header is not longer


def read_mail(data: bytes) -> Pairs:
    """Read the fields of a header that describe the message."""
    head = data[:_HEAD]
    if head.startswith(b"From "):  # a message of an mbox
        head = head.partition(b"\n")[2]
    message = BytesHeaderParser(policy=policy.compat32).parsebytes(head)
    found: Pairs = {"title": _decode_words(message.get("Subject"))}
    people = getaddresses([_decode_words(one) for one in message.get_all("From", [])])
    found["creator"] = "; ".join(name or address for name, address in people if name or address)
    found["language"] = _decode_words(message.get("Content-Language"))
    with contextlib.suppress(ValueError, TypeError, IndexError, OverflowError):
        # it may have no date, or none that the calendar has
        found["date"] = parsedate_to_datetime(str(message.get("Date"))).strftime("%Y-%m-%d")
    return {name: value for name, value in found.items() if value}


def _decode_words(value: object) -> str:
    """Decode the encoded words of a field; bytes beyond ASCII are read as Latin-1."""
    from email.errors import HeaderParseError
    from email.header import decode_header

    if value is None:
        return ""
    words: list[str] = []
    try:
        pieces = decode_header(value)  # type: ignore[arg-type]  # it takes a Header, too
    except (HeaderParseError, ValueError):
        return " ".join(str(value).split())
    for word, charset in pieces:
        if isinstance(word, str):
            words.append(word)
            continue
        known = charset if charset and charset != "unknown-8bit" else ""
        try:
            words.append(word.decode(known or "utf-8"))
        except (LookupError, UnicodeDecodeError):
            words.append(word.decode("latin-1"))
    return " ".join("".join(words).split())
