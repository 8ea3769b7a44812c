"""The tokens of a copy that takes over: those that were revoked later are valid again.

How it works: the copy knows no revocation after its last change. A predecessor in a directory
tells its own, and each is repeated here with its time. If the predecessor was stopped for good, it
knows all. Otherwise the tokens that stay valid are named, so that an administrator can revoke them,
or all of them at once.  # ruling: copy-fence

What must stay true: nothing that a predecessor says gives a right, or makes a revoked token valid.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from perdure.errors import PerdureError
from perdure.model.changes import TOKEN, Deed
from perdure.model.records import LOCAL, Token
from perdure.policy.rights import check_valid
from perdure.storage.ports import Journal


class TokenPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of a copy, as a promotion leaves them."""

    revoked: tuple[Token, ...] = ()
    """Tokens that are valid in the copy, with the time from which they are not."""
    valid: tuple[str, ...] = ()
    """Names of tokens that stay valid."""
    unknown: tuple[str, ...] = ()
    """Names of valid tokens of the predecessor that the copy does not have."""


def plan_tokens(
    ours: list[Token], theirs: Mapping[str, Token], *, now: str, revoke_all: bool
) -> TokenPlan:
    """Decide which tokens of a copy are revoked. `theirs`: those of the predecessor, by name."""
    revoked: list[Token] = []
    valid: list[str] = []
    for token in ours:
        if not _is_valid(token, now):
            continue
        there = theirs.get(token.name)
        ended = (there.revoked if there is not None else None) or (now if revoke_all else None)
        if ended:
            revoked.append(msgspec.structs.replace(token, revoked=ended))
        else:
            valid.append(token.name)
    known = {token.name for token in ours}
    unknown = (one.name for one in theirs.values() if one.name not in known and _is_valid(one, now))
    return TokenPlan(revoked=tuple(revoked), valid=tuple(valid), unknown=tuple(sorted(unknown)))


def _is_valid(token: Token, now: str) -> bool:
    try:
        check_valid(token, now)
    except PerdureError:
        return False
    return True


def revoke_tokens(journal: Journal, plan: TokenPlan, now: str) -> None:
    """Revoke the tokens of a plan, in the batch that has begun."""
    for token in plan.revoked:
        before = journal.find_token_named(token.name)
        journal.save_token(token, before, Deed(TOKEN, now, LOCAL))
