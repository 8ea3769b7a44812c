"""Tokens that were presented lately, so that a token is not looked up for each write.

How it works: what was found is remembered by the hash of the secret while `perdure.generation` says
that nothing was changed; saving or revoking a token is a change.

What must stay true: a token that was revoked, in this process or another, is not accepted by any
request that begins after the revocation was acknowledged; no secret is remembered.
"""

from __future__ import annotations

from perdure.errors import Unauthenticated
from perdure.generation import Generation
from perdure.model import Token
from perdure.ports import Records
from perdure.rights import LONGEST_CHAIN

_MOST = 1024


class Bearers:
    """Finds tokens by the hash of their secret."""

    def __init__(self, records: Records, generation: Generation) -> None:
        self._records = records
        self._generation = generation
        self._known: dict[str, Token] = {}
        self._named: dict[str, Token | None] = {}
        self._seen = -1

    @property
    def generation(self) -> int:
        """While it is the same, so is every token that is found."""
        return self._generation.count

    def find(self, digest: str) -> Token | None:
        """The token with this SHA-256."""
        self._refresh()
        token = self._known.get(digest)
        if token is None:
            token = self._records.token(digest)
            if token is not None:
                self._known[digest] = token
        return token

    def named(self, name: str) -> Token | None:
        """The token of this name."""
        self._refresh()
        if name not in self._named:
            self._named[name] = self._records.token_named(name)
        return self._named[name]

    def chain(self, token: Token) -> list[Token]:
        """The token, the one that it was granted from, and so on to an operator's.

        Raises Unauthenticated where one of them is not known.
        """
        chain = [token]
        while chain[-1].granted_by:
            giver = self.named(chain[-1].granted_by)
            if giver is None or len(chain) > LONGEST_CHAIN:
                raise Unauthenticated(reason=f"nobody answers for token {token.name}")
            chain.append(giver)
        return chain

    def _refresh(self) -> None:
        count = self.generation  # read before a token is: see `perdure.generation`
        if count != self._seen or len(self._known) + len(self._named) >= _MOST:
            self._known, self._named, self._seen = {}, {}, count
