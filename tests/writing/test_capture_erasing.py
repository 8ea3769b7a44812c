"""Captures are erased: in archive files of the registry and in its index, at the same length.

Ruling tombstone-silence: "`erase` (law: two persons, recorded) blanks the content […] at the same
length, keeps [it] valid for [its] validators, […] and lists what it cannot reach".
"""

from __future__ import annotations

import gzip
import io
import itertools
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from fastwarc.stream_io import ZstdReader, ZstdWriter, zstd_train_dictionary_from_samples
from fastwarc.warc import ArchiveIterator
from hypothesis import given
from hypothesis import strategies as st
from tests.archives.warcs import Warc
from tests.conftest import NOON, Clock, Desk
from tests.writing.test_withdrawing import _die_at, is_on_disk, problems
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from perdure.archives.files.blank_frames import encode_frame, list_beginnings
from perdure.archives.files.blank_members import RecordNotBlankable, encode_member
from perdure.archives.files.windows import Window, open_member, read_pieces
from perdure.archives.index import ranges
from perdure.archives.opening import open_capture
from perdure.archives.port import Capture
from perdure.archives.pwid import answering
from perdure.errors import CaptureWithdrawn, PerdureError
from perdure.errors.conflicts import CapturesNotErasable, NoCapturesToErase
from perdure.ids import parse
from perdure.ids.pwid import Pwid
from perdure.model.commands import Erase, Outcome, Receipt
from perdure.registry import Registry, initialise, load_bytes, load_store
from perdure.upkeep.transfer.backup import back_up

ARCHIVE = "archive.example.org"
URI = "http://a.example/jane"
DATE, LATER = "2014-01-26T20:06:24Z", "2015-01-26T20:06:24Z"
NAME = f"pwid:{ARCHIVE}:{DATE}:part:{URI}"
SECRET = b"Jane Doe lives at 12 Mill Lane."
PAGE = b"<title>Jane</title>" + SECRET * 40 + os.urandom(2000) + bytes(500)
POSTED = b"patient=Jane+Doe&diagnosis=gout"
FORM = "application/x-www-form-urlencoded"
TRACES = (SECRET, b"gout", b"Set-Cookie", b"x-of-secret")
INDEXER = Path(__file__).parents[2] / ".peers/bin/cdxj-indexer"


def erase(desk: Desk, name: str = NAME, **fields: Any) -> Receipt:
    command = Erase(identifier=parse(name), reason="the law", **fields)
    return desk.registry.door.execute_command(command)


def write_site(path: Path, *, zipped: bool) -> list[bytes]:
    """Write a file with a secret capture between others. Return all digests of the secret."""
    made = io.BytesIO()
    writer = WARCWriter(made, gzip=zipped)
    digests = []

    def add(uri: str, kind: str, body: bytes, date: str = DATE, *fields: tuple[str, str]) -> Any:
        http = None
        if kind == "response":
            held = [("Content-Type", "text/html"), ("Set-Cookie", "x"), ("X-A", "x-of-secret")]
            http = StatusAndHeaders(
                "200 OK", held if (uri, date) == (URI, DATE) else [], protocol="HTTP/1.1"
            )
        if kind == "request":
            held = [("Content-Type", FORM), ("Content-Length", str(len(body)))]
            http = StatusAndHeaders("POST /jane HTTP/1.1", held, is_http_request=True)
        record = writer.create_warc_record(
            uri,
            kind,
            payload=io.BytesIO(body),
            http_headers=http,
            warc_content_type="text/plain" if http is None else "",
            warc_headers_dict={"WARC-Date": date} | dict(fields),
        )
        writer.write_record(record)
        if uri == URI and date == DATE:
            for name in ("Payload", "Block"):
                value = record.rec_headers.get_header(f"WARC-{name}-Digest")
                digests.append(value.partition(":")[2].encode())
        return record

    add("http://a.example/first", "response", b"the first page")
    page = add(URI, "response", PAGE, DATE, ("WARC-JSON-Metadata", '{"x-of-secret":1}'))
    own = page.rec_headers.get_header("WARC-Record-ID")
    other = "2014-01-26T20:06:25Z"
    add(URI, "request", POSTED, other, ("WARC-Concurrent-To", own))
    add(URI, "metadata", SECRET, DATE)
    add(URI, "response", b"a year later", LATER)
    add("http://b.example/", "resource", b"the last one")
    path.write_bytes(made.getvalue())
    return digests


