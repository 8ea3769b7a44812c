"""Open a capture for reading; its payload may be in the record of another capture.

How it works: the payload of a revisit is in its original (`perdure.archives.index.revisits`), its
status and header fields are in its own record, if it has any. A redirect needs no payload, so a
revisit that recorded one is complete without its original.

What must stay true: status and header fields are never taken from another capture if the record has
its own; a missing original is reported, never replaced.
"""

from __future__ import annotations

from contextlib import closing
from http import HTTPStatus

import msgspec

from perdure.archives.capture.references import resolve_address
from perdure.archives.files.heads import find_value
from perdure.archives.index.revisits import find_original
from perdure.archives.port import ArchivedRecord, ArchiveFiles, Capture, Captures
from perdure.errors import OriginalMissing, PerdureError

REDIRECTS = frozenset((301, 302, 303, 307, 308))


class OpenedCapture(msgspec.Struct, frozen=True, kw_only=True):
    """A capture, and the open record that has its payload."""

    capture: Capture
    holder: Capture
    """The capture of the record: this capture or, if it is a revisit, its original."""
    record: ArchivedRecord
    headers: list[tuple[str, str]]
    """The header fields of the capture itself, if it has any."""
    status: int | None


def open_capture(captures: Captures, files: ArchiveFiles, capture: Capture) -> OpenedCapture:
    """Open a capture. The caller closes its record.

    Raises OriginalMissing if the capture is a revisit without an original, NotFound, Corrupt or
    Unavailable.
    """
    found = find_original(captures, capture, files)
    if found.capture == capture:
        record = files.open_record(capture)
        return _describe_opened(capture, capture, record, record)
    own = files.open_record(capture)
    if found.capture is None:
        if is_redirect(own):
            return _describe_opened(capture, capture, own, own)
        own.close()
        raise OriginalMissing(identifier=capture.uri, date=capture.date, original=found.wanted)
    with closing(own):
        return _describe_opened(capture, found.capture, files.open_record(found.capture), own)


def is_redirect(record: ArchivedRecord) -> bool:
    """Return True if a record leads elsewhere. A revisit that does is complete by itself."""
    return record.status in REDIRECTS and bool(find_value(record.headers, "Location"))


def _describe_opened(
    capture: Capture, holder: Capture, record: ArchivedRecord, own: ArchivedRecord
) -> OpenedCapture:
    """Describe an open record; `own` is the record of the capture itself."""
    has_status = own.status not in (None, HTTPStatus.NOT_MODIFIED)
    return OpenedCapture(
        capture=capture,
        holder=holder,
        record=record,
        headers=list(own.headers or record.headers),
        status=own.status if has_status else record.status,
    )


def find_redirect_target(captures: Captures, files: ArchiveFiles, redirect: Capture) -> str:
    """Return the target of an archived redirect, without its fragment.

    The result is empty if the capture is not a redirect, if its target is not on the Web, or if it
    cannot be read.
    """
    if redirect.status not in REDIRECTS:
        return ""
    try:
        opened = open_capture(captures, files, redirect)
    except PerdureError:
        return ""
    opened.record.close()
    location = find_value(opened.headers, "Location")
    uri = (resolve_address(redirect.uri, location) or "").partition("#")[0] if location else ""
    return uri if uri.startswith(("http://", "https://")) else ""
