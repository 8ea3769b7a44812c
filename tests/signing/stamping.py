"""A time-stamping authority by openssl."""

from __future__ import annotations

from pathlib import Path

from tests.signing.conftest import Run


def openssl(run: Run, *words: str) -> bytes:
    done = run("openssl", *words)
    assert done.returncode == 0, done.stderr
    return bytes(done.stdout)


def make_authority(run: Run, place: Path, name: str = "tsa") -> bytes:
    """Make the key of an authority, with a certificate by a root. Return the root."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    for part in (f"{name}-root", name):
        more = ["-x509", "-days", "30"] if part != name else []
        out = f"{part}.pem" if more else f"{part}.csr"
        subject = ["-subj", f"/CN={part}", "-keyout", f"{part}.key", "-out", out]
        openssl(run, "req", "-new", *more, *curve, *subject)
    (place / "purpose").write_text("extendedKeyUsage=critical,timeStamping\n")
    issuer = ["-CA", f"{name}-root.pem", "-CAkey", f"{name}-root.key", "-CAcreateserial"]
    own = ["-in", f"{name}.csr", "-extfile", "purpose", "-days", "30", "-out", f"{name}.pem"]
    openssl(run, "x509", "-req", *issuer, *own)
    (place / f"{name}.serial").write_text("01")
    (place / f"{name}.cnf").write_text(
        f"[tsa]\ndefault_tsa=one\n[one]\nserial={place}/{name}.serial\nsigner_digest=sha256\n"
        "default_policy=1.2.3.4.1\ndigests=sha256,sha512\naccuracy=secs:1\n"
    )
    return (place / f"{name}-root.pem").read_bytes()


def stamp(run: Run, place: Path, data: bytes, *words: str, name: str = "tsa") -> bytes:
    """Stamp data; `-token_out` gives the token alone."""
    (place / "stamped").write_bytes(data)
    openssl(run, "ts", "-query", "-data", "stamped", "-sha512", "-cert", "-out", "query")
    own = ["-signer", f"{name}.pem", "-inkey", f"{name}.key", "-out", "reply", *words]
    openssl(run, "ts", "-reply", "-config", f"{name}.cnf", "-queryfile", "query", *own)
    return (place / "reply").read_bytes()
