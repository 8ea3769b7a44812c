"""Signatures judged, against the bare verification of the same signatures by the library.

How it works: a signed statement is read from its bytes, verified, compared with the content, and
its key looked up in a list of allowed signers. The other side verifies the same Ed25519 signatures
of the same messages, which are ready in memory: no judge can be faster.

In a registry, as for `verify --signatures` and `?signatures`, each check also reads the signature,
the record of the signed document, the change that recorded it and the list of allowed signers. It
has as many documents as signatures; 5,000 checks a second are wanted. What counts is the time of
the processor.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.measure import Ratio, compare, show
from perdure.ids import Identifier, parse
from perdure.ids.name_set import make_set
from perdure.model.commands import Mint, Receipt
from perdure.reading.signatures import HeldSignature
from perdure.registry import Registry, initialise
from perdure.signing.allowed import AllowedSigner, AllowedSigners
from perdure.signing.document import join_signature, parse_signed_statement
from perdure.signing.ssh import SshSigner
from perdure.signing.statement import Statement
from perdure.signing.verdict import (
    AgeEvidence,
    SignatureVerdict,
    SignedContent,
    Trust,
    TrustVersion,
    judge_signature,
)
from perdure.storage.spool import make_content

_COUNT = 1000
_SIGNED = "2026-11-23T22:30:00Z"
_TARGET = 0.6
_SERIES = "oma.eop.gov.us"
_KEPT, _BATCH = 2000, 500
_WANTED = 5000  # checks a second
_ROUNDS = 5


def run() -> list[Ratio]:
    return [*_measure_judge(), *_measure_registry()]


def _measure_judge() -> list[Ratio]:
    private = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    signer = SshSigner(private)
    documents: list[tuple[bytes, SignedContent]] = []
    for number in range(1, _COUNT + 1):
        statement = Statement(
            identifier=parse(f"pdi://{_SERIES}/1994/03/21/{number}.text.1"),
            sha512=hashlib.sha512(b"%d" % number).hexdigest(),
            length=number,
            media_type="text/plain",
            signer=signer.key.fingerprint,
            signed=_SIGNED,
        )
        content = SignedContent(
            identifier=statement.identifier,
            sha512=statement.sha512,
            length=number,
            media_types=("text/plain",),
        )
        signed = join_signature(statement, signer.sign_statement(statement))
        documents.append((str(signed).encode(), content))
    line = AllowedSigner(principals=("ann@a.example",), key=signer.key)
    trust = Trust((TrustVersion(signers=AllowedSigners((line,))),))
    evidence = AgeEvidence(now=_SIGNED)
    public, messages = private.public_key(), [data[:200] for data, _ in documents]
    bare = [(private.sign(message), message) for message in messages]

    def judge_all() -> None:
        for data, content in documents:
            found = judge_signature(parse_signed_statement(data), content, trust, evidence)
            assert found.verdict is SignatureVerdict.VALID

    def verify_all() -> None:
        for signature, message in bare:
            public.verify(signature, message)

    return [
        compare(
            "signatures judged, against bare verification",
            judge_all,
            verify_all,
            work=_COUNT,
            unit="signatures/s",
            target=_TARGET,
            rounds=5,
        )
    ]


# in a registry
# -------------


def _measure_registry() -> list[Ratio]:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "registry"
        initialise(root, series=(_SERIES,))
        signer = SshSigner(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
        with Registry(root) as registry:
            listed, names = _fill_registry(registry, signer)
        listed = listed.removesuffix(".text.1")
        with Registry(
            root, environment={"PERDURE_ALLOWED_SIGNERS": f"{_SERIES}={listed}"}
        ) as found:
            signatures = found.signatures
            whole = make_set(parse(f"pdi://{_SERIES}/"))
            return [
                _measure_checks("all signatures of a registry", signatures.walk_all),
                _measure_checks("signatures of a set", lambda: signatures.walk_set(whole)),
                _measure_checks(
                    "signatures of one name after the other",
                    lambda: (held for name in names for held in signatures.list_signatures(name)),
                ),
            ]


def _fill_registry(registry: Registry, signer: SshSigner) -> tuple[str, list[Identifier]]:
    """Store documents with a signature each. Return the list of allowed signers and their names."""

    def mint_all(texts: Sequence[tuple[bytes, tuple[Identifier, ...]]]) -> list[str]:
        commands = [
            Mint(
                authority=_SERIES,
                contents=(
                    make_content(data, format="text", media_type="text/plain", charset="utf-8"),
                ),
                targets=targets,
            )
            for data, targets in texts
        ]
        return [
            receipt.identifier
            for at in range(0, len(commands), _BATCH)
            for receipt in registry.door.execute_commands(commands[at : at + _BATCH])
            if isinstance(receipt, Receipt)
        ]

    (listed,) = mint_all([(f"ann {signer.key.line}\n".encode(), ())])
    documents = [b"document %d" % number for number in range(_KEPT)]
    names = [parse(one) for one in mint_all([(data, ()) for data in documents])]
    signed = []
    for name, data in zip(names, documents, strict=True):
        statement = Statement(
            identifier=name,
            sha512=hashlib.sha512(data).hexdigest(),
            length=len(data),
            media_type="text/plain",
            signer=signer.key.fingerprint,
            signed=_SIGNED,
        )
        text = str(join_signature(statement, signer.sign_statement(statement)))
        signed.append((text.encode(), (name,)))
    mint_all(signed)
    return listed, names


def _measure_checks(name: str, walk: Callable[[], Iterable[HeldSignature]]) -> Ratio:
    costs = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        verdicts = [held.judgement.verdict for held in walk()]
        costs.append(time.process_time() - start)
        assert verdicts == _KEPT * [SignatureVerdict.VALID]
    speed = _KEPT / min(costs)
    return Ratio(name, speed, _WANTED, "checks/s", speed / _WANTED, 1)


if __name__ == "__main__":
    sys.exit(0 if show(run()) else 1)
