"""The captures in the archive files of a registry, for indexes that read them.

How it works: an archive file has a stamp that changes with its content. An index remembers the
stamps of the files that it has read, so it reads only files that are new or were changed. The name
of a capture is its PWID under the setting `archive_id`; without this setting, captures have no
names, and nothing is read.

What must stay true: nothing is fetched. Whether a reader may have a capture is decided when it is
found in an index (`OwnCaptures`), never when it is indexed.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.archives.index.ranges import IndexRange, walk_range
from perdure.archives.port import Capture
from perdure.archives.pwid.making import make_pwid, spell_item
from perdure.ids.pwid import Pwid
from perdure.ids.urlkey import make_url_key
from perdure.model.queries import Reader
from perdure.policy.access import may_read_captures
from perdure.registry import Registry

_EVERYTHING = IndexRange("", "\x7f")
_KINDS = ("response", "resource")
_FINE = (None, 200)
_PAGES = ("text/html", "application/xhtml+xml")


def stamp_files(registry: Registry) -> dict[str, str]:
    """Return the names of the archive files, each with its stamp."""
    if not registry.settings.archive_id:
        return {}
    return {
        one.name: f"{registry.settings.archive_id} {one.size} {one.modified}"
        for one in registry.archive.list_files()
    }


def list_changed(present: dict[str, str], known: dict[str, str]) -> set[str]:
    """Return the files that are new, changed or gone, by their stamps now and then."""
    return {name for name in present | known if present.get(name) != known.get(name)}


def walk_answers(registry: Registry, files: set[str]) -> Iterator[Capture]:
    """Yield the captures in some files that are complete answers, in the order of their URLs."""
    for one in walk_range(registry.archive.own_captures, _EVERYTHING):
        if one.file in files and one.kind in _KINDS and one.status in _FINE:
            yield one


def is_page(capture: Capture) -> bool:
    """Return True if a capture is a page in HTML."""
    return capture.media_type in _PAGES


def name_capture(registry: Registry, capture: Capture) -> Pwid:
    """Return the PWID of a capture. Raises MalformedIdentifier."""
    coverage = "page" if is_page(capture) else "part"
    return make_pwid(registry.settings.archive_id, capture.time, coverage, capture.uri)


class OwnCaptures:
    """The captures in the archive of a registry that one reader may read."""

    def __init__(self, registry: Registry, reader: Reader) -> None:
        settings = registry.settings
        self._own = (settings.archive_id, *settings.archive_aliases)
        self.is_open = may_read_captures(reader, registry.capture_access)
        """False if the reader may read no capture."""
        self.archive = registry.read_archive(reader)

    def may_read(self, name: Pwid) -> bool:
        """Return whether the reader may read the page that a PWID of this archive names."""
        if name.archive not in self._own:
            return False
        time = "".join(filter(str.isdigit, name.time))
        return any(spell_item(one.uri) == name.item for one in self._walk(name.item, time))

    def find_capture(self, uri: str, time: str) -> Capture | None:
        """Return a capture of exactly this URI and second, if the reader may read it."""
        return next((one for one in self._walk(uri, time) if one.uri == uri), None)

    def _walk(self, uri: str, time: str) -> Iterator[Capture]:
        if self.is_open:
            key = make_url_key(uri)
            stretch = IndexRange(f"{key} {time}", f"{key} {time}~")
            yield from walk_range(self.archive.captures, stretch)
