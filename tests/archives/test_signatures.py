"""Signatures of WACZ packages: those of other programs are right, and no change goes unnoticed."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from perdure.archives.files import time_stamps
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


def stamp_signature(place: Path, signature: bytes) -> dict[str, str]:
    """A time stamp of a signature by openssl, with the certificates of its authority."""
    for name in ("stamps", "stamp-root"):
        openssl(
            "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", place / f"{name}.key"
        )
    openssl("req", "-x509", "-new", "-key", place / "stamp-root.key", "-subj", "/CN=Stamp Root",
            "-days", "30", "-out", place / "stamp-root.pem")  # fmt: skip
    openssl("req", "-new", "-key", place / "stamps.key", "-subj", "/CN=Stamps",
            "-out", place / "stamps.csr")  # fmt: skip
    (place / "purpose").write_text("extendedKeyUsage=critical,timeStamping\n")
    openssl("x509", "-req", "-in", place / "stamps.csr", "-CA", place / "stamp-root.pem",
            "-CAkey", place / "stamp-root.key", "-extfile", place / "purpose",
            "-days", "30", "-out", place / "stamps.pem")  # fmt: skip
    (place / "serial").write_text("01")
    (place / "stamps.cnf").write_text(
        f"[tsa]\ndefault_tsa=one\n[one]\nserial={place}/serial\nsigner_digest=sha256\n"
        "default_policy=1.2.3.4.1\ndigests=sha256\n"
    )
    (place / "signature").write_bytes(base64.b64encode(signature))
    openssl("ts", "-query", "-data", place / "signature", "-sha256", "-cert",
            "-out", place / "query")  # fmt: skip
    openssl("ts", "-reply", "-config", place / "stamps.cnf", "-queryfile", place / "query",
            "-signer", place / "stamps.pem", "-inkey", place / "stamps.key",
            "-out", place / "reply")  # fmt: skip
    stamps = (place / "stamps.pem").read_text()
    return {
        "timeSignature": base64.b64encode((place / "reply").read_bytes()).decode(),
        "timestampCert": stamps + (place / "stamp-root.pem").read_text(),
        "stamps": stamps,
    }


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
        **stamp_signature(place, signature),
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
    day = datetime.now(UTC).date().isoformat()
    assert f"the time signature of '{day}T" in found.text
    assert "was verified with its certificates; whether 'CN=Stamp Root', who issued" in found.text


def test_a_time_that_was_not_verified_is_not_said_to_be(
    signed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for changes, reason in (
        ({"timeSignature": ""}, "the time is only stated"),
        ({"timestampCert": ""}, "not verified: its certificates are missing"),
        ({"timestampCert": signed["stamps"]}, "not verified: its chain of certificates has no"),
    ):
        found = verify(signed, **changes)
        assert found.fault == ""
        assert reason in found.text
    monkeypatch.setitem(sys.modules, "rfc3161_client", None)
    found = verify(signed)
    assert found.fault == ""
    assert "the time signature was not verified: pip install 'perdure[signatures]'" in found.text


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
        ({"timeSignature": "AAAA"}, "its time signature cannot be read"),
        ({"timeSignature": "?"}, "its time signature cannot be read"),
        ({"timestampCert": "x"}, "its certificates cannot be read"),
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


def test_a_stamp_of_something_else_is_wrong(
    signed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = stamp_signature(tmp_path, b"another signature")
    found = verify(signed, **{name: other[name] for name in ("timeSignature", "timestampCert")})
    assert "its time signature is wrong: Mismatch between messages" in found.fault
    found = verify(signed, timestampCert=other["timestampCert"])
    assert "its time signature is wrong: " in found.fault
    monkeypatch.setattr(time_stamps, "LATEST", timedelta(minutes=-1))
    assert "not of the ten minutes after the stated time" in verify(signed).fault


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
