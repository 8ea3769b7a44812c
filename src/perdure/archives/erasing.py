"""Erase captures: in the archive files of the registry directory, and in the index of captures.

How it works: an erasure follows a takedown. `plan_erasure` lists the records of the captures that
the takedown is about, with the requests and metadata that belong to them, and says for each what is
written over it (`perdure.archives.files.blanking`), or why it cannot be reached. `carry_out`
overwrites them in their place, indexes their files again, and merges all runs of the index, so that
no digest or query of the erased captures is left. `captures/erased.json` lists the files in which
something was erased: a backup copies these again.

What must stay true: a file outside the registry directory is never written to, nor one that has
another name (a hard link) outside; every step can be repeated after a crash at any point; a file
that is not the one that was planned for is left alone, and reported.  # ruling: tombstone-silence
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import msgspec

from perdure.archives import derivatives
from perdure.archives.digests import compare_digests
from perdure.archives.files import heads
from perdure.archives.files.blank_members import RecordNotBlankable
from perdure.archives.files.blanking import plan_blanking, write_at, write_blanking
from perdure.archives.files.package_mending import PackageMending, plan_mending
from perdure.archives.files.windows import find_first_frame
from perdure.archives.index import ranges
from perdure.archives.index.sqlite_index import ArchiveFile
from perdure.archives.library import DIRECTORY, Library, is_package
from perdure.archives.port import Capture, CaptureBlanking
from perdure.archives.withholding import Withholding
from perdure.errors import Corrupt, NotFound, Unavailable
from perdure.ids.urlkey import make_url_key
from perdure.storage.checked_file import load_checked, save_checked

_log = logging.getLogger(__name__)

MOST_ERASED = 10_000
"""Records that one erasure overwrites."""
_LIST = "erased.json"
_MENDING = "mending-{}.json"
_ATTACHED = ("request", "metadata")
_UNPACKED = "the WACZ package from which its file was unpacked has it, too"
_DICTIONARY = "the zstd dictionary of the file was made of such records, and may have words of it"
_PAYLOADS = ("response", "resource", "conversion", "revisit")


class CaptureErasure(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of one erasure."""

    blankings: tuple[CaptureBlanking, ...] = ()
    unreached: tuple[str, ...] = ()
    """What the plan cannot reach, and why."""
    blank: int = 0
    """Records that are erased already."""
    exceeds: bool = False
    """There are more than `MOST_ERASED` records; the plan is empty."""


def plan_erasure(library: Library, takedown: Withholding) -> CaptureErasure:
    """Plan to erase the captures of a takedown. Raises Unavailable if the index is damaged."""
    found = _list_covered(library, takedown)
    if len(found) > MOST_ERASED:
        return CaptureErasure(exceeds=True)
    found += _list_attached(library, takedown, found)
    blankings: list[CaptureBlanking] = []
    sound: list[Capture] = []
    missed: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    blank = 0
    for one in found:
        try:
            planned = _plan_record(library, one)
        except RecordNotBlankable as error:
            missed[one.file, str(error)].append(one.offset)
            sound.append(one)
            continue
        if planned is None:
            blank += 1
            continue
        sound.append(one)
        blankings.append(planned)
        if planned.codec == "zstd" and _has_dictionary(library, one.file):
            missed[one.file, _DICTIONARY].append(one.offset)
        if "/" in one.file and _is_unpacked(library, one.file):
            missed[one.file, _UNPACKED].append(one.offset)
    unreached = [*_describe_missed(missed), *_describe_same(library, takedown, sound)]
    return CaptureErasure(blankings=tuple(blankings), unreached=tuple(unreached), blank=blank)


def _has_dictionary(library: Library, name: str) -> bool:
    found = library.find_place(name)
    if found is None:
        return False
    with found[1].open_window() as window:
        return find_first_frame(window) > 0


def _is_unpacked(library: Library, name: str) -> bool:
    """Return whether a file in a WACZ package is read from a copy that was unpacked."""
    found = library.find_place(name)
    return found is not None and not found[1].base


