"""The words of captures: their texts and the titles of their pages, for the index and for searches.

How it works: the payload of a capture is read as a document of its media type
(`perdure.reading.plain_texts`), a page in HTML as its lines. Redirects, errors, and what a crawler
made of a page (its text, a picture of it) are not read, and neither are revisits, whose content is
another capture's. Files that are new or were changed are read again; takedowns are carried out
first.

What must stay true: a capture that was taken down is not read. Nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from perdure.archives.derivatives import find_page
from perdure.archives.index.ranges import walk_range
from perdure.archives.port import Capture
from perdure.archives.readable import ReadableArchive
from perdure.archives.withholding import Withholding
from perdure.errors import PerdureError
from perdure.extractors.markup.page_text import read_page_text, read_page_title
from perdure.extractors.plain_text import check_size
from perdure.extractors.port import Source
from perdure.extractors.warc_text import decode_payload
from perdure.policy.searching.matching import SearchedText
from perdure.reading.extraction import PartExtraction
from perdure.reading.plain_texts import open_payload
from perdure.registry import Registry
from perdure.upkeep.own_captures import is_page, list_changed, stamp_files, walk_answers
from perdure.upkeep.searching.capture_table import CaptureTable
from perdure.upkeep.searching.text_index import EntryWords

_TOGETHER = 200  # captures in one transaction
_HEAD = 128 << 10  # characters of a page with its title
NoteUnread = Callable[[Capture, Exception], None]


class CaptureWords(NamedTuple):
    """The words of a capture."""

    title: SearchedText
    text: SearchedText


def read_capture_words(
    parts: PartExtraction, archive: ReadableArchive, capture: Capture
) -> CaptureWords:
    """Read the words of a capture; without a text, they are empty.

    Raises the errors of opening the capture and of reading its text.
    """
    with open_payload(archive, capture) as source:
        if is_page(capture):
            return _read_page(source, xhtml=capture.media_type != "text/html")
        found = parts.read_characters(source)
    text = SearchedText("") if found is None else SearchedText(*found)
    return CaptureWords(SearchedText(""), text)


def _read_page(source: Source, *, xhtml: bool) -> CaptureWords:
    """Read the lines of a page: its text has no parts to which places in it could refer."""
    check_size(source)
    data = source.read_bytes(0, source.length)
    page = decode_payload(data, source.essence, source.charset)
    text = read_page_text(page, source.name, xhtml=xhtml)
    return CaptureWords(SearchedText(read_page_title(page[:_HEAD])), SearchedText(text))


# following
# ---------


def has_unread_captures(registry: Registry, table: CaptureTable) -> bool:
    """Return True if archive files or takedowns are newer than the index."""
    taken_down = len(registry.archive.withheld.list_lines())
    return table.count_takedowns() != taken_down or stamp_files(registry) != table.list_files()


def carry_out_takedowns(registry: Registry, table: CaptureTable) -> None:
    """Delete what was taken down since, in the transaction of the caller.

    The files of takedowns that ended are forgotten, so they are read again.
    """
    lines = registry.archive.withheld.list_lines()
    for line in lines[table.count_takedowns() :]:
        for capture in _walk_covered(registry, line):
            if line.lifts:
                table.forget_file(capture.file)
            else:
                table.delete_capture(capture)
    table.note_takedowns(len(lines))


def _walk_covered(registry: Registry, takedown: Withholding) -> Iterator[Capture]:
    for stretch in takedown.list_ranges():
        for one in walk_range(registry.archive.own_captures, stretch):
            if takedown.covers(one.uri, one.time, one.time):
                yield one


def forget_changed_files(registry: Registry, table: CaptureTable) -> dict[str, str]:
    """Forget the files that are new, changed or gone. Return those to read, each with its stamp."""
    present = stamp_files(registry)
    changed = list_changed(present, table.list_files())
    for name in changed:
        table.forget_file(name)
    return {name: stamp for name, stamp in present.items() if name in changed}


def add_captures(
    registry: Registry,
    table: CaptureTable,
    parts: PartExtraction,
    files: dict[str, str],
    note_unread: NoteUnread,
) -> Iterator[Iterator[int]]:
    """Add the captures of files. Iterate over each iterator in a transaction of its own; it yields
    the length of each text."""
    found = registry.archive.withheld.select_served(walk_answers(registry, set(files)))
    wanted = (
        one for one in found if find_page(one.uri) is None and parts.may_have_text(one.media_type)
    )
    while some := list(islice(wanted, _TOGETHER)):
        yield _add_some(registry, table, parts, some, note_unread)


def _add_some(
    registry: Registry,
    table: CaptureTable,
    parts: PartExtraction,
    captures: list[Capture],
    note_unread: NoteUnread,
) -> Iterator[int]:
    for capture in captures:
        try:
            read = read_capture_words(parts, registry.archive, capture)
        except PerdureError as problem:  # damaged, too large, no library to read it
            note_unread(capture, problem)
            continue
        words = EntryWords(read.text.folded, read.title.folded, "", "")
        if words.length:
            table.add_capture(capture, words)
        yield words.length
