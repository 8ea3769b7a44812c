"""`statement`, `sign`, `attach-signature` and `verify --signatures`."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from PIL import Image
from tests.cli.conftest import Shell
from tests.conftest import SERIES
from tests.signing.conftest import Run, needs_minisign, needs_openssl, needs_ssh, run
from tests.signing.stamping import make_authority, stamp

from perdure.cli import exits
from perdure.errors import InvalidRequest
from perdure.ids import parse
from perdure.registry import Registry
from perdure.signing.signers import read_signer
from perdure.signing.statement import DOMAIN, parse_statement

__all__ = ["run"]  # a fixture
REFUSED = exits.CODES[InvalidRequest]


def write_key(path: Path, number: int, passphrase: bytes = b"") -> str:
    """Write a private key, and its public key in `.pub`; return that as a line."""
    private = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    locked = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked))
    public = read_signer(path.read_bytes(), passphrase or None).key.line
    path.with_suffix(".pub").write_text(public + "\n")
    return public


@pytest.fixture
def key(place: Path) -> str:
    return write_key(place / "key", 1)


@pytest.fixture
def signed(shell: Shell, letter: Path, key: str) -> str:
    """A document in the registry."""
    (name,) = shell.lines("mint", "--series", SERIES, "letter.txt")
    return name


def trust(shell: Shell, place: Path, *lines: str, name: str = "") -> str:
    """Commit a version of the list of allowed signers; the first one is also set."""
    (place / "allowed").write_text("".join(f"{line}\n" for line in lines))
    if name:
        shell.run("commit", name, "allowed")
        return name
    (minted,) = shell.lines("mint", "--series", SERIES, "allowed", "--type", "text/plain")
    name = minted.removesuffix(".text.1")
    settings = shell.root / "perdure.toml"
    settings.write_text(f'{settings.read_text()}allowed_signers = ["{SERIES}={name}"]\n')
    return name


def verdicts(shell: Shell, *names: str, code: int = 0) -> list[tuple[str, str]]:
    """The name and verdict of each signature."""
    lines = [line.split(" ") for line in shell.lines("verify", "--signatures", *names, code=code)]
    return [(of, verdict.removesuffix(":")) for verdict, _, _, of, *_ in lines]


def test_a_document_is_signed_and_the_signature_judged(
    shell: Shell, place: Path, signed: str, key: str
) -> None:
    trust(shell, place, f"ann@a.example {key}")
    before = shell.run("describe", signed, "--json").stdout
    (signature,) = shell.lines("sign", signed, "--key", "key", "--role", "issuer")
    assert shell.run("describe", signed, "--json").stdout == before
    text = shell.run("get", signature).stdout
    statement = shell.run("statement", signed, "--key", "key.pub", "--role", "issuer").stdout
    assert text.splitlines()[:8] == statement.splitlines()[:8]
    assert f"identifier: {signed}" in text
    assert verdicts(shell) == verdicts(shell, signed) == [(signed, "valid")]
    found, summary = map(json.loads, shell.lines("verify", "--signatures", "--json"))
    assert (found["identifier"], found["of"], found["role"]) == (signature, signed, "issuer")
    assert found["principals"] == ["ann@a.example"]
    assert summary == {"signatures": 1, "problems": 0}


def test_the_name_without_a_version_signs_the_newest(
    shell: Shell, place: Path, signed: str, key: str
) -> None:
    (place / "letter.txt").write_bytes(b"Dear Madam\n")
    (second,) = shell.lines("commit", signed.removesuffix(".text.1"), "letter.txt")
    shell.run("sign", signed.removesuffix(".text.1"), "--key", "key")
    assert verdicts(shell, code=exits.FINDINGS) == [(second, "unknown-key")]


def test_parts_pictures_and_months_are_signed(
    shell: Shell, place: Path, signed: str, key: str
) -> None:
    """ "of documents, parts, assertions, intervals" """
    trust(shell, place, f"ann {key}")
    Image.new("RGB", (4, 4), "red").save(place / "red.png")
    (picture,) = shell.lines("mint", "--series", SERIES, "red.png")
    month = signed.rpartition("/")[0].rpartition("/")[0] + "/"
    names = [f"{signed}#char=0,4", f"{picture}#rect=(0,0),(2,2)", month]
    for name in names:
        shell.run("sign", name, "--key", "key")
    assert verdicts(shell) == [(name, "valid") for name in names]
    shell.run("mint", "--series", SERIES, "letter.txt")
    assert verdicts(shell, month, code=exits.FINDINGS)[0] == (month, "altered")
    (text,) = (
        shell.run("get", line.split(" ")[1]).stdout
        for line in shell.lines("verify", "--signatures", picture)
    )
    assert "reading: rgb8 2x2\n" in text


def test_a_year_has_the_signatures_of_its_months_days_and_names(
    shell: Shell, place: Path, key: str, letter: Path
) -> None:
    """Ruling pdi-patterns-everywhere: "Whatever takes a set takes a pattern or an interval"."""
    trust(shell, place, f"ann {key}")
    series = f"pdi://{SERIES}/"
    for day in ("1997/09/01", "1997/09/02", "1997/10/01", "1998/01/01"):
        shell.run("mint", "letter.txt", "--series", SERIES, "--day", day)
    text = f"{series}1997/10/01/1.text.1"
    some = [f"{series}{one}" for one in ("1997/", "1997/09/", "1997/09/01/", "1997/*/01/1")]
    others = [series, f"{series}1998/01/01/", f"{series}*/01/01/1"]
    for name in (text, *others, *some):
        shell.run("sign", name, "--key", "key")
    assert verdicts(shell, some[0]) == [(name, "valid") for name in (*some, text)]
    assert verdicts(shell, some[1]) == [(name, "valid") for name in some[1:3]]
    assert verdicts(shell, some[2]) == [(some[2], "valid")]
    assert verdicts(shell, some[3]) == [(name, "valid") for name in (some[3], text)]
    assert verdicts(shell, f"{series}1997/*/*/*.text") == [(text, "valid")]
    assert sorted(verdicts(shell, series)) == sorted(
        (name, "valid") for name in (*some, *others, text)
    )
    assert verdicts(shell, text) == [(text, "valid")]


def test_a_signature_is_stored_once(shell: Shell, place: Path, signed: str, key: str) -> None:
    (signature,) = shell.lines("sign", signed, "--key", "key")
    (place / "copy").write_text(shell.run("get", signature).stdout)
    assert shell.lines("attach-signature", signed, "copy") == [signature]
    assert len(verdicts(shell, code=exits.FINDINGS)) == 1


def test_signatures_that_do_not_count_are_refused(
    shell: Shell, place: Path, signed: str, key: str
) -> None:
    """ "wrong, expired, revoked keys, moved and stripped statements: each a clear error, nothing
    half-kept" """
    (other,) = shell.lines("mint", "--series", SERIES, "letter.txt")
    (signature,) = shell.lines("sign", signed, "--key", "key")
    text = shell.run("get", signature).stdout
    cases = {
        "moved": (other, text),
        "did not make it": (other, text.replace(signed, other)),
        "line 7": (signed, text.replace("role: author\n", "")),
        "does not contain": (signed, text.partition("\n\n")[0] + "\n"),
        "did not make it of": (signed, text.replace("length: 16", "length: 17")),
    }
    for reason, (name, data) in cases.items():
        (place / "bad").write_text(data)
        error = shell.error("attach-signature", name, "bad", code=REFUSED)
        assert reason in error["message"]
    listed = trust(shell, place, f'ann valid-before="20200101Z" {key}')
    for reason, line in {
        "expired": "",
        "not-yet-valid": f'ann valid-after="29990101Z" {key}',
        "unknown-key": "",
    }.items():
        if line:
            trust(shell, place, line, name=listed)
        if reason == "unknown-key":
            write_key(place / "other", 2)
        used = "other" if reason == "unknown-key" else "key"
        error = shell.error("sign", signed, "--key", used, code=REFUSED)
        assert reason in error["message"]
    trust(shell, place, "", name=listed)
    error = shell.error("sign", signed, "--key", "key", code=REFUSED)
    assert "not-yet-valid" in error["message"] or "revoked" in error["message"]
    assert len(verdicts(shell, code=exits.FINDINGS)) == 1