def _list_covered(library: Library, takedown: Withholding) -> list[Capture]:
    """Return the captures that a takedown is about, at most one more than `MOST_ERASED`.

    First of all those of the pages, then what a crawler made of them.
    """
    found: dict[tuple[str, int], Capture] = {}
    for one in chain(_walk_captures(library, takedown), _walk_derivatives(library, takedown)):
        found[one.file, one.offset] = one
        if len(found) > MOST_ERASED:
            break
    return list(found.values())


def _walk_captures(library: Library, takedown: Withholding) -> Iterator[Capture]:
    for stretch in takedown.list_ranges():
        for one in ranges.walk_range(library.own_captures, stretch):
            if takedown.covers(one.uri, one.time, one.time):
                yield one


def _walk_derivatives(library: Library, takedown: Withholding) -> Iterator[Capture]:
    """Yield what crawlers made of the captures that a takedown is about. Reads all such records."""
    stretches = takedown.list_ranges()
    for one in chain.from_iterable(
        ranges.walk_range(library.own_captures, stretch) for stretch in derivatives.list_ranges()
    ):
        page = derivatives.find_page(one.uri)
        if page is None or not takedown.covers_derivatives(page, one.time, one.time):
            continue
        place = f"{make_url_key(page)} {one.time}"
        if any(low <= place < high for low, high in stretches):
            yield one


def _walk_urls(library: Library, found: Iterable[Capture]) -> Iterator[Capture]:
    """Yield all records of the URLs of some captures."""
    for key in dict.fromkeys(one.key for one in found):
        yield from ranges.walk_range(library.own_captures, ranges.IndexRange(f"{key} ", f"{key}!"))


def _list_attached(library: Library, takedown: Withholding, found: list[Capture]) -> list[Capture]:
    """Return the requests and metadata of captures that have another time than these.

    In some files, the response names its request, not the other way round.
    """
    own = [_read_links(library, one) for one in found]
    ids = {id for id, _ in own if id}
    named = set().union(*(names for _, names in own)) if own else set()
    files = {one.file for one in found}
    attached = []
    for one in _walk_urls(library, found):
        is_apart = one.kind in _ATTACHED and one.file in files
        if not is_apart or takedown.covers(one.uri, one.time, one.time):
            continue
        id, names = _read_links(library, one)
        if id in named or names & ids:
            attached.append(one)
    return attached


def _read_links(library: Library, capture: Capture) -> tuple[str, set[str]]:
    """Return the id of a record, and the ids of the records that it names as its own."""
    try:
        with library.files.open_record(capture) as record:
            fields = record.fields
    except (Corrupt, NotFound, Unavailable):
        return "", set()
    names = {"warc-concurrent-to"} | ({"warc-refers-to"} if capture.kind == "metadata" else set())
    linked = {
        heads.strip_brackets(value.strip()) for name, value in fields if name.lower() in names
    }
    return heads.strip_brackets(heads.find_value(fields, "WARC-Record-ID")), linked


def _plan_record(library: Library, capture: Capture) -> CaptureBlanking | None:
    found = library.find_place(capture.file)
    if found is None:
        raise RecordNotBlankable("its file is not registered any more")
    file, place = found
    _check_reachable(file, Path(place.path))
    try:
        with library.files.open_record(capture) as record:
            return plan_blanking(place, file.path, record, capture.offset, capture.length)
    except (Corrupt, NotFound, Unavailable, OSError) as error:
        raise RecordNotBlankable(f"it cannot be read: {error}") from None


