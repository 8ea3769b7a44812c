"""The promises of `perdure.storage.byte_ports.Bytes`, checked on every store of bytes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.conftest import sha512
from tests.storage.stores import BYTE_STORES, ByteStore, ObjectByteStore, SegmentStore

from perdure.errors import Corrupt
from perdure.model.commands import Content, make_representation
from perdure.model.records import Correction, Reading, Representation, Tombstone
from perdure.storage.byte_ports import (
    CHUNK,
    Blanking,
    Bytes,
    BytesWriter,
    CheckedRecord,
    IntactBytes,
    KeptCorrection,
    KeptRecord,
    list_facts,
)
from perdure.storage.spool import Spool, make_content
from perdure.testing.memory_bytes import MemoryByteStore
from perdure.writing.silencing import digest_rest

NOON = "2026-11-21T12:00:00Z"
TOMORROW = "2026-11-22T12:00:00Z"
NAME = "pdi://oma.eop.gov.us/2026/11/21"


class Committed(NamedTuple):
    """The entry of a journal for one segment."""

    length: int
    opened: str
    grows: bool


def list_kept(held: Bytes, number: int) -> list[KeptRecord]:
    """The records of a segment, none of which is damaged."""
    kept = []
    for record in held.read_records(number):
        assert isinstance(record, KeptRecord)
        kept.append(record)
    return kept


class Place:
    """The bytes of one registry, and the journal's knowledge of them."""

    def __init__(self, root: Path, store: ByteStore) -> None:
        self.root = root
        self.store = store
        self.known: dict[int, Committed] = {}
        for name in ("incoming", "aside"):
            (root / name).mkdir(parents=True)
        self.held = store.open_bytes(root)
        self.held.create()

    def open_writer(self, *, segment_bytes: int = 1 << 30, now: str = NOON) -> BytesWriter:
        growing = [
            (number, one.length, one.opened)
            for number, one in sorted(self.known.items())
            if one.grows
        ]
        return self.held.open_writer(
            self.known, growing[-1] if growing else None, segment_bytes=segment_bytes, now=now
        )

    def commit(self, writer: BytesWriter, now: str = NOON) -> None:
        """As a ledger does, with a journal that is this object."""
        writer.send()
        lengths = writer.list_lengths()
        writer.flush()
        for number, length, grows in lengths:
            first = self.known.get(number, Committed(0, now, grows))
            self.known[number] = first._replace(length=length)
        writer.note_commit()

    def keep(self, writer: BytesWriter, *texts: bytes, now: str = NOON) -> list[Representation]:
        """Write texts in a batch of their own."""
        writer.begin_batch(now)
        kept = [append(writer, text, number) for number, text in enumerate(texts, 1)]
        self.commit(writer, now)
        return kept

    def spool(self, data: bytes) -> tuple[Content, Path]:
        """An upload that is too large for memory, with its file."""
        with Spool(self.root / "incoming") as spool:
            spool.write(data)
            content = spool.finish_content(format="text", media_type="text/plain")
        assert content.spooled is not None
        return content, self.root / "incoming" / content.spooled


def content_of(data: bytes) -> Content:
    return make_content(data, format="text", media_type="text/plain", charset="utf-8")


def append(writer: BytesWriter, data: bytes, number: int = 1) -> Representation:
    content = content_of(data)
    return make_representation(content, *writer.append(f"{NAME}/{number}.text.1", 1, content))


@pytest.fixture(params=BYTE_STORES, ids=lambda store: store.__name__)
def store(request: pytest.FixtureRequest) -> ByteStore:
    made: Callable[[], ByteStore] = request.param
    return made()


@pytest.fixture
def place(tmp_path: Path, store: ByteStore) -> Iterator[Place]:
    made = Place(tmp_path / "registry", store)
    with closing(made.held):
        yield made


@pytest.fixture
def writer(place: Place) -> Iterator[BytesWriter]:
    with closing(place.open_writer()) as opened:
        yield opened


# Reading
# -------


def test_bytes_are_read_as_they_were_written(place: Place, writer: BytesWriter) -> None:
    texts = [b"one", b"", b"\r\n\r\nWARC/1.1\r\n", bytes(range(256)) * 3000]
    kept = place.keep(writer, *texts)
    assert [place.held.read_bytes(one) for one in kept] == texts
    assert place.held.list_numbers() == [1]


