"""Archive files come into the index whole or not at all, and are found wherever that keeps them."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import msgspec
import pytest
from tests.archives.test_scanning import record
from tests.archives.warcs import Warc

from perdure.archives.files.scanning import ArchivePlace, scan_file
from perdure.archives.index import ranges
from perdure.archives.library import Library, archive_files
from perdure.archives.port import Capture
from perdure.errors import Corrupt, NotFound, Unavailable
from perdure.settings import Settings

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"
ALL = ranges.IndexRange("", "\U0010ffff")
DATE = "2020-01-02T03:04:05Z"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path / "registry", Settings())
    (tmp_path / "registry").mkdir()
    yield made
    made.close()


def all_of(library: Library) -> list[Capture]:
    return list(ranges.walk_range(library.captures, ALL))


def warc(path: Path, *numbers: int) -> Path:
    made = Warc(path)
    for number in numbers:
        made.response(f"http://example.org/{number}", DATE, b"<p>%d" % number)
    return made.finish()


def payload(library: Library, capture: Capture) -> bytes:
    with library.files.open_record(capture) as opened:
        return b"".join(opened.read_payload())


def test_nothing_is_found_before_anything_is_added(library: Library) -> None:
    assert all_of(library) == []
    assert library.captures.count_captures() == 0
    assert library.list_files() == []
    with pytest.raises(NotFound):
        library.files.open_record(
            Capture(key="", time="", date="", uri="", kind="", file="a.warc.gz")
        )


def test_what_was_added_is_found_and_read(library: Library, tmp_path: Path) -> None:
    [added] = library.add_file(warc(tmp_path / "a.warc.gz", 1, 2))
    assert (added.outcome, added.file.records, added.file.captures) == ("added", 2, 2)
    found = all_of(library)
    assert [one.uri for one in found] == ["http://example.org/1", "http://example.org/2"]
    assert [payload(library, one) for one in found] == [b"<p>1", b"<p>2"]
    assert library.captures.count_captures() == 2


def test_all_fields_are_kept(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    texts = [
        record("HTTPS://www.Example.org/A/?b&a#x", fields="WARC-Payload-Digest: sha1:abc\r\n"),
        record("http://www.example.org/a/").replace(DATE.encode(), b"2020-01-02T03:04:05.25Z"),
        record("http://example.org/a")
        .replace(b"resource", b"revisit")
        .replace(
            b"Content-Type",
            b"WARC-Refers-To-Target-URI: http://b.org/\r\n"
            b"WARC-Refers-To-Date: 2019-01-01T00:00:00Z\r\nContent-Type",
        ),
        record("urn:x:y").replace(b"resource", b"something-new"),
        record("http://example.org/a b c"),
    ]
    path.write_bytes(b"".join(texts))
    library.add_file(path)
    scanned = [
        msgspec.structs.replace(one, id="")
        for one in scan_file(ArchivePlace(path=str(path)), "a.warc")
        if isinstance(one, Capture)
    ]
    assert len(scanned) == len(texts)
    assert sorted(all_of(library), key=repr) == sorted(scanned, key=repr)


def test_an_unchanged_file_is_not_read_again(library: Library, tmp_path: Path) -> None:
    path = warc(tmp_path / "a.warc.gz", 1)
    library.add_file(path)
    [again] = library.add_file(path)
    assert again.outcome == "unchanged"
    assert len(all_of(library)) == 1


@pytest.mark.parametrize("most", [10_000_000, 0])
def test_a_changed_file_is_read_again(tmp_path: Path, most: int) -> None:
    library = Library(tmp_path, Settings(captures_in_sqlite=most))
    library.add_file(warc(tmp_path / "a.warc.gz", 1, 2))
    path = warc(tmp_path / "a.warc.gz", 2, 3, 4)
    os.utime(path, ns=(1, 1))
    [again] = library.add_file(path)
    assert again.outcome == "replaced"
    found = all_of(library)
    assert [one.uri[-1] for one in found] == ["2", "3", "4"]
    assert [payload(library, one) for one in found] == [b"<p>2", b"<p>3", b"<p>4"]
    library.close()


def test_two_files_of_one_name_are_two(library: Library, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        library.add_file(warc(tmp_path / str(number) / "a.warc.gz", number))
    assert [one.name for one in library.list_files()] == ["a.warc.gz", "a.warc.gz~2"]
    assert [payload(library, one) for one in all_of(library)] == [b"<p>1", b"<p>2"]


def test_the_same_capture_twice_is_two(library: Library, tmp_path: Path) -> None:
    library.add_file(warc(tmp_path / "a.warc.gz", 1, 1))
    assert len({one.offset for one in all_of(library)}) == 2


def test_a_file_that_was_moved_lies_in_the_registry(library: Library, tmp_path: Path) -> None:
    path = warc(tmp_path / "a.warc.gz", 1)
    library.add_file(path, move=True)
    assert not path.exists()
    assert library.list_files()[0].path == "files/a.warc.gz"
    (tmp_path / "registry").rename(tmp_path / "elsewhere")
    with_all = Library(tmp_path / "elsewhere", Settings())
    assert [payload(with_all, one) for one in all_of(with_all)] == [b"<p>1"]
    with_all.close()


def test_a_file_that_is_gone_is_unavailable(library: Library, tmp_path: Path) -> None:
    path = warc(tmp_path / "a.warc.gz", 1)
    library.add_file(path)
    path.unlink()
    with pytest.raises(Unavailable):
        payload(library, all_of(library)[0])


def test_flaws_are_kept_with_their_file(library: Library, tmp_path: Path) -> None:
    path = warc(tmp_path / "a.warc.gz", 1, 2)
    path.write_bytes(path.read_bytes() + b"rubbish")
    [added] = library.add_file(path)
    assert added.file.flaws == 1
    assert library.list_flaws(library.list_files()[0]) == list(added.flaws)
    assert "7 stray bytes" in added.flaws[0].what


ADD = """
import sys
from pathlib import Path
from perdure.archives.library import Library
from perdure.settings import Settings
library = Library(Path(sys.argv[1]), Settings(captures_in_sqlite=int(sys.argv[3])))
print("ready", flush=True)
library.add(Path(sys.argv[2]))
print("done", flush=True)
"""


@pytest.mark.parametrize("most", [10_000_000, 10])
def test_a_crash_while_adding_leaves_nothing(tmp_path: Path, most: int) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join(record(f"http://example.org/{n}") for n in range(60_000)))
    library = Library(tmp_path, Settings(captures_in_sqlite=most))
    library.add_file(warc(tmp_path / "before.warc.gz", *range(20)))
    for wait in (0.1, 0.4, 0.8, 1.2, 1.6):
        worker = subprocess.Popen(
            [sys.executable, "-c", ADD, str(tmp_path), str(path), str(most)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert worker.stdout
        worker.stdout.readline()
        time.sleep(wait)
        worker.send_signal(signal.SIGKILL)
        done = "done" in worker.communicate()[0]
        count = len(all_of(library))
        assert count in ((20 + 60_000,) if done else (20, 20 + 60_000))
        assert count == library.captures.count_captures()
        if done:
            break
    library.add_file(path)
    assert len(all_of(library)) == 60_020
    library.close()


def test_readers_see_whole_files_while_others_add(tmp_path: Path) -> None:
    """Also while captures move to runs, and runs are merged."""
    files = [warc(tmp_path / f"{n}.warc.gz", *range(n * 40, n * 40 + 40)) for n in range(20)]
    reader = Library(tmp_path, Settings(captures_in_sqlite=50))
    seen: list[int] = []

    def read() -> None:
        while not seen or seen[-1] < 800:
            seen.append(len(reader.captures.scan_range(*ALL, limit=9999)))

    thread = Thread(target=read)
    thread.start()
    adder = Library(tmp_path, Settings(captures_in_sqlite=50))
    for path in files:
        adder.add_file(path)
    thread.join(timeout=60)
    assert seen[-1] == 800
    assert seen == sorted(seen)
    assert all(count % 40 == 0 for count in seen)
    adder.close()
    reader.close()


# ZipNum
# ------


@pytest.mark.corpus
def test_runs_answer_as_sqlite_does(tmp_path: Path) -> None:
    """The same captures in the same order, whatever is asked, but for those of one date."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = Library(tmp_path / "a", Settings())
    other = Library(tmp_path / "b", Settings(captures_in_sqlite=30))
    for path in archive_files(CORPUS):
        one.add_file(path)
        other.add_file(path)
    assert len(list((tmp_path / "b/captures/runs").glob("*.idx"))) > 1
    expected, found = all_of(one), all_of(other)
    assert sorted(map(repr, expected)) == sorted(map(repr, found))
    places = [ranges.format_place(capture) for capture in expected]
    assert [ranges.format_place(capture) for capture in found] == places
    for low, high, limit in zip(
        places[::7], [*places[40::7], *["~"] * 9], [1, 2, 3, 9, 200] * 100, strict=False
    ):
        for backwards in (False, True):
            asked = [
                [
                    ranges.format_place(capture)
                    for capture in library.captures.scan_range(
                        low, high, backwards=backwards, limit=limit
                    )
                ]
                for library in (one, other)
            ]
            assert asked[0] == asked[1]
    one.close()
    other.close()


