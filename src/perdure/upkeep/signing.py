"""Signatures are made, attached and checked: what the commands do.

How it works: `make_statement` states the content that a name names now. A signature of it becomes a
document of its own in a series of this registry, whose record has the signed name as its target.
`attach_signature` judges it first, as readers will.

What must stay true: a signature that does not count is refused, and nothing of it is kept. The
signed record does not change, and neither does its identity.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.errors import UnknownAuthority
from perdure.errors.signing import SignatureMoved, SignatureNotAccepted
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet
from perdure.ids.named_parts import Name
from perdure.model.commands import Mint, Outcome, Receipt
from perdure.model.queries import Reader
from perdure.model.records import LOCAL
from perdure.model.timestamps import format_timestamp
from perdure.reading.signatures import HeldSignature
from perdure.registry import Registry
from perdure.signing.document import (
    CHARSET,
    MEDIA_TYPE,
    SignedStatement,
    parse_signed_statement,
    verify_signed_statement,
)
from perdure.signing.form import find_no_key
from perdure.signing.statement import Statement
from perdure.signing.verdict import SignatureVerdict
from perdure.storage.spool import make_content

_READER = Reader(name=LOCAL)
FORMAT = "text"


def make_statement(registry: Registry, named: Name, signer: str, role: str) -> Statement:
    """State the content that a name names now, signed now by the key with this fingerprint.

    Raises the errors of reading the name, NothingToSign, PartNotSignable or StatementMalformed.
    """
    content = registry.signed_contents.measure_content(named.identifier, named.part, _READER)
    return Statement(
        identifier=content.identifier,
        sha512=content.sha512,
        length=content.length,
        media_type=content.media_types[0],
        reading=content.reading,
        role=role,
        signer=signer,
        signed=format_timestamp(registry.clock()),
    )


def attach_signature(
    registry: Registry, named: Identifier, data: bytes, *, series: str = "", by: str = LOCAL
) -> Receipt:
    """Store a signed statement about a name, or about a version, format or part of it.

    `series` is that of the signature; if it is empty, that of the name or else the first one. If
    the registry has this signature already, nothing is written. Raises as `plan_attachment`.
    """
    planned = plan_attachment(registry, named, data, series=series, by=by)
    return planned if isinstance(planned, Receipt) else registry.door.execute_command(planned)


def plan_attachment(
    registry: Registry,
    named: Identifier,
    data: bytes,
    *,
    series: str = "",
    by: str = LOCAL,
    reader: Reader = _READER,
) -> Mint | Receipt:
    """Return the command that stores a signed statement, or the receipt of the one that is stored.

    Raises the errors of reading what the statement is about, StatementMalformed, SignatureMalformed
    or, if the signature does not count, a subclass of SignatureRejected.
    """
    signed = parse_signed_statement(data)
    target = signed.statement.identifier
    if str(named) != str(target) and not named.matches(target):
        raise SignatureMoved(about=str(target), named=str(named))
    guard = registry.reading.find_guard(target, reader)
    if guard is not None:
        guard.check_name()  # else the verdict would tell whether bytes have a digest
    _check_counts(registry, signed, reader)
    attached = registry.signatures.find_attached(signed, reader)
    if attached is not None:
        return Receipt(outcome=Outcome.UNCHANGED, identifier=str(attached), revision=1)
    content = make_content(data, format=FORMAT, media_type=MEDIA_TYPE, charset=CHARSET)
    return Mint(
        authority=series or choose_series(registry, target),
        contents=(content,),
        targets=(target,),
        metadata={"title": f"Signature of {target}"},
        by=by,
    )


def _check_counts(registry: Registry, signed: SignedStatement, reader: Reader) -> None:
    """Raise an error if a signature does not count.

    Without a list of allowed signers it is enough that the signature is right. All of its time
    stamps must count.
    """
    registry.trusted_signers.check_stamps(signed)
    judgement = registry.signatures.judge_signature(signed, reader)
    if judgement.verdict is SignatureVerdict.VALID:
        return
    if judgement.verdict is SignatureVerdict.UNKNOWN_KEY:
        verify_signed_statement(signed, find_no_key)
        if not registry.trusted_signers.load_trust(signed.statement.identifier).versions:
            return
    raise SignatureNotAccepted(verdict=str(judgement.verdict), fault=judgement.reason)


def choose_series(registry: Registry, target: Identifier) -> str:
    """The series in which a signature of a name is minted. Raises UnknownAuthority."""
    owned = registry.settings.series
    if target.assigned_under in owned:
        return target.assigned_under
    if not owned:
        raise UnknownAuthority(authority=target.assigned_under, known=owned)
    return owned[0]


def walk_signatures(registry: Registry, names: NameSet | None) -> Iterator[HeldSignature]:
    """Yield all signatures of the names of a set, or all of the registry, with their verdicts.

    Raises NotFound if nothing known belongs to the set.
    """
    if names is not None:
        names = registry.listings.require_known(names)
        yield from registry.signatures.walk_set(names, _READER)
        return
    yield from registry.signatures.walk_all(_READER)
