"""Signatures judged, against the bare verification of the same signatures by the library.

How it works: a signed statement is read from its bytes, verified, compared with the content, and
its key looked up in a list of allowed signers. The other side verifies the same Ed25519 signatures
of the same messages, which are ready in memory: no judge can be faster. The issue asks for 5,000
checks a second.
"""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.measure import Ratio, compare
from perdure.ids import parse
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

_COUNT = 1000
_SIGNED = "2026-11-23T22:30:00Z"
_TARGET = 0.6


def run() -> list[Ratio]:
    private = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    signer = SshSigner(private)
    documents: list[tuple[bytes, SignedContent]] = []
    for number in range(1, _COUNT + 1):
        statement = Statement(
            identifier=parse(f"pdi://oma.eop.gov.us/1994/03/21/{number}.text.1"),
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