def test_long_bytes_come_in_pieces(place: Place, writer: BytesWriter) -> None:
    data = os.urandom(3 * CHUNK + 1)
    (one,) = place.keep(writer, data)
    pieces = list(place.held.read_chunks(one))
    assert b"".join(pieces) == data
    assert all(0 < len(piece) <= CHUNK for piece in pieces)


def test_a_file_contains_them_at_an_offset(place: Place, writer: BytesWriter) -> None:
    """For `sendfile` and the page cache by its descriptor, for other programs by its path."""
    place.keep(writer, b"before")
    (one,) = place.keep(writer, b"some bytes")
    file, offset = place.held.find_local(one)
    assert os.pread(file.fd, one.length, offset) == b"some bytes"
    assert file.read(5, offset + 5) == b"bytes"
    with file.path.open("rb") as opened:
        opened.seek(offset)
        assert opened.read(one.length) == b"some bytes"


def test_a_file_is_still_there_after_sealing_and_closing(place: Place, writer: BytesWriter) -> None:
    (one,) = place.keep(writer, b"some bytes")
    file, offset = place.held.find_local(one)
    assert writer.list_sealable(TOMORROW) == [1]
    place.held.seal(1, TOMORROW)
    assert file.path.exists()
    place.held.close()
    assert file.read(one.length, offset) == b"some bytes"


def test_missing_bytes_are_an_alarm(place: Place, writer: BytesWriter) -> None:
    (one,) = place.keep(writer, b"some bytes")
    nowhere = make_representation(content_of(b"some bytes"), 99, one.offset)
    with pytest.raises(Corrupt):
        place.held.read_bytes(nowhere)
    with pytest.raises(Corrupt):
        place.held.find_local(nowhere)
    with pytest.raises(Corrupt):
        list(place.held.read_records(99))


def test_bytes_that_end_too_early_are_an_alarm(place: Place, writer: BytesWriter) -> None:
    first, second = place.keep(writer, b"first", b"second")
    place.store.shorten_segment(place.root, 1, second.offset + 3)
    assert place.held.read_bytes(first) == b"first"
    with pytest.raises(Corrupt, match="the end of the file"):
        place.held.read_bytes(second)
    kept, damage = place.held.read_records(1)
    assert isinstance(kept, KeptRecord)
    assert kept.representation == first
    assert isinstance(damage, Corrupt)


def test_create_makes_the_listed_directories_only(place: Place) -> None:
    """ "The names of the directories that `create` makes in the registry directory"."""
    made = {path.name for path in place.root.iterdir() if path.is_dir()}
    assert made == {"incoming", "aside", *place.held.list_directories()}


# Rebuilding
# ----------


def test_records_say_all_that_a_rebuild_needs(place: Place, writer: BytesWriter) -> None:
    why = Tombstone(reason="a court said so", at=NOON, by="oma")
    writer.begin_batch(NOON)
    one = append(writer, "Äpfel".encode())
    writer.append_tombstone(f"{NAME}/1", 0, why)
    writer.append_tombstone(f"{NAME}/2", 3, why)
    place.commit(writer)
    kept, whole, version = list_kept(place.held, 1)
    assert (kept.name, kept.version, kept.at) == (f"{NAME}/1.text.1", 1, NOON)
    assert (kept.representation, kept.tombstone) == (one, None)
    assert (whole.name, whole.version, whole.at) == (f"{NAME}/1", 0, NOON)
    assert (whole.representation, whole.tombstone) == (None, why)
    assert (version.name, version.version, version.tombstone) == (f"{NAME}/2", 3, why)
    assert 0 < kept.end < whole.end < version.end == place.known[1].length