def test_a_revoked_key_counts_for_what_was_recorded_before(
    shell: Shell, place: Path, signed: str, key: str
) -> None:
    """ "signed before it was revoked counts only by a change's number" """
    other = write_key(place / "other", 2)
    listed = trust(shell, place, f"ann {key}", f"bob {other}")
    (signature,) = shell.lines("sign", signed, "--key", "key")
    trust(shell, place, f"bob {other}", name=listed)
    (line,) = shell.lines("verify", "--signatures")
    assert line.startswith(f"valid: {signature} of {signed} by ann (author): change ")
    assert "revoked" in shell.error("sign", signed, "--key", "key", code=REFUSED)["message"]
    shell.run("sign", signed, "--key", "other")


def test_a_signature_is_as_old_as_its_bytes_and_not_as_its_name(
    shell: Shell, place: Path, signed: str, key: str
) -> None:
    """A thief of a revoked key commits its signature to a name that is older than the revocation.

    "signed before it was revoked counts only by a change's number … not by the signer's own date"
    """
    (old,) = shell.lines("mint", "--series", SERIES, "letter.txt")
    other = write_key(place / "other", 2)
    listed = trust(shell, place, f"ann {key}", f"bob {other}")
    statement = shell.run("statement", signed, "--key", "key.pub").stdout
    trust(shell, place, f"bob {other}", name=listed)
    signature = read_signer((place / "key").read_bytes()).sign_statement(
        parse_statement(statement.encode())
    )
    (place / "late").write_text(f"{statement}\n{signature}")
    shell.run("commit", old.removesuffix(".text.1"), "late", "--type", "text/plain")
    assert verdicts(shell, code=exits.FINDINGS) == [(signed, "revoked")]


