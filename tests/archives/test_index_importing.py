"""Indexes of other programs are taken over without reading the archive files."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.archives.warcs import Warc

from perdure.archives.index import cdxj, ranges
from perdure.archives.index.index_files import read_index
from perdure.archives.index_importing import IndexImport, RefusedLine
from perdure.archives.library import Library
from perdure.archives.port import Capture
from perdure.errors.captures import (
    ArchiveAmbiguous,
    ArchiveMissing,
    IndexLineUnreadable,
    OffsetBeyondArchive,
)
from perdure.settings import Settings

PEERS = Path(__file__).parents[2] / ".peers" / "bin"
ALL = ranges.IndexRange("", "\U0010ffff")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    (tmp_path / "registry").mkdir()
    made = Library(tmp_path / "registry", Settings())
    yield made
    made.close()


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    folder = tmp_path / "crawl"
    folder.mkdir()
    for name in ("a", "b"):
        made = Warc(folder / f"{name}.warc.gz")
        for number in range(3):
            made.response(f"https://{name}.example/{number}", "2020-01-02T03:04:05Z", b"body")
        made.finish()
    return folder


def list_captures(library: Library) -> list[Capture]:
    return list(ranges.walk_range(library.captures, ALL))


def read_archives(tmp_path: Path, crawl: Path) -> list[Capture]:
    """The captures that reading the archive files gives."""
    (tmp_path / "other").mkdir()
    other = Library(tmp_path / "other", Settings())
    for file in sorted(crawl.glob("*.warc.gz")):
        other.add_file(file)
    found = list_captures(other)
    other.close()
    return found


def take(library: Library, crawl: Path, *indexes: Path) -> tuple[IndexImport, list[RefusedLine]]:
    taking = IndexImport(library, indexes, crawl)
    return taking, list(taking)


def write_cdxj(crawl: Path) -> bytes:
    """The index of the crawl, in the form of cdxj-indexer."""
    root = crawl.parent / "indexed"
    root.mkdir(exist_ok=True)
    made = Library(root, Settings())
    for file in sorted(crawl.glob("*.warc.gz")):
        made.add_file(file)
    lines = [cdxj.format_exchanged_line(one) for one in list_captures(made)]
    made.close()
    return b"".join(lines)


def test_what_cdxj_indexer_writes_is_taken(library: Library, crawl: Path, tmp_path: Path) -> None:
    indexer = PEERS / "cdxj-indexer"
    if not indexer.exists():
        pytest.skip("cdxj-indexer is not installed (make unit)")
    files = sorted(map(str, crawl.glob("*.warc.gz")))
    done = subprocess.run([indexer, "-s", *files], capture_output=True, check=True)
    index = tmp_path / "index.cdxj"
    index.write_bytes(done.stdout)
    taking, refused = take(library, crawl, index)
    assert (taking.files, taking.captures, refused) == (2, 6, [])


def test_a_cdxj_gives_what_the_archives_give(library: Library, crawl: Path, tmp_path: Path) -> None:
    index = tmp_path / "index.cdxj"
    index.write_bytes(write_cdxj(crawl))
    taking, refused = take(library, crawl, index)
    assert (taking.files, taking.captures, refused) == (2, 6, [])
    read = {one.key: one for one in read_archives(tmp_path, crawl)}
    for one in list_captures(library):
        same = read[one.key]
        assert (one.uri, one.time, one.file, one.offset, one.length, one.status, one.digest) == (
            same.uri, same.time, same.file, same.offset, same.length, same.status, same.digest
        )  # fmt: skip


@pytest.mark.parametrize("head", [" CDX N b a m s k r M S V g\n", ""])
@pytest.mark.parametrize("packed", [False, True])
def test_a_cdx_with_and_without_names_of_columns(
    library: Library, crawl: Path, tmp_path: Path, head: str, packed: bool
) -> None:
    index = tmp_path / "index.cdx"
    digest = "A" * 32
    lines = [
        f"example,a)/{n} 20200102030405 https://a.example/{n} text/html 200 {digest} - - 10 {n} "
        "a.warc.gz\n"
        for n in range(3)
    ]
    text = [head.encode(), *(one.encode() for one in lines)]
    index.write_bytes(b"".join(map(gzip.compress, text)) if packed else b"".join(text))
    _, refused = take(library, crawl, index)
    assert refused == []
    found = list_captures(library)
    assert [one.offset for one in found] == [0, 1, 2]
    assert {(one.digest, one.status, one.media_type, one.length) for one in found} == {
        (f"sha1:{digest}", 200, "text/html", 10)
    }


def test_each_refused_line_has_its_number_and_reason(
    library: Library, crawl: Path, tmp_path: Path
) -> None:
    index = tmp_path / "index.cdx"
    (crawl / "x").mkdir()
    (crawl / "y").mkdir()
    for one in "xy":
        (crawl / one / "twice.warc.gz").write_bytes(b"123")
    good = "com,a)/ 20200102030405 https://a.com/ text/html 200 - - - 10 1 a.warc.gz"
    lines = [
        "nonsense",
        good.replace("a.warc.gz", "missing.warc.gz"),
        good.replace("a.warc.gz", "../../twice.warc.gz"),
        good.replace(" 10 1 ", " 10 999999 "),
        good,
    ]
    index.write_text("\n".join(lines) + "\n")
    taking, refused = take(library, crawl, index)
    assert taking.captures == 1
    assert [(one.number, type(one.fault)) for one in refused] == [
        (1, IndexLineUnreadable),
        (2, ArchiveMissing),
        (3, ArchiveAmbiguous),
        (4, OffsetBeyondArchive),
    ]


def test_a_registered_file_is_left_as_it_is(library: Library, crawl: Path, tmp_path: Path) -> None:
    index = tmp_path / "index.cdxj"
    index.write_bytes(write_cdxj(crawl))
    library.add_file(crawl / "a.warc.gz")
    taking, _ = take(library, crawl, index)
    assert (taking.files, taking.known) == (1, 3)
    taking, _ = take(library, crawl, index)
    assert (taking.files, taking.captures, taking.known) == (0, 0, 6)
    assert [one.outcome for one in library.add_file(crawl / "a.warc.gz")] == ["unchanged"]


def test_a_file_that_ends_within_a_member_says_so(
    library: Library, crawl: Path, tmp_path: Path
) -> None:
    index = tmp_path / "index.cdxj.gz"
    packed = gzip.compress(write_cdxj(crawl))
    index.write_bytes(packed[:-20])
    _, refused = take(library, crawl, index)
    assert isinstance(refused[-1].fault, IndexLineUnreadable)


def test_captures_are_replaced_when_a_file_is_read_again(
    library: Library, crawl: Path, tmp_path: Path
) -> None:
    index = tmp_path / "index.cdxj"
    index.write_bytes(write_cdxj(crawl))
    take(library, crawl, index)
    for file in library.list_files():
        assert file.is_outdated
        library.refresh_file(file, lambda _: None)
    read = [msgspec.structs.replace(one, id="") for one in read_archives(tmp_path, crawl)]
    assert [msgspec.structs.replace(one, id="") for one in list_captures(library)] == read


def pack_bgzf(data: bytes) -> bytes:
    """One block of BGZF (SAM format specification, section 4.1): a member with an extra field."""
    packed = gzip.compress(data, mtime=0)
    size = len(packed) + 8
    extra = b"\x06\x00BC\x02\x00" + (size - 1).to_bytes(2, "little")
    return packed[:3] + b"\x04" + packed[4:10] + extra + packed[10:]


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("zeros", [0, 1000])
def test_a_block_ends_a_line(tmp_path: Path, ending: bytes, zeros: int) -> None:
    """The blocks of pywb's own `zipnum-sample.cdx.gz` have no line break at their end."""
    line = b'com,example)/%d 2020010203040%d {"url": "http://example.com/%d", "filename": "a"}'
    lines = [line % (number, number, number) for number in range(9)]
    blocks = [b"\n".join(lines[at : at + 2]) + ending for at in range(0, 9, 2)]
    path = tmp_path / "zipnum.cdxj.gz"
    path.write_bytes(b"".join(map(gzip.compress, blocks)) + bytes(zeros))
    found = list(read_index(path))
    assert [one.text.strip() for one in found] == lines
    assert [one.number for one in found] == list(range(1, 10))
    assert not any(one.fault for one in found)


def test_a_block_of_bgzf_ends_nothing(tmp_path: Path) -> None:
    text = b'com,example)/ 20200102030405 {"url": "http://example.com/", "filename": "a"}\n' * 9
    path = tmp_path / "index.cdxj.gz"
    pieces = [text[at : at + 50] for at in range(0, len(text), 50)]
    path.write_bytes(b"".join(map(pack_bgzf, [*pieces, b""])))
    assert gzip.decompress(path.read_bytes()) == text
    assert b"".join(one.text for one in read_index(path)) == text