def test_a_check_says_what_the_heads_of_intact_bytes_say(place: Place, writer: BytesWriter) -> None:
    """Of documents small and large; what else was read comes as it is in the segment."""
    held = place.keep(writer, b"one", b"2" * 70_000, b"")
    tombstone = Tombstone(at=NOON, by="local", reason="wrong")
    writer.begin_batch(NOON)
    writer.append_tombstone(f"{NAME}/1", 1, tombstone)
    place.commit(writer)
    (number, known) = next(iter(place.known.items()))
    *intact, last = place.held.check_records(number, known.length)
    assert intact == [
        IntactBytes(one.offset, list_facts(f"{NAME}/{serial}.text.1", 1, one))
        for serial, one in enumerate(held, 1)
    ]
    assert isinstance(last, CheckedRecord)
    assert (last.is_intact, last.kept.tombstone) == (True, tombstone)


def test_records_say_how_bytes_were_corrected(place: Place, writer: BytesWriter) -> None:
    correction = Correction(
        before=Reading(media_type="text/plain", charset="windows-1252"),
        after=Reading(media_type="text/plain", charset="ibm850", language="da"),
        at=NOON,
        by="oma",
        reason="from DOS, says \u00c5se",
    )
    kept = KeptCorrection(format="text", correction=correction)
    writer.begin_batch(NOON)
    append(writer, b"Bl\x86b\x91r")
    writer.append_correction(f"{NAME}/1", 1, kept)
    place.commit(writer)
    _, found = list_kept(place.held, 1)
    assert (found.name, found.version, found.at) == (f"{NAME}/1", 1, NOON)
    assert (found.correction, found.representation, found.tombstone) == (kept, None, None)


BATCHES = st.lists(st.lists(st.binary(max_size=40), max_size=4), max_size=4)


@given(batches=BATCHES)
@pytest.mark.parametrize("make", [SegmentStore, MemoryByteStore])
def test_what_is_kept_can_be_read_and_listed(
    tmp_path_factory: pytest.TempPathFactory,
    make: Callable[[], ByteStore],
    batches: list[list[bytes]],
) -> None:
    check_kept(tmp_path_factory, make, batches)


@settings(max_examples=8)  # each takes some dozens of requests
@given(batches=BATCHES)
def test_what_is_kept_in_objects_can_be_read_and_listed(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[bytes]]
) -> None:
    check_kept(tmp_path_factory, ObjectByteStore, batches)


def check_kept(
    tmp_path_factory: pytest.TempPathFactory,
    make: Callable[[], ByteStore],
    batches: list[list[bytes]],
) -> None:
    place = Place(tmp_path_factory.mktemp("kept") / "registry", make())
    with closing(place.open_writer(segment_bytes=600)) as writer, closing(place.held):
        kept = [one for texts in batches for one in place.keep(writer, *texts)]
        records = [
            record
            for number in place.held.list_numbers()
            for record in list_kept(place.held, number)
        ]
        assert [record.representation for record in records] == kept
        texts = [text for texts in batches for text in texts]
        assert [place.held.read_bytes(one) for one in kept] == texts


# Batches
# -------


def test_lengths_are_told_for_the_journal(place: Place, writer: BytesWriter) -> None:
    writer.begin_batch(NOON)
    assert writer.list_lengths() == []
    append(writer, b"one")
    ((number, length, grows),) = writer.list_lengths()
    assert (number, grows) == (1, True)
    place.commit(writer)
    writer.begin_batch(NOON)
    assert writer.list_lengths() == []
    append(writer, b"two")
    ((again, longer, _),) = writer.list_lengths()
    assert again == 1
    assert longer > length


def test_a_batch_that_is_rewound_leaves_nothing(place: Place, writer: BytesWriter) -> None:
    (first,) = place.keep(writer, b"first")
    writer.begin_batch(NOON)
    append(writer, b"undone", 2)
    writer.send()
    writer.flush()
    writer.rewind_batch()
    assert [one.representation for one in list_kept(place.held, 1)] == [first]
    (second,) = place.keep(writer, b"SECOND")
    assert place.held.read_bytes(second) == b"SECOND"
    assert [one.representation for one in list_kept(place.held, 1)] == [first, second]


def test_a_spooled_upload_becomes_a_segment(place: Place, writer: BytesWriter) -> None:
    data = b"x" * (9 << 20)
    content, source = place.spool(data)
    writer.begin_batch(NOON)
    name = f"{NAME}/1.text.1"
    one = make_representation(content, *writer.adopt(name, 1, content, source))
    ((number, _, grows),) = writer.list_lengths()
    assert (number, grows) == (one.segment, False)
    place.commit(writer)
    assert not source.exists()
    assert place.held.read_bytes(one) == data
    (record,) = list_kept(place.held, number)
    assert (record.name, record.representation) == (name, one)


