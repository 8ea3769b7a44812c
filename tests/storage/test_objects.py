"""Bytes in an object store: faults of the store, of the network and of the settings.

`test_bytes_contract.py` checks what every store of bytes promises.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.conftest import sha512
from tests.storage.faulty_proxy import Fault, FaultyProxy, open_proxy
from tests.storage.s3_server import KEY, SECRET, make_address, start_server
from tests.storage.test_bytes_contract import NAME, NOON, TOMORROW, append

from perdure.errors import BadSettings, Corrupt
from perdure.errors.object_stores import (
    BucketMissing,
    ConditionIgnored,
    ObjectAddressMalformed,
    ObjectAltered,
    ObjectCredentialsMissing,
    ObjectCredentialsRefused,
    ObjectOptionInvalid,
    ObjectOptionUnknown,
    ObjectStoreBusy,
    ObjectStoreFailed,
    ObjectStoreSilent,
    ObjectTaken,
    SegmentHeldElsewhere,
)
from perdure.model.commands import make_representation
from perdure.registry import load_bytes
from perdure.storage.byte_ports import Blanking, BytesRefused, BytesWriter, IntactBytes
from perdure.storage.segments.objects.addresses import parse_address
from perdure.storage.segments.objects.bucket_settings import ask_settings, sign_request
from perdure.storage.segments.objects.client import ObjectAbsent, ObjectClient
from perdure.storage.segments.objects.store import ObjectBytes

QUICK = "&timeout=2&retry=1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}


@pytest.fixture
def proxy() -> Iterator[FaultyProxy]:
    with open_proxy(start_server().endpoint) as opened:
        yield opened


@pytest.fixture
def held(proxy: FaultyProxy, tmp_path: Path) -> Iterator[ObjectBytes]:
    with closing(open_through(proxy, tmp_path / "registry")) as opened:
        opened.create()
        yield opened


def open_through(proxy: FaultyProxy, root: Path, address: str = "") -> ObjectBytes:
    """The bytes of a directory, reached through a proxy."""
    (root / "incoming").mkdir(parents=True, exist_ok=True)
    given = address or make_address(options=QUICK)
    given = given.replace(start_server().endpoint, proxy.endpoint)
    return ObjectBytes(parse_address(given, {}), root)


def open_writer(held: ObjectBytes, known: tuple[int, ...] = (), end: int = 0) -> BytesWriter:
    growing = (known[-1], end, NOON) if end else None
    return held.open_writer(known, growing, segment_bytes=1 << 30, now=NOON)


def is_part(method: str, path: str) -> bool:
    return method == "PUT" and "/segments/" in path


# Addresses
# ---------


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("s3://", ObjectAddressMalformed),
        ("s3://Bucket/x", ObjectAddressMalformed),
        ("s3://bucket/../x", ObjectAddressMalformed),
        ("s3://bucket//x", ObjectAddressMalformed),
        ("s3://bucket/x#y", ObjectAddressMalformed),
        ("s3://key:sec/ret@bucket/x", ObjectAddressMalformed),
        ("s3://key@bucket/x", ObjectAddressMalformed),
        ("s3://bucket?endpoit=http://x", ObjectOptionUnknown),
        ("s3://bucket?endpoint=ftp://x", ObjectOptionInvalid),
        ("s3://bucket?timeout=0", ObjectOptionInvalid),
        ("s3://bucket?credentials=none", ObjectOptionInvalid),
    ],
)
def test_an_address_that_is_not_one(text: str, error: type[BadSettings]) -> None:
    with pytest.raises(error) as raised:
        parse_address(text, CREDENTIALS)
    assert "sec/ret" not in str(raised.value)


def test_an_address_without_credentials_asks_no_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CREDENTIALS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ObjectCredentialsMissing, match="AWS_SECRET_ACCESS_KEY"):
        load_bytes("s3://bucket/prefix")
    with pytest.raises(ObjectAddressMalformed):
        load_bytes("s3")(Path("anywhere"))


def test_an_address_says_where_the_bytes_are() -> None:
    found = parse_address("s3://k:a%2Fb@bucket/a/b/?endpoint=http://h:1&region=eu", {})
    assert (found.bucket, found.prefix, found.key, found.secret) == ("bucket", "a/b", "k", "a/b")
    assert (found.options["endpoint"], found.options["region"]) == ("http://h:1", "eu")
    assert found.shown == "s3://k:***@bucket/a/b/?endpoint=http://h:1&region=eu"
    assert parse_address("s3://bucket", CREDENTIALS).secret == SECRET


def test_a_name_that_takes_no_address() -> None:
    with pytest.raises(BadSettings, match="no store has this name"):
        load_bytes("segments://anywhere")


# Servers
# -------


def test_no_server_answers(tmp_path: Path) -> None:
    address = parse_address(f"s3://bucket?endpoint=http://127.0.0.1:9{QUICK}", CREDENTIALS)
    with pytest.raises(ObjectStoreSilent, match="check the endpoint") as raised:
        ObjectBytes(address, tmp_path).create()
    assert SECRET not in str(raised.value)


def test_the_bucket_does_not_exist(tmp_path: Path) -> None:
    given = ObjectBytes(parse_address(make_address(bucket="missing"), {}), tmp_path)
    for ask in (given.create, given.list_numbers):
        with pytest.raises(BucketMissing, match="create the bucket"):
            ask()


def test_credentials_are_refused(held: ObjectBytes, proxy: FaultyProxy) -> None:
    proxy.find_fault = lambda method, path: Fault(status=403)
    with pytest.raises(ObjectCredentialsRefused) as raised:
        held.list_numbers()
    assert SECRET not in str(raised.value)


def test_a_store_that_ignores_conditions_is_refused(proxy: FaultyProxy, tmp_path: Path) -> None:
    proxy.find_fault = lambda method, path: Fault(drops="if-none-match")
    held = open_through(proxy, tmp_path / "registry")
    with pytest.raises(ConditionIgnored):
        held.create()
    (finding,) = held.examine()
    assert (finding.name, finding.severity) == ("conditional creation", "error")


def test_what_an_examination_has_tried_is_gone(held: ObjectBytes, proxy: FaultyProxy) -> None:
    before = len(proxy.requests)
    assert [one.severity for one in held.examine()] == ["ok", "ok", "note", "note"]
    assert sum(method == "PUT" for method, _ in proxy.requests[before:]) == 2
    assert held._client.list_objects("probes") == {}


def test_the_settings_of_a_bucket_are_told() -> None:
    boto3 = pytest.importorskip("boto3")
    endpoint = start_server().endpoint
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
    )
    client.create_bucket(Bucket="locked", ObjectLockEnabledForBucket=True)
    rule = {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 30}}
    locked = {"ObjectLockEnabled": "Enabled", "Rule": rule}
    client.put_object_lock_configuration(Bucket="locked", ObjectLockConfiguration=locked)
    plain = parse_address(make_address(), {})
    assert ask_settings(plain) == ("", "")
    found = ask_settings(parse_address(make_address(bucket="locked"), {}))
    assert found == ("Enabled", "COMPLIANCE, Days: 30")
    assert ask_settings(plain._replace(bucket="missing")) == (None, None)
    assert ask_settings(plain._replace(key="")) == (None, None)


@pytest.mark.parametrize("session", ["", "a/session=="])
def test_requests_are_signed_as_another_library_signs_them(session: str) -> None:
    auth = pytest.importorskip("botocore.auth")
    request_class = pytest.importorskip("botocore.awsrequest").AWSRequest
    credentials = pytest.importorskip("botocore.credentials").Credentials
    address = parse_address("s3://k:s%2Fe@bucket?region=eu-1", {})._replace(session=session)
    now = datetime(2026, 11, 28, 15, 30, 1, tzinfo=UTC)
    fields = sign_request(address, "host.example:81", "/bucket", "versioning", now)
    request = request_class("GET", "http://host.example:81/bucket?versioning=")
    request.context["timestamp"] = now.strftime("%Y%m%dT%H%M%SZ")
    signer = auth.S3SigV4Auth(credentials("k", "s/e", session or None), "s3", "eu-1")
    names = ("host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token")
    for name in names:
        if name in fields:
            request.headers[name] = fields[name]
    text = signer.string_to_sign(request, signer.canonical_request(request))
    assert fields["authorization"].endswith(f"Signature={signer.signature(text, request)}")


def test_old_versions_of_erased_bytes_are_told(tmp_path: Path) -> None:
    """ "Return the segments whose old bytes still exist"."""
    boto3 = pytest.importorskip("boto3")
    client = boto3.client(
        "s3",
        endpoint_url=start_server().endpoint,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
    )
    client.create_bucket(Bucket="versioned")
    on = {"Status": "Enabled"}
    client.put_bucket_versioning(Bucket="versioned", VersioningConfiguration=on)
    held = ObjectBytes(parse_address(make_address(bucket="versioned"), {}), tmp_path)
    held.create()
    with closing(held), closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        one = append(writer, b"secret")
        writer.flush()
        writer.note_commit()
        left = replace(one, sha512=sha512(bytes(6)))
        assert held.blank_bytes([Blanking(held=left, spans=((0, 6),))], NOON) == [one.segment]
        assert held.read_bytes(left) == bytes(6)


def test_a_store_that_is_away_is_found(held: ObjectBytes, proxy: FaultyProxy) -> None:
    proxy.find_fault = lambda method, path: Fault(status=503)
    (finding,) = held.examine()
    assert (finding.name, finding.severity) == ("object store", "error")
    assert "503" in finding.seen


# Writing
# -------


def test_nothing_is_acknowledged_before_the_store_has_it(
    held: ObjectBytes, proxy: FaultyProxy
) -> None:
    proxy.find_fault = lambda method, path: Fault(status=503) if is_part(method, path) else None
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        append(writer, b"one")
        writer.send()
        with pytest.raises(BytesRefused) as raised:
            writer.flush()
        assert isinstance(raised.value.failure, ObjectStoreBusy)
        writer.rewind_batch()
        writer.begin_batch(NOON)
        with pytest.raises(ObjectStoreFailed):  # at once, so that other commands of a batch go on
            append(writer, b"two")
        writer.rewind_batch()
    assert held.list_numbers() == []


def test_writing_goes_on_when_the_store_answers(
    held: ObjectBytes, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.storage.segments.objects.writer._PAUSE", 0)
    with closing(open_writer(held)) as writer:
        proxy.find_fault = lambda method, path: Fault(status=503) if is_part(method, path) else None
        writer.begin_batch(NOON)
        append(writer, b"lost")
        with pytest.raises(BytesRefused):
            writer.flush()
        writer.rewind_batch()
        proxy.find_fault = lambda method, path: None
        writer.begin_batch(NOON)
        one = append(writer, b"kept")
        writer.flush()
        writer.note_commit()
        assert held.read_bytes(one) == b"kept"
        assert len(list(held.read_records(one.segment))) == 1


def test_a_store_that_stores_and_then_fails(held: ObjectBytes, proxy: FaultyProxy) -> None:
    """The request is repeated, the object exists, and it has our bytes."""
    failures = iter([Fault(status=500, is_stored=True)])
    proxy.find_fault = lambda method, path: next(failures, None) if is_part(method, path) else None
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        one = append(writer, b"once")
        writer.flush()
        ((number, length, _),) = writer.list_lengths()
        writer.note_commit()
    assert held.read_bytes(one) == b"once"
    assert len(list(held.check_records(number, length))) == 1


def test_a_batch_that_was_stored_and_refused_leaves_nothing(
    held: ObjectBytes, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It arrived, but the store never said so: its bytes are not those of a later batch."""
    monkeypatch.setattr("perdure.storage.segments.objects.writer._PAUSE", 0)

    def fail(method: str, path: str) -> Fault | None:
        if is_part(method, path):
            return Fault(status=503, is_stored=True)
        return Fault(status=503) if "/segments/" in path else None

    with closing(open_writer(held)) as writer:
        proxy.find_fault = fail
        writer.begin_batch(NOON)
        append(writer, b"never acknowledged")
        with pytest.raises(BytesRefused):
            writer.flush()
        writer.rewind_batch()
        proxy.find_fault = lambda method, path: None
        assert writer.list_sealable(TOMORROW) == []
        writer.begin_batch(NOON)
        one = append(writer, b"acknowledged")
        writer.flush()
        writer.note_commit()
    assert held.read_bytes(one) == b"acknowledged"
    assert len(list(held.read_records(one.segment))) == 1