def test_a_url_with_many_captures_lies_in_many_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    texts = (
        record("http://example.org/").replace(
            b"03:04:05", b"%02d:%02d:%02d" % (n // 3600, n // 60 % 60, n % 60)
        )
        for n in range(3000)
    )
    path.write_bytes(b"".join(texts))
    library = Library(tmp_path, Settings(captures_in_sqlite=0))
    library.add_file(path)
    key = "org,example)/"
    for second in ("000000", "000001", "002213", "004959"):
        low = f"{key} 20200102{second}"
        [found] = library.captures.scan_range(low, f"{low}~", limit=9)
        assert found.time == f"20200102{second}"
        [last] = library.captures.scan_range(f"{key} ", f"{low}~", backwards=True, limit=1)
        assert last == found
    assert len(library.captures.scan_range(f"{key} ", f"{key}!", limit=9999)) == 3000
    library.close()


# WACZ
# ----


def package(path: Path, files: dict[str, bytes], *, compression: int = zipfile.ZIP_STORED) -> Path:
    resources = [
        {
            "name": name.rpartition("/")[2],
            "path": name,
            "hash": f"sha256:{hashlib.sha256(text).hexdigest()}",
            "bytes": len(text),
        }
        for name, text in files.items()
    ]
    described = json.dumps({"profile": "data-package", "resources": resources}).encode()
    digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(described).hexdigest()}"}
    with zipfile.ZipFile(path, "w") as into:
        for name, text in files.items():
            into.writestr(name, text, compression)
        into.writestr("datapackage.json", described)
        into.writestr("datapackage-digest.json", json.dumps(digest))
    return path