def test_a_spooled_upload_comes_back_if_its_batch_is_rewound(
    place: Place, writer: BytesWriter
) -> None:
    data = b"x" * (9 << 20)
    content, source = place.spool(data)
    size = source.stat().st_size
    writer.begin_batch(NOON)
    number, _ = writer.adopt(f"{NAME}/1.text.1", 1, content, source)
    writer.rewind_batch()
    assert source.stat().st_size == size
    assert number not in place.held.list_numbers()
    writer.begin_batch(NOON)
    found = writer.adopt(f"{NAME}/2.text.1", 1, content, source)
    place.commit(writer)
    assert place.held.read_bytes(make_representation(content, *found)) == data


def test_a_crash_leaves_only_what_was_committed(place: Place, writer: BytesWriter) -> None:
    """The bytes of the last batch were written, but its transaction was not."""
    (first,) = place.keep(writer, b"first")
    content, source = place.spool(b"x" * (9 << 20))
    writer.begin_batch(NOON)
    append(writer, b"never acknowledged", 2)
    writer.adopt(f"{NAME}/3.text.1", 1, content, source)
    writer.send()
    writer.flush()
    writer.close()
    with closing(place.open_writer()) as after:
        assert place.held.list_numbers() == [1]
        assert [one.representation for one in list_kept(place.held, 1)] == [first]
        (second,) = place.keep(after, b"second")
    assert second.segment == 1
    assert [one.representation for one in list_kept(place.held, 1)] == [first, second]
    assert place.held.read_bytes(second) == b"second"


def test_a_segment_that_lost_committed_bytes_is_not_written_to(
    place: Place, writer: BytesWriter
) -> None:
    place.keep(writer, b"first")
    writer.close()
    place.store.shorten_segment(place.root, 1, place.known[1].length - 1)
    with pytest.raises(Corrupt):
        place.open_writer()


# Segments
# --------


def test_a_long_segment_does_not_grow_any_more(place: Place) -> None:
    with closing(place.open_writer(segment_bytes=1)) as writer:
        kept = [place.keep(writer, text)[0] for text in (b"one", b"two", b"three")]
        assert [one.segment for one in kept] == [1, 2, 3]
        assert place.held.list_numbers() == [1, 2, 3]
        assert writer.list_sealable(NOON) == [1, 2]


def test_a_day_has_segments_of_its_own(place: Place, writer: BytesWriter) -> None:
    (one,) = place.keep(writer, b"one")
    assert writer.list_sealable(NOON) == []
    (two,) = place.keep(writer, b"two", now=TOMORROW)
    assert (one.segment, two.segment) == (1, 2)
    assert writer.list_sealable(TOMORROW) == [1]


def test_the_segment_of_a_past_day_can_be_sealed_before_another_begins(
    place: Place, writer: BytesWriter
) -> None:
    place.keep(writer, b"one")
    assert writer.list_sealable(TOMORROW) == [1]
    (two,) = place.keep(writer, b"two", now=TOMORROW)
    assert two.segment == 2


def test_a_writer_goes_on_with_the_growing_segment(place: Place, writer: BytesWriter) -> None:
    place.keep(writer, b"one")
    writer.close()
    with closing(place.open_writer()) as again:
        (two,) = place.keep(again, b"two")
    assert two.segment == 1
    assert place.held.read_bytes(two) == b"two"


def test_sealed_bytes_are_the_same_and_sealing_can_be_repeated(
    place: Place, writer: BytesWriter
) -> None:
    (one,) = place.keep(writer, b"some bytes")
    before = list_kept(place.held, 1)
    assert writer.list_sealable(TOMORROW) == [1]
    for _ in range(2):
        place.held.seal(1, TOMORROW)
    assert writer.list_sealable(TOMORROW) == []
    with closing(place.store.open_bytes(place.root)) as fresh:
        assert fresh.read_bytes(one) == b"some bytes"
        assert list_kept(fresh, 1) == before
        assert fresh.list_numbers() == [1]


