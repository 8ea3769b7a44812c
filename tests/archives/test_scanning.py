"""Archive files are read whole: what warcio finds in them is found, and what is wrong is told.

`FastWARC` reads what is as it should be, `careful` the rest; here both must say the same.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastwarc.stream_io import Lz4Writer, ZstdWriter
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.archives.warcs import Warc
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from perdure.archives.files import careful
from perdure.archives.files.careful import Flaw, Met, SharedMember
from perdure.archives.files.pairing import pair_requests
from perdure.archives.files.scanning import ArchivePlace, detect_packing, scan_file
from perdure.archives.files.windows import Window
from perdure.archives.port import Capture

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"
FILES = sorted(
    path
    for path in CORPUS.glob("*")
    if not path.name.endswith((".cdx", ".cdxj", ".cdx.gz", ".wacz", ".idx"))
)
NOT_WARCIOS = {
    "chatnoir-eu+chatnoir-resiliparse__tests_data_warcfile.warc.lz4": "lz4",
    "webrecorder+pywb__sample_archive_warcs_example-bad.warc.gz.bad": "compressed as one",
    "webrecorder+warcio__test_data_example-bad-non-chunked.warc.gz": "compressed as one",
    "webrecorder+warcio__test_data_example-bad.warc.gz.bad": "compressed as one",
}
"""Files that warcio gives up; we do not."""
NO_RECORDS = ("fmt-1355-", "x-fmt-219-", "fmt-410-")
"""Files of other programs' tests that warcio takes for a record: a first line and nothing else."""


def everything(path: Path) -> tuple[list[Met], bool]:
    """What a file holds, and whether it is one compressed stream."""
    try:
        return list(scan_file(ArchivePlace(path=str(path)), "x")), False
    except SharedMember:
        return list(scan_file(ArchivePlace(path=str(path), shared=True), "x")), True


def of_records(found: list[Met]) -> list[int]:
    """Where records begin, indexed or not."""
    return sorted({one.offset for one in found if not isinstance(one, Flaw)} | undated(found))


def undated(found: list[Met]) -> set[int]:
    return {one.offset for one in found if isinstance(one, Flaw) and "not indexed" in one.what}


def flaws(found: list[Met]) -> list[Flaw]:
    return [one for one in found if isinstance(one, Flaw)]


def by_warcio(path: Path) -> tuple[list[int], bool]:
    """Where warcio finds records, and whether it got to the end."""
    offsets = []
    with contextlib.redirect_stderr(io.StringIO()), path.open("rb") as file:
        records = ArchiveIterator(file, no_record_parse=True)
        try:
            for record in records:
                records.read_to_end(record)
                offsets.append(records.get_record_offset())
        except ArchiveLoadFailed:
            return offsets, False
    return offsets, True


@pytest.mark.corpus
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_records_that_warcio_finds(path: Path) -> None:
    found, shared = everything(path)
    offsets, whole = by_warcio(path)
    if path.name in NOT_WARCIOS:
        assert len(of_records(found)) > len(offsets)
    elif any(part in path.name for part in NO_RECORDS):
        assert [one.what for one in flaws(found)] == [
            f"{path.stat().st_size} bytes cannot be read as a record"
        ]
    else:
        assert of_records(found) == offsets
        assert whole or flaws(found)
    if not shared:
        with Window(path) as window:
            careful_ones = careful.read_records(window, detect_packing(window), "x")
            assert found == list(pair_requests(careful_ones))


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "flaw"),
    [
        ("*clipped.warc.gz", Flaw(0, "gzip: the file ends within a member")),
        ("*none_truncated.warc.gz", Flaw(881, "gzip: the file ends within a member")),
        ("*ipwb*1memento.warc", Flaw(458, "its lines do not end with CRLF")),
        (
            "*Evil-Warc-Headers.warc",
            Flaw(0, "the block lacks 5173 bytes of the 6000 that Content-Length announces"),
        ),
        (
            "*bad-length.warc",
            Flaw(1197, "5 more bytes follow the 974 that Content-Length announces"),
        ),
        (
            "*clueweb-quirk.warc.gz",
            Flaw(317, "not indexed: invalid WARC-Date: '2008-10-294T05:21:46-0700'"),
        ),
    ],
)
def test_flaws_are_told_with_their_place(name: str, flaw: Flaw) -> None:
    [path] = CORPUS.glob(name)
    assert flaw in everything(path)[0]