def check_file(path: Path) -> None:
    """The file is valid for readers that are not ours."""
    with path.open("rb") as file:
        for record in WarcioIterator(file, check_digests="raise"):
            record.content_stream().read()
    with path.open("rb") as file:
        found = list(ArchiveIterator(file, parse_http=True))
        assert len(found) == 6
    with path.open("rb") as file:
        for record in ArchiveIterator(file, parse_http=False):
            assert record.verify_block_digest()


def run_warcio_check(path: Path) -> None:
    command = "import sys; from warcio.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        (sys.executable, "-c", command, "check", str(path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def add_site(desk: Desk, *, zipped: bool) -> tuple[Path, list[bytes]]:
    source = desk.root.parent / f"{desk.root.name}.warc{'.gz' if zipped else ''}"
    digests = write_site(source, zipped=zipped)
    desk.registry.archive.add_file(source, move=True)
    return desk.root / "captures" / "files" / source.name, digests


def inflate(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def places(desk: Desk) -> list[tuple[str, str, int, int]]:
    whole = ranges.IndexRange("", "~")
    found = ranges.walk_range(desk.registry.archive.own_captures, whole)
    return [(one.uri, one.date, one.offset, one.length) for one in found]


def find_problems(desk: Desk) -> list[str]:
    """What `archive check` and `verify` find."""
    library = desk.registry.archive
    found = [one for file in library.list_files() for one in library.check_file(file)]
    return [one.problem for one in found if one.problem] + problems(desk.registry)


def read(desk: Desk, name: str) -> bytes:
    library, pwid = desk.registry.archive, parse(name)
    assert isinstance(pwid, Pwid)
    capture = answering.answer_locally(library, pwid, nearest=False).capture
    assert isinstance(capture, Capture)
    with closing(open_capture(library.captures, library.files, capture).record) as record:
        return b"".join(record.read_payload())


def find_traces(root: Path, *texts: bytes) -> list[str]:
    """The files with one of these texts, also in what is compressed: files, and runs of indexes."""
    packed = [
        str(path.relative_to(root))
        for path in root.rglob("*.gz")
        if any(one in inflate(path) for one in texts)
    ]
    return is_on_disk(root, *texts) + packed


def check_erased(desk: Desk, path: Path, digests: list[bytes]) -> None:
    assert find_traces(desk.root, *TRACES, *digests) == []
    assert not list((desk.root / "erasing").iterdir())
    check_file(path)
    assert find_problems(desk) == []
    with pytest.raises(CaptureWithdrawn):
        read(desk, NAME)
    assert read(desk, NAME.replace(DATE, LATER)) == b"a year later"
    assert read(desk, f"pwid:{ARCHIVE}:{DATE}:part:http://b.example/") == b"the last one"


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.reopen(erasure_persons=1, archive_id=ARCHIVE)
    return desk


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("spilled", [False, True])
def test_nothing_of_an_erased_capture_is_left(desk: Desk, *, zipped: bool, spilled: bool) -> None:
    """ "blanks the content […] and indexes at the same length, keeps them valid"."""
    if spilled:  # into runs of ZipNum blocks
        desk.reopen(captures_in_sqlite=1)
    path, digests = add_site(desk, zipped=zipped)
    assert bool(find_traces(desk.root / "captures" / "runs", *digests)) is spilled
    before, size = places(desk), path.stat().st_size
    assert len(digests) == 4
    receipt = erase(desk)
    assert (receipt.outcome, receipt.unreached) == (Outcome.CHANGED, ())
    assert (places(desk), path.stat().st_size) == (before, size)
    check_erased(desk, path, digests)
    tombstone = desk.record(NAME).tombstone
    assert tombstone
    assert tombstone.erased
    assert desk.registry.changes()[-1].act == "erase"
    run_warcio_check(path)
    desk.reopen()
    assert erase(desk).outcome is Outcome.UNCHANGED
    check_erased(desk, path, digests)


@pytest.mark.parametrize("zipped", [False, True])
def test_what_was_withdrawn_before_is_erased(desk: Desk, *, zipped: bool) -> None:
    path, digests = add_site(desk, zipped=zipped)
    desk.withdraw(NAME, "a complaint")
    assert is_on_disk(desk.root, b"the first page" if not zipped else digests[0])
    assert erase(desk).outcome is Outcome.CHANGED
    check_erased(desk, path, digests)
    tombstone = desk.record(NAME).tombstone
    assert tombstone
    assert tombstone.reason == "a complaint"


@pytest.mark.parametrize("has_dictionary", [False, True])
def test_captures_in_zstd_files_are_erased(
    desk: Desk, tmp_path: Path, *, has_dictionary: bool
) -> None:
    """Frames of records, as Archive Team's `.warc.zst`: one for each, with a dictionary or not."""
    plain = tmp_path / "a.warc"
    digests = write_site(plain, zipped=False)
    source = tmp_path / "a.warc.zst"
    source.write_bytes(_pack_records(plain, has_dictionary=has_dictionary))
    desk.registry.archive.add_file(source, move=True)
    path = desk.root / "captures" / "files" / source.name
    before, size = places(desk), path.stat().st_size
    receipt = erase(desk)
    assert receipt.outcome is Outcome.CHANGED
    assert ["dictionary" in one for one in receipt.unreached] == [True] * has_dictionary
    assert (places(desk), path.stat().st_size) == (before, size)
    assert find_problems(desk) == []
    inflated = b"".join(_unpack_records(path, before))
    assert [one for one in (*TRACES, *digests) if one in inflated] == []
    assert is_on_disk(desk.root, *TRACES, *digests) == []
    assert read(desk, NAME.replace(DATE, LATER)) == b"a year later"
    with path.open("rb") as file:
        found = [one.verify_block_digest() for one in ArchiveIterator(file, parse_http=False)]
    assert found == [True] * 6
    if shutil.which("zstd") and not has_dictionary:
        done = subprocess.run(["zstd", "-dc", str(path)], capture_output=True, check=True)
        assert done.stdout == inflated
    assert erase(desk).outcome is Outcome.UNCHANGED


def _pack_records(plain: Path, *, has_dictionary: bool) -> bytes:
    data, starts = plain.read_bytes(), []
    with plain.open("rb") as file:
        starts = [one.stream_pos for one in ArchiveIterator(file, parse_http=False)]
    records = [data[low:high] for low, high in itertools.pairwise([*starts, len(data)])]
    samples = [records[0][:size] for size in range(100, len(records[0]), 5)]
    dictionary = zstd_train_dictionary_from_samples(samples, 2000) if has_dictionary else None
    made = io.BytesIO()
    if dictionary is not None:
        made.write(b"\x5d\x2a\x4d\x18" + len(dictionary).to_bytes(4, "little") + dictionary)
    for one in records:
        frame = io.BytesIO()
        writer = ZstdWriter(frame, dictionary=dictionary, compress_dictionary_frame=False)
        writer.write(one)
        writer.flush()
        writer.close()
        text = frame.getvalue()
        made.write(text[text.index(b"\x28\xb5\x2f\xfd") :])
    return made.getvalue()


def _unpack_records(path: Path, found: list[tuple[str, str, int, int]]) -> Iterator[bytes]:
    with Window(path) as window:
        for *_, offset, length in sorted(found, key=lambda one: one[2]):
            yield from read_pieces(open_member(window, "zstd", offset, length))


@given(
    st.binary(max_size=300) | st.sampled_from([b"WARC/1.0\r\nWARC-Type: response\r\n" * 20]),
    st.integers(0, 300_000),
    st.sampled_from([b"", b"\r\n\r\n"]),
    st.integers(0, 400_000) | st.integers(0, 40),
)
def test_a_frame_has_the_length_that_is_asked_for(
    head: bytes, zeros: int, tail: bytes, more: int
) -> None:
    """RFC 8878 section 3.1.1.2: "each block […] Raw_Block […] RLE_Block […]"."""
    length = len(zlib.compress(head, 9)) + 60 + more
    frames = [encode_frame(one, zeros, tail, length) for one in list_beginnings(head, None)]
    frame = next((one for one in frames if one is not None), None)
    if frame is None:
        assert more < 100
        return
    packed = b"".join(frame)
    assert len(packed) == length
    reader, out = ZstdReader(io.BytesIO(packed)), b""
    while piece := reader.read(1 << 20):
        out += piece
    assert out == head + bytes(zeros) + tail


@pytest.mark.parametrize("zipped", [False, True])
def test_the_heads_and_the_other_records_stay(desk: Desk, *, zipped: bool) -> None:
    path, _ = add_site(desk, zipped=zipped)
    before = _list_records(path)
    erase(desk)
    for (fields, block), (old_fields, old_block) in zip(_list_records(path), before, strict=True):
        kept = {name for name in old_fields if "Digest" not in name and "JSON" not in name}
        assert {name: fields[name] for name in kept} == {name: old_fields[name] for name in kept}
        assert len(block) == len(old_block)
        is_erased = fields["WARC-Target-URI"] == URI and fields["WARC-Date"] != LATER
        assert (block == old_block) is not is_erased
        left = {"response": b"HTTP/1.1 200 \r\n\r\n", "request": b"POST / HTTP/1.1\r\n\r\n"}
        if is_erased:
            left_over = left.get(fields["WARC-Type"], b"")
            assert block == left_over + bytes(len(block) - len(left_over))


def _list_records(path: Path) -> list[tuple[dict[str, str], bytes]]:
    with path.open("rb") as file:
        return [
            (dict(one.rec_headers.headers), one.raw_stream.read())
            for one in WarcioIterator(file, no_record_parse=True)
        ]


@pytest.mark.parametrize("zipped", [False, True])
def test_cdxj_indexer_reads_the_file(desk: Desk, *, zipped: bool) -> None:
    if not INDEXER.exists():
        pytest.skip("the peers are not installed (make unit)")
    path, _ = add_site(desk, zipped=zipped)
    before = _run_indexer(path)
    erase(desk)
    after = _run_indexer(path)
    assert len(after) == len(before) == 5
    assert [line.split()[1] for line in after] == [line.split()[1] for line in before]
    assert sum(one != other for one, other in zip(after, before, strict=True)) == 2


def _run_indexer(path: Path) -> list[str]:
    done = subprocess.run((str(INDEXER), str(path)), capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_what_a_crawler_made_of_the_page_is_erased(desk: Desk, tmp_path: Path) -> None:
    """Ruling tombstone-silence: "no text, derived title, preview […] of it"."""
    add_site(desk, zipped=True)
    warc = Warc(tmp_path / "derived.warc.gz")
    for uri in (f"urn:text:{URI}", f"screenshot:{URI}"):
        warc.resource(uri, "2014-01-26T20:06:40Z", SECRET, "text/plain")
        warc.resource(uri, "2014-01-27T20:06:40Z", b"a day later", "text/plain")
    added = desk.registry.archive.add_file(warc.finish(), move=True)
    assert SECRET in inflate(desk.root / "captures" / added[0].file.path)
    assert erase(desk).unreached == ()
    inflated = inflate(desk.root / "captures" / added[0].file.path)
    assert SECRET not in inflated
    assert inflated.count(b"a day later") == 2
    assert find_problems(desk) == []


def test_what_lies_elsewhere_is_not_touched(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside.warc.gz"
    write_site(outside, zipped=True)
    intact = outside.read_bytes()
    desk.registry.archive.add_file(outside)
    with pytest.raises(CapturesNotErasable, match="outside the registry directory"):
        erase(desk)
    assert not (desk.root / "withheld.jsonl").exists()
    with pytest.raises(NoCapturesToErase):
        erase(desk, f"{NAME}x")
    assert not (desk.root / "withheld.jsonl").exists()
    path, digests = add_site(desk, zipped=True)
    receipt = erase(desk)
    assert receipt.outcome is Outcome.CHANGED
    assert any("outside.warc.gz" in one for one in receipt.unreached)
    assert outside.read_bytes() == intact
    assert not any(one in inflate(path) for one in (*TRACES, *digests))
    check_file(path)


def test_a_capture_that_is_added_again_is_erased_again(desk: Desk, tmp_path: Path) -> None:
    path, digests = add_site(desk, zipped=True)
    erase(desk)
    again = tmp_path / "again.warc.gz"
    digests += write_site(again, zipped=True)
    desk.registry.archive.add_file(again, move=True)
    with pytest.raises(CaptureWithdrawn):
        read(desk, NAME)
    assert find_traces(desk.root, *TRACES)
    assert erase(desk).outcome is Outcome.CHANGED
    check_erased(desk, path, digests)
    check_file(desk.root / "captures" / "files" / again.name)


def test_a_file_with_another_name_is_not_touched(desk: Desk) -> None:
    path, _ = add_site(desk, zipped=False)
    intact = path.read_bytes()
    os.link(path, desk.root.parent / "linked.warc")
    with pytest.raises(CapturesNotErasable, match="hard link"):
        erase(desk)
    assert path.read_bytes() == intact


def test_a_package_with_a_compressed_file_is_not_touched(desk: Desk, tmp_path: Path) -> None:
    """The file that was unpacked from it is erased; the package is listed."""
    warc = tmp_path / "in.warc.gz"
    digests = write_site(warc, zipped=True)
    with zipfile.ZipFile(tmp_path / "packed.wacz", "w", zipfile.ZIP_DEFLATED) as package:
        package.write(warc, "archive/packed.warc.gz")
    desk.registry.archive.add_file(tmp_path / "packed.wacz")
    receipt = erase(desk)
    assert receipt.outcome is Outcome.CHANGED
    assert ["packed" in one for one in receipt.unreached] == [True]
    unpacked = desk.root / "captures" / "files" / "packed.warc.gz"
    assert not any(one in inflate(unpacked) for one in (*TRACES, *digests))
    check_file(unpacked)


def test_two_persons_erase_a_capture(desk: Desk) -> None:
    """The first request is a proposal: nothing is overwritten, and nothing is withheld."""
    desk.reopen(erasure_persons=2)
    path, _ = add_site(desk, zipped=True)
    intact = path.read_bytes()
    assert erase(desk, by="anna").outcome is Outcome.PROPOSED
    assert read(desk, NAME) == PAGE
    assert path.read_bytes() == intact


def test_a_file_that_is_gone_does_not_stop_the_writer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = add_site(desk, zipped=False)

    def fail(*_: object) -> int:
        raise OSError(5, "the disk is failing")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", fail)
        with pytest.raises(PerdureError, match="disk"):
            erase(desk)
    path.unlink()
    desk.reopen()
    assert desk.register("hdl:10.9999/a").outcome is Outcome.CREATED
    assert not list((desk.root / "erasing").iterdir())


def test_revisits_of_the_payload_are_listed(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "revisits.warc.gz"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        head = StatusAndHeaders("200 OK", [], protocol="HTTP/1.1")
        page = writer.create_warc_record(
            URI,
            "response",
            payload=io.BytesIO(PAGE),
            http_headers=head,
            warc_headers_dict={"WARC-Date": DATE},
        )
        writer.write_record(page)
        digest = page.rec_headers.get_header("WARC-Payload-Digest")
        writer.write_record(
            writer.create_revisit_record(
                URI, digest, URI, DATE, head, warc_headers_dict={"WARC-Date": LATER}
            )
        )
    desk.registry.archive.add_file(path, move=True)
    receipt = erase(desk)
    assert [LATER in one and "same payload" in one for one in receipt.unreached] == [True]
    with pytest.raises(PerdureError):
        read(desk, NAME.replace(DATE, LATER))
    second = erase(desk, NAME.replace(DATE, LATER))
    assert (second.outcome, second.unreached) == (Outcome.CHANGED, ())
    assert is_on_disk(desk.root, digest.partition(":")[2].encode()) == []
    assert find_problems(desk) == []


def test_a_backup_copies_an_erased_file_again(desk: Desk, tmp_path: Path) -> None:
    desk.reopen(captures_in_sqlite=1)
    _, digests = add_site(desk, zipped=False)
    list(back_up(desk.root, tmp_path / "copy", load_store("sqlite"), load_bytes("segments")))
    assert find_traces(tmp_path / "copy", SECRET)
    assert find_traces(tmp_path / "copy" / "captures" / "runs", *digests)
    erase(desk)
    list(back_up(desk.root, tmp_path / "copy", load_store("sqlite"), load_bytes("segments")))
    assert find_traces(tmp_path / "copy", *TRACES, *digests) == []


def _die_while_erasing(root: Path, environment: dict[str, str], clock: Clock, number: int) -> bool:
    """Erase in another process that dies at this call. Return whether it died."""
    child = os.fork()
    if not child:
        with (
            suppress(BaseException),
            Registry(root, environment=environment, clock=clock) as registry,
        ):
            _die_at(number)
            registry.door.execute_command(Erase(identifier=parse(NAME), reason="the law"))
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9)
    return code == 9


@pytest.mark.parametrize(("zipped", "most"), [(False, 1000), (True, 1)])
def test_a_crash_at_any_point_is_mended_by_repeating(
    place: Path, *, zipped: bool, most: int
) -> None:
    """`most`: captures in SQLite; the others are in runs."""
    number, died = 0, True
    while died:
        root = place / str(number)
        initialise(root, series=("oma.eop.gov.us",))
        desk = Desk(root, Clock(NOON))
        desk.reopen(erasure_persons=1, archive_id=ARCHIVE, captures_in_sqlite=most)
        path, digests = add_site(desk, zipped=zipped)
        desk.registry.close()
        died = _die_while_erasing(root, desk.environment, desk.clock, number)
        desk.reopen()
        assert read(desk, NAME.replace(DATE, LATER)) == b"a year later"
        erase(desk)
        check_erased(desk, path, digests)
        desk.registry.close()
        number += 1
    assert number > 15


@pytest.mark.parametrize("zipped", [False, True])
def test_a_record_that_was_half_overwritten_is_finished(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, *, zipped: bool
) -> None:
    """The note says all that is to be written: what is in the file does not matter any more."""
    path, digests = add_site(desk, zipped=zipped)
    real, left = os.pwrite, 2

    def pwrite(fd: int, data: Any, offset: int) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(5, "the disk is failing")
        return real(fd, bytes(data)[: len(data) // 2], offset)

    monkeypatch.setattr(os, "pwrite", pwrite)
    with pytest.raises(PerdureError, match="disk"):
        erase(desk)
    monkeypatch.setattr(os, "pwrite", real)
    desk.reopen()
    erase(desk)
    check_erased(desk, path, digests)


@given(
    st.binary(max_size=300),
    st.integers(0, 200_000),
    st.sampled_from([b"", b"\r\n\r\n"]),
    st.integers(0, 300_000),
)
def test_a_member_has_the_length_that_is_asked_for(
    head: bytes, zeros: int, tail: bytes, more: int
) -> None:
    """RFC 1952 section 2.2: "A gzip file consists of a series of members"."""
    text = head + bytes(zeros) + tail
    length = len(zlib.compress(text, 9)) + 40 + more
    member = b"".join(encode_member(head, zeros, tail, length))
    assert (len(member), gzip.decompress(member)) == (length, text)
    with pytest.raises(RecordNotBlankable):
        encode_member(head, zeros, tail, 10)
