"""A predecessor with all that a registry can have, and a successor with a past of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SERIES, Desk, text

from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.model.assertions import write_assertion
from perdure.model.changes import attest_line
from perdure.model.commands import Describe, Mint, Restrict
from perdure.model.delegations import Delegation, make_delegation, read_resolver
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.stored import encode_stored
from perdure.registry import Registry, initialise
from perdure.signing.keys import PublicKey
from perdure.signing.signers import Signer, read_public_key, read_signer
from perdure.upkeep.asserting import make_assertion_content
from perdure.upkeep.delegating import sign_document
from perdure.upkeep.succession.handing import HandedOver, hand_over

BASE = "https://archives.example"
ALL = f"pdi://{SERIES}/"


class Keys:
    """A key pair of OpenSSH."""

    def __init__(self, directory: Path, name: str) -> None:
        self.path = directory / name
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.path)]
        subprocess.run(command, check=True)

    @property
    def signer(self) -> Signer:
        return read_signer(self.path.read_bytes())

    @property
    def public(self) -> PublicKey:
        return read_public_key(self.path.with_suffix(".pub").read_bytes())


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("keys"), "predecessor")


@pytest.fixture(scope="session")
def other_keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("keys"), "other")


def fill(desk: Desk, signer: Signer) -> None:
    """Names of all kinds, with a history."""
    first = desk.mint(text("one")).identifier
    generic = first.rsplit(".", 2)[0]
    desk.commit(generic, text("two"))
    desk.commit(generic, text("<p>two</p>", "html", "text/html"), version=2)
    desk.alias(generic, "hdl:10.1000/one")
    desk.bind(generic, "https://a.example/1")
    desk.break_(generic, "https://a.example/1")
    described = Describe(identifier=parse(generic), patch=b'{"language": "en"}')
    desk.registry.door.execute_command(described)
    desk.mint()
    desk.mint(uid="budget", locations=())
    withdrawn = desk.mint(text("secret")).identifier.rsplit(".", 2)[0]
    desk.withdraw(withdrawn)
    half = desk.mint(text("old")).identifier.rsplit(".", 2)[0]
    desk.commit(half, text("new"))
    desk.withdraw(half, version=1)
    closed = desk.mint(text("closed")).identifier.rsplit(".", 2)[0]
    rule = ReadingRule(about=closed, access=Access.CLOSED)
    desk.registry.door.execute_command(Restrict(rule=rule))
    sign_document(desk.registry, parse(first), signer, "ann")
    said = write_assertion((first,), ("commenting",), body="important")
    desk.mint(make_assertion_content(said))
    desk.registry.door.execute_commands(
        [Mint(authority=SERIES, contents=(text(f"of many {n}"),)) for n in range(5)]
    )


@pytest.fixture
def rich(desk: Desk, keys: Keys) -> Desk:
    fill(desk, keys.signer)
    return desk


@pytest.fixture
def successor(tmp_path: Path) -> Path:
    root = tmp_path / "successor"
    initialise(root, series=("archive.nara.gov.us",))
    settings = root / "perdure.toml"
    written = settings.read_text().replace('# base_url = ""', f'base_url = "{BASE}"')
    settings.write_text(written)
    with Registry(root) as registry:
        registry.door.execute_command(
            Mint(authority="archive.nara.gov.us", contents=(text("of the archive"),))
        )
    return root


def make(names: str = ALL, to: str = BASE, **terms: Any) -> Delegation:
    return make_delegation(read_set(names), (read_resolver(to),), role="successor", **terms)


def pack(desk: Desk, keys: Keys, place: Path, names: str = ALL) -> HandedOver:
    return hand_over(desk.registry, make(names), signer=keys.signer, place=place)


@pytest.fixture
def package(rich: Desk, keys: Keys, tmp_path: Path) -> Path:
    place = tmp_path / "package"
    pack(rich, keys, place)
    return place


def list_lines(registry: Registry, low: str = SERIES) -> Iterator[tuple[str, str]]:
    """Every revision of every record of a series, without places of bytes."""
    for key, _ in registry.records.scan_records(f"{low}/", f"{low}0", limit=1000):
        for record in registry.records.list_revisions(key):
            yield key, attest_line(encode_stored(record).decode())
