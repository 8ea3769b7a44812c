"""Lists of allowed signers: read as ssh-keygen reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.signing.conftest import Run, make_ssh_key, make_statement, needs_ssh

from perdure.errors.signing import SignersMalformed
from perdure.signing.allowed import AllowedSigner, parse_allowed_signers
from perdure.signing.keys import read_public_line
from perdure.signing.statement import DOMAIN

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEpDSKTZVJpgGSNXwMxqZbCg9mE7zzvEukcu9SWjUeTp"
BASE64 = KEY.split()[1]


def read_one(line: str) -> AllowedSigner | None:
    found = parse_allowed_signers(f"# a comment\n\n{line}\n".encode()).signers
    assert len(found) < 2
    return found[0] if found else None


def test_a_line_has_principals_options_and_a_key() -> None:
    options = (
        'namespaces="git,perdure-signature-v1",valid-after="20260101",valid-before="203001021530Z"'
    )
    signer = read_one(f"ann@a.example,bob@b.example {options} {KEY} comment with words")
    assert signer is not None
    assert signer.principals == ("ann@a.example", "bob@b.example")
    assert signer.key == read_public_line(KEY)
    assert signer.valid_after == "2026-01-01T00:00:00Z"
    assert signer.valid_before == "2030-01-02T15:30:00Z"


@pytest.mark.parametrize(
    "line",
    [
        f'ann namespaces="git" {KEY}',
        f'ann namespaces="*,!{DOMAIN}" {KEY}',
        f"ann cert-authority {KEY}",
        "ann ssh-dss AAAAB3NzaC1kc3MAAAABAQ==",
        "ann sk-ecdsa-sha2-nistp256@openssh.com AAAA",
    ],
)
def test_other_lines_trust_no_key(line: str) -> None:
    assert read_one(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "ann",
        f"ann {KEY[:20]}",
        f"ann namespaces=git {KEY}",
        f'ann namespaces="git",namespaces="a" {KEY}',
        f'ann valid-before="soon" {KEY}',
        f'ann valid-before="20260230" {KEY}',
        f'ann valid-until="20260101" {KEY}',
        f"ann valid-before {KEY}",
        f'ann cert-authority="yes" {KEY}',
        f'ann namespaces="git {KEY}',
    ],
)
def test_a_mistake_is_an_error_with_its_line(line: str) -> None:
    with pytest.raises(SignersMalformed) as refused:
        read_one(line)
    assert refused.value.line == 3


def test_lists_have_limits() -> None:
    with pytest.raises(SignersMalformed):
        parse_allowed_signers(b"\xff\n")
    with pytest.raises(SignersMalformed):
        parse_allowed_signers(b"#" * (1 << 20) + b"\n")
    assert read_one(f'ann namespaces="{"*" * 5000}b" {KEY}') is None


OPTIONS = {
    "": True,
    'namespaces="perdure-signature-v1"': True,
    'namespaces="perdure-*"': True,
    'namespaces="git,perdure-signature-v?"': True,
    'namespaces="git"': False,
    'namespaces="*,!perdure-*"': False,
    'NAMESPACES="*"': True,
    'valid-after="20260101Z"': True,
    'valid-after="20261201Z"': False,
    'valid-before="20261124Z"': True,
    'valid-before="20261123Z"': False,
    'valid-after="20260101Z",valid-before="20270101Z"': True,
    'valid-after="20261123222959Z"': True,
    'valid-after="20261123223001Z"': False,
    'valid-before="202611232231Z"': True,
    "cert-authority": False,
    "unknown": False,
}


@needs_ssh
@pytest.mark.parametrize(("options", "counts"), OPTIONS.items(), ids=OPTIONS)
def test_ssh_keygen_reads_a_list_in_the_same_way(
    options: str, counts: bool, run: Run, tmp_path: Path
) -> None:
    """The time is that of the statement, 2026-11-23T22:30:00Z."""
    make_ssh_key(run)
    public = (tmp_path / "key.pub").read_text()
    key = read_public_line(public)
    statement = make_statement(key.fingerprint)
    signature = run("ssh-keygen", "-Y", "sign", "-n", DOMAIN, "-f", "key", data=statement.text)
    (tmp_path / "sig").write_bytes(signature.stdout)
    (tmp_path / "allowed").write_text(f"ann {options} {public}")
    words = ["ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "ann", "-s", "sig", "-n", DOMAIN]
    done = run(*words, "-O", "verify-time=20261123223000Z", data=statement.text)
    assert (done.returncode == 0) == counts, done.stderr
    try:
        found = parse_allowed_signers((tmp_path / "allowed").read_bytes()).signers
    except SignersMalformed:
        found = ()
    ours = any(one.valid_after <= statement.signed < (one.valid_before or "9") for one in found)
    assert ours == counts
