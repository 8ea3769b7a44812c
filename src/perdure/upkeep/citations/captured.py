"""The links of captured pages: captures in the archive files of this registry, as citing documents.

How it works: the index of citations has a row for each archive file that was read. If a file is
new, changed or gone, the rows of its captures are removed, and the pages in it are read again; the
name of a page is its PWID under the setting `archive_id`. What a page refers to is found as in a
document in HTML (`perdure.reading.links.markup`). A link has no position: no PWID names a part.

What must stay true: nothing is fetched. A run that was interrupted is repeated. Whether a reader
may have a capture is decided when its row is read (`CapturedPages`), never here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from perdure.archives.index.ranges import IndexRange, walk_range
from perdure.archives.opening import open_capture
from perdure.archives.port import Capture
from perdure.archives.pwid.making import make_pwid, spell_item
from perdure.errors import PerdureError
from perdure.extractors.markup.tags import HTML
from perdure.extractors.warc_text import decode_payload
from perdure.formats import MediaType
from perdure.ids.pwid import Pwid
from perdure.ids.urlkey import make_url_key
from perdure.model.queries import Reader
from perdure.policy.access import may_read_captures
from perdure.reading.links.declared import MOST_LINKS, DeclaredLink
from perdure.reading.links.markup import find_marked
from perdure.registry import Registry
from perdure.upkeep.citations.citation_index import CitationIndex

_EVERYTHING = IndexRange("", "\x7f")
_KINDS = ("response", "resource")
_PAGES = ("text/html", "application/xhtml+xml")
_FINE = (None, 200)
_LONGEST = 16 << 20  # bytes of a page
_PAGE = "page"
_TOGETHER = 500  # captures in one transaction


def has_unread_files(registry: Registry, index: CitationIndex) -> bool:
    """Return whether archive files were added, changed or removed since their pages were read."""
    return _stamp_files(registry) != index.list_archive_files()


def index_captures(registry: Registry, index: CitationIndex) -> None:
    """Read the pages of archive files that are new or were changed."""
    with index.hold_lock():
        present, known = _stamp_files(registry), index.list_archive_files()
        if present == known:
            return
        changed = {name for name in present | known if present.get(name) != known.get(name)}
        with index.connection:
            for name in changed:
                index.forget_archive_file(name)
        found = walk_range(registry.archive.own_captures, _EVERYTHING)
        wanted = (one for one in found if one.file in changed and _is_page(one))
        while _index_some(registry, index, wanted):
            pass
        with index.connection:
            for name in changed & present.keys():
                index.note_archive_file(name, present[name])


def _stamp_files(registry: Registry) -> dict[str, str]:
    """Return the names of the archive files, each with what changes when its content does."""
    if not registry.settings.archive_id:
        return {}
    return {
        one.name: f"{registry.settings.archive_id} {one.size} {one.modified}"
        for one in registry.archive.list_files()
    }


def _is_page(capture: Capture) -> bool:
    return capture.kind in _KINDS and capture.media_type in _PAGES and capture.status in _FINE


def _index_some(registry: Registry, index: CitationIndex, wanted: Iterator[Capture]) -> bool:
    """Index the next captures in one transaction. Return whether there were any."""
    with index.connection:
        for number, capture in enumerate(wanted, 1):
            try:
                pwid = make_pwid(registry.settings.archive_id, capture.time, _PAGE, capture.uri)
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


class CapturedPages:
    """The captured pages that one reader may read."""

    def __init__(self, registry: Registry, reader: Reader) -> None:
        settings = registry.settings
        self._own = (settings.archive_id, *settings.archive_aliases)
        known = registry.web_archives.find_archive(settings.archive_id)
        self._is_open = may_read_captures(reader, known.access if known else "unknown")
        self._archive = registry.read_archive(reader)

    def may_read(self, name: Pwid) -> bool:
        """Return whether the reader may have the page that a PWID of this archive names."""
        if name.archive not in self._own or not self._is_open:
            return False
        key, time = make_url_key(name.item), "".join(filter(str.isdigit, name.time))
        stretch = IndexRange(f"{key} {time}", f"{key} {time}~")
        return any(
            spell_item(one.uri) == name.item for one in walk_range(self._archive.captures, stretch)
        )
