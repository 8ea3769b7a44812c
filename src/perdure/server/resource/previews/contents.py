"""Mails and archives: a list of what is in them, with a link to each entry that is a part; and the
text of a mail."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from perdure.errors import PerdureError
from perdure.extractors.contents import EXTRACTOR, MOST, ContentEntry
from perdure.extractors.port import iterate_body
from perdure.ids import scheme_of
from perdure.parts import View
from perdure.reading.plain_texts import read_plain_text
from perdure.reading.targets import append_question, spell_part_path
from perdure.reading.text_places import select_octets
from perdure.server.resource.previews.port import ShownDocument

_MAIL = "message/rfc822"
_LARGEST = 1 << 20  # bytes of a mail whose text is made for a page
_LONGEST = 20_000  # characters of it


class ListedEntry(msgspec.Struct, frozen=True):
    """An entry, and the address of the page of its part, or an empty string."""

    entry: ContentEntry
    href: str
    is_chosen: bool
    """True if the page is about this entry."""


class ContentsPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a document."""

    template: ClassVar[str] = "landing/contents.html"
    entries: tuple[ListedEntry, ...]
    is_complete: bool
    has_kinds: bool
    """True if an entry has a kind."""
    text: str
    """The text of a mail, or its beginning."""
    is_text_complete: bool
    text_url: str


def suits_type(essence: str) -> bool:
    return essence in EXTRACTOR.media_types


async def make_preview(shown: ShownDocument) -> ContentsPreview | None:
    service = shown.service
    cut = service.registry.parts.cut_view
    part = await service.cut_part(cut, shown.source, View("contents"))
    body = b"".join(iterate_body(part.body, shown.source))
    entries = msgspec.json.decode(body, type=tuple[ContentEntry, ...])
    if not entries:
        return None
    text = await _read_mail(shown) if shown.source.essence == _MAIL else ""
    return ContentsPreview(
        entries=tuple(_list_entry(shown, one) for one in entries),
        is_complete=len(entries) < MOST,
        has_kinds=any(one.kind for one in entries),
        text=text[:_LONGEST],
        is_text_complete=len(text) <= _LONGEST,
        text_url=shown.ask("text"),
    )


async def _read_mail(shown: ShownDocument) -> str:
    """Return the text of a mail, or an empty text if it has none or takes too long."""
    if shown.source.length > _LARGEST:
        return ""
    try:
        text: str = await shown.service.read_text(read_plain_text, shown.source, None)
    except PerdureError:
        return ""
    return text


def _list_entry(shown: ShownDocument, entry: ContentEntry) -> ListedEntry:
    if entry.span is None:
        return ListedEntry(entry, "", is_chosen=False)
    has_own_parts = bool(scheme_of(shown.identifier).part_mark)
    part = select_octets(*entry.span, has_own_parts=has_own_parts)
    path = f"/{spell_part_path(shown.identifier, str(part))}"
    return ListedEntry(entry, append_question(path, "landing"), is_chosen=part == shown.part)
