"""SSHSIG signatures: made here and judged by ssh-keygen, made by ssh-keygen and judged here."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from tests.signing.conftest import Run, make_ssh_key, make_statement, needs_ssh

from perdure.errors import InvalidRequest
from perdure.errors.signing import (
    KeyLocked,
    KeyMalformed,
    SignatureForOtherUse,
    SignatureMalformed,
    SignatureWrong,
)
from perdure.ids import parse
from perdure.signing.keys import read_public_line
from perdure.signing.ssh import (
    BEGIN,
    SshSigner,
    parse_ssh_signature,
    read_ssh_signer,
    verify_ssh_signature,
)
from perdure.signing.statement import DOMAIN, Statement

SIGNER = SshSigner(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
STATEMENT = make_statement(SIGNER.key.fingerprint)
ARMOURED = SIGNER.sign_text(STATEMENT.text)


@needs_ssh
def test_ssh_keygen_verifies_our_signature(run: Run, tmp_path: Path) -> None:
    make_ssh_key(run)
    signer = read_ssh_signer((tmp_path / "key").read_bytes())
    statement = make_statement(signer.key.fingerprint)
    (tmp_path / "sig").write_text(signer.sign_text(statement.text))
    (tmp_path / "allowed").write_text(f"ann@a.example namespaces={DOMAIN!r} ".replace("'", '"'))
    with (tmp_path / "allowed").open("a") as allowed:
        allowed.write((tmp_path / "key.pub").read_text())
    words = ["ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "ann@a.example", "-s", "sig"]
    done = run(*words, "-n", DOMAIN, data=statement.text)
    assert done.returncode == 0, done.stderr
    assert signer.key.fingerprint.encode() in done.stdout
    assert run(
        *words, "-n", DOMAIN, data=statement.text.replace(b"1.text.1", b"2.text.1")
    ).returncode
    assert run(*words, "-n", "file", data=statement.text).returncode


@needs_ssh
def test_our_signature_is_byte_for_byte_that_of_ssh_keygen(run: Run, tmp_path: Path) -> None:
    make_ssh_key(run)
    signer = read_ssh_signer((tmp_path / "key").read_bytes())
    text = make_statement(signer.key.fingerprint).text
    done = run("ssh-keygen", "-Y", "sign", "-n", DOMAIN, "-f", "key", data=text)
    assert done.stdout.decode() == signer.sign_text(text)


@needs_ssh
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_we_verify_what_ssh_keygen_signed(kind: str, run: Run, tmp_path: Path) -> None:
    make_ssh_key(run, kind)
    key = read_public_line((tmp_path / "key.pub").read_text())
    listed = run("ssh-keygen", "-l", "-f", "key.pub").stdout.decode().split()
    assert listed[1] == key.fingerprint
    text = make_statement(key.fingerprint).text
    done = run("ssh-keygen", "-Y", "sign", "-n", DOMAIN, "-f", "key", data=text)
    signature = parse_ssh_signature(done.stdout.decode())
    assert verify_ssh_signature(signature, text) == key
    with pytest.raises(SignatureWrong) as refused:
        verify_ssh_signature(signature, text.replace(b"#", b"").replace(b"witness", b"author"))
    assert refused.value.signer == key.fingerprint


@needs_ssh
def test_a_signature_for_another_use_is_refused(run: Run, tmp_path: Path) -> None:
    make_ssh_key(run)
    done = run("ssh-keygen", "-Y", "sign", "-n", "git", "-f", "key", data=STATEMENT.text)
    with pytest.raises(SignatureForOtherUse) as refused:
        verify_ssh_signature(parse_ssh_signature(done.stdout.decode()), STATEMENT.text)
    assert refused.value.found == "git"
    relabelled = msgspec.structs.replace(
        parse_ssh_signature(done.stdout.decode()), namespace=DOMAIN
    )
    with pytest.raises(SignatureWrong):
        verify_ssh_signature(relabelled, STATEMENT.text)


@pytest.mark.parametrize(
    "changes",
    [
        {"identifier": parse("pdi://oma.eop.gov.us/1994/03/21/2.text.1")},
        {"identifier": parse("pdi://oma.eop.gov.us/1994/03/21/1.text.2")},
        {"identifier": parse("pdi://oma.eop.gov.us/1994/03/21/1.html.1")},
        {"identifier": parse("pdi://oma.eop.gov.us/1994/03/21/1.text.1#char=0,3")},
        {"sha512": "f" * 128},
        {"length": 4},
        {"media_type": "text/html"},
        {"reading": "pdi-char"},
        {"role": "author"},
        {"signed": "2026-11-23T22:30:01Z"},
        {"signer": "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_signature_cannot_be_moved(changes: dict[str, object]) -> None:
    """ "[...] that cannot be moved to another name, part or use" """
    moved: Statement = msgspec.structs.replace(STATEMENT, **changes)
    assert verify_ssh_signature(parse_ssh_signature(ARMOURED), STATEMENT.text) == SIGNER.key
    with pytest.raises(SignatureWrong):
        verify_ssh_signature(parse_ssh_signature(ARMOURED), moved.text)


def test_a_key_in_a_signature_cannot_be_exchanged() -> None:
    other = SshSigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    exchanged = msgspec.structs.replace(parse_ssh_signature(ARMOURED), key=other.key)
    with pytest.raises(SignatureWrong):
        verify_ssh_signature(exchanged, STATEMENT.text)


@needs_ssh
def test_an_encrypted_key_needs_its_passphrase(run: Run, tmp_path: Path) -> None:
    make_ssh_key(run, passphrase="12345")
    for passphrase in (None, b"wrong"):
        with pytest.raises(KeyLocked):
            read_ssh_signer((tmp_path / "key").read_bytes(), passphrase)
    signer = read_ssh_signer((tmp_path / "key").read_bytes(), b"12345")
    assert signer.key == read_public_line((tmp_path / "key.pub").read_text())


@needs_ssh
def test_perdure_signs_with_ed25519_only(run: Run, tmp_path: Path) -> None:
    make_ssh_key(run, "ecdsa")
    with pytest.raises(KeyMalformed, match="Ed25519"):
        read_ssh_signer((tmp_path / "key").read_bytes())
    with pytest.raises(KeyMalformed):
        read_ssh_signer(b"no key")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ssh-ed25519",
        "ssh-ed25519 !!!",
        "ssh-ed25519 AAAA",
        "ssh-dss AAAAB3NzaC1kc3MAAAABAQAAAAEBAAAAAQEAAAABAQ==",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAQQDH",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAHwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ],
)
def test_other_keys_are_refused(line: str) -> None:
    with pytest.raises(KeyMalformed):
        read_public_line(line)


@given(st.integers(0, len(ARMOURED) - 1), st.text(max_size=2))
def test_a_damaged_signature_is_refused(at: int, written: str) -> None:
    """ "A signature has one reading: no byte is left over." """
    damaged = ARMOURED[:at] + written + ARMOURED[at + 1 :]
    try:
        signature = parse_ssh_signature(damaged)
        verify_ssh_signature(signature, STATEMENT.text)
    except InvalidRequest:
        return
    assert signature == parse_ssh_signature(ARMOURED)  # a line break more or less


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    from base64 import b64encode

    body = b64encode(b"SSHSIG\0\0\0\1" + data).decode()
    with pytest.raises((SignatureMalformed, KeyMalformed)):
        parse_ssh_signature(f"{BEGIN}\n{body}\n-----END SSH SIGNATURE-----\n")
