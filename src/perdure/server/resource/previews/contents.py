"""Mails and archives: a list of what is in them, with a link to each entry that is a part."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from perdure.extractors.contents import EXTRACTOR, MOST, ContentEntry
from perdure.extractors.port import iterate_body
from perdure.ids import scheme_of
from perdure.parts import View
from perdure.reading.targets import append_question, spell_part_path
from perdure.reading.text_places import select_octets
from perdure.server.resource.previews.port import ShownDocument


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
    return ContentsPreview(
        entries=tuple(_list_entry(shown, one) for one in entries), is_complete=len(entries) < MOST
    )


def _list_entry(shown: ShownDocument, entry: ContentEntry) -> ListedEntry:
    if entry.span is None:
        return ListedEntry(entry, "", is_chosen=False)
    has_own_parts = bool(scheme_of(shown.identifier).part_mark)
    part = select_octets(*entry.span, has_own_parts=has_own_parts)
    path = f"/{spell_part_path(shown.identifier, str(part))}"
    return ListedEntry(entry, append_question(path, "landing"), is_chosen=part == shown.part)
