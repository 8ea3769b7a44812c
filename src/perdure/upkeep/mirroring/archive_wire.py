"""The messages about archive files between an origin and its mirrors.

    GET /archive-files                                 an ArchiveListing in JSON
    GET /archive-files?name=<name>&start=0&length=<n>  bytes of a file

How it works: the mirror asks for a listing with the entity tag of the last one, and waits for
another one. It asks for a file piece by piece, so that it reads a new listing between two pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import urlencode

import msgspec

from perdure.archives.announcing import ArchiveListing
from perdure.model.changes import ChangeMark, parse_mark
from perdure.upkeep.mirroring.client import RegistryClient

PATH = "/archive-files"
MEDIA_TYPE = "application/octet-stream"
_decode_listing = msgspec.json.Decoder(ArchiveListing).decode


class AnnouncedArchive(msgspec.Struct, frozen=True, kw_only=True):
    """A listing, as a mirror got it."""

    listing: ArchiveListing
    head: ChangeMark | None
    """The last change that the origin had when it made the listing."""
    tag: str


class ArchiveClient(RegistryClient):
    """Asks one registry for its archive files. One thread uses it."""

    def fetch_listing(self, tag: str = "", *, wait: int = 0) -> AnnouncedArchive | None:
        """Fetch the listing; None if it has not changed within `wait` seconds since the last one.

        `tag`: the entity tag of the last one. Raises OriginUnusable.
        """
        fields = {"If-None-Match": tag} if tag else {}
        if wait:
            fields["Prefer"] = f"wait={wait}"
        answer = self._ask("GET", PATH, None, fields, wait=wait)
        if answer.status == HTTPStatus.NOT_MODIFIED:
            self._drop(answer)
            return None
        self._check_status(answer)
        head = parse_mark(answer.headers.get("Perdure-Head", ""), current=0)
        tag = answer.headers.get("ETag", "")
        try:
            listing = _decode_listing(self._read_all(answer))
        except msgspec.MsgspecError as error:
            fault = f"its list of archive files cannot be read: {error}"
            raise self._make_unusable(fault) from error
        return AnnouncedArchive(listing=listing, head=head, tag=tag)

    def fetch_piece(
        self, name: str, start: int, length: int, write: Callable[[bytes], object]
    ) -> None:
        """Fetch bytes of an archive file, and write them as they come. Raises OriginUnusable."""
        asked = urlencode({"name": name, "start": start, "length": length})
        answer = self._ask("GET", f"{PATH}?{asked}", None, {"Accept-Encoding": "identity"})
        self._check_status(answer)
        while length:
            piece = self._read_piece(answer, length)
            write(piece)
            length -= len(piece)
        self._drop(answer)
