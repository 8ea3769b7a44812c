"""The plain text of mail (message/rfc822, mbox): its headers and its bodies of text.

How it works: `perdure.extractors.mail.structure` finds the headers and bodies. Of a header, the
fields that mail programs show are in the text, with encoded words decoded (RFC 2047). Of a body,
the transfer encoding is removed and the charset decoded, and a page of HTML is its text. A line of
text leads to its stored line, or to the complete body if that has no such lines (base64, HTML). The
parts are octets, `offset(120,340)`, because no standard defines parts of mail.

What must stay true: it runs confined. A charset that is unknown or wrong is not an error, because
the sender's program chose it: such a body is read as UTF-8, or else as ISO 8859-1.
"""

from __future__ import annotations

import binascii
import re
from email.errors import HeaderParseError
from email.header import decode_header, make_header

from perdure.errors import PartNotSupported
from perdure.extractors.mail.structure import (
    Entity,
    decode_body,
    is_text,
    list_entities,
    list_mails,
)
from perdure.extractors.mapped_text import MappedText, TextBuilding
from perdure.extractors.markup.page_text import read_page_text
from perdure.extractors.plain_text import check_size
from perdure.extractors.port import Extent, Indexes, Part, Source, Span
from perdure.formats import decode_unlabelled, find_python_codec
from perdure.parts import Octets, Selector
from perdure.parts.selectors import PartSelector

MAIL = ("message/rfc822", "message/global")
MBOX = "application/mbox"
_FIELD = re.compile(
    rb"^((?:from|to|cc|date|subject)[ \t]*:)([^\n]*(?:\n[ \t][^\n]*)*)",
    re.IGNORECASE | re.MULTILINE,
)
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_LINE_BREAK = re.compile("\r\n?")
_IN_LINES = ("", "7bit", "8bit", "binary", "quoted-printable")


class MailExtractor:
    """The text of mail. Octets and characters of mail have extractors of their own."""

    media_types = (*MAIL, MBOX)
    selectors: tuple[type[PartSelector], ...] = ()
    confined = False
    install = None
    text_index = "mail-text-1"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        raise PartNotSupported(media_type=source.media_type, selector=str(selector))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()

    def map_text(self, source: Source) -> bytes:
        check_size(source)
        data = source.read_bytes()
        mails = list_mails(data) if source.essence == MBOX else [(0, len(data))]
        reading = _Reading(source, data)
        for start, stop in mails:
            for entity in list_entities(data, start, stop):
                reading.add_entity(entity)
        return reading.building.build_index()

    def open_text(self, source: Source, index: bytes | memoryview) -> MappedText:
        return MappedText(source, index, Octets)


class _Reading:
    """The text of mail, collected while it is read."""

    def __init__(self, source: Source, data: bytes) -> None:
        self.building = TextBuilding(source)
        self._name = source.name
        self._data = data
        self._group = 0

    def add_entity(self, entity: Entity) -> None:
        """Add the header of a mail, or the body of a text, with an empty line after it."""
        self._group += 1
        if entity.is_message:
            self._add_header(entity)
        elif is_text(entity):
            self._add_body(entity)
        self.building.add_separator()

    def _add_header(self, entity: Entity) -> None:
        for found in _FIELD.finditer(self._data, entity.start, entity.body):
            value = _read_field(found[2])
            if value:
                name = found[1].decode("ascii").removesuffix(":").rstrip().capitalize()
                self._add_unit(f"{name}: {value}", found.start(), found.end())
                self.building.add_separator()

    def _add_body(self, entity: Entity) -> None:
        decoded = decode_body(self._data, entity)
        codec = _choose_codec(decoded, entity)
        coding = str(entity.header.get("content-transfer-encoding", "")).strip().lower()
        is_page = entity.header.get_content_type() == "text/html"
        if is_page or coding not in _IN_LINES or not _keeps_lines(codec):
            text = decoded.decode(codec, "replace")
            text = read_page_text(text, self._name) if is_page else _LINE_BREAK.sub("\n", text)
            self._add_unit(text.rstrip("\n"), entity.body, entity.stop)
            self.building.add_separator()
            return
        for start, stop, line in _list_lines(self._data, entity, coding):
            text = line.decode(codec, "replace")
            self._add_unit(_LINE_BREAK.sub("\n", text.rstrip("\r\n")), start, stop)
            self.building.add_separator()

    def _add_unit(self, text: str, start: int, stop: int) -> None:
        """Add a unit whose part is the octets [start, stop)."""
        self.building.add_unit(
            text, group=self._group, first=start, last=stop, stored=Span(start, stop)
        )


def _list_lines(data: bytes, entity: Entity, coding: str) -> list[tuple[int, int, bytes]]:
    """Return the first and last byte of each line of a body, and the line without its coding.

    A line of quoted-printable text may be stored in several lines (RFC 2045 section 6.7, rule 5).
    """
    lines: list[tuple[int, int, bytes]] = []
    continues = False
    for found in _LINE.finditer(data, entity.body, entity.stop):
        line = found[0]
        if coding == "quoted-printable":
            line = binascii.a2b_qp(line)
        if continues:
            start, _, before = lines[-1]
            lines[-1] = (start, found.end(), before + line)
        else:
            lines.append((found.start(), found.end(), line))
        continues = coding == "quoted-printable" and not line.endswith(b"\n")
    return lines


def _keeps_lines(codec: str) -> bool:
    """Return True if a line of a text in this coding can be decoded alone."""
    return len("\n".encode(codec)) == 1


def _choose_codec(decoded: bytes, entity: Entity) -> str:
    """Return the codec of a body: that of its charset if it fits, else UTF-8 or ISO 8859-1."""
    charset = entity.header.get_content_charset()
    stated = find_python_codec(charset) if charset else None
    for codec in filter(None, (stated, "utf-8")):
        try:
            decoded.decode(codec)
        except (UnicodeDecodeError, LookupError):
            continue
        return codec
    return "latin-1"


def _read_field(value: bytes) -> str:
    """Return the value of a header field on one line, with its encoded words decoded (RFC 2047)."""
    unfolded = " ".join(decode_unlabelled(value).split())
    try:
        return " ".join(str(make_header(decode_header(unfolded))).split())
    except (HeaderParseError, LookupError, ValueError):  # no such charset, or bytes not in it
        return unfolded


EXTRACTOR = MailExtractor()
