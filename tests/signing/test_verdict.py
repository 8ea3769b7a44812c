"""The verdict on a signature, for every way in which one does not count."""

from __future__ import annotations

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.signing.conftest import make_statement

from perdure.errors.signing import SignatureMalformed, StatementMalformed
from perdure.ids import parse
from perdure.model.changes import ChangeMark
from perdure.signing.allowed import AllowedSigner, AllowedSigners
from perdure.signing.document import (
    SignedStatement,
    is_signed_statement,
    join_signature,
    parse_signed_statement,
)
from perdure.signing.minisign import MinisignSigner
from perdure.signing.ssh import SshSigner
from perdure.signing.verdict import (
    AgeEvidence,
    SignatureVerdict,
    SignedContent,
    Trust,
    TrustVersion,
    judge_signature,
)

SIGNER = SshSigner(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
STATEMENT = make_statement(SIGNER.key.fingerprint)  # signed 2026-11-23T22:30:00Z
SIGNED = join_signature(STATEMENT, SIGNER.sign_text(STATEMENT.text))
CONTENT = SignedContent(
    identifier=STATEMENT.identifier,
    sha512=STATEMENT.sha512,
    length=STATEMENT.length,
    media_types=("text/html", "text/plain"),
)
LINE = AllowedSigner(principals=("ann@a.example",), key=SIGNER.key)
NOW = AgeEvidence(now="2026-12-24T00:00:00Z")


def trust(*versions: tuple[AllowedSigner, ...]) -> Trust:
    """Versions of a list, committed on the first days of 2027 by the changes 1.100, 1.200, …"""
    return Trust(
        tuple(
            TrustVersion(
                signers=AllowedSigners(lines),
                committed=ChangeMark(1, at * 100),
                at=f"2027-01-{at:02}T00:00:00Z",
            )
            for at, lines in enumerate(versions, 1)
        )
    )


TRUST = trust((LINE,))


def judge(
    signed: SignedStatement = SIGNED,
    content: SignedContent | None = CONTENT,
    trusted: Trust = TRUST,
    evidence: AgeEvidence = NOW,
) -> SignatureVerdict:
    judgement = judge_signature(signed, content, trusted, evidence)
    assert bool(judgement.reason) == (judgement.verdict is not SignatureVerdict.VALID)
    return judgement.verdict


def test_a_signature_of_a_trusted_key_is_valid() -> None:
    assert judge() is SignatureVerdict.VALID
    judgement = judge_signature(SIGNED, CONTENT, trust((LINE,)), NOW)
    assert judgement.principals == ("ann@a.example",)


@pytest.mark.parametrize(
    "name",
    [
        "pdi://oma.eop.gov.us/1994/03/21/2.text.1",
        "pdi://oma.eop.gov.us/1994/03/21/1.text.2",
        "pdi://oma.eop.gov.us/1994/03/21/1.html.1",
        "pdi://oma.eop.gov.us/1994/03/21/1.text.1#char=0,3",
    ],
)
def test_a_statement_about_another_name_was_moved(name: str) -> None:
    """ "[...] that cannot be moved to another name, part or use" """
    there = msgspec.structs.replace(CONTENT, identifier=parse(name))
    assert judge(content=there) is SignatureVerdict.MOVED
    moved = msgspec.structs.replace(STATEMENT, identifier=parse(name))
    forged = msgspec.structs.replace(SIGNED, statement=moved)
    assert judge(forged, content=there) is SignatureVerdict.WRONG


@pytest.mark.parametrize(
    "changes",
    [
        {"reading": "rgb8 1x1"},
        {"sha512": "f" * 128},
        {"length": 4},
        {"media_types": ("text/html",)},
    ],
)
def test_other_bytes_were_altered(changes: dict[str, object]) -> None:
    assert judge(content=msgspec.structs.replace(CONTENT, **changes)) is SignatureVerdict.ALTERED


def test_bytes_that_are_not_here_cannot_be_compared() -> None:
    assert judge(content=None) is SignatureVerdict.UNVERIFIABLE
    assert judge(content=None, trusted=trust(())) is SignatureVerdict.UNKNOWN_KEY


def test_a_signature_by_another_key_than_stated_is_wrong() -> None:
    other = SshSigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    signed = join_signature(STATEMENT, other.sign_text(STATEMENT.text))
    lines = (LINE, msgspec.structs.replace(LINE, key=other.key))
    assert judge(signed, trusted=trust(lines)) is SignatureVerdict.WRONG


def test_a_statement_without_its_signature_is_refused() -> None:
    """ "wrong, expired, revoked keys, moved and stripped statements: each a clear error" """
    with pytest.raises(SignatureMalformed):
        parse_signed_statement(STATEMENT.text)
    with pytest.raises(SignatureMalformed):
        parse_signed_statement(STATEMENT.text + b"\nsigned by me\n")
    with pytest.raises(SignatureMalformed):
        parse_signed_statement(str(SIGNED).encode() + b" " * 300_000)
    with pytest.raises(StatementMalformed):
        parse_signed_statement(str(SIGNED).encode().replace(b"role: witness\n", b""))
    with pytest.raises(StatementMalformed):
        parse_signed_statement(SIGNED.signature.encode())
    two = msgspec.structs.replace(SIGNED, signature=SIGNED.signature * 2)
    assert judge(two) is SignatureVerdict.WRONG


def test_a_signed_statement_is_a_text() -> None:
    data = str(SIGNED).encode()
    assert is_signed_statement(data)
    assert parse_signed_statement(data) == SIGNED


def test_minisign_needs_a_key_in_the_list() -> None:
    signer = MinisignSigner(b"12345678", bytes(32))
    statement = make_statement(signer.key.fingerprint)
    signed = join_signature(statement, signer.sign_statement(statement))
    assert judge(signed) is SignatureVerdict.UNKNOWN_KEY
    line = msgspec.structs.replace(LINE, key=signer.key)
    assert judge(signed, trusted=trust((LINE, line))) is SignatureVerdict.VALID
    assert judge(signed, trusted=trust((line,), (LINE,))) is SignatureVerdict.REVOKED


def test_a_key_that_was_never_listed_is_unknown() -> None:
    assert judge(trusted=Trust()) is SignatureVerdict.UNKNOWN_KEY
    assert judge(trusted=trust((), ())) is SignatureVerdict.UNKNOWN_KEY


def test_a_key_signs_only_in_its_time() -> None:
    late = msgspec.structs.replace(LINE, valid_after="2026-11-23T22:30:01Z")
    assert judge(trusted=trust((late,))) is SignatureVerdict.EARLY
    stated_too_late = msgspec.structs.replace(LINE, valid_before="2026-11-23T22:30:00Z")
    assert judge(trusted=trust((stated_too_late,))) is SignatureVerdict.EXPIRED
    assert judge(trusted=trust((late, LINE))) is SignatureVerdict.VALID  # one line is enough


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        ({}, SignatureVerdict.EXPIRED),
        (
            {"recorded": ChangeMark(1, 5), "recorded_at": "2026-12-02T00:00:00Z"},
            SignatureVerdict.EXPIRED,
        ),
        (
            {"recorded": ChangeMark(1, 5), "recorded_at": "2026-11-24T00:00:00Z"},
            SignatureVerdict.VALID,
        ),
        ({"stamped": "2026-11-24T00:00:00Z"}, SignatureVerdict.VALID),
        ({"stamped": "2026-12-01T00:00:00Z"}, SignatureVerdict.EXPIRED),
    ],
)
def test_the_date_of_the_signer_proves_nothing_after_the_end_of_a_key(
    evidence: dict[str, object], verdict: SignatureVerdict
) -> None:
    line = msgspec.structs.replace(LINE, valid_before="2026-12-01T00:00:00Z")
    known = msgspec.structs.replace(NOW, **evidence)
    assert judge(trusted=trust((line,)), evidence=known) is verdict
    earlier = msgspec.structs.replace(known, now="2026-11-30T00:00:00Z")
    assert judge(trusted=trust((line,)), evidence=earlier) is SignatureVerdict.VALID


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        ({}, SignatureVerdict.REVOKED),
        (
            {"recorded": ChangeMark(1, 199), "recorded_at": "2027-01-01T12:00:00Z"},
            SignatureVerdict.VALID,
        ),
        # numbers decide, not clocks
        (
            {"recorded": ChangeMark(1, 199), "recorded_at": "2027-02-01T00:00:00Z"},
            SignatureVerdict.VALID,
        ),
        (
            {"recorded": ChangeMark(1, 201), "recorded_at": "2026-11-24T00:00:00Z"},
            SignatureVerdict.REVOKED,
        ),
        (
            {"recorded": ChangeMark(2, 1), "recorded_at": "2026-11-24T00:00:00Z"},
            SignatureVerdict.REVOKED,
        ),
        ({"stamped": "2027-01-01T23:59:59Z"}, SignatureVerdict.VALID),
        ({"stamped": "2027-01-02T00:00:00Z"}, SignatureVerdict.REVOKED),
    ],
)
def test_a_revoked_key_counts_only_for_what_is_proved_to_be_older(
    evidence: dict[str, object], verdict: SignatureVerdict
) -> None:
    """ "signed before it was revoked counts only by a change's number or an RFC 3161 token, not by
    the signer's own date" """
    known = msgspec.structs.replace(NOW, now="2027-06-01T00:00:00Z", **evidence)
    assert judge(trusted=trust((LINE,), ()), evidence=known) is verdict
    judgement = judge_signature(SIGNED, CONTENT, trust((LINE,), ()), known)
    assert bool(judgement.proof) == (verdict is SignatureVerdict.VALID)


def test_a_key_that_was_listed_again_is_trusted() -> None:
    assert judge(trusted=trust((LINE,), (), (LINE,))) is SignatureVerdict.VALID
