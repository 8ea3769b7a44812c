"""Deposits under way at the desk: files that were uploaded, and are not minted yet.

How it works: a draft is one file, `desk/drafts/<id>`, with the hashed contents; long ones are in
`incoming/`, as those of every upload are, and the write door adopts them when the draft is minted.
A draft that was minted keeps its receipts, so that its page can be opened again.

What must stay true: only the token that made a draft reads or changes it. A draft that was not
touched for half a day goes, before `incoming` is cleared of what it refers to. There are never more
than `MOST_EACH` drafts of one token, and their bytes together have a bound (setting `draft_bytes`).
"""

from __future__ import annotations

import re
import secrets
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from perdure.errors.limits import DraftsTooMany
from perdure.errors.lookup import DraftUnknown
from perdure.model.commands import Content, Receipt
from perdure.storage.byte_ports import INCOMING
from perdure.storage.durable import write_durably
from perdure.storage.spool import discard_content

PLACE = Path("desk", "drafts")
LASTING = 12 * 3600  # seconds
MOST_EACH = 20
_ID = re.compile("[0-9a-f]{32}")


class StagedFile(msgspec.Struct, frozen=True, kw_only=True):
    """An uploaded file."""

    name: str
    """As the depositor's computer named it, without directories. It is only shown."""
    content: Content
    detected: str
    """The media type that was detected."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A deposit under way."""

    id: str
    token: str
    """The name of the token that made it."""
    made: str
    series: str = ""
    of: str = ""
    """The document of which this is the next version, if it is not a new one."""
    expect: int | None = None
    """The revision of that document when the files arrived."""
    together: bool = True
    """All files are formats of one document."""
    files: tuple[StagedFile, ...] = ()
    described: dict[str, str] = {}
    """The fields of the form about the document."""
    receipts: tuple[Receipt, ...] = ()

    @property
    def is_minted(self) -> bool:
        return len(self.receipts) == self.document_count

    @property
    def document_count(self) -> int:
        return 1 if self.together else len(self.files)


class Drafts:
    """The drafts of one registry."""

    def __init__(self, root: Path) -> None:
        self._place = root / PLACE
        self._incoming = root / INCOMING

    def make_id(self, token: str) -> str:
        """Make the identity of a new draft. Raises DraftsTooMany."""
        self._clear_away()
        if len(self.list_drafts(token)) >= MOST_EACH:
            raise DraftsTooMany(limit=MOST_EACH)
        return secrets.token_hex(16)

    def save_draft(self, draft: Draft) -> None:
        """Keep a draft. Raises OSError."""
        self._place.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_durably(self._place / draft.id, msgspec.json.encode(draft))

    def load_draft(self, id: str, token: str) -> Draft:
        """Return a draft. Raises DraftUnknown, also if another token made it."""
        draft = self._read_draft(self._place / id) if _ID.fullmatch(id) else None
        if draft is None or draft.token != token:
            raise DraftUnknown(identifier=id)
        return draft

    def list_drafts(self, token: str) -> list[Draft]:
        """Return the drafts of a token, the newest first."""
        if not self._place.is_dir():
            return []
        found = [
            self._read_draft(file) for file in self._place.iterdir() if _ID.fullmatch(file.name)
        ]
        own = [draft for draft in found if draft is not None and draft.token == token]
        return sorted(own, key=lambda draft: (draft.made, draft.id), reverse=True)

    def measure_bytes(self, token: str) -> int:
        """Return the bytes of a token's files that are not minted yet."""
        own = [draft for draft in self.list_drafts(token) if not draft.receipts]
        return sum(file.content.length for draft in own for file in draft.files)

    def discard_draft(self, draft: Draft) -> None:
        """Remove a draft and, if it is not minted, its files."""
        (self._place / draft.id).unlink(missing_ok=True)
        if not draft.receipts:
            for file in draft.files:
                discard_content(self._incoming, file.content)

    @staticmethod
    def _read_draft(file: Path) -> Draft | None:
        try:
            return msgspec.json.decode(file.read_bytes(), type=Draft)
        except (OSError, msgspec.MsgspecError):
            return None

    def _clear_away(self) -> None:
        for file in self._place.glob("*"):
            with suppress(OSError):
                if file.stat().st_mtime < time.time() - LASTING:
                    draft = self._read_draft(file)
                    if draft is None:
                        file.unlink()
                    else:
                        self.discard_draft(draft)
