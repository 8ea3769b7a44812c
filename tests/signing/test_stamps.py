"""Time stamps of signatures: made by openssl."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.signing.conftest import Run, needs_openssl
from tests.signing.stamping import make_authority, stamp
from tests.signing.test_verdict import SIGNED

from perdure.errors.signing import (
    SignatureMalformed,
    TimeAuthoritiesMissing,
    TimeStampMalformed,
    TimeStampRejected,
)
from perdure.signing.der import sort_certificates
from perdure.signing.document import parse_signed_statement
from perdure.signing.stamps import (
    BEGIN,
    read_blocks,
    read_certificates,
    verify_stamp,
    write_blocks,
)

TEXT = SIGNED.stamped_text


@needs_openssl
@pytest.mark.parametrize("words", [[], ["-token_out"]], ids=["answer", "token"])
def test_the_time_of_a_stamp(words: list[str], run: Run, tmp_path: Path) -> None:
    roots = read_certificates(make_authority(run, tmp_path))
    before = datetime.now(UTC).replace(tzinfo=None)
    reply = stamp(run, tmp_path, TEXT, *words)
    found = datetime.fromisoformat(verify_stamp(reply, TEXT, roots).removesuffix("Z"))
    assert before <= found <= before + timedelta(seconds=60)  # it is rounded up
    with pytest.raises(TimeStampRejected):
        verify_stamp(reply, TEXT + b"\n", roots)
    with pytest.raises(TimeAuthoritiesMissing):
        verify_stamp(reply, TEXT, ())
    with pytest.raises(TimeStampRejected):
        verify_stamp(reply[:-5], TEXT, roots)
    other = read_certificates(make_authority(run, tmp_path, "other"))
    with pytest.raises(TimeStampRejected):
        verify_stamp(reply, TEXT, other)
    assert verify_stamp(reply, TEXT, (*other, *roots))


@needs_openssl
@pytest.mark.parametrize("words", [[], ["-token_out"]], ids=["answer", "token"])
def test_the_certificates_of_a_stamp_may_have_any_order(
    words: list[str], run: Run, tmp_path: Path
) -> None:
    """openssl writes the chain (`certs`) as the authority lists it, and DER sorts a set."""
    trusted = make_authority(run, tmp_path)
    chain = [trusted, make_authority(run, tmp_path, "other"), (tmp_path / "other.pem").read_bytes()]
    for certificates in (chain, chain[::-1]):  # one of the two orders is not sorted
        (tmp_path / "chain.pem").write_bytes(b"".join(certificates))
        reply = stamp(run, tmp_path, TEXT, "-chain", "chain.pem", *words)
        assert verify_stamp(reply, TEXT, read_certificates(trusted))
        with pytest.raises(TimeStampRejected):
            verify_stamp(reply, TEXT + b"\n", read_certificates(trusted))
        assert sort_certificates(sort_certificates(reply)) == sort_certificates(reply)


@given(st.binary(max_size=80))
def test_only_sets_are_sorted(data: bytes) -> None:
    """der.py: "the length of a message does not change"."""
    assert sorted(sort_certificates(data)) == sorted(data)


@needs_openssl
def test_openssl_verifies_the_stamp_of_a_document(run: Run, tmp_path: Path) -> None:
    """The bytes that are stamped are those of the document without its stamps."""
    make_authority(run, tmp_path)
    reply = stamp(run, tmp_path, TEXT)
    (tmp_path / "signed").write_bytes(TEXT)
    (tmp_path / "reply").write_bytes(reply)
    trusted = ["-CAfile", "tsa-root.pem"]
    done = run("openssl", "ts", "-verify", "-data", "signed", "-in", "reply", *trusted)
    assert done.returncode == 0, done.stderr


@given(st.lists(st.binary(min_size=1, max_size=200), min_size=1, max_size=4))
def test_stamps_follow_a_signature(stamps: list[bytes]) -> None:
    signed = msgspec.structs.replace(SIGNED, stamps=tuple(stamps))
    assert parse_signed_statement(str(signed).encode()) == signed
    assert read_blocks(write_blocks(stamps)) == tuple(stamps)
    assert signed.stamped_text == TEXT


@pytest.mark.parametrize(
    "tail",
    [
        f"{BEGIN}\n",
        write_blocks([b"a"]) + "\n",
        write_blocks([b"a"]).replace("YQ==", "YQ="),
        write_blocks([b"a"] * 5),
        write_blocks([b"a" * 40_000]),
        write_blocks([b"a"]).replace("\n", "\r\n"),
    ],
)
def test_blocks_have_one_form(tail: str) -> None:
    with pytest.raises((TimeStampMalformed, SignatureMalformed)):
        parse_signed_statement(str(SIGNED).encode() + tail.encode())


def test_other_bytes_are_no_stamps_and_no_certificates() -> None:
    with pytest.raises(TimeStampMalformed):
        read_certificates(b"nothing")