def test_a_sealed_segment_never_grows(place: Place, writer: BytesWriter) -> None:
    """Even if the journal still calls it growing, as after a crash between the two."""
    place.keep(writer, b"one")
    writer.close()
    place.held.seal(1, NOON)
    before = list_kept(place.held, 1)
    with closing(place.open_writer()) as again:
        (two,) = place.keep(again, b"two")
    assert two.segment == 2
    assert list_kept(place.held, 1) == before


def test_reading_goes_on_in_threads_while_segments_are_sealed(place: Place) -> None:
    count = 6 if isinstance(place.store, ObjectByteStore) else 20  # a seal takes ten requests
    texts = [f"document {number}".encode() for number in range(count)]
    with closing(place.open_writer(segment_bytes=1)) as writer:
        kept = [place.keep(writer, text)[0] for text in texts]
        sealable = writer.list_sealable(NOON)
    failures: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                with closing(place.store.open_bytes(place.root)) as fresh:
                    assert [fresh.read_bytes(one) for one in kept] == texts
            except BaseException as error:
                failures.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in sealable:
        place.held.seal(number, NOON)
    done.set()
    for reader in readers:
        reader.join()
    assert len(sealable) == count - 1
    assert failures == []


# Backups
# -------


@pytest.fixture
def copy(place: Place, tmp_path: Path) -> Place:
    return Place(tmp_path / "copy", place.store)


def test_a_copy_ends_where_it_was_told_to(place: Place, copy: Place, writer: BytesWriter) -> None:
    (one,) = place.keep(writer, b"one")
    length = place.known[1].length
    (two,) = place.keep(writer, b"two")
    place.held.copy_segment(1, length, copy.root)
    assert [record.representation for record in list_kept(copy.held, 1)] == [one]
    place.held.copy_segment(1, place.known[1].length, copy.root)
    with closing(place.store.open_bytes(copy.root)) as fresh:
        assert [fresh.read_bytes(kept) for kept in (one, two)] == [b"one", b"two"]


@pytest.mark.parametrize("link", [False, True])
def test_a_sealed_segment_is_copied_as_such(
    place: Place, copy: Place, writer: BytesWriter, *, link: bool
) -> None:
    (one,) = place.keep(writer, b"one")
    length = place.known[1].length
    place.held.copy_segment(1, length, copy.root)
    place.held.seal(1, NOON)
    assert place.held.is_same_sealed(1, copy.root)  # it is not sealed there
    for _ in range(2):
        place.held.copy_segment(1, length, copy.root, link=link)
    assert place.held.is_same_sealed(1, copy.root)
    with closing(place.store.open_bytes(copy.root)) as fresh:
        assert fresh.read_bytes(one) == b"one"
    copy.known[1] = place.known[1]
    with closing(copy.open_writer()) as after:
        assert copy.keep(after, b"two")[0].segment == 2


def test_another_sealed_segment_is_not_the_same(
    place: Place, copy: Place, writer: BytesWriter
) -> None:
    place.keep(writer, b"one")
    with closing(copy.open_writer()) as other:
        copy.keep(other, b"another")
    copy.held.seal(1, NOON)
    assert not place.held.is_same_sealed(1, copy.root)
    place.held.seal(1, NOON)
    assert not place.held.is_same_sealed(1, copy.root)


def test_what_is_not_there_cannot_be_copied(place: Place, copy: Place, writer: BytesWriter) -> None:
    place.keep(writer, b"one")
    with pytest.raises(Corrupt):
        place.held.copy_segment(1, place.known[1].length + 1, copy.root)
    with pytest.raises(Corrupt):
        place.held.copy_segment(99, 1, copy.root)
    assert copy.held.list_numbers() == []


def test_creating_again_changes_nothing(place: Place, writer: BytesWriter) -> None:
    (one,) = place.keep(writer, b"one")
    place.held.create()
    assert place.held.read_bytes(one) == b"one"


def test_each_store_is_of_the_port(place: Place, writer: BytesWriter) -> None:
    """Checked by mypy: this function fails no other way."""
    held: Bytes = place.held
    assert held.list_numbers() == []
    assert writer.list_sealable(NOON) == []


# Erasing
# -------


