"""CMS: signed by `openssl cms -sign`, verified here."""

from __future__ import annotations

import base64
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.signing.conftest import Run, make_statement, needs_openssl

from perdure.errors import InvalidRequest
from perdure.errors.signing import KeyUnknown, SignatureMalformed, SignatureWrong
from perdure.signing import cms
from perdure.signing.cms import read_elements
from perdure.signing.document import find_form
from perdure.signing.form import find_no_key
from perdure.signing.keys import PublicKey
from perdure.signing.signers import read_public_key

KINDS = {
    "P-256": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "P-384": ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "RSA": ["rsa:2048"],
}


def make_certificate(run: Run, place: Path, kind: str, name: str = "own") -> PublicKey:
    words = ["-newkey", *KINDS[kind], "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem"]
    done = run("openssl", "req", "-x509", "-subj", f"/CN={name}", "-days", "1", *words)
    assert done.returncode == 0, done.stderr
    return read_public_key((place / f"{name}.pem").read_bytes())


def sign(run: Run, place: Path, text: bytes, *words: str) -> str:
    (place / "statement").write_bytes(text)
    own = ["-signer", "own.pem", "-inkey", "own.key", "-in", "statement"]
    done = run("openssl", "cms", "-sign", "-binary", "-outform", "PEM", *own, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


@needs_openssl
@pytest.mark.parametrize("words", [[], ["-md", "sha512"], ["-noattr"], ["-keyid"], ["-nocerts"]])
@pytest.mark.parametrize("kind", KINDS)
def test_what_openssl_signed(kind: str, words: list[str], run: Run, tmp_path: Path) -> None:
    key = make_certificate(run, tmp_path, kind)
    statement = make_statement(key.fingerprint)
    text = sign(run, tmp_path, statement.text, *words)
    assert find_form(text) is cms.FORM
    assert cms.FORM.verify(text, statement, lambda _: key) == key
    if "-nocerts" in words:
        with pytest.raises(KeyUnknown):
            cms.FORM.verify(text, statement, find_no_key)
    else:
        assert cms.FORM.verify(text, statement, find_no_key) == key
    with pytest.raises(SignatureWrong):
        cms.FORM.verify(text, msgspec.structs.replace(statement, length=4), lambda _: key)


@needs_openssl
def test_older_labels_and_pkcs7(run: Run, tmp_path: Path) -> None:
    key = make_certificate(run, tmp_path, "RSA")
    statement = make_statement(key.fingerprint)
    (tmp_path / "statement").write_bytes(statement.text)
    own = ["-signer", "own.pem", "-inkey", "own.key", "-in", "statement", "-md", "sha256"]
    done = run("openssl", "smime", "-sign", "-binary", "-outform", "PEM", *own)
    assert cms.FORM.verify(done.stdout.decode(), statement, find_no_key) == key


@needs_openssl
def test_signatures_that_are_refused(run: Run, tmp_path: Path) -> None:
    other = make_certificate(run, tmp_path, "P-256", "other")
    key = make_certificate(run, tmp_path, "P-256")
    statement = make_statement(key.fingerprint)
    good = sign(run, tmp_path, statement.text)
    with pytest.raises(SignatureWrong):  # another key of the list
        cms.FORM.verify(good, msgspec.structs.replace(statement), lambda _: other)
    for words in (
        ["-nodetach"],
        ["-signer", "other.pem", "-inkey", "other.key"],  # a second signer
        ["-md", "sha1"],
        ["-econtent_type", "1.2.840.113549.1.9.16.1.4"],  # signed as a time stamp's content
        ["-stream"],  # lengths that are not definite
    ):
        with pytest.raises(SignatureMalformed):
            cms.FORM.verify(sign(run, tmp_path, statement.text, *words), statement, find_no_key)


@pytest.mark.parametrize(
    "data",
    [b"\x30", b"\x30\x80\0\0", b"\x30\x81\x01a", b"\x30\x82\0\x81a", b"\x1f\x01a", b"\x30\x02a"],
)
def test_only_der_is_read(data: bytes) -> None:
    with pytest.raises(ValueError, match="not DER at 0"):
        read_elements(data)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    body = base64.b64encode(data).decode() or "="
    statement = make_statement("SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU")
    with pytest.raises(InvalidRequest):
        cms.FORM.verify(f"-----BEGIN CMS-----\n{body}\n-----END CMS-----\n", statement, find_no_key)