# Damage
# ------

BODY = b"<p>" + bytes(range(256)) * 20


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    made = Warc(tmp_path / "a.warc.gz")
    for number in range(8):
        made.response(f"http://example.org/{number}", "2020-01-02T03:04:05Z", BODY)
    return made.finish()


def uris(found: list[Met]) -> list[str]:
    return [one.uri.rpartition("/")[2] for one in found if isinstance(one, Capture)]


def test_lengths_are_those_of_the_members(warc: Path) -> None:
    found = everything(warc)[0]
    assert uris(found) == list("01234567")
    text = warc.read_bytes()
    for one in found:
        assert isinstance(one, Capture)
        head = gzip.decompress(text[one.offset : one.offset + one.length])
        assert one.uri.encode() in head.partition(b"\r\n\r\n")[0]


@pytest.mark.parametrize(
    ("damage", "left"),
    [
        (lambda text, at: text[: at[3] + 600] + b"\xff\xff" + text[at[3] + 602 :], "01234567"),
        (lambda text, at: text[: at[3]] + b"\xff\xff" + text[at[3] + 2 :], "0124567"),
        (lambda text, at: text[: at[3]] + b"rubbish" * 99 + text[at[3] :], "01234567"),
        (lambda text, at: text[: at[3]] + text[at[4] :], "0124567"),
        (lambda text, at: text[: at[3] + 50] + text[at[4] :], "0124567"),
        (lambda text, at: text[: at[7] + 500], "01234567"),
        (lambda text, at: text[: at[7] + 5], "0123456"),
        (lambda text, at: text + b"\0" * 1000, "01234567"),
        (lambda text, at: b"rubbish" + text, "01234567"),
    ],
    ids=[
        "a flipped byte in a block",
        "a member that begins with other bytes",
        "rubbish between members",
        "a record that is gone",
        "a hole with the head of a record in it",
        "an end in a block",
        "an end in a head",
        "zeros at the end",
        "rubbish at the beginning",
    ],
)
def test_damage_costs_no_more_than_the_record_it_is_in(
    warc: Path, damage: Callable[[bytes, list[int]], bytes], left: str
) -> None:
    text = warc.read_bytes()
    offsets = [one.offset for one in everything(warc)[0]]
    warc.write_bytes(damage(text, offsets))
    found = everything(warc)[0]
    assert uris(found) == list(left)
    if len(warc.read_bytes()) != len(text) - (offsets[4] - offsets[3]):
        assert flaws(found)


@settings(max_examples=30, deadline=None)
@given(place=st.floats(0, 1), length=st.integers(0, 300), put=st.binary(max_size=300))
def test_the_fast_reader_says_what_the_careful_one_does(
    tmp_path_factory: pytest.TempPathFactory, place: float, length: int, put: bytes
) -> None:
    for packed in (True, False):
        path = tmp_path_factory.mktemp("damaged") / "a.warc"
        made = Warc(path)
        for number in range(5):
            made.response(f"http://example.org/{number}", "2020-01-02T03:04:05Z", BODY)
        made.finish()
        text = path.read_bytes() if packed else gzip.decompress(path.read_bytes())
        at = int(place * len(text))
        path.write_bytes(text[:at] + put + text[at + length :])
        with Window(path) as window:
            careful_one = list(careful.read_records(window, detect_packing(window), "x"))
        fast = list(scan_file(ArchivePlace(path=str(path)), "x"))
        assert fast == careful_one
        assert len(uris(fast)) >= 5 - 1 - length // len(BODY) - packed


