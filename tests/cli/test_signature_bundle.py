"""Bundles of signatures: exported, and verified without the registry and by other programs."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from hashlib import sha512
from pathlib import Path

import pytest
from PIL import Image
from tests.cli.conftest import Shell
from tests.cli.test_signing import REFUSED, trust, write_key
from tests.conftest import SERIES
from tests.signing.conftest import Run, needs_openssl, needs_ssh, run
from tests.signing.stamping import make_authority, stamp

from perdure.cli import exits
from perdure.signing.signers import read_signer
from perdure.signing.statement import DOMAIN, parse_statement

__all__ = ["run"]  # a fixture
Change = Callable[[dict[str, bytes]], None]


@pytest.fixture
def signed(shell: Shell, letter: Path, place: Path) -> str:
    """A document with two signatures, and the bundle of them."""
    key = write_key(place / "key", 1)
    trust(shell, place, f"ann {key}")
    (name,) = shell.lines("mint", "--series", SERIES, "letter.txt")
    shell.run("sign", name, "--key", "key")
    shell.run("sign", f"{name}#char=0,4", "--key", "key")
    shell.run("export-signatures", name, "-o", "bundle.zip")
    return name


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell on a directory that has no registry."""
    return Shell(tmp_path_factory.mktemp("elsewhere"))


def verdicts(shell: Shell, *words: str, code: int = 0) -> list[str]:
    lines = shell.lines("verify", "--signatures", "--bundle", *words, code=code)
    return [line.partition(":")[0] for line in lines]


def rewrite(change: Change) -> None:
    """Change the files of the bundle."""
    with zipfile.ZipFile("bundle.zip") as bundle:
        files = {name: bundle.read(name) for name in bundle.namelist()}
    change(files)
    with zipfile.ZipFile("bundle.zip", "w") as bundle:
        for name, data in files.items():
            bundle.writestr(name, data)


def test_a_bundle_needs_no_registry(
    shell: Shell, elsewhere: Shell, signed: str, letter: Path
) -> None:
    assert verdicts(elsewhere, "bundle.zip") == ["valid", "valid"]
    found = elsewhere.lines("verify", "--signatures", "--bundle", "bundle.zip", "--json")
    here = shell.lines("verify", "--signatures", signed, "--json")
    assert found == here
    with zipfile.ZipFile("bundle.zip") as bundle:
        assert bundle.read("1/content") == letter.read_bytes()
        assert bundle.read("2/content") == b"Dear"
        index = json.loads(bundle.read("bundle.json"))
    assert [one["of"] for one in index["signatures"]] == [signed, f"{signed}#char=0,4"]


def test_a_reader_trusts_his_own_list(elsewhere: Shell, signed: str, place: Path) -> None:
    other = write_key(place / "other", 2)
    (place / "mine").write_text(f"bob {other}\n")
    found = verdicts(elsewhere, "bundle.zip", "--allowed-signers", "mine", code=exits.FINDINGS)
    assert found == ["unknown-key", "unknown-key"]
    assert verdicts(elsewhere, "bundle.zip", "--allowed-signers", "allowed") == ["valid"] * 2