def test_a_segment_has_a_bounded_number_of_parts(
    held: ObjectBytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads it lists them all; a segment that is full can be sealed on the same day."""
    monkeypatch.setattr("perdure.storage.segments.objects.writer._MOST_PARTS", 2)
    kept = []
    with closing(open_writer(held)) as writer:
        for number in range(5):
            writer.begin_batch(NOON)
            kept.append(append(writer, b"%d" % number))
            writer.flush()
            writer.note_commit()
        assert [one.segment for one in kept] == [1, 1, 2, 2, 3]
        assert writer.list_sealable(NOON) == [1, 2]
        for number in (1, 2):
            held.seal(number, NOON)
    assert [held.read_bytes(one) for one in kept] == [b"0", b"1", b"2", b"3", b"4"]


def test_a_seal_that_was_interrupted_is_repeated(held: ObjectBytes, proxy: FaultyProxy) -> None:
    """At each request that writes: the segment can be read, and the next attempt completes it."""
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        one = append(writer, b"some bytes")
        writer.flush()
        ((_, length, _),) = writer.list_lengths()
        writer.note_commit()
    for allowed in range(12):
        left = [allowed]

        def fail(method: str, path: str, left: list[int] = left) -> Fault | None:
            if method in ("PUT", "POST", "DELETE") and "/locks/" not in path:
                left[0] -= 1
                return Fault(status=400) if left[0] < 0 else None
            return None

        proxy.find_fault = fail
        with suppress(ObjectStoreFailed):
            held.seal(one.segment, NOON)
        proxy.find_fault = lambda method, path: None
        assert held.read_bytes(one) == b"some bytes"
    held.seal(one.segment, NOON)
    assert list(held._client.list_objects("segments")) == []
    assert list(held._client.list_objects("locks")) == []
    checked = held.check_records(one.segment, length)
    assert [type(found) for found in checked] == [IntactBytes]


def test_a_slow_store_is_waited_for(held: ObjectBytes, proxy: FaultyProxy) -> None:
    proxy.find_fault = lambda method, path: Fault(wait=0.3) if is_part(method, path) else None
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        one = append(writer, b"late")
        writer.flush()
        writer.note_commit()
    assert held.read_bytes(one) == b"late"


def test_two_nodes_never_write_one_segment(proxy: FaultyProxy, tmp_path: Path) -> None:
    address = make_address(options=QUICK)
    nodes = [open_through(proxy, tmp_path / name, address) for name in ("a", "b", "c")]
    nodes[0].create()
    writers = [open_writer(node) for node in nodes]
    found: list[tuple[int, bytes]] = []

    def write(writer: BytesWriter, text: bytes) -> None:
        for _ in range(3):
            writer.begin_batch(NOON)
            one = append(writer, text)
            writer.flush()
            writer.note_commit()
            found.append((one.segment, nodes[0].read_bytes(one)))

    threads = [
        threading.Thread(target=write, args=(writer, b"node %d" % number))
        for number, writer in enumerate(writers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for writer in writers:
        writer.close()
    assert len(found) == 9
    assert len(set(found)) == len({number for number, _ in found}) == 3


def test_a_node_leaves_the_bytes_of_others_alone(proxy: FaultyProxy, tmp_path: Path) -> None:
    """Also those that no committed batch names yet."""
    address = make_address(options=QUICK)
    one, other = (open_through(proxy, tmp_path / name, address) for name in ("a", "b"))
    one.create()
    with closing(open_writer(one)) as writer:
        writer.begin_batch(NOON)
        held = append(writer, b"under way")
        writer.flush()
        with closing(open_writer(other)):
            assert other.list_numbers() == [held.segment]
        writer.note_commit()
    assert one.read_bytes(held) == b"under way"


def test_a_copied_directory_does_not_overwrite(proxy: FaultyProxy, tmp_path: Path) -> None:
    """Both have the same identity, and go on with the same segment."""
    address = make_address(options=QUICK)
    one, other = (open_through(proxy, tmp_path / name, address) for name in ("a", "b"))
    one.create()
    (tmp_path / "b" / "bytes-node").write_bytes((tmp_path / "a" / "bytes-node").read_bytes())
    with closing(open_writer(one)) as writer:
        writer.begin_batch(NOON)
        append(writer, b"first")
        ((number, end, _),) = writer.list_lengths()
        writer.flush()
        writer.note_commit()
        with closing(open_writer(other, (number,), end)) as copied:
            for each in (writer, copied):
                each.begin_batch(NOON)
            held = append(writer, b"second")
            append(copied, b"another")
            writer.flush()
            with pytest.raises(OSError, match="another writer"):
                copied.flush()
            writer.note_commit()
    assert one.read_bytes(held) == b"second"


def test_a_segment_is_changed_by_one_node_at_a_time(held: ObjectBytes, proxy: FaultyProxy) -> None:
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        one = append(writer, b"one")
        writer.flush()
        writer.note_commit()
    client = held._client
    client.create_object(f"locks/{one.segment:06d}", b"other-node")
    with pytest.raises(SegmentHeldElsewhere, match="other-node"):
        held.seal(one.segment, NOON)
    client.delete_objects([f"locks/{one.segment:06d}"])
    held.seal(one.segment, NOON)
    assert held.read_bytes(one) == b"one"


def test_what_a_killed_process_left_in_incoming_is_removed(
    held: ObjectBytes, tmp_path: Path
) -> None:
    incoming = tmp_path / "registry" / "incoming"
    for name, hours in (("objects-old", 25), ("objects-new", 1)):
        (incoming / name / "segments").mkdir(parents=True)
        then = time.time() - hours * 3600
        os.utime(incoming / name, (then, then))
    open_writer(held).close()
    assert [path.name for path in incoming.iterdir()] == ["objects-new"]


# Reading
# -------


def test_a_lost_object_is_an_alarm(held: ObjectBytes) -> None:
    with closing(open_writer(held)) as writer:
        kept = []
        for text in (b"first", b"lost", b"third"):
            writer.begin_batch(NOON)
            kept.append(append(writer, text))
            writer.flush()
            ((number, length, _),) = writer.list_lengths()
            writer.note_commit()
    keys = list(held._client.list_objects("segments"))
    assert len(keys) == 3
    held._client.delete_objects(keys[1:2])
    with pytest.raises(Corrupt):
        held.read_bytes(kept[1])
    with pytest.raises(Corrupt):
        held.find_local(kept[1])
    assert [held.read_bytes(kept[place]) for place in (0, 2)] == [b"first", b"third"]
    problems = [one for one in held.check_records(number, length) if isinstance(one, Corrupt)]
    assert problems
    with pytest.raises(Corrupt):  # what is damaged is not sealed as if it were whole
        held.seal(number, NOON)


def test_other_bytes_are_never_served(held: ObjectBytes, proxy: FaultyProxy) -> None:
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        one = append(writer, b"some bytes")
        writer.flush()
        writer.note_commit()
    proxy.find_fault = lambda method, path: (
        Fault(body=b"SOME BYTES") if method == "GET" and path.endswith(".warc") else None
    )
    with pytest.raises(ObjectAltered):
        held.find_local(one)
    proxy.find_fault = lambda method, path: None
    file, offset = held.find_local(one)
    assert file.read(one.length, offset) == b"some bytes"


def test_reading_goes_on_when_the_store_answers(held: ObjectBytes, proxy: FaultyProxy) -> None:
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        one = append(writer, b"some bytes")
        writer.flush()
        writer.note_commit()
    proxy.find_fault = lambda method, path: Fault(status=503)
    with pytest.raises(ObjectStoreBusy):
        held.read_bytes(one)
    proxy.find_fault = lambda method, path: None
    assert held.read_bytes(one) == b"some bytes"


def test_erased_bytes_leave_the_cache(held: ObjectBytes, tmp_path: Path) -> None:
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        one, other = append(writer, b"secret"), append(writer, b"other")
        writer.flush()
        writer.note_commit()
    kept = held.find_local(one)[0].path, held.find_local(other)[0].path
    left = replace(one, sha512=sha512(bytes(6)))
    held.blank_bytes([Blanking(held=left, spans=((0, 6),))], NOON)
    assert [path.exists() for path in kept] == [False, True]
    file, offset = held.find_local(left)
    assert file.read(6, offset) == bytes(6)


def test_erased_bytes_leave_the_caches_of_other_nodes(held: ObjectBytes, tmp_path: Path) -> None:
    """Issue: no node gives out what was erased; each asks for the notes of the others."""
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        one, other = append(writer, b"secret"), append(writer, b"other")
        writer.flush()
        writer.note_commit()
    root = tmp_path / "second"
    root.mkdir()
    with closing(ObjectBytes(held._address, root)) as second:
        second.forget_erased()
        kept = [second.find_local(each)[0].path for each in (one, other)]
        second.forget_erased()
        assert [path.exists() for path in kept] == [True, True]
        left = replace(one, sha512=sha512(bytes(6)))
        held.blank_bytes([Blanking(held=left, spans=((0, 6),))], NOON)
        second.forget_erased()
        assert [path.exists() for path in kept] == [False, True]
        second.find_local(left)
    with closing(ObjectBytes(held._address, root)) as started:  # which looks at all notes again
        started.forget_erased()
        assert list((root / "cache").iterdir()) == [kept[1]]


def test_the_cache_is_bounded(proxy: FaultyProxy, tmp_path: Path) -> None:
    held = open_through(
        proxy, tmp_path / "registry", make_address(options=f"{QUICK}&cache_bytes=100")
    )
    held.create()
    with closing(held), closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        kept = [append(writer, b"%d" % number * 40, number) for number in range(1, 6)]
        writer.flush()
        writer.note_commit()
        files = [held.find_local(one)[0] for one in kept]
        left = list((tmp_path / "registry" / "cache").iterdir())
        assert sum(path.stat().st_size for path in left) <= 100
        assert [file.read(1, 0) for file in files] == [b"1", b"2", b"3", b"4", b"5"]
        assert [file.path.read_bytes() for file in files] == [b"%d" % n * 40 for n in range(1, 6)]


def test_a_document_is_fetched_once(held: ObjectBytes, proxy: FaultyProxy) -> None:
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        one = append(writer, b"some bytes")
        writer.flush()
        writer.note_commit()
    held.find_local(one)
    before = len(proxy.requests)
    held.find_local(one)
    held.close()
    held.find_local(one)
    assert len(proxy.requests) == before


def test_parts_are_ranges(held: ObjectBytes, proxy: FaultyProxy) -> None:
    """One request for a document, however long the segment is."""
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        append(writer, b"x" * 3_000_000)
        one = append(writer, b"short")
        writer.flush()
        writer.note_commit()
    held.read_bytes(one)
    before = len(proxy.requests)
    assert held.read_bytes(one) == b"short"
    assert len(proxy.requests) == before + 1


def test_the_client_says_that_an_object_is_missing(held: ObjectBytes) -> None:
    client: ObjectClient = held._client
    assert client.find_size("nothing") is None
    with pytest.raises(ObjectAbsent):
        client.read_object("nothing")
    client.create_object("something", b"1")
    client.create_object("something", b"1")  # the same bytes: it was repeated
    with pytest.raises(ObjectTaken):
        client.create_object("something", b"2")
    assert client.read_range("something", 5, 1) == b""


def test_a_large_document_is_one_object(held: ObjectBytes, tmp_path: Path) -> None:
    from perdure.storage.spool import Spool

    with Spool(tmp_path / "registry" / "incoming") as spool:
        spool.write(b"y" * (17 << 20))
        content = spool.finish_content(format="text", media_type="text/plain")
    assert content.spooled is not None
    source = tmp_path / "registry" / "incoming" / content.spooled
    with closing(open_writer(held)) as writer:
        writer.begin_batch(NOON)
        one = make_representation(content, *writer.adopt(f"{NAME}/1.text.1", 1, content, source))
        writer.flush()
        writer.note_commit()
    assert b"".join(held.read_chunks(one)) == b"y" * (17 << 20)