def record(uri: str, body: bytes = b"abc", *, length: int | None = None, fields: str = "") -> bytes:
    head = (
        f"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: {uri}\r\n"
        f"WARC-Date: 2020-01-02T03:04:05Z\r\nContent-Type: text/plain\r\n{fields}"
        f"Content-Length: {len(body) if length is None else length}\r\n\r\n"
    )
    return head.encode() + body + b"\r\n\r\n"


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd", "lz4"])
def test_each_packing(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "a"
    made = [record(f"http://example.org/{number}", BODY) for number in range(3)]
    path.write_bytes(b"".join(pack(text, packing) for text in made))
    found = everything(path)[0]
    assert uris(found) == list("012")
    assert not flaws(found)
    assert [one.length for one in found if isinstance(one, Capture)] == [
        len(pack(text, packing)) for text in made
    ]


def pack(text: bytes, packing: str) -> bytes:
    if packing == "plain":
        return text
    if packing == "gzip":
        return gzip.compress(text, mtime=0)
    into = io.BytesIO()
    writer: Any = (ZstdWriter if packing == "zstd" else Lz4Writer)(into)
    writer.write(text)
    writer.finish()
    del writer  # gives what it has kept
    return into.getvalue()


@pytest.mark.parametrize(
    "length", ["-5", "99999999999999999999999", "1e3", "", "0x3", "10000", "0", "1"]
)
@pytest.mark.parametrize("packing", ["plain", "gzip"])
def test_a_wrong_length_is_told_and_hides_nothing(
    tmp_path: Path, length: str, packing: str
) -> None:
    wrong = record("http://example.org/1").replace(
        b"Content-Length: 3", b"Content-Length: " + length.encode()
    )
    path = tmp_path / "a"
    texts = (record("http://example.org/0"), wrong, record("http://example.org/2"))
    path.write_bytes(b"".join(pack(text, packing) for text in texts))
    found = everything(path)[0]
    assert uris(found) == list("012")
    assert [one.offset for one in flaws(found)] == [len(pack(texts[0], packing))]


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize(
    "fields",
    [
        "Content-Type: text/html; charset=utf-8",
        "Content-Type : text/html",
        "content-type:\r\n text/html; charset=utf-8",
        f"Content-Security-Policy: {'x' * 9000}\r\nContent-Type: text/html",
        "".join(f"Set-Cookie: {number}={'x' * 4000}\r\n" for number in range(15))
        + "Content-Type: text/html",
    ],
    ids=["usual", "blank before the colon", "folded", "behind 8 KiB", "behind 60 KiB"],
)
def test_the_media_type_is_found_wherever_it_stands(
    tmp_path: Path, packing: str, fields: str
) -> None:
    """Heads are read up to 64 KiB; lines may be folded (RFC 9112 section 5.2)."""
    text = record("http://a.org/", f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n".encode() + b"<p>" * 5000)
    path = tmp_path / "a"
    path.write_bytes(pack(text.replace(b"resource", b"response"), packing))
    [found] = [one for one in everything(path)[0] if isinstance(one, Capture)]
    assert (found.status, found.media_type) == (200, "text/html")


@pytest.mark.parametrize("excess", [-3, 2, 3, 4, 5, 20])
@pytest.mark.parametrize("uri", ["http://a.org/2", "https://a.org/2", "dns:a.org", "ftp://a.org/2"])
def test_a_wrong_length_in_an_arc_file_invents_no_uri(
    tmp_path: Path, uri: str, excess: int
) -> None:
    path = tmp_path / "a.arc"
    block = b"HTTP/1.1 200 OK\r\n\r\nabc"
    path.write_bytes(
        b"".join(
            f"{one} 127.0.0.1 20140216050221 text/html {len(block) + wrong}\n".encode()
            + block
            + b"\n"
            for one, wrong in (("http://a.org/1", excess), (uri, 0))
        )
    )
    found = everything(path)[0]
    assert [one.uri for one in found if isinstance(one, Capture)] == ["http://a.org/1", uri]
    assert len(flaws(found)) == 1


def test_a_record_in_a_record_is_no_record_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(
        record("http://example.org/0", record("http://example.org/in")) + record("http://x.org/1")
    )
    assert uris(everything(path)[0]) == list("01")


@pytest.mark.parametrize("packing", ["gzip", "plain"])
@pytest.mark.parametrize(
    "uri",
    [
        "http://example.org/a b",
        "http://example.org/?a=1&b=<2>#top",
        "http://example.org/%zz%20%",
        "http://example.org/blåbær",
        "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk",
    ],
)
def test_uris_stay_as_recorded(tmp_path: Path, uri: str, packing: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(pack(record(uri), packing) + pack(record(f"<{uri}>"), packing))
    found = everything(path)[0]
    assert [one.uri for one in found if isinstance(one, Capture)] == [uri, uri]


def test_bytes_that_are_no_utf_8_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "a"
    text = record("http://example.org/_")
    path.write_bytes(text.replace(b"/_", b"/\xe6") + text.replace(b"/_", b"/\xf8") + text)
    assert uris(everything(path)[0]) == ["æ", "ø", "_"]


@pytest.mark.parametrize(
    ("date", "time"),
    [
        ("1970-01-01T00:00:00Z", "19700101000000"),
        ("2106-02-07T06:28:16Z", "21060207062816"),
        ("2014-01", "20140101000000"),
        ("2014-01-01T00:00:01.000000002Z", "20140101000001"),
        ("2016-12-31T23:59:60Z", "20161231235960"),
        ("2016-01-01T00:30:00+01:00", "20151231233000"),
    ],
)
def test_dates_stay_as_recorded(tmp_path: Path, date: str, time: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(record("http://x.org/").replace(b"2020-01-02T03:04:05Z", date.encode()))
    [found] = everything(path)[0]
    assert isinstance(found, Capture)
    assert (found.date, found.time) == (date, time)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\r\n" * 100_000,
        b"WARC/1.0\r\n" + b"X: y\r\n" * 100_000,
        b"WARC/1.0\r\n\r\n",
        b"WARC/1.0" + b"\r" * 200_000,
        b"\nWARC/1" * 50_000,
        b"http://a " * 50_000,
        gzip.compress(b"WARC/1.0\r\nX: " + b"a" * 10_000_000, mtime=0),
        gzip.compress(b"", mtime=0),
        b"\x1f\x8b\x08" * 10_000,
        b"\x28\xb5\x2f\xfd" * 1000,
        b"\x04\x22\x4d\x18" * 1000,
        b"\x5d\x2a\x4d\x18\xff\xff\xff\xff",
    ],
    ids=lambda text: repr(text[:20]),
)
def test_what_is_no_archive_is_told_so(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(text)
    found = everything(path)[0]
    assert uris(found) == []
    assert bool(flaws(found)) is bool(text.strip())


_pieces = st.sampled_from([b"\nWARC/1", b"\n", b"\r", b"x", b"xx"])


@settings(max_examples=1000)
@given(st.lists(_pieces, max_size=30).map(b"".join), st.integers(0, 20))
def test_the_next_record_is_where_the_next_head_can_be_read(text: bytes, start: int) -> None:
    """What is known of the beginnings before spares a look at each, and hides none."""
    longest = 16
    expected = next(
        (
            found.start() + 1
            for found in re.finditer(rb"\nWARC/\d", text)
            if found.start() + 1 >= start
            and re.search(rb"\n\r{0,2}\n", text[found.start() + 1 :][:longest])
        ),
        len(text),
    )
    with tempfile.NamedTemporaryFile() as file, pytest.MonkeyPatch.context() as patch:
        file.write(text)
        file.flush()
        patch.setattr(careful, "LONGEST_HEAD", longest)
        with Window(file.name) as window:
            assert careful._find_next_record(window, start, len(text)) == expected


_OF_INDEXES = sorted(path for path in CORPUS.glob("*") if re.search(r"\.cdxj?(\.gz)?$", path.name))


@pytest.mark.parametrize("path", _OF_INDEXES, ids=lambda path: path.name)
@pytest.mark.corpus
def test_the_lines_of_an_index_are_no_records(path: Path) -> None:
    """Their fields are like those of an ARC file, in another order."""
    assert uris(everything(path)[0]) == []


def test_a_line_of_an_index_that_begins_with_a_url(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(
        b"http://a.example/ 20140127171200 text/html 200 B2LT - - 1046 334 a.warc.gz\n"
    )
    assert uris(everything(path)[0]) == []


def test_a_longer_date_of_an_arc_file_is_its_first_14_digits(tmp_path: Path) -> None:
    """As warcio, cdxj-indexer and pywb read it."""
    body = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nbody"
    head = b"http://a.example/ 127.0.0.1 201404010000000000 text/plain %d\n" % len(body)
    info = b"1 0 test\nURL IP-address Archive-date Content-type Archive-length\n"
    first = b"filedesc://a.arc 0.0.0.0 20140401000000 text/plain %d\n%b\n" % (len(info), info)
    path = tmp_path / "a.arc"
    path.write_bytes(first + head + body + b"\n")
    found = [
        one for one in scan_file(ArchivePlace(path=str(path)), "a.arc") if isinstance(one, Capture)
    ]
    assert [(one.time, one.uri, one.status) for one in found] == [
        ("20140401000000", "http://a.example/", 200)
    ]
