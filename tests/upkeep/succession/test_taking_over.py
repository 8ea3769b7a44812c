"""Names are handed over with all that they name; nothing is lost, and no name is given twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import bagit
import ocfl as validator
import pytest
from tests.conftest import SERIES, TODAY, Desk, text
from tests.upkeep.succession.conftest import ALL, BASE, Keys, list_lines, make, pack

from perdure.errors import PerdureError
from perdure.errors.delegations import AnsweredElsewhere, DelegationMalformed
from perdure.errors.succession import (
    HandOverElsewhere,
    HandOverFinal,
    HandOverUnsigned,
    PackageExists,
    PackageRefused,
    RecordContradicted,
)
from perdure.ids import parse
from perdure.model.commands import Adopt, Mint, Receipt, Register
from perdure.model.delegations import write_delegation
from perdure.model.queries import PUBLIC_READER, Query
from perdure.registry import Registry, initialise
from perdure.upkeep.asserting import make_assertion_content
from perdure.upkeep.delegating import revoke_delegation
from perdure.upkeep.succession.handing import hand_over
from perdure.upkeep.succession.taking import take_over


def test_what_is_imported_is_what_was_exported(
    rich: Desk, package: Path, successor: Path, keys: Keys
) -> None:
    """Issue of the network: "export ∘ import is the identity, history too"."""
    done = take_over(successor, package, key=keys.public)
    before = list(list_lines(rich.registry))
    with Registry(successor) as registry:
        assert list(list_lines(registry)) == before
        assert len({key for key, _ in before}) == 17
        signed = registry.signatures.list_signatures(parse(f"{TODAY}/1"))
        assert [str(one.signed.statement.identifier) for one in signed] == [f"{TODAY}/1.text.1"]
        assert registry.listings.find_record(parse("hdl:10.1000/one")) is None
        named = Query(identifier=parse("hdl:10.1000/one"), reader=PUBLIC_READER)
        assert str(registry.reading.resolve(named).identifier).startswith(f"{TODAY}/1")
        epochs = [one.reason for one in registry.records.list_epochs()]
    assert done.series == SERIES
    assert done.signer == keys.public.fingerprint
    assert epochs == ["created", "take-over"]


def test_what_was_closed_stays_closed(package: Path, successor: Path, keys: Keys) -> None:
    take_over(successor, package, key=keys.public)
    with Registry(successor) as registry:
        closed = Query(identifier=parse(f"{TODAY}/5"), reader=PUBLIC_READER)
        with pytest.raises(PerdureError, match=r"clos|read"):
            registry.reading.resolve(closed)
        opened = Query(identifier=parse(f"{TODAY}/1"), reader=PUBLIC_READER)
        assert registry.reading.resolve(opened).record is not None


def test_the_successor_goes_on_after_the_last_number(
    rich: Desk, package: Path, successor: Path, keys: Keys
) -> None:
    with pytest.raises(AnsweredElsewhere):
        rich.mint(text("late"))
    take_over(successor, package, key=keys.public)
    numbers = {key.rpartition("/")[2] for key, _ in list_lines(rich.registry)}
    with Registry(successor, clock=rich.clock) as registry:
        new = registry.door.execute_command(Mint(authority=SERIES, contents=(text("new"),)))
        assert parse(new.identifier).key.rpartition("/")[2] not in numbers
    with pytest.raises(AnsweredElsewhere):
        rich.mint(text("late"))


def test_validators_of_others_accept_a_package(package: Path) -> None:
    assert bagit.Bag(str(package)).validate()
    store = validator.StorageRoot(root=str(package / "data/objects"))
    assert store.validate(validate_objects=True, check_digests=True, log_errors=False)
    assert store.good_objects == store.num_objects > 5
    crate = json.loads((package / "data/ro-crate-metadata.json").read_text())
    named = {one["@id"]: one for one in crate["@graph"]}
    assert named["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    for part in named["./"]["hasPart"]:
        assert (package / "data" / part["@id"]).exists()


def test_a_hand_over_can_be_repeated(
    rich: Desk, keys: Keys, successor: Path, tmp_path: Path
) -> None:
    first = pack(rich, keys, tmp_path / "one")
    again = pack(rich, keys, tmp_path / "two")
    assert (first.statement, first.signature) == (again.statement, again.signature)
    with pytest.raises(PackageExists):
        pack(rich, keys, tmp_path / "two")
    done = take_over(successor, tmp_path / "one", key=keys.public, signer=keys.signer)
    with Registry(successor) as registry:
        head = registry.head()
    assert take_over(successor, tmp_path / "two", key=keys.public, signer=keys.signer) == done
    with Registry(successor) as registry:
        assert registry.head() == head


def test_a_withdrawal_after_the_statement_makes_a_new_one(
    rich: Desk, keys: Keys, tmp_path: Path
) -> None:
    first = pack(rich, keys, tmp_path / "one")
    rich.withdraw(f"{TODAY}/1")
    again = pack(rich, keys, tmp_path / "two")
    assert first.statement != again.statement
    assert again.documents < first.documents


def test_names_of_the_same_batch_after_the_delegation_are_refused(desk: Desk) -> None:
    """What comes after the act is refused, also if it was asked for at the same moment."""
    desk.mint(text("first"))
    act = Mint(
        authority=SERIES,
        contents=(make_assertion_content(write_delegation(make(effective="2026-11-21"))),),
        delegates=True,
    )
    mint = Mint(authority=SERIES, contents=(text("x"),))
    before, done, after = desk.registry.door.execute_commands([mint, act, mint])
    assert isinstance(before, Receipt)
    assert isinstance(done, Receipt)
    assert isinstance(after, AnsweredElsewhere)


def test_a_part_is_handed_over_and_the_rest_is_not(
    rich: Desk, keys: Keys, successor: Path, tmp_path: Path
) -> None:
    old = f"pdi://{SERIES}/1993/09/01/1"
    rich.registry.door.execute_command(Register(identifier=parse(old), contents=(text("old"),)))
    pack(rich, keys, tmp_path / "part", f"pdi://{SERIES}/1993/")
    done = take_over(successor, tmp_path / "part", key=keys.public)
    assert done.series == ""
    assert rich.mint(text("goes on")).revision == 1
    with Registry(successor) as registry:
        keys_here = {key for key, _ in list_lines(registry)}
        assert parse(old).key in keys_here
        assert parse(f"{TODAY}/1").key not in keys_here
        assert SERIES not in registry.settings.series
    text_of_package = (tmp_path / "part/data/changes.jsonl").read_text()
    assert "budget" not in text_of_package


@pytest.mark.parametrize("terms", [{"last_day": "2026-11-22"}, {"first_day": "2026-11-22"}])
def test_days_that_both_would_give_are_refused(desk: Desk, terms: dict[str, str]) -> None:
    with pytest.raises(DelegationMalformed, match="day"):
        hand_over(desk.registry, make(**terms))


def test_a_hand_over_is_final(rich: Desk, keys: Keys, tmp_path: Path) -> None:
    done = pack(rich, keys, tmp_path / "one")
    with pytest.raises(HandOverFinal):
        revoke_delegation(rich.registry, parse(done.delegation))


# Hostile packages
# ----------------


def test_a_package_for_others_is_refused(package: Path, tmp_path: Path, keys: Keys) -> None:
    initialise(tmp_path / "third", series=("third.us",))
    with pytest.raises(HandOverElsewhere):
        take_over(tmp_path / "third", package, key=keys.public)


def test_a_name_that_means_something_else_here_is_refused(
    package: Path, successor: Path, keys: Keys
) -> None:
    with Registry(successor) as registry:
        registry.door.execute_command(
            Register(identifier=parse(f"{TODAY}/1"), contents=(text("another"),))
        )
        head = registry.head()
    with pytest.raises(RecordContradicted):
        take_over(successor, package, key=keys.public)
    with Registry(successor) as registry:
        assert registry.head() == head


def seal(package: Path) -> None:
    """Make the manifests right again, as a forger would."""
    bagit.Bag(str(package)).save(manifests=True)


def change_changes(package: Path, old: str, new: str) -> None:
    path = package / "data/changes.jsonl"
    written = path.read_text()
    assert old in written
    path.write_text(written.replace(old, new))
    seal(package)


def forge_bytes(package: Path) -> None:
    path = next((package / "data/objects").rglob("content/text"))
    path.write_bytes(b"forged")
    seal(package)


def replace_signature(package: Path) -> None:
    path = package / "data/hand-over.signature"
    path.write_text(path.read_text().replace("signed: 2026", "signed: 2025"))
    seal(package)


def link(package: Path) -> None:
    path = package / "data/changes.jsonl"
    path.unlink()
    path.symlink_to("/etc/hostname")


def climb(package: Path) -> None:
    path = package / "manifest-sha512.txt"
    path.write_text(path.read_text() + f"{'0' * 128}  data/../../outside\n")


TAMPERED = {
    "a wrong digest": lambda root: (root / "data/act.jsonl").write_bytes(b"{}\n"),
    "a symbolic link": link,
    "a path outside": climb,
    "a missing file": lambda root: (root / "data/hand-over.jsonld").unlink(),
    "a file more": lambda root: (root / "data/more").write_bytes(b"x"),
    "a file beside": lambda root: (root / "fetch.txt").write_bytes(b"x"),
    "a fifo": lambda root: os.mkfifo(root / "data/pipe"),
    "a sparse bomb": lambda root: os.truncate(root / "data/changes.jsonl", 1 << 40),
    "a long tag file": lambda root: os.truncate(root / "bag-info.txt", 1 << 30),
    "no tag manifest": lambda root: (root / "tagmanifest-sha512.txt").unlink(),
    "another declaration": lambda root: (root / "bagit.txt").write_bytes(b"BagIt-Version: 2\n"),
    "forged bytes": forge_bytes,
    "a forged record": lambda root: change_changes(root, "a court said so", "nobody said so"),
    "a forged signature": replace_signature,
}


@pytest.mark.parametrize("case", TAMPERED)
def test_a_hostile_package_is_refused_whole(
    package: Path, successor: Path, keys: Keys, case: str
) -> None:
    with Registry(successor) as registry:
        head = registry.head()
    TAMPERED[case](package)
    with pytest.raises(PackageRefused):
        take_over(successor, package, key=keys.public)
    with Registry(successor) as registry:
        assert registry.head() == head
    assert not list((successor / "incoming").iterdir())


def test_another_key_or_none_is_refused(
    rich: Desk, package: Path, successor: Path, other_keys: Keys, tmp_path: Path
) -> None:
    with pytest.raises(PackageRefused, match="another key"):
        take_over(successor, package, key=other_keys.public)
    rich.withdraw(f"{TODAY}/2")
    hand_over(rich.registry, make(), place=tmp_path / "unsigned")
    with pytest.raises(HandOverUnsigned):
        take_over(successor, tmp_path / "unsigned", key=None)
    assert take_over(successor, tmp_path / "unsigned", key=None, may_be_unsigned=True).signer == ""


# Interrupted
# -----------


@pytest.mark.parametrize("stop", range(4))
def test_an_interrupted_take_over_goes_on(
    rich: Desk,
    package: Path,
    successor: Path,
    keys: Keys,
    stop: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It stops after the first, second … command, and is repeated."""
    monkeypatch.setattr("perdure.upkeep.succession.taking._MOST_REVISIONS", 8)
    with monkeypatch.context() as patched:
        executed: list[Adopt] = []

        def execute(self: object, command: Adopt) -> None:
            if len(executed) == stop:
                raise KeyboardInterrupt
            executed.append(command)
            self._registry.door.execute_command(command)  # type: ignore[attr-defined]

        patched.setattr("perdure.upkeep.succession.taking._Adoption._execute", execute)
        with pytest.raises(KeyboardInterrupt):
            take_over(successor, package, key=keys.public)
    take_over(successor, package, key=keys.public)
    with Registry(successor) as registry:
        assert list(list_lines(registry)) == list(list_lines(rich.registry))
        assert len(registry.records.list_epochs()) == 2


