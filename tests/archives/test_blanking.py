"""Blank records: every record of other programs' files can be erased, and all readers go on."""

from __future__ import annotations

import contextlib
import io
import shutil
from pathlib import Path

import pytest
from tests.archives.test_scanning import FILES, everything, flaws
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from perdure.archives.checking import check_file
from perdure.archives.files.blank_members import RecordNotBlankable
from perdure.archives.files.blanking import plan_blanking, write_blanking
from perdure.archives.files.scanning import ArchivePlace
from perdure.archives.index.sqlite_index import ArchiveFile
from perdure.archives.library import Library
from perdure.archives.port import Capture
from perdure.settings import Settings

UNABLE = (".lz4", "clipped.warc.gz", "Headers.warc", "redirect.warc", "in-url.arc")
"""How the files end of which no record can be erased: by their codec, or lengths that are wrong."""


def read_with_warcio(path: Path) -> tuple[int, set[int]]:
    """The number of records that warcio reads, and the offsets of those with a wrong digest."""
    count, wrong = 0, set()
    with contextlib.redirect_stderr(io.StringIO()), path.open("rb") as file:
        records = ArchiveIterator(file, check_digests=True)
        try:
            for record in records:
                count += 1
                record.content_stream().read()
                if record.digest_checker.passed is False:
                    wrong.add(records.get_record_offset())
        except (ArchiveLoadFailed, AttributeError):  # warcio 1.8 and a newer brotli
            pass
    return count, wrong


@pytest.mark.parametrize("source", FILES, ids=lambda path: path.name)
def test_every_record_of_a_file_can_be_erased(source: Path, tmp_path: Path) -> None:
    path = tmp_path / source.name
    shutil.copyfile(source, path)
    before, shared = everything(path)
    captures = [one for one in before if isinstance(one, Capture)]
    if shared or not captures:
        return
    known = read_with_warcio(path)
    library = Library(tmp_path, Settings())
    erased = set()
    try:
        (added,) = library.add_file(path)
        found = library.find_place(added.file.name)
        assert found
        _, place = found
        known_faults = find_faults(library, added.file, place)
        with path.open("rb+") as file:
            for one in captures:
                if blank_record(library, place, one, file.fileno()):
                    erased.add(one.offset)
        after, _ = everything(path)
        assert path.stat().st_size == source.stat().st_size
        assert list(map(describe, captures)) == [
            describe(one) for one in after if isinstance(one, Capture)
        ]
        assert set(flaws(after)) <= set(flaws(before))
        count, wrong = read_with_warcio(path)
        assert count >= known[0]
        assert wrong <= known[1] - erased
        assert find_faults(library, added.file, place) <= known_faults
        assert erased or source.name.endswith(UNABLE)
    finally:
        library.close()


def describe(one: Capture) -> tuple[object, ...]:
    return one.uri, one.date, one.kind, one.offset, one.length, one.status


def blank_record(library: Library, place: ArchivePlace, one: Capture, fd: int) -> bool:
    """Blank a record and return True; return False if it is refused, and then left as it was."""
    with library.files.open_at(place, "x", one.offset, one.length) as record:
        try:
            planned = plan_blanking(place, "x", record, one.offset, one.length)
        except RecordNotBlankable:
            return False
    assert planned
    write_blanking(fd, planned)
    with library.files.open_at(place, "x", one.offset, one.length) as record:
        assert plan_blanking(place, "x", record, one.offset, one.length) is None
    return True


def find_faults(library: Library, file: ArchiveFile, place: ArchivePlace) -> set[tuple[int, str]]:
    """What `archive check` finds in the file itself, whatever the index says."""
    met = check_file(file, place, library.files, library.own_captures)
    return {(one.offset, one.fault) for one in met if one.problem} - {
        (one.offset, "not as indexed") for one in everything(Path(place.path))[0]
    }
