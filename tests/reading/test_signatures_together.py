"""Signatures that are judged together have the verdicts that each has alone."""

from __future__ import annotations

import hashlib
import os

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.conftest import SERIES, TODAY, Desk, text

from perdure.errors import Corrupt
from perdure.ids import parse
from perdure.ids.name_set import make_set
from perdure.model.commands import Restrict
from perdure.model.queries import PUBLIC_READER, Reader
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import LOCAL
from perdure.reading import signatures as module
from perdure.reading.signatures import HeldSignature
from perdure.signing.document import join_signature
from perdure.signing.ssh import SshSigner
from perdure.signing.statement import Statement

ANN, BOB, EVE = (
    SshSigner(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)) for number in (1, 2, 3)
)
BOTH, ONLY_BOB = f"ann {ANN.key.line}\nbob {BOB.key.line}\n", f"bob {BOB.key.line}\n"
Verdicts = list[tuple[str, str, str]]


def sign(name: str, content: str, signer: SshSigner = ANN) -> str:
    """A signed statement that a document has some text."""
    data = content.encode()
    statement = Statement(
        identifier=parse(name),
        sha512=hashlib.sha512(data).hexdigest(),
        length=len(data),
        media_type="text/plain",
        signer=signer.key.fingerprint,
        signed="2026-11-21T12:00:00Z",
    )
    return str(join_signature(statement, signer.sign_statement(statement)))


def attach(desk: Desk, signed: str, *, to: str) -> str:
    """Store a signed statement as a document, unlike `attach_signature` without judging it."""
    return desk.mint(text(signed), targets=(parse(to),)).identifier


@pytest.fixture
def listed(desk: Desk) -> str:
    """The list of allowed signers, with the keys of Ann and Bob."""
    name = desk.mint(text(BOTH)).identifier.removesuffix(".text.1")
    desk.reopen(allowed_signers=f"{SERIES}={name}")
    return name


def judge(desk: Desk, reader: Reader = PUBLIC_READER) -> list[Verdicts]:
    """The verdicts on all signatures, on those of a set, and on those of each name."""
    signatures = desk.registry.signatures
    names = [f"{TODAY}/{number}" for number in range(1, 200)]
    each = [one for name in names for one in signatures.list_signatures(parse(name), reader)]
    of_set = list(signatures.walk_set(make_set(parse(f"{TODAY}/")), reader))
    return [list(map(show, found)) for found in (signatures.walk_all(reader), of_set, each)]


def show(held: HeldSignature) -> tuple[str, str, str]:
    return str(held.signed.statement.identifier), str(held.judgement.verdict), held.judgement.proof


def judge_alone(desk: Desk, monkeypatch: pytest.MonkeyPatch, reader: Reader) -> list[Verdicts]:
    with monkeypatch.context() as patch:
        for name in ("_PAGE", "_NAMES_TOGETHER", "_FEW_TOGETHER", "_MOST_TOGETHER"):
            patch.setattr(module, name, 1)
        return judge(desk, reader)


def test_verdicts_together_are_those_of_each_alone(
    desk: Desk, listed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "signed before it was revoked counts only by a change's number"

    In one batch: keys before and after they were revoked, one that is unknown, documents that were
    changed, withdrawn or closed, a signature that is younger than its name.
    """
    names = [desk.mint(text(f"letter {number}")).identifier for number in range(8)]
    old = desk.mint(text("anything")).identifier
    for number in (0, 1, 2, 3):
        attach(desk, sign(names[number], f"letter {number}"), to=names[number])
    attach(desk, sign(names[4], "letter 4", EVE), to=names[4])
    attach(desk, sign(names[5], "another letter", BOB), to=names[5])
    expected = dict.fromkeys(names[:4], ("valid", ""))
    expected |= {names[4]: ("unknown-key", ""), names[5]: ("altered", "")}
    assert judge(desk) == 3 * [[(name, *expected[name]) for name in names[:6]]]

    desk.clock.advance(seconds=1)
    desk.commit(listed, text(ONLY_BOB))
    attach(desk, sign(names[6], "letter 6"), to=names[6])
    desk.commit(old.removesuffix(".text.1"), text(sign(names[7], "letter 7")))
    attach(desk, sign(names[7], "letter 7", BOB), to=names[7])
    desk.withdraw(names[1])
    rule = ReadingRule(about=names[2], access=Access.CLOSED)
    desk.registry.door.execute_command(Restrict(rule=rule))

    changes = {one.first: one for one in desk.registry.changes() if one.act == "mint"}
    revoked = desk.registry.records.find_change(parse(listed).key, 2)
    signatures = [parse(f"{TODAY}/{number}").key for number in range(11, 15)]
    proofs = [
        f"change {changes[key].mark}, before change {revoked and revoked.mark}"
        for key in signatures
    ]
    verdicts = {name: ("valid", proof) for name, proof in zip(names, proofs, strict=False)}
    verdicts |= {names[1]: ("unverifiable", proofs[1]), names[4]: ("unknown-key", "")}
    verdicts |= {names[5]: ("altered", ""), names[6]: ("revoked", "")}
    for reader in (PUBLIC_READER, Reader(name=LOCAL)):
        shown = [
            (name, *verdicts[name])
            for name in names[:7]
            if reader.name == LOCAL or name != names[2]
        ]
        together = judge(desk, reader)
        by_name = [*shown, (names[7], "revoked", ""), (names[7], "valid", "")]
        assert together[1:] == [by_name, by_name]
        assert sorted(together[0]) == sorted(by_name)
        assert judge_alone(desk, monkeypatch, reader) == together


def test_a_key_that_is_revoked_meanwhile_counts_no_more(desk: Desk, listed: str) -> None:
    """Nothing that was read before says that a key counts."""
    name = desk.mint(text("letter")).identifier
    attach(desk, sign(name, "letter", BOB), to=name)
    assert judge(desk) == 3 * [[(name, "valid", "")]]
    desk.commit(listed, text("# nobody\n"))
    attach(desk, sign(name, "letter"), to=name)
    verdicts = [[(verdict, bool(proof)) for _, verdict, proof in one] for one in judge(desk)]
    assert verdicts == 3 * [[("valid", True), ("revoked", False)]]
    desk.withdraw(f"{listed}.text.1")  # the only version with these keys
    assert judge(desk) == 3 * [2 * [(name, "unknown-key", "")]]


@pytest.mark.parametrize("walk", ["all", "key"])
def test_signatures_before_a_damaged_one_are_told(desk: Desk, listed: str, walk: str) -> None:
    name = desk.mint(text("letter")).identifier
    kept = [attach(desk, sign(name, "letter", signer), to=name) for signer in (ANN, BOB, EVE)]
    held = desk.record(kept[1].removesuffix(".text.1")).versions[0].representations[0]
    (path,) = desk.root.glob(f"segments/*{held.segment}*")
    os.truncate(path, path.read_bytes().index(sign(name, "letter", BOB).encode()))
    signatures = desk.registry.signatures
    found = signatures.walk_all() if walk == "all" else signatures.walk_signatures(parse(name))
    assert str(next(found).identifier) == kept[0]
    with pytest.raises(Corrupt):
        next(found)