def test_a_list_is_read_once_for_each_of_its_revisions(
    shell: Shell, place: Path, signed: str, key: str
) -> None:
    listed = trust(shell, place, f"ann {key}")
    (place / "allowed").write_text(f"bob {key}\n")
    shell.run("mint", "--series", SERIES, "allowed", "--type", "text/plain")
    settings = shell.root / "perdure.toml"
    both = f'["{SERIES}={listed}", "hdl:1839/={listed[:-1]}{int(listed[-1]) + 1}"]'
    settings.write_text(settings.read_text().replace(f'["{SERIES}={listed}"]', both))
    names = [parse(signed), parse("hdl:1839/x")]
    with Registry(shell.root) as registry:
        ours, others = map(registry.trusted_signers.load_trust, names)
        assert [one.versions[0].signers.signers[0].principals for one in (ours, others)] == [
            ("ann",),
            ("bob",),
        ]
        assert registry.trusted_signers.load_trust(names[0]) is ours
        assert registry.trusted_signers.load_trust(names[1]) is others
        trust(shell, place, f"ann {key}", f"eve {key}", name=listed)
        assert len(registry.trusted_signers.load_trust(names[0]).versions) == 2
        assert registry.trusted_signers.load_trust(names[1]) is others


def test_bytes_that_were_withdrawn_are_not_judged(
    shell: Shell, place: Path, signed: str, key: str
) -> None:
    trust(shell, place, f"ann {key}")
    (signature,) = shell.lines("sign", signed, "--key", "key")
    shell.run("withdraw", signed, "--reason", "a court said so")
    assert verdicts(shell, code=exits.FINDINGS) == [(signed, "unverifiable")]
    shell.run("withdraw", signature, "--reason", "a court said so")
    assert verdicts(shell) == []