def _check_reachable(file: ArchiveFile, path: Path) -> None:
    """Raise RecordNotBlankable if a file is not the registry's own alone."""
    if Path(file.path).is_absolute():
        raise RecordNotBlankable(
            f"{path} is outside the registry directory; to have it erased here, move it in: "
            "perdure archive add --move"
        )
    try:
        state = path.lstat()
    except OSError as error:
        raise RecordNotBlankable(f"the file cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(state.st_mode):
        raise RecordNotBlankable("it is not a regular file")
    if state.st_nlink > 1:
        raise RecordNotBlankable("the file has another name (a hard link): delete that first")
    if not os.access(path, os.W_OK):
        raise RecordNotBlankable("perdure may not write to the file: change its permissions first")


def _describe_missed(missed: dict[tuple[str, str], list[int]]) -> Iterator[str]:
    for (file, reason), offsets in missed.items():
        more = f" and {len(offsets) - 1} more" if len(offsets) > 1 else ""
        yield f"archive file {file}, record at {offsets[0]}{more}: {reason}"


def _describe_same(library: Library, takedown: Withholding, found: list[Capture]) -> Iterator[str]:
    """Describe other captures of the same URLs that have, or refer to, an erased payload."""
    payloads = [one for one in found if one.kind in _PAYLOADS and one.digest]
    digests = {one.digest for one in payloads}
    if not digests:
        return
    planned = {(one.file, one.offset) for one in found}
    for one in _walk_urls(library, payloads):
        if one.kind not in _PAYLOADS or takedown.covers(one.uri, one.time, one.time):
            continue
        if (one.file, one.offset) in planned:
            continue
        if any(compare_digests(one.digest, digest) for digest in digests):
            what = "refers to the same payload" if one.kind == "revisit" else "has the same payload"
            yield (
                f"archive file {one.file}, record at {one.offset}: the capture of {one.date} "
                f"{what}; erase its PWID, too"
            )


# Carrying it out
# ---------------


def carry_out(root: Path, library: Library, blankings: Iterable[CaptureBlanking]) -> list[str]:
    """Do what a plan says. Return what may still have erased bytes.

    It can be repeated. Raises OSError, StorageFailed or Unavailable; then repeat it.
    """
    unreached = []
    of_files: defaultdict[str, list[CaptureBlanking]] = defaultdict(list)
    for one in blankings:
        of_files[one.path].append(one)
    note_erased(root, of_files)
    done = []
    for path, ours in of_files.items():
        problem = _blank_file(root / DIRECTORY / path, ours)
        if problem:
            unreached.append(f"archive file {path}: {problem}")
            continue
        done.append(path)
        if is_package(root / DIRECTORY / path):
            found = _mend_package(root / DIRECTORY, path, ours)
            unreached += (f"archive file {path}: {one}" for one in found)
    try:
        if not library.index_again(done):
            unreached.append(f"{DIRECTORY}/index.sqlite-wal, as long as others read it")
    except Corrupt as error:  # it has to be repaired first, and the writer must not wait for that
        unreached.append(f"the index of captures: {error}; repair it, and repeat the erasure")
    for place in unreached:
        _log.warning("erasing captures: %s", place)
    return unreached


def _blank_file(path: Path, blankings: Iterable[CaptureBlanking]) -> str:
    """Overwrite records of one file. Return why that was not done; empty if it was."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        return f"it cannot be opened: {error.strerror}; repeat the erasure"
    try:
        state = os.fstat(fd)
        if state.st_nlink > 1:
            return "it has another name (a hard link) now: delete that, and repeat the erasure"
        for one in blankings:
            if one.size != state.st_size:
                return "it has another length now: add it again, and repeat the erasure"
            write_blanking(fd, one)
        os.fsync(fd)
    finally:
        os.close(fd)
    return ""


def _mend_package(root: Path, path: str, blankings: Iterable[CaptureBlanking]) -> tuple[str, ...]:
    """Make a package agree with its blank records. Return what else there is to say.

    The plan is on disk until it is carried out: a package of which a crash wrote only a part could
    not be read to plan again.
    """
    place = root / _MENDING.format(hashlib.sha256(path.encode()).hexdigest()[:16])
    mending = load_checked(place, PackageMending)
    if mending is None:
        mending = plan_mending(root / path, path, blankings)
        save_checked(place, mending)
    fd = os.open(root / path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if os.fstat(fd).st_size != mending.size:
            return ("it has another length now: add it again, and repeat the erasure",)
        for one in mending.patches:
            write_at(fd, one.offset, one.data)
        os.fsync(fd)
    finally:
        os.close(fd)
    place.unlink()
    return mending.unreached


def list_erased(root: Path) -> frozenset[str]:
    """The files in which something was erased, as the index names them. Raises Corrupt."""
    return load_checked(root / DIRECTORY / _LIST, frozenset[str]) or frozenset()


def note_erased(root: Path, paths: Iterable[str]) -> None:
    """Note that something was erased in files."""
    known = list_erased(root)
    if not known.issuperset(paths):
        save_checked(root / DIRECTORY / _LIST, sorted({*known, *paths}))