@pytest.fixture
def text(tmp_path: Path) -> bytes:
    return warc(tmp_path / "in.warc.gz", 1, 2).read_bytes()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_wacz_is_read_where_it_lies(
    library: Library, tmp_path: Path, text: bytes, compression: int
) -> None:
    path = package(
        tmp_path / "a.wacz",
        {"archive/data.warc.gz": text, "pages/pages.jsonl": b"{}"},
        compression=compression,
    )
    added = library.add_file(path)
    assert [one.file.name for one in added] == ["a.wacz/archive/data.warc.gz", "a.wacz"]
    assert [payload(library, one) for one in all_of(library)] == [b"<p>1", b"<p>2"]
    assert bool(added[1].file.flaws) is (compression == zipfile.ZIP_DEFLATED)
    assert {one.outcome for one in library.add_file(path)} == {"unchanged"}
    assert all(not found.problem for one in added[:1] for found in library.check_file(one.file))


def test_a_wacz_that_is_not_what_it_says(library: Library, tmp_path: Path, text: bytes) -> None:
    path = package(tmp_path / "a.wacz", {"archive/data.warc.gz": text})
    whole = path.read_bytes()
    for right, wrong in (
        (b'"sha256:', b'"sha257:'),
        (b'"bytes"', b'"bites"'),
        (b'{"profile"', b'["profile"'),
    ):
        path.write_bytes(whole.replace(right, wrong, 1))
        os.utime(path, ns=(1, len(wrong)))
        flaws = library.add_file(path)[-1].flaws
        assert len(flaws) >= 1
        assert len(all_of(library)) == 2


EVIL = "../../evil.warc.gz"


def test_names_that_lead_out_are_refused(library: Library, tmp_path: Path, text: bytes) -> None:
    path = package(
        tmp_path / "a.wacz",
        {EVIL: text, "/etc/evil.warc.gz": text, "archive/..\\..\\evil.warc": text},
        compression=zipfile.ZIP_DEFLATED,
    )
    [added] = library.add_file(path)
    assert sum("leads out" in flaw.what for flaw in added.flaws) == 3
    assert all_of(library) == []
    assert not list(tmp_path.rglob("evil*"))