@needs_ssh
def test_ssh_keygen_verifies_the_files_of_a_bundle(signed: str, place: Path) -> None:
    with zipfile.ZipFile("bundle.zip") as bundle:
        bundle.extractall("out")
    for number in ("1", "2"):
        words = ["-Y", "verify", "-f", "lists/1/1", "-I", "ann", "-n", DOMAIN]
        statement = (place / "out" / number / "statement").read_bytes()
        done = subprocess.run(
            ["ssh-keygen", *words, "-s", f"{number}/signature"],
            cwd=place / "out",
            input=statement,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        content = (place / "out" / number / "content").read_bytes()
        assert f"\nsha512: {sha512(content).hexdigest()}\n".encode() in statement


@needs_openssl
@pytest.mark.parametrize("words", [(), ("-token_out",)])
def test_openssl_verifies_the_time_stamps_of_a_bundle(
    shell: Shell, signed: str, place: Path, run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """The answer of an authority, or its token alone, as it was attached."""
    (place / "authorities").write_bytes(make_authority(run, tmp_path))
    (authorities,) = shell.lines("mint", "--series", SERIES, "authorities", "--type", "text/plain")
    settings = shell.root / "perdure.toml"
    stated = f'time_authorities = "{authorities.removesuffix(".text.1")}"\n'
    settings.write_text(settings.read_text() + stated)
    statement = shell.run("statement", signed, "--key", "key.pub").stdout
    signature = read_signer((place / "key").read_bytes()).sign_statement(
        parse_statement(statement.encode())
    )
    (place / "signed").write_text(f"{statement}\n{signature}")
    (place / "reply").write_bytes(stamp(run, tmp_path, (place / "signed").read_bytes(), *words))
    shell.run("attach-signature", signed, "signed", "--time-stamp", "reply")
    shell.run("export-signatures", signed, "-o", "stamped.zip")
    with zipfile.ZipFile("stamped.zip") as bundle:
        (stamped,) = (one for one in bundle.namelist() if one.endswith("/stamped"))
        bundle.extractall("out")
    files = ["-data", stamped, "-in", stamped.replace("stamped", "stamp-1")]
    done = subprocess.run(
        ["openssl", "ts", "-verify", *files, "-CAfile", "authorities.pem"],
        cwd=place / "out",
        capture_output=True,
        check=False,
    )
    assert b"Verification: OK" in done.stdout, done.stderr


def set_content(files: dict[str, bytes]) -> None:
    files["1/content"] = b"Dear Sir,\nYours\n"


def set_long_content(files: dict[str, bytes]) -> None:
    files["1/content"] += b"x" * 10_000_000


def move_signature(files: dict[str, bytes]) -> None:
    files["1/signed"] = files["2/signed"]


def drop_signature(files: dict[str, bytes]) -> None:
    files["1/signed"] = files["1/signed"].replace(b"role: author", b"role: issuer")


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (set_content, "altered"),
        (set_long_content, "altered"),
        (move_signature, "moved"),
        (drop_signature, "wrong"),
    ],
)
def test_a_changed_bundle_is_found_out(
    change: Change, verdict: str, elsewhere: Shell, signed: str
) -> None:
    rewrite(change)
    assert verdicts(elsewhere, "bundle.zip", code=exits.FINDINGS) == [verdict, "valid"]


def drop_index(files: dict[str, bytes]) -> None:
    del files["bundle.json"]


def break_index(files: dict[str, bytes]) -> None:
    files["bundle.json"] = b"[]"


def set_form(files: dict[str, bytes]) -> None:
    files["bundle.json"] = files["bundle.json"].replace(b'"bundle": 1', b'"bundle": 2')


def drop_content(files: dict[str, bytes]) -> None:
    del files["1/content"]


def break_list(files: dict[str, bytes]) -> None:
    files["lists/1/1"] = b"ann\n"


def break_name(files: dict[str, bytes]) -> None:
    files["bundle.json"] = files["bundle.json"].replace(b"pdi://", b"nothing:")


@pytest.mark.parametrize(
    "change", [drop_index, break_index, set_form, drop_content, break_list, break_name]
)
def test_what_is_no_bundle_is_refused(change: Change, elsewhere: Shell, signed: str) -> None:
    rewrite(change)
    elsewhere.run("verify", "--signatures", "--bundle", "bundle.zip", code=REFUSED)


def test_other_files_are_refused(elsewhere: Shell, signed: str, place: Path) -> None:
    elsewhere.error("verify", "--signatures", "--bundle", "letter.txt", code=REFUSED)
    data = bytearray((place / "bundle.zip").read_bytes())
    data[data.index(b"Dear")] ^= 1
    (place / "bundle.zip").write_bytes(bytes(data))
    elsewhere.run("verify", "--signatures", "--bundle", "bundle.zip", code=REFUSED)
    for words in (["--bundle", "bundle.zip"], ["--signatures", "--allowed-signers", "allowed"]):
        elsewhere.run("verify", *words, code=2)


def test_pictures_and_withdrawn_bytes_are_not_in_a_bundle(
    shell: Shell, elsewhere: Shell, signed: str, place: Path
) -> None:
    Image.new("RGB", (4, 4), "red").save(place / "red.png")
    (picture,) = shell.lines("mint", "--series", SERIES, "red.png")
    shell.run("sign", f"{picture}#rect=(0,0),(2,2)", "--key", "key")
    shell.run("withdraw", signed, "--reason", "a court said so")
    for name in (picture, signed):
        shell.run("export-signatures", name, "-o", "b.zip")
        assert set(verdicts(elsewhere, "b.zip", code=exits.FINDINGS)) == {"unverifiable"}
        with zipfile.ZipFile("b.zip") as bundle:
            assert not [one for one in bundle.namelist() if one.endswith("content")]
