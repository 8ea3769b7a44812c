"""Bytes on their way in: their type, charset and format, and the file in which they wait.

How it works: a stream goes piece by piece into a spool (which hashes it) and a sampler (which keeps
what detection needs). A statement of the depositor overrules detection; the format follows from
both. Line ends are converted on the way if the depositor asks for it.

What must stay true: memory is bounded, whatever the length; nothing is converted without a request;
media type, charset and language follow our own grammars, because they go into heads of records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from perdure import formats
from perdure.errors.contents import LineEndsNotConvertible, MalformedCharset, MalformedLanguage
from perdure.formats import MediaType
from perdure.model.commands import Content
from perdure.model.description_checks import LANGUAGE
from perdure.policy.naming import canonical_format
from perdure.storage.spool import Spool

if TYPE_CHECKING:
    from perdure.formats.detect import DetectedType

PIECE = 1024 * 1024  # bytes read at once
_CHARSET = re.compile(r"[A-Za-z0-9!#$%&'+^_`{}~-]{1,40}", re.ASCII)  # RFC 2978 section 2.3
_WIDE = ("utf-16", "utf-32", "ucs-2", "ucs-4", "iso-10646")


class DeclaredKind(msgspec.Struct, frozen=True, kw_only=True):
    """The depositor's description of bytes; a field that is None is detected."""

    format: str | None = None
    media_type: str | None = None
    charset: str | None = None
    language: str | None = None


class ContentKind(msgspec.Struct, frozen=True, kw_only=True):
    """The final description of bytes; the field names are those of `Content`."""

    format: str
    media_type: str
    charset: str | None
    language: str | None
    stated: tuple[str, ...] = ()


def take_in(
    source: BinaryIO, spool: Spool, *, name: str | None, said: DeclaredKind, crlf: bool = False
) -> Content:
    """Take in all bytes of a stream for a command; `name` is the name of the file, if it has one.

    Raises InvalidRequest if a statement or a conversion is not valid, MalformedIdentifier if the
    format is not, TooLarge and StorageFailed as the spool does.
    """
    from perdure.formats.detect import Sampler, detect_type  # loads all magic numbers

    sampler = Sampler()
    pieces: Iterable[bytes] = iter(lambda: source.read(PIECE), b"")
    for piece in convert_line_ends(pieces) if crlf else pieces:
        sampler.feed(piece)
        spool.write(piece)
    kind = settle_kind(
        said, lambda: detect_type(sampler.take_sample(), name=name, language=said.language)
    )
    if crlf:
        _check_convertible(kind)
    return spool.finish_content(
        format=kind.format,
        media_type=kind.media_type,
        charset=kind.charset,
        language=kind.language,
        stated=kind.stated,
    )


def settle_kind(said: DeclaredKind, detected: Callable[[], DetectedType]) -> ContentKind:
    """Describe bytes by the depositor's statement; detect only what that leaves open.

    Raises InvalidRequest if the statement is not valid, MalformedIdentifier if the format is not.
    """
    declared, charset = _declared_type(said)
    if declared is not None and (charset is not None or not formats.is_text(declared)):
        return _make_kind(said, declared, charset)
    found = detected()
    media_type = declared or found.media_type
    if charset is None and formats.is_text(media_type):
        charset = found.charset
    return _make_kind(said, media_type, charset)


@lru_cache(maxsize=1024)
def _declared_type(said: DeclaredKind) -> tuple[MediaType | None, str | None]:
    """Return the declared media type and charset. Cached, because depositors repeat them."""
    declared = formats.find_media_type(said.format) if said.format is not None else None
    if said.media_type is not None:
        declared = MediaType.parse(said.media_type)
    return declared, _canonical_charset(said.charset) or (declared.charset if declared else None)


@lru_cache(maxsize=1024)
def _make_kind(said: DeclaredKind, media_type: MediaType, charset: str | None) -> ContentKind:
    if said.language is not None and not LANGUAGE.fullmatch(said.language):
        raise MalformedLanguage(tag=said.language)
    return ContentKind(
        format=canonical_format(said.format or formats.make_token(media_type, charset)),
        media_type=str(media_type.with_charset(None)),
        charset=charset,
        language=said.language,
        stated=_list_stated(said),
    )


def _list_stated(said: DeclaredKind) -> tuple[str, ...]:
    """List the facts that a depositor stated. A format states no more than the name."""
    charset = said.charset
    if said.media_type is not None and charset is None:
        charset = MediaType.parse(said.media_type).charset
    facts = {"media_type": said.media_type, "charset": charset, "language": said.language}
    return tuple(name for name, value in facts.items() if value is not None)


def _canonical_charset(name: str | None) -> str | None:
    if name is None:
        return None
    known = formats.find_charset(name)
    if known is None and not _CHARSET.fullmatch(name):
        raise MalformedCharset(charset=name)
    return known.name if known else name.lower()


# Line ends
# ---------

_LINE_END = re.compile(rb"\r\n|\r|\n")


def convert_line_ends(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Convert CR, LF and CRLF to CRLF.  # ruling: bytes-verbatim

    >>> b"".join(convert_line_ends([b"a\\r", b"\\nb\\nc\\r"]))
    b'a\\r\\nb\\r\\nc\\r\\n'
    """
    held = b""
    for piece in pieces:
        text = held + piece
        held = b"\r" if text.endswith(b"\r") else b""  # perhaps the first half of a CRLF
        yield _LINE_END.sub(b"\r\n", text[: len(text) - len(held)])
    if held:
        yield b"\r\n"


def _check_convertible(kind: ContentKind) -> None:
    """Raise InvalidRequest if a byte LF is not a line end: converting would destroy the text."""
    wide = (kind.charset or "").startswith(_WIDE)
    if wide or not formats.is_text(kind.media_type):
        raise LineEndsNotConvertible(media_type=kind.media_type, charset=kind.charset)
