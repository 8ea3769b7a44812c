"""Takes stored lines of another registry in: each representation gets a place for its bytes here.

How it works: the lines of another registry have no places (`perdure.model.changes.attest_line`). A
representation keeps the place of the revision before, or gets that of bytes that came along. Bytes
that did not come, because a later revision withdraws them, stay without a place.

What must stay true: a line stays as the other registry wrote it, but for the places.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from perdure.model import stored
from perdure.model.changes import attest_line
from perdure.model.commands import NOWHERE, Content
from perdure.model.mirroring import SoughtContent
from perdure.model.records import Record
from perdure.model.references import list_document_references, list_references
from perdure.policy.naming import spell_full_name
from perdure.storage.reference_hashes import hash_references, reference_hash
from perdure.writing.ledger import Ledger
from perdure.writing.load import log_corrections, log_tombstones
from perdure.writing.replayed_places import (
    PLACELESS,
    describe_content,
    find_held,
    list_held,
    substitute_places,
)

_UNNAMED = Record()  # a record whose key spells the name


class LinePlacer:
    """Places the bytes of the lines of one batch, and collects their references.

    Methods raise ValueError or msgspec.DecodeError for a text that is not such a line.
    """

    def __init__(self, ledger: Ledger, contents: Mapping[SoughtContent, Content]) -> None:
        self._ledger = ledger
        self._contents = contents
        self._refers: list[tuple[int, str]] = []

    def read_revision(self, text: str) -> int:
        """The revision of a line. Short lines are first revisions, as are those that name none."""
        is_named = text[:1] == stored.JSON and '"revision":' in text
        return stored.decode_stored(text).revision if is_named else 1

    def place_new(self, key: str, text: str) -> str:
        """Return the first revision of a record with the places of its bytes."""
        if text[:1] in (stored.DOCUMENT, stored.JSON) and attest_line(text) != text:
            raise ValueError("it has places of bytes")
        if text[:1] == stored.DOCUMENT:
            return self._place_document(key, text)
        if text[:1] == stored.JSON:
            return self.place_revision(key, text, stored.decode_stored(text), None)
        short = stored.parse_short_line(text)
        if short is not None:
            self._refers.append((hash_references((short.reference,))[0], key))
        return text

    def place_revision(self, key: str, text: str, record: Record, before: Record | None) -> str:
        """Return a revision, given as its line and its record, with the places of its bytes."""
        self._refers += [(reference_hash(one), key) for one in list_references(record)]
        places: list[tuple[int, int]] = []
        for number, one in list_held(record):
            known = find_held(before, number, one.format)
            if known is not None:
                places.append((known.segment, known.offset))
                continue
            sought = SoughtContent(key, number, one.format, one.sha512, one.length)
            content = self._contents.get(sought)
            if content is None:
                places.append((NOWHERE, 0))
                continue
            name = spell_full_name(key, record, number, one.format)
            held = self._ledger.place_content(name, number, describe_content(content, one))
            places.append((held.segment, held.offset))
        if places:
            if len(PLACELESS.findall(text)) != len(places):
                raise ValueError("it has other places than representations")
            text = substitute_places(PLACELESS, text, places)
        log_tombstones(self._ledger, key, before, record)
        log_corrections(self._ledger, key, before, record)
        return text

    def pass_references(self) -> None:
        """Pass the references so far to the journal."""
        if self._refers:
            self._ledger.note_references(self._refers)
            self._ledger.journal.add_references(self._refers)
            self._refers = []

    def _place_document(self, key: str, text: str) -> str:
        line = stored.parse_document_line(text)
        if line is None:
            raise ValueError(text)
        hashes = hash_references(list_document_references(line))
        self._refers += ((one, key) for one in hashes)
        sought = SoughtContent(key, 1, line.format, line.sha512, int(line.length))
        content = self._contents.get(sought)
        if content is None:
            return text
        content = msgspec.structs.replace(
            content,
            media_type=line.media_type,
            charset=None if line.charset == stored.NONE else line.charset,
            language=None if line.language == stored.NONE else line.language,
        )
        name = spell_full_name(key, _UNNAMED, 1, line.format)
        placed = self._ledger.place_content(name, 1, content)
        return line.place_at(placed.segment, placed.offset)
