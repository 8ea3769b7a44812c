"""The links of captured pages: captures in the archive files of this registry, as citing documents.

How it works: the index of citations has a row for each archive file that was read. If a file is
new, changed or gone, the rows of its captures are removed, and the pages in it are read again; the
name of a page is its PWID under the setting `archive_id`. What a page refers to is found as in a
document in HTML (`perdure.reading.links.markup`). A link has no position: no PWID names a part.

What must stay true: nothing is fetched. A run that was interrupted is repeated. Whether a reader
may have a capture is decided when its row is read (`perdure.upkeep.own_captures`), never here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from perdure.archives.opening import open_capture
from perdure.archives.port import Capture
from perdure.errors import PerdureError
from perdure.extractors.markup.tags import HTML
from perdure.extractors.warc_text import decode_payload
from perdure.formats import MediaType
from perdure.reading.links.declared import MOST_LINKS, DeclaredLink
from perdure.reading.links.markup import find_marked
from perdure.registry import Registry
from perdure.upkeep.citations.citation_index import CitationIndex
from perdure.upkeep.own_captures import (
    is_page,
    list_changed,
    name_capture,
    stamp_files,
    walk_answers,
)

_LONGEST = 16 << 20  # bytes of a page
_TOGETHER = 500  # captures in one transaction


def has_unread_files(registry: Registry, index: CitationIndex) -> bool:
    """Return whether archive files were added, changed or removed since their pages were read."""
    return stamp_files(registry) != index.list_archive_files()


def index_captures(registry: Registry, index: CitationIndex) -> None:
    """Read the pages of archive files that are new or were changed."""
    with index.hold_lock():
        present = stamp_files(registry)
        changed = list_changed(present, index.list_archive_files())
        if not changed:
            return
        with index.connection:
            for name in changed:
                index.forget_archive_file(name)
        wanted = filter(is_page, walk_answers(registry, changed))
        while _index_some(registry, index, wanted):
            pass
        with index.connection:
            for name in changed & present.keys():
                index.note_archive_file(name, present[name])


def _index_some(registry: Registry, index: CitationIndex, wanted: Iterator[Capture]) -> bool:
    """Index the next captures in one transaction. Return whether there were any."""
    with index.connection:
        for number, capture in enumerate(wanted, 1):
            try:
                pwid = name_capture(registry, capture)
                links = list(_list_links(registry, capture))[:MOST_LINKS]
            except (PerdureError, ValueError):  # damaged, or of an address that no PWID can name
                continue
            if links:
                index.add_capture(capture.file, pwid, capture.date[:10], links)
            if number == _TOGETHER:
                return True
    return False


def _list_links(registry: Registry, capture: Capture) -> Iterator[DeclaredLink]:
    archive = registry.archive
    opened = open_capture(archive.own_captures, archive.files, capture)
    payload = bytearray()
    with closing(opened.record) as record:
        for chunk in record.read_payload():
            payload += chunk
            if len(payload) > _LONGEST:
                return
    stated = next((text for name, text in opened.headers if name.lower() == "content-type"), "")
    page = decode_payload(bytes(payload), capture.media_type, _find_charset(stated))
    bases = tuple(filter(None, (registry.settings.base_url,)))
    for one in find_marked(page.encode("utf-8", "replace"), HTML, bases):
        yield DeclaredLink(one.how, one.identifier, None, 0)


def _find_charset(field: str) -> str | None:
    try:
        return dict(MediaType.parse(field).parameters).get("charset")
    except PerdureError:
        return None