def test_bombs_are_refused(library: Library, tmp_path: Path) -> None:
    """One that says more than it can hold, and one whose entries are the same bytes."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as made:
        made.writestr("archive/a.warc", bytes(50_000_000), zipfile.ZIP_DEFLATED)
    size = (50_000_000).to_bytes(4, "little")
    lying = tmp_path / "lying.wacz"
    lying.write_bytes(into.getvalue().replace(size, (0xFFFFFFF0).to_bytes(4, "little")))
    [flaw, *_] = library.add_file(lying)[-1].flaws
    assert "claims to inflate to more than it can" in flaw.what
    with zipfile.ZipFile(into, "a") as made:
        for number in range(100):
            info = zipfile.ZipInfo(f"archive/{number}.warc")
            for name in ("header_offset", "compress_size", "file_size", "CRC", "compress_type"):
                setattr(info, name, getattr(made.infolist()[0], name))
            made.filelist.append(info)
            made._didModify = True  # type: ignore[attr-defined]  # so that the directory is written
    overlapping = tmp_path / "overlapping.wacz"
    overlapping.write_bytes(into.getvalue())
    [flaw] = library.add_file(overlapping)[-1].flaws
    assert "overlap" in flaw.what


def test_what_inflates_without_measure_is_not_taken(library: Library, tmp_path: Path) -> None:
    """Deflate can say a thousand bytes in one: a package of 3 MB would fill the disk with 3 GB."""
    path = tmp_path / "bomb.wacz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("archive/bomb.warc", bytes(65 << 20))
        made.writestr("archive/good.warc", record("http://www.dr.dk/"))
    flaws = [flaw.what for one in library.add_file(path) for flaw in one.flaws]
    assert any("'archive/bomb.warc' inflates to 10" in what for what in flaws), flaws
    assert [one.uri for one in all_of(library)] == ["http://www.dr.dk/"]
    held = [one for one in tmp_path.rglob("*.warc*") if one.is_file()]
    assert sum(one.stat().st_size for one in held) < 1 << 20


@pytest.mark.parametrize("cut", [10, 100, 1000, -10, -100])
def test_a_damaged_package_is_told_so(
    library: Library, tmp_path: Path, text: bytes, cut: int
) -> None:
    path = package(tmp_path / "a.wacz", {"archive/data.warc.gz": text})
    path.write_bytes(path.read_bytes()[:cut])
    assert library.add_file(path)[-1].flaws


def test_a_package_that_changed_is_read_again(
    library: Library, tmp_path: Path, text: bytes
) -> None:
    path = package(tmp_path / "a.wacz", {"archive/data.warc.gz": text})
    library.add_file(path)
    new = warc(tmp_path / "new.warc.gz", 7).read_bytes()
    package(path, {"more": b"x" * 99, "archive/data.warc.gz": new})
    os.utime(path, ns=(1, 1))
    library.add_file(path)
    assert [payload(library, one) for one in all_of(library)] == [b"<p>7"]


# Digests
# -------


def test_changed_bytes_are_found(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    digest = "sha1:A9993E364706816ABA3E25717850C26C9CD0D89D"  # of b"abc" (FIPS 180-1, appendix A)
    path.write_bytes(record("http://x.org/", fields=f"WARC-Block-Digest: {digest}\r\n") * 2)
    [added] = library.add_file(path)
    assert [one.problem for one in library.check_file(added.file)] == ["", ""]
    path.write_bytes(path.read_bytes().replace(b"\r\nabc", b"\r\nabd", 1))
    assert [bool(one.problem) for one in library.check_file(added.file)] == [True, False]


@pytest.mark.parametrize(
    ("date", "uri"),
    [
        ("2020-01-02T03:04:06Z", "http://example.org/"),
        ("2020-01-02T03:04:05Z", "http://elpmaxe.org/"),
    ],
    ids=["another second", "another address"],
)
def test_a_file_that_was_changed_gives_no_other_capture(
    library: Library, tmp_path: Path, date: str, uri: str
) -> None:
    """Not even one that lies at the same offset: "Exact or an honest no is the default"."""
    path = tmp_path / "a.warc"
    path.write_bytes(record("http://example.org/", b"one"))
    [added] = library.add_file(path)
    [capture] = all_of(library)
    other = record(uri, b"two").replace(b"2020-01-02T03:04:05Z", date.encode())
    path.write_bytes(other)
    os.utime(path, ns=(0, added.file.modified + 1_000_000_000))
    with pytest.raises(Corrupt, match="changed since it was added"):
        library.files.open_record(capture)
    [found] = library.check_file(added.file)
    assert "add it again" in found.problem
    [again] = library.add_file(path)
    assert [one.problem for one in library.check_file(again.file)] == [""]
    assert [payload(library, one) for one in all_of(library)] == [b"two"]


def test_a_payload_digest_of_the_whole_block_is_no_damage(library: Library, tmp_path: Path) -> None:
    """warcprox 2.3 gives requests the digest of the block as that of the payload."""
    block = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
    digest = base64.b32encode(hashlib.sha1(block).digest()).decode()
    head = (
        "WARC/1.0\r\nWARC-Type: request\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
        "WARC-Date: 2020-01-01T00:00:00Z\r\nWARC-Target-URI: http://a.example/\r\n"
        f"WARC-Block-Digest: sha1:{digest}\r\nWARC-Payload-Digest: sha1:{digest}\r\n"
        f"Content-Type: application/http; msgtype=request\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    path = tmp_path / "warcprox.warc"
    path.write_bytes(head.encode() + block + b"\r\n\r\n")
    (added,) = library.add_file(path)
    assert [one.problem for one in library.check_file(added.file)] == [""]
    path.write_bytes(path.read_bytes().replace(b"Host: a", b"Host: b"))
    (added,) = library.add_file(path)
    problems = [one.problem for one in library.check_file(added.file)]
    assert "payload digest" in problems[0]


def test_an_entry_without_a_name_is_damage(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "a.wacz"
    with zipfile.ZipFile(path, "w") as made:
        info = zipfile.ZipInfo("?")
        info.filename = ""
        made.writestr(info, b"x")
    [flaw] = library.add_file(path)[-1].flaws
    assert "has no name" in flaw.what


def test_an_entry_before_the_beginning_is_damage(library: Library, tmp_path: Path) -> None:
    """Offsets count from where the directory says that it begins: here, from before the file."""
    path = tmp_path / "a.wacz"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("archive/a.warc", b"x")
    whole = path.read_bytes()
    end = whole.rindex(b"PK\5\6")
    begins = int.from_bytes(whole[end + 16 : end + 20], "little")
    later = (begins + 20).to_bytes(4, "little")
    path.write_bytes(whole[: end + 16] + later + whole[end + 20 :])
    [flaw] = library.add_file(path)[-1].flaws
    assert "begins before the package" in flaw.what


def test_a_file_that_is_moved_later_keeps_its_entry(library: Library, tmp_path: Path) -> None:
    """It is not registered twice, once at a place where it is not any more."""
    path = warc(tmp_path / "later.warc.gz", 1, 2)
    (added,) = library.add_file(path)
    (moved,) = library.add_file(path, move=True)
    assert (moved.outcome, moved.file.name) == ("unchanged", added.file.name)
    assert not path.exists()
    (file,) = library.list_files()
    assert file.path == "files/later.warc.gz"
    assert [payload(library, one) for one in all_of(library)] == [b"<p>1", b"<p>2"]


def test_files_of_a_relative_registry_directory_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Symptom: after `archive reindex` in the registry directory, moved files were not found."""
    (tmp_path / "registry").mkdir()
    monkeypatch.chdir(tmp_path)
    made = Library(Path("registry"), Settings())
    (added,) = made.add_file(warc(tmp_path / "a.warc.gz", 1), move=True)
    assert made.index_again([added.file.path])
    assert [one.path for one in made.list_files()] == [added.file.path]
    assert [payload(made, one) for one in all_of(made)] == [b"<p>1"]
    made.close()


def test_nothing_of_its_earlier_entry_is_left_when_a_file_is_indexed_again(
    library: Library, tmp_path: Path
) -> None:
    """Ruling tombstone-silence: not in free space of the index, either."""
    (added,) = library.add_file(warc(tmp_path / "a.warc.gz", *range(400)), move=True)
    digests = [one.digest.encode() for one in all_of(library)]
    place = tmp_path / "registry" / "captures" / added.file.path
    warc(place, 1000)
    assert library.index_again([added.file.path])
    held = [
        path.read_bytes() for path in (tmp_path / "registry" / "captures").glob("index.sqlite*")
    ]
    assert len(digests) == 400
    assert [one for one in digests if any(one in text for text in held)] == []
