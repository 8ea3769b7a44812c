"""The bytes of a line: a file, a text or bytes that the line itself has, taken in for a row."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from perdure.errors import DigestMismatch, InvalidRequest, PerdureError
from perdure.errors.importing import (
    LineContentUnclear,
    LinePathOutside,
    LinePathUnreadable,
    LineTextUnwritable,
)
from perdure.formats import find_python_codec
from perdure.ids import Identifier, grammar
from perdure.model.commands import Content, Joining
from perdure.policy import naming
from perdure.storage.durable import resolve_path
from perdure.storage.spool import IN_MEMORY, Spool, make_content
from perdure.upkeep.transfer.contents import DeclaredKind, settle_kind, take_in
from perdure.upkeep.transfer.lines import (
    LineContent,
)

_LONGEST_USUAL = grammar.LONGEST // 2  # of a name with a format: a longer one may be too long


class Terms(msgspec.Struct, frozen=True):
    """Facts that are the same for a complete import."""

    now: str
    """`2026-11-21T01:02:03Z`."""
    today: str
    """The same day, as it is written in a PDI."""
    incoming: str
    """Directory of the registry where long content waits."""
    files: str
    """Base directory for the paths in lines."""
    series: tuple[str, ...] = ()
    """Series that are minted here."""
    how: Joining = Joining.ADD
    """How lines are joined with known records."""


def take_content(held: LineContent, identifier: Identifier, version: int, terms: Terms) -> Content:
    """Take in the content for this version of the identifier."""
    said = DeclaredKind(
        format=held.format or naming.read_qualifiers(identifier)[1],
        media_type=held.type,
        charset=held.charset or None,
        language=held.language,
    )
    given = [one for one in (held.path, held.text, held.base64) if one is not None]
    if len(given) != 1:
        raise LineContentUnclear()
    if held.path is not None:
        found = _take_file(held.path, said, terms)
    elif held.text is not None:
        found = _take_text(held.text, said, terms)
    else:
        found = _take_bytes(held.base64 or b"", said, terms)
    if held.charset is None:
        found = replace(found, charset=None)
    try:
        if held.sha512 not in (None, found.sha512):
            raise DigestMismatch(algorithm="sha-512", promised=str(held.sha512), found=found.sha512)
        if len(identifier.written) + len(found.format) > _LONGEST_USUAL:
            naming.qualify_identifier(identifier, version, found.format)  # raises if it is too long
    except PerdureError:
        discard_content(found, terms)
        raise
    return found


def _take_file(path: str, said: DeclaredKind, terms: Terms) -> Content:
    root = resolve_path(Path(terms.files))
    try:
        file = resolve_path(root / path)
        if not file.is_relative_to(root):
            raise LinePathOutside(path=path, root=str(root))
        with file.open("rb") as source, Spool(Path(terms.incoming)) as spool:
            return take_in(source, spool, name=file.name, said=said)
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidRequest):
            raise
        raise LinePathUnreadable(path=path, fault=str(error)) from error


def _take_text(text: str, said: DeclaredKind, terms: Terms) -> Content:
    """Take in text in the stated charset, by default ASCII or UTF-8."""
    charset = said.charset or ("us-ascii" if text.isascii() else "utf-8")
    codec = find_python_codec(charset)
    try:
        data = text.encode(codec or charset)
    except (LookupError, UnicodeEncodeError) as error:
        raise LineTextUnwritable(charset=charset, fault=str(error)) from error
    media_type = said.media_type or (None if said.format else "text/plain")
    return _take_bytes(data, replace(said, charset=charset, media_type=media_type), terms)


def _take_bytes(data: bytes, said: DeclaredKind, terms: Terms) -> Content:
    from perdure.formats.detect import detect_type  # loads the magic numbers of all formats

    kind = settle_kind(said, lambda: detect_type(data, language=said.language))
    if len(data) <= IN_MEMORY:
        return make_content(data, **msgspec.structs.asdict(kind))
    with Spool(Path(terms.incoming)) as spool:
        spool.write(data)
        return spool.finish_content(**msgspec.structs.asdict(kind))


def discard_content(one: Content, terms: Terms) -> None:
    """Remove the file of a content, if it was not committed."""
    if one.spooled:
        with suppress(OSError):
            (Path(terms.incoming) / one.spooled).unlink(missing_ok=True)
