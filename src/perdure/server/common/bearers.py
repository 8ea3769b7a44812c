"""Recently used tokens, so that a token is not looked up for each write.

How it works: a token that was found is remembered by the hash of its secret, until
`perdure.storage.generation` reports a change; saving or revoking a token is a change. Signed
requests ask from threads: the tokens that a thread finds are stored with the count that it read,
and are dropped together with it.

What must stay true: a token that was revoked, in this process or another, is not accepted by any
request that begins after the revocation was acknowledged; no secret is remembered.
"""

from __future__ import annotations

from perdure.errors.credentials import GrantorUnknown
from perdure.model.records import Token
from perdure.policy.rights import LONGEST_CHAIN
from perdure.storage.ports import Records, RevisionCounter

_MOST = 1024


class Bearers:
    """Finds tokens by the hash of their secret."""

    def __init__(self, records: Records, generation: RevisionCounter) -> None:
        self._records = records
        self._generation = generation
        self._lately = _RecentTokens(-1)

    @property
    def change_count(self) -> int:
        """A number that grows with every change."""
        return self._generation.change_count

    @property
    def generation(self) -> int:
        """A number that stays the same as long as all tokens do."""
        return self._generation.revision_count

    def find_token(self, digest: str) -> Token | None:
        """Return the token with this SHA-256, or None."""
        known = self._recall_tokens().known
        token = known.get(digest)
        if token is None:
            token = self._records.find_token(digest)
            if token is not None:
                known[digest] = token
        return token

    def find_named(self, name: str) -> Token | None:
        """Return the token of this name, or None."""
        named = self._recall_tokens().named
        if name not in named:
            named[name] = self._records.find_token_named(name)
        return named[name]

    def trace_chain(self, token: Token) -> list[Token]:
        """Return the token, the one that it was granted from, and so on up to an operator's.

        Raises Unauthenticated if one of them is not known.
        """
        chain = [token]
        while chain[-1].granted_by:
            giver = self.find_named(chain[-1].granted_by)
            if giver is None or len(chain) > LONGEST_CHAIN:
                raise GrantorUnknown(token=token.name)
            chain.append(giver)
        return chain

    def _recall_tokens(self) -> _RecentTokens:
        lately, count = (
            self._lately,
            self.generation,
        )  # before a token: see `perdure.storage.generation`
        if count != lately.count or len(lately.known) + len(lately.named) >= _MOST:
            lately = self._lately = _RecentTokens(count)
        return lately


class _RecentTokens:
    """The tokens found while the count was the same."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.known: dict[str, Token] = {}
        self.named: dict[str, Token | None] = {}