@pytest.mark.parametrize("sealed", [False, True])
def test_what_is_erased_is_zeros_and_all_else_stays(
    place: Place, writer: BytesWriter, *, sealed: bool
) -> None:
    one, two, three = place.keep(writer, b"first", b"the secret", b"third")
    if sealed:
        place.keep(writer, b"of another day", now=TOMORROW)
        place.held.seal(1, NOON)
    left = replace(two, sha512=digest_rest(place.held, two, ((4, 10),)))
    for _ in range(2):  # it can be repeated
        assert place.held.blank_bytes([Blanking(held=left, spans=((4, 10),))], NOON) == []
        texts = [place.held.read_bytes(kept) for kept in (one, left, three)]
        assert texts == [b"first", b"the " + bytes(6), b"third"]
    kept = {record.representation for record in list_kept(place.held, 1)}
    assert {one, left, three} <= kept
    assert left.sha512 == sha512(b"the " + bytes(6))


def test_a_large_document_is_erased(place: Place, writer: BytesWriter) -> None:
    content, source = place.spool(b"x" * (9 << 20))
    writer.begin_batch(NOON)
    held = make_representation(content, *writer.adopt(f"{NAME}/1.text.1", 1, content, source))
    place.commit(writer)
    left = replace(held, sha512=digest_rest(place.held, held, ((0, held.length),)))
    place.held.seal(held.segment, NOON)
    place.held.blank_bytes([Blanking(held=left, spans=((0, held.length),))], NOON)
    assert place.held.read_bytes(left) == bytes(9 << 20)
    assert left.sha512 == sha512(bytes(9 << 20))


def test_what_is_not_there_cannot_be_erased(place: Place, writer: BytesWriter) -> None:
    (one,) = place.keep(writer, b"one")
    for missing in (replace(one, segment=99), replace(one, offset=one.offset + 1)):
        if isinstance(place.store, SegmentStore) or missing.segment == 99:
            with pytest.raises(Corrupt):
                place.held.blank_bytes([Blanking(held=missing, spans=((0, 1),))], NOON)
    assert place.held.read_bytes(one) == b"one"


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("sealed", [False, True])
def test_a_later_copy_carries_an_erasure(
    place: Place, copy: Place, writer: BytesWriter, *, sealed: bool, link: bool
) -> None:
    """A backup into the same place replaces what was erased since the one before."""
    (one,) = place.keep(writer, b"secret")
    place.keep(writer, b"of another day", now=TOMORROW)
    if sealed:
        place.held.seal(1, NOON)
    length = place.known[1].length
    place.held.copy_segment(1, length, copy.root, link=link)
    left = replace(one, sha512=digest_rest(place.held, one, ((0, 6),)))
    linked = place.held.blank_bytes([Blanking(held=left, spans=((0, 6),))], NOON)
    has_links = link and sealed and isinstance(place.store, SegmentStore)
    assert linked == ([1] if has_links else [])
    with closing(place.store.open_bytes(copy.root)) as fresh:
        assert fresh.read_bytes(one) == b"secret"  # a copy is another place
    assert place.held.is_same_sealed(1, copy.root)
    place.held.copy_segment(1, length, copy.root, link=link)
    with closing(place.store.open_bytes(copy.root)) as fresh:
        assert fresh.read_bytes(left) == bytes(6)


@pytest.mark.parametrize("sealed", [False, True])
def test_damaged_bytes_are_mended_in_their_place(
    place: Place, writer: BytesWriter, *, sealed: bool
) -> None:
    held = place.keep(writer, b"mended", b"beside it")
    if sealed:
        writer.begin_batch(TOMORROW)
        for number in writer.list_sealable(TOMORROW):
            place.held.seal(number, TOMORROW)
    place.held.mend_bytes(held[0], iter([b"dam", b"age"]))
    assert place.held.read_bytes(held[0]) == b"damage"
    place.held.mend_bytes(held[0], iter([b"mended"]))
    assert [place.held.read_bytes(one) for one in held] == [b"mended", b"beside it"]
    assert list(place.held.check_root()) == []
    missing = replace(held[0], segment=99)
    with pytest.raises(Corrupt):
        place.held.mend_bytes(missing, iter([b"mended"]))
