"""Detached JWS: signed by openssl and framed by hand, as RFC 7515 and RFC 7797 say."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from hypothesis import given
from hypothesis import strategies as st
from tests.signing.conftest import Run, make_statement, needs_openssl

from perdure.errors import InvalidRequest
from perdure.errors.signing import (
    KeyUnknown,
    SignatureForOtherUse,
    SignatureMalformed,
    SignatureWrong,
)
from perdure.signing import jws
from perdure.signing.document import find_form
from perdure.signing.keys import PublicKey
from perdure.signing.signers import read_public_key
from perdure.signing.statement import DOMAIN

KINDS = {
    "EdDSA": ["-algorithm", "ed25519"],
    "Ed25519": ["-algorithm", "ed25519"],
    "ES256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "ES384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "ES512": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
    "RS256": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
    "RS512": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
}


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def make_key(run: Run, place: Path, algorithm: str) -> PublicKey:
    assert run("openssl", "genpkey", *KINDS[algorithm], "-out", "key.pem").returncode == 0
    assert run("openssl", "pkey", "-in", "key.pem", "-pubout", "-out", "pub.pem").returncode == 0
    return read_public_key((place / "pub.pem").read_bytes())


def sign(run: Run, place: Path, text: bytes, **header: Any) -> str:
    """Sign with openssl. Without `b64`, the payload is signed in base64url."""
    head = encode(json.dumps({"typ": DOMAIN} | header).encode())
    payload = text if header.get("b64") is False else encode(text).encode()
    (place / "input").write_bytes(head.encode() + b"." + payload)
    algorithm = header["alg"]
    words = ["-rawin", "-inkey", "key.pem", "-sign", "-in", "input"]
    if not algorithm.startswith("Ed"):
        words += ["-digest", f"sha{algorithm[2:]}"]
    signature = run("openssl", "pkeyutl", *words).stdout
    assert signature
    if algorithm.startswith("ES"):
        size = {"ES256": 32, "ES384": 48, "ES512": 66}[algorithm]
        signature = b"".join(one.to_bytes(size) for one in decode_dss_signature(signature))
    return f"{head}..{encode(signature)}\n"


@needs_openssl
@pytest.mark.parametrize("more", [{}, {"b64": False, "crit": ["b64"]}], ids=["encoded", "raw"])
@pytest.mark.parametrize("algorithm", KINDS)
def test_what_openssl_signed(
    algorithm: str, more: dict[str, Any], run: Run, tmp_path: Path
) -> None:
    key = make_key(run, tmp_path, algorithm)
    statement = make_statement(key.fingerprint)
    text = sign(run, tmp_path, statement.text, alg=algorithm, **more)
    assert find_form(text) is jws.FORM
    assert jws.FORM.verify(text, statement, lambda _: key) == key
    moved = msgspec.structs.replace(statement, length=4)
    with pytest.raises(SignatureWrong):
        jws.FORM.verify(text, moved, lambda _: key)
    with pytest.raises(KeyUnknown):
        jws.FORM.verify(text, statement, lambda _: None)


@needs_openssl
def test_headers_that_are_refused(run: Run, tmp_path: Path) -> None:
    key = make_key(run, tmp_path, "EdDSA")
    statement = make_statement(key.fingerprint)
    header = {"alg": "EdDSA"}
    refused: list[tuple[dict[str, Any], type[Exception]]] = [
        (header | {"typ": "JWT"}, SignatureForOtherUse),
        (header | {"b64": False}, SignatureMalformed),
        (header | {"crit": ["exp"]}, SignatureMalformed),
        (header | {"crit": ["b64"]}, SignatureMalformed),
        (header | {"b64": "no", "crit": ["b64"]}, SignatureMalformed),
        (header | {"crit": ["b64", "exp"], "b64": False}, SignatureMalformed),
    ]
    for one, kind in refused:
        text = sign(run, tmp_path, statement.text, **one)
        with pytest.raises(kind):
            jws.FORM.verify(text, statement, lambda _: key)


@pytest.mark.parametrize("algorithm", ["none", "HS256", "RS256", "ES256", None, 5])
def test_algorithms_of_other_keys_are_refused(algorithm: object) -> None:
    from tests.signing.test_ssh import SIGNER

    statement = make_statement(SIGNER.key.fingerprint)
    head = encode(json.dumps({"typ": DOMAIN, "alg": algorithm}).encode())
    with pytest.raises(SignatureMalformed):
        jws.FORM.verify(f"{head}..{'A' * 86}", statement, lambda _: SIGNER.key)


@given(st.from_regex(r"eyJ[A-Za-z0-9_-]{1,40}\.\.[A-Za-z0-9_-]{16,90}\n?", fullmatch=True))
def test_no_text_breaks_the_reader(text: str) -> None:
    from tests.signing.test_ssh import SIGNER

    with pytest.raises(InvalidRequest):
        jws.FORM.verify(text, make_statement(SIGNER.key.fingerprint), lambda _: SIGNER.key)
