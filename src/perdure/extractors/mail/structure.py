"""The structure of a mail: its headers and bodies, with their places in the stored bytes.

Specification: RFC 5322 section 2 (headers and body), RFC 2046 sections 5.1 (multipart) and 5.2.1
(message/rfc822), RFC 4155 (mbox).

How it works: the stored bytes are cut at the empty line after a header and at the lines of the
boundary. Python's `email` reads the fields of a header, and decodes a body with its own header. It
has no places in the stored bytes, which is why the cutting is done here. The texts of a mail are
its bodies of type `text/*`, attached ones and those of attached mails included. Of
`multipart/alternative`, only one alternative is read: the first with plain text, else the first
with any text.

What must stay true: bodies are in order and do not overlap. Any bytes are a mail (RFC 5322 has no
signature), so no bytes raise an error, except those beyond the limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from typing import NamedTuple

DEEPEST = 32
"""Levels of parts within parts. Deeper ones are not read."""
_HEAD_END = re.compile(rb"(?:\A|\r?\n)\r?\n")
_MBOX = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\n")
_PARSER = BytesParser(policy=compat32)


class Entity(NamedTuple):
    """A header at bytes [start, body), and a body at [body, stop)."""

    start: int
    body: int
    stop: int
    header: Message[str, str]
    is_message: bool
    """Whether its header is that of a mail, not of a part of a mail."""


def list_mails(data: bytes) -> list[tuple[int, int]]:
    """Return the bytes of each mail of an mbox, without the lines between them."""
    lines = list(_MBOX.finditer(data))
    starts = [found.end() for found in lines]
    stops = [*(found.start() for found in lines[1:]), len(data)]
    return list(zip(starts, stops, strict=True)) if lines else []


def list_entities(data: bytes, start: int, stop: int) -> list[Entity]:
    """Return the mails within the bytes [start, stop), and their bodies of text, in order."""
    return list(_list_within(data, _read_entity(data, start, stop, is_message=True), DEEPEST))


def decode_body(data: bytes, entity: Entity) -> bytes:
    """Return the body of a text without its transfer encoding."""
    message = _PARSER.parsebytes(data[entity.start : entity.stop])
    decoded = message.get_payload(decode=True)
    return decoded if isinstance(decoded, bytes) else b""


def is_text(entity: Entity) -> bool:
    """Return True if an entity has a body of text."""
    return entity.header.get_content_maintype() == "text"


def _read_entity(data: bytes, start: int, stop: int, *, is_message: bool) -> Entity:
    found = _HEAD_END.search(data, start, stop)
    if data.startswith((b"\n", b"\r\n"), start, stop):  # no header at all
        body = data.index(b"\n", start) + 1
    else:
        body = found.end() if found else stop
    header = _PARSER.parsebytes(data[start:body], headersonly=True)
    return Entity(start, body, stop, header, is_message)


def _list_within(data: bytes, entity: Entity, levels: int) -> Iterator[Entity]:
    """Yield an entity if it has a header or a text, and what is within it."""
    if not levels:
        return
    if entity.is_message:
        yield entity
    kind = entity.header.get_content_type()
    if entity.header.get_content_maintype() == "multipart":
        parts = [list(_list_within(data, part, levels - 1)) for part in _list_parts(data, entity)]
        if kind == "multipart/alternative":
            parts = _choose_alternative(parts)
        for part in parts:
            yield from part
    elif kind in ("message/rfc822", "message/global"):
        inner = _read_entity(data, entity.body, entity.stop, is_message=True)
        yield from _list_within(data, inner, levels - 1)
    elif is_text(entity) and not entity.is_message:
        yield entity
    elif is_text(entity):
        yield entity._replace(is_message=False)


def _choose_alternative(parts: list[list[Entity]]) -> list[list[Entity]]:
    for wanted in ("text/plain", "text/html"):
        for part in parts:
            if any(entity.header.get_content_type() == wanted for entity in part):
                return [part]
    return [part for part in parts if part][:1]


def _list_parts(data: bytes, entity: Entity) -> Iterator[Entity]:
    """Yield the parts of a multipart body (RFC 2046 section 5.1.1)."""
    boundary = entity.header.get_boundary()
    if not boundary:
        return
    written = re.escape(boundary.encode("ascii", "surrogateescape"))
    line = re.compile(rb"^--" + written + rb"(--)?[ \t]*(?:\r?\n|\r?\Z)", re.MULTILINE)
    start = None
    for found in line.finditer(data, entity.body, entity.stop):
        if start is not None:
            yield _read_entity(
                data, start, _trim_break(data, start, found.start()), is_message=False
            )
        start = found.end()
        if found[1]:
            return
    if start is not None:  # it does not end, so it extends to the end of the mail
        yield _read_entity(data, start, entity.stop, is_message=False)


def _trim_break(data: bytes, start: int, stop: int) -> int:
    """Return the end of a part without the line break before its boundary."""
    for end in (b"\r\n", b"\n"):
        if data.endswith(end, start, stop):
            return stop - len(end)
    return stop