def test_an_encrypted_key_is_opened_with_a_file(shell: Shell, place: Path, signed: str) -> None:
    write_key(place / "locked", 3, b"open sesame")
    (place / "word").write_text("open sesame\n")
    (place / "wrong").write_text("open barley\n")
    shell.run("sign", signed, "--key", "locked", "--passphrase-file", "word")
    for words in ([], ["--passphrase-file", "wrong"]):
        error = shell.error("sign", signed, "--key", "locked", *words, code=REFUSED)
        assert "passphrase" in error["message"]
        assert "barley" not in error["message"]


def test_other_keys_and_names_are_refused(shell: Shell, place: Path, signed: str, key: str) -> None:
    (place / "nothing").write_text("no key")
    shell.error("sign", signed, "--key", "nothing", code=REFUSED)
    shell.error("statement", signed, "--key", "nothing", code=REFUSED)
    shell.run("bind", "hdl:1/2", "https://a.example/", "--register")
    error = shell.error("sign", "hdl:1/2", "--key", "key", code=REFUSED)
    assert "no bytes" in error["message"]
    shell.error("sign", "pdi://nothing.us/2026/01/01/1", "--key", "key", code=10)


@needs_ssh
def test_ssh_keygen_signs_our_statement_and_verifies_our_signature(
    shell: Shell, place: Path, signed: str
) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", "own"], cwd=place, check=True
    )
    listed = f"ann {(place / 'own.pub').read_text()}"
    (place / "trusted").write_text(listed)
    trust(shell, place, listed.strip())
    (place / "st").write_text(shell.run("statement", signed, "--key", "own.pub").stdout)
    subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-n", DOMAIN, "-f", "own", "st"], cwd=place, check=True
    )
    (signature,) = shell.lines("attach-signature", signed, "st.sig", "--statement", "st")
    assert verdicts(shell) == [(signed, "valid")]
    statement, _, armoured = shell.run("get", signature).stdout.partition("\n\n")
    (place / "got").write_text(armoured)
    words = ["-Y", "verify", "-f", "trusted", "-I", "ann", "-n", DOMAIN, "-s", "got"]
    done = subprocess.run(
        ["ssh-keygen", *words],
        cwd=place,
        input=f"{statement}\n".encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@needs_minisign
def test_minisign_signs_our_statement(shell: Shell, place: Path, signed: str) -> None:
    subprocess.run(["minisign", "-G", "-W", "-p", "m.pub", "-s", "m.key"], cwd=place, check=True)
    key = read_signer((place / "m.key").read_bytes()).key
    shell.error("sign", signed, "--key", "m.key", code=REFUSED)  # no list has its key
    trust(shell, place, f"ann {key.line}")
    (place / "st").write_text(shell.run("statement", signed, "--key", "m.pub").stdout)
    comment = f"identifier: {signed}"
    subprocess.run(
        ["minisign", "-S", "-s", "m.key", "-m", "st", "-t", comment], cwd=place, check=True
    )
    shell.run("attach-signature", signed, "st.minisig", "--statement", "st")
    shell.run("sign", signed, "--key", "m.key")
    assert verdicts(shell) == [(signed, "valid")] * 2


@needs_openssl
def test_a_time_stamp_proves_that_a_signature_is_older(
    shell: Shell, place: Path, signed: str, key: str, run: Run, tmp_path: Path
) -> None:
    """ "signed before it was revoked counts only by a change's number or an RFC 3161 token" """
    root = make_authority(run, tmp_path)
    (place / "roots.pem").write_bytes(root)
    (minted,) = shell.lines("mint", "--series", SERIES, "roots.pem", "--type", "text/plain")
    settings = shell.root / "perdure.toml"
    certificates = minted.removesuffix(".text.1")
    settings.write_text(f'{settings.read_text()}time_authorities = "{certificates}"\n')
    listed = trust(shell, place, f"ann {key}")
    made = shell.run("statement", signed, "--key", "key.pub").stdout
    signer = read_signer((place / "key").read_bytes())
    text = f"{made}\n{signer.sign_statement(parse_statement(made.encode()))}"
    (place / "signed").write_text(text)
    (place / "reply").write_bytes(stamp(run, tmp_path, text.encode()))
    (place / "wrong").write_bytes(stamp(run, tmp_path, text.encode() + b" "))
    words = ["attach-signature", signed, "signed", "--time-stamp"]
    assert "time stamp" in shell.error(*words, "wrong", code=REFUSED)["message"]
    (signature,) = shell.lines(*words, "reply")
    assert shell.lines(*words, "reply") == [signature]
    (found, _) = map(json.loads, shell.lines("verify", "--signatures", "--json"))
    assert found["verdict"] == "valid"
    assert found["stamped"]
    (place / "got").write_text(shell.run("get", signature).stdout)
    shell.run("withdraw", signature, "--reason", "attached once more, later")
    time.sleep(3.1)  # a stamp tells whole seconds, and is accurate to one
    trust(shell, place, "", name=listed)
    assert "revoked" in shell.error("attach-signature", signed, "signed", code=REFUSED)["message"]
    (again,) = shell.lines(*words, "reply")  # its change is later than the revocation
    assert again != signature
    (line,) = shell.lines("verify", "--signatures", signed)
    assert line.startswith(f"valid: {again} of {signed} by ann (author): a time stamp of ")


def test_signatures_are_found_after_a_rebuild_from_the_segments_alone(
    shell: Shell, place: Path, signed: str, key: str
) -> None:
    part = f"{signed}#char=0,4"
    for name in (signed, part):
        shell.run("sign", name, "--key", "key")
    found = verdicts(shell, signed, code=exits.FINDINGS)
    assert found == [(signed, "unknown-key"), (part, "unknown-key")]
    (shell.root / "registry.sqlite").unlink()
    shell.run("rebuild", code=1)
    assert verdicts(shell, signed, code=exits.FINDINGS) == found


def test_a_text_that_only_begins_as_a_statement_is_about_nothing_after_a_rebuild(
    shell: Shell, place: Path, signed: str, key: str
) -> None:
    (place / "draft.txt").write_text(f"{DOMAIN}\nidentifier: {signed}\n")
    shell.run("mint", "--series", SERIES, "draft.txt")
    (shell.root / "registry.sqlite").unlink()
    shell.run("rebuild", code=1)
    assert verdicts(shell, signed) == []


@needs_ssh
@needs_minisign
def test_a_key_of_minisign_in_a_list(shell: Shell, place: Path, run: Run, tmp_path: Path) -> None:
    """`ssh-keygen` reads the line, too, and `minisign` signs with the key."""
    run("minisign", "-G", "-W", "-p", "m.pub", "-s", "m.key")
    line = shell.lines(
        "allowed-signer", "ann@a.example", "--key", str(tmp_path / "m.pub"),
        "--valid-before", "29990101Z",
    )[0]  # fmt: skip
    assert line.startswith(
        f'ann@a.example namespaces="{DOMAIN}",valid-before="29990101Z" ssh-ed25519 '
    )
    (tmp_path / "line").write_text(" ".join(line.split()[2:]))
    shown = run("ssh-keygen", "-l", "-f", "line").stdout.decode()
    assert shell.json("allowed-signer", "a", "--key", str(tmp_path / "m.pub"))["signer"] in shown
    for wrong in (("a b",), ("a,b",), ("",), ("a\nb",), ("a", "--valid-after", "tomorrow")):
        shell.run("allowed-signer", *wrong, "--key", str(tmp_path / "m.pub"), code=REFUSED)
