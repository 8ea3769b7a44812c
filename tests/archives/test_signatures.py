"""Signatures of WACZ packages: those of other programs are right, and no change goes unnoticed."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from perdure.archives.files.wacz import read_package
from perdure.archives.files.wacz_signing import SignedData, verify_signature
from perdure.archives.library import SUFFIXES

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"
HASH = "sha256:" + "ab" * 32
CREATED = "2026-06-01T00:00:00Z"


@pytest.mark.corpus
@pytest.mark.parametrize("path", sorted(CORPUS.glob("*replayweb*.wacz")), ids=lambda one: one.name)
def test_signatures_by_archiveweb_page_are_right(path: Path) -> None:
    """Browsers sign with P-384, and write both numbers one after the other."""
    found = read_package(path, SUFFIXES)
    assert found.flaws == ()
    assert "stated to be signed anonymously on '202" in found.signature
    assert "the signature was verified with the key in the package" in found.signature


@pytest.mark.corpus
def test_a_changed_signature_is_reported(tmp_path: Path) -> None:
    path = next(CORPUS.glob("*iframetest.wacz"))
    target = tmp_path / "a.wacz"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "datapackage-digest.json":
                held = json.loads(data)
                signature = bytearray(base64.b64decode(held["signedData"]["signature"]))
                signature[5] ^= 1
                held["signedData"]["signature"] = base64.b64encode(signature).decode()
                data = json.dumps(held).encode()
            new.writestr(name, data)
    found = read_package(target, SUFFIXES)
    [flaw] = found.flaws
    assert "'a.wacz' at datapackage-digest.json: promised a signature of the package" in flaw.what
    assert "its key did not make the signature of this hash" in flaw.what
    assert found.signature.endswith("the signature is wrong")


def openssl(*arguments: str | Path, text: bytes = b"") -> bytes:
    done = subprocess.run(
        ["openssl", *map(str, arguments)], input=text, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Signed by openssl as authsign does it, with a certificate and that of its issuer."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    place = tmp_path_factory.mktemp("keys")
    for name in ("root", "domain"):
        openssl(
            "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", place / f"{name}.key"
        )
    openssl("req", "-x509", "-new", "-key", place / "root.key", "-subj", "/CN=Test Root",
            "-days", "30", "-out", place / "root.pem")  # fmt: skip
    openssl("req", "-new", "-key", place / "domain.key", "-subj", "/CN=signer.example",
            "-out", place / "domain.csr")  # fmt: skip
    openssl("x509", "-req", "-in", place / "domain.csr", "-CA", place / "root.pem",
            "-CAkey", place / "root.key", "-days", "30", "-out", place / "domain.pem")  # fmt: skip
    started = openssl(
        "x509", "-in", place / "domain.pem", "-noout", "-startdate", "-dateopt", "iso_8601"
    )
    day = started.decode().partition("=")[2].strip().replace(" ", "T")
    signature = openssl("dgst", "-sha256", "-sign", place / "domain.key", text=HASH.encode())
    return {
        "hash": HASH,
        "created": day,
        "software": "openssl",
        "signature": base64.b64encode(signature).decode(),
        "domain": "signer.example",
        "domainCert": (place / "domain.pem").read_text() + (place / "root.pem").read_text(),
        "timeSignature": "AAAA",
        "publicKey": base64.b64encode(
            openssl("pkey", "-in", place / "domain.key", "-pubout", "-outform", "DER")
        ).decode(),
        "other": (place / "root.pem").read_text(),
    }


def verify(signed: dict[str, str], **changes: str) -> Any:
    import msgspec

    return verify_signature(msgspec.convert(signed | changes, SignedData))


def test_the_signature_of_a_domain_is_verified_with_its_certificate(signed: dict[str, str]) -> None:
    found = verify(signed)
    assert found.fault == ""
    assert "stated to be signed by 'signer.example'" in found.text
    assert "its chain of 2 certificates" in found.text
    assert "whether 'CN=Test Root', who issued the last one, can be trusted was not" in found.text
    assert "the time signature was not verified" in found.text


def test_an_anonymous_signature_in_der_is_verified(signed: dict[str, str]) -> None:
    found = verify(signed, domain="", domainCert="")
    assert found.fault == ""
    assert "verified with the key in the package" in found.text


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"hash": "sha256:" + "ac" * 32}, "did not make the signature of this hash"),
        ({"signature": "AAAA"}, "did not make the signature of this hash"),
        ({"signature": "?"}, "not Base64"),
        ({"domain": "other.example"}, "its certificate is for 'signer.example', not for 'other"),
        ({"created": "1999-01-01T00:00:00Z"}, "was not valid on the day"),
        ({"created": "yesterday"}, "time of the signature cannot be read"),
        ({"domainCert": "x"}, "its certificates cannot be read"),
        ({"domainCert": "", "publicKey": "AAAA"}, "its public key cannot be read"),
        ({"domainCert": "", "domain": ""} | {"publicKey": ""}, "its public key cannot be read"),
    ],
)
def test_a_wrong_signature_says_what_is_wrong(
    signed: dict[str, str], changes: dict[str, str], fault: str
) -> None:
    found = verify(signed, **changes)
    assert fault in found.fault
    assert found.text.endswith("the signature is wrong")


def test_certificates_in_another_order_are_a_broken_chain(signed: dict[str, str]) -> None:
    first = signed["domainCert"].removesuffix(signed["other"])
    assert (
        "its chain of certificates is broken"
        in verify(signed, domainCert=first + first + signed["other"]).fault
    )


def test_without_the_library_nothing_is_said_to_be_verified(
    signed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    found = verify(signed, signature="AAAA")
    assert found.fault == ""
    assert "the signature was not verified: pip install 'perdure[signatures]'" in found.text