def test_both_sides_are_killed_and_go_on(tmp_path: Path, successor: Path, keys: Keys) -> None:
    """`kill -9` at any moment, of either side: nothing is lost, nothing is there twice."""
    root = tmp_path / "predecessor"
    initialise(root, series=(SERIES,))
    with Registry(root) as registry:
        many = [Mint(authority=SERIES, contents=(text(f"n {n}"),)) for n in range(1500)]
        registry.door.execute_commands(many)
    place = tmp_path / "package"
    command = ["hand-over", "-C", str(root), ALL, "--to", BASE, "--key", str(keys.path)]
    assert run_killed([*command, "-o", str(place)]) == 0
    public = str(keys.path.with_suffix(".pub"))
    taking = ["take-over", "-C", str(successor), str(place), "--from-key", public]
    assert run_killed(taking) == 0
    with Registry(root) as one, Registry(successor) as other:
        lines = list(list_lines(one))
        assert list(list_lines(other))[: len(lines)] == lines
        assert one.delegations.find_minting(SERIES) is not None
        assert other.delegations.find_minting(SERIES) is None


def run_killed(arguments: list[str]) -> int:
    """Run a command, and kill it ever later until it ends by itself."""
    command = [sys.executable, "-m", "perdure.cli", *arguments]
    for pause in (0.3, 0.6, 0.8, 1.0, 1.2, 1.5):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
