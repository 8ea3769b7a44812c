"""The verdict on a signature: whether it counts, and if not, why. Pure.

How it works: three questions are asked in this order, and the first "no" is the verdict.

1. Did the key that the statement names sign it (`verify_signed_statement`)?
2. Is the statement about this name and these bytes (`moved`, `altered`)?
3. Was the key trusted when it signed (`unknown-key`, `not-yet-valid`, `expired`, `revoked`)?

The time according to the signer proves nothing, since a stolen key can state any time. So a
signature counts before the end of its key (`valid-before`, or the version of the list that no
longer has the key) only if something else proves that it existed then: the number of the change
that recorded it, or a time stamp. A key with a future end needs no such proof now.

What must stay true: a signature by a key that was removed from the list counts only if it was
recorded by an earlier change than the removal, or stamped before it. The order of two changes is
that of their numbers, never that of clocks.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import msgspec

from perdure.errors import InvalidRequest
from perdure.errors.root import count_things
from perdure.errors.signing import KeyUnknown, SignatureForOtherUse
from perdure.ids import Identifier
from perdure.model.changes import ChangeMark
from perdure.signing.allowed import AllowedSigner, AllowedSigners
from perdure.signing.document import SignedStatement, verify_signed_statement
from perdure.signing.keys import PublicKey
from perdure.signing.statement import BYTES, Statement


class SignatureVerdict(enum.StrEnum):
    """The answer to whether a signature counts, or why it does not."""

    VALID = "valid"
    WRONG = "wrong"
    """The key did not sign the statement, or the signature cannot be read."""
    OTHER_USE = "other-use"
    """The key signed something, but not a statement of perdure."""
    MOVED = "moved"
    """The statement is about another name, version, format or part."""
    ALTERED = "altered"
    """The statement is about other bytes, or states another type of them."""
    UNVERIFIABLE = "unverifiable"
    """The bytes that the statement is about are not available here."""
    UNKNOWN_KEY = "unknown-key"
    EARLY = "not-yet-valid"
    """The signer states a time before the key may sign."""
    EXPIRED = "expired"
    REVOKED = "revoked"


class SignatureJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict with its reason."""

    verdict: SignatureVerdict
    reason: str = ""
    """Empty if the signature is valid."""
    principals: tuple[str, ...] = ()
    """The names that the list of allowed signers gives the key."""
    proof: str = ""
    """The proof that it is older than the end of its key, if that counted."""


class SignedContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content that a statement must be about."""

    identifier: Identifier
    sha512: str
    length: int
    reading: str = BYTES
    media_types: tuple[str, ...]
    """Its media types: the present one, and those before corrections."""


class AgeEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The proofs of the age of a signature, apart from what the signer states."""

    now: str
    """The time of the verdict, when the signature exists."""
    recorded: ChangeMark | None = None
    """The change that recorded it."""
    recorded_at: str = ""
    stamped: str = ""
    """The time of a time stamp of it that was verified."""

    @property
    def latest(self) -> str:
        """The earliest time at which it is proved to have existed."""
        return min(one for one in (self.now, self.recorded_at, self.stamped) if one)


class TrustVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a list of allowed signers."""

    signers: AllowedSigners
    committed: ChangeMark | None = None
    """The change that committed it."""
    at: str = ""


class Trust(msgspec.Struct, frozen=True):
    """A list of allowed signers in all its versions, the oldest first."""

    versions: tuple[TrustVersion, ...] = ()

    def find_key(self, fingerprint: str) -> PublicKey | None:
        """Return the key with this fingerprint, if a version of the list has it."""
        found = (one.signers.find_key(fingerprint) for one in reversed(self.versions))
        return next((key for key in found if key is not None), None)


def judge_signature(
    signed: SignedStatement, content: SignedContent | None, trust: Trust, evidence: AgeEvidence
) -> SignatureJudgement:
    """Return the verdict on a signature of a content. Never raises an error about the signature.

    Without a content the bytes are not available, and a signature that is right otherwise is
    `unverifiable`. Raises MissingLibrary if signatures cannot be verified on this installation.
    """
    try:
        key = verify_signed_statement(signed, trust.find_key)
    except KeyUnknown as error:
        return SignatureJudgement(verdict=SignatureVerdict.UNKNOWN_KEY, reason=error.reason)
    except SignatureForOtherUse as error:
        return SignatureJudgement(verdict=SignatureVerdict.OTHER_USE, reason=error.reason)
    except InvalidRequest as error:
        return SignatureJudgement(verdict=SignatureVerdict.WRONG, reason=error.reason)
    fault = compare_content(signed.statement, content) if content is not None else None
    if fault is not None:
        return fault
    judgement = judge_signer(key, signed.statement.signed, trust, evidence)
    if content is None and judgement.verdict is SignatureVerdict.VALID:
        reason = "the bytes that it is about are not available here"
        return msgspec.structs.replace(
            judgement, verdict=SignatureVerdict.UNVERIFIABLE, reason=reason
        )
    return judgement


def compare_content(statement: Statement, content: SignedContent) -> SignatureJudgement | None:
    """Return the reason why a statement is not about a content, or None."""
    if str(statement.identifier) != str(content.identifier):
        reason = f"it is about {statement.identifier}"
        return SignatureJudgement(verdict=SignatureVerdict.MOVED, reason=reason)
    if statement.reading != content.reading:
        reason = f"it is about the reading {statement.reading}, not {content.reading}"
        return SignatureJudgement(verdict=SignatureVerdict.ALTERED, reason=reason)
    if statement.length != content.length:
        reason = f"it is about {count_things(statement.length, 'byte')}, not {content.length}"
        return SignatureJudgement(verdict=SignatureVerdict.ALTERED, reason=reason)
    if statement.sha512 != content.sha512:
        return SignatureJudgement(
            verdict=SignatureVerdict.ALTERED, reason="it is about bytes with another digest"
        )
    if statement.media_type not in content.media_types:
        reason = f"it is about {statement.media_type}, not {content.media_types[0]}"
        return SignatureJudgement(verdict=SignatureVerdict.ALTERED, reason=reason)
    return None


def judge_signer(
    key: PublicKey, signed: str, trust: Trust, evidence: AgeEvidence
) -> SignatureJudgement:
    """Return the verdict on the key of a signature. `signed`: the time according to the signer."""
    listed = [bool(one.signers.find_signers(key.fingerprint)) for one in trust.versions]
    if not any(listed):
        reason = f"no list of allowed signers has the key {key.fingerprint}"
        return SignatureJudgement(verdict=SignatureVerdict.UNKNOWN_KEY, reason=reason)
    last = max(at for at, has_key in enumerate(listed) if has_key)
    lines = trust.versions[last].signers.find_signers(key.fingerprint)
    found = [_judge_line(line, signed, evidence) for line in lines]
    judgement = next((one for one in found if one.verdict is SignatureVerdict.VALID), found[0])
    if judgement.verdict is not SignatureVerdict.VALID or last == len(listed) - 1:
        return judgement
    removal = trust.versions[last + 1]
    proof = _prove_before(removal, evidence)
    if not proof:
        reason = (
            f"the key was removed from the list of allowed signers at {removal.at}, and nothing"
        )
        reason += " but the signer's own date says that the signature is older"
        return msgspec.structs.replace(judgement, verdict=SignatureVerdict.REVOKED, reason=reason)
    return msgspec.structs.replace(judgement, proof=proof)


def _judge_line(line: AllowedSigner, signed: str, evidence: AgeEvidence) -> SignatureJudgement:
    principals, before = line.principals, line.valid_before
    if signed < line.valid_after:
        reason = f"it states the time {signed}, and its key may sign from {line.valid_after} on"
        return SignatureJudgement(
            verdict=SignatureVerdict.EARLY, reason=reason, principals=principals
        )
    if before and signed >= before:
        reason = f"it states the time {signed}, and its key could sign only before {before}"
        return SignatureJudgement(
            verdict=SignatureVerdict.EXPIRED, reason=reason, principals=principals
        )
    if before and evidence.latest >= before:
        reason = f"its key could sign only before {before}, and nothing but the signer's own date"
        reason += " says that the signature is older"
        return SignatureJudgement(
            verdict=SignatureVerdict.EXPIRED, reason=reason, principals=principals
        )
    proof = _describe_proof(evidence) if before and evidence.now >= before else ""
    return SignatureJudgement(verdict=SignatureVerdict.VALID, principals=principals, proof=proof)


def _prove_before(removal: TrustVersion, evidence: AgeEvidence) -> str:
    """Return the proof that a signature is older than a version of the list, or an empty text."""
    if evidence.stamped and removal.at and evidence.stamped < removal.at:
        return f"a time stamp of {evidence.stamped}"
    if None not in (evidence.recorded, removal.committed):
        marks: Sequence[ChangeMark] = [
            one for one in (evidence.recorded, removal.committed) if one is not None
        ]
        if marks[0] < marks[1]:
            return f"change {evidence.recorded}, before change {removal.committed}"
    return ""


def _describe_proof(evidence: AgeEvidence) -> str:
    if evidence.stamped and evidence.stamped == evidence.latest:
        return f"a time stamp of {evidence.stamped}"
    return f"change {evidence.recorded} of {evidence.recorded_at}"
