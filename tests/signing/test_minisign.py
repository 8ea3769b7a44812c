"""Signatures of minisign: judged by minisign, and made by it and judged here."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.signing.conftest import Run, make_minisign_key, make_statement, needs_minisign

from perdure.errors import InvalidRequest
from perdure.errors.signing import (
    KeyLocked,
    KeyMalformed,
    SignatureForOtherUse,
    SignatureMalformed,
    SignatureWrong,
)
from perdure.ids import parse
from perdure.signing.minisign import (
    MinisignSigner,
    parse_minisign_signature,
    read_minisign_key,
    read_minisign_signer,
    verify_minisign_signature,
)

SIGNER = MinisignSigner(b"12345678", bytes(range(32)))
STATEMENT = make_statement(SIGNER.key.fingerprint)
SIGNATURE = SIGNER.sign_statement(STATEMENT)


@needs_minisign
def test_minisign_verifies_our_signature(run: Run, tmp_path: Path) -> None:
    make_minisign_key(run)
    signer = read_minisign_signer((tmp_path / "mini.key").read_bytes())
    statement = make_statement(signer.key.fingerprint)
    (tmp_path / "statement").write_bytes(statement.text)
    (tmp_path / "statement.minisig").write_text(signer.sign_statement(statement))
    done = run("minisign", "-V", "-p", "mini.pub", "-m", "statement")
    assert done.returncode == 0, done.stderr
    assert statement.identifier_line.encode() in done.stdout
    (tmp_path / "statement").write_bytes(statement.text.replace(b"1.text.1", b"2.text.1"))
    assert run("minisign", "-V", "-p", "mini.pub", "-m", "statement").returncode


@needs_minisign
@pytest.mark.parametrize("option", [[], ["-l"]], ids=["hashed", "legacy"])
def test_we_verify_what_minisign_signed(option: list[str], run: Run, tmp_path: Path) -> None:
    make_minisign_key(run)
    key = read_minisign_key((tmp_path / "mini.pub").read_text()).key
    statement = make_statement(key.fingerprint)
    (tmp_path / "statement").write_bytes(statement.text)
    comment = statement.identifier_line
    done = run("minisign", "-S", *option, "-s", "mini.key", "-m", "statement", "-t", comment)
    assert done.returncode == 0, done.stderr
    signature = parse_minisign_signature((tmp_path / "statement.minisig").read_text())
    assert signature.is_hashed != bool(option)
    assert verify_minisign_signature(signature, statement, key) == key
    moved = msgspec.structs.replace(
        statement, identifier=parse("pdi://oma.eop.gov.us/1994/03/21/2.text.1")
    )
    with pytest.raises(SignatureWrong):
        verify_minisign_signature(signature, moved, key)
    with pytest.raises(SignatureWrong):
        verify_minisign_signature(signature, statement, SIGNER.key)


@needs_minisign
def test_a_signature_without_the_line_of_the_identifier_is_refused(
    run: Run, tmp_path: Path
) -> None:
    make_minisign_key(run)
    key = read_minisign_key((tmp_path / "mini.pub").read_text()).key
    statement = make_statement(key.fingerprint)
    (tmp_path / "statement").write_bytes(statement.text)
    run("minisign", "-S", "-s", "mini.key", "-m", "statement", "-t", "for my friends")
    signature = parse_minisign_signature((tmp_path / "statement.minisig").read_text())
    with pytest.raises(SignatureForOtherUse) as refused:
        verify_minisign_signature(signature, statement, key)
    assert refused.value.found == "for my friends"
    renamed = msgspec.structs.replace(signature, comment=statement.identifier_line)
    with pytest.raises(SignatureWrong):
        verify_minisign_signature(renamed, statement, key)


@needs_minisign
def test_a_key_that_minisign_encrypted_opens_with_its_passphrase(run: Run, tmp_path: Path) -> None:
    words = ["minisign", "-G", "-p", "mini.pub", "-s", "mini.key"]
    done = run(*words, data=b"open sesame\nopen sesame\n")
    if done.returncode:
        pytest.skip("this minisign reads passphrases from a terminal only")
    locked = (tmp_path / "mini.key").read_bytes()
    key = read_minisign_key((tmp_path / "mini.pub").read_text()).key
    assert read_minisign_signer(locked, b"open sesame").key == key
    for passphrase in (None, b"open barley"):
        with pytest.raises(KeyLocked):
            read_minisign_signer(locked, passphrase)


@pytest.mark.parametrize("text", ["", "RWQ", "untrusted comment: x\n", "A" * 56, "!" * 56])
def test_other_keys_are_refused(text: str) -> None:
    with pytest.raises(KeyMalformed):
        read_minisign_key(text)
    with pytest.raises(KeyMalformed):
        read_minisign_signer(text.encode())


def test_other_texts_are_no_signatures() -> None:
    lines = SIGNATURE.splitlines(keepends=True)
    for text in ("", "".join(lines[:2]), SIGNATURE + "\n", SIGNATURE.replace("RUQ", "RUU", 1)):
        with pytest.raises(SignatureMalformed):
            parse_minisign_signature(text)


@given(st.integers(0, len(SIGNATURE) - 1), st.text(max_size=2))
def test_a_damaged_signature_is_refused(at: int, written: str) -> None:
    """ "A signature is one of a statement only if both signatures are right [...]" """
    damaged = SIGNATURE[:at] + written + SIGNATURE[at + 1 :]
    try:
        signature = parse_minisign_signature(damaged)
        verify_minisign_signature(signature, STATEMENT, SIGNER.key)
    except InvalidRequest:
        return
    read = parse_minisign_signature(SIGNATURE)
    # the untrusted comment, a line break, and the number of the key are not signed
    assert msgspec.structs.replace(signature, number=read.number) == read
